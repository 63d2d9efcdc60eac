//! Folders of this machine that a person links as projects: which may be linked, and how a folder is recognised again.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What tells a folder from another one that has its path now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderIdentity {
    /// Numbers of the file system and of the folder in it. Some systems number their file systems anew at each start.
    pub device: u64,
    pub inode: u64,
    /// When it was made, in seconds and nanoseconds, where the file system knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<(i64, u32)>,
}

impl FolderIdentity {
    /// Returns whether this is the same folder, also after a restart of the system.
    pub fn is_same(&self, now: &Self) -> bool {
        let is_one_birth = match (self.born, now.born) {
            (Some(then), Some(now)) => Some(then == now),
            _ => None,
        };
        self.inode == now.inode && is_one_birth.unwrap_or(self.device == now.device)
    }
}

/// Why a folder cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkRefused {
    #[error("give the whole path of a folder, beginning with /, like /data/tea")]
    NotAbsolute,
    #[error("there is no folder {0} on this machine")]
    Missing(String),
    #[error("{0} is not a folder")]
    NotFolder(String),
    #[error("{0} cannot be read by this server; change its permissions, or choose another folder")]
    NotReadable(String),
    #[error("{0} is the whole file system, or holds what every program uses; choose the folder of one project")]
    TooMuch(String),
    #[error("{0} is the home directory of a user, or contains one; choose a folder in it")]
    HomeDirectory(String),
    #[error("{0} belongs to the system; commands must not change it")]
    System(String),
    #[error("{0} holds keys or passwords; commands must not see it")]
    Secrets(String),
    #[error("{0} contains the home of miniclaw, or lies in it")]
    OwnHome(String),
    #[error("{path} is linked already, or contains a folder that is, or lies in one: see the project “{name}”")]
    Linked { path: String, name: String },
    #[error("the folder {0} has changed since it was shown; look at it again")]
    Changed(String),
    #[error("this server is for several people, who must not reach the folders of the machine")]
    SeveralPeople,
}

/// Why the folder of a linked project cannot be used now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkProblem {
    #[error("the folder {0} is not there now; if it is on a disk, connect the disk, otherwise move it back")]
    Missing(String),
    #[error(
        "{0} is another folder now than the one that was linked, or a link leads there; move the old one back, or link the \
         folder again"
    )]
    Replaced(String),
    #[error("this server may not read the folder {0}; change its permissions")]
    NotReadable(String),
    #[error("the folder {0} is linked, which only a server for one person allows")]
    NotHere(String),
}

/// Folders that cannot be linked, with everything in them.
const SYSTEM: &[&str] = &[
    "/proc",
    "/sys",
    "/dev",
    "/etc",
    "/usr",
    "/boot",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/run",
    "/snap",
    "/nix",
    "/gnu",
    "/lost+found",
    "/var/lib",
    "/var/run",
    "/var/lock",
    "/var/log",
    "/var/cache",
    "/var/spool",
    "/System",
    "/Library",
];
/// Folders in those that can.
const MOUNTS: &[&str] = &["/run/media", "/run/mount"];
/// Folders that cannot be linked themselves.
const SHARED: &[&str] =
    &["/", "/var", "/tmp", "/var/tmp", "/opt", "/srv", "/mnt", "/media", "/home", "/run/media", "/run/mount"];
/// Names of folders with keys and passwords.
const SECRETS: &[&str] =
    &[".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".pki", ".mozilla", "keyrings"];

/// Checks a path without links against the system's folders and the home directories of users.
///
/// # Errors
/// Returns why it cannot be linked.
pub fn check(path: &Path, user_homes: &[PathBuf]) -> Result<(), LinkRefused> {
    let shown = || path.display().to_string();
    if SHARED.iter().any(|shared| path == Path::new(shared)) {
        return Err(LinkRefused::TooMuch(shown()));
    }
    let is_below = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    if is_below(SYSTEM) && !is_below(MOUNTS) {
        return Err(LinkRefused::System(shown()));
    }
    // Not all users are in /etc/passwd.
    let is_home = path.parent() == Some(Path::new("/home")) || user_homes.iter().any(|home| home.starts_with(path));
    if is_home {
        return Err(LinkRefused::HomeDirectory(shown()));
    }
    let is_secret = |name: &std::ffi::OsStr| SECRETS.iter().any(|secret| name == *secret);
    if path.components().any(|part| is_secret(part.as_os_str())) {
        return Err(LinkRefused::Secrets(shown()));
    }
    Ok(())
}

/// Checks a path that a list of projects names, without looking at the machine.
///
/// # Errors
/// Returns why it cannot be linked.
pub fn check_link(path: &Path) -> Result<(), LinkRefused> {
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !path.components().all(is_plain) {
        return Err(LinkRefused::NotAbsolute);
    }
    check(path, &[])
}

/// Returns the home directories in the text of `/etc/passwd`: those of people and of root, whose ids are 0 or at least 1000,
/// and not the folders that services have instead.
pub fn user_homes(passwd: &str) -> Vec<PathBuf> {
    let home = |line: &str| -> Option<PathBuf> {
        let fields: Vec<&str> = line.split(':').collect();
        let (id, home) = (fields.get(2)?.parse::<u32>().ok()?, *fields.get(5)?);
        let is_person = id == 0 || (id >= 1000 && id != 65_534);
        (is_person && home.len() > 1 && home.starts_with('/')).then(|| PathBuf::from(home))
    };
    passwd.lines().filter_map(home).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str) -> Option<LinkRefused> {
        check(
            Path::new(path),
            &user_homes("root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\nd:x:9:9::/data:-"),
        )
        .err()
    }

    #[test]
    fn system_shared_and_home_folders_cannot_be_linked() {
        for system in ["/etc", "/etc/ssh", "/proc/1", "/usr/share/x", "/var/lib/x", "/run/user/1000"] {
            assert!(matches!(refused(system), Some(LinkRefused::System(_))), "{system}");
        }
        for shared in ["/", "/tmp", "/var", "/home", "/mnt"] {
            assert!(matches!(refused(shared), Some(LinkRefused::TooMuch(_))), "{shared}");
        }
        for home in ["/root", "/home/ada"] {
            assert!(matches!(refused(home), Some(LinkRefused::HomeDirectory(_))), "{home}");
        }
        for secret in ["/home/ada/.ssh", "/home/ada/.ssh/old", "/home/ada/.local/share/keyrings"] {
            assert!(matches!(refused(secret), Some(LinkRefused::Secrets(_))), "{secret}");
        }
        for plain in
            ["/home/ada/tea", "/data", "/etcetera", "/tmp/tea", "/run/media/ada/stick", "/var/www/tea", "/mnt/disk"]
        {
            assert_eq!(refused(plain), None, "{plain}");
        }
    }

    #[test]
    fn folder_is_recognised_on_a_renumbered_file_system() {
        let linked = FolderIdentity { device: 1, inode: 7, born: Some((5, 9)) };
        assert!(linked.is_same(&FolderIdentity { device: 2, ..linked }));
        assert!(!linked.is_same(&FolderIdentity { inode: 8, ..linked }));
        assert!(!linked.is_same(&FolderIdentity { born: Some((6, 0)), ..linked }), "its number was used again");
        let unborn = FolderIdentity { born: None, ..linked };
        assert!(unborn.is_same(&linked) && !unborn.is_same(&FolderIdentity { device: 2, ..unborn }));
    }
}
