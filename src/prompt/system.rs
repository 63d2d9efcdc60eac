//! The system prompt, assembled from files on every request (mini-OpenClaw document, "System Prompt").

use serde::Serialize;

use crate::domain::HomePath;
use crate::store::{Home, StoreError};

/// Each part's limit in characters (Unicode scalar values).
pub const PART_LIMIT: usize = 20_000;
const TRUNCATED: &str = "\n...[truncated]";

/// Label and file of every part, in order.
const PARTS: [(&str, &str); 6] = [
    ("Skills Snapshot", crate::store::SNAPSHOT),
    ("Soul", "workspace/SOUL.md"),
    ("Identity", "workspace/IDENTITY.md"),
    ("User Profile", "workspace/USER.md"),
    ("Agents Guide", "workspace/AGENTS.md"),
    (MEMORY_LABEL, MEMORY_FILE),
];
const MEMORY_LABEL: &str = "Long-term Memory";
const MEMORY_FILE: &str = "memory/MEMORY.md";

/// Takes MEMORY.md's place in RAG mode.
const RAG_GUIDE: &str = "Long-term memory is searched for every question. What was found stands in the conversation under \
[记忆检索结果]; it is background that may be incomplete or out of date. Use what fits the question, cite it \
as [memory/MEMORY.md:12-20] with the file and lines given, and say so when nothing there answers it.";

/// One part of the prompt, or the reason it is not there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    pub label: &'static str,
    /// The file it came from; none for the text that RAG mode puts in.
    pub file: Option<&'static str>,
    /// Where it stands in the prompt, in bytes, its label included; empty when absent.
    pub start: usize,
    pub end: usize,
    /// Of the text taken from the file.
    pub characters: usize,
    pub truncated: bool,
    /// Why it was left out.
    pub absent: Option<String>,
}

/// The assembled prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemPrompt {
    pub text: String,
    pub parts: Vec<Part>,
}

/// Whether memory is in the prompt or retrieved for each question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryMode {
    Whole,
    Retrieved,
}

/// Reads all parts now. Never fails: a part that cannot be used is left out with its reason.
pub fn assemble(home: &Home, memory: MemoryMode) -> SystemPrompt {
    let mut prompt = SystemPrompt::default();
    for (label, file) in PARTS {
        if file == MEMORY_FILE && memory == MemoryMode::Retrieved {
            prompt.push(label, None, RAG_GUIDE);
            prompt.leave_out(label, file, "RAG mode is on: memory is retrieved for each question".to_owned());
            continue;
        }
        match read(home, file) {
            Ok(text) => prompt.push(label, Some(file), &text),
            Err(reason) => prompt.leave_out(label, file, reason),
        }
    }
    prompt
}

fn read(home: &Home, file: &str) -> Result<String, String> {
    let path = HomePath::parse(file).map_err(|bad| bad.to_string())?;
    let text = match home.read_text(&path) {
        Ok(text) => text.content,
        Err(StoreError::NotFound { .. }) => return Err("the file is missing".to_owned()),
        Err(other) => return Err(other.to_string()),
    };
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() { Err("the file is empty".to_owned()) } else { Ok(text.to_owned()) }
}

impl SystemPrompt {
    fn push(&mut self, label: &'static str, file: Option<&'static str>, text: &str) {
        let (text, truncated) = cap(text);
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        let start = self.text.len();
        self.text.push_str("<!-- ");
        self.text.push_str(label);
        self.text.push_str(" -->\n");
        self.text.push_str(text);
        if truncated {
            self.text.push_str(TRUNCATED);
        }
        let characters = if truncated { PART_LIMIT } else { text.chars().count() };
        self.parts.push(Part { label, file, start, end: self.text.len(), characters, truncated, absent: None });
    }

    fn leave_out(&mut self, label: &'static str, file: &'static str, reason: String) {
        let at = self.text.len();
        let part =
            Part { label, file: Some(file), start: at, end: at, characters: 0, truncated: false, absent: Some(reason) };
        self.parts.push(part);
    }
}

/// The first [`PART_LIMIT`] characters, and whether there were more.
fn cap(text: &str) -> (&str, bool) {
    // A text of at most that many bytes cannot have more characters.
    if text.len() <= PART_LIMIT {
        return (text, false);
    }
    match text.char_indices().nth(PART_LIMIT) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        (folder, home)
    }

    #[test]
    fn parts_stand_in_the_documented_order_under_their_labels() {
        let (folder, home) = home();
        for (_, file) in PARTS {
            std::fs::write(folder.path().join(file), format!("text of {file}\n")).unwrap();
        }
        let prompt = assemble(&home, MemoryMode::Whole);
        assert_eq!(
            prompt.text,
            "<!-- Skills Snapshot -->\ntext of SKILLS_SNAPSHOT.md\n\n<!-- Soul -->\ntext of workspace/SOUL.md\n\n\
             <!-- Identity -->\ntext of workspace/IDENTITY.md\n\n<!-- User Profile -->\ntext of workspace/USER.md\n\n\
             <!-- Agents Guide -->\ntext of workspace/AGENTS.md\n\n<!-- Long-term Memory -->\ntext of memory/MEMORY.md"
        );
        for part in &prompt.parts {
            assert!(prompt.text[part.start..part.end].starts_with(&format!("<!-- {} -->", part.label)));
        }
    }

    #[test]
    fn an_edit_on_disk_is_in_the_very_next_prompt() {
        let (folder, home) = home();
        let soul = folder.path().join("workspace/SOUL.md");
        std::fs::write(&soul, "one").unwrap();
        assert!(assemble(&home, MemoryMode::Whole).text.ends_with("one"));
        std::fs::write(&soul, "two").unwrap();
        assert!(assemble(&home, MemoryMode::Whole).text.ends_with("two"));
    }

    #[test]
    fn a_part_is_capped_by_characters_not_bytes() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("workspace/SOUL.md"), "字".repeat(PART_LIMIT)).unwrap();
        std::fs::write(folder.path().join("workspace/USER.md"), "字".repeat(PART_LIMIT + 1)).unwrap();
        let prompt = assemble(&home, MemoryMode::Whole);
        let part = |label| prompt.parts.iter().find(|p| p.label == label).unwrap();
        assert!(!part("Soul").truncated);
        assert!(part("User Profile").truncated);
        assert!(prompt.text.ends_with("字\n...[truncated]"));
        assert_eq!(part("User Profile").characters, PART_LIMIT);
    }

    #[test]
    fn what_cannot_be_used_is_left_out_with_its_reason() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("workspace/SOUL.md"), b"\xff\xfe").unwrap();
        std::fs::write(folder.path().join("workspace/USER.md"), "  \n").unwrap();
        std::fs::create_dir(folder.path().join("workspace/AGENTS.md")).unwrap();
        let prompt = assemble(&home, MemoryMode::Whole);
        assert_eq!(prompt.text, "");
        let reasons: Vec<_> = prompt.parts.iter().map(|p| p.absent.clone().unwrap()).collect();
        assert!(reasons[1].contains("not UTF-8"), "{reasons:?}");
        assert_eq!((reasons[2].as_str(), reasons[3].as_str()), ("the file is missing", "the file is empty"));
        assert!(reasons[4].contains("a folder"), "{reasons:?}");
    }

    #[test]
    fn rag_mode_puts_a_guide_in_the_place_of_memory() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("memory/MEMORY.md"), "a secret of the heart").unwrap();
        let prompt = assemble(&home, MemoryMode::Retrieved);
        assert!(!prompt.text.contains("secret of the heart"));
        assert!(prompt.text.contains("<!-- Long-term Memory -->\nLong-term memory is searched"));
        assert!(prompt.text.contains("[记忆检索结果]"));
    }
}
