//! The system prompt, assembled from files on every request (mini-OpenClaw document, "System Prompt").

use std::sync::LazyLock;

use serde::Serialize;

use crate::domain::{Place, Root};
use crate::store::{Home, Settings, StoreError};

/// Maximum characters (Unicode scalar values) of each part.
pub const PART_LIMIT: usize = 20_000;
const TRUNCATED: &str = "\n...[truncated]";

/// A file that is part of the prompt.
#[derive(Debug)]
pub struct PromptFile {
    pub label: &'static str,
    pub place: Place,
}

/// Every part, in order.
static FILES: LazyLock<[PromptFile; 6]> = LazyLock::new(|| {
    let file = |label, root: Root, name| {
        let place = Place::of_root(root).child(name).expect("a plain name of a file");
        PromptFile { label, place }
    };
    [
        PromptFile { label: "Skills Snapshot", place: Place::of_root(Root::Snapshot) },
        file("Soul", Root::Workspace, "SOUL.md"),
        file("Identity", Root::Workspace, "IDENTITY.md"),
        file("User Profile", Root::Workspace, "USER.md"),
        file("Agents Guide", Root::Workspace, "AGENTS.md"),
        file("Long-term Memory", Root::Memory, "MEMORY.md"),
    ]
});

/// Returns the files of which the prompt consists, in order.
pub fn prompt_files() -> &'static [PromptFile] {
    &*FILES
}

impl PromptFile {
    /// Returns whether it is left out of the prompt in this mode, because its passages are retrieved.
    fn is_retrieved(&self, memory: MemoryMode) -> bool {
        memory == MemoryMode::Retrieved && *self.place.root() == Root::Memory
    }
}

/// Label of the instructions that a permission mode adds.
pub const MODE_LABEL: &str = "Permission Mode";
/// Label of the instructions that a person gave for the session.
pub const SESSION_LABEL: &str = "Conversation Instructions";
/// Label of the instructions of a program that uses the OpenAI API. They come last and replace nothing.
pub const CLIENT_LABEL: &str = "Client";
/// Replaces MEMORY.md in RAG mode.
const RAG_GUIDE: &str = "Long-term memory is searched for every question. What was found stands in the conversation under \
[记忆检索结果]; it is background that may be incomplete or out of date. Use what fits the question, cite it \
as [memory/MEMORY.md:12-20] with the file and lines given, and say so when nothing there answers it.";

/// One part of the prompt, or the reason for its absence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    pub label: &'static str,
    /// The file it came from; `None` for the text that RAG mode or a permission mode inserts.
    pub file: Option<String>,
    /// Byte range in the prompt, including the label; empty if the part is absent.
    pub start: usize,
    pub end: usize,
    /// Number of characters taken from the file.
    pub characters: usize,
    pub truncated: bool,
    /// Why the part is absent.
    pub absent: Option<String>,
    /// Whether the part is absent although its file exists: nothing may be sent without it.
    pub unreadable: bool,
    /// First and last line of the file that are included.
    pub lines: Option<(u32, u32)>,
    /// Hash of the whole file.
    pub etag: Option<String>,
}

/// The part of a file that goes into the prompt.
struct Body {
    text: String,
    /// First line of the file that is included, 1-based.
    line: u32,
    etag: String,
}

/// The assembled prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemPrompt {
    pub text: String,
    pub parts: Vec<Part>,
}

/// Whether memory is part of the prompt or is retrieved for each question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryMode {
    Whole,
    Retrieved,
}

impl MemoryMode {
    pub fn of(settings: &Settings) -> Self {
        if settings.rag_mode { Self::Retrieved } else { Self::Whole }
    }
}

/// How a file reaches the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// Part of each request.
    Each,
    /// Its name and description are part of each request; the rest is read on demand.
    Named,
    /// Passages of it, if they fit a question or the agent searches for them.
    Found,
    /// Only if the agent reads it.
    Read,
}

/// Returns how a file reaches the model.
pub fn share(place: &Place, memory: MemoryMode) -> Share {
    let is_part = prompt_files().iter().any(|file| file.place == *place && !file.is_retrieved(memory));
    match place.root() {
        _ if is_part => Share::Each,
        // No passages of projects are retrieved.
        Root::Project(_) => Share::Read,
        root if root.is_searched() => Share::Found,
        Root::Skills if place.file_name() == "SKILL.md" => Share::Named,
        _ => Share::Read,
    }
}

/// Returns the text that a part would have in the prompt, including its label, and whether it is truncated; `None` if
/// the file is not a part or the part is left out.
pub fn part_of(place: &Place, text: &str) -> Option<(String, bool)> {
    let file = prompt_files().iter().find(|file| file.place == *place)?;
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return None;
    }
    let mut prompt = SystemPrompt::default();
    prompt.push((file.label, Some(&file.place)), text, None);
    let truncated = prompt.parts.iter().any(|part| part.truncated);
    Some((prompt.text, truncated))
}

/// Reads all parts from disk. A part that is missing or empty is left out. A part that exists and cannot be read is
/// also left out, and [`SystemPrompt::unreadable`] names it: a request must not lack it silently.
pub fn assemble(home: &Home, memory: MemoryMode) -> SystemPrompt {
    let mut prompt = SystemPrompt::default();
    for file in prompt_files() {
        if file.is_retrieved(memory) {
            prompt.push((file.label, None), RAG_GUIDE, None);
            let reason = "Memory retrieval is on: relevant passages are added to each message";
            prompt.leave_out((file.label, &file.place), Absent::LeftOut(reason.to_owned()));
            continue;
        }
        match read(home, &file.place) {
            Ok(Body { text, line, etag }) => {
                prompt.push((file.label, Some(&file.place)), &text, Some((line, etag)));
            }
            Err(absent) => prompt.leave_out((file.label, &file.place), absent),
        }
    }
    prompt
}

/// Why a part is not in the prompt.
pub(super) enum Absent {
    LeftOut(String),
    /// No request may be sent without it.
    Unreadable(String),
}

fn read(home: &Home, path: &Place) -> Result<Body, Absent> {
    let file = match home.read_text(path) {
        Ok(text) => text,
        Err(StoreError::NotFound { .. }) if !home.has_entry(path) => {
            return Err(Absent::LeftOut("File not found".to_owned()));
        }
        Err(StoreError::NotFound { .. }) => {
            return Err(Absent::Unreadable("Broken link".to_owned()));
        }
        Err(other) => return Err(Absent::Unreadable(other.to_string())),
    };
    let whole = file.content.trim_start_matches('\u{feff}');
    let text = whole.trim_start();
    let line = 1 + newlines(&whole[..whole.len() - text.len()]);
    match text.trim_end() {
        "" => Err(Absent::LeftOut("File is empty".to_owned())),
        text => Ok(Body { text: text.to_owned(), line, etag: file.etag }),
    }
}

fn newlines(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}

impl SystemPrompt {
    /// Adds what the model is told about this conversation: its permission mode, its project, or a person's instructions.
    pub fn add_instructions(&mut self, label: &'static str, instructions: &str) {
        self.push((label, None), instructions, None);
    }

    fn push(&mut self, (label, file): (&'static str, Option<&Place>), text: &str, from: Option<(u32, String)>) {
        self.push_headed((label, label, file), text, from);
    }

    /// Adds a part under a heading of its own, of which its label is the beginning.
    pub(super) fn push_headed(
        &mut self,
        (label, heading, file): (&'static str, &str, Option<&Place>),
        text: &str,
        from: Option<(u32, String)>,
    ) {
        let (text, truncated) = cap(text);
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        let start = self.text.len();
        self.text.push_str("<!-- ");
        self.text.push_str(heading);
        self.text.push_str(" -->\n");
        self.text.push_str(text);
        if truncated {
            self.text.push_str(TRUNCATED);
        }
        let characters = if truncated { PART_LIMIT } else { text.chars().count() };
        let lines = from.as_ref().map(|(first, _)| (*first, first + newlines(text)));
        let (end, etag) = (self.text.len(), from.map(|(_, etag)| etag));
        let (file, absent, unreadable) = (file.map(Place::to_string), None, false);
        self.parts.push(Part { label, file, start, end, characters, truncated, absent, unreadable, lines, etag });
    }

    /// Returns the first part that exists and could not be read.
    pub fn unreadable(&self) -> Option<&Part> {
        self.parts.iter().find(|part| part.unreadable)
    }

    pub(super) fn leave_out(&mut self, (label, file): (&'static str, &Place), absent: Absent) {
        let at = self.text.len();
        let (reason, unreadable) = match absent {
            Absent::LeftOut(reason) => (reason, false),
            Absent::Unreadable(reason) => (reason, true),
        };
        self.parts.push(Part {
            label,
            file: Some(file.to_string()),
            start: at,
            end: at,
            characters: 0,
            truncated: false,
            absent: Some(reason),
            unreadable,
            lines: None,
            etag: None,
        });
    }
}

/// Returns the first [`PART_LIMIT`] characters, and whether there were more.
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

    fn place(path: &str) -> Place {
        Place::parse(path).unwrap()
    }

    #[test]
    fn parts_have_documented_order_and_labels() {
        let (folder, home) = home();
        for PromptFile { place, .. } in prompt_files() {
            std::fs::write(folder.path().join(place.as_str()), format!("text of {place}\n")).unwrap();
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
    fn disk_edit_is_in_next_prompt() {
        let (folder, home) = home();
        let soul = folder.path().join("workspace/SOUL.md");
        std::fs::write(&soul, "one").unwrap();
        assert!(assemble(&home, MemoryMode::Whole).text.ends_with("one"));
        std::fs::write(&soul, "two").unwrap();
        assert!(assemble(&home, MemoryMode::Whole).text.ends_with("two"));
    }

    #[test]
    fn part_is_capped_by_characters() {
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
    fn prompt_omits_empty_files_and_names_unreadable_ones() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("workspace/SOUL.md"), b"\xff\xfe").unwrap();
        std::fs::write(folder.path().join("workspace/USER.md"), "  \n").unwrap();
        std::fs::create_dir(folder.path().join("workspace/AGENTS.md")).unwrap();
        std::os::unix::fs::symlink("nowhere.md", folder.path().join("memory/MEMORY.md")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("SKILLS_SNAPSHOT.md")).unwrap();
        let prompt = assemble(&home, MemoryMode::Whole);
        assert_eq!(prompt.text, "");
        let reasons: Vec<_> = prompt.parts.iter().map(|p| p.absent.clone().unwrap()).collect();
        assert!(reasons[1].contains("not UTF-8"), "{reasons:?}");
        assert_eq!((reasons[2].as_str(), reasons[3].as_str()), ("File not found", "File is empty"));
        assert!(reasons[4].contains("a folder"), "{reasons:?}");
        assert!(reasons[5].contains("Broken link") && reasons[0].contains("a link"), "{reasons:?}");
        let unreadable: Vec<_> = prompt.parts.iter().map(|part| part.unreadable).collect();
        assert_eq!(unreadable, [true, true, false, false, true, true]);
        assert_eq!(prompt.unreadable().and_then(|part| part.file.as_deref()), Some("SKILLS_SNAPSHOT.md"));
        let retrieved = assemble(&home, MemoryMode::Retrieved);
        assert!(
            retrieved.parts.iter().all(|part| part.file.as_deref() != Some("memory/MEMORY.md") || !part.unreadable)
        );
    }

    #[test]
    fn estimated_cost_equals_cost_in_prompt() {
        let (folder, home) = home();
        for text in ["\u{feff} two\nlines \n".to_owned(), "字".repeat(PART_LIMIT + 1)] {
            std::fs::write(folder.path().join("workspace/SOUL.md"), &text).unwrap();
            let prompt = assemble(&home, MemoryMode::Whole);
            assert_eq!(part_of(&place("workspace/SOUL.md"), &text), Some((prompt.text, text.len() > 100)));
        }
        assert_eq!((part_of(&place("workspace/SOUL.md"), " "), part_of(&place("workspace/x.md"), "x")), (None, None));
        let shares = ["workspace/SOUL.md", "memory/MEMORY.md", "memory/x.md", "skills/a/SKILL.md", "workspace/x.md"];
        let of = |memory| shares.map(|path| share(&place(path), memory));
        assert_eq!(share(&place("project/scratch/README.md"), MemoryMode::Retrieved), Share::Read);
        assert_eq!(of(MemoryMode::Whole), [Share::Each, Share::Each, Share::Found, Share::Named, Share::Read]);
        assert_eq!(of(MemoryMode::Retrieved), [Share::Each, Share::Found, Share::Found, Share::Named, Share::Read]);
    }

    #[test]
    fn part_states_included_lines() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("workspace/SOUL.md"), "\u{feff}\n\n  one\ntwo\n\n").unwrap();
        std::fs::write(folder.path().join("workspace/USER.md"), "x\n".repeat(PART_LIMIT)).unwrap();
        let prompt = assemble(&home, MemoryMode::Retrieved);
        let lines = |label| prompt.parts.iter().find(|p| p.label == label).unwrap().lines;
        assert_eq!((lines("Soul"), lines("User Profile")), (Some((3, 4)), Some((1, 10_001))));
        assert_eq!(lines("Long-term Memory"), None);
    }

    #[test]
    fn rag_mode_replaces_memory_by_guide() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("memory/MEMORY.md"), "a secret of the heart").unwrap();
        let prompt = assemble(&home, MemoryMode::Retrieved);
        assert!(!prompt.text.contains("secret of the heart"));
        assert!(prompt.text.contains("<!-- Long-term Memory -->\nLong-term memory is searched"));
        assert!(prompt.text.contains("[记忆检索结果]"));
    }
}
