//! The Landlock half of the confinement: which files a process may read and write, no TCP, no signals to others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use super::wire::JobRequest;

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

/// Of `/etc`: what programs and libraries look for, nothing of this machine's secrets. A name may end in `*`.
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

/// What a job sees of `/dev/shm`, where POSIX semaphores live: without them Python's `multiprocessing` does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedMemory {
    /// One of its own, which ends with it.
    Own,
    /// It is shared with the machine, so it is closed.
    Closed,
}

/// Whether every job may read what lies there, because it is below a folder of the system.
pub fn is_system(path: &Path) -> bool {
    SYSTEM.iter().chain(&[super::namespace::SHARED_MEMORY, "/etc"]).any(|folder| path.starts_with(folder))
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
    memory: SharedMemory,
    rules: RulesetCreated,
    made_of: EtcStamp,
}

/// Tells whether files of `/etc` were put in the place of others: rules name files, not their names.
type EtcStamp = [Option<SystemTime>; 2];

impl SystemRules {
    /// Every right named here is demanded of the kernel, never "if possible": a ruleset that cannot be had in full is an
    /// error.
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
        if memory == SharedMemory::Own {
            rules = allow(rules, Path::new(super::namespace::SHARED_MEMORY), writing(abi) & !AccessFs::Execute)?;
        }
        Ok(Self { kernel, memory, rules, made_of })
    }

    /// The rules for one job: these, made anew if files of `/etc` were replaced meanwhile, and what the order names. TCP is
    /// closed but for connections to the `port` of the proxy.
    pub fn and(self, order: &JobRequest) -> Result<RulesetCreated, RulesetError> {
        let Self { kernel, memory, mut rules, made_of } = self;
        if made_of != etc_stamp() {
            rules = Self::new(kernel, memory)?.rules;
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

/// What of `/etc` a job may read, and whether it is a folder: what is listed here, and open to every user.
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
    fn secrets_of_the_host_are_not_public() {
        let paths: Vec<PathBuf> = public_etc().into_iter().map(|(path, _)| path).collect();
        assert!(paths.contains(&PathBuf::from("/etc/passwd")));
        for secret in ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssl", "/etc/environment", "/etc/machine-id"]
        {
            assert!(!paths.contains(&PathBuf::from(secret)), "{secret}");
        }
    }
}
