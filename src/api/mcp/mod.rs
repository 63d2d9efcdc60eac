//! The MCP server of this agent (docs/mcp-server.md): a program asks it, searches its memory and reads its files, over the Model
//! Context Protocol. Nothing is kept between two requests, but a request can listen to changes.

mod answering;
mod asking;
pub mod authentication;
mod calling;
pub mod endpoint;
mod following;
pub mod listening;
mod prompts;
mod reading;
mod request_state;
mod resources;
mod server;
mod tasks;
mod tools;
