//! Applies and records what commands change in a project.

use super::{Change, Documents, FileVersion, to_the_end};
use crate::domain::Root;
use crate::engine::notice::{ChangedBy, Notice};
use crate::store::{
    AppliedChanges, CapturedCall, ObservedCall, ObservedChanges, OwnedHome, RecordedChange, StoreError,
};

/// Maximum number of files changed by a command that clients are told of one by one.
const MOST_NAMED: usize = 200;

impl Documents {
    /// Keeps what the commands of a call changed for its undo, and applies it.
    pub(super) async fn apply_captured(self, call: CapturedCall) -> Result<AppliedChanges, StoreError> {
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &self.store;
            let root = call.root.clone();
            let applied = tree.apply_captured(*claim, call).await?;
            self.tell_changed(&applied.recorded, &root);
            Ok(applied)
        })
        .await
    }

    /// Records what an observed call changed.
    pub(super) async fn record_observed(self, call: ObservedCall) -> Result<ObservedChanges, StoreError> {
        to_the_end(async move {
            let OwnedHome { tree, claim, .. } = &self.store;
            let root = call.observation.root().clone();
            let observed = tree.record_observed(*claim, call).await?;
            self.tell_changed(&observed.recorded, &root);
            Ok(observed)
        })
        .await
    }

    /// Tells clients of files that the agent changed where nobody watches.
    fn tell_changed(&self, changes: &[RecordedChange], root: &Root) {
        let versions = Change::recorded(changes).versions;
        if versions.len() > MOST_NAMED {
            return self.listeners.hub.notice(Notice::FolderChanged { path: root.to_string() });
        }
        for FileVersion { path, etag } in versions {
            let etag = Some(etag.clone()).filter(|etag| !etag.is_empty());
            self.listeners.hub.notice(Notice::FileChanged { path: path.to_string(), etag, by: ChangedBy::Run });
        }
    }
}
