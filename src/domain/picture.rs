//! A picture that a person sent with a message, or that the agent read from a file. Its format is detected from its first
//! bytes and never taken from its sender or its name. Nothing here decodes a picture, so none can expand beyond its bytes.

mod structure;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::mcp::server_prefix;
use super::message::ToolCall;

pub use structure::is_complete;
#[cfg(test)]
pub use structure::tests::png as complete_png;

/// Maximum bytes of one picture.
pub const MOST_PICTURE_BYTES: usize = 3 << 19;
/// Maximum bytes of all pictures of one message together.
pub const MOST_PICTURES_TOGETHER: usize = 6 << 20;
/// Maximum length of a side, in pixels.
pub const MOST_SIDE: u32 = 8192;
/// Maximum length of the longer side that models read, in pixels; a larger picture is scaled down first.
const READ_SIDE: u64 = 1568;
/// Pixels per token, and the minimum and maximum tokens of a picture. Providers count differently (by tiles of 512
/// pixels, by patches of 28): these values are close to the most expensive ones, so that a request fits.
const PIXELS_A_TOKEN: u64 = 750;
const FEWEST_TOKENS: u64 = 85;
const MOST_TOKENS: u64 = 1600;

/// The tool whose results name the pictures that it read; those of MCP servers do too.
const READ_FILE: &str = "read_file";
/// The field of the data of an MCP tool's result that holds its pictures by the paths of their files.
pub const PICTURES: &str = "pictures";
/// The field of a file in the data of such a result that holds its [`Picture`].
pub const PICTURE: &str = "picture";

/// The formats that models and browsers read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
pub enum Media {
    #[serde(rename = "image/png")]
    Png,
    #[serde(rename = "image/jpeg")]
    Jpeg,
    #[serde(rename = "image/webp")]
    Webp,
    #[serde(rename = "image/gif")]
    Gif,
}

impl Media {
    pub const ALL: [Self; 4] = [Self::Png, Self::Jpeg, Self::Webp, Self::Gif];

    /// Returns the format that the first bytes name; whatever follows may be damaged.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
        }
    }

    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Webp => "webp",
            Self::Gif => "gif",
        }
    }
}

/// What a message records of a picture: which file it is, and enough to lay out its place before it is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Picture {
    pub media_type: Media,
    /// SHA-256 of its bytes, in hexadecimal; also the name of its file beside the session.
    pub hash: String,
    pub bytes: u64,
    /// In pixels, from its header.
    pub width: u32,
    pub height: u32,
}

impl Picture {
    /// Estimates the tokens that the picture costs in a request, from its size as a model reads it.
    pub fn tokens(&self) -> usize {
        let (width, height) = (u64::from(self.width), u64::from(self.height));
        let longer = width.max(height).max(1);
        let pixels = match longer > READ_SIDE {
            true => (width.saturating_mul(height) / longer).saturating_mul(READ_SIDE * READ_SIDE) / longer,
            false => width * height,
        };
        usize::try_from(pixels.div_ceil(PIXELS_A_TOKEN).clamp(FEWEST_TOKENS, MOST_TOKENS)).unwrap_or(usize::MAX)
    }
}

impl ToolCall {
    /// Returns the pictures that its result names, each with the path that it was read from, in their order.
    pub fn pictures(&self) -> Vec<(&str, Picture)> {
        let data = self.result.as_ref().and_then(|result| result.get("data"));
        let named = match self.tool.as_str() {
            READ_FILE => data,
            // The data of an MCP tool is ours, and not the server's.
            tool if server_prefix(tool).is_some() => data.and_then(|data| data.get(PICTURES)),
            _ => None,
        };
        let files = named.and_then(serde_json::Value::as_object).into_iter().flatten();
        files.filter_map(|(path, file)| Some((path.as_str(), Picture::deserialize(file.get(PICTURE)?).ok()?))).collect()
    }
}

/// A picture whose bytes are not stored yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPicture {
    pub hash: String,
    pub bytes: Arc<[u8]>,
}

/// What the first bytes of a picture say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureHeader {
    pub media: Media,
    pub width: u32,
    pub height: u32,
}

/// Returns the format and size of a picture; `None` for anything else, for a picture that is truncated before its size,
/// and for one without pixels.
pub fn head(bytes: &[u8]) -> Option<PictureHeader> {
    let media = Media::of(bytes)?;
    let (width, height) = match media {
        Media::Png => png(bytes)?,
        Media::Gif => gif(bytes)?,
        Media::Jpeg => jpeg(bytes)?,
        Media::Webp => webp(bytes)?,
    };
    (width > 0 && height > 0).then_some(PictureHeader { media, width, height })
}

fn big(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}

fn big_short(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes).map(u32::from)
}

fn small_short(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes).map(u32::from)
}

fn small_three(bytes: &[u8], at: usize) -> Option<u32> {
    let three = bytes.get(at..at + 3)?;
    Some(u32::from_le_bytes([three[0], three[1], three[2], 0]))
}

/// Reads the size from the header chunk, which comes first.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.get(12..16)? == b"IHDR").then_some(())?;
    Some((big(bytes, 16)?, big(bytes, 20)?))
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    Some((small_short(bytes, 6)?, small_short(bytes, 8)?))
}

/// Reads the size from the start-of-frame segment, which follows other segments of any length.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        // Any number of fill bytes may precede a marker.
        while bytes.get(at) == Some(&0xff) && bytes.get(at + 1) == Some(&0xff) {
            at += 1;
        }
        (*bytes.get(at)? == 0xff).then_some(())?;
        match *bytes.get(at + 1)? {
            // The codes of arithmetic-coding conditioning and Huffman tables lie among those of frames.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((big_short(bytes, at + 7)?, big_short(bytes, at + 5)?));
            }
            // These markers have no length.
            0x01 | 0xd0..=0xd7 => at += 2,
            // The image data, or the end of the image, without a frame before it.
            0x00 | 0xd8..=0xda => return None,
            _ => {
                let length = big_short(bytes, at + 2)?;
                (length >= 2).then_some(())?;
                at += 2 + length as usize;
            }
        }
    }
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8X" => Some((small_three(bytes, 24)? + 1, small_three(bytes, 27)? + 1)),
        b"VP8L" => {
            (*bytes.get(20)? == 0x2f).then_some(())?;
            let bits = u32::from_le_bytes(bytes.get(21..25)?.try_into().ok()?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => {
            (bytes.get(23..26)? == [0x9d, 0x01, 0x2a]).then_some(())?;
            Some((small_short(bytes, 26)? & 0x3fff, small_short(bytes, 28)? & 0x3fff))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(bytes: &[u8]) -> Option<(Media, u32, u32)> {
        head(bytes).map(|head| (head.media, head.width, head.height))
    }

    fn joined(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    #[test]
    fn formats_and_sizes_are_read_from_first_bytes() {
        let png =
            joined(&[b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &640u32.to_be_bytes(), &480u32.to_be_bytes(), b"\x08\x02"]);
        assert_eq!(told(&png), Some((Media::Png, 640, 480)));
        assert_eq!(told(b"GIF89a\x0a\x00\x14\x00\x00"), Some((Media::Gif, 10, 20)));
        assert_eq!(told(b"GIF87a\x01\x00\x01\x00\x00"), Some((Media::Gif, 1, 1)));
        let frame = b"\xff\xc2\x00\x11\x08\x01\x00\x02\x00\x03";
        let jpeg = joined(&[b"\xff\xd8", b"\xff\xe0\x00\x06JFIF", b"\xff\xff\xff\xc4\x00\x03x", frame]);
        assert_eq!(told(&jpeg), Some((Media::Jpeg, 512, 256)));
        let extended = joined(&[b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0", &[0x1f, 3, 0], &[0x57, 2, 0]]);
        assert_eq!(told(&extended), Some((Media::Webp, 800, 600)));
        let bits = (799u32 | 599 << 14).to_le_bytes();
        let lossless = joined(&[b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f", &bits]);
        assert_eq!(told(&lossless), Some((Media::Webp, 800, 600)));
        let lossy = joined(&[b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0abc\x9d\x01\x2a", &[0x20, 3], &[0x58, 2]]);
        assert_eq!(told(&lossy), Some((Media::Webp, 800, 600)));
    }

    #[test]
    fn invalid_or_empty_picture_is_none() {
        for other in [
            &b""[..],
            b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            b"BM\0\0\0\0",
            b"%PDF-1.7",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIDAT\0\0\0\x01\0\0\0\x01",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\0\x01",
            b"\xff\xd8\xff\xda\x00\x02",
            b"\xff\xd8\xff\xe0\x00\x00\xff\xc0",
            b"GIF89a\0\0\0\0",
            b"RIFF\0\0\0\0WAVEfmt ",
        ] {
            assert_eq!(head(other), None, "{}", String::from_utf8_lossy(other));
        }
    }

    #[test]
    fn only_read_file_names_pictures_in_its_result() {
        let picture = serde_json::json!({"media_type": "image/gif", "hash": "aa", "bytes": 9, "width": 3, "height": 2});
        let data = serde_json::json!({"/b.gif": {"picture": picture}, "/a.txt": {"content": "x"},
            "/odd": {"picture": {"media_type": "image/svg+xml"}}, "summary": {"total_files": 3}, "list": [1]});
        let call = |tool: &str| {
            let result = serde_json::json!({"data": data});
            ToolCall { result: Some(result), ..ToolCall::new("c", tool, &serde_json::Value::Null) }
        };
        let read = call("read_file");
        let named: Vec<_> = read.pictures().into_iter().map(|(path, picture)| (path, picture.hash)).collect();
        assert_eq!(named, [("/b.gif", "aa".to_owned())]);
        assert_eq!(call("fetch_url").pictures(), []);
        assert_eq!(ToolCall { result: None, ..read.clone() }.pictures(), []);
    }

    #[test]
    fn picture_tokens_follow_scaled_size_and_are_bounded() {
        let cost = |width, height| {
            let (media_type, hash) = (Media::Png, String::new());
            Picture { media_type, hash, bytes: 1, width, height }.tokens()
        };
        assert_eq!((cost(1, 1), cost(750, 750), cost(1000, 600)), (85, 750, 800));
        assert_eq!((cost(1568, 300), cost(3136, 600)), (628, 628), "twice as large is made half as large");
        assert_eq!((cost(8000, 8000), cost(u32::MAX, u32::MAX), cost(0, 0)), (1600, 1600, 85));
    }

    proptest! {
        #[test]
        fn truncated_pictures_do_not_fail(
            start in prop::sample::select(vec![
                &b"\x89PNG\r\n\x1a\n"[..], b"GIF89a", b"\xff\xd8\xff", b"\xff\xd8\xff\xff", b"RIFF\0\0\0\0WEBPVP8X",
                b"RIFF\0\0\0\0WEBPVP8 ", b"RIFF\0\0\0\0WEBPVP8L"]),
            rest in prop::collection::vec(any::<u8>(), 0..200)
        ) {
            let bytes = joined(&[start, &rest]);
            if let Some(found) = head(&bytes) {
                prop_assert!(found.width > 0 && found.height > 0);
            }
        }
    }
}
