//! The usage of an exchange whose provider did not report it: of one that was cut off, or by a server that counts nothing.
//! It is estimated, so that limits are not passed by stopping each answer before its end.

use std::sync::Arc;

use super::recorder::Recorder;
use super::run::Run;
use super::turn::EndedExchange;
use crate::domain::{Event, Usage};
use crate::prompt::system::SystemPrompt;
use crate::prompt::tokens::RequestTokens;
use crate::provider::{Client, ModelRequest};

/// What an exchange sent, with markers in place of pictures.
pub(super) struct SentText {
    pub request: Arc<ModelRequest>,
    pub system: Arc<SystemPrompt>,
    pub retrieved: Arc<str>,
}

impl Run {
    /// Returns what an exchange used, as the provider reports it or else as estimated. `None` if nothing came back.
    pub(super) fn usage_of(&self, ended: &EndedExchange, client: &Client, sent: &SentText) -> Option<Usage> {
        match &ended.answer {
            Ok(answer) if answer.usage.total() > 0 => return Some(answer.usage),
            Ok(_) => {}
            Err(_) if ended.received.is_empty() => return None,
            Err(_) => {}
        }
        let count = |text: &str| self.tokens.count_cached(text);
        let input =
            RequestTokens::of(&client.body(&sent.request), &sent.system, &sent.retrieved, &count).total() as u64;
        let output = count(&ended.received) as u64;
        let usage = Usage {
            input_tokens: input,
            output_tokens: output,
            estimated_tokens: input.saturating_add(output),
            ..Usage::default()
        };
        Some(usage.priced(client.endpoint().price.as_ref()))
    }
}

/// Returns the event that records the usage of an exchange that ended without an answer.
pub(super) fn cut_off(recorder: &Recorder, usage: Usage, client: &Client) -> Event {
    Event::DialogueFinished {
        work_id: recorder.work_id().clone(),
        dialogue: recorder.dialogues().saturating_sub(1),
        usage,
        context_window: client.endpoint().context_window,
        left_out: 0,
        request: None,
    }
}
