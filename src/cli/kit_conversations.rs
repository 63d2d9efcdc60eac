//! A text file of an evaluation kit imported as conversations: each section that begins with a time is one, and each item of its
//! list a message. What is found in them is named by its place in the file, so that the kit's scorer judges both alike.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::domain::{ConversationRecord, Message, Role, Session, TranscriptKind, TranscriptPart};

/// The conversations of some files.
pub struct ImportedConversations {
    /// The parts of their transcripts by the paths under which they are indexed.
    parts: HashMap<String, (String, TranscriptPart)>,
}

impl ImportedConversations {
    /// Reads a file; `None` if it is no list of messages under headings with a time.
    pub fn read(files: &[(String, String)]) -> Option<Self> {
        let mut parts = HashMap::new();
        for (file, text) in files {
            let sessions = sessions(text);
            if sessions.is_empty() {
                return None;
            }
            for (number, session) in sessions.into_iter().enumerate() {
                let record = ConversationRecord { session, compacted: Vec::new(), damaged: 0, own: true };
                for part in record.transcript(TranscriptKind::Messages) {
                    let path = format!("{}-{number}/{}", file.replace(['/', '.'], "-"), part.name);
                    parts.insert(path, (file.clone(), part));
                }
            }
        }
        Some(Self { parts })
    }

    pub fn parts(&self) -> impl Iterator<Item = (&str, &TranscriptPart)> {
        self.parts.iter().map(|(path, (_, part))| (path.as_str(), part))
    }

    /// Returns the file and the byte range of a hit in it.
    pub fn place(&self, path: &str, range: Range<usize>) -> Option<(&str, Range<usize>)> {
        let (file, part) = self.parts.get(path)?;
        let mut entries =
            part.entries.iter().filter(|entry| entry.range.start < range.end && range.start < entry.range.end);
        let first = entries.next()?;
        let last = entries.next_back().unwrap_or(first);
        // The id of a message is its place in the file.
        let in_file = |id: &str, offset: usize| id.parse::<usize>().ok().map(|start| start + offset);
        let start = in_file(&first.message_id, range.start.saturating_sub(first.range.start))?;
        let end = in_file(&last.message_id, range.end.min(last.range.end) - last.range.start)?;
        Some((file, start..end))
    }
}

/// Returns the sections of a text as sessions.
fn sessions(text: &str) -> Vec<Session> {
    let mut sessions: Vec<Session> = Vec::new();
    let (mut title, mut speaker) = (String::new(), None);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim_end();
        if let Some(heading) = line.strip_prefix("# ") {
            heading.clone_into(&mut title);
        } else if let Some(heading) = line.strip_prefix("## ") {
            let Some(time) = time(heading) else { return Vec::new() };
            sessions.push(Session::new(title.clone(), time));
        } else if let (Some(words), Some(session)) = (line.strip_prefix("- "), sessions.last_mut()) {
            let who = words.split(':').next().unwrap_or_default();
            let first = speaker.get_or_insert_with(|| who.to_owned());
            let role = if who == first { Role::User } else { Role::Assistant };
            let (id, created_at) = (Some((start + "- ".len()).to_string()), Some(session.created_at));
            session.messages.push(Arc::new(Message { id, created_at, ..Message::new(role, words) }));
        }
    }
    sessions
}

/// Returns where the sessions of a text begin; none if it is no list of messages under headings with a time.
pub(super) fn session_starts(text: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(heading) = line.trim_end().strip_prefix("## ") {
            if time(heading).is_none() {
                return Vec::new();
            }
            starts.push(at);
        }
        at += line.len();
    }
    starts
}

/// Returns the time at the beginning of a heading such as `1:56 pm on 8 May, 2023 (session 1)`.
fn time(heading: &str) -> Option<f64> {
    let written = heading.split(" (").next()?;
    let time = DateTime::strptime("%I:%M %p on %d %B, %Y", written).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Caroline and Melanie\n\n## 1:56 pm on 8 May, 2023 (session 1)\n\n- Caroline: Hey Mel!\n\
                        - Melanie: Hey! I paint.\n";

    #[test]
    fn hits_are_named_by_their_place_in_the_file() {
        let imported = ImportedConversations::read(&[("a/M.md".to_owned(), TEXT.to_owned())]).unwrap();
        let (path, part) = imported.parts().next().unwrap();
        assert_eq!((path, part.title.as_str()), ("a-M-md-0/m.0", "Caroline and Melanie · 8 May 2023"));
        assert_eq!(part.text, "Caroline: Hey Mel!\n\nMelanie: Hey! I paint.");
        let paint = part.text.find("I paint.").unwrap();
        let (file, range) = imported.place(path, paint..part.text.len()).unwrap();
        assert_eq!((file, &TEXT[range]), ("a/M.md", "I paint."));
        let (_, all) = imported.place(path, 0..part.text.len()).unwrap();
        assert_eq!(&TEXT[all], "Caroline: Hey Mel!\n- Melanie: Hey! I paint.");
        assert!(ImportedConversations::read(&[("b.md".to_owned(), "# B\n\n## Birds\n\n- one\n".to_owned())]).is_none());
        assert!(ImportedConversations::read(&[("b.md".to_owned(), "# B\n".to_owned())]).is_none());
    }
}
