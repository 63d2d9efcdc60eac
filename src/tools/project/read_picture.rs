//! Pictures among the files that `read_file` reads. Strangers may have written them, so they are checked as far as that is
//! possible without decoding them; the limits are those of the pictures that people send.

use super::answer::Failure;
use crate::domain::attachment::MOST_FILES;
use crate::domain::picture::{MOST_PICTURE_BYTES, MOST_PICTURES_TOGETHER, MOST_SIDE, PictureHeader, head, is_complete};
use crate::domain::{NewPicture, Picture};
use crate::sandbox::grouped;
use crate::store::picture_hash;

/// How many pictures a call can still read, and how many bytes of them.
pub struct PictureRoom {
    count: usize,
    bytes: usize,
}

impl Default for PictureRoom {
    fn default() -> Self {
        Self { count: MOST_FILES, bytes: MOST_PICTURES_TOGETHER }
    }
}

/// Checks a file that begins like a picture, and takes it from the room. Returns what its record says of it and what has
/// to be kept.
///
/// # Errors
/// Returns the failure of an item if the picture is damaged, exceeds a limit, or if there is no room left.
pub fn read_picture(bytes: Vec<u8>, room: &mut PictureRoom) -> Result<(Picture, NewPicture), Failure> {
    let size = bytes.len();
    let PictureHeader { media: media_type, width, height } = head(&bytes).ok_or_else(Failure::damaged_picture)?;
    if width.max(height) > MOST_SIDE {
        return Err(Failure::too_large(format!(
            "it is a picture of {width} × {height} pixels, and up to {MOST_SIDE} a side can be read; make a smaller copy \
             of it"
        )));
    }
    if size > MOST_PICTURE_BYTES {
        let (size, most) = (grouped(size as u64), grouped(MOST_PICTURE_BYTES as u64));
        let advice =
            format!("it is a picture of {size} bytes, and up to {most} can be read; make a smaller copy of it");
        return Err(Failure::too_large(advice));
    }
    if !is_complete(&bytes) {
        return Err(Failure::damaged_picture());
    }
    let (Some(count), Some(left)) = (room.count.checked_sub(1), room.bytes.checked_sub(size)) else {
        let most = grouped(MOST_PICTURES_TOGETHER as u64);
        let advice =
            format!("a call can read {MOST_FILES} pictures with {most} bytes together; read it in another call");
        return Err(Failure::too_large(advice));
    };
    *room = PictureRoom { count, bytes: left };
    let new = NewPicture { hash: picture_hash(&bytes), bytes: bytes.into() };
    Ok((Picture { media_type, hash: new.hash.clone(), bytes: size as u64, width, height }, new))
}
