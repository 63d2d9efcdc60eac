//! Finds and kills the processes that a job left behind.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::sys::{self, Pid, Reaped};

/// Maximum time for the last of a job's processes to die of SIGKILL.
const REAP_TIMEOUT: Duration = Duration::from_secs(5);

/// Kills every descendant: a process whose parent dies becomes our child, so in the end no child is left. Returns the main
/// process's status if it ended only during this call.
///
/// # Errors
/// Returns an error if processes may be left.
pub fn reap_descendants(main: Pid, children: &Children) -> io::Result<Option<ExitStatus>> {
    let mut found = None;
    let started = Instant::now();
    while started.elapsed() < REAP_TIMEOUT {
        for pid in children.now()? {
            sys::signal(pid, libc::SIGKILL);
        }
        loop {
            match sys::reap() {
                Reaped::One(pid, status) if pid == main => found = Some(ExitStatus::from_raw(status)),
                Reaped::One(..) => {}
                Reaped::Nobody => break,
                Reaped::NoChildren => return Ok(found),
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// The kernel's list of our children, opened before any exist: later no descriptor may be available.
pub struct Children(Option<fs::File>);

impl Children {
    pub fn of_this_process() -> Self {
        let me = std::process::id();
        Self(fs::File::open(format!("/proc/self/task/{me}/children")).ok())
    }

    /// Returns the current children.
    ///
    /// # Errors
    /// Returns an error if the children cannot be listed; some may exist then.
    fn now(&self) -> io::Result<Vec<Pid>> {
        let Some(mut file) = self.0.as_ref() else {
            // The kernel does not have that file: look at every process.
            let me = std::process::id();
            return Ok(processes(None)?.filter(|process| process.parent == me).map(|process| process.pid).collect());
        };
        let mut list = String::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_string(&mut list)?;
        Ok(list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
    }
}

pub struct Process {
    pid: Pid,
    parent: u32,
    pub threads: u64,
}

/// Iterates over all processes, or over those of one user. Reading a process's `stat` file takes the kernel thirty times as
/// long as reading its owner.
///
/// # Errors
/// Returns an error if `/proc` cannot be read.
pub fn processes(user: Option<u32>) -> io::Result<impl Iterator<Item = Process>> {
    let entries = fs::read_dir("/proc")?;
    Ok(entries.flatten().filter_map(move |entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        if user.is_some() && entry.metadata().ok()?.uid() != user? {
            return None;
        }
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // The name in parentheses may contain anything. After it come state, parent, …; the 20th field is the number of
        // threads.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Process { pid, parent: fields.get(1)?.parse().ok()?, threads: fields.get(17)?.parse().ok()? })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_child_list_is_an_error() {
        let list = tempfile::NamedTempFile::new().unwrap();
        let unreadable = fs::OpenOptions::new().write(true).open(list.path()).unwrap();
        assert!(Children(Some(unreadable)).now().is_err());
        fs::write(list.path(), "12 345 ").unwrap();
        assert_eq!(Children(Some(list.reopen().unwrap())).now().unwrap(), [12, 345]);
    }
}
