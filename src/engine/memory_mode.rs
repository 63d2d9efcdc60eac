//! What each request contains of memory and of past conversations (RAG mode).

use super::{EngineError, Notice, Tenant, blocking};
use crate::store::{Settings, SettingsChange};

impl Tenant {
    pub async fn retrieval_settings(&self) -> Result<Settings, EngineError> {
        let home = self.home.clone();
        blocking(move || Ok(home.settings())).await
    }

    /// Stores a change of the settings, notifies clients, and prepares for the next question: the index and its embedding model are
    /// loaded in the background if memory is searched, and the embedded model processes the new prompt. Returns the settings after it.
    ///
    /// # Errors
    /// Returns an error if config.json cannot be written.
    pub async fn set_retrieval_settings(&self, change: SettingsChange) -> Result<Settings, EngineError> {
        self.tree.save_settings(self.claim, change).await?;
        let settings = self.retrieval_settings().await?;
        let Settings { rag_mode, rag_conversations } = settings;
        self.hub.notice(Notice::ConfigChanged { rag_mode, rag_conversations });
        if rag_mode {
            let (memory, conversations) = (self.memory.clone(), self.conversations.clone());
            tokio::task::spawn_blocking(move || {
                memory.warm();
                if rag_conversations {
                    conversations.messages.warm();
                }
            });
        }
        self.models.prefix_changed().await;
        Ok(settings)
    }
}
