//! `search_files`: lines of a project that match a pattern, found with the engine of ripgrep; or the passages that answer a
//! question ([`search_meaning`](super::search_meaning)).

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use globset::GlobMatcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::answer::Failure;
use super::list::matcher;
use super::search_meaning::MeaningSearch;
use super::{ProjectFiles, spec};
use crate::domain::{Effect, Place, Shown, Taint, ToolAnswer, ToolSpec};
use crate::library::projects::ProjectLibraries;
use crate::store::{WalkOptions, WalkedEntry};
use crate::tools::{
    EndRun, OutsideText, Prepared, PreparedCall, RunOptions, Tool, ToolContext, line, read, whole_number,
};

/// Maximum number of matching lines of one file and of a search, and of lines before and after each.
const IN_FILE: usize = 50;
const MATCHES: usize = 200;
const MAX_CONTEXT: usize = 10;
/// Maximum characters of a line that is shown.
const LONGEST_LINE: usize = 300;
/// Maximum time of a search.
const TIME: Duration = Duration::from_secs(20);
/// Maximum bytes of a compiled pattern.
const PATTERN_SIZE: usize = 4 << 20;

pub struct SearchFiles {
    files: ProjectFiles,
    libraries: ProjectLibraries,
    spec: ToolSpec,
}

impl SearchFiles {
    pub fn new(files: ProjectFiles, libraries: ProjectLibraries) -> Self {
        let properties = json!({
            "pattern": {"type": "string", "minLength": 1}, "literal": {"type": "boolean"}, "path": {"type": "string"},
            "glob": {"type": "string"}, "context": {"type": "integer", "minimum": 0}, "meaning": {"type": "boolean"},
        });
        let description = "Find lines by a regular expression (or literal text). Lower case matches both. .gitignore \
                           counts. meaning: pattern is a question; gives the best passages.";
        Self { files, libraries, spec: spec("search_files", description, (properties, &["pattern"]), Effect::Read) }
    }
}

#[derive(Clone, Deserialize)]
pub(super) struct Arguments {
    pub pattern: String,
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    pub path: String,
    #[serde(default)]
    pub glob: Option<String>,
    #[serde(default, deserialize_with = "whole_number")]
    context: Option<usize>,
    #[serde(default)]
    meaning: bool,
}

struct FileSearch {
    files: ProjectFiles,
    arguments: Arguments,
    pattern: RegexMatcher,
    glob: Option<GlobMatcher>,
}

impl FileSearch {
    fn new(files: ProjectFiles, arguments: Arguments) -> Result<Self, Box<ToolAnswer>> {
        let wrong = |error: grep_regex::Error| {
            Box::new(ToolAnswer::failed(format!(
                "the pattern cannot be used: {error}. Write it as a regular expression, or say literal: true."
            )))
        };
        let mut builder = RegexMatcherBuilder::new();
        let builder = builder.case_smart(true).line_terminator(Some(b'\n')).size_limit(PATTERN_SIZE);
        let pattern = builder.fixed_strings(arguments.literal).build(&arguments.pattern).map_err(wrong)?;
        let glob = arguments.glob.as_deref().map(matcher).transpose()?;
        Ok(Self { files, arguments, pattern, glob })
    }

    /// Returns the files that are searched.
    ///
    /// # Errors
    /// Returns an error for a folder of the home: which of its files nobody has trusted is known file by file.
    fn candidates(&self) -> Result<Vec<Place>, Failure> {
        let path = &self.arguments.path;
        let folder = self.files.folder(path)?;
        if !self.files.is_in_project(&folder) {
            return Err(Failure::only_project());
        }
        if !self.files.access.home.is_folder(&folder) && self.files.access.home.has_entry(&folder) {
            return Ok(vec![self.files.file(path)?]);
        }
        let walk =
            self.files.access.home.walk(&folder, WalkOptions { depth: usize::MAX, sizes: false, deadline: None })?;
        let below = |entry: &WalkedEntry| entry.place.path()[folder.path().len()..].trim_start_matches('/').to_owned();
        let wanted = |entry: &WalkedEntry| {
            !entry.is_folder && !entry.is_link && self.glob.as_ref().is_none_or(|glob| glob.is_match(below(entry)))
        };
        Ok(walk.entries.into_iter().filter(|entry| wanted(entry)).map(|entry| entry.place).collect())
    }

    fn found(&self, cancel: &CancellationToken) -> Result<Found, Failure> {
        let candidates = self.candidates()?;
        let context = self.arguments.context.unwrap_or_default().min(MAX_CONTEXT);
        let found = Mutex::new(Vec::new());
        let (started, is_cut) = (Instant::now(), AtomicBool::new(false));
        self.files.access.home.read_each(&candidates, &|at, bytes| {
            let mut lines = FileLines::default();
            let searched = searcher(context).search_slice(&self.pattern, bytes, &mut lines);
            if searched.is_ok() && lines.matches > 0 {
                lines.source = self.files.untrusted(&candidates[at], bytes);
                found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, lines));
            }
            let goes_on = started.elapsed() < TIME && !cancel.is_cancelled();
            if !goes_on {
                is_cut.store(true, Ordering::Relaxed);
            }
            goes_on
        });
        let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.sort_by_key(|(at, _)| *at);
        let files = found.into_iter().map(|(at, lines)| (candidates[at].clone(), lines)).collect();
        Ok(Found { files, searched: candidates.len(), is_cut: is_cut.into_inner() })
    }

    fn answer(&self, cancel: &CancellationToken) -> ToolAnswer {
        let Found { files, searched, is_cut } = match self.found(cancel) {
            Ok(found) => found,
            Err(failure) => {
                let path = &self.arguments.path;
                return ToolAnswer::failed(format!("{path}: {}.", failure.advice))
                    .with_data(json!({"code": failure.code}));
            }
        };
        let matches: usize = files.iter().map(|(_, lines)| lines.matches).sum();
        let (mut shown, mut rows, mut texts) = (0, Vec::new(), Vec::new());
        for (place, lines) in &files {
            let name = self.files.name(place);
            rows.push(json!({"path": name, "matches": lines.matches}));
            if shown >= MATCHES {
                continue;
            }
            shown += lines.matches.min(IN_FILE);
            let more = lines.matches.saturating_sub(IN_FILE);
            let more = if more > 0 { format!("\n[{more} more in this file]") } else { String::new() };
            texts.push(format!("{name}\n{}{more}", lines.text.trim_end()));
        }
        let left_out = files.len() - texts.len();
        if left_out > 0 {
            texts.push(format!("[{left_out} more files match; narrow the pattern, the path or the glob]"));
        }
        if files.is_empty() {
            texts.push(format!("[no match in {searched} files]"));
        }
        if is_cut {
            texts.push("[stopped after 20 s; narrow the path or the glob]".to_owned());
        }
        rows.truncate(MATCHES);
        let sources = files.iter().filter_map(|(_, lines)| lines.source.clone()).collect();
        let data = json!({"pattern": self.arguments.pattern, "matches": matches, "files_matched": files.len(),
            "files_searched": searched, "files": rows, "complete": !is_cut});
        let message = format!("{matches} matches in {} files", files.len());
        let answer = ToolAnswer::done(message, texts.join("\n\n")).with_data(data).with_code(&self.arguments.pattern);
        ToolAnswer { sources, ..answer }
    }
}

/// The matching lines of all files, in the order of their paths.
struct Found {
    files: Vec<(Place, FileLines)>,
    searched: usize,
    /// Whether it was stopped before it had read all files.
    is_cut: bool,
}

fn searcher(context: usize) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .build()
}

/// The lines of one file: `12:text` for a match, `11-text` for a line around it.
#[derive(Default)]
struct FileLines {
    text: String,
    matches: usize,
    /// The file, if it tells the agent how to work and nobody has trusted this version.
    source: Option<Taint>,
}

impl FileLines {
    fn push(&mut self, number: Option<u64>, sign: char, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(['\n', '\r']);
        let cut: String = text.chars().take(LONGEST_LINE).collect();
        let more = if cut.len() < text.len() { "…" } else { "" };
        self.text.push_str(&format!("{}{sign}{cut}{more}\n", number.unwrap_or_default()));
    }
}

impl Sink for FileLines {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.matches += 1;
        if self.matches <= IN_FILE {
            self.push(found.line_number(), ':', found.bytes());
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, Self::Error> {
        if self.matches <= IN_FILE {
            self.push(around.line_number(), '-', around.bytes());
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        if self.matches < IN_FILE {
            self.text.push_str("--\n");
        }
        Ok(true)
    }
}

impl Tool for SearchFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, _: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let prepared = read("search_files", arguments).and_then(|arguments: Arguments| {
            if arguments.meaning {
                let search = MeaningSearch::new(self.files.clone(), self.libraries.clone(), arguments)?;
                return Ok(Box::new(std::sync::Arc::new(search)) as Box<dyn PreparedCall>);
            }
            let search = FileSearch::new(self.files.clone(), arguments)?;
            Ok(Box::new(std::sync::Arc::new(search)) as Box<dyn PreparedCall>)
        });
        Box::pin(std::future::ready(prepared))
    }
}

impl PreparedCall for std::sync::Arc<FileSearch> {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn shown(&self) -> Shown {
        line(&self.arguments.pattern)
    }

    fn outside_text(&self) -> OutsideText {
        let folder = self.files.folder(&self.arguments.path).ok();
        OutsideText::from_source(folder.and_then(|folder| self.files.taint(&folder)))
    }

    fn run<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        let search = self.clone();
        Box::pin(async move {
            let found = tokio::task::spawn_blocking(move || search.answer(&options.cancel)).await;
            found.map_err(|_| EndRun::Broken("a search was cut off".to_owned()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::project::tests::project;

    fn answer(files: &ProjectFiles, arguments: Value) -> ToolAnswer {
        match FileSearch::new(files.clone(), serde_json::from_value(arguments).unwrap()) {
            Ok(search) => search.answer(&CancellationToken::new()),
            Err(answer) => *answer,
        }
    }

    #[test]
    fn lines_are_found_with_numbers_and_context() {
        let (folder, files) = project();
        let scratch = folder.path().join("scratch");
        std::fs::create_dir(scratch.join("src")).unwrap();
        std::fs::write(scratch.join("src/a.rs"), "fn one() {}\n// 茶\nfn two() {}\n").unwrap();
        std::fs::write(scratch.join("b.txt"), "Fn three\r\n").unwrap();
        std::fs::write(scratch.join("bin"), [b'f', b'n', b' ', 0, 1]).unwrap();
        let found = answer(&files, json!({"pattern": r"^fn \w+"}));
        assert_eq!(found.text, "/b.txt\n1:Fn three\n\n/src/a.rs\n1:fn one() {}\n3:fn two() {}");
        assert_eq!((found.data["matches"].clone(), found.data["files_matched"].clone()), (json!(3), json!(2)));
        let case = answer(&files, json!({"pattern": "Fn"}));
        assert_eq!(case.text, "/b.txt\n1:Fn three");
        let context = answer(&files, json!({"pattern": "茶", "context": 1, "glob": "*.rs"}));
        assert_eq!(context.text, "/src/a.rs\n1-fn one() {}\n2:// 茶\n3-fn two() {}");
        let literal = answer(&files, json!({"pattern": "one()", "literal": true, "path": "src/a.rs"}));
        assert_eq!(literal.text, "/src/a.rs\n1:fn one() {}");
        assert_eq!(answer(&files, json!({"pattern": "nowhere"})).text, "[no match in 3 files]");
    }

    #[test]
    fn impossible_search_says_what_to_do() {
        let (_folder, files) = project();
        for (arguments, sign) in [
            (json!({"pattern": "("}), "say literal: true"),
            (json!({"pattern": "a{9999}{9999}"}), "cannot be used"),
            (json!({"pattern": "a", "glob": "["}), "cannot be used"),
            (json!({"pattern": "a", "path": "none"}), "does not exist"),
            (json!({"pattern": "a", "path": "../.."}), "may not climb"),
            (json!({"pattern": "a", "path": ".git"}), "belongs to git"),
            (json!({"pattern": "a", "path": "home:skills"}), "only the project"),
        ] {
            let refused = answer(&files, arguments);
            assert!(!refused.ok && refused.text.contains(sign), "{}", refused.text);
        }
    }

    #[test]
    fn flood_of_matches_is_cut_and_counted() {
        let (folder, files) = project();
        let long = format!("key {}\n", "x".repeat(1000));
        for n in 0..9 {
            std::fs::write(folder.path().join(format!("scratch/{n}.txt")), long.repeat(1000)).unwrap();
        }
        let found = answer(&files, json!({"pattern": "key"}));
        assert_eq!(found.data["matches"], 9000);
        assert!(found.text.contains("[950 more in this file]") && found.text.contains("[5 more files match"));
        assert!(found.text.len() < 80_000, "{}", found.text.len());
    }
}
