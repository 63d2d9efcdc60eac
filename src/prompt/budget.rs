//! Decides what to leave out if a conversation is longer than the model's context.

use crate::provider::ChatMessage;

/// What a request may hold, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub context_window: usize,
    /// System prompt, tool descriptions and retrieved passages.
    pub fixed: usize,
    /// Reserved for the answer.
    pub answer: usize,
}

/// Tokens that each message costs beyond its text: role, separators.
const MESSAGE_OVERHEAD: usize = 4;

/// Drops the oldest exchanges (a question with everything up to the next one) until the rest fits. Always keeps the
/// newest question and what follows it. Returns how many messages were dropped.
pub fn fit(history: &mut Vec<ChatMessage>, budget: Budget, count: &dyn Fn(&str) -> usize) -> usize {
    let room = budget.context_window.saturating_sub(budget.fixed + budget.answer);
    // A token is at least one byte, so a short history fits without counting.
    if history.iter().map(|m| bytes(m) + MESSAGE_OVERHEAD).sum::<usize>() <= room {
        return 0;
    }
    // Goes from the newest exchange back, so that dropped messages are not counted: the cost of a long session depends
    // only on its window.
    let (mut kept, mut total) = (history.len(), 0);
    while kept > 0 {
        let start = history[..kept].iter().rposition(|m| m.is_user()).unwrap_or(0);
        total += history[start..kept].iter().map(|m| cost(m, count)).sum::<usize>();
        if total > room && kept < history.len() {
            break;
        }
        kept = start;
    }
    history.drain(..kept);
    kept
}

fn texts(message: &ChatMessage) -> impl Iterator<Item = &str> {
    let (main, calls) = match message {
        ChatMessage::System(text)
        | ChatMessage::User(text)
        | ChatMessage::Pictured { content: text, .. }
        | ChatMessage::Tool { content: text, .. } => (text, &[][..]),
        ChatMessage::Assistant { content, calls, .. } => (content, calls.as_slice()),
    };
    std::iter::once(main.as_str()).chain(calls.iter().flat_map(|call| [call.name.as_str(), call.arguments.as_str()]))
}

/// Returns an upper bound of a message's tokens: the bytes of its texts plus the tokens of its pictures.
fn bytes(message: &ChatMessage) -> usize {
    texts(message).map(str::len).sum::<usize>() + pictures(message)
}

/// Returns the tokens of a message's pictures.
pub fn pictures(message: &ChatMessage) -> usize {
    match message {
        ChatMessage::Pictured { pictures, .. } => pictures.iter().map(|seen| seen.picture.tokens()).sum(),
        ChatMessage::System(_) | ChatMessage::User(_) | ChatMessage::Assistant { .. } | ChatMessage::Tool { .. } => 0,
    }
}

fn cost(message: &ChatMessage, count: &dyn Fn(&str) -> usize) -> usize {
    MESSAGE_OVERHEAD + texts(message).map(count).sum::<usize>() + pictures(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> ChatMessage {
        ChatMessage::User(text.to_owned())
    }

    fn said(text: &str) -> ChatMessage {
        ChatMessage::Assistant { content: text.to_owned(), thinking: None, calls: Vec::new() }
    }

    #[test]
    fn oldest_exchanges_are_dropped_whole() {
        let budget = Budget { context_window: 60, fixed: 10, answer: 10 };
        let mut history =
            vec![user(&"a".repeat(20)), said(&"b".repeat(20)), user("c"), said("d"), user("the question")];
        assert_eq!(fit(&mut history, budget, &|text| text.len()), 2);
        assert_eq!(history, [user("c"), said("d"), user("the question")]);

        let count_no_old = |text: &str| if text.starts_with("old") { panic!("counted") } else { text.len() };
        let mut long = vec![user("old"), said("old"), user(&"n".repeat(30)), said("m"), user("the question")];
        assert_eq!(fit(&mut long, budget, &count_no_old), 4);

        let mut too_long = vec![user(&"x".repeat(500))];
        assert_eq!(fit(&mut too_long, budget, &|text| text.len()), 0);
        assert_eq!(too_long.len(), 1);
    }

    #[test]
    fn short_history_is_not_counted() {
        let budget = Budget { context_window: 1000, fixed: 0, answer: 0 };
        let mut history = vec![user("hi")];
        assert_eq!(fit(&mut history, budget, &|_| panic!("counted")), 0);
    }
}
