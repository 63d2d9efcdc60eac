//! Which tools a person lets the model use, within what the configuration of the server allows.

use super::{EngineError, Tenant};
use crate::tools::built_in;

/// Why a tool was not switched.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceRefused {
    #[error("there is no tool with this name")]
    Unknown,
    #[error("this tool is switched off for everybody in config.yml")]
    Forbidden,
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Tenant {
    /// Switches a built-in tool, or one of an MCP server, on or off for the person of this home, from the next request to a model on. `None` takes the
    /// choice back, and what the configuration says counts again.
    ///
    /// # Errors
    /// Returns [`ChoiceRefused::Forbidden`] if a tool is to be on that is off for everybody.
    pub async fn choose_tool(&self, name: &str, choice: Option<bool>) -> Result<(), ChoiceRefused> {
        // A choice for a tool that is gone can be taken back.
        let is_chosen = || choice.is_none() && self.home.tool_choices().contains_key(name);
        if built_in(name).is_none() && !self.mcp.has_tool(name).await && !is_chosen() {
            return Err(ChoiceRefused::Unknown);
        }
        if choice == Some(true) && self.runtime.config().tools.is_forbidden(name) {
            return Err(ChoiceRefused::Forbidden);
        }
        self.tree.choose_tool(self.claim, name.to_owned(), choice).await.map_err(EngineError::from)?;
        self.models.prefix_changed().await;
        Ok(())
    }
}
