//! The Landlock half of the fence: which files a process may read and write, no TCP, no signals to others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use super::wire::Order;

/// The least version of Landlock that is enough. From 3 on (Linux 6.2) files can neither be changed nor truncated
/// outside; TCP (4) and abstract sockets (6) are also refused by the system call filter.
pub const LEAST_ABI: i32 = 3;
/// From here on a process can be kept to one TCP port (Linux 6.7).
pub const TCP_ABI: i32 = 4;
/// From here on signals to processes outside are refused too (Linux 6.12).
pub const SIGNALS_ABI: i32 = 6;

/// Programs and libraries.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/sys/devices/system/cpu"];
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/random"];
/// POSIX semaphores live here: without it Python's `multiprocessing` does not start. Shared with the host.
const SHARED_MEMORY: &str = "/dev/shm";
/// Of `/etc/ssl` only what is public; `/etc/ssl/private` stays out.
const ETC_SSL: [&str; 2] = ["/etc/ssl/certs", "/etc/ssl/openssl.cnf"];

/// Whether every job may read what lies there, because it is below a folder of the system.
pub fn is_system(path: &Path) -> bool {
    SYSTEM.iter().chain(&[SHARED_MEMORY, "/etc"]).any(|folder| path.starts_with(folder))
}

fn abi(kernel: i32) -> ABI {
    match kernel {
        ..=3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        _ => ABI::V6,
    }
}

/// What every job may read, as rules. Making them takes longer than all that is done for a job, so it is done before there
/// is one.
pub struct SystemRules {
    kernel: i32,
    rules: RulesetCreated,
    made_of: EtcStamp,
}

/// Tells whether files of `/etc` were put in the place of others: rules name files, not their names.
type EtcStamp = [Option<SystemTime>; 2];

impl SystemRules {
    /// Every right named here is demanded of the kernel, never "if possible": a ruleset that cannot be had in full is an
    /// error.
    pub fn new(kernel: i32) -> Result<Self, RulesetError> {
        let abi = abi(kernel);
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(abi))?;
        if kernel >= TCP_ABI {
            rules = rules.handle_access(AccessNet::from_all(abi))?;
        }
        if kernel >= SIGNALS_ABI {
            rules = rules.scope(Scope::from_all(abi))?;
        }
        let mut rules = rules.create()?;
        let made_of = etc_stamp();
        let read = AccessFs::from_read(abi);
        for path in SYSTEM {
            rules = allow(rules, Path::new(path), read)?;
        }
        for (path, is_folder) in public_etc() {
            rules = add(rules, (&path, is_folder), read)?;
        }
        let device = AccessFs::ReadFile | AccessFs::WriteFile;
        for path in DEVICES {
            rules = allow(rules, Path::new(path), device)?;
        }
        rules = allow(rules, Path::new(SHARED_MEMORY), writing(abi) & !AccessFs::Execute)?;
        Ok(Self { kernel, rules, made_of })
    }

    /// The rules for one job: these, made anew if files of `/etc` were replaced meanwhile, and what the order names. TCP is
    /// closed but for connections to the `port` of the proxy.
    pub fn and(self, order: &Order) -> Result<RulesetCreated, RulesetError> {
        let Self { kernel, mut rules, made_of } = self;
        if made_of != etc_stamp() {
            rules = Self::new(kernel)?.rules;
        }
        if let Some(port) = order.proxy_port {
            rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
        }
        let abi = abi(kernel);
        for path in &order.readable {
            rules = allow(rules, path, AccessFs::from_read(abi))?;
        }
        allow(rules, &order.cwd, writing(abi))
    }
}

fn writing(abi: ABI) -> BitFlags<AccessFs> {
    AccessFs::from_all(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock)
}

fn etc_stamp() -> EtcStamp {
    ["/etc", "/etc/ssl"].map(|folder| fs::metadata(folder).and_then(|meta| meta.modified()).ok())
}

/// Adds one path; one that does not exist here gives no right and is no error.
fn allow(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    add(rules, (path, path.is_dir()), access)
}

fn add(
    rules: RulesetCreated,
    (path, is_folder): (&Path, bool),
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(fd) = PathFd::new(path) else { return Ok(rules) };
    let access = if is_folder { access } else { access & AccessFs::from_file(ABI::V6) };
    rules.add_rule(PathBeneath::new(fd, access))
}

/// What every user may read directly below `/etc`, and whether it is a folder: not shadow, not sudoers, not the host's
/// keys.
fn public_etc() -> Vec<(PathBuf, bool)> {
    let Ok(entries) = fs::read_dir("/etc") else { return Vec::new() };
    let entries = entries.flatten().filter(|entry| entry.file_name() != "ssl").map(|entry| entry.path());
    let paths = ETC_SSL.iter().map(PathBuf::from).chain(entries);
    let looked_at = paths.filter_map(|path| fs::metadata(&path).ok().map(|meta| (path, meta)));
    let public = looked_at.filter(|(_, meta)| meta.permissions().mode() & 0o004 != 0);
    public.map(|(path, meta)| (path, meta.is_dir())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_the_host_are_not_public() {
        let paths: Vec<PathBuf> = public_etc().into_iter().map(|(path, _)| path).collect();
        assert!(paths.contains(&PathBuf::from("/etc/passwd")));
        for secret in ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssl"] {
            assert!(!paths.contains(&PathBuf::from(secret)), "{secret}");
        }
    }
}
