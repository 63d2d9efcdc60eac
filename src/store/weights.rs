//! Reads model files, which are outside the home and are never written.

use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Reads a model file into memory.
///
/// # Errors
/// Returns an error if the file does not exist, is not a regular file, or has more than `most` bytes. Never reads more than
/// one byte beyond `most`.
pub fn read_model_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    // Opening a named pipe would block until a writer opens it.
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
    fn file_is_read_up_to_limit() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("weights");
        std::fs::write(&file, b"12345").unwrap();
        assert_eq!(read_model_file(&file, 5).unwrap(), b"12345");
        assert_eq!(read_model_file(&file, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_model_file(folder.path(), 9).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(read_model_file(&folder.path().join("none"), 9).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
