//! Selection of the turns that go into the prompt of an answer when not all of them fit.

use crate::chatml::{Prompt, Tokenizer};
use crate::error::ApiError;
use crate::turns::Conversation;
use llama_cpp_2::token::LlamaToken;

/// Number of turns that are dropped at a time, so that the prompts of the next questions still share the same first tokens.
const DROP_STEP: usize = 4;

/// Returns the tokens of the answer's prompt: the system message, as many of the latest turns as fit, and the opened
/// assistant message. `room` is the maximum number of tokens of the prompt.
///
/// # Errors
/// Returns [`ApiError::TooLong`] if the system message and the last question alone do not fit.
pub fn answer_prompt(
    tokenizer: Tokenizer<'_>,
    conversation: &Conversation,
    room: usize,
) -> Result<Vec<LlamaToken>, ApiError> {
    let head = system_tokens(tokenizer, conversation.system.as_deref());
    let turns: Vec<Vec<LlamaToken>> = conversation
        .turns
        .iter()
        .map(|turn| {
            let mut prompt = Prompt::default();
            turn.render(&mut prompt);
            tokenizer.prompt(&prompt)
        })
        .collect();
    let opened = tokenizer.prompt(Prompt::default().assistant());
    let fixed = head.len() + opened.len();
    let lengths: Vec<usize> = turns.iter().map(Vec::len).collect();
    let Some(first) = first_turn(&lengths, room.saturating_sub(fixed)) else {
        return Err(ApiError::TooLong { needed: fixed + lengths.last().copied().unwrap_or(0), limit: room });
    };
    let body = turns.into_iter().skip(first).flatten();
    Ok(head.into_iter().chain(body).chain(opened).collect())
}

/// Returns the tokens with which every answer under this system message begins; empty without a system message.
pub fn system_tokens(tokenizer: Tokenizer<'_>, system: Option<&str>) -> Vec<LlamaToken> {
    system.map_or_else(Vec::new, |text| tokenizer.prompt(Prompt::default().message("system", text)))
}

/// Returns the index of the first turn to keep so that the rest fits into `room` tokens; None if not even the last turn fits.
fn first_turn(lengths: &[usize], room: usize) -> Option<usize> {
    let fits = |first: usize| lengths[first..].iter().sum::<usize>() <= room;
    let last = lengths.len().checked_sub(1)?;
    let stepped = (0..=last).step_by(DROP_STEP).find(|&first| fits(first));
    stepped.or_else(|| (0..=last).find(|&first| fits(first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_dropped_while_it_fits() {
        assert_eq!(first_turn(&[10, 10, 10], 30), Some(0));
    }

    #[test]
    fn turns_are_dropped_in_steps_so_prefix_is_reused() {
        let lengths = [10; 9];
        assert_eq!(first_turn(&lengths, 89), Some(4));
        assert_eq!(first_turn(&[10; 10], 89), Some(4));
        assert_eq!(first_turn(&lengths, 49), Some(8));
    }

    #[test]
    fn short_conversation_drops_only_what_exceeds_window() {
        assert_eq!(first_turn(&[50, 10, 10], 25), Some(1));
        assert_eq!(first_turn(&[10, 10, 50], 25), None);
    }
}
