//! Trust in the files that tell the agent what to do: what trusts a version, and who is notified.

use super::{CurrentFile, Documents, FileVersion};
use crate::domain::Place;
use crate::engine::notice::Notice;
use crate::engine::{EngineError, blocking};
use crate::store::{ChangeSet, FileChange, OwnedHome, StoreError, TrustedBy, TrustedContent, etag};

impl Documents {
    /// Trusts exactly this version of a file of a skill, or of instructions of a project, because a person has looked at it.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if the file has changed in the meantime.
    pub async fn trust(&self, seen: FileVersion) -> Result<(), EngineError> {
        let CurrentFile { bytes, .. } = self.read(&seen.path).await?;
        let now = etag(&bytes);
        if now != seen.etag {
            return Err(StoreError::Conflict { path: seen.path.to_string(), etag: Some(now) }.into());
        }
        let OwnedHome { tree, claim, .. } = &self.store;
        let path = seen.path.clone();
        tree.trust(*claim, TrustedContent { path: seen.path, bytes, by: TrustedBy::Person }).await?;
        self.instructions_changed([&path].into_iter()).await;
        self.prompt_changed();
        Ok(())
    }

    /// Returns the contents that become trusted when a person approves these changes.
    pub(super) async fn approved(&self, ChangeSet(files): ChangeSet) -> Result<Vec<TrustedContent>, StoreError> {
        let home = self.store.home.clone();
        let approved = move |FileChange { path, before, after }: FileChange| {
            let was_trusted = before.is_none_or(|before| home.trusts(&path, &before.bytes));
            let bytes = after.filter(|_| was_trusted)?.bytes.into();
            Some(TrustedContent { path, bytes, by: TrustedBy::Approval })
        };
        let all = tokio::task::spawn_blocking(move || files.into_iter().filter_map(approved).collect());
        all.await.map_err(|_| StoreError::ShutDown)
    }

    /// Rereads the skills if one of these files is part of them, and notifies clients that other files of a project may wait
    /// for a person to trust them.
    pub(super) async fn instructions_changed(&self, changed: impl Iterator<Item = &Place>) {
        let (home, projects): (Vec<&Place>, Vec<&Place>) =
            changed.filter(|place| place.is_pinned()).partition(|place| place.root().is_pinned());
        if !home.is_empty() {
            self.reread_skills().await;
        }
        if !projects.is_empty() {
            self.listeners.hub.notice(Notice::SkillsChanged);
        }
    }

    /// Rereads the skills at once, and notifies clients if something changed.
    async fn reread_skills(&self) {
        let (skills, home) = (self.listeners.skills.clone(), self.store.home.clone());
        match blocking(move || skills.scan(&home)).await {
            Ok(true) => self.listeners.hub.notice(Notice::SkillsChanged),
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "could not read the skills"),
        }
    }
}
