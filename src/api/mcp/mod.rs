//! The MCP server of this agent (docs/mcp-server.md): a program asks it, searches its memory and reads its files, over the Model
//! Context Protocol. Nothing is kept between two requests.

mod answering;
mod asking;
pub mod authentication;
pub mod endpoint;
mod prompts;
mod reading;
mod request_state;
mod resources;
mod server;
mod tools;
