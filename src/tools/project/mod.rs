//! The tools of a session that is bound to a project: several files in one call, commands, searches, SQL and a list of tasks.
//! Their answers have the shapes of the session-operations document.

mod answer;
mod arguments;
mod bash;
mod change;
mod change_answer;
mod command;
mod edit;
mod file_tools;
mod jobs;
mod list;
mod read;
mod read_picture;
mod search;
mod search_meaning;
mod sql;
mod todo;

use std::sync::Arc;

use serde_json::Value;

use self::answer::Failure;
use super::{FileAccess, Tool};
use crate::domain::{BadPath, Place, RelPath, Root, Taint, ToolSpec};
use crate::library::projects::ProjectLibraries;
use crate::sandbox::Sandbox;

pub use bash::Bash;
pub use jobs::{JobOutcome, JobReport, Jobs};
pub use todo::TodoTool;

/// What a path begins with that names a file of the home instead of one of the project.
const HOME: &str = "home:";
/// A folder that belongs to git: its hooks and settings are programs that run later, outside the sandbox.
const GIT: &str = ".git";

/// The folder that the tools of a session work in, and the home around it. Cheap to clone.
#[derive(Clone)]
pub struct ProjectFiles {
    access: FileAccess,
    root: Root,
}

/// Returns the tools for files, databases and tasks of a project.
pub fn project_file_tools(files: &ProjectFiles, sandbox: Sandbox, libraries: &ProjectLibraries) -> Vec<Arc<dyn Tool>> {
    let mut tools = file_tools::all(files);
    tools.push(Arc::new(read::ReadFiles::new(files.clone())));
    tools.push(Arc::new(list::ListFiles::new(files.clone())));
    tools.push(Arc::new(search::SearchFiles::new(files.clone(), libraries.clone())));
    tools.push(Arc::new(sql::SqlTool::new(files.clone(), sandbox)));
    tools.extend(TodoTool::both().map(|tool| Arc::new(tool) as Arc<dyn Tool>));
    tools
}

impl ProjectFiles {
    pub fn new(access: FileAccess, root: Root) -> Self {
        Self { access, root }
    }

    /// Returns whether a place is in the project, and not in the home.
    fn is_in_project(&self, place: &Place) -> bool {
        *place.root() == self.root
    }

    /// Returns the file that a path of the model names: `/src/a.rs` and `src/a.rs` are the same file of the project,
    /// `home:memory/MEMORY.md` is one of the home.
    fn file(&self, path: &str) -> Result<Place, Failure> {
        self.place(path, Place::parse)
    }

    /// Returns the folder that a path names; an empty path, `.` and `/` are the project itself.
    fn folder(&self, path: &str) -> Result<Place, Failure> {
        if matches!(path.trim_matches('/'), "" | ".") {
            return Ok(Place::of_root(self.root.clone()));
        }
        self.place(path, Place::parse_folder)
    }

    fn place(&self, path: &str, parse: fn(&str) -> Result<Place, BadPath>) -> Result<Place, Failure> {
        if let Some(path) = path.strip_prefix(HOME) {
            let place = parse(path).map_err(Failure::bad_path)?;
            return match place.root() {
                Root::Project(_) => Err(Failure::bad_path(BadPath::Outside(path.to_owned()))),
                _ => Ok(place),
            };
        }
        // Parsed by itself first, so that an error speaks of the path that the model wrote.
        let below = RelPath::parse(path.trim_start_matches('/')).map_err(Failure::bad_path)?;
        let place = parse(&format!("{}/{below}", self.root)).map_err(Failure::bad_path)?;
        if is_protected(&place) { Err(Failure::protected()) } else { Ok(place) }
    }

    /// Returns a place as the model names it: from the project's root, or with `home:`.
    fn name(&self, place: &Place) -> String {
        match self.is_in_project(place) {
            true => format!("/{}", place.path()),
            false => format!("{HOME}{place}"),
        }
    }

    /// Returns the source of text in this file, as far as strangers may have written it. Files of a project are what
    /// commands have written, or could have.
    fn taint(&self, place: &Place) -> Option<Taint> {
        match self.is_in_project(place) {
            true => Some(Taint::Output),
            false => place.root().is_outside_text().then(|| Taint::Document(place.to_string())),
        }
    }

    /// Returns the source of text in a file that tells the agent how to work, in a version that nobody has trusted.
    fn untrusted(&self, place: &Place, bytes: &[u8]) -> Option<Taint> {
        (!self.access.home.trusts(place, bytes)).then(|| Taint::Skill(place.to_string()))
    }
}

fn is_protected(place: &Place) -> bool {
    place.path().split('/').any(|name| name.eq_ignore_ascii_case(GIT))
}

/// Describes a tool whose arguments are one JSON object without other properties.
fn spec(
    name: &str,
    description: &str,
    (properties, required): (Value, &[&str]),
    effect: crate::domain::Effect,
) -> ToolSpec {
    let parameters = serde_json::json!({
        "type": "object",
        "properties": properties,
        "required": required,
    });
    ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters, effect }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::domain::ProjectId;
    use crate::store::Home;

    pub fn project() -> (tempfile::TempDir, ProjectFiles) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let apply: crate::tools::ApplyChange = Arc::new(|_| Box::pin(async { Ok(()) }));
        let apply_captured: crate::tools::ApplyCaptured = Arc::new(|_| Box::pin(async { Ok(Default::default()) }));
        let record_observed: crate::tools::RecordObserved = Arc::new(|_| Box::pin(async { Ok(Default::default()) }));
        let keep_pictures: crate::tools::KeepPictures = Arc::new(|_, _| Box::pin(async { Ok(()) }));
        let access = FileAccess { home, apply, apply_captured, record_observed, keep_pictures };
        let files = ProjectFiles { access, root: Root::Project(ProjectId::scratch()) };
        (folder, files)
    }

    #[test]
    fn path_is_of_the_project_unless_it_names_the_home() {
        let (_folder, files) = project();
        for (path, place) in [
            ("a.txt", "project/scratch/a.txt"),
            ("/src/a.txt", "project/scratch/src/a.txt"),
            ("./src//a.txt", "project/scratch/src/a.txt"),
            ("memory/MEMORY.md", "project/scratch/memory/MEMORY.md"),
            ("home:memory/MEMORY.md", "memory/MEMORY.md"),
        ] {
            let found = files.file(path).unwrap();
            assert_eq!(found.as_str(), place, "{path}");
            assert_eq!(files.file(&files.name(&found)).unwrap(), found, "{path}");
        }
        for root in ["", "/", ".", "//"] {
            assert_eq!(files.folder(root).unwrap().as_str(), "project/scratch", "{root:?}");
        }
    }

    #[test]
    fn path_that_leads_elsewhere_is_refused() {
        let (_folder, files) = project();
        for (path, code) in [
            ("", "bad_path"),
            ("/", "bad_path"),
            ("../.env", "bad_path"),
            ("a/../../.env", "bad_path"),
            ("a\\b", "bad_path"),
            ("a\nb", "bad_path"),
            ("home:", "bad_path"),
            ("home:.env", "bad_path"),
            ("home:sessions/a.json", "bad_path"),
            ("home:project/other/a", "bad_path"),
            ("home:../x", "bad_path"),
            (".git/hooks/pre-commit", "protected"),
            ("sub/.GIT/config", "protected"),
        ] {
            assert_eq!(files.file(path).unwrap_err().code, code, "{path:?}");
        }
        assert_eq!(files.folder(".git").unwrap_err().code, "protected");
        assert!(files.file(".gitignore").is_ok());
    }
}
