//! A relative path, validated once where it enters the program.

use std::fmt;

use serde::Serialize;

/// A relative path with `/` between its names, free of `.`, `..`, empty names, control characters and backslashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RelPath(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    #[error("the path is empty")]
    Empty,
    #[error("the path is longer than 1,024 bytes")]
    TooLong,
    #[error("a name in the path is longer than 255 bytes, which no file can have; choose a shorter one")]
    NameTooLong,
    #[error("the path must be relative, like memory/MEMORY.md or src/main.rs")]
    Absolute,
    #[error("the path may not climb with '..'")]
    Climbs,
    /// Contains the path.
    #[error(
        "{0} cannot be used here: only files under workspace/, memory/, skills/ and knowledge/, and SKILLS_SNAPSHOT.md, \
         can be opened"
    )]
    Outside(String),
    #[error("the path has a character that file names here may not have (a backslash or a control character)")]
    Character,
}

/// Maximum length of a file or folder name in file systems, in bytes.
pub(super) const LONGEST_NAME: usize = 255;

impl RelPath {
    /// Accepts `memory/MEMORY.md`, also with a leading `./`; returns an error for anything that could lead elsewhere.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        let text = text.strip_prefix("./").unwrap_or(text);
        if text.is_empty() {
            return Err(BadPath::Empty);
        }
        if text.len() > 1024 {
            return Err(BadPath::TooLong);
        }
        if text.starts_with('/') {
            return Err(BadPath::Absolute);
        }
        if text.contains('\\') || text.chars().any(char::is_control) {
            return Err(BadPath::Character);
        }
        let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty() && *name != ".").collect();
        let first = names.first().ok_or(BadPath::Empty)?;
        if first.starts_with('~') || has_drive(first) {
            return Err(BadPath::Absolute);
        }
        if names.contains(&"..") {
            return Err(BadPath::Climbs);
        }
        if names.iter().any(|name| name.len() > LONGEST_NAME) {
            return Err(BadPath::NameTooLong);
        }
        Ok(Self(names.join("/")))
    }

    /// Returns the path of `name`, a single name from a folder listing, in this folder. The result is that of
    /// [`RelPath::parse`] for both joined, but this path is not validated again.
    ///
    /// # Errors
    /// Same as [`RelPath::parse`]; also returns an error if `name` is more than one name.
    pub fn child(&self, name: &str) -> Result<Self, BadPath> {
        if self.0.len() + 1 + name.len() > 1024 {
            return Err(BadPath::TooLong);
        }
        if name.len() > LONGEST_NAME {
            return Err(BadPath::NameTooLong);
        }
        let odd = |byte: u8| byte < b' ' || byte == 0x7f || byte == b'\\' || byte == b'/';
        if name.bytes().any(odd) || (!name.is_ascii() && name.chars().any(char::is_control)) {
            return Err(BadPath::Character);
        }
        match name {
            "" | "." => Err(BadPath::Empty),
            ".." => Err(BadPath::Climbs),
            _ => Ok(Self(format!("{}/{name}", self.0))),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the first name of the path.
    pub fn first_name(&self) -> &str {
        self.0.split('/').next().unwrap_or_default()
    }

    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }
}

fn has_drive(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':'
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_out_of_home_are_refused() {
        let unclear = ["", "a\\..\\b", "a\0b", "./", "a\nb"];
        let elsewhere = ["/etc/passwd", "../x", "memory/../../x", "~/.ssh/id", "C:/x", "././~/.ssh/id", "././C:/x"];
        for bad in unclear.into_iter().chain(elsewhere) {
            assert!(RelPath::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(RelPath::parse("./memory//MEMORY.md").unwrap().as_str(), "memory/MEMORY.md");
        assert_eq!(RelPath::parse("knowledge/说明.md").unwrap().file_name(), "说明.md");
    }

    proptest! {
        #[test]
        fn parsed_path_has_only_plain_names(text in "\\PC{0,40}|[./\\\\~a-z]{0,20}") {
            if let Ok(path) = RelPath::parse(&text) {
                prop_assert!(path.as_str().split('/').all(|n| !n.is_empty() && n != "." && n != ".."));
                prop_assert_eq!(RelPath::parse(path.as_str()).unwrap(), path);
            }
        }

        #[test]
        fn child_equals_parsed_joined_path(name in prop_oneof!["[^/]{1,30}", "[.~:C\\\\a\u{85}]{1,3}", "é{500,530}"]) {
            let folder = RelPath::parse("memory/猫").unwrap();
            let joined = RelPath::parse(&format!("memory/猫/{name}"));
            match folder.child(&name) {
                Ok(child) => prop_assert_eq!(Ok(child), joined),
                Err(_) => prop_assert!(name == "." || joined.is_err(), "{:?}", joined),
            }
        }
    }
}
