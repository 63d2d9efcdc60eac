//! Whether memory is part of the prompt or is searched for each question (RAG mode).

use super::{EngineError, Notice, Tenant, blocking};
use crate::prompt::system::MemoryMode;
use crate::store::Settings;

impl Tenant {
    pub async fn memory_mode(&self) -> Result<MemoryMode, EngineError> {
        let home = self.home.clone();
        blocking(move || Ok(MemoryMode::of(&home.settings()))).await
    }

    /// Switches the mode, notifies clients, and prepares for the next question: the index and its embedding model are
    /// loaded in the background if memory is searched, and the embedded model processes the new prompt.
    ///
    /// # Errors
    /// Returns an error if config.json cannot be written.
    pub async fn set_memory_mode(&self, mode: MemoryMode) -> Result<(), EngineError> {
        let rag_mode = mode == MemoryMode::Retrieved;
        self.tree.save_settings(self.claim, Settings { rag_mode }).await?;
        self.hub.notice(Notice::ConfigChanged { rag_mode });
        if rag_mode {
            let memory = self.memory.clone();
            tokio::task::spawn_blocking(move || memory.warm());
        }
        self.models.prefix_changed().await;
        Ok(())
    }
}
