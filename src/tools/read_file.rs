//! `read_file`: reads a text file of the home, page by page.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{EndRun, Prepared, PreparedCall, RunOptions, Tool, ToolContext, line, prepared, whole_number};
use crate::domain::{Effect, Place, Shown, Taint, ToolAnswer, ToolSpec};
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
                "additionalProperties": false
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
        let home = self.home.clone();
        prepared("read_file", arguments, |pages| Reading { home, pages })
    }
}

#[derive(Clone, Deserialize)]
struct Pages {
    path: String,
    #[serde(default, deserialize_with = "whole_number")]
    offset: Option<usize>,
    #[serde(default, deserialize_with = "whole_number")]
    limit: Option<usize>,
}

struct Reading {
    home: Home,
    pages: Pages,
}

impl PreparedCall for Reading {
    fn shown(&self) -> Shown {
        line(&self.pages.path)
    }

    fn outside_text(&self) -> Option<Taint> {
        // Documents in knowledge/ may be text by others; files in the other folders are the agent's persona.
        let path = Place::parse(&self.pages.path).ok()?;
        path.root().is_outside_text().then(|| Taint::Document(path.to_string()))
    }

    fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        let (home, Pages { path, offset, limit }) = (self.home.clone(), self.pages.clone());
        Box::pin(async move {
            let answering = move || answer(&home, &path, offset.unwrap_or(0), limit.unwrap_or(usize::MAX));
            let read = tokio::task::spawn_blocking(answering).await;
            read.map_err(|_| EndRun::Broken("reading a file was cut off".to_owned()))
        })
    }
}

fn answer(home: &Home, path: &str, offset: usize, limit: usize) -> ToolAnswer {
    let parsed = match Place::parse(path) {
        Ok(parsed) => parsed,
        Err(bad) => return ToolAnswer::failed(format!("{path:?} cannot be read: {bad}.")),
    };
    let text = match home.read_text(&parsed) {
        Ok(text) if home.trusts(&parsed, text.content.as_bytes()) => text.content,
        Ok(text) => return shown(&parsed, &text.content, (offset, limit)).with_untrusted_file(parsed.as_str()),
        Err(StoreError::NotFound { .. }) => return ToolAnswer::failed(missing(home, &parsed)),
        Err(other) => return ToolAnswer::failed(format!("{other}.")),
    };
    shown(&parsed, &text, (offset, limit))
}

fn shown(parsed: &Place, text: &str, (offset, limit): (usize, usize)) -> ToolAnswer {
    let total = text.lines().count();
    if offset >= total && total > 0 {
        return ToolAnswer::failed(format!("{parsed} has {total} lines; offset {offset} is past its end."));
    }
    let (page, last) = page(text, offset, limit);
    let mut shown = page;
    if last < total {
        shown.push_str(&format!("\n[lines {}-{last} of {total}; read on with offset {last}]", offset + 1));
    }
    ToolAnswer::done(format!("read {parsed}"), shown)
        .with_data(
            json!({"path": parsed.as_str(), "size": text.len(), "lines": total, "first": offset + 1, "last": last}),
        )
        .with_code(parsed.as_str())
}

/// Returns the lines from `offset` on that fit the page and the limit, and the number of the last one. Truncates a single
/// line longer than a page, and says so.
fn page(text: &str, offset: usize, limit: usize) -> (String, usize) {
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

    #[test]
    fn long_file_is_read_in_pages_without_gap() {
        let (folder, home) = home();
        let lines: Vec<String> = (0..3000).map(|n| format!("第 {n} line")).collect();
        std::fs::write(folder.path().join("memory/long.md"), lines.join("\n")).unwrap();
        let (mut offset, mut read) = (0, Vec::new());
        while offset < lines.len() {
            let answer = answer(&home, "memory/long.md", offset, usize::MAX);
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
            let answer = answer(&home, path, 0, 10);
            assert!(!answer.ok && !answer.text.contains("canary"), "{path}: {}", answer.text);
        }
        // The link is inside the home, but its target may not be read under its own name.
        assert!(!answer(&home, "memory/x.md", 0, 10).text.contains("canary"));
    }

    #[test]
    fn missing_file_answer_lists_existing_files() {
        let (folder, home) = home();
        std::fs::write(folder.path().join("memory/MEMORY.md"), "x").unwrap();
        assert_eq!(
            answer(&home, "memory/Memory.md", 0, 1).text,
            "There is no memory/Memory.md. There are: memory/MEMORY.md"
        );
    }

    #[test]
    fn document_is_recognised_by_parsed_path() {
        let (_folder, home) = home();
        let tool = ReadFile::new(home);
        let session = crate::domain::SessionId::parse("s").unwrap();
        let brings = |path: &str| {
            let context = ToolContext { session: &session, call_id: "c" };
            let prepared = tool.prepare(json!({"path": path}), context).now_or_never().unwrap();
            prepared.ok().unwrap().outside_text()
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
        let answer = answer(&home, "memory/one.md", 0, 10);
        assert!(answer.ok && answer.text.contains("this line is cut") && answer.text.len() < PAGE + 100);
    }
}
