//! Whether a picture is complete, as far as its structure tells without decoding it: providers refuse a whole request
//! for one picture that ends too early.

use super::Media;

/// Returns whether the bytes are a picture with image data that is there to its end. Bytes after the end do not count.
pub fn is_complete(bytes: &[u8]) -> bool {
    let complete = match Media::of(bytes) {
        Some(Media::Png) => png(bytes),
        Some(Media::Jpeg) => jpeg(bytes),
        Some(Media::Gif) => gif(bytes),
        Some(Media::Webp) => webp(bytes),
        None => None,
    };
    complete.is_some()
}

/// Reads chunks with their checksums up to the end chunk.
fn png(bytes: &[u8]) -> Option<()> {
    let mut rest = bytes.get(8..)?;
    let mut has_data = false;
    loop {
        let (length, after) = rest.split_first_chunk()?;
        let (typed, after) = after.split_at_checked((u32::from_be_bytes(*length) as usize).checked_add(4)?)?;
        let (checksum, after) = after.split_first_chunk()?;
        (crc32fast::hash(typed) == u32::from_be_bytes(*checksum)).then_some(())?;
        match typed.get(..4)? {
            b"IDAT" => has_data = true,
            b"IEND" => return has_data.then_some(()),
            _ => {}
        }
        rest = after;
    }
}

/// Skips the segments before the first scan, which may contain a whole preview, and looks for the end of the image.
fn jpeg(bytes: &[u8]) -> Option<()> {
    let mut at = 2;
    loop {
        match bytes.get(at..at + 2)? {
            // A fill byte.
            [0xff, 0xff] => at += 1,
            [0xff, 0xda] => return bytes[at..].windows(2).any(|pair| pair == [0xff, 0xd9]).then_some(()),
            // These markers have no length.
            [0xff, 0x01 | 0xd0..=0xd7] => at += 2,
            [0xff, 0xd8 | 0xd9] => return None,
            [0xff, 0x02..=0xfe] => {
                let length = u16::from_be_bytes(bytes.get(at + 2..at + 4)?.try_into().ok()?);
                (length >= 2).then_some(())?;
                at += 2 + usize::from(length);
            }
            _ => return None,
        }
    }
}

/// Reads blocks up to the trailer, which some programs leave out.
fn gif(bytes: &[u8]) -> Option<()> {
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3usize << ((flags & 7) + 1) };
    let mut at = 13 + table(*bytes.get(10)?);
    let mut has_image = false;
    loop {
        match bytes.get(at) {
            Some(0x21) => at = after_sub_blocks(bytes, at + 2)?,
            // The descriptor has ten bytes, and the size of the codes one.
            Some(0x2c) => {
                at = after_sub_blocks(bytes, at + 11 + table(*bytes.get(at + 9)?))?;
                has_image = true;
            }
            Some(0x3b) | None => return has_image.then_some(()),
            Some(_) => return None,
        }
    }
}

fn after_sub_blocks(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1 + length;
        if length == 0 {
            return Some(at);
        }
    }
}

/// Compares the length in the header with that of the file.
fn webp(bytes: &[u8]) -> Option<()> {
    let length = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?) as usize;
    (length > 12 && bytes.len() >= length.checked_add(8)?).then_some(())
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::domain::picture::head;
    use proptest::prelude::*;

    /// Returns a PNG of this size whose structure is complete. Its image data is not.
    pub fn png(width: u32, height: u32) -> Vec<u8> {
        let chunk = |kind: &[u8; 4], data: &[u8]| {
            let typed = [kind, data].concat();
            let length = u32::try_from(data.len()).unwrap().to_be_bytes();
            [length.as_slice(), &typed, &crc32fast::hash(&typed).to_be_bytes()].concat()
        };
        let header = [width.to_be_bytes().as_slice(), &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
        [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"IHDR", &header), chunk(b"IDAT", b"x"), chunk(b"IEND", b"")].concat()
    }

    fn pictures() -> [Vec<u8>; 4] {
        let frame = b"\xff\xc0\x00\x11\x08\x01\x00\x02\x00\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00";
        let preview = b"\xff\xe1\x00\x06\xff\xda\xff\xd9";
        let jpeg = [b"\xff\xd8".as_slice(), preview, frame, b"\xff\xff\xda\x00\x02scan\xff\x00\xff\xd9"].concat();
        let gif =
            b"GIF89a\x03\0\x02\0\x80\0\0abcdef\x21\xf9\x04\0\0\0\0\0\x2c\0\0\0\0\x03\0\x02\0\0\x02\x02\x44\x01\0\x3b";
        let mut webp = b"RIFF\0\0\0\0WEBPVP8L\x06\0\0\0\x2f\x01\x00\x00\x00\x00".to_vec();
        webp[4] = u8::try_from(webp.len()).unwrap() - 8;
        [png(3, 2), jpeg, gif.to_vec(), webp]
    }

    #[test]
    fn truncated_picture_is_incomplete() {
        for whole in pictures() {
            let media = Media::of(&whole).unwrap();
            assert!(head(&whole).is_some() && is_complete(&whole), "{media:?}");
            assert!(is_complete(&[whole.as_slice(), b"more"].concat()), "{media:?}");
            // A GIF may lack its trailer.
            let ends = whole.len() - usize::from(media == Media::Gif);
            for end in 0..ends {
                assert!(!is_complete(&whole[..end]), "{media:?} to {end}");
            }
        }
    }

    #[test]
    fn changed_png_is_incomplete() {
        let whole = png(3, 2);
        for at in 8..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(!is_complete(&changed), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_fail(
            start in prop::sample::select(pictures().to_vec()),
            keep in 0usize..80,
            rest in prop::collection::vec(any::<u8>(), 0..200)
        ) {
            is_complete(&[&start[..keep.min(start.len())], rest.as_slice()].concat());
        }
    }
}
