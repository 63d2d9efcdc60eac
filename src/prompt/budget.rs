//! Decides what to leave out if a conversation is longer than the model's context.

use crate::provider::ChatMessage;

/// Tokens that each message costs beyond its text: role, separators.
pub const MESSAGE_OVERHEAD: usize = 4;

/// A space for messages.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    /// A lower bound in tokens that is known without counting.
    pub at_least: usize,
    /// Returns the room in tokens.
    pub tokens: &'a dyn Fn() -> usize,
    /// Returns the tokens of a text.
    pub count: &'a dyn Fn(&str) -> usize,
}

/// Takes exchanges, newest first, as long as they fit into the room beside `summary`; the newest in any case.
pub fn fitting(
    summary: Option<&ChatMessage>,
    newest_first: impl Iterator<Item = Vec<ChatMessage>>,
    room: Room<'_>,
) -> Vec<Vec<ChatMessage>> {
    let cost_of_summary = |count| summary.map(|message| cost(message, count)).unwrap_or_default();
    let mut kept: Vec<Vec<ChatMessage>> = Vec::new();
    let mut limit = None;
    let (mut bytes, mut tokens, mut counted) = (cost_of_summary(&str::len), 0, 0);
    for exchange in newest_first {
        bytes += exchange.iter().map(|message| cost(message, &str::len)).sum::<usize>();
        kept.push(exchange);
        // A token is at least one byte, so a short history fits without counting.
        if bytes <= room.at_least {
            continue;
        }
        let limit = *limit.get_or_insert_with(room.tokens);
        if bytes <= limit {
            continue;
        }
        if counted == 0 {
            tokens = cost_of_summary(room.count);
        }
        tokens += kept[counted..].iter().flatten().map(|message| cost(message, room.count)).sum::<usize>();
        counted = kept.len();
        if tokens > limit {
            if kept.len() > 1 {
                kept.pop();
            }
            break;
        }
    }
    kept
}

/// Returns how many pinned messages fit into half of the room, newest first: the conversation keeps the other half.
pub fn fitting_pins(newest_first: impl DoubleEndedIterator<Item = String> + Clone, room: Room<'_>) -> usize {
    let bytes: usize = newest_first.clone().map(|text| text.len() + MESSAGE_OVERHEAD).sum();
    if bytes <= room.at_least / 2 {
        return newest_first.count();
    }
    let mut left = (room.tokens)() / 2;
    let fits = |text: &String| {
        let rest = left.checked_sub((room.count)(text) + MESSAGE_OVERHEAD);
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    newest_first.take_while(fits).count()
}

/// Returns the tokens of a message with its pictures.
pub fn cost(message: &ChatMessage, count: &dyn Fn(&str) -> usize) -> usize {
    MESSAGE_OVERHEAD + texts(message).map(count).sum::<usize>() + pictures(message)
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

/// Returns the tokens of a message's pictures.
pub fn pictures(message: &ChatMessage) -> usize {
    match message {
        ChatMessage::Pictured { pictures, .. } => pictures.iter().map(|seen| seen.picture.tokens()).sum(),
        ChatMessage::System(_) | ChatMessage::User(_) | ChatMessage::Assistant { .. } | ChatMessage::Tool { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(question: &str, answer: &str) -> Vec<ChatMessage> {
        let answer =
            ChatMessage::Assistant { content: answer.to_owned(), thinking: None, reasoning: None, calls: Vec::new() };
        vec![ChatMessage::User(question.to_owned()), answer]
    }

    fn within(tokens: usize, newest_first: impl Iterator<Item = Vec<ChatMessage>>) -> Vec<Vec<ChatMessage>> {
        fitting(None, newest_first, Room { at_least: 0, tokens: &|| tokens, count: &str::len })
    }

    #[test]
    fn exchanges_that_do_not_fit_are_neither_taken_nor_read() {
        let exchanges = [exchange("q", "a"), exchange("c", "d"), exchange(&"a".repeat(20), &"b".repeat(20))];
        let unread = std::iter::once_with(|| panic!("read"));
        let kept = within(40, exchanges.iter().cloned().chain(unread));
        assert_eq!(kept, exchanges[..2]);
    }

    #[test]
    fn newest_exchange_is_taken_even_if_it_is_too_long() {
        let exchanges = [exchange(&"x".repeat(500), "y"), exchange("c", "d")];
        assert_eq!(within(40, exchanges.iter().cloned()), exchanges[..1]);
    }

    #[test]
    fn pinned_messages_take_at_most_half_of_the_room() {
        let pins = ["x".repeat(10), "y".repeat(10), "z".repeat(10)];
        let fitting = |tokens| {
            let room = Room { at_least: 0, tokens: &|| tokens, count: &str::len };
            fitting_pins(pins.iter().cloned(), room)
        };
        assert_eq!([0, 27, 28, 56, 84, 1000].map(fitting), [0, 0, 1, 2, 3, 3]);
        let room = Room { at_least: 84, tokens: &|| panic!("counted"), count: &|_| panic!("counted") };
        assert_eq!(fitting_pins(pins.iter().cloned(), room), 3);
    }

    #[test]
    fn short_history_is_not_counted() {
        let short = [exchange("hi", "hello")];
        let summary = ChatMessage::User("earlier".to_owned());
        let room = Room { at_least: 1000, tokens: &|| panic!("counted"), count: &|_| panic!("counted") };
        assert_eq!(fitting(Some(&summary), short.iter().cloned(), room), short);
    }
}
