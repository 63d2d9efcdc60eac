//! Turns: a question with everything that followed it, that is, tool results and the answer. Prompts are always built
//! from turns in the same way, so that a continued conversation begins with the same tokens.

use crate::chatml::Prompt;
use crate::request::{Message, PastCall, Role};

/// A finished call: its arguments and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    pub name: String,
    /// JSON text.
    pub arguments: String,
    pub text: String,
}

/// A question, the results of its calls, and the answer (empty while it is pending).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// Empty when the conversation begins with an assistant message, such as a summary.
    pub question: String,
    pub results: Vec<CallResult>,
    /// System messages after the question, such as retrieved passages.
    pub notes: Vec<String>,
    pub answer: String,
}

/// A conversation: the system message and the turns, oldest first. There is always at least one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// None if the request does not begin with a system message.
    pub system: Option<String>,
    pub turns: Vec<Turn>,
}

/// Maximum characters of a result; longer ones are cut in the middle, because evaluation is slow and the model loses track.
const MAX_RESULT_CHARS: usize = 5000;

impl Conversation {
    /// Groups messages into turns.
    pub fn new(messages: &[Message]) -> Self {
        let mut system: Option<String> = None;
        let mut turns: Vec<Turn> = Vec::new();
        let mut open: Vec<&PastCall> = Vec::new();
        for message in messages {
            if message.role == Role::System && turns.is_empty() {
                system = Some(system.map_or(message.text.clone(), |s| format!("{s}\n\n{}", message.text)));
                continue;
            }
            if message.role == Role::User {
                turns.push(Turn { question: message.text.clone(), ..Turn::default() });
                continue;
            }
            if turns.is_empty() {
                turns.push(Turn::default());
            }
            let Some(turn) = turns.last_mut() else { continue };
            match message.role {
                Role::Assistant => {
                    join(&mut turn.answer, &message.text);
                    open.extend(&message.calls);
                }
                Role::Tool => {
                    let at = open.iter().position(|c| c.id == message.tool_call_id).unwrap_or(0);
                    let call = if open.is_empty() { None } else { Some(open.remove(at)) };
                    turn.results.push(CallResult {
                        name: call.map_or_else(|| "tool".into(), |c| c.name.clone()),
                        arguments: call.map_or_else(|| "{}".into(), |c| c.arguments.clone()),
                        text: message.text.clone(),
                    });
                }
                Role::System => turn.notes.push(message.text.clone()),
                Role::User => {}
            }
        }
        if turns.is_empty() {
            turns.push(Turn::default());
        }
        Self { system, turns }
    }

    /// Returns the turn to answer.
    pub fn last(&self) -> &Turn {
        // `new` creates at least one turn
        &self.turns[self.turns.len() - 1]
    }
}

impl Turn {
    /// Returns whether `name` was already called with these arguments for this question.
    pub fn already_called(&self, name: &str, arguments: &str) -> bool {
        self.results.iter().any(|r| r.name == name && same_json(&r.arguments, arguments))
    }

    /// Adds this turn to a prompt. Without an answer, the prompt ends after the question.
    pub fn render(&self, prompt: &mut Prompt) {
        let question = self.user_text();
        if !question.is_empty() {
            prompt.message("user", &question);
        }
        if !self.answer.is_empty() {
            prompt.message("assistant", &self.answer);
        }
    }

    fn user_text(&self) -> String {
        let mut text = String::new();
        let chinese = is_chinese(&self.question);
        for note in &self.notes {
            join(&mut text, note);
        }
        for result in &self.results {
            let what = short_arguments(&result.arguments);
            let head = match chinese {
                true => format!("【工具 {}{what} 返回的结果】", result.name),
                false => format!("[Result of the tool {}{what}]", result.name),
            };
            let body = cut_middle(result.text.trim(), MAX_RESULT_CHARS);
            join(&mut text, &format!("{head}\n{}", if body.is_empty() { "(empty)".into() } else { body }));
        }
        let request = match (self.results.is_empty(), chinese) {
            (true, _) => self.question.clone(),
            (false, true) => format!("请根据以上结果，用中文回答（结果里没有的就直说没有）：{}", self.question),
            (false, false) => {
                format!("Use the result above to answer; if it does not say, tell me so: {}", self.question)
            }
        };
        join(&mut text, &request);
        text
    }
}

/// Appends `more`, separated by a blank line.
fn join(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

/// Returns `(a, b)` for the arguments {"x":"a","y":"b"}, or an empty string if there are none.
fn short_arguments(arguments: &str) -> String {
    let Ok(serde_json::Value::Object(map)) = serde_json::from_str(arguments) else { return String::new() };
    if map.is_empty() {
        return String::new();
    }
    let values = map.values().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    format!("({})", head(&values.collect::<Vec<_>>().join(", "), 120))
}

/// Returns the first `chars` characters, with an ellipsis if the text is longer.
pub fn head(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Replaces the middle of a text longer than `chars` characters by a note of how many characters are left out.
pub fn cut_middle(text: &str, chars: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= chars {
        return text.to_owned();
    }
    let (front, back) = (chars * 3 / 4, chars / 4);
    let start: String = all[..front].iter().collect();
    let end: String = all[all.len() - back..].iter().collect();
    format!("{start}\n[… {} characters left out …]\n{end}", all.len() - front - back)
}

/// Returns whether a text is mainly Chinese.
pub fn is_chinese(text: &str) -> bool {
    let han = text.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).count();
    let latin = text.chars().filter(char::is_ascii_alphabetic).count();
    han > 0 && han * 4 >= latin
}

fn same_json(a: &str, b: &str) -> bool {
    let parsed = |s: &str| serde_json::from_str::<serde_json::Value>(s).ok();
    a == b || parsed(a).is_some_and(|a| Some(a) == parsed(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chatml::Piece;

    fn say(role: Role, text: &str) -> Message {
        Message { role, text: text.into(), calls: vec![], tool_call_id: String::new() }
    }

    fn with_call() -> Vec<Message> {
        let call = PastCall { id: "c1".into(), name: "read_file".into(), arguments: r#"{"path":"a.md"}"#.into() };
        vec![
            say(Role::System, "You are M."),
            say(Role::User, "What is in a.md?"),
            Message { calls: vec![call], ..say(Role::Assistant, "") },
            Message { tool_call_id: "c1".into(), ..say(Role::Tool, "milk, eggs") },
        ]
    }

    #[test]
    fn calls_and_results_stay_with_their_question() {
        let c = Conversation::new(&with_call());
        assert_eq!(c.system.as_deref(), Some("You are M."));
        assert_eq!(c.last().results[0].name, "read_file");
        assert!(c.last().already_called("read_file", r#"{ "path": "a.md" }"#));
        assert!(!c.last().already_called("read_file", r#"{"path":"b.md"}"#));
    }

    #[test]
    fn turn_renders_equally_before_and_after_answer() {
        let mut messages = with_call();
        let mut before = Prompt::default();
        Conversation::new(&messages).last().render(&mut before);
        messages.push(say(Role::Assistant, "Milk and eggs."));
        messages.push(say(Role::User, "Thanks"));
        let mut after = Prompt::default();
        Conversation::new(&messages).turns[0].render(&mut after);
        assert_eq!(after.pieces[..before.pieces.len()], before.pieces);
    }

    #[test]
    fn leading_summary_is_kept() {
        let c = Conversation::new(&[say(Role::Assistant, "[summary]"), say(Role::User, "go on")]);
        assert_eq!(c.turns[0], Turn { answer: "[summary]".into(), ..Turn::default() });
        assert_eq!(c.last().question, "go on");
    }

    #[test]
    fn trailing_notes_precede_question_in_prompt() {
        let c = Conversation::new(&[say(Role::User, "when?"), say(Role::System, "[memory] in May")]);
        let mut prompt = Prompt::default();
        c.last().render(&mut prompt);
        assert_eq!(prompt.pieces[1], Piece::Text("user\n[memory] in May\n\nwhen?".into()));
    }

    #[test]
    fn truncated_result_states_omitted_length() {
        let cut = cut_middle(&"字".repeat(6000), 5000);
        assert!(cut.contains("[… 1000 characters left out …]"), "{}", &cut[..40]);
    }

    #[test]
    fn chinese_and_english_are_distinguished() {
        assert!(is_chinese("看看 notes.md 里写了什么"));
        assert!(is_chinese("1+1等于几"));
        assert!(!is_chinese("Translate 你好 into English please"));
        assert!(!is_chinese(""));
    }
}
