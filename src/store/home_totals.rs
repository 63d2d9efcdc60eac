//! What an admin sees of a person's home: numbers, never contents. Read beside the home's owner, without opening it: nothing is
//! locked, created or repaired.

use std::io::{self, Read};

use cap_std::fs::Dir;
use serde_json::Value;

use super::accounts::PEOPLE;
use super::error::StoreError;
use super::home::Home;
use super::settings::SettingsFile;
use super::usage::{CountedWork, logged_works};
use crate::domain::AccountId;

/// Maximum number of names that are counted in a home, and depth of its folders.
const MAX_NAMES: u64 = 500_000;
const MAX_DEPTH: usize = 64;
/// Maximum size in bytes of a file that is read.
const MAX_READ: u64 = 64 << 20;

/// What a person's home holds.
#[derive(Debug, Default, PartialEq)]
pub struct HomeTotals {
    /// The works that have ended, those of deleted conversations included.
    pub works: Vec<CountedWork>,
    /// Number of conversations, without deleted ones.
    pub conversations: u64,
    /// Number of projects, without deleted ones.
    pub projects: u64,
}

/// How large a home is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HomeSize {
    /// Sizes of all files together, deleted and hidden ones included.
    pub bytes: u64,
    pub files: u64,
    /// Whether something was not counted: names beyond 500,000, folders deeper than 64, and what cannot be read.
    pub is_partial: bool,
}

impl Home {
    /// Returns what the home of a person holds; nothing if they have never used it. `self` is the home of the server.
    ///
    /// # Errors
    /// Returns an error if the folder or its log of usage cannot be read.
    pub fn person_totals(&self, account: &AccountId) -> Result<HomeTotals, StoreError> {
        let Some(dir) = self.person_folder(account)? else { return Ok(HomeTotals::default()) };
        let doing = || format!("counting the home of {account}");
        let totals = || -> io::Result<HomeTotals> {
            let Some(sessions) = folder(&dir, "sessions")? else { return Ok(HomeTotals::default()) };
            Ok(HomeTotals {
                works: read(&sessions, super::usage::FILE)?.map(|bytes| logged_works(&bytes)).unwrap_or_default(),
                conversations: conversations(&sessions)?,
                projects: read(&dir, SettingsFile::Projects.name())?.map_or(0, |bytes| projects(&bytes)),
            })
        };
        totals().map_err(StoreError::io(doing()))
    }

    /// Measures the home of a person, for a second or more if it is large. Links are neither followed nor counted.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be opened.
    pub fn person_size(&self, account: &AccountId) -> Result<HomeSize, StoreError> {
        let Some(dir) = self.person_folder(account)? else { return Ok(HomeSize::default()) };
        let mut size = HomeSize::default();
        let mut names = 0;
        measure(&dir, 1, (&mut size, &mut names));
        Ok(size)
    }

    fn person_folder(&self, account: &AccountId) -> Result<Option<Dir>, StoreError> {
        let opened = folder(self.root(), PEOPLE).and_then(|people| match people {
            Some(people) => folder(&people, account.as_str()),
            None => Ok(None),
        });
        opened.map_err(StoreError::io(format!("opening the home of {account}")))
    }
}

/// Opens a folder that is no link; `None` if there is none.
fn folder(parent: &Dir, name: &str) -> io::Result<Option<Dir>> {
    match parent.symlink_metadata(name) {
        Ok(found) if found.is_dir() => parent.open_dir(name).map(Some),
        Ok(_) => Err(io::Error::other("it is no folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a file that is no link; `None` if there is none.
fn read(dir: &Dir, name: &str) -> io::Result<Option<Vec<u8>>> {
    match dir.symlink_metadata(name) {
        Ok(found) if found.is_file() && found.len() <= MAX_READ => {}
        Ok(_) => return Err(io::Error::other("it is too large, or no file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = Vec::new();
    dir.open(name)?.take(MAX_READ).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn conversations(sessions: &Dir) -> io::Result<u64> {
    let names = sessions.entries()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_session =
        |name: &String| name.strip_suffix(".json").is_some_and(|stem| crate::domain::SessionId::parse(stem).is_ok());
    Ok(names.filter(is_session).count() as u64)
}

fn projects(bytes: &[u8]) -> u64 {
    let file = serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    let projects = file["projects"].as_array().map(Vec::as_slice).unwrap_or_default();
    projects.iter().filter(|project| project["deleted_at"].is_null()).count() as u64
}

fn measure(dir: &Dir, depth: usize, (size, names): (&mut HomeSize, &mut u64)) {
    let Ok(entries) = dir.entries() else {
        size.is_partial = true;
        return;
    };
    for entry in entries {
        *names += 1;
        if *names > MAX_NAMES {
            size.is_partial = true;
            return;
        }
        // Of the entry itself, not of what a link leads to.
        let found = entry.and_then(|entry| entry.metadata().map(|found| (entry, found)));
        let Ok((entry, found)) = found else {
            size.is_partial = true;
            continue;
        };
        if found.is_file() {
            size.bytes = size.bytes.saturating_add(found.len());
            size.files += 1;
        } else if found.is_dir() {
            match (depth < MAX_DEPTH).then(|| entry.open_dir()) {
                Some(Ok(inner)) => measure(&inner, depth + 1, (size, names)),
                Some(Err(_)) | None => size.is_partial = true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> (tempfile::TempDir, Home, AccountId) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let ann = AccountId::parse("ann").unwrap();
        std::fs::create_dir_all(folder.path().join("people/ann/sessions")).unwrap();
        (folder, home, ann)
    }

    #[test]
    fn home_is_measured_without_following_links() {
        let (folder, home, ann) = server();
        let path = |name: &str| folder.path().join("people/ann").join(name);
        std::fs::write(path("sessions/a.json"), "x".repeat(10)).unwrap();
        std::fs::write(folder.path().join("large"), "x".repeat(1000)).unwrap();
        for (target, link) in [("../../large", "file"), ("..", "up"), ("/", "root"), ("sessions", "again")] {
            std::os::unix::fs::symlink(target, path(link)).unwrap();
        }
        assert_eq!(home.person_size(&ann).unwrap(), HomeSize { bytes: 10, files: 1, is_partial: false });
        let mut deep = path("sessions");
        (0..MAX_DEPTH + 2).for_each(|_| deep.push("d"));
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("f"), "xyz").unwrap();
        assert_eq!(home.person_size(&ann).unwrap(), HomeSize { bytes: 10, files: 1, is_partial: true });
        let nobody = AccountId::parse("nobody").unwrap();
        assert_eq!(home.person_size(&nobody).unwrap(), HomeSize::default());
        assert_eq!(home.person_totals(&nobody).unwrap(), HomeTotals::default());
    }

    #[test]
    fn home_that_is_a_link_is_not_read() {
        let (folder, home, _) = server();
        std::os::unix::fs::symlink("ann", folder.path().join("people/bob")).unwrap();
        let bob = AccountId::parse("bob").unwrap();
        assert!(home.person_size(&bob).is_err() && home.person_totals(&bob).is_err());
    }

    #[test]
    fn totals_count_conversations_and_projects_that_are_there() {
        let (folder, home, ann) = server();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join("people/ann").join(name), text).unwrap();
        for name in ["a.json", "b.json", "not a session.json", "a.journal", "pinned.txt"] {
            write(&format!("sessions/{name}"), "{}");
        }
        write(
            "projects.json",
            r#"{"projects": [{"id": "1"}, {"id": "2", "deleted_at": 5.0}, {"id": "3", "deleted_at": null}]}"#,
        );
        write("sessions/usage.jsonl", "{\"work_id\": \"w\", \"created_at\": 1.0}\nnot a line\n{\"work_id\": \"half");
        let totals = home.person_totals(&ann).unwrap();
        assert_eq!((totals.conversations, totals.projects, totals.works.len()), (2, 2, 1));
        write("projects.json", "damaged");
        assert_eq!(home.person_totals(&ann).unwrap().projects, 0);
    }
}
