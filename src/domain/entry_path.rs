//! The path of an entry that a command changed: any path that a file system can have, as text without loss.

use std::ffi::OsString;
use std::fmt::{self, Write as _};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use super::path::LONGEST_NAME;
use super::{BadPath, Place, Root};

/// Maximum length in bytes of a path below its root: the kernel resolves no longer one.
const LONGEST_PATH: usize = 4095;

/// A file, folder or link in a root, with names of any bytes. Commands can make such names; people and tools open files by
/// a [`Place`], which is stricter.
///
/// Its text is that of a place, except that a backslash is `\\`, and each byte of a control character, or of what is not
/// UTF-8, is `\x` with two hexadecimal digits: `project/scratch/a\x0ab`. Two paths never have the same text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryPath {
    text: String,
    root: Root,
    /// Below the root.
    below: PathBuf,
}

impl EntryPath {
    /// Returns the path of an entry, which `below` leads to from the root.
    ///
    /// # Errors
    /// Returns an error if a name is empty, `.`, `..` or longer than 255 bytes, or if the path is longer than 4,095 bytes.
    pub fn new(root: Root, below: &Path) -> Result<Self, BadPath> {
        let bytes = below.as_os_str().as_bytes();
        if bytes.len() > LONGEST_PATH {
            return Err(BadPath::TooLong);
        }
        for name in bytes.split(|byte| *byte == b'/') {
            match name {
                b"" | b"." => return Err(BadPath::Empty),
                b".." => return Err(BadPath::Climbs),
                name if name.len() > LONGEST_NAME => return Err(BadPath::NameTooLong),
                name if name.contains(&0) => return Err(BadPath::Character),
                _ => {}
            }
        }
        Ok(Self { text: format!("{root}/{}", escaped(bytes)), root, below: below.to_owned() })
    }

    /// Accepts the text of an entry's path, and what [`Place::parse`] accepts.
    ///
    /// # Errors
    /// Same as [`Place::parse`] if it is neither.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        Place::parse(text).map(Self::from).or_else(|refused| Self::with_escapes(text).ok_or(refused))
    }

    fn with_escapes(text: &str) -> Option<Self> {
        let (root, below) = Root::split(text)?;
        let below = PathBuf::from(OsString::from_vec(unescaped(below)?));
        Self::new(root, &below).ok().filter(|path| path.text == text)
    }

    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Returns the path below the root; empty for the root itself.
    pub fn below(&self) -> &Path {
        &self.below
    }

    /// Returns its place; `None` if places cannot name it.
    pub fn place(&self) -> Option<Place> {
        Place::parse(&self.text).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl From<Place> for EntryPath {
    fn from(place: Place) -> Self {
        Self { text: place.to_string(), below: place.path().into(), root: place.root().clone() }
    }
}

impl Serialize for EntryPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl fmt::Display for EntryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns bytes as text: what is UTF-8 without control characters stays, a backslash becomes `\\`, and every other byte
/// becomes `\x` with two hexadecimal digits.
pub fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let hexadecimal = |text: &mut String, bytes: &[u8]| {
        for byte in bytes {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    };
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\\' => text.push_str("\\\\"),
                char if char.is_control() => hexadecimal(&mut text, char.encode_utf8(&mut [0; 4]).as_bytes()),
                char => text.push(char),
            }
        }
        hexadecimal(&mut text, chunk.invalid());
    }
    text
}

/// Returns the bytes of which [`escaped`] makes this text; `None` if there are none.
pub fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, escape)) = rest.split_once('\\') {
        bytes.extend_from_slice(plain.as_bytes());
        rest = match escape.strip_prefix('\\') {
            Some(rest) => {
                bytes.push(b'\\');
                rest
            }
            None => {
                let (digits, rest) = escape.strip_prefix('x')?.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest
            }
        };
    }
    bytes.extend_from_slice(rest.as_bytes());
    (escaped(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ProjectId;
    use proptest::prelude::*;

    fn entry(below: &[u8]) -> Result<EntryPath, BadPath> {
        EntryPath::new(Root::Project(ProjectId::scratch()), Path::new(&OsString::from_vec(below.to_vec())))
    }

    #[test]
    fn entry_path_is_readable_and_names_any_bytes() {
        for (below, text) in [
            (b"a/b.md".as_slice(), "project/scratch/a/b.md"),
            ("茶 🐧".as_bytes(), "project/scratch/茶 🐧"),
            (b"a\nb", "project/scratch/a\\x0ab"),
            (b"a\\nb", "project/scratch/a\\\\nb"),
            (b"\xff\x80/\x7f", "project/scratch/\\xff\\x80/\\x7f"),
            ("\u{85}".as_bytes(), "project/scratch/\\xc2\\x85"),
        ] {
            let path = entry(below).unwrap();
            assert_eq!((path.as_str(), path.below().as_os_str().as_bytes()), (text, below));
            assert_eq!(EntryPath::parse(text), Ok(path));
        }
        let longest = [[b'a'; 255].as_slice(); 15].join(&b"/"[..]);
        assert!(
            entry(&longest).is_ok_and(|path| path.place().is_none() && EntryPath::parse(path.as_str()) == Ok(path))
        );
    }

    #[test]
    fn entry_path_never_leads_elsewhere() {
        for bad in [b"".as_slice(), b"/a", b"a//b", b"a/", b".", b"a/../b", b"..", b"a\0b", &[b'a'; 256], &[b'/'; 4096]]
        {
            assert!(entry(bad).is_err(), "{bad:?}");
        }
        assert!(entry(&[b"ab/".repeat(1365), b"a".to_vec()].concat()).is_err(), "4,096 bytes");
        for bad in [
            "project/scratch/a\\x2fb",
            "project/scratch/\\x61",
            "project/scratch/\\x0A",
            "project/scratch/\\x2e\\x2e",
            "project/scratch/a\\",
            "project/scratch/\\x0",
            "project/scratch/\\x+1",
            "project/scratch/a\nb",
            "project/scratch/\\x0a/../../x",
            "sessions/\\x0a",
            "\\x0a",
        ] {
            assert!(EntryPath::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(EntryPath::parse("./memory//a.md").unwrap().as_str(), "memory/a.md");
    }

    proptest! {
        #[test]
        fn any_bytes_survive_their_text(one in any::<Vec<u8>>(), other in any::<Vec<u8>>()) {
            let texts = [escaped(&one), escaped(&other)];
            prop_assert_eq!(unescaped(&texts[0]), Some(one.clone()));
            prop_assert!(!texts[0].chars().any(char::is_control));
            prop_assert_eq!(texts[0] == texts[1], one == other);
        }

        #[test]
        fn text_has_one_meaning(text in "[\\\\x0af./\n\u{85}茶]{0,12}") {
            if let Some(bytes) = unescaped(&text) {
                prop_assert_eq!(escaped(&bytes), text);
            }
        }

        #[test]
        fn entry_path_survives_its_text(names in proptest::collection::vec(proptest::collection::vec(1..=255_u8, 1..20), 1..5)) {
            if let Ok(path) = entry(&names.join(&b"/"[..])) {
                prop_assert_eq!(EntryPath::parse(path.as_str()), Ok(path.clone()));
                if let Some(place) = path.place() {
                    prop_assert_eq!(EntryPath::from(place), path);
                }
            }
        }
    }
}
