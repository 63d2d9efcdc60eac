//! Saved states: the KV cache of a prefix on disk, so that a restart need not evaluate the prefix again. The file
//! name is a hash of the model and the exact tokens; only the latest few files are kept. They contain the text of
//! the system prompt, so only their owner may read them.

use crate::lm::{Lm, LmError};
use crate::slots::Purpose;
use llama_cpp_2::token::LlamaToken;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const MAX_FILES: usize = 3;
const EXTENSION: &str = "kv";
/// Bytes of the beginning, the middle and the end of the model file that go into its fingerprint.
const SAMPLE_BYTES: usize = 1 << 20;

/// The folder of the saved states of one model.
pub struct PrefixCache {
    folder: PathBuf,
    model: [u8; 32],
}

impl PrefixCache {
    /// Opens the folder and creates it if it is missing.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be created or the model file cannot be read.
    pub fn open(folder: &Path, model: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self { folder: folder.to_owned(), model: fingerprint(model)? })
    }

    fn file(&self, tokens: &[LlamaToken]) -> PathBuf {
        let mut hash = Sha256::new();
        hash.update(self.model);
        for token in tokens {
            hash.update(token.0.to_le_bytes());
        }
        let name: String = hash.finalize().iter().take(16).map(|b| format!("{b:02x}")).collect();
        self.folder.join(format!("{name}.{EXTENSION}"))
    }

    /// Loads the state of these tokens into the model. Returns false if there is none, or if it is damaged, in
    /// which case it is deleted.
    pub fn load(&self, lm: &mut Lm<'_>, tokens: &[LlamaToken], purpose: Purpose) -> bool {
        let file = self.file(tokens);
        if !file.is_file() {
            return false;
        }
        match lm.load(tokens, purpose, &file) {
            Ok(()) => {
                // the modification time records the last use, which decides what is kept
                if let Ok(file) = File::options().append(true).open(&file) {
                    let _ = file.set_modified(SystemTime::now());
                }
                true
            }
            Err(why) => {
                eprintln!("a saved prefix could not be loaded and is removed: {why}");
                let _ = fs::remove_file(&file);
                false
            }
        }
    }

    /// Saves the state of these tokens and deletes the least recently used files. A failure is only logged, because
    /// it costs nothing but time later.
    pub fn save(&self, lm: &Lm<'_>, tokens: &[LlamaToken], purpose: Purpose) {
        let file = self.file(tokens);
        if file.is_file() {
            return;
        }
        if let Err(why) = self.write(lm, (tokens, purpose), &file) {
            eprintln!("the prefix could not be saved: {why}");
        }
        prune(&self.folder, MAX_FILES);
    }

    fn write(&self, lm: &Lm<'_>, state: (&[LlamaToken], Purpose), file: &Path) -> Result<(), LmError> {
        let part = file.with_extension("part");
        let failed = |e: io::Error| LmError::Failed(e.to_string());
        lm.save(state.0, state.1, &part)?;
        fs::set_permissions(&part, fs::Permissions::from_mode(0o600)).map_err(failed)?;
        File::open(&part).and_then(|f| f.sync_all()).map_err(failed)?;
        fs::rename(&part, file).map_err(failed)
    }
}

/// Deletes all states except the `keep` most recently used, and the files of interrupted writes.
fn prune(folder: &Path, keep: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut states: Vec<(SystemTime, PathBuf)> = Vec::new();
    for path in entries.flatten().map(|e| e.path()) {
        match path.extension().and_then(|e| e.to_str()) {
            Some(EXTENSION) => {
                let modified = fs::metadata(&path).and_then(|m| m.modified());
                states.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), path));
            }
            Some("part") => {
                let _ = fs::remove_file(&path);
            }
            _ => {}
        }
    }
    states.sort_unstable_by(|a, b| b.cmp(a));
    for (_, path) in states.into_iter().skip(keep) {
        let _ = fs::remove_file(path);
    }
}

/// Computes a fingerprint that identifies a model file without reading gigabytes.
fn fingerprint(model: &Path) -> io::Result<[u8; 32]> {
    let mut file = File::open(model)?;
    let size = file.metadata()?.len();
    let mut hash = Sha256::new();
    hash.update(size.to_le_bytes());
    for start in [0, size / 2, size.saturating_sub(SAMPLE_BYTES as u64)] {
        file.seek(SeekFrom::Start(start))?;
        let mut sample = Vec::new();
        file.by_ref().take(SAMPLE_BYTES as u64).read_to_end(&mut sample)?;
        hash.update(&sample);
    }
    Ok(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_latest_states_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        for i in 0..5u64 {
            let file = File::create(folder.path().join(format!("{i}.kv"))).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(i)).unwrap();
        }
        File::create(folder.path().join("x.part")).unwrap();
        File::create(folder.path().join("notes.txt")).unwrap();
        prune(folder.path(), 3);
        let mut names: Vec<String> =
            fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        assert_eq!(names, ["2.kv", "3.kv", "4.kv", "notes.txt"]);
    }

    #[test]
    fn model_or_prompt_change_uses_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("m.gguf");
        fs::write(&model, b"one").unwrap();
        let a = PrefixCache::open(&folder.path().join("kv"), &model).unwrap();
        fs::write(&model, b"two").unwrap();
        let b = PrefixCache::open(&folder.path().join("kv"), &model).unwrap();
        let tokens = [LlamaToken(1), LlamaToken(2)];
        assert_ne!(a.file(&tokens), b.file(&tokens));
        assert_ne!(a.file(&tokens), a.file(&tokens[..1]));
        assert_eq!(a.file(&tokens), a.file(&tokens));
    }
}
