//! `list_files`: what is in a project, without what its `.gitignore` files leave out.

use futures_util::future::BoxFuture;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer::Failure;
use super::{ProjectFiles, spec};
use crate::domain::{Effect, Shown, ToolAnswer, ToolSpec};
use crate::store::{Walk, WalkOptions, WalkedEntry};
use crate::tools::{
    EndRun, OutsideText, Prepared, PreparedCall, RunOptions, Tool, ToolContext, line, read, whole_number,
};

/// Depth of a listing if the call does not say it, and the number of entries that it shows.
const DEPTH: usize = 2;
const SHOWN: usize = 200;

pub struct ListFiles {
    files: ProjectFiles,
    spec: ToolSpec,
}

impl ListFiles {
    pub fn new(files: ProjectFiles) -> Self {
        let properties = json!({
            "path": {"type": "string"}, "depth": {"type": "integer", "minimum": 1}, "glob": {"type": "string"},
        });
        let description = "List a folder, 2 levels deep unless depth or glob (`**/*.rs`) is given. .gitignore counts.";
        Self { files, spec: spec("list_files", description, (properties, &[]), Effect::Read) }
    }
}

#[derive(Clone, Default, Deserialize)]
struct Arguments {
    #[serde(default)]
    path: String,
    #[serde(default, deserialize_with = "whole_number")]
    depth: Option<usize>,
    #[serde(default)]
    glob: Option<String>,
}

struct Listing {
    files: ProjectFiles,
    arguments: Arguments,
    glob: Option<GlobMatcher>,
}

/// Compiles a pattern of paths, in which `*` does not match `/`. A pattern without `/` counts in every folder.
pub fn matcher(pattern: &str) -> Result<GlobMatcher, Box<ToolAnswer>> {
    let pattern = pattern.trim_start_matches('/');
    let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
    let wrong = |error: globset::Error| Box::new(ToolAnswer::failed(format!("the pattern cannot be used: {error}.")));
    glob.map(|glob| glob.compile_matcher()).map_err(wrong)
}

impl Tool for ListFiles {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, _: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let prepared = read("list_files", arguments).and_then(|arguments: Arguments| {
            let glob = arguments.glob.as_deref().map(matcher).transpose()?;
            Ok(Box::new(Listing { files: self.files.clone(), arguments, glob }) as Box<dyn PreparedCall>)
        });
        Box::pin(std::future::ready(prepared))
    }
}

impl PreparedCall for Listing {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn shown(&self) -> Shown {
        let Arguments { path, glob, .. } = &self.arguments;
        let path = if path.is_empty() { "/" } else { path };
        line(&glob.as_ref().map_or_else(|| path.to_owned(), |glob| format!("{path} {glob}")))
    }

    fn outside_text(&self) -> OutsideText {
        // Names are text too.
        let folder = self.files.folder(&self.arguments.path).ok();
        OutsideText::from_source(folder.and_then(|folder| self.files.taint(&folder)))
    }

    fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        let (files, arguments, glob) = (self.files.clone(), self.arguments.clone(), self.glob.clone());
        Box::pin(async move {
            let listed = tokio::task::spawn_blocking(move || answer(&files, &arguments, glob.as_ref())).await;
            listed.map_err(|_| EndRun::Broken("listing files was cut off".to_owned()))
        })
    }
}

fn answer(files: &ProjectFiles, arguments: &Arguments, glob: Option<&GlobMatcher>) -> ToolAnswer {
    let depth = arguments.depth.unwrap_or(if glob.is_some() { usize::MAX } else { DEPTH });
    let walk = files.folder(&arguments.path).and_then(|folder| {
        let walk = files.access.home.walk(&folder, WalkOptions { depth, sizes: true, deadline: None })?;
        Ok((folder, walk))
    });
    match walk {
        Ok((folder, walk)) => {
            let below =
                |entry: &WalkedEntry| entry.place.path()[folder.path().len()..].trim_start_matches('/').to_owned();
            let wanted = |entry: &&WalkedEntry| glob.is_none_or(|glob| !entry.is_folder && glob.is_match(below(entry)));
            let entries: Vec<&WalkedEntry> = walk.entries.iter().filter(wanted).collect();
            listed(files, (&files.name(&folder), &walk), &entries)
        }
        Err(failure) => failed(&arguments.path, &failure),
    }
}

fn failed(path: &str, failure: &Failure) -> ToolAnswer {
    ToolAnswer::failed(format!("{path}: {}.", failure.advice)).with_data(json!({"code": failure.code}))
}

fn listed(files: &ProjectFiles, (folder, walk): (&str, &Walk), entries: &[&WalkedEntry]) -> ToolAnswer {
    let row = |entry: &&WalkedEntry| {
        let name = files.name(&entry.place);
        match (entry.is_folder, entry.is_link) {
            (true, _) => format!("{name}/"),
            (false, true) => format!("{name} → (link)"),
            (false, false) => format!("{name} {}", entry.size),
        }
    };
    let mut lines: Vec<String> = entries.iter().take(SHOWN).map(row).collect();
    if entries.len() > SHOWN {
        lines.push(format!("[{} more; list a folder, or use a glob]", entries.len() - SHOWN));
    }
    if walk.unlisted > 0 {
        lines.push(format!("[{} entries have names that cannot be shown]", walk.unlisted));
    }
    if walk.is_cut {
        lines.push("[the listing stops at 500,000 names]".to_owned());
    }
    if lines.is_empty() {
        lines.push("[nothing]".to_owned());
    }
    let folders = entries.iter().filter(|entry| entry.is_folder).count();
    let data = json!({"path": folder, "files": entries.len() - folders, "folders": folders,
        "shown": entries.len().min(SHOWN), "complete": !walk.is_cut});
    ToolAnswer::done(format!("listed {folder}"), lines.join("\n")).with_data(data).with_code(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::project::tests::project;

    fn text(files: &ProjectFiles, arguments: Value) -> String {
        let arguments: Arguments = serde_json::from_value(arguments).unwrap();
        let glob = arguments.glob.as_deref().map(|glob| matcher(glob).unwrap());
        answer(files, &arguments, glob.as_ref()).text
    }

    #[test]
    fn listing_shows_sizes_folders_and_matches() {
        let (folder, files) = project();
        let scratch = folder.path().join("scratch");
        std::fs::create_dir_all(scratch.join("src/deep/er")).unwrap();
        std::fs::write(scratch.join("src/a.rs"), "12345").unwrap();
        std::fs::write(scratch.join("src/deep/er/b.rs"), "").unwrap();
        std::fs::write(scratch.join("x.log"), "").unwrap();
        std::fs::write(scratch.join(".gitignore"), "*.log\n").unwrap();
        assert_eq!(text(&files, json!({})), "/.gitignore 6\n/src/\n/src/a.rs 5\n/src/deep/");
        assert_eq!(text(&files, json!({"path": "/src", "depth": 1})), "/src/a.rs 5\n/src/deep/");
        assert_eq!(text(&files, json!({"glob": "*.rs"})), "/src/a.rs 5\n/src/deep/er/b.rs 0");
        assert_eq!(text(&files, json!({"glob": "src/*.rs"})), "/src/a.rs 5");
        assert_eq!(text(&files, json!({"path": "src", "glob": "deep/**/*.rs"})), "/src/deep/er/b.rs 0");
        assert_eq!(text(&files, json!({"glob": "*.none"})), "[nothing]");
        assert!(text(&files, json!({"path": "none"})).contains("does not exist"));
        assert!(text(&files, json!({"path": "../.."})).contains("may not climb"));
        assert!(matcher("[").is_err());
    }

    #[test]
    fn long_listing_counts_what_it_leaves_out() {
        let (folder, files) = project();
        (0..SHOWN + 7).for_each(|n| std::fs::write(folder.path().join(format!("scratch/{n}")), "").unwrap());
        assert!(text(&files, json!({})).ends_with("[7 more; list a folder, or use a glob]"));
    }
}
