//! Changes of several texts at once, as a person wants them.

use super::{Author, Change, Documents, FileVersion, to_the_end};
use crate::domain::Place;
use crate::engine::EngineError;
use crate::store::{Expect, OwnedHome, TreeChange, etag};

/// A text that takes the place of another.
#[derive(Clone, Debug)]
pub struct ReplacedText {
    pub place: Place,
    /// Hash of the content that it replaces.
    pub before: String,
    pub text: String,
}

impl Documents {
    /// Replaces all of these texts or none. Trusts nothing: the texts come from a request, and nobody has read them.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`](crate::store::StoreError::Conflict) if one of the files has changed since.
    pub async fn replace_texts(&self, texts: Vec<ReplacedText>) -> Result<Vec<FileVersion>, EngineError> {
        let documents = self.clone();
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &documents.store;
            let (mut change, mut changes) = (Change::default(), Vec::with_capacity(texts.len()));
            for ReplacedText { place, before, text } in texts {
                let bytes: std::sync::Arc<[u8]> = text.into_bytes().into();
                change.versions.push(FileVersion { path: place.clone(), etag: etag(&bytes) });
                changes.push(TreeChange::write(place, &bytes, Expect::Etag(before)));
            }
            let versions = change.versions.clone();
            documents.apply(change, Author::Person, tree.commit(*claim, changes)).await?;
            Ok(versions)
        })
        .await
    }
}
