//! Which turns go into the prompt of an answer when not all of them fit.

use crate::chatml::{Prompt, Tokenizer};
use crate::error::ApiError;
use crate::turns::Conversation;
use llama_cpp_2::token::LlamaToken;

/// When turns must be dropped they are dropped by this many, so that the next questions still begin with the
/// same tokens.
const DROP_STEP: usize = 4;

/// The tokens of the answer's prompt: the system message, as many of the latest turns as fit, and the opened
/// answer. `room` is the most tokens the prompt may have.
///
/// # Errors
/// [`ApiError::TooLong`] when the system message and the last question alone do not fit.
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

/// The tokens every answer with this system message begins with; none without a system message.
pub fn system_tokens(tokenizer: Tokenizer<'_>, system: Option<&str>) -> Vec<LlamaToken> {
    system.map_or_else(Vec::new, |text| tokenizer.prompt(Prompt::default().message("system", text)))
}

/// The first turn to keep so that the rest fits into `room` tokens; None when not even the last one fits.
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
    fn everything_is_kept_while_it_fits() {
        assert_eq!(first_turn(&[10, 10, 10], 30), Some(0));
    }

    #[test]
    fn turns_are_dropped_in_steps_to_keep_the_prefix() {
        let lengths = [10; 9];
        assert_eq!(first_turn(&lengths, 89), Some(4));
        assert_eq!(first_turn(&[10; 10], 89), Some(4));
        assert_eq!(first_turn(&lengths, 49), Some(8));
    }

    #[test]
    fn a_short_conversation_drops_what_it_must() {
        assert_eq!(first_turn(&[50, 10, 10], 25), Some(1));
        assert_eq!(first_turn(&[10, 10, 50], 25), None);
    }
}
