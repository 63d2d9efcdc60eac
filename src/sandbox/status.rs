//! What the sandbox enforces for commands on this machine: as text, and as codes for translation.

use std::fmt;
use std::path::PathBuf;

use super::{bubblewrap, no_landlock, paths};
use crate::domain::ErrorParams;

/// What the sandbox enforces for commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxStatus {
    /// The sandbox is off.
    Nothing,
    /// The confinement, inside namespaces if `bubblewrap` makes them; `signals` says whether it keeps signals inside.
    Confinement { bubblewrap: Option<PathBuf>, signals: bool },
    /// No command runs: the kernel has this version of Landlock, which is too old.
    NoLandlock(i32),
    /// No command runs: the level needs bubblewrap, which is not installed.
    NoBubblewrap,
}

impl SandboxStatus {
    /// Returns the status on a kernel with this version of Landlock.
    pub fn confinement(kernel: i32, bubblewrap: Option<PathBuf>) -> Self {
        if kernel < paths::MIN_ABI {
            return Self::NoLandlock(kernel);
        }
        Self::Confinement { bubblewrap, signals: kernel >= paths::SIGNALS_ABI }
    }

    /// Returns `off`, `standard`, `strict`, `no_landlock` or `no_bubblewrap`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Nothing => "off",
            Self::Confinement { bubblewrap: None, .. } => "standard",
            Self::Confinement { bubblewrap: Some(_), .. } => "strict",
            Self::NoLandlock(_) => "no_landlock",
            Self::NoBubblewrap => "no_bubblewrap",
        }
    }

    /// Returns the parameters of the message: `program` is bubblewrap's path, `signals` is present if signals can leave the
    /// sandbox, `version` is the kernel's Landlock version and `needed` the minimum.
    pub fn params(&self) -> ErrorParams {
        let mut params = ErrorParams::new();
        match self {
            Self::Nothing | Self::NoBubblewrap => {}
            Self::Confinement { bubblewrap, signals } => {
                if let Some(program) = bubblewrap {
                    params.insert("program".to_owned(), program.display().to_string());
                }
                if !signals {
                    params.insert("signals".to_owned(), "open".to_owned());
                }
            }
            Self::NoLandlock(version) => {
                params.insert("version".to_owned(), version.to_string());
                params.insert("needed".to_owned(), paths::MIN_ABI.to_string());
            }
        }
        params
    }
}

impl fmt::Display for SandboxStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => out.write_str(
                "The sandbox was turned off on the command line: commands run with all permissions of the user who started \
                 miniclaw.",
            ),
            Self::Confinement { bubblewrap, signals } => {
                out.write_str("Commands run in ")?;
                if let Some(program) = bubblewrap {
                    write!(out, "separate namespaces ({}) and in ", program.display())?;
                }
                out.write_str(
                    "a sandbox (Landlock and seccomp): they can write only to scratch/, read only system files and the \
                     home's workspace/, memory/ and skills/ (knowledge/ on request), and have no network access",
                )?;
                if !signals {
                    out.write_str(
                        "; on this kernel (older than Linux 6.12) they can still send signals to processes of the same user",
                    )?;
                }
                out.write_str(".")
            }
            Self::NoLandlock(kernel) => write!(out, "Commands are refused: {}.", no_landlock(*kernel)),
            Self::NoBubblewrap => write!(out, "Commands are refused: {}.", bubblewrap::MISSING),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::{Level, Sandbox, SandboxConfig};

    #[test]
    fn status_sentence_matches_actual_confinement() {
        let said =
            |kernel, program: Option<&str>| SandboxStatus::confinement(kernel, program.map(PathBuf::from)).to_string();
        assert!(said(0, None).starts_with("Commands are refused: this kernel offers Landlock version 0"));
        assert!(said(0, Some("/usr/bin/bwrap")).starts_with("Commands are refused"));
        assert!(said(4, None).contains("can still send signals"));
        assert!(!said(6, None).contains("signals"));
        assert!(said(6, Some("/usr/bin/bwrap")).starts_with("Commands run in separate namespaces (/usr/bin/bwrap)"));
        assert!(SandboxStatus::NoBubblewrap.to_string().starts_with("Commands are refused"));
        let off = Sandbox::new(SandboxConfig::new(Level::Off)).status();
        assert!(off == SandboxStatus::Nothing && off.to_string().contains("turned off"));
    }

    #[test]
    fn status_parameters_match_the_message() {
        let told = |status: SandboxStatus| (status.code(), status.params().into_iter().collect::<Vec<_>>());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(told(SandboxStatus::confinement(6, None)), ("standard", vec![]));
        let strict = vec![pair("program", "/usr/bin/bwrap"), pair("signals", "open")];
        assert_eq!(told(SandboxStatus::confinement(4, Some("/usr/bin/bwrap".into()))), ("strict", strict));
        let least = paths::MIN_ABI.to_string();
        assert_eq!(
            told(SandboxStatus::confinement(1, None)),
            ("no_landlock", vec![pair("needed", &least), pair("version", "1")])
        );
        assert_eq!(told(SandboxStatus::NoBubblewrap), ("no_bubblewrap", vec![]));
        assert_eq!(told(SandboxStatus::Nothing), ("off", vec![]));
    }
}
