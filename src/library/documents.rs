//! Indexes the documents of a library. A helper process reads them one by one; an unreadable one is not retried until
//! it changes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::refresh::TRIM_THRESHOLD;
use super::{Library, LibraryError};
use crate::domain::{Place, RelPath};
use crate::heap;
use crate::retrieval::Listed;
use crate::retrieval::extract::{Document, DocumentKind, Unreadable, VERSION};
use crate::retrieval::index::{IndexUpdate, fingerprint};
use crate::store::{Home, StoreError};

/// How long a search waits for new documents. After that it uses what is indexed, and reading goes on.
pub(super) const DOCUMENT_WAIT: Duration = Duration::from_secs(2);
/// Interval between commits: bounds the work that is repeated after a crash.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);

/// The documents found unreadable, by fingerprint. Kept beside the index, which is rebuilt if it is in memory or
/// damaged: a document that exceeded its time or memory limit is not retried until it changes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Refused {
    version: u32,
    files: BTreeMap<String, Unreadable>,
}

/// Splits a plan into text files and documents. The documents are sorted smallest first, so that as many as possible
/// are read while the search waits.
pub fn split_documents(plan: IndexUpdate) -> (IndexUpdate, Vec<Listed>) {
    let (mut documents, read): (Vec<_>, Vec<_>) =
        plan.read.into_iter().partition(|file| DocumentKind::of(&file.path).is_some());
    documents.sort_by_key(|file| file.size);
    (IndexUpdate { read, gone: plan.gone }, documents)
}

/// Reads the content of a file; the error says why it cannot be read.
pub fn bytes(home: &Home, path: &RelPath) -> Result<Vec<u8>, Unreadable> {
    let place = Place::try_from(path.clone()).map_err(|bad| Unreadable::NotOpened(bad.to_string()))?;
    home.read_bytes(&place).map_err(|error| match error {
        StoreError::TooLarge { .. } => Unreadable::FileLimit,
        other => Unreadable::NotOpened(other.to_string()),
    })
}

impl Library {
    /// Reads documents into the index, which stays usable meanwhile. Calls `on_progress` with the number of documents read so
    /// far.
    pub(super) fn read_documents(&self, documents: &[Listed], on_progress: impl Fn(u32)) -> Result<(), LibraryError> {
        let mut changed = false;
        // Bytes read since freed memory was last returned to the system.
        let mut read_bytes = 0;
        let mut committed = Instant::now();
        for (done, file) in (1..).zip(documents).take_while(|_| !self.is_closed()) {
            changed |= self.read_document(file)?;
            read_bytes += file.size;
            if read_bytes > TRIM_THRESHOLD {
                heap::trim_heap();
                read_bytes = 0;
            }
            let last = done as usize == documents.len();
            if changed && (last || committed.elapsed() > COMMIT_INTERVAL) {
                self.commit_documents()?;
                heap::trim_heap();
                (changed, committed) = (false, Instant::now());
            }
            on_progress(done);
        }
        if changed { self.commit_documents() } else { Ok(()) }
    }

    fn read_document(&self, file: &Listed) -> Result<bool, LibraryError> {
        let (content, read) = match bytes(&self.home, &file.path) {
            Ok(bytes) => {
                let content = fingerprint(&bytes);
                if self.lock(&self.index).as_mut().is_some_and(|index| index.holds(file, &content)) {
                    return Ok(false);
                }
                let read = match self.refused().files.get(&content) {
                    Some(why) => Err(why.clone()),
                    None => self.extract(file, bytes),
                };
                (content, read)
            }
            Err(why) => (String::new(), Err(why)),
        };
        let mut guard = self.lock(&self.index);
        let Some(index) = guard.as_mut() else { return Ok(false) };
        Ok(index.insert(file, content, read)?)
    }

    pub(super) fn extract(&self, file: &Listed, bytes: Vec<u8>) -> Result<Document, Unreadable> {
        tracing::debug!(file = %file.path, "a document is read");
        match DocumentKind::of(&file.path) {
            Some(kind) => self.settings.extractor.read(kind, bytes).map(Document::made),
            None => self.text_reader()(&file.path, bytes),
        }
    }

    fn commit_documents(&self) -> Result<(), LibraryError> {
        let mut guard = self.lock(&self.index);
        let Some(index) = guard.as_mut() else { return Ok(()) };
        index.commit()?;
        self.publish(index)?;
        let known = |content: &String| !content.is_empty();
        let files = index.files().filter(|file| known(&file.content));
        let files: BTreeMap<String, Unreadable> =
            files.filter_map(|file| Some((file.content.clone(), file.problem.clone()?))).collect();
        drop(guard);
        if files != self.refused().files {
            let refused = Refused { version: VERSION, files };
            let text = serde_json::to_string(&refused).expect("codes and texts are JSON");
            if let Err(error) = self.home.caches().keep_text(&self.refused_name(), &text) {
                tracing::warn!(folder = self.folder(), %error, "which files are unreadable could not be kept");
            }
        }
        Ok(())
    }

    /// Returns the list as it was at its first use; the index knows the documents found unreadable later.
    fn refused(&self) -> &Refused {
        self.refused.get_or_init(|| {
            let text = self.home.caches().text(&self.refused_name()).unwrap_or_default();
            let kept: Refused = serde_json::from_str(&text).unwrap_or_default();
            if kept.version == VERSION { kept } else { Refused::default() }
        })
    }

    fn refused_name(&self) -> String {
        format!("{}-unreadable.json", self.cache_prefix())
    }
}
