//! A file's stamp distinguishes two states of a file without reading it.

use serde::{Deserialize, Serialize};

/// Differs if the content of a file may have changed: its size, both its times to the nanosecond, and its identity
/// (device and inode). A program can set the modification time back, but not the inode's change time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp([u64; 7]);

impl FileStamp {
    pub fn of(size: u64, modified: (i64, i64), changed: (i64, i64), file: (u64, u64)) -> Self {
        let numbers = [modified.0, modified.1, changed.0, changed.1].map(i64::cast_unsigned);
        Self([size, numbers[0], numbers[1], numbers[2], numbers[3], file.0, file.1])
    }

    /// Returns the size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.0[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamp_round_trips_and_compares_every_part() {
        let stamp = FileStamp::of(1, (-2, 3), (4, 5), (6, u64::MAX));
        let text = serde_json::to_string(&stamp).unwrap();
        assert_eq!(serde_json::from_str::<FileStamp>(&text).unwrap(), stamp);
        let others = [
            FileStamp::of(9, (-2, 3), (4, 5), (6, u64::MAX)),
            FileStamp::of(1, (9, 3), (4, 5), (6, u64::MAX)),
            FileStamp::of(1, (-2, 9), (4, 5), (6, u64::MAX)),
            FileStamp::of(1, (-2, 3), (9, 5), (6, u64::MAX)),
            FileStamp::of(1, (-2, 3), (4, 9), (6, u64::MAX)),
            FileStamp::of(1, (-2, 3), (4, 5), (9, u64::MAX)),
            FileStamp::of(1, (-2, 3), (4, 5), (6, 9)),
        ];
        assert!(others.iter().all(|other| *other != stamp));
    }
}
