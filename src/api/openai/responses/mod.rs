//! `/v1/responses`: the agent, or a model alone, over OpenAI's Responses API. A response is a work, or the part of one between
//! two hand-offs of calls to its program.

pub mod create;
mod following;
mod input;
mod items;
mod object;
pub mod stored;
