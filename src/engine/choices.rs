//! What a person chooses for a session: its project, its model, whether it thinks, and what may run.

use std::sync::Arc;

use super::actor::Command;
use super::{Engine, EngineError, IfMissing};
use crate::clock;
use crate::domain::{ChoiceChange, Chosen, ProjectId, Root, Session, SessionId};
use crate::store::SessionSummary;

/// Who chooses for a session. What may run in it is a person's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceSender {
    /// Perhaps a program: it cannot change what may run.
    Anyone,
    Page,
    /// The page, whose person has confirmed that commands run without approval.
    Confirmed,
}

/// What is to be different in a session; an absent field stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionChange {
    pub title: Option<String>,
    /// The project that its tools work in; `Some(None)` for none.
    pub project_id: Option<Option<ProjectId>>,
    pub choice: ChoiceChange,
}

impl Engine {
    /// Creates a session, bound to a project of this home or to none.
    ///
    /// # Errors
    /// Returns [`EngineError::NoProject`] if this home does not have the project.
    pub async fn create(&self, title: &str, project_id: Option<ProjectId>) -> Result<SessionSummary, EngineError> {
        let (id, session) = self.create_with(title, project_id, Chosen::default()).await?;
        Ok(SessionSummary::of(&id, &session))
    }

    /// Like [`Self::create`], with what a person chose for the session.
    ///
    /// # Errors
    /// Also returns an error if there is no such model or a value is out of range.
    pub async fn create_with(
        &self,
        title: &str,
        project_id: Option<ProjectId>,
        chosen: Chosen,
    ) -> Result<(SessionId, Session), EngineError> {
        self.check_project(project_id.as_ref())?;
        chosen.check()?;
        let chosen = self.tenant.models.resolve(chosen)?;
        let id = SessionId::parse(&clock::new_id()).map_err(|_| EngineError::Internal("a new id was not an id"))?;
        let session = Session { project_id, chosen, ..Session::new(title, clock::now()) };
        self.save_new(&id, &session).await?;
        Ok((id, session))
    }

    /// Returns the session that a new conversation with these choices would begin with. It is not stored.
    ///
    /// # Errors
    /// Returns [`EngineError::NoProject`] if this home does not have the project.
    pub fn unsaved_session(&self, chosen: Chosen, project_id: Option<ProjectId>) -> Result<Arc<Session>, EngineError> {
        self.check_project(project_id.as_ref())?;
        Ok(Arc::new(Session { chosen, project_id, ..Session::new("", 0.0) }))
    }

    /// Binds a session to a project of this home, whose folder its tools then work in, or to none.
    ///
    /// # Errors
    /// Returns [`EngineError::NoProject`] if this home does not have the project, and [`EngineError::Busy`] during a run.
    pub async fn bind(&self, id: &SessionId, project_id: Option<ProjectId>) -> Result<(), EngineError> {
        self.check_project(project_id.as_ref())?;
        self.ask(id, IfMissing::Fail, |reply| Command::Bind { project_id: project_id.clone(), reply }).await
    }

    /// # Errors
    /// Returns [`EngineError::NoProject`] if this home does not have the project.
    pub(super) fn check_project(&self, project_id: Option<&ProjectId>) -> Result<(), EngineError> {
        match project_id {
            Some(id) if !self.tenant.home.has_root(&Root::Project(id.clone())) => {
                Err(EngineError::NoProject(id.clone()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Chooses a model, whether it thinks, and what may run, from the next message on.
    ///
    /// # Errors
    /// Returns an error if there is no such model, or if this sender may not change what may run.
    pub async fn choose(&self, id: &SessionId, chosen: Chosen, sender: ChoiceSender) -> Result<(), EngineError> {
        chosen.check()?;
        let chosen = self.tenant.models.resolve(chosen)?;
        self.ask(id, IfMissing::Fail, |reply| Command::Choose { chosen: chosen.clone(), sender, reply }).await
    }

    /// Changes a session from its next message on: as a whole, or not at all if a part of it is refused or the server is
    /// killed.
    ///
    /// # Errors
    /// Returns an error if there is no such project or model or if a value is out of range, and [`EngineError::Busy`] for
    /// another project during a run.
    pub async fn change(&self, id: &SessionId, change: SessionChange) -> Result<(), EngineError> {
        self.check_project(change.project_id.as_ref().and_then(Option::as_ref))?;
        self.ask(id, IfMissing::Fail, |reply| Command::Change { change: change.clone(), reply }).await
    }
}
