//! The outer half of level `strict`: namespaces of its own for a job and its supervisor, made by bubblewrap.
//!
//! The supervisor becomes the first process in there and sets up the same confinement as ever. What bubblewrap adds: other
//! processes, the rest of the files, the machine's network and shared memory are not refused but absent.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::{Job, SEARCH_PATH, paths, sys};

pub const MISSING: &str =
    "the sandbox's level is strict and bubblewrap (bwrap) is not installed; install it, or choose the level standard";

/// Where the supervisor's own program is open, so that it can be started without being in the new file system.
pub const PROGRAM: i32 = 4;

/// How many processors there are.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// Links into `/usr` on most systems, folders on others.
const MERGED: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

pub fn find() -> Option<PathBuf> {
    SEARCH_PATH.split(':').map(|folder| Path::new(folder).join("bwrap")).find(|path| path.is_file())
}

/// The command line of bubblewrap up to the program to start.
pub fn arguments(job: &Job) -> Vec<OsString> {
    let mut line = Line::default();
    line.flags("--unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try --as-pid-1 --new-session");
    // With network the job keeps this machine's, where the confinement leaves it one port: that of the proxy.
    if !job.network {
        line.flags("--unshare-net");
    }
    // User 0 makes the namespaces itself, so that the supervisor can still become another user in there. Others need a
    // user namespace for it, in which they have nothing.
    if !sys::is_root() {
        line.flags("--unshare-user --disable-userns --cap-drop ALL");
    }
    line.flags("--tmpfs /tmp");
    // Folders on the way that everybody may pass, whatever they are outside: the job may be another user.
    let public = paths::public_etc().into_iter().map(|(path, _)| path);
    let fixed: Vec<PathBuf> = public.chain([PROCESSORS.into()]).collect();
    // What lies in /proc is there already: it is made anew for the namespace.
    let readable = || job.readable.iter().filter(|path| !path.starts_with("/proc"));
    let ways = fixed.iter().chain(readable()).chain([&job.cwd]).filter_map(|path| path.parent());
    let passed: BTreeSet<&Path> = ways.flat_map(Path::ancestors).filter(|path| path.parent().is_some()).collect();
    for folder in passed {
        line.flags("--perms 0755 --dir");
        line.words([folder.as_os_str()]);
    }
    line.bind("--ro-bind", Path::new("/usr"));
    for name in MERGED {
        let path = Path::new("/").join(name);
        match fs::read_link(&path) {
            Ok(target) => line.words(["--symlink".as_ref(), target.as_os_str(), path.as_os_str()]),
            Err(_) => line.bind("--ro-bind-try", &path),
        }
    }
    line.flags("--proc /proc --dev /dev --perms 1777 --tmpfs /dev/shm");
    for path in fixed.iter().chain(readable()) {
        line.bind("--ro-bind-try", path);
    }
    line.bind("--bind", &job.cwd);
    line.flags("--remount-ro / --");
    line.0.push(format!("/proc/self/fd/{PROGRAM}").into());
    line.0
}

#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    fn words<const N: usize>(&mut self, words: [&OsStr; N]) {
        self.0.extend(words.map(OsStr::to_owned));
    }

    fn flags(&mut self, flags: &str) {
        self.0.extend(flags.split(' ').map(OsString::from));
    }

    /// The path at its own place.
    fn bind(&mut self, how: &str, path: &Path) {
        self.words([how.as_ref(), path.as_os_str(), path.as_os_str()]);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::COMMAND_MEMORY;
    use super::*;

    fn line(network: bool) -> Vec<String> {
        let job = Job {
            argv: vec!["true".to_owned()],
            cwd: "/home/ada/claw/scratch".into(),
            readable: vec!["/home/ada/claw/memory".into()],
            env: Vec::new(),
            wall: Duration::from_secs(1),
            output_cap: 1,
            memory: COMMAND_MEMORY,
            network,
        };
        arguments(&job).into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn only_working_folder_is_writable() {
        let words = line(false);
        let after = |flag: &str| {
            let places = words.iter().enumerate().filter(move |(_, word)| *word == flag);
            places.map(|(at, _)| words[at + 1].as_str()).collect::<Vec<_>>()
        };
        assert_eq!(after("--bind"), ["/home/ada/claw/scratch"]);
        let readable: Vec<&str> = after("--ro-bind-try").into_iter().filter(|path| path.starts_with("/home")).collect();
        assert_eq!(readable, ["/home/ada/claw/memory"]);
        for secret in ["/etc", "/etc/shadow", "/etc/ssl", "/root", "/", "/proc", "/run", "/var"] {
            assert!(!words.windows(2).any(|pair| pair[0].contains("bind") && pair[1] == secret), "{secret}");
        }
    }

    #[test]
    fn network_is_shared_only_when_allowed() {
        assert!(line(false).contains(&"--unshare-net".to_owned()));
        assert!(!line(true).contains(&"--unshare-net".to_owned()));
    }
}
