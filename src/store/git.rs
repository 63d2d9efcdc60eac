//! What commands change in git repositories. An undo takes back files, never what git knows of them: else it could remove
//! commits of a person. The commits that a command makes are listed instead.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::capture::{Contents, LayerChanges, LayerEntry};
use crate::domain::Commit;
use crate::domain::visible::visible;

/// The folder in which git keeps what it knows of a repository.
const GIT: &str = ".git";
/// The log in which git writes what was checked out, relative to a folder of git's.
const LOG: &str = "logs/HEAD";
/// Maximum number of commits that are listed for a call.
pub(super) const LISTED: usize = 200;
/// Maximum part of a log that is read, in bytes, from its end.
const READ: u64 = 1 << 20;
/// Maximum characters of a subject.
const SUBJECT: usize = 200;

/// The repositories that a command changed and left in place.
pub(super) struct Repositories<'a> {
    /// Git's folders that the command deleted, which an undo brings back.
    deleted: HashSet<&'a Path>,
}

impl<'a> Repositories<'a> {
    pub fn of(changes: &'a LayerChanges) -> Self {
        let deleted = changes.entries.iter().filter(|entry| entry.after.is_none());
        Self::without(deleted.map(|entry| entry.path.as_path()))
    }

    /// Returns the repositories, given everything that was deleted.
    pub fn without(deleted: impl Iterator<Item = &'a Path>) -> Self {
        Self { deleted: deleted.filter(|path| path.file_name() == Some(GIT.as_ref())).collect() }
    }

    /// Returns whether an entry belongs to git, and its repository stays.
    pub fn own(&self, entry: &LayerEntry) -> bool {
        self.own_path(&entry.path, entry.after.is_none())
    }

    /// Like [`Self::own`], for a path that was deleted or was not.
    pub fn own_path(&self, path: &Path, is_deleted: bool) -> bool {
        git_folder(path).is_some_and(|git| !is_deleted || !self.deleted.contains(git))
    }
}

/// Returns git's folder among the folders of a path.
fn git_folder(path: &Path) -> Option<&Path> {
    path.ancestors().filter(|folder| folder.file_name().is_some_and(|name| name == GIT)).last()
}

/// Returns the commits that a command made, by repository and oldest first, each with the log that names it; at most 200.
pub(super) fn commits(contents: &Contents<'_>, changes: &LayerChanges) -> Vec<(PathBuf, Commit)> {
    let logs = changes.entries.iter().enumerate().filter(|(_, entry)| entry.path.ends_with(LOG));
    let of_log = logs.flat_map(|(at, entry)| {
        let before = contents.before(at).ok()?.map_or(Ok(0), |file| file.metadata().map(|meta| meta.len()));
        let commits = commits_of_log(&entry.path, before.ok()?, || contents.after(at).ok()?)?;
        Some(commits.into_iter().map(|commit| (entry.path.clone(), commit)))
    });
    of_log.flatten().take(LISTED).collect()
}

/// Returns the commits that a log has beyond its length before, in bytes; `None` if the path is none of a log.
pub(super) fn commits_of_log(path: &Path, before: u64, log: impl FnOnce() -> Option<File>) -> Option<Vec<Commit>> {
    let git = git_folder(path).filter(|_| path.ends_with(LOG))?;
    let repository = git.parent().unwrap_or(Path::new("")).to_string_lossy();
    let added = added(log()?, before).ok()?;
    Some(added.lines().filter_map(|line| commit(line, &visible(&repository))).take(LISTED).collect())
}

/// Returns what was added to a log of this length.
fn added(mut log: File, before: u64) -> io::Result<String> {
    let length = log.metadata()?.len();
    let from = if before <= length { before } else { 0 };
    log.seek(SeekFrom::Start(from.max(length.saturating_sub(READ))))?;
    let mut bytes = Vec::new();
    log.take(READ).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a line of a log: `OLD NEW NAME <ADDRESS> TIME ZONE<TAB>ACTION: SUBJECT`.
fn commit(line: &str, repository: &str) -> Option<Commit> {
    let (facts, message) = line.split_once('\t')?;
    let id = facts.split(' ').nth(1)?;
    let (action, subject) = message.split_once(": ")?;
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    // Others, like `reset` and `checkout`, move to a commit that exists.
    let makes_one = ["commit", "merge", "cherry-pick", "revert", "am", "rebase", "pull"];
    let makes_one = makes_one.contains(&action.split(' ').next()?) && !subject.starts_with("Fast-forward");
    let subject = visible(subject).chars().take(SUBJECT).collect();
    (is_id && makes_one).then(|| Commit { repository: repository.to_owned(), id: id.to_owned(), subject })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "1c002dd4b536e7479fe34593e72e6c6c1819e53b";

    #[test]
    fn lines_that_make_a_commit_are_read() {
        let subject = |action: &str| {
            let line = format!("{} {ID} Ada <ada@example.org> 1700000000 +0100\t{action}", "0".repeat(40));
            commit(&line, "lib").map(|Commit { repository, id, subject }| {
                assert_eq!((repository.as_str(), id.as_str()), ("lib", ID));
                subject
            })
        };
        for (action, expected) in [
            ("commit: Add b", Some("Add b")),
            ("commit (initial): A: b", Some("A: b")),
            ("commit (amend): c", Some("c")),
            ("merge size: Merge made by the 'ort' strategy.", Some("Merge made by the 'ort' strategy.")),
            ("merge size: Fast-forward", None),
            ("checkout: moving from main to size", None),
            ("reset: moving to HEAD~1", None),
            ("commit: a\u{202e}b", Some("a\\u202eb")),
            ("commit", None),
        ] {
            assert_eq!(subject(action).as_deref(), expected, "{action}");
        }
        for line in ["", "\t", "a b\tcommit: x", &format!("{ID}\tcommit: x")] {
            assert_eq!(commit(line, ""), None, "{line}");
        }
    }

    #[test]
    fn outermost_folder_of_git_counts() {
        for (path, git) in [
            (".git/HEAD", Some(".git")),
            ("lib/.git/modules/a/.git/x", Some("lib/.git")),
            ("lib/.git", Some("lib/.git")),
            ("lib/.gitignore", None),
            ("git/x", None),
        ] {
            assert_eq!(git_folder(Path::new(path)), git.map(Path::new), "{path}");
        }
    }
}
