//! Reads NumPy archives (`.npz`): zip files whose members are arrays (`.npy`), deflated or stored.
//!
//! It supports little-endian arrays in C order and no zip64. Before it allocates memory for an array header, it checks the
//! header's length against the member's size in the zip directory. Sources: APPNOTE.TXT of zip; NumPy's `numpy.lib.format`.

use std::collections::HashMap;
use std::io::Read;

use flate2::read::DeflateDecoder;

use crate::{InvalidModel, invalid};

const DIRECTORY_END: &[u8] = b"PK\x05\x06";
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL_HEADER: &[u8] = b"PK\x03\x04";
/// Maximum size of the end record in bytes: 22 bytes and a comment of at most 65,535 bytes.
const END_WITHIN: usize = 22 + 0xffff;
/// Size of the decompression buffer in bytes; a multiple of every element size.
const BUFFER: usize = 48 << 10;

/// The members of an archive, by name.
pub(super) struct Npz<'a> {
    bytes: &'a [u8],
    members: HashMap<&'a str, Member>,
}

#[derive(Clone, Copy)]
struct Member {
    deflated: bool,
    crc: u32,
    packed: usize,
    unpacked: usize,
    local_header: usize,
}

/// An array whose elements are not decompressed yet.
pub(super) struct Array<'a> {
    name: &'a str,
    pub shape: Vec<usize>,
    /// NumPy's name of the element type, e.g. `<f4`.
    kind: String,
    data: Box<dyn Read + 'a>,
    check: crc32fast::Hasher,
    crc: u32,
    /// Number of bytes not read yet.
    left: usize,
}

impl<'a> Npz<'a> {
    pub fn open(bytes: &'a [u8]) -> Result<Self, InvalidModel> {
        let members = directory(bytes).ok_or_else(|| invalid("the weights are not a complete zip archive"))?;
        Ok(Self { bytes, members })
    }

    pub fn array(&self, name: &'a str) -> Result<Array<'a>, InvalidModel> {
        let found = self.members.get_key_value(format!("{name}.npy").as_str());
        let (_, member) = found.ok_or_else(|| invalid(format!("the weights have no array {name}")))?;
        self.begin(name, *member).ok_or_else(|| invalid(format!("the array {name} cannot be read")))
    }

    /// Reads all elements of an array of 32-bit floats with this shape.
    pub fn floats(&self, name: &'a str, shape: &[usize]) -> Result<Vec<f32>, InvalidModel> {
        let array = self.array(name)?;
        array.expect("<f4", shape)?;
        let mut floats = Vec::with_capacity(shape.iter().product());
        array.unpack(|bytes| {
            let (words, _) = bytes.as_chunks::<4>();
            floats.extend(words.iter().map(|word| f32::from_le_bytes(*word)));
            Ok(())
        })?;
        if floats.iter().all(|float| float.is_finite()) {
            Ok(floats)
        } else {
            Err(invalid(format!("the array {name} has a value that is not a finite number")))
        }
    }

    /// Reads the only element of a zero-dimensional array of 64-bit floats.
    pub fn double(&self, name: &'a str) -> Result<f64, InvalidModel> {
        let array = self.array(name)?;
        array.expect("<f8", &[])?;
        let mut value = f64::NAN;
        array.unpack(|bytes| {
            value = bytes.first_chunk().map_or(f64::NAN, |word| f64::from_le_bytes(*word));
            Ok(())
        })?;
        Ok(value)
    }

    fn begin(&self, name: &'a str, member: Member) -> Option<Array<'a>> {
        let header = self.bytes.get(member.local_header..)?;
        if !header.starts_with(LOCAL_HEADER) {
            return None;
        }
        let start = 30 + usize::from(u16_at(header, 26)?) + usize::from(u16_at(header, 28)?);
        let packed = header.get(start..)?.get(..member.packed)?;
        let mut data: Box<dyn Read + 'a> =
            if member.deflated { Box::new(DeflateDecoder::new(packed)) } else { Box::new(packed) };
        let mut check = crc32fast::Hasher::new();
        let mut take = |count: usize| {
            let mut bytes = vec![0; count];
            data.read_exact(&mut bytes).ok()?;
            check.update(&bytes);
            Some(bytes)
        };
        let magic = take(8)?;
        let wide = match magic.as_slice() {
            [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _] => false,
            [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _] => true,
            _ => return None,
        };
        let length_bytes = take(if wide { 4 } else { 2 })?;
        let length = length_bytes.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
        if length > member.unpacked {
            return None;
        }
        let text = String::from_utf8(take(length)?).ok()?;
        let (kind, shape) = described(&text)?;
        let left = member.unpacked.checked_sub(8 + length_bytes.len() + length)?;
        Some(Array { name, shape, kind, data, check, crc: member.crc, left })
    }
}

impl Array<'_> {
    /// Returns an error unless the array has this element type and shape, and the number of bytes that they require.
    pub fn expect(&self, kind: &str, shape: &[usize]) -> Result<(), InvalidModel> {
        let size = kind.bytes().last().map_or(0, |digit| usize::from(digit.wrapping_sub(b'0')));
        let bytes = shape.iter().try_fold(size, |product, side| product.checked_mul(*side));
        if self.kind == kind && self.shape == shape && bytes == Some(self.left) {
            return Ok(());
        }
        Err(invalid(format!("the array {} is {} {:?} and not {kind} {shape:?}", self.name, self.kind, self.shape)))
    }

    /// Passes all bytes to `each` in parts of [`BUFFER`] bytes (the last part may be shorter), and verifies the checksum.
    pub fn unpack(mut self, mut each: impl FnMut(&[u8]) -> Result<(), InvalidModel>) -> Result<(), InvalidModel> {
        let mut buffer = vec![0; BUFFER];
        while self.left > 0 {
            let part = &mut buffer[..self.left.min(BUFFER)];
            self.data.read_exact(part).map_err(|_| invalid(format!("the array {} is cut off", self.name)))?;
            self.check.update(part);
            self.left -= part.len();
            each(part)?;
        }
        if self.check.finalize() == self.crc {
            Ok(())
        } else {
            Err(invalid(format!("the array {} is damaged", self.name)))
        }
    }
}

fn directory(bytes: &[u8]) -> Option<HashMap<&str, Member>> {
    let tail = bytes.len().saturating_sub(END_WITHIN);
    let end = bytes[tail..].windows(DIRECTORY_END.len()).rposition(|window| window == DIRECTORY_END)?;
    let end = &bytes[tail + end..];
    let mut rest = bytes.get(usize::try_from(u32_at(end, 16)?).ok()?..)?;
    let mut members = HashMap::new();
    for _ in 0..u16_at(end, 10)? {
        if !rest.starts_with(DIRECTORY_ENTRY) {
            return None;
        }
        let size = |at| u32_at(rest, at).and_then(|size| usize::try_from(size).ok());
        let length = |at| u16_at(rest, at).map(usize::from);
        let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
        let member = Member {
            deflated: match u16_at(rest, 10)? {
                0 => false,
                8 => true,
                _ => return None,
            },
            crc: u32_at(rest, 16)?,
            packed: size(20)?,
            unpacked: size(24)?,
            local_header: size(42)?,
        };
        members.insert(std::str::from_utf8(rest.get(46..46 + name)?).ok()?, member);
        rest = rest.get(46 + name + extra + comment..)?;
    }
    Some(members)
}

/// Parses element type and shape from a header like `{'descr': '<f4', 'fortran_order': False, 'shape': (512, 256), }`.
fn described(header: &str) -> Option<(String, Vec<usize>)> {
    let behind = |key: &str| header.split_once(key).map(|(_, rest)| rest.trim_start_matches([':', ' ']));
    let kind = behind("'descr'")?.strip_prefix('\'')?.split_once('\'')?.0;
    if !behind("'fortran_order'")?.starts_with("False") {
        return None;
    }
    let sides = behind("'shape'")?.strip_prefix('(')?.split_once(')')?.0;
    let sides = sides.split(',').map(str::trim).filter(|side| !side.is_empty());
    Some((kind.to_owned(), sides.map(str::parse).collect::<Result<_, _>>().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|word| u16::from_le_bytes(*word))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use proptest::prelude::*;

    use super::*;

    fn npy(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
    }

    /// Builds an archive of these members, with every second one deflated.
    fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (number, (name, data)) in members.iter().enumerate() {
            let deflated = number % 2 == 1;
            let packed = if deflated {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(data).unwrap();
                encoder.finish().unwrap()
            } else {
                data.clone()
            };
            let sizes = [crc32fast::hash(data), packed.len() as u32, data.len() as u32].map(u32::to_le_bytes).concat();
            let method = if deflated { 8_u16 } else { 0 }.to_le_bytes();
            let name_length = (name.len() as u16).to_le_bytes();
            directory.extend([DIRECTORY_ENTRY, &[0; 6], &method, &[0; 4], &sizes, &name_length, &[0; 12]].concat());
            directory.extend((bytes.len() as u32).to_le_bytes());
            directory.extend(name.as_bytes());
            // The local header's extra field may differ from the directory's.
            bytes.extend([LOCAL_HEADER, &[0; 4], &method, &[0; 4], &sizes, &name_length, &[2, 0]].concat());
            bytes.extend([name.as_bytes(), &[7, 7], &packed].concat());
        }
        let (start, count) = (bytes.len() as u32, members.len() as u16);
        bytes.extend(&directory);
        bytes.extend([DIRECTORY_END, &[0; 6], &count.to_le_bytes(), &(directory.len() as u32).to_le_bytes()].concat());
        bytes.extend([&start.to_le_bytes()[..], &[2, 0], b"hi"].concat());
        bytes
    }

    fn sample() -> Vec<u8> {
        let floats: Vec<u8> = (0..6).flat_map(|number| (number as f32).to_le_bytes()).collect();
        archive(&[
            ("a.npy", npy("<f4", "(2, 3)", &floats)),
            ("b.npy", npy("<f4", "(6,)", &floats)),
            ("c.npy", npy("<f8", "()", &1.5_f64.to_le_bytes())),
        ])
    }

    #[test]
    fn stored_and_deflated_arrays_are_read() {
        let bytes = sample();
        let npz = Npz::open(&bytes).unwrap();
        assert_eq!(npz.floats("a", &[2, 3]).unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(npz.floats("b", &[6]).unwrap(), npz.floats("a", &[2, 3]).unwrap());
        assert_eq!(npz.double("c").unwrap(), 1.5);
        assert_eq!(npz.array("a").unwrap().shape, [2, 3]);
    }

    #[test]
    fn error_names_missing_or_mismatched_array() {
        let bytes = sample();
        let npz = Npz::open(&bytes).unwrap();
        for (name, shape, words) in [
            ("x", &[6][..], "no array x"),
            ("b", &[2, 3], "the array b is <f4 [6] and not <f4 [2, 3]"),
            ("c", &[], "<f8 [] and not <f4 []"),
        ] {
            let error = npz.floats(name, shape).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let odd = archive(&[("a.npy", npy("<f4", "(1,)", &f32::NAN.to_le_bytes()))]);
        assert!(Npz::open(&odd).unwrap().floats("a", &[1]).is_err(), "no number");
        assert!(Npz::open(b"not a zip").is_err());
    }

    proptest! {
        #[test]
        fn damaged_archive_is_rejected_or_unaffected(at in 0_usize..1000, bit in 0_u8..8, cut in 0_usize..1000) {
            let whole = sample();
            let at = at % whole.len();
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            for bytes in [&damaged[..], &whole[..cut.min(whole.len() - 1)]] {
                let Ok(npz) = Npz::open(bytes) else { continue };
                for (name, shape) in [("a", &[2, 3][..]), ("b", &[6])] {
                    if let Ok(floats) = npz.floats(name, shape) {
                        prop_assert_eq!(floats, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
                    }
                }
            }
        }

        #[test]
        fn any_archive_bytes_are_handled(bytes: Vec<u8>) {
            let bytes = [&bytes, DIRECTORY_END, &bytes].concat();
            if let Ok(npz) = Npz::open(&bytes) {
                let _ = npz.floats("a", &[1]);
            }
        }
    }
}
