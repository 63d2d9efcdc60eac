//! Compares the stored index of knowledge/ with the files, without changing either.

use std::collections::BTreeMap;

use super::TESTS;
use crate::domain::Root;
use crate::retrieval::chunk_index::IndexError;
use crate::retrieval::index::fingerprint;
use crate::retrieval::{ChunkLimits, FolderIndex};
use crate::store::{FolderScan, Home};

/// What a comparison found.
#[derive(Debug, Default)]
pub struct Comparison {
    /// Number of files in the stored index.
    pub files: usize,
    pub problems: Vec<IndexProblem>,
}

/// A difference between the stored index and the files.
#[derive(Debug, PartialEq, Eq)]
pub struct IndexProblem {
    pub path: String,
    pub what: String,
}

/// Compares the index on disk with the files that it is of. A difference is no damage: the next search reads the files that
/// changed, and an index that cannot be used is built anew.
pub fn compare(home: &Home, limits: ChunkLimits) -> Comparison {
    let path = format!("storage/retrieval/{}", Root::Knowledge);
    let mut problems = Vec::new();
    let mut say = |path: &str, what: &str| problems.push(IndexProblem { path: path.to_owned(), what: what.to_owned() });
    let compared = match home.caches().files_of_folder(&Root::Knowledge.to_string()) {
        Ok(None) => Ok(0),
        Ok(Some(files)) => opened(&files, limits).and_then(|index| compared(home, &index, &mut say)),
        Err(error) => Err(error.to_string()),
    };
    let files = compared.unwrap_or_else(|reason| {
        say(&path, &format!("the index cannot be used ({reason}); the next search builds it anew"));
        0
    });
    Comparison { files, problems }
}

/// Opens a copy of the index: opening creates files, and a server may be writing the original.
fn opened(files: &BTreeMap<String, Vec<u8>>, limits: ChunkLimits) -> Result<FolderIndex, String> {
    FolderIndex::of_files(files, limits).map_err(|error| match error {
        IndexError::Outdated => "another version or other settings made it".to_owned(),
        error => error.to_string(),
    })
}

/// Compares the files in the index with those in the folder. Returns the number of files in the index.
fn compared(home: &Home, index: &FolderIndex, say: &mut impl FnMut(&str, &str)) -> Result<usize, String> {
    let mut scan = FolderScan::default();
    home.rescan(&Root::Knowledge, &mut scan).map_err(|error| error.to_string())?;
    let tests = format!("{}/{TESTS}", Root::Knowledge);
    let mut left: BTreeMap<String, _> = scan.files().into_iter().map(|file| (file.path.to_string(), file)).collect();
    left.remove(&tests);
    let mut count = 0;
    for known in index.files() {
        count += 1;
        let Some(file) = left.remove(&known.path) else {
            say(&known.path, "it is in the search index and no longer in the folder; the next search removes it");
            continue;
        };
        if file.stamp != known.stamp {
            say(&known.path, "it was changed since it was indexed; the next search reads it again");
        } else if home.read_bytes(&file.path).is_ok_and(|bytes| fingerprint(&bytes) != known.content)
            && known.problem.is_none()
        {
            say(&known.path, "the search index has another content of it; delete storage/retrieval/ to build it anew");
        }
    }
    for path in left.keys() {
        say(path, "it is not in the search index yet; the next search reads it");
    }
    Ok(count)
}
