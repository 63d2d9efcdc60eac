//! Exports a session as Markdown.

use super::message::{Message, Role, ToolCall};
use super::session::Session;

/// Returns the whole conversation; tool calls become code blocks and summaries become quotes. A quote precedes a withdrawn
/// work.
pub fn markdown(session: &Session) -> String {
    let title = if session.title.is_empty() { "Conversation" } else { &session.title };
    let mut text = format!("# {}\n", one_line(title));
    if let Some(summary) = &session.compressed_context {
        text.push_str(&format!("\n> Earlier, summarised:\n{}", quoted(summary)));
    }
    let (mut last, mut work) = (None, None);
    for message in session.messages.iter().filter(|message| message.role != Role::System) {
        if last != Some(message.role) {
            text.push_str(if message.role == Role::User { "\n## You\n" } else { "\n## miniclaw\n" });
        }
        last = Some(message.role);
        if !session.is_in_effect(message) && work != Some(&message.work_id) {
            text.push_str("\n> This message and its response were withdrawn.\n");
        }
        work = Some(&message.work_id);
        write_message(&mut text, message);
    }
    text
}

fn write_message(text: &mut String, message: &Message) {
    if !message.content.is_empty() {
        text.push_str(&format!("\n{}\n", message.content.trim_end()));
    }
    for file in &message.attachments {
        match file.picture {
            Some(_) => text.push_str(&format!("\n**{}** (picture)\n", one_line(&file.name))),
            None => text.push_str(&format!("\n**{}**\n\n{}", one_line(&file.name), fenced(&file.content))),
        }
    }
    for call in &message.tool_calls {
        write_call(text, call);
    }
    if let Some(error) = &message.error {
        text.push_str(&format!("\n> This did not work: {}\n", one_line(error)));
    }
}

fn write_call(text: &mut String, call: &ToolCall) {
    text.push_str(&format!("\n**{}**\n\n{}", call.tool, fenced(&call.input)));
    if !call.output.is_empty() {
        text.push_str(&format!("\n{}", fenced(&call.output)));
    }
}

/// Returns a code block whose fence is longer than any in the text.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}\n")).collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Attachment;
    use std::sync::Arc;

    #[test]
    fn withdrawn_work_is_marked_once() {
        let mut session = Session::new("t", 1.0);
        let of = |work: &str, role| {
            let work_id = Some(crate::domain::WorkId::new(work.to_owned()));
            Arc::new(Message { work_id, ..Message::new(role, work) })
        };
        session.messages = ["a", "b"].iter().flat_map(|id| [of(id, Role::User), of(id, Role::Assistant)]).collect();
        let withdrawn_work = serde_json::json!({"work_id": "b"});
        session.withdrawn = vec![serde_json::from_value(withdrawn_work).unwrap()];
        assert_eq!(
            markdown(&session),
            "# t\n\n## You\n\na\n\n## miniclaw\n\na\n\n## You\n\n> This message and its response were withdrawn.\n\nb\n\
             \n## miniclaw\n\nb\n"
        );
    }

    #[test]
    fn exported_output_cannot_close_its_block() {
        let mut session = Session::new("Two\nlines", 1.0);
        session.compressed_context = Some("Tea.\nThen cake.".to_owned());
        let mut answer = Message::new(Role::Assistant, "I look.\n");
        let call = serde_json::json!({"tool": "terminal", "input": "cat a.md", "output": "```js\nlet a\n```\n"});
        answer.tool_calls.push(serde_json::from_value(call).unwrap());
        let mut failed = Message::new(Role::Assistant, "");
        failed.error = Some("no\nmodel".to_owned());
        let mut asked = Message::new(Role::User, "Look at *a.md*");
        let file = Attachment::new("b.md", None, "```\nlet b\n```\n".to_owned()).unwrap();
        asked.attachments.push(Arc::new(file));
        let said = [asked, answer, Message::new(Role::Assistant, "Code."), failed];
        session.messages = said.into_iter().map(Arc::new).collect();
        assert_eq!(
            markdown(&session),
            "# Two lines\n\n> Earlier, summarised:\n> Tea.\n> Then cake.\n\n## You\n\nLook at *a.md*\n\n**b.md**\n\n````\n```\nlet b\n```\n````\n\n## miniclaw\n\nI look.\n\
             \n**terminal**\n\n```\ncat a.md\n```\n\n````\n```js\nlet a\n```\n````\n\nCode.\n\n> This did not work: no model\n"
        );
    }
}
