//! Resources and prompts of the MCP servers of a home, for a person.

use serde_json::{Map, Value};

use super::Tenant;
use super::mcp::McpRefused;
use crate::tools::mcp::{OfferError, PromptView, ResourceView};

impl Tenant {
    /// Lists the resources of a confirmed server, with its templates.
    ///
    /// # Errors
    /// Returns [`McpRefused::Failed`] if the server cannot be used.
    pub async fn mcp_resources(&self, server: &str) -> Result<Vec<ResourceView>, McpRefused> {
        self.mcp.resources(server).await.map_err(McpRefused::Failed)
    }

    /// Reads a resource of a confirmed server as text.
    ///
    /// # Errors
    /// Returns [`McpRefused::Failed`] if it cannot be read, is no text, or is too long for a message.
    pub async fn read_mcp_resource(&self, server: &str, uri: &str) -> Result<String, McpRefused> {
        self.mcp.read_resource(server, uri).await.map_err(McpRefused::Failed)
    }

    /// Lists the prompts of a confirmed server.
    ///
    /// # Errors
    /// Returns [`McpRefused::Failed`] if the server cannot be used.
    pub async fn mcp_prompts(&self, server: &str) -> Result<Vec<PromptView>, McpRefused> {
        self.mcp.prompts(server).await.map_err(McpRefused::Failed)
    }

    /// Returns the text of a prompt in the version that a person has seen: its name with the hash of its definition.
    ///
    /// # Errors
    /// Returns [`McpRefused::Changed`] if it is another version now.
    pub async fn mcp_prompt(
        &self,
        server: &str,
        seen: (&str, &str),
        arguments: &Map<String, Value>,
    ) -> Result<String, McpRefused> {
        self.mcp.prompt_text(server, seen, arguments).await.map_err(|error| match error {
            OfferError::Changed => McpRefused::Changed,
            OfferError::Failed(why) => McpRefused::Failed(why),
        })
    }
}
