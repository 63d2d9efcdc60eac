//! The commands of one person of a server that several people use: they run as a user of the system that is only this
//! person's, so that the kernel keeps people apart even where the sandbox would fail.

use std::fmt;
use std::fs;

use super::user::{self, CHOWN, DAC_OVERRIDE, FOWNER, JobUser, KILL, NET_ADMIN, SETGID, SETUID, SYS_ADMIN};
use super::{Level, Sandbox, SandboxStatus, namespace};
use crate::domain::{ErrorParams, UidRange};

/// What the server needs to run commands as other users, to look after their files, and to end their processes.
const CAPABILITIES: [(u32, &str); 7] = [
    (CHOWN, "CAP_CHOWN"),
    (DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
    (FOWNER, "CAP_FOWNER"),
    (KILL, "CAP_KILL"),
    (SETGID, "CAP_SETGID"),
    (SETUID, "CAP_SETUID"),
    (SYS_ADMIN, "CAP_SYS_ADMIN"),
];

/// The files that say which ids belong to users and groups of this machine.
const MACHINE_IDS: [&str; 4] = ["/etc/passwd", "/etc/group", "/etc/subuid", "/etc/subgid"];

/// Why people's commands cannot run as users of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonObstacle {
    /// The sandbox is off, or cannot be set up.
    Sandbox(SandboxStatus),
    NotRoot,
    /// The server is root without these capabilities.
    Capabilities(String),
    /// No mount namespace can be made.
    Namespace(String),
    /// The ids do not exist in this container.
    Unmapped(UidRange),
    /// This file gives one of the ids to somebody of this machine.
    Taken {
        ids: UidRange,
        file: &'static str,
    },
    /// The account has no user id: the range is used up, or was not free when the server started.
    NoUid,
    /// The home is in a folder that every command may read.
    ExposedHome,
}

impl PersonObstacle {
    /// Returns `off`, `no_landlock`, `no_bubblewrap`, `not_root`, `no_capabilities`, `no_namespace`, `unmapped_uids`,
    /// `taken_uids`, `no_uid` or `exposed_home`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Sandbox(status) => status.code(),
            Self::NotRoot => "not_root",
            Self::Capabilities(_) => "no_capabilities",
            Self::Namespace(_) => "no_namespace",
            Self::Unmapped(_) => "unmapped_uids",
            Self::Taken { .. } => "taken_uids",
            Self::NoUid => "no_uid",
            Self::ExposedHome => "exposed_home",
        }
    }

    /// Returns the values that the sentence contains, by name.
    pub fn params(&self) -> ErrorParams {
        let one = |name: &str, value: &str| ErrorParams::from([(name.to_owned(), value.to_owned())]);
        match self {
            Self::Sandbox(status) => status.params(),
            Self::NotRoot | Self::NoUid | Self::ExposedHome => ErrorParams::new(),
            Self::Capabilities(missing) => one("missing", missing),
            Self::Namespace(why) => one("reason", why),
            Self::Unmapped(ids) => one("ids", &ids.to_string()),
            Self::Taken { ids, file } => one("ids", &ids.to_string()).into_iter().chain(one("file", file)).collect(),
        }
    }
}

impl fmt::Display for PersonObstacle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = "set people_uids in config.yml to a range that is free, such as 2100000000-2100065535, and restart";
        match self {
            Self::Sandbox(SandboxStatus::Nothing) => {
                out.write_str("the sandbox is off; start the server without --sandbox off")
            }
            Self::Sandbox(status) => status.fmt(out),
            Self::NotRoot => out.write_str(
                "only a server that runs as root can run the commands of each person as a user of their own; start it as root \
                 (as a service, or in a container)",
            ),
            Self::Capabilities(missing) => {
                write!(out, "the server runs as root without {missing}; give it these capabilities, and restart")
            }
            Self::Namespace(why) => write!(out, "commands cannot have mounts of their own: {why}"),
            Self::Unmapped(ids) => write!(
                out,
                "the user ids {ids} do not exist in this container; set people_uids in config.yml to a range that does (see \
                 /proc/self/uid_map), and restart"
            ),
            Self::Taken { ids, file } => {
                write!(out, "{file} gives some of the user ids {ids} to somebody of this machine; {range}")
            }
            Self::NoUid => write!(
                out,
                "this account has no user id yet; restart the server, and if that does not help, all of them are in use: {range}"
            ),
            Self::ExposedHome => out.write_str(
                "the home lies below a folder of the system that every command may read; move it, for example to /srv",
            ),
        }
    }
}

impl Sandbox {
    /// Returns a sandbox whose jobs run as the user and group `uid`, which belongs to one person.
    pub fn of_person(&self, uid: u32) -> Self {
        Self { person: Some(uid), ..self.clone() }
    }

    /// Returns why jobs cannot run as users of these ids on this machine; reads its files of users. Blocks.
    pub fn person_obstacle(&self, ids: UidRange) -> Option<PersonObstacle> {
        match self.status() {
            SandboxStatus::Confinement { .. } => {}
            status => return Some(PersonObstacle::Sandbox(status)),
        }
        if user::job_user() == JobUser::Own {
            return Some(PersonObstacle::NotRoot);
        }
        // Bubblewrap starts the loopback interface of a command without network.
        let of_level: &[(u32, &str)] =
            if self.level() == Level::Strict { &[(NET_ADMIN, "CAP_NET_ADMIN")] } else { &[] };
        let missing: Vec<&str> = CAPABILITIES
            .iter()
            .chain(of_level)
            .filter(|(number, _)| !user::has_capability(*number))
            .map(|(_, name)| *name)
            .collect();
        if !missing.is_empty() {
            return Some(PersonObstacle::Capabilities(missing.join(", ")));
        }
        // At level `strict`, bubblewrap makes the namespaces.
        let obstacle = if self.level() == Level::Standard { namespace::obstacle() } else { None };
        if let Some(why) = obstacle {
            return Some(PersonObstacle::Namespace(why));
        }
        if ![ids.first(), ids.last()].into_iter().all(user::is_known) {
            return Some(PersonObstacle::Unmapped(ids));
        }
        // A machine without one of the files has nobody in it.
        let read = |file: &'static str| (file, fs::read(file).unwrap_or_default());
        taken(ids, &MACHINE_IDS.map(read).map(|(file, bytes)| (file, String::from_utf8_lossy(&bytes).into_owned())))
    }
}

/// Returns which of the files of [`MACHINE_IDS`], given with their content, names one of the ids.
fn taken(ids: UidRange, files: &[(&'static str, String)]) -> Option<PersonObstacle> {
    files.iter().find_map(|(file, text)| {
        let is_taken = text.lines().any(|line| {
            let fields: Vec<&str> = line.split(':').collect();
            let number = |at: usize| fields.get(at)?.trim().parse::<u32>().ok();
            // `name:first:count`, or `name:password:id:…`.
            let owned = match (file.contains("/etc/sub"), number(1), number(2)) {
                (true, Some(first), Some(count)) => UidRange::of_count(first, count),
                (false, _, Some(id)) => Some(UidRange::of_one(id)),
                _ => None,
            };
            owned.is_some_and(|owned| owned.overlaps(ids))
        });
        is_taken.then_some(PersonObstacle::Taken { ids, file })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::SandboxConfig;

    #[test]
    fn ids_of_the_machine_are_taken() {
        let files = [
            ("/etc/passwd", "root:x:0:0:root:/root:/bin/bash\n\n# odd\nann:x:1000:1000::/home/ann:\nbad:x:y:z\n"),
            ("/etc/group", "ann:x:1000:\ndev:x:5000:ann\n"),
            ("/etc/subuid", "ann:100000:65536\n1000:200000:0\n"),
            ("/etc/subgid", "bob:300000:10\n"),
        ]
        .map(|(file, text)| (file, text.to_owned()));
        let owner = |ids: &str| match taken(ids.parse().unwrap(), &files) {
            Some(PersonObstacle::Taken { file, .. }) => Some(file),
            _ => None,
        };
        assert_eq!(owner("1000-2000"), Some("/etc/passwd"));
        assert_eq!(owner("4000-6000"), Some("/etc/group"));
        assert_eq!(owner("165535-199999"), Some("/etc/subuid"));
        assert_eq!(owner("250000-300000"), Some("/etc/subgid"));
        for free in ["1001-4999", "165536-265535", "2100000000-2100065535"] {
            assert_eq!(owner(free), None, "{free}");
        }
    }

    #[test]
    fn obstacle_says_what_to_do() {
        let off = Sandbox::new(SandboxConfig::new(Level::Off));
        let obstacle = off.person_obstacle(UidRange::DEFAULT).unwrap();
        assert_eq!((obstacle.code(), obstacle.to_string().contains("without --sandbox off")), ("off", true));
        let taken = PersonObstacle::Taken { ids: UidRange::of_one(1000), file: "/etc/passwd" };
        assert_eq!(taken.params().into_keys().collect::<Vec<_>>(), ["file", "ids"]);
        for obstacle in [taken, PersonObstacle::NoUid, PersonObstacle::Unmapped(UidRange::DEFAULT)] {
            assert!(obstacle.to_string().contains("people_uids"), "{obstacle}");
        }
    }
}
