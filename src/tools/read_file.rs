//! `read_file`: reads a text file of the home, page by page.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{EndRun, OutsideText, Prepared, PreparedCall, RunOptions, Tool, ToolContext, line, read, whole_number};
use crate::domain::{Effect, Place, Root, Shown, Taint, ToolAnswer, ToolSpec};
use crate::store::{Home, StoreError};

/// Maximum characters that one call returns.
const PAGE: usize = 10_000;

pub struct ReadFile {
    home: Home,
    spec: ToolSpec,
}

impl ReadFile {
    pub fn new(home: Home) -> Self {
        let spec = ToolSpec {
            name: "read_file".to_owned(),
            description:
                "Read a text file of workspace/, memory/, skills/ or knowledge/. offset and limit count lines."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "offset": {"type": "integer", "minimum": 0},
                    "limit": {"type": "integer", "minimum": 1}
                },
                "required": ["path"],
            }),
            effect: Effect::Read,
        };
        Self { home, spec }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, _: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let prepared = self.reading(arguments).map(|reading| Box::new(reading) as Box<dyn PreparedCall>);
        Box::pin(std::future::ready(prepared))
    }
}

impl ReadFile {
    fn reading(&self, arguments: Value) -> Result<Reading, Box<ToolAnswer>> {
        let Arguments { path, offset, limit } = read("read_file", arguments)?;
        let place = place(&path)?;
        let lines = Lines { offset: offset.unwrap_or(0), limit: limit.unwrap_or(usize::MAX) };
        Ok(Reading { home: self.home.clone(), path, place, lines })
    }
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    #[serde(default, deserialize_with = "whole_number")]
    offset: Option<usize>,
    #[serde(default, deserialize_with = "whole_number")]
    limit: Option<usize>,
}

/// The lines of a file that a call requests.
#[derive(Clone, Copy)]
struct Lines {
    offset: usize,
    limit: usize,
}

struct Reading {
    home: Home,
    /// The path as the model wrote it.
    path: String,
    place: Place,
    lines: Lines,
}

/// Returns the place of a path, or the answer for the model if no file can be there.
fn place(path: &str) -> Result<Place, Box<ToolAnswer>> {
    let failed = |why: &dyn std::fmt::Display| Box::new(ToolAnswer::failed(format!("{path:?} cannot be read: {why}.")));
    let place = Place::parse(path).map_err(|bad| failed(&bad))?;
    match place.root() {
        // The tools of a project read its files, in conversations that are bound to it.
        Root::Project(_) => Err(failed(&"this conversation does not work in that project")),
        _ => Ok(place),
    }
}

impl PreparedCall for Reading {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn shown(&self) -> Shown {
        line(&self.path)
    }

    fn outside_text(&self) -> OutsideText {
        let is_outside = self.place.root().is_outside_text();
        OutsideText::from_source(is_outside.then(|| Taint::Document(self.place.to_string())))
    }

    fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        let (home, place, lines) = (self.home.clone(), self.place.clone(), self.lines);
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || answer(&home, &place, lines)).await;
            read.map_err(|_| EndRun::Broken("reading a file was cut off".to_owned()))
        })
    }
}

fn answer(home: &Home, place: &Place, lines: Lines) -> ToolAnswer {
    let text = match home.read_text(place) {
        Ok(text) if home.trusts(place, text.content.as_bytes()) => text.content,
        Ok(text) => return shown(place, &text.content, lines).with_source(Taint::Skill(place.to_string())),
        Err(StoreError::NotFound { .. }) => return ToolAnswer::failed(missing(home, place)),
        Err(other) => return ToolAnswer::failed(format!("{other}.")),
    };
    shown(place, &text, lines)
}

fn shown(place: &Place, text: &str, lines: Lines) -> ToolAnswer {
    let total = text.lines().count();
    let offset = lines.offset;
    if offset >= total && total > 0 {
        return ToolAnswer::failed(format!("{place} has {total} lines; offset {offset} is past its end."));
    }
    let (page, last) = page(text, lines);
    let mut shown = page;
    if last < total {
        shown.push_str(&format!("\n[lines {}-{last} of {total}; read on with offset {last}]", offset + 1));
    }
    ToolAnswer::done(format!("read {place}"), shown)
        .with_data(
            json!({"path": place.as_str(), "size": text.len(), "lines": total, "first": offset + 1, "last": last}),
        )
        .with_code(place.as_str())
}

/// Returns the lines from `offset` on that fit the page and the limit, and the number of the last one. Truncates a single
/// line longer than a page, and says so.
fn page(text: &str, Lines { offset, limit }: Lines) -> (String, usize) {
    let mut shown = String::new();
    let mut characters = 0;
    let mut last = offset;
    for line in text.lines().skip(offset).take(limit) {
        let length = line.chars().count() + 1;
        if characters + length > PAGE {
            if shown.is_empty() {
                shown.extend(line.chars().take(PAGE));
                shown.push_str(" […this line is cut]");
                last += 1;
            }
            break;
        }
        if characters > 0 {
            shown.push('\n');
        }
        shown.push_str(line);
        characters += length;
        last += 1;
    }
    (shown, last)
}

/// Lists existing files: a wrong path is usually nearly right.
fn missing(home: &Home, path: &Place) -> String {
    let files = home.list(path.root()).unwrap_or_default();
    let names: Vec<String> = files.iter().take(20).map(|file| file.path.to_string()).collect();
    if names.is_empty() {
        return format!("There is no {path}.");
    }
    format!("There is no {path}. There are: {}{}", names.join(", "), if files.len() > 20 { ", …" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::FutureExt;

    fn home() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        (folder, home)
    }

    fn answer_to(home: &Home, path: &str, offset: usize, limit: usize) -> ToolAnswer {
        place(path).map_or_else(|answer| *answer, |place| answer(home, &place, Lines { offset, limit }))
    }

    #[test]
    fn file_of_a_project_is_not_read_outside_of_it() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("scratch/notes.md"), "canary").unwrap();
        let refused = "\"project/scratch/notes.md\" cannot be read: this conversation does not work in that project.";
        assert_eq!(answer_to(&home, "project/scratch/notes.md", 0, 1).text, refused);
        assert!(ReadFile::new(home).reading(json!({"path": "./project/scratch//notes.md"})).is_err());
    }

    #[test]
    fn long_file_is_read_in_pages_without_gap() {
        let (folder, home) = home();
        let lines: Vec<String> = (0..3000).map(|n| format!("第 {n} line")).collect();
        std::fs::write(folder.path().join("memory/long.md"), lines.join("\n")).unwrap();
        let (mut offset, mut read) = (0, Vec::new());
        while offset < lines.len() {
            let answer = answer_to(&home, "memory/long.md", offset, usize::MAX);
            assert!(answer.text.chars().count() <= PAGE + 100);
            let last = answer.data["last"].as_u64().unwrap() as usize;
            read.extend(answer.text.lines().take(last - offset).map(str::to_owned));
            offset = last;
        }
        assert_eq!(read, lines);
    }

    #[test]
    fn file_outside_roots_is_not_read() {
        let (folder, home) = home();
        std::fs::write(folder.path().join(".env"), "OPENAI_API_KEY=canary").unwrap();
        std::os::unix::fs::symlink(folder.path().join(".env"), folder.path().join("memory/x.md")).unwrap();
        for path in [".env", "../etc/passwd", "/etc/passwd", "memory/../.env", "sessions/a.json", "config.yml"] {
            let answer = answer_to(&home, path, 0, 10);
            assert!(!answer.ok && !answer.text.contains("canary"), "{path}: {}", answer.text);
        }
        // The link is inside the home, but its target may not be read under its own name.
        assert!(!answer_to(&home, "memory/x.md", 0, 10).text.contains("canary"));
    }

    #[test]
    fn missing_file_answer_lists_existing_files() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("memory/MEMORY.md"), "x").unwrap();
        assert_eq!(
            answer_to(&home, "memory/Memory.md", 0, 1).text,
            "There is no memory/Memory.md. There are: memory/MEMORY.md"
        );
    }

    #[test]
    fn document_is_recognised_by_parsed_path() {
        let (_folder, home) = home();
        let tool = ReadFile::new(home);
        let session = crate::domain::SessionId::parse("s").unwrap();
        let brings = |path: &str| {
            let conversation = crate::domain::Session::new("", 0.0);
            let context = ToolContext::new(&session, "c", &conversation);
            let prepared = tool.prepare(json!({"path": path}), context).now_or_never().unwrap();
            prepared.ok().and_then(|call| call.outside_text().brings.pop())
        };
        for path in [
            "knowledge/x.md",
            "./knowledge/x.md",
            "././knowledge/x.md",
            "././/knowledge/x.md",
            "././/knowledge//./x.md",
        ] {
            assert!(Place::parse(path).is_ok_and(|path| path.as_str() == "knowledge/x.md"), "{path} is a path");
            assert_eq!(brings(path), Some(Taint::Document("knowledge/x.md".to_owned())), "{path}");
        }
        for path in ["memory/knowledge/x.md", "workspace/x.md", "knowledge2/x.md", "../knowledge/x.md"] {
            assert_eq!(brings(path), None, "{path}");
        }
    }

    #[test]
    fn endless_line_is_truncated_with_notice() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("memory/one.md"), "x".repeat(50_000)).unwrap();
        let answer = answer_to(&home, "memory/one.md", 0, 10);
        assert!(answer.ok && answer.text.contains("this line is cut") && answer.text.len() < PAGE + 100);
    }
}
