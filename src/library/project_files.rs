//! Which files of a project are indexed: texts and documents of moderate size. What is left out is counted.

use std::sync::Arc;
use std::time::Duration;

use super::background::Task;
use super::{FolderState, IndexProgress, Library, LibraryError, LibrarySource};
use crate::domain::Root;
use crate::retrieval::extract::{self, DocumentKind, Unreadable};
use crate::retrieval::index::TextReader;
use crate::retrieval::{FolderIndex, Listed, note};
use crate::store::FolderScan;

/// Maximum bytes of a text file that is indexed: what is larger is data or was generated.
const MAX_TEXT: u64 = 1 << 20;
/// Endings of the names of files that are not text. Any other file is read, and one that is no text is counted then.
const BINARY: [&str; 76] = [
    "7z",
    "a",
    "aac",
    "ai",
    "apk",
    "avi",
    "avif",
    "bin",
    "blend",
    "bmp",
    "br",
    "bz2",
    "class",
    "db",
    "deb",
    "dll",
    "dmg",
    "doc",
    "dylib",
    "ear",
    "eot",
    "eps",
    "exe",
    "flac",
    "gif",
    "glb",
    "gz",
    "heic",
    "icns",
    "ico",
    "iso",
    "jar",
    "jpeg",
    "jpg",
    "lib",
    "lz4",
    "m4a",
    "mkv",
    "mov",
    "mp3",
    "mp4",
    "mpg",
    "npy",
    "npz",
    "o",
    "obj",
    "ogg",
    "onnx",
    "otf",
    "parquet",
    "pkl",
    "png",
    "ppt",
    "psd",
    "pyc",
    "rar",
    "rlib",
    "rpm",
    "safetensors",
    "so",
    "sqlite",
    "sqlite3",
    "tar",
    "tif",
    "tiff",
    "ttf",
    "wasm",
    "wav",
    "webm",
    "webp",
    "woff",
    "woff2",
    "xls",
    "xz",
    "zip",
    "zst",
];

/// What of a project is indexed, and why the other files are not. Hidden files and those that git ignores are in no count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct IndexCounts {
    /// Number of files that can be found.
    pub files: usize,
    /// Not text, and no document that can be read.
    pub binary: usize,
    /// Larger than 1 MiB, or a document larger than 10 MiB.
    pub too_large: usize,
    /// Damaged or protected documents, and files that could not be opened.
    pub unreadable: usize,
    /// Beyond the first 50,000 files; counted up to 100,000.
    pub too_many: usize,
}

impl FolderState {
    /// Returns the state of a folder that was not scanned yet.
    pub(super) fn of(source: &LibrarySource) -> Self {
        match source {
            LibrarySource::Folder(Root::Project(_)) => Self { scan: FolderScan::of_project(), ..Self::default() },
            _ => Self::default(),
        }
    }
}

impl Library {
    /// Returns what of a project is indexed, and what is not.
    pub fn counts(&self) -> IndexCounts {
        let state = self.background.state();
        let (counts, (binary, too_large)) = (state.counts, state.skipped);
        let (binary, too_large) = (counts.binary + binary, counts.too_large + too_large);
        IndexCounts { binary, too_large, too_many: state.left_out, ..counts }
    }

    pub fn progress(&self) -> IndexProgress {
        self.background.state().progress
    }

    /// Whether something runs in the background, or someone else uses the library.
    pub(super) fn is_used(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1 || self.background.is_busy()
    }

    /// Indexes what has changed, and waits at most `most` until that is done.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Library::search`].
    pub fn refresh_for(self: &Arc<Self>, most: Duration) -> Result<(), LibraryError> {
        self.refresh()?;
        self.background.wait(Task::BuildIndex, most);
        Ok(())
    }

    /// Returns how a text file becomes a document: those of a project may be notes.
    pub(super) fn text_reader(&self) -> TextReader {
        match self.root() {
            Some(Root::Project(_)) => note::document,
            _ => extract::text,
        }
    }

    /// Leaves out the files of a project that are not searched, and counts them.
    pub(super) fn searched(&self, listing: Vec<Listed>) -> Vec<Listed> {
        let (mut binary, mut too_large) = (0, 0);
        let wanted = listing.into_iter().filter(|file| {
            let is_binary = is_binary(file.path.file_name());
            let is_large = !is_binary && DocumentKind::of(&file.path).is_none() && file.size > MAX_TEXT;
            binary += usize::from(is_binary);
            too_large += usize::from(is_large);
            !is_binary && !is_large
        });
        let wanted = wanted.collect();
        self.background.state().skipped = (binary, too_large);
        wanted
    }

    /// Counts what the index holds.
    pub(super) fn count(&self, index: &FolderIndex) {
        let mut counts = IndexCounts::default();
        for file in index.files() {
            match &file.problem {
                None => counts.files += 1,
                Some(Unreadable::NotUtf8 | Unreadable::ZeroBytes) => counts.binary += 1,
                Some(Unreadable::FileLimit | Unreadable::TextLimit) => counts.too_large += 1,
                Some(_) => counts.unreadable += 1,
            }
        }
        self.background.state().counts = counts;
    }
}

fn is_binary(name: &str) -> bool {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| BINARY.binary_search(&ending.as_str()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_of_binary_files_are_sorted_and_found() {
        assert!(BINARY.is_sorted());
        assert!(is_binary("a.PNG") && is_binary("x.tar.gz") && !is_binary("a.md") && !is_binary("png"));
    }
}
