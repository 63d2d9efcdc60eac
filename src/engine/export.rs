//! A session with everything that belongs to it, for a file that another home can import.

use std::sync::Arc;

use serde_json::Value;

use super::{Engine, EngineError, blocking};
use crate::domain::{NewPicture, Session, SessionId};
use crate::store::StoreError;

pub struct ExportedSession {
    pub session: Arc<Session>,
    pub compacted: Vec<ExportedPart>,
    pub pictures: Vec<NewPicture>,
}

/// A file of compacted messages.
pub struct ExportedPart {
    pub name: String,
    pub messages: Vec<Value>,
}

impl Engine {
    /// Returns a session with its compacted messages and its pictures.
    ///
    /// # Errors
    /// Returns an error if there is no such session, or if a file of compacted messages cannot be read.
    pub async fn export(&self, id: &SessionId) -> Result<ExportedSession, EngineError> {
        let session = self.view(id).await?.session;
        let kept = self.tenant.home.session_files(id);
        blocking(move || {
            let pictures = kept.pictures().into_iter().map(|(hash, bytes)| NewPicture { hash, bytes: bytes.into() });
            let names = kept.compacted_files().into_iter().map(|file| file.name);
            let parts = names.map(|name| Ok::<_, StoreError>(ExportedPart { messages: kept.compacted(&name)?, name }));
            Ok(ExportedSession { session, pictures: pictures.collect(), compacted: parts.collect::<Result<_, _>>()? })
        })
        .await
    }
}
