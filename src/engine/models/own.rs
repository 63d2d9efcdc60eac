//! The models of the providers that a person has connected for themselves, in place of or beside those of the server.

use crate::engine::catalogue::RemoteModel;

#[derive(Default)]
pub(in crate::engine) struct OwnModels {
    pub models: Vec<RemoteModel>,
    /// The id of the one that the person uses by default, if they have chosen one.
    pub wanted: Option<String>,
}

impl OwnModels {
    /// Returns the model that the person has chosen as their default, if it is there.
    pub fn chosen(&self) -> Option<RemoteModel> {
        self.find(self.wanted.as_ref()?)
    }

    /// Returns the model with this id, or with this part of it before the address.
    pub fn find(&self, id: &str) -> Option<RemoteModel> {
        let is_plain = |model: &&RemoteModel| model.candidate.id.split('@').next() == Some(id);
        let found = self.models.iter().find(|model| model.candidate.id == *id);
        found.or_else(|| self.models.iter().find(is_plain)).cloned()
    }
}
