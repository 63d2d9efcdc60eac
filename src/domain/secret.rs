//! A secret of a project: a variable that a person gives to single commands.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Maximum length of a name in bytes.
const NAME_BYTES: usize = 64;
/// Minimum and maximum length of a value in bytes. A shorter one would be hidden wherever its letters occur by chance.
pub const MIN_VALUE: usize = 8;
pub const MAX_VALUE: usize = 8 << 10;
/// Maximum number of secrets of a project.
pub const MAX_SECRETS: usize = 50;
/// Names that change how programs run, and that the server sets itself.
const RESERVED: [&str; 14] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "TERM",
    "USER",
    "SHELL",
    "IFS",
    "ENV",
    "BASH_ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PWD",
];
const RESERVED_BEGINNINGS: [&str; 6] = ["LD_", "GIT_", "LC_", "XDG_", "npm_config_", "PYTHON"];

/// The name of a secret, which is also that of its variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretName(String);

/// Why a secret is not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretRefused {
    #[error("a secret's name has 1 to {NAME_BYTES} letters, digits and _, and does not begin with a digit")]
    BadName,
    #[error("{0} changes how programs run, so no secret can have this name")]
    Reserved(String),
    #[error("a secret has at least {MIN_VALUE} bytes: a shorter value could not be hidden in the output of commands")]
    TooShort,
    #[error("a secret has at most {MAX_VALUE} bytes")]
    TooLong,
    #[error("a secret has no control characters except line breaks and tabs, and no space or line break at its ends")]
    BadValue,
    #[error("a project has at most {MAX_SECRETS} secrets")]
    TooMany,
    #[error("this project has no secret {0}")]
    Unknown(String),
    #[error("the secrets of this home cannot be read, because its key (session-key.json) has changed; set them again")]
    Sealed,
}

impl SecretName {
    /// # Errors
    /// Returns [`SecretRefused::BadName`] or [`SecretRefused::Reserved`].
    pub fn parse(text: &str) -> Result<Self, SecretRefused> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let fits =
            (1..=NAME_BYTES).contains(&text.len()) && text.bytes().all(is_part) && !text.as_bytes()[0].is_ascii_digit();
        if !fits {
            return Err(SecretRefused::BadName);
        }
        let is_proxy = text.to_ascii_lowercase().ends_with("_proxy");
        let is_reserved = RESERVED.contains(&text) || RESERVED_BEGINNINGS.iter().any(|begin| text.starts_with(begin));
        if is_proxy || is_reserved { Err(SecretRefused::Reserved(text.to_owned())) } else { Ok(Self(text.to_owned())) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for SecretName {
    type Error = SecretRefused;

    fn try_from(text: String) -> Result<Self, SecretRefused> {
        Self::parse(&text)
    }
}

impl From<SecretName> for String {
    fn from(name: SecretName) -> Self {
        name.0
    }
}

/// Checks the value of a secret.
///
/// # Errors
/// Returns why it cannot be one.
pub fn check_value(value: &str) -> Result<(), SecretRefused> {
    match value.len() {
        length if length < MIN_VALUE => return Err(SecretRefused::TooShort),
        length if length > MAX_VALUE => return Err(SecretRefused::TooLong),
        _ => {}
    }
    let is_refused = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    if value.trim() != value || value.contains(is_refused) { Err(SecretRefused::BadValue) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_checked() {
        for good in ["TOKEN", "_x", "a1", "GITHUB_TOKEN"] {
            assert!(SecretName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "1A", "A-B", "A=B", "A B", "Ä", &"x".repeat(65)] {
            assert_eq!(SecretName::parse(bad), Err(SecretRefused::BadName), "{bad:?}");
        }
        for reserved in ["PATH", "LD_PRELOAD", "BASH_ENV", "GIT_DIR", "https_proxy", "ALL_PROXY", "PYTHONPATH"] {
            assert!(matches!(SecretName::parse(reserved), Err(SecretRefused::Reserved(_))), "{reserved}");
        }
        assert_eq!(check_value("1234567"), Err(SecretRefused::TooShort));
        assert_eq!(check_value(&"x".repeat(MAX_VALUE + 1)), Err(SecretRefused::TooLong));
        for bad in ["12345678\n", " 12345678", "1234\x005678", "1234\r5678"] {
            assert_eq!(check_value(bad), Err(SecretRefused::BadValue), "{bad:?}");
        }
        assert_eq!(check_value("-----BEGIN-----\nabc\n-----END-----"), Ok(()));
    }
}
