//! The files of models, which lie outside the home and are only read.

use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// All bytes of a model's file.
///
/// # Errors
/// When it is not there, is no file, or has more than `most` bytes, which the memory need not hold.
pub fn weights(path: &Path, most: u64) -> Result<Vec<u8>> {
    // Opening a pipe would wait for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is no file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("weights");
        std::fs::write(&file, b"12345").unwrap();
        assert_eq!(weights(&file, 5).unwrap(), b"12345");
        assert_eq!(weights(&file, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(weights(folder.path(), 9).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(weights(&folder.path().join("none"), 9).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
