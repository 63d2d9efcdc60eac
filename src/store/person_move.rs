//! Makes the home of a single person that of the first account, and back: only renames within one file system.
//!
//! A move is a list of steps that is written to `people-move.json` before the first one. Each step can be repeated, so what a
//! crash cut off is completed by the next start of the server, or the next run of the command. Until then no server starts on
//! this home.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::{RenameFlags, renameat_with};
use serde::{Deserialize, Serialize};

use super::atomic;
use super::audit;
use super::error::StoreError;
use super::home::{Home, make_dir};
use super::settings::SettingsFile;
use crate::domain::{AccountBook, AccountId};

/// The steps of a move that is not complete.
const JOURNAL: &str = "people-move.json";
/// What a move to an account changed in the files of the server, so that it can be taken back.
const RECORD: &str = "people-adopted.json";
const PEOPLE: &str = "people";
/// What belongs to a person. `sessions` is the last one, because it holds the lock of the home.
const ENTRIES: [&str; 15] = [
    "workspace",
    "skills",
    "memory",
    "knowledge",
    "storage",
    "scratch",
    "workspaces",
    "config.json",
    "trusted.json",
    "session-key.json",
    "projects.json",
    "project-secrets.json",
    "providers.json",
    "SKILLS_SNAPSHOT.md",
    "sessions",
];

/// A file at the top of the home that the move changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerText {
    pub name: String,
    /// `None` if there is no such file.
    pub before: Option<String>,
    pub after: Option<String>,
}

/// The account that a home is moved to.
#[derive(Debug)]
pub struct MoveToAccount<'a> {
    pub account: AccountId,
    pub book: &'a AccountBook,
    /// How config.yml and `.env` change, in this order.
    pub texts: Vec<ServerText>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Journal {
    version: u32,
    steps: Vec<Step>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
enum Step {
    Folder {
        path: String,
    },
    Move {
        from: String,
        to: String,
        /// Whether the folder of `to` is new, so that whatever is there was moved.
        into_new: bool,
    },
    Write {
        name: String,
        text: String,
    },
    Remove {
        name: String,
    },
}

impl Step {
    fn of_text(text: &ServerText) -> Self {
        match &text.after {
            Some(after) => Self::Write { name: text.name.clone(), text: after.clone() },
            None => Self::Remove { name: text.name.clone() },
        }
    }

    fn into_new(from: String, to: String) -> Self {
        Self::Move { from, to, into_new: true }
    }
}

/// The account whose home is moved back.
#[derive(Debug)]
pub struct MoveFromAccount<'a> {
    pub account: &'a AccountId,
    /// The name of the folder for what only a server of several people has.
    pub aside: &'a str,
    /// config.yml as it is now, for a single person; `None` if there is none.
    pub config: Option<String>,
}

impl Home {
    /// Moves what this home has to the home of a new account. The caller keeps this home, and thus its lock.
    ///
    /// # Errors
    /// Returns [`StoreError::NotAllowed`] if there are accounts already, or an entry is a link or on another file system;
    /// nothing is moved then.
    pub fn move_to_account(&self, plan: &MoveToAccount<'_>) -> Result<(), StoreError> {
        self.move_to_with(plan, &mut |_| Ok(()))
    }

    fn move_to_with(&self, plan: &MoveToAccount<'_>, before_step: Hook<'_>) -> Result<(), StoreError> {
        let root = self.root();
        let has_people = root.read_dir(PEOPLE).into_iter().flatten().flatten().next().is_some();
        if root.symlink_metadata(SettingsFile::Accounts.name()).is_ok() || has_people {
            return Err(not_allowed(
                "accounts.json",
                "there are accounts already; this is for the home of a single person",
            ));
        }
        let device = root.dir_metadata().map_err(StoreError::io("looking at the home"))?.dev();
        if root.symlink_metadata(PEOPLE).is_ok_and(|found| !found.is_dir() || found.dev() != device) {
            let why = "it is a link, or on another file system than the home, so nothing can be renamed into it";
            return Err(not_allowed(PEOPLE, why));
        }
        let home = format!("{PEOPLE}/{}", plan.account);
        let entries = movable(root, "")?;
        let record = serde_json::to_string_pretty(&plan.texts).expect("texts are JSON");
        let mut book = serde_json::to_string_pretty(plan.book).expect("accounts are JSON");
        book.push('\n');
        let mut steps = vec![
            Step::Write { name: RECORD.to_owned(), text: record },
            Step::Write { name: SettingsFile::Accounts.name().to_owned(), text: book },
            Step::Folder { path: PEOPLE.to_owned() },
            Step::Folder { path: home.clone() },
        ];
        // The last one first: `.env` has the key that the new config.yml needs.
        steps.extend(plan.texts.iter().rev().map(Step::of_text));
        steps.extend(entries.into_iter().map(|name| Step::into_new(name.to_owned(), format!("{home}/{name}"))));
        begin(root, steps, before_step)
    }

    /// Moves what the only account has back to this home. What the server has there itself goes to a new folder. The caller keeps
    /// both homes, and thus their locks.
    ///
    /// # Errors
    /// As [`Home::move_to_account`].
    pub fn move_from_account(&self, plan: &MoveFromAccount<'_>) -> Result<(), StoreError> {
        self.move_from_with(plan, &mut |_| Ok(()))
    }

    fn move_from_with(&self, plan: &MoveFromAccount<'_>, before_step: Hook<'_>) -> Result<(), StoreError> {
        let MoveFromAccount { account, aside, config } = plan;
        let root = self.root();
        let home = format!("{PEOPLE}/{account}");
        let away = |name: &str| Step::into_new(name.to_owned(), format!("{aside}/{name}"));
        let mut steps = vec![Step::Folder { path: (*aside).to_owned() }];
        steps.extend(movable(root, "")?.into_iter().map(away));
        let back = |name: &str| Step::Move { from: format!("{home}/{name}"), to: name.to_owned(), into_new: false };
        steps.extend(movable(root, &home)?.into_iter().map(back));
        steps.extend([away(SettingsFile::Accounts.name()), away(PEOPLE)]);
        let members = SettingsFile::Members.name();
        steps.extend(root.symlink_metadata(members).is_ok().then(|| away(members)));
        steps.extend(audit::files(root).iter().map(|name| away(name)));
        let mut texts = self.texts_to_restore()?;
        if config.is_some() && !texts.iter().any(|text| text.name == "config.yml") {
            texts.push(ServerText { name: "config.yml".to_owned(), before: None, after: config.clone() });
        }
        steps.extend(texts.iter().map(Step::of_text));
        if root.symlink_metadata(RECORD).is_ok() {
            steps.push(away(RECORD));
        }
        begin(root, steps, before_step)
    }

    /// Returns how config.yml and `.env` become what they were before the move, for those that have not changed since.
    fn texts_to_restore(&self) -> Result<Vec<ServerText>, StoreError> {
        let doing = || format!("reading {RECORD}");
        let record = match self.root().read_to_string(RECORD) {
            Ok(record) => record,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io(doing())(error)),
        };
        let texts: Vec<ServerText> =
            serde_json::from_str(&record).map_err(|error| StoreError::io(doing())(io::Error::other(error)))?;
        let is_same = |text: &ServerText| self.root().read_to_string(&text.name).ok() == text.after;
        let restored = texts.into_iter().filter(is_same);
        Ok(restored.map(|text| ServerText { before: text.after, after: text.before, ..text }).collect())
    }
}

/// Returns whether a move of this home is not complete.
pub(super) fn is_half_moved(root: &Dir) -> bool {
    root.symlink_metadata(JOURNAL).is_ok()
}

/// Completes a move that a crash cut off. Returns whether there was one.
///
/// # Errors
/// Returns [`StoreError::Locked`] if another process is moving this home, and an error if a step fails.
pub fn complete_move(home: &Path) -> Result<bool, StoreError> {
    let doing = || format!("reading {JOURNAL}");
    let Ok(root) = Dir::open_ambient_dir(home, ambient_authority()) else { return Ok(false) };
    let opened = root.open_with(JOURNAL, OpenOptions::new().read(true));
    let mut file = match opened {
        Ok(file) => file.into_std(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(StoreError::io(doing())(error)),
    };
    file.try_lock().map_err(|_| StoreError::Locked { holder: String::new() })?;
    if !is_half_moved(&root) {
        return Ok(true);
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(StoreError::io(doing()))?;
    let journal: Journal =
        serde_json::from_str(&text).map_err(|error| StoreError::io(doing())(io::Error::other(error)))?;
    finish(&root, &journal.steps, &mut |_| Ok(()))?;
    Ok(true)
}

/// Called before each step, so that tests can stop there.
type Hook<'a> = &'a mut dyn FnMut(usize) -> io::Result<()>;

/// Writes the journal, whose lock keeps other processes away, and makes the steps.
fn begin(root: &Dir, steps: Vec<Step>, before_step: Hook<'_>) -> Result<(), StoreError> {
    let journal = Journal { version: 1, steps };
    let written = || -> io::Result<File> {
        let name = atomic::temporary_name();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = root.open_with(&name, &options)?.into_std();
        file.lock()?;
        file.write_all(&serde_json::to_vec_pretty(&journal)?)?;
        file.sync_all()?;
        root.rename(&name, root, JOURNAL)?;
        atomic::sync_dir(root)?;
        Ok(file)
    };
    let _lock = written().map_err(StoreError::io(format!("writing {JOURNAL}")))?;
    finish(root, &journal.steps, before_step)
}

fn finish(root: &Dir, steps: &[Step], before_step: Hook<'_>) -> Result<(), StoreError> {
    for (number, step) in steps.iter().enumerate() {
        before_step(number).map_err(StoreError::io("moving a home"))?;
        make(root, step)?;
    }
    let ended = before_step(steps.len()).and_then(|()| root.remove_file(JOURNAL)).and_then(|()| atomic::sync_dir(root));
    ended.map_err(StoreError::io(format!("removing {JOURNAL}")))
}

fn make(root: &Dir, step: &Step) -> Result<(), StoreError> {
    match step {
        Step::Folder { path } => {
            make_dir(root, path, 0o700)?;
            let made = root.open_dir(path).and_then(|made| super::project_folder::hand_over(root, &made));
            made.map_err(StoreError::io(format!("creating {path}/")))?;
            sync_folder_of(root, path).map_err(StoreError::io(format!("creating {path}/")))
        }
        Step::Write { name, text } => {
            // The file with the keys is for nobody else, whatever it was.
            let write = if name == ".env" { atomic::replace_with_mode } else { atomic::replace };
            write(root, name, text.as_bytes(), 0o600).map_err(StoreError::io(format!("writing {name}")))
        }
        Step::Remove { name } => match root.remove_file(name).and_then(|()| atomic::sync_dir(root)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io(format!("removing {name}"))(error))
            }
            _ => Ok(()),
        },
        Step::Move { from, to, into_new } => {
            let is_there = |path: &str| root.symlink_metadata(path).is_ok();
            if !is_there(from) || *into_new && is_there(to) {
                return Ok(());
            }
            // What a server that was just starting has created.
            let _ = root.remove_dir(to);
            let moved = renameat_with(root, from, root, to, RenameFlags::NOREPLACE).map_err(io::Error::from);
            let synced = moved.and_then(|()| sync_folder_of(root, to)).and_then(|()| sync_folder_of(root, from));
            synced.map_err(StoreError::io(format!("moving {from} to {to}")))
        }
    }
}

fn sync_folder_of(root: &Dir, path: &str) -> io::Result<()> {
    match path.rsplit_once('/') {
        Some((folder, _)) => atomic::sync_dir(&root.open_dir(folder)?),
        None => atomic::sync_dir(root),
    }
}

/// Returns the entries of a home that belong to its person, the lock last.
fn movable(root: &Dir, home: &str) -> Result<Vec<&'static str>, StoreError> {
    let device = root.dir_metadata().map_err(StoreError::io("looking at the home"))?.dev();
    let mut found = Vec::new();
    for name in ENTRIES {
        let path = if home.is_empty() { name.to_owned() } else { format!("{home}/{name}") };
        let entry = match root.symlink_metadata(&path) {
            Ok(entry) => entry,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(StoreError::io(format!("looking at {path}"))(error)),
        };
        if entry.is_symlink() {
            return Err(not_allowed(&path, "it is a symbolic link, which may not lead there any more after a move"));
        }
        if entry.dev() != device {
            return Err(not_allowed(&path, "it is on another file system than the home, so it cannot be renamed"));
        }
        found.push(name);
    }
    Ok(found)
}

fn not_allowed(path: &str, why: &'static str) -> StoreError {
    StoreError::NotAllowed { path: path.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    fn account() -> AccountId {
        AccountId::parse("a1").unwrap()
    }

    /// Creates a used home. The lock of an open home would keep others away, so it is closed.
    fn used() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        drop(Home::open(folder.path()).unwrap());
        for (path, text) in [
            ("workspace/SOUL.md", "soul"),
            ("memory/deep/MEMORY.md", "memory"),
            ("sessions/1.json", "{}"),
            ("storage/trusted/x", "text"),
            ("config.json", "{}"),
            ("config.yml", "# mine\nport: 1\n"),
            ("own.txt", "stays"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    /// Returns the contents of all files and the names of all folders, without locks.
    fn content(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut found = BTreeMap::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in std::fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(folder).unwrap().to_owned();
                if path.is_dir() {
                    folders.push(path);
                    found.insert(name, None);
                } else if !name.ends_with(".lock") {
                    found.insert(name, Some(std::fs::read(path).unwrap()));
                }
            }
        }
        found
    }

    fn adoption(book: &AccountBook) -> MoveToAccount<'_> {
        let text = |name: &str, before: Option<&str>, after: &str| ServerText {
            name: name.to_owned(),
            before: before.map(str::to_owned),
            after: Some(after.to_owned()),
        };
        let config = text("config.yml", Some("# mine\nport: 1\n"), "# mine\nport: 1\nauth_mode: multi\n");
        MoveToAccount { account: account(), book, texts: vec![config, text(".env", None, "A=b\n")] }
    }

    /// Returns a hook that fails at a step, as if the process was killed there.
    fn stop_at(stop: usize) -> impl FnMut(usize) -> io::Result<()> {
        move |step| if step == stop { Err(io::Error::other("killed")) } else { Ok(()) }
    }

    #[test]
    fn adoption_and_release_are_completed_after_any_stop() {
        let book = AccountBook::default();
        let mut stop = 0;
        loop {
            let folder = used();
            let before = content(folder.path());
            let home = Home::open(folder.path()).unwrap();
            let adopted = home.move_to_with(&adoption(&book), &mut stop_at(stop));
            drop(home);
            let is_cut_off = adopted.is_err();
            assert!(!is_cut_off || Home::open(folder.path()).is_err(), "no server starts before it is completed");
            assert_eq!(complete_move(folder.path()).unwrap(), is_cut_off, "{stop}");
            let person = content(&folder.path().join("people/a1"));
            for (path, bytes) in &before {
                let is_persons = ENTRIES.iter().any(|entry| path.starts_with(entry));
                let now = if is_persons { person.get(path) } else { None };
                assert!(!is_persons || now == Some(bytes), "{stop}: {}", path.display());
                assert_eq!(folder.path().join(path).exists(), !is_persons, "{stop}: {}", path.display());
            }
            assert_eq!(std::fs::read_to_string(folder.path().join(".env")).unwrap(), "A=b\n");

            // A server of several people has its own files in the home.
            let home = Home::open(folder.path()).unwrap();
            std::fs::write(folder.path().join("workspace/SOUL.md"), "the server's").unwrap();
            let persons = Home::open(&folder.path().join("people/a1")).unwrap();
            let released = home.move_from_with(&back(&account(), None), &mut stop_at(stop));
            drop((home, persons));
            let is_cut_off_too = released.is_err();
            assert_eq!(complete_move(folder.path()).unwrap(), is_cut_off_too, "{stop}");
            let mut after = content(folder.path());
            after.retain(|path, _| !path.starts_with("aside"));
            assert_eq!(after, before, "{stop}");
            assert_eq!(std::fs::read(folder.path().join("aside/workspace/SOUL.md")).unwrap(), b"the server's");
            assert!(folder.path().join("aside/accounts.json").exists());
            if !is_cut_off && !is_cut_off_too {
                break;
            }
            stop += 1;
        }
        assert!(stop > 20, "{stop}");
    }

    fn back(account: &AccountId, config: Option<String>) -> MoveFromAccount<'_> {
        MoveFromAccount { account, aside: "aside", config }
    }

    #[test]
    fn changed_configuration_only_loses_several_people() {
        let book = AccountBook::default();
        let folder = used();
        Home::open(folder.path()).unwrap().move_to_account(&adoption(&book)).unwrap();
        let config = folder.path().join("config.yml");
        std::fs::write(&config, "port: 2\nauth_mode: multi\n").unwrap();
        let account = account();
        let plan = back(&account, Some("port: 2\n".to_owned()));
        Home::open(folder.path()).unwrap().move_from_account(&plan).unwrap();
        assert_eq!(std::fs::read_to_string(config).unwrap(), "port: 2\n");
        assert!(!folder.path().join(".env").exists());
    }

    #[test]
    fn home_with_links_or_accounts_is_not_moved() {
        let book = AccountBook::default();
        let folder = used();
        let before = content(folder.path());
        let home = Home::open(folder.path()).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("projects.json")).unwrap();
        assert!(matches!(home.move_to_account(&adoption(&book)), Err(StoreError::NotAllowed { .. })));
        std::fs::remove_file(folder.path().join("projects.json")).unwrap();
        for taken in ["accounts.json", "people/b/x"] {
            let path = folder.path().join(taken);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "{}").unwrap();
            assert!(matches!(home.move_to_account(&adoption(&book)), Err(StoreError::NotAllowed { .. })), "{taken}");
            std::fs::remove_file(path).unwrap();
            let _ = std::fs::remove_dir_all(folder.path().join("people"));
        }
        assert_eq!(content(folder.path()), before);
        assert!(!complete_move(folder.path()).unwrap() && !complete_move(&folder.path().join("none")).unwrap());
    }
}
