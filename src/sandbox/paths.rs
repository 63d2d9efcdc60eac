//! The Landlock half of the confinement: limits the files that a process may read and write, TCP, and signals to other
//! processes.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use super::linked;
use super::wire::JobRequest;

/// Minimum version of Landlock. From version 3 (Linux 6.2), a process can neither change nor truncate files outside; the
/// system call filter also refuses TCP (version 4) and abstract sockets (version 6).
pub const MIN_ABI: i32 = 3;
/// Version of Landlock that can restrict a process to one TCP port (Linux 6.7).
pub const TCP_ABI: i32 = 4;
/// Version of Landlock that also refuses signals to processes outside (Linux 6.12).
pub const SIGNALS_ABI: i32 = 6;

/// Programs and libraries.
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/sys/devices/system/cpu"];
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/random"];

/// Names in `/etc` that programs and libraries read, without secrets of this machine. A name may end in `*`.
const ETC: [&str; 62] = [
    "ImageMagick-*",
    "OpenCL",
    "R",
    "adduser.conf",
    "alternatives",
    "bash.bashrc",
    "bash_completion.d",
    "bindresvport.blacklist",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "dpkg/origins",
    "emacs",
    "ethertypes",
    "fedora-release",
    "fonts",
    "gai.conf",
    "ghostscript",
    "gitconfig",
    "gnutls",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "login.defs",
    "lsb-release",
    "magic",
    "magic.mime",
    "mailcap",
    "manpath.config",
    "maven",
    "mime.types",
    "nanorc",
    "networks",
    "nsswitch.conf",
    "os-release",
    "papersize",
    "passwd",
    "perl",
    "pki/ca-trust/extracted",
    "pki/tls/certs",
    "profile",
    "protocols",
    "python*",
    "redhat-release",
    "rpc",
    "services",
    "sgml",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "system-release",
    "terminfo",
    "timezone",
    "xml",
];

/// A job's access to `/dev/shm`, where POSIX semaphores live: without them Python's `multiprocessing` does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedMemory {
    /// A private one, which ends with the job.
    Own,
    /// Shared with the machine, and therefore closed.
    Closed,
}

/// Returns whether every job may read this path, because it is in a system folder.
pub fn is_system(path: &Path) -> bool {
    SYSTEM.iter().chain(&[super::namespace::SHARED_MEMORY, "/etc"]).any(|folder| path.starts_with(folder))
}

/// Returns whether the commands of every job can read the file at this path, which has no symbolic links, if its mode allows
/// it.
pub fn is_readable_by_commands(path: &Path) -> bool {
    let of_etc = || public_etc().into_iter().filter_map(|(public, _)| fs::canonicalize(public).ok());
    let of_system = || SYSTEM.iter().filter_map(|folder| fs::canonicalize(folder).ok());
    of_system().chain(of_etc()).any(|public| path.starts_with(public))
}

fn abi(kernel: i32) -> ABI {
    match kernel {
        ..=3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        _ => ABI::V6,
    }
}

/// The rules that every job has. Creating them takes longer than all other work for a job, so they are created in advance.
pub struct SystemRules {
    kernel: i32,
    memory: SharedMemory,
    rules: RulesetCreated,
    etc_stamp: EtcStamp,
}

/// Modification times that change if files in `/etc` are replaced: rules refer to files, not to their names.
type EtcStamp = [Option<SystemTime>; 2];

impl SystemRules {
    /// Creates the rules. Requires every right from the kernel, never "if possible": a ruleset that cannot be enforced in
    /// full is an error.
    pub fn new(kernel: i32, memory: SharedMemory) -> Result<Self, RulesetError> {
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
        let etc_stamp = current_etc_stamp();
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
        if memory == SharedMemory::Own {
            rules = allow(rules, Path::new(super::namespace::SHARED_MEMORY), writing(abi) & !AccessFs::Execute)?;
        }
        Ok(Self { kernel, memory, rules, etc_stamp })
    }

    /// Returns the rules for one job: these, created again if files in `/etc` were replaced in the meantime, and the paths
    /// of the job request. TCP is closed except for connections to `port`, the port of a proxy. `linked` is the working
    /// directory, opened, if it is a folder that a person has linked.
    pub fn for_job(
        self,
        request: &JobRequest,
        port: Option<u16>,
        linked: Option<&OwnedFd>,
    ) -> Result<RulesetCreated, RulesetError> {
        let Self { kernel, memory, mut rules, etc_stamp } = self;
        if etc_stamp != current_etc_stamp() {
            rules = Self::new(kernel, memory)?.rules;
        }
        if let Some(port) = port {
            rules = rules.add_rule(NetPort::new(port, AccessNet::ConnectTcp))?;
        }
        let abi = abi(kernel);
        for path in request.readable.iter().filter(|path| **path != request.cwd) {
            rules = allow(rules, path, AccessFs::from_read(abi))?;
        }
        if let Some(overlay) = &request.overlay {
            rules = allow(rules, &overlay.temporary, writing(abi))?;
        }
        for path in &request.writable {
            // Through no link: an earlier job may have replaced a folder. A path that cannot be opened grants nothing.
            if let Ok(folder) = linked::without_links(path) {
                rules = rules.add_rule(PathBeneath::new(folder, writing(abi)))?;
            }
        }
        match linked {
            Some(folder) => rules.add_rule(PathBeneath::new(folder, writing(abi))),
            None => allow(rules, &request.cwd, writing(abi)),
        }
    }
}

fn writing(abi: ABI) -> BitFlags<AccessFs> {
    AccessFs::from_all(abi) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::MakeSock)
}

fn current_etc_stamp() -> EtcStamp {
    ["/etc", "/etc/ssl"].map(|folder| fs::metadata(folder).and_then(|meta| meta.modified()).ok())
}

/// Adds one path; a path that does not exist grants nothing and is no error.
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

/// Returns the paths in `/etc` that a job may read, and whether each is a folder: the listed ones that every user may read.
pub fn public_etc() -> Vec<(PathBuf, bool)> {
    let named = |name: &str| match name.strip_suffix('*') {
        None => vec![Path::new("/etc").join(name)],
        Some(begins) => {
            let entries = fs::read_dir("/etc").into_iter().flatten().flatten();
            let fits = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(begins));
            fits.map(|entry| entry.path()).collect()
        }
    };
    let paths = ETC.into_iter().flat_map(named);
    let looked_at = paths.filter_map(|path| fs::metadata(&path).ok().map(|meta| (path, meta)));
    let public = looked_at.filter(|(_, meta)| meta.permissions().mode() & 0o004 != 0);
    public.map(|(path, meta)| (path, meta.is_dir())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_secrets_are_not_public() {
        let paths: Vec<PathBuf> = public_etc().into_iter().map(|(path, _)| path).collect();
        assert!(paths.contains(&PathBuf::from("/etc/passwd")));
        for secret in ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssl", "/etc/environment", "/etc/machine-id"]
        {
            assert!(!paths.contains(&PathBuf::from(secret)), "{secret}");
        }
    }
}
