//! One folder of a project as a person sees it: hidden files and ignored ones too. It is listed page by page: every page reads
//! all names, and only its own metadata.

use std::cmp::Reverse;
use std::fmt;

use cap_std::fs::{Dir, FileType};
use rustix::fs::{AtFlags, statat};

use super::error::StoreError;
use super::home::Home;
use super::listing::kind;
use super::project_walk::{LEFT_OUT, is_ignored, rules_of};
use crate::domain::Place;

/// Maximum number of names that are read.
const MAX_NAMES: usize = 500_000;
/// Digits of a number in a name up to which numbers are compared by their values.
const DIGITS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedKind {
    Folder,
    File,
    Link,
}

/// An entry of a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedEntry {
    pub place: Place,
    pub kind: ListedKind,
    /// In bytes; 0 for folders.
    pub size: u64,
    /// Unix seconds.
    pub modified: f64,
    /// Whether a `.gitignore` leaves it out, or it belongs to git or to the temporary files of commands.
    pub is_ignored: bool,
}

/// The position of an entry in a listing: folders first, each sorted by name, with numbers by their values. Its text is the
/// cursor of a page.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedAt {
    is_folder: Reverse<bool>,
    /// What is compared before the name itself, see [`natural_key`].
    key: String,
    name: String,
}

impl ListedAt {
    fn new(is_folder: bool, name: String) -> Self {
        Self { is_folder: Reverse(is_folder), key: natural_key(&name), name }
    }

    /// Parses what [`fmt::Display`] has written.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once('/')?;
        let is_folder = match kind {
            "d" => true,
            "f" => false,
            _ => return None,
        };
        Some(Self::new(is_folder, name.to_owned()))
    }
}

/// Returns a text in whose plain order upper case counts as lower case, and numbers have the order of their values.
fn natural_key(name: &str) -> String {
    let lower = name.to_lowercase();
    let (mut key, mut rest) = (String::with_capacity(lower.len() + DIGITS), lower.as_str());
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let (digits, after) = number.split_at(number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len()));
        let value = digits.trim_start_matches('0');
        key.push_str(before);
        key.extend(std::iter::repeat_n('0', DIGITS.saturating_sub(value.len())));
        key.push_str(value);
        rest = after;
    }
    key.push_str(rest);
    key
}

impl fmt::Display for ListedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", if self.is_folder.0 { 'd' } else { 'f' }, self.name)
    }
}

/// A page of the entries of a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectListing {
    pub entries: Vec<ListedEntry>,
    /// The last entry of the page, if more follow.
    pub next: Option<ListedAt>,
    /// Number of entries after the page, and of those whose names are not allowed in a path.
    pub left_out: usize,
}

impl Home {
    /// Lists up to `limit` entries of one folder of a project, those after `after`. An entry that is there throughout is on
    /// exactly one page, whatever is added or deleted between two pages.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such folder, and [`StoreError::NotAllowed`] for a file.
    pub fn list_project_folder(
        &self,
        folder: &Place,
        after: Option<&ListedAt>,
        limit: usize,
    ) -> Result<ProjectListing, StoreError> {
        let doing = || StoreError::io(format!("listing {folder}/"));
        let mut rules = self.rules_above(folder)?;
        let dir = self.open_folder(folder)?;
        rules.extend(rules_of(&dir, folder.path()));
        let (mut found, mut left_out) = (Vec::new(), 0);
        for entry in dir.entries().map_err(doing())?.take(MAX_NAMES) {
            let entry = entry.map_err(doing())?;
            let Some(kind) = kind(&dir, &entry).map_err(doing())? else { continue };
            let name = entry.file_name().into_string().ok();
            let Some(name) = name.filter(|name| folder.child(name).is_ok()) else {
                left_out += 1;
                continue;
            };
            let at = ListedAt::new(kind.is_dir(), name);
            if after.is_none_or(|after| at > *after) {
                found.push((at, kind));
            }
        }
        let rest = found.len().saturating_sub(limit);
        if rest > 0 {
            // Sorting everything for every page would take longer than the page.
            found.select_nth_unstable_by(limit, |(a, _), (b, _)| a.cmp(b));
            found.truncate(limit);
        }
        found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let next = found.last().filter(|_| rest > 0).map(|(at, _)| at.clone());
        let entries = found.into_iter().filter_map(|(at, kind)| {
            let place = folder.child(&at.name).ok()?;
            let own = LEFT_OUT.contains(&place.file_name());
            Some(ListedEntry {
                is_ignored: own || is_ignored(&rules, &place, kind.is_dir()),
                ..stated(&dir, place, kind)
            })
        });
        Ok(ProjectListing { entries: entries.collect(), next, left_out: left_out + rest })
    }
}

/// An entry with its metadata, which are zero if it has just been deleted.
fn stated(dir: &Dir, place: Place, kind: FileType) -> ListedEntry {
    // One system call; `Dir::symlink_metadata` makes several.
    let stat = statat(dir, place.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok();
    ListedEntry {
        kind: match kind {
            kind if kind.is_dir() => ListedKind::Folder,
            kind if kind.is_file() => ListedKind::File,
            _ => ListedKind::Link,
        },
        size: stat.filter(|_| !kind.is_dir()).map_or(0, |stat| stat.st_size.cast_unsigned()),
        modified: stat.map_or(0.0, |stat| stat.st_mtime as f64 + stat.st_mtime_nsec as f64 / 1e9),
        is_ignored: false,
        place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ProjectId, Root};

    #[test]
    fn folder_is_listed_with_hidden_and_ignored_entries() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let scratch = folder.path().join("scratch");
        for inner in ["src/deep", ".git", "node_modules"] {
            std::fs::create_dir_all(scratch.join(inner)).unwrap();
        }
        for (path, text) in [(".gitignore", "*.log\nnode_modules/\n"), ("src/a.log", ""), ("src/b.rs", "12345")] {
            std::fs::write(scratch.join(path), text).unwrap();
        }
        std::os::unix::fs::symlink("/etc", scratch.join("etc")).unwrap();
        std::fs::write(scratch.join("line\nbreak"), "").unwrap();
        let root = Place::of_root(Root::Project(ProjectId::scratch()));
        let rows = |folder: &Place| {
            let listing = home.list_project_folder(folder, None, 100).unwrap();
            let row =
                |entry: ListedEntry| (entry.place.file_name().to_owned(), entry.kind, entry.size, entry.is_ignored);
            (listing.entries.into_iter().map(row).collect::<Vec<_>>(), listing.left_out)
        };
        let (top, left_out) = rows(&root);
        let named: Vec<_> = top.iter().map(|(name, kind, _, ignored)| (name.as_str(), *kind, *ignored)).collect();
        let (folder, file) = (ListedKind::Folder, ListedKind::File);
        assert_eq!(
            named,
            [
                (".git", folder, true),
                ("node_modules", folder, true),
                ("src", folder, false),
                (".gitignore", file, false),
                ("etc", ListedKind::Link, false),
            ]
        );
        assert_eq!(left_out, 1);
        let (inner, _) = rows(&root.child("src").unwrap());
        let named: Vec<_> =
            inner.iter().map(|(name, kind, size, ignored)| (name.as_str(), *kind, *size, *ignored)).collect();
        assert_eq!(named, [("deep", folder, 0, false), ("a.log", file, 0, true), ("b.rs", file, 5, false)]);
        assert!(matches!(
            home.list_project_folder(&root.child("etc").unwrap(), None, 9),
            Err(StoreError::NotAllowed { .. })
        ));
        assert!(matches!(
            home.list_project_folder(&root.child("none").unwrap(), None, 9),
            Err(StoreError::NotFound { .. })
        ));
    }

    #[test]
    fn pages_of_a_folder_are_complete_while_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let scratch = folder.path().join("scratch");
        for n in 0..5 {
            std::fs::create_dir_all(scratch.join(format!("z{n}"))).unwrap();
            std::fs::write(scratch.join(format!("a{n}")), "1").unwrap();
        }
        std::fs::write(scratch.join("line\nbreak"), "").unwrap();
        let root = Place::of_root(Root::Project(ProjectId::scratch()));
        let (mut after, mut seen, mut left) = (None::<ListedAt>, Vec::new(), Vec::new());
        loop {
            let page = home.list_project_folder(&root, after.as_ref(), 3).unwrap();
            seen.extend(page.entries.iter().map(|entry| entry.place.file_name().to_owned()));
            left.push(page.left_out);
            // The entry that the cursor names goes, and one is added before it.
            if seen.len() == 3 {
                std::fs::remove_dir(scratch.join("z2")).unwrap();
                std::fs::create_dir(scratch.join("z00")).unwrap();
            }
            let Some(next) = page.next else { break };
            assert_eq!(ListedAt::parse(&next.to_string()).as_ref(), Some(&next));
            after = Some(next);
        }
        assert_eq!(seen, ["z0", "z1", "z2", "z3", "z4", "a0", "a1", "a2", "a3", "a4"]);
        assert_eq!(left, [8, 5, 2, 1]);
        for bad in ["", "a0", "x/a0"] {
            assert_eq!(ListedAt::parse(bad), None);
        }
    }

    #[test]
    fn numbers_in_names_are_sorted_by_their_values() {
        let ordered = ["a", "A1b", "a2", "a010", "a10", "a11 2", "a11 10", "B", "b1", "茶2", "茶10"];
        let mut sorted: Vec<_> = ordered.iter().rev().map(|name| ListedAt::new(false, (*name).to_owned())).collect();
        sorted.sort();
        assert_eq!(sorted.iter().map(|at| at.name.as_str()).collect::<Vec<_>>(), ordered);
    }
}
