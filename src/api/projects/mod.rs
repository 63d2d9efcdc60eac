//! Projects as the NanoClaw document defines them: folders that conversations work in, with their files. Responses are
//! `{code: 0, data}`, and errors `{code, message}` with the same HTTP status.

pub mod add;
pub mod content;
pub mod files;
pub mod find;
mod form;
pub mod git;
pub mod git_history;
pub mod link;
pub mod links;
pub mod members;
pub mod notes;
pub mod project;
pub mod search;
pub mod secrets;
pub mod upload;
pub mod uploads;
