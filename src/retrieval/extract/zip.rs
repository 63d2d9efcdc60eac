//! Unpacks the zip archive of an office document within limits. Counts the unpacked bytes and does not trust the sizes that the
//! archive declares.

use std::borrow::Cow;
use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::Unreadable;

/// First bytes of an encrypted office document, which is an OLE container and not a zip archive.
const OLE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
const MOST_MEMBERS: usize = 4_096;
/// Maximum bytes unpacked from one archive, over all members that are read.
const UNPACKED: usize = 64 << 20;

pub struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// Number of bytes that may still be unpacked.
    left: usize,
}

impl<'a> Archive<'a> {
    pub fn open(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        if bytes.starts_with(OLE) {
            return Err(Unreadable::Encrypted);
        }
        let zip = ZipArchive::new(Cursor::new(bytes)).map_err(|_| Unreadable::Damaged)?;
        match zip.len() {
            0 => Err(Unreadable::Damaged),
            members if members > MOST_MEMBERS => Err(Unreadable::ArchiveLimit),
            _ => Ok(Self { zip, left: UNPACKED }),
        }
    }

    /// Returns the names of all members that are valid text, in no particular order.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.zip.file_names().flatten().map(Cow::into_owned)
    }

    /// Returns a member's bytes, unpacked and checked, or `None` if there is no member with this name.
    pub fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, Unreadable> {
        let member = match self.zip.by_name(name) {
            Ok(member) => member,
            Err(ZipError::FileNotFound) => return Ok(None),
            Err(ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED)) => return Err(Unreadable::Encrypted),
            Err(_) => return Err(Unreadable::Damaged),
        };
        let mut unpacked = Vec::new();
        let limit = self.left as u64 + 1;
        member.take(limit).read_to_end(&mut unpacked).map_err(|_| Unreadable::Damaged)?;
        self.left = self.left.checked_sub(unpacked.len()).ok_or(Unreadable::ArchiveLimit)?;
        Ok(Some(unpacked))
    }
}
