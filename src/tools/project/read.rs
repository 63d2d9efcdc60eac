//! `read_file` of a project: several text files in one call, with the numbers of their lines.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::{self, FailedDetails, Failure, Verb};
use super::{ProjectFiles, spec};
use crate::domain::{Effect, Language, Place, Shown, Taint, ToolAnswer, ToolSpec, picture};
use crate::store::{Home, StoreError};
use crate::tools::{
    EndRun, OutsideText, Prepared, PreparedCall, RunOptions, Tool, ToolContext, line, read, whole_number,
};

/// Maximum characters that one call returns, over all of its files.
const PAGE: usize = 20_000;
/// Maximum characters of a line.
const LONGEST_LINE: usize = 2_000;
const READ: Verb = Verb { word: "read", past: "read", label: "读取结果" };

pub struct ReadFiles {
    files: ProjectFiles,
    spec: ToolSpec,
}

impl ReadFiles {
    pub fn new(files: ProjectFiles) -> Self {
        let item = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "offset": {"type": "integer", "minimum": 0},
                "limit": {"type": "integer", "minimum": 1}},
            "required": ["path"],
        });
        let description =
            "Read text files with line numbers. offset skips lines. home:PATH is a file of the home, such as a skill.";
        let properties = json!({"items": {"type": "array", "items": item}});
        Self { files, spec: spec("read_file", description, (properties, &["items"]), Effect::Read) }
    }
}

#[derive(Clone, Deserialize)]
struct Arguments {
    items: Vec<Item>,
}

#[derive(Clone, Deserialize)]
struct Item {
    path: String,
    #[serde(default, deserialize_with = "whole_number")]
    offset: Option<usize>,
    #[serde(default, deserialize_with = "whole_number")]
    limit: Option<usize>,
}

struct Reading {
    files: ProjectFiles,
    items: Vec<Item>,
    language: Language,
}

impl Tool for ReadFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, context: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let prepared = read("read_file", arguments).and_then(|Arguments { items }| match items.is_empty() {
            true => Err(Box::new(ToolAnswer::failed("items is empty; nothing was read."))),
            false => {
                let language = context.conversation.language();
                Ok(Box::new(Reading { files: self.files.clone(), items, language }) as Box<dyn PreparedCall>)
            }
        });
        Box::pin(std::future::ready(prepared))
    }
}

impl PreparedCall for Reading {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn shown(&self) -> Shown {
        let paths: Vec<&str> = self.items.iter().map(|item| item.path.as_str()).collect();
        line(&paths.join("\n"))
    }

    fn outside_text(&self) -> OutsideText {
        let places = self.items.iter().filter_map(|item| self.files.file(&item.path).ok());
        let mut brings: Vec<Taint> = Vec::new();
        for taint in places.filter_map(|place| self.files.taint(&place)) {
            if !brings.contains(&taint) {
                brings.push(taint);
            }
        }
        OutsideText { brings, ..OutsideText::default() }
    }

    fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        let (files, items, language) = (self.files.clone(), self.items.clone(), self.language);
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || answer(&files, &items, language)).await;
            read.map_err(|_| EndRun::Broken("reading files was cut off".to_owned()))
        })
    }
}

/// A file as it is answered.
struct ReadText {
    name: String,
    /// The lines that were asked for, as far as there is room.
    content: String,
    numbered: String,
    size: usize,
    lines: usize,
    source: Option<Taint>,
}

fn answer(files: &ProjectFiles, items: &[Item], language: Language) -> ToolAnswer {
    let (mut rows, mut texts, mut details, mut sources) =
        (Vec::new(), Vec::new(), FailedDetails::default(), Vec::new());
    let (mut codes, mut total_size) = (Vec::new(), 0);
    let mut room = PAGE;
    for item in items {
        match read_item(files, item, room) {
            Ok(file) => {
                room = room.saturating_sub(file.numbered.chars().count());
                total_size += file.size;
                rows.push((
                    file.name.clone(),
                    json!({"result": READ.result(None, language), "content": file.content, "file_size": file.size,
                        "lines_count": file.lines}),
                ));
                texts.push(if items.len() == 1 { file.numbered } else { format!("{}\n{}", file.name, file.numbered) });
                codes.push(file.name);
                sources.extend(file.source);
            }
            Err(failure) => {
                let name = format!("/{}", item.path.trim_start_matches('/'));
                rows.push((
                    name.clone(),
                    json!({"result": READ.result(Some(&failure), language), "content": null, "file_size": 0,
                        "lines_count": 0, "code": failure.code}),
                ));
                details.add(json!({"file_path": name}), &failure, language);
                texts.push(format!("{}: {}", item.path, failure.advice));
            }
        }
    }
    let failed = details.len();
    let summary = json!({"total_files": items.len(), "successful_reads": items.len() - failed, "failed_reads": failed,
        "total_content_size": total_size, "failed_details": details.into_value()});
    let done = ToolAnswer::done(answer::message(items.len(), failed, language), texts.join("\n\n"));
    ToolAnswer { ok: failed == 0, operation_code: codes, sources, ..done.with_data(answer::data(rows, summary)) }
}

fn read_item(files: &ProjectFiles, item: &Item, room: usize) -> Result<ReadText, Failure> {
    let place = files.file(&item.path)?;
    let home = &files.access.home;
    let text = match home.read_text(&place) {
        Ok(text) => text.content,
        Err(_) if home.is_folder(&place) => return Err(Failure::is_folder()),
        Err(StoreError::NotText { .. }) => return Err(not_text(home, &place)),
        Err(error) => return Err(error.into()),
    };
    let untrusted = !home.trusts(&place, text.as_bytes());
    let lines = text.lines().count();
    let offset = item.offset.unwrap_or_default();
    if offset >= lines && lines > 0 {
        return Err(Failure::bad_edit(format!("it has {lines} lines; offset {offset} is past its end")));
    }
    let (mut content, mut numbered, mut last) = (String::new(), String::new(), offset);
    let mut used = 0;
    for text in text.lines().skip(offset).take(item.limit.unwrap_or(usize::MAX)) {
        let cut: String = text.chars().take(LONGEST_LINE).collect();
        let cut = if cut.len() < text.len() { format!("{cut} […this line is cut]") } else { cut };
        let row = format!("{}\t{cut}\n", last + 1);
        used += row.chars().count();
        if used > room && last > offset {
            break;
        }
        content.push_str(&cut);
        content.push('\n');
        numbered.push_str(&row);
        last += 1;
    }
    numbered.pop();
    if last < lines {
        numbered.push_str(&format!("\n[lines {}-{last} of {lines}; read on with offset {last}]", offset + 1));
    }
    if lines == 0 {
        numbered.push_str("[the file is empty]");
    }
    // A file of a skill that nobody has trusted.
    let source = untrusted.then(|| Taint::Skill(place.to_string()));
    Ok(ReadText { name: files.name(&place), content, numbered, size: text.len(), lines, source })
}

/// Says what a file is that is not text, as far as its first bytes tell.
fn not_text(home: &Home, place: &Place) -> Failure {
    let bytes = home.read_bytes(place).unwrap_or_default();
    picture::head(&bytes).map_or_else(Failure::not_text, |header| Failure::is_picture(header, bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::project::tests::project;

    fn read(files: &ProjectFiles, items: Value, language: Language) -> ToolAnswer {
        answer(files, &serde_json::from_value::<Vec<Item>>(items).unwrap(), language)
    }

    #[test]
    fn files_are_read_one_by_one_with_the_shape_of_the_document() {
        let (folder, files) = project();
        let scratch = folder.path().join("scratch");
        std::fs::create_dir(scratch.join("sub")).unwrap();
        std::fs::write(scratch.join("a.txt"), "one\ntwo\n").unwrap();
        std::fs::write(scratch.join("b.bin"), [0, 255]).unwrap();
        let items = json!([{"path": "a.txt"}, {"path": "/sub"}, {"path": "none"}, {"path": "b.bin"}, {"path": "../x"}]);
        let answer = read(&files, items, Language::Chinese);
        assert!(!answer.ok);
        assert_eq!(
            answer.data["/a.txt"],
            json!({"result": "读取结果：read success", "content": "one\ntwo\n", "file_size": 8, "lines_count": 2})
        );
        assert_eq!(answer.data["/sub"]["result"], "读取结果：read fail【文件夹无法读取】");
        assert_eq!(answer.data["/none"]["result"], "读取结果：read fail【文件不存在】");
        let codes: Vec<_> = ["/sub", "/none", "/b.bin", "/../x"].map(|path| answer.data[path]["code"].clone()).into();
        assert_eq!(codes, ["is_folder", "not_found", "not_text", "bad_path"]);
        let summary = &answer.data["summary"];
        assert_eq!((summary["successful_reads"].clone(), summary["failed_reads"].clone()), (json!(1), json!(4)));
        assert!(answer.text.starts_with("/a.txt\n1\tone\n2\ttwo\n\n/sub: it is a folder"), "{}", answer.text);
    }

    #[test]
    fn picture_is_named_with_its_size() {
        let (folder, files) = project();
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0".to_vec();
        png.resize(12_000, 0xff);
        for (name, bytes) in [("a.png", png.as_slice()), ("cut.png", &png[..12]), ("jpg.txt", b"\xff\xd8\xff\xda")] {
            std::fs::write(folder.path().join("scratch").join(name), bytes).unwrap();
        }
        let items = json!([{"path": "a.png"}, {"path": "cut.png"}, {"path": "jpg.txt"}]);
        let answer = read(&files, items, Language::English);
        let lines: Vec<&str> = answer.text.split("\n\n").collect();
        assert!(lines[0].starts_with("a.png: it is a picture, 640 × 480 pixels, PNG, 12 kB;"), "{}", answer.text);
        assert_eq!(lines[1..], ["cut.png: it is not text", "jpg.txt: it is not text"]);
        assert_eq!(answer.data["/a.png"]["code"], "not_text");
    }

    #[test]
    fn long_file_is_read_page_by_page() {
        let (folder, files) = project();
        let text: String = (1..=5000).map(|n| format!("line {n}\n")).collect();
        std::fs::write(folder.path().join("scratch/long"), text).unwrap();
        let first = read(&files, json!([{"path": "long"}]), Language::English).text;
        let note = first.lines().last().unwrap();
        let next: usize = note.trim_end_matches(']').rsplit(' ').next().unwrap().parse().unwrap();
        assert!(first.chars().count() < PAGE + 100 && note.contains("of 5000"), "{note}");
        let on = read(&files, json!([{"path": "long", "offset": next, "limit": 1}]), Language::English).text;
        assert!(on.starts_with(&format!("{}\tline {}", next + 1, next + 1)), "{on}");
        assert!(
            read(&files, json!([{"path": "long", "offset": 5000}]), Language::English).text.contains("past its end")
        );
    }

    #[test]
    fn file_of_the_home_keeps_its_rules() {
        let (folder, files) = project();
        std::fs::write(folder.path().join("knowledge/a.md"), "tea").unwrap();
        std::fs::write(folder.path().join(".env"), "KEY=canary").unwrap();
        assert_eq!(read(&files, json!([{"path": "home:knowledge/a.md"}]), Language::English).text, "1\ttea");
        let refused = read(&files, json!([{"path": "home:.env"}]), Language::English).text;
        assert!(!refused.contains("canary") && refused.contains("no file of the home"), "{refused}");
        let reading = |path: &str| {
            let items = serde_json::from_value(json!([{"path": path}])).unwrap();
            Reading { files: files.clone(), items, language: Language::English }.outside_text().brings
        };
        assert_eq!(reading("home:knowledge/a.md"), [Taint::Document("knowledge/a.md".to_owned())]);
        assert_eq!(reading("a.md"), [Taint::Output]);
        assert_eq!(reading("home:memory/MEMORY.md"), []);
    }
}
