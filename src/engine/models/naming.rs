//! By which names a person, or a client of the NanoClaw document, knows a model.

use super::{Choice, ModelError, Models, Target, read};
use crate::domain::Chosen;

impl Models {
    /// Returns the choice with the id of the model, which may be named by that id, by its `id` in config.yml, or by the name
    /// that is sent to its provider.
    ///
    /// # Errors
    /// Returns [`ModelError::Unknown`] if there is no such model.
    pub fn resolve(&self, chosen: Chosen) -> Result<Chosen, ModelError> {
        let Some(wanted) = chosen.model.clone().filter(|_| self.target(&chosen).is_err()) else { return Ok(chosen) };
        let remote = self.catalogue.remote();
        let by_id = remote.iter().find(|model| model.configured_id.as_ref() == Some(&wanted));
        match by_id.or_else(|| remote.iter().find(|model| model.candidate.model == wanted)) {
            Some(model) => Ok(Chosen { model: Some(model.candidate.id.clone()), ..chosen }),
            None => Err(ModelError::Unknown(wanted)),
        }
    }

    /// Returns the name by which a client of the NanoClaw document knows the model of a choice: its `id` in config.yml, or the
    /// name that is sent to its provider.
    pub fn name_of(&self, chosen: &Chosen) -> String {
        let known = match (self.target(chosen), &*read(&self.choice)) {
            (Ok(Target::Remote(model)), _) => Some(model.candidate.name),
            (Ok(Target::Default), Choice::Remote(model)) => Some(model.candidate.name.clone()),
            (Ok(Target::Default | Target::Local) | Err(_), _) => None,
        };
        known.unwrap_or_else(|| self.status_of(chosen).model)
    }
}
