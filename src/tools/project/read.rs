//! `read_file` of a project: several files in one call, texts with the numbers of their lines, and pictures.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::{self, FailedDetails, Failure, Verb};
use super::read_picture::{PictureRoom, read_picture};
use super::{ProjectFiles, spec};
use crate::domain::picture::{Media, PICTURE};
use crate::domain::{Effect, Language, NewPicture, Picture, SessionId, Shown, Taint, ToolAnswer, ToolSpec};
use crate::sandbox::grouped;
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
            "Read text with line numbers, or pictures. offset skips lines. home:PATH is a home file, such as a skill.";
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
    session: SessionId,
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
                let (session, language) = (context.session.clone(), context.conversation.language());
                Ok(Box::new(Reading { files: self.files.clone(), items, session, language }) as Box<dyn PreparedCall>)
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
        Box::pin(async move {
            let (files, items) = (self.files.clone(), self.items.clone());
            let read = tokio::task::spawn_blocking(move || read_all(&files, &items)).await;
            let mut read = read.map_err(|_| EndRun::Broken("reading files was cut off".to_owned()))?;
            read.keep(&self.files, &self.session).await;
            Ok(answer(&self.items, read.files, self.language))
        })
    }
}

/// What a call has read, in the order of its items.
#[derive(Default)]
struct AllRead {
    files: Vec<Result<ReadFile, Failure>>,
    /// The bytes of the pictures among the files.
    pictures: Vec<NewPicture>,
}

impl AllRead {
    /// Keeps the pictures with the session. If that fails, none of them was read.
    async fn keep(&mut self, files: &ProjectFiles, session: &SessionId) {
        if self.pictures.is_empty() {
            return;
        }
        let kept = (files.access.keep_pictures)(session.clone(), std::mem::take(&mut self.pictures)).await;
        if let Err(failure) = kept.map_err(Failure::from) {
            let is_picture = |file: &&mut Result<ReadFile, Failure>| {
                matches!(file, Ok(ReadFile { content: FileContent::Picture(_), .. }))
            };
            self.files.iter_mut().filter(is_picture).for_each(|file| *file = Err(failure.clone()));
        }
    }
}

/// A file as it is answered.
struct ReadFile {
    name: String,
    size: usize,
    content: FileContent,
    source: Option<Taint>,
}

enum FileContent {
    /// The lines that were asked for, as far as there is room.
    Text {
        content: String,
        numbered: String,
        /// Number of lines of the whole file.
        lines: usize,
    },
    Picture(Picture),
}

impl ReadFile {
    /// Returns what the model reads of the file.
    fn text(&self) -> String {
        match &self.content {
            FileContent::Text { numbered, .. } => numbered.clone(),
            FileContent::Picture(Picture { media_type, bytes, width, height, .. }) => {
                format!("picture {width} × {height}, {}, {} bytes", media_type.name(), grouped(*bytes))
            }
        }
    }

    /// Returns the fields of the file in the data of the answer.
    fn row(&self, language: Language) -> Value {
        let (content, lines) = match &self.content {
            FileContent::Text { content, lines, .. } => (json!(content), *lines),
            FileContent::Picture(_) => (Value::Null, 0),
        };
        let mut row = Map::new();
        row.insert("result".to_owned(), json!(READ.result(None, language)));
        row.insert("content".to_owned(), content);
        row.insert("file_size".to_owned(), json!(self.size));
        row.insert("lines_count".to_owned(), json!(lines));
        if let FileContent::Picture(picture) = &self.content {
            row.insert(PICTURE.to_owned(), json!(picture));
        }
        Value::Object(row)
    }
}

fn answer(items: &[Item], files: Vec<Result<ReadFile, Failure>>, language: Language) -> ToolAnswer {
    let (mut rows, mut texts, mut details, mut sources) =
        (Vec::new(), Vec::new(), FailedDetails::default(), Vec::new());
    let (mut codes, mut total_size) = (Vec::new(), 0);
    for (item, file) in items.iter().zip(files) {
        match file {
            Ok(file) => {
                total_size += file.size;
                rows.push((file.name.clone(), file.row(language)));
                texts.push(if items.len() == 1 { file.text() } else { format!("{}\n{}", file.name, file.text()) });
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

/// What the answer of a call can still hold.
struct Room {
    characters: usize,
    pictures: PictureRoom,
}

fn read_all(files: &ProjectFiles, items: &[Item]) -> AllRead {
    let mut room = Room { characters: PAGE, pictures: PictureRoom::default() };
    let mut all = AllRead::default();
    for item in items {
        let read = read_item(files, item, &mut room).map(|(file, picture)| {
            all.pictures.extend(picture);
            file
        });
        all.files.push(read);
    }
    all
}

/// Reads a file. Returns the bytes too if it is a picture.
fn read_item(files: &ProjectFiles, item: &Item, room: &mut Room) -> Result<(ReadFile, Option<NewPicture>), Failure> {
    let place = files.file(&item.path)?;
    let home = &files.access.home;
    let bytes = match home.read_bytes(&place) {
        Ok(bytes) => bytes,
        Err(_) if home.is_folder(&place) => return Err(Failure::is_folder()),
        Err(error) => return Err(error.into()),
    };
    // A file of a skill that nobody has trusted.
    let source = files.untrusted(&place, &bytes);
    let (name, size) = (files.name(&place), bytes.len());
    // A text may begin like a GIF, but it has no zero bytes.
    let is_text = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'));
    if Media::of(&bytes).is_some() && !is_text(&bytes) {
        let (picture, new) = read_picture(bytes, &mut room.pictures)?;
        return Ok((ReadFile { name, size, content: FileContent::Picture(picture), source }, Some(new)));
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::not_text())?;
    let content = read_lines(&text, item, room)?;
    Ok((ReadFile { name, size, content, source }, None))
}

/// Returns the lines of a text that were asked for, as far as there is room.
fn read_lines(text: &str, item: &Item, room: &mut Room) -> Result<FileContent, Failure> {
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
        if used > room.characters && last > offset {
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
    room.characters = room.characters.saturating_sub(numbered.chars().count());
    Ok(FileContent::Text { content, numbered, lines })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::picture::{MOST_PICTURE_BYTES, complete_png};
    use crate::store::{StoreError, picture_hash};
    use crate::tools::project::tests::project;

    fn read(files: &ProjectFiles, items: Value, language: Language) -> ToolAnswer {
        let items: Vec<Item> = serde_json::from_value(items).unwrap();
        let read = read_all(files, &items);
        answer(&items, read.files, language)
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

    fn read_pictures(named: &[(&str, &[u8])]) -> ToolAnswer {
        let (folder, files) = project();
        for (name, bytes) in named {
            std::fs::write(folder.path().join("scratch").join(name), bytes).unwrap();
        }
        let items: Vec<Value> = named.iter().map(|(name, _)| json!({"path": name})).collect();
        read(&files, json!(items), Language::English)
    }

    #[test]
    fn picture_is_recognised_by_content_and_described() {
        let png = complete_png(640, 480);
        let answer = read_pictures(&[("a.txt", &png), ("b.png", b"GIF89a is a format\n"), ("c.svg", b"<svg/>")]);
        let facts = format!("/a.txt\npicture 640 × 480, image/png, {} bytes", png.len());
        assert_eq!(answer.text, format!("{facts}\n\n/b.png\n1\tGIF89a is a format\n\n/c.svg\n1\t<svg/>"));
        let picture = json!({"media_type": "image/png", "hash": picture_hash(&png), "bytes": png.len(), "width": 640,
            "height": 480});
        assert_eq!(
            answer.data["/a.txt"],
            json!({"result": "read success", "content": null, "file_size": png.len(), "lines_count": 0, "picture": picture})
        );
        assert_eq!(answer.data["/b.png"].get("picture"), None);
        assert_eq!(answer.data["summary"]["successful_reads"], 3);
    }

    #[test]
    fn picture_that_is_damaged_or_too_large_is_refused() {
        let png = complete_png(3, 2);
        let large = [png.as_slice(), &vec![0xff; MOST_PICTURE_BYTES]].concat();
        let bomb = complete_png(60_000, 60_000);
        let answer = read_pictures(&[
            ("cut.png", &png[..png.len() - 1]),
            ("head.jpg", b"\xff\xd8\xff\xda"),
            ("empty.png", &complete_png(0, 2)),
            ("large.png", &large),
            ("bomb.png", &bomb),
        ]);
        let damaged = "it begins like a picture, but it is damaged or incomplete";
        let advices: Vec<&str> = answer.text.split("\n\n").map(|line| line.split_once(": ").unwrap().1).collect();
        assert_eq!(advices[..3], [damaged; 3]);
        assert_eq!(
            advices[3..],
            [
                "it is a picture of 1,572,922 bytes, and up to 1,572,864 can be read; make a smaller copy of it",
                "it is a picture of 60000 × 60000 pixels, and up to 8192 a side can be read; make a smaller copy of it"
            ]
        );
        let codes = ["/cut.png", "/large.png", "/bomb.png"].map(|path| answer.data[path]["code"].clone());
        assert_eq!(codes, ["damaged_picture", "too_large", "too_large"]);
        let pictures = || answer.data.as_object().unwrap().values().filter_map(|row| row.get("picture"));
        assert_eq!(pictures().count(), 0);
    }

    #[test]
    fn call_reads_as_many_pictures_as_a_message_may_have() {
        let (folder, files) = project();
        let padded = |size: usize| [complete_png(3, 2), vec![0; size]].concat();
        for at in 0..12 {
            std::fs::write(folder.path().join(format!("scratch/{at}.png")), padded(at)).unwrap();
            std::fs::write(folder.path().join(format!("scratch/large{at}.png")), padded((5 << 18) + at)).unwrap();
        }
        let read = |prefix: &str| {
            let items: Vec<Value> = (0..12).map(|at| json!({"path": format!("{prefix}{at}.png")})).collect();
            let items: Vec<Item> = serde_json::from_value(json!(items)).unwrap();
            let AllRead { files, pictures } = read_all(&files, &items);
            let refused = files.iter().filter_map(|file| file.as_ref().err().map(|failure| failure.code));
            (pictures.len(), refused.collect::<Vec<_>>())
        };
        assert_eq!(read(""), (10, vec!["too_large"; 2]));
        assert_eq!(read("large"), (4, vec!["too_large"; 8]), "6 MiB together");
    }

    #[tokio::test]
    async fn picture_that_cannot_be_kept_is_not_read() {
        let (folder, mut files) = project();
        std::fs::write(folder.path().join("scratch/a.png"), complete_png(3, 2)).unwrap();
        std::fs::write(folder.path().join("scratch/a.txt"), "one").unwrap();
        files.access.keep_pictures = std::sync::Arc::new(|_, _| Box::pin(async { Err(StoreError::DiskFull) }));
        let items: Vec<Item> = serde_json::from_value(json!([{"path": "a.png"}, {"path": "a.txt"}])).unwrap();
        let session = SessionId::parse("s").unwrap();
        let reading = Reading { files, items, session, language: Language::English };
        let answer = reading.run(RunOptions::default()).await.unwrap();
        assert_eq!(answer.data["/a.png"]["code"], "disk_full");
        assert_eq!(answer.data["/a.txt"]["content"], "one\n");
        assert!(!answer.ok);
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
            let session = SessionId::parse("s").unwrap();
            Reading { files: files.clone(), items, session, language: Language::English }.outside_text().brings
        };
        assert_eq!(reading("home:knowledge/a.md"), [Taint::Document("knowledge/a.md".to_owned())]);
        assert_eq!(reading("a.md"), [Taint::Output]);
        assert_eq!(reading("home:memory/MEMORY.md"), []);
    }
}
