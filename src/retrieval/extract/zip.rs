//! The zip archive that an office document is. Read from its central directory, within limits; nothing it says about sizes is
//! believed before the bytes are there. Source: APPNOTE.TXT of zip. Zip64 and every packing but deflate are left out: office
//! programs write neither.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::DeflateDecoder;

use super::Unreadable;

const DIRECTORY_END: &[u8] = b"PK\x05\x06";
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL_HEADER: &[u8] = b"PK\x03\x04";
/// The end record is 22 bytes and a comment of at most 64 KiB.
const END_WITHIN: usize = 22 + 0xffff;
/// How an encrypted office document begins: it is not a zip but an OLE container.
const OLE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
const MOST_MEMBERS: usize = 4_096;
/// Bytes unpacked from one archive, over all members that are read.
const UNPACKED: usize = 64 << 20;

const ENCRYPTED: u16 = 1;

pub struct Archive<'a> {
    bytes: &'a [u8],
    members: HashMap<String, Member>,
    /// Bytes that may still be unpacked.
    left: usize,
}

#[derive(Clone, Copy)]
struct Member {
    encrypted: bool,
    method: u16,
    crc: u32,
    packed: usize,
    local_header: usize,
}

impl<'a> Archive<'a> {
    pub fn open(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        if bytes.starts_with(OLE) {
            return Err(Unreadable::Encrypted);
        }
        Ok(Self { bytes, members: directory(bytes)?, left: UNPACKED })
    }

    /// The names of all members, in no order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    /// A member's bytes, unpacked and checked; `None` where there is none of that name.
    pub fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, Unreadable> {
        let Some(member) = self.members.get(name).copied() else { return Ok(None) };
        if member.encrypted {
            return Err(Unreadable::Encrypted);
        }
        let packed = self.packed(member).ok_or(Unreadable::Damaged)?;
        let mut unpacked = Vec::new();
        let limit = self.left as u64 + 1;
        match member.method {
            0 => packed.take(limit).read_to_end(&mut unpacked),
            8 => DeflateDecoder::new(packed).take(limit).read_to_end(&mut unpacked),
            _ => return Err(Unreadable::Damaged),
        }
        .map_err(|_| Unreadable::Damaged)?;
        self.left = self.left.checked_sub(unpacked.len()).ok_or(Unreadable::ArchiveLimit)?;
        if crc32fast::hash(&unpacked) != member.crc {
            return Err(Unreadable::Damaged);
        }
        Ok(Some(unpacked))
    }

    fn packed(&self, member: Member) -> Option<&'a [u8]> {
        let header = self.bytes.get(member.local_header..)?;
        if !header.starts_with(LOCAL_HEADER) {
            return None;
        }
        let start = 30 + usize::from(u16_at(header, 26)?) + usize::from(u16_at(header, 28)?);
        header.get(start..)?.get(..member.packed)
    }
}

fn directory(bytes: &[u8]) -> Result<HashMap<String, Member>, Unreadable> {
    let from = bytes.len().saturating_sub(END_WITHIN);
    let end = (from..bytes.len()).rev().find(|at| bytes[*at..].starts_with(DIRECTORY_END));
    let end = &bytes[end.ok_or(Unreadable::Damaged)?..];
    let start = u32_at(end, 16).ok_or(Unreadable::Damaged)? as usize;
    let mut rest = bytes.get(start..).ok_or(Unreadable::Damaged)?;
    let mut members = HashMap::new();
    while rest.starts_with(DIRECTORY_ENTRY) {
        let (name, member, length) = entry(rest).ok_or(Unreadable::Damaged)?;
        // Of two members with one name the first counts, as in the programs that write them.
        members.entry(name).or_insert(member);
        if members.len() > MOST_MEMBERS {
            return Err(Unreadable::ArchiveLimit);
        }
        rest = rest.get(length..).ok_or(Unreadable::Damaged)?;
    }
    if members.is_empty() { Err(Unreadable::Damaged) } else { Ok(members) }
}

/// The first entry of a directory, and its length.
fn entry(bytes: &[u8]) -> Option<(String, Member, usize)> {
    let [name, extra, comment] = [28, 30, 32].map(|at| u16_at(bytes, at).map(usize::from));
    let (name, length) = (name?, 46 + name? + extra? + comment?);
    let member = Member {
        encrypted: u16_at(bytes, 8)? & ENCRYPTED != 0,
        method: u16_at(bytes, 10)?,
        crc: u32_at(bytes, 16)?,
        packed: u32_at(bytes, 20)? as usize,
        local_header: u32_at(bytes, 42)? as usize,
    };
    let name = String::from_utf8_lossy(bytes.get(46..46 + name)?).into_owned();
    Some((name, member, length))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().copied().map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}
