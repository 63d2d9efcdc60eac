//! The zip archive that an office document is, unpacked within limits. Nothing it says about sizes is believed before the
//! bytes are there.

use std::borrow::Cow;
use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::Unreadable;

/// How an encrypted office document begins: it is not a zip but an OLE container.
const OLE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
const MOST_MEMBERS: usize = 4_096;
/// Bytes unpacked from one archive, over all members that are read.
const UNPACKED: usize = 64 << 20;

pub struct Archive<'a> {
    zip: ZipArchive<Cursor<&'a [u8]>>,
    /// Bytes that may still be unpacked.
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

    /// The names of all members that are text, in no order.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.zip.file_names().flatten().map(Cow::into_owned)
    }

    /// A member's bytes, unpacked and checked; `None` where there is none of that name.
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
