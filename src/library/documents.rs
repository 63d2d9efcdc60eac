//! The documents of a library. A helper process reads them one by one; one that cannot be read is not tried again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::follow::MUCH;
use super::{Library, LibraryError};
use crate::domain::{Place, RelPath};
use crate::heap;
use crate::retrieval::Listed;
use crate::retrieval::extract::{Document, DocumentKind, Unreadable, VERSION};
use crate::retrieval::index::{IndexUpdate, fingerprint};
use crate::store::{Home, StoreError};

/// How long a question waits for new documents. After that it is answered from what there is, and reading goes on.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How much may be read again after a crash.
const COMMIT: Duration = Duration::from_secs(1);

/// What is found unreadable, by fingerprint. Kept beside the index, which is made anew when it is in memory or damaged: a
/// document that took all its time or memory is not tried again before it changes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Refused {
    version: u32,
    files: BTreeMap<String, Unreadable>,
}

/// What is text, and the documents, smallest first: of those that are waited for, as many as can be.
pub fn apart(plan: IndexUpdate) -> (IndexUpdate, Vec<Listed>) {
    let (mut documents, read): (Vec<_>, Vec<_>) =
        plan.read.into_iter().partition(|file| DocumentKind::of(&file.path).is_some());
    documents.sort_by_key(|file| file.size);
    (IndexUpdate { read, gone: plan.gone }, documents)
}

/// The content of a file, or why it cannot be had.
pub fn bytes(home: &Home, path: &RelPath) -> Result<Vec<u8>, Unreadable> {
    let place = Place::try_from(path.clone()).map_err(|bad| Unreadable::NotOpened(bad.to_string()))?;
    home.read_bytes(&place).map_err(|error| match error {
        StoreError::TooLarge { .. } => Unreadable::FileLimit,
        other => Unreadable::NotOpened(other.to_string()),
    })
}

impl Library {
    /// Reads documents into the index; others may use it meanwhile. `tell` learns how many are read.
    pub(super) fn read_documents(&self, documents: &[Listed], tell: impl Fn(u32)) -> Result<(), LibraryError> {
        let mut changed = false;
        // Bytes since memory was given back.
        let mut taken = 0;
        let mut committed = Instant::now();
        for (done, file) in (1..).zip(documents) {
            changed |= self.read_document(file)?;
            taken += file.size;
            if taken > MUCH {
                heap::give_back();
                taken = 0;
            }
            let last = done as usize == documents.len();
            if changed && (last || committed.elapsed() > COMMIT) {
                self.commit_documents()?;
                heap::give_back();
                (changed, committed) = (false, Instant::now());
            }
            tell(done);
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

    fn extract(&self, file: &Listed, bytes: Vec<u8>) -> Result<Document, Unreadable> {
        tracing::debug!(file = %file.path, "a document is read");
        match DocumentKind::of(&file.path) {
            Some(kind) => self.settings.extractor.read(kind, bytes).map(Document::made),
            None => crate::retrieval::extract::text(&file.path, bytes),
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

    /// As it was at the first use: what is found later, the index knows.
    fn refused(&self) -> &Refused {
        self.refused.get_or_init(|| {
            let text = self.home.caches().text(&self.refused_name()).unwrap_or_default();
            let kept: Refused = serde_json::from_str(&text).unwrap_or_default();
            if kept.version == VERSION { kept } else { Refused::default() }
        })
    }

    fn refused_name(&self) -> String {
        format!("{}-unreadable.json", self.folder())
    }
}
