//! The outer half of level `strict`: namespaces for a job and its supervisor, made by bubblewrap.
//!
//! The supervisor becomes the first process in them and sets up the same confinement as at level `standard`. What bubblewrap
//! adds: other processes, the rest of the files, the machine's network and shared memory are not only refused but absent.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::{Job, Network, SEARCH_PATH, paths, sys};

pub const MISSING: &str =
    "the sandbox's level is strict and bubblewrap (bwrap) is not installed; install it, or choose the level standard";

/// Descriptor number at which the supervisor's program is open, so that it can start without being in the new file system.
pub const PROGRAM: i32 = 4;

/// The folder from which programs read the number of processors.
const PROCESSORS: &str = "/sys/devices/system/cpu";

/// Links into `/usr` on most systems, folders on others.
const MERGED: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

pub fn find() -> Option<PathBuf> {
    SEARCH_PATH.split(':').map(|folder| Path::new(folder).join("bwrap")).find(|path| path.is_file())
}

/// Returns bubblewrap's arguments up to the program to start.
pub fn arguments(job: &Job, writable: &[PathBuf]) -> Vec<OsString> {
    let mut line = BubblewrapArguments::default();
    line.flags("--unshare-ipc --unshare-pid --unshare-uts --unshare-cgroup-try --as-pid-1 --new-session");
    // With network, the job shares the host's network; the confinement leaves it one port, that of the proxy.
    if job.network != Network::Proxied {
        line.flags("--unshare-net");
    }
    // User 0 makes the namespaces without a user namespace, so that the supervisor can still change its user inside. Other
    // users need a user namespace, in which they have no capabilities.
    if !sys::is_root() {
        line.flags("--unshare-user --disable-userns --cap-drop ALL");
    }
    line.flags("--tmpfs /tmp");
    // Creates the parent folders so that every user can traverse them, whatever their mode outside: the job may run as
    // another user.
    let public = paths::public_etc().into_iter().map(|(path, _)| path);
    let fixed: Vec<PathBuf> = public.chain([PROCESSORS.into()]).collect();
    // Paths in /proc exist already: the namespace has its own /proc.
    let readable = || job.readable.iter().filter(|path| !path.starts_with("/proc"));
    let ways = fixed.iter().chain(readable()).chain([&job.cwd]).chain(writable).filter_map(|path| path.parent());
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
    for folder in writable {
        line.bind("--bind", folder);
    }
    line.flags("--remount-ro / --");
    line.0.push(format!("/proc/self/fd/{PROGRAM}").into());
    line.0
}

#[derive(Default)]
struct BubblewrapArguments(Vec<OsString>);

impl BubblewrapArguments {
    fn words<const N: usize>(&mut self, words: [&OsStr; N]) {
        self.0.extend(words.map(OsStr::to_owned));
    }

    fn flags(&mut self, flags: &str) {
        self.0.extend(flags.split(' ').map(OsString::from));
    }

    /// Mounts the path at the same place inside.
    fn bind(&mut self, how: &str, path: &Path) {
        self.words([how.as_ref(), path.as_os_str(), path.as_os_str()]);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::COMMAND_MEMORY;
    use super::*;
    use crate::domain::FolderOwner;

    fn line(network: Network) -> Vec<String> {
        let job = Job {
            argv: vec!["true".to_owned()],
            cwd: "/home/ada/claw/scratch".into(),
            readable: vec!["/home/ada/claw/memory".into()],
            env: Vec::new(),
            wall: Duration::from_secs(1),
            output_cap: 1,
            memory: COMMAND_MEMORY,
            network,
            capture: None,
            owner: FolderOwner::Commands,
        };
        arguments(&job, &[]).into_iter().map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn only_working_folder_is_writable() {
        let words = line(Network::None);
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
        assert!(line(Network::None).contains(&"--unshare-net".to_owned()));
        assert!(!line(Network::Proxied).contains(&"--unshare-net".to_owned()));
    }
}
