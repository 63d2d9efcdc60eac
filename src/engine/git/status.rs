//! Reads `git status --porcelain=v2 -z`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::domain::{EntryPath, Root};

/// Maximum number of files that are listed.
const MAX_ENTRIES: usize = 10_000;

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitChange {
    Added,
    Modified,
    Deleted,
    Renamed,
    Copied,
    /// A file became a link, for example.
    TypeChanged,
    Untracked,
    Conflict,
}

/// A file that differs from the last commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitEntry {
    pub path: EntryPath,
    /// Where it was before it was renamed.
    pub from: Option<EntryPath>,
    /// What is staged of it.
    pub staged: Option<GitChange>,
    /// What is not staged.
    pub unstaged: Option<GitChange>,
    /// It is a folder that is a repository of its own.
    pub is_folder: bool,
}

/// The state of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitStatus {
    /// The branch; `None` if a commit is checked out instead.
    pub branch: Option<String>,
    /// The last commit; `None` before the first.
    pub head: Option<String>,
    pub upstream: Option<String>,
    /// Commits that only the branch has, and only its upstream.
    pub ahead: u64,
    pub behind: u64,
    /// In the order of git, by path.
    pub entries: Vec<GitEntry>,
    /// Number of files beyond the 10,000 that are listed, as far as git told them.
    pub left_out: usize,
    /// Whether a file that git tracks is among them.
    pub leaves_out_changes: bool,
}

impl GitStatus {
    /// Returns whether a file that git tracks has a change.
    pub fn is_dirty(&self) -> bool {
        self.leaves_out_changes || self.entries.iter().any(|entry| entry.unstaged != Some(GitChange::Untracked))
    }
}

/// Reads a status. What is not understood is left out.
pub(super) fn parse(root: &Root, bytes: &[u8]) -> GitStatus {
    let mut status = GitStatus::default();
    let mut records = bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty());
    while let Some(record) = records.next() {
        let Some((kind, rest)) = record.split_first() else { continue };
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        let entry = match kind {
            b'#' => {
                header(&mut status, &String::from_utf8_lossy(rest));
                continue;
            }
            b'1' => entry(root, rest, 7),
            b'2' => {
                let from = records.next().and_then(|from| path(root, from));
                entry(root, rest, 8).map(|entry| GitEntry { from, ..entry })
            }
            b'u' => entry(root, rest, 9).map(|entry| GitEntry {
                staged: None,
                unstaged: Some(GitChange::Conflict),
                ..entry
            }),
            b'?' => untracked(root, rest),
            _ => None,
        };
        match entry {
            Some(entry) if status.entries.len() < MAX_ENTRIES => status.entries.push(entry),
            Some(entry) => {
                status.left_out += 1;
                status.leaves_out_changes |= entry.unstaged != Some(GitChange::Untracked);
            }
            None => {}
        }
    }
    status
}

fn header(status: &mut GitStatus, line: &str) {
    match line.split_once(' ') {
        Some(("branch.oid", "(initial)")) => {}
        Some(("branch.oid", id)) => status.head = Some(id.to_owned()),
        Some(("branch.head", "(detached)")) => {}
        Some(("branch.head", name)) => status.branch = Some(name.to_owned()),
        Some(("branch.upstream", name)) => status.upstream = Some(name.to_owned()),
        Some(("branch.ab", counts)) => {
            let number = |text: Option<&str>| text.and_then(|text| text[1..].parse().ok()).unwrap_or(0);
            let mut counts = counts.split(' ').filter(|count| count.starts_with(['+', '-']));
            (status.ahead, status.behind) = (number(counts.next()), number(counts.next()));
        }
        _ => {}
    }
}

/// Reads `XY` and then `fields` fields, of which the last is the path.
fn entry(root: &Root, record: &[u8], fields: usize) -> Option<GitEntry> {
    let &[staged, unstaged, ..] = record else { return None };
    let at = record.splitn(fields + 1, |byte| *byte == b' ').nth(fields)?;
    let (staged, unstaged) = (change(staged), change(unstaged));
    let is_changed = staged.is_some() || unstaged.is_some();
    let path = path(root, at).filter(|_| is_changed || fields == 9)?;
    Some(GitEntry { path, from: None, staged, unstaged, is_folder: false })
}

fn untracked(root: &Root, bytes: &[u8]) -> Option<GitEntry> {
    let (bytes, is_folder) = bytes.strip_suffix(b"/").map_or((bytes, false), |bytes| (bytes, true));
    // Temporary files of commands.
    if bytes == b".tmp" || bytes.starts_with(b".tmp/") {
        return None;
    }
    Some(GitEntry {
        path: path(root, bytes)?,
        from: None,
        staged: None,
        unstaged: Some(GitChange::Untracked),
        is_folder,
    })
}

fn path(root: &Root, bytes: &[u8]) -> Option<EntryPath> {
    EntryPath::new(root.clone(), Path::new(OsStr::from_bytes(bytes))).ok()
}

fn change(letter: u8) -> Option<GitChange> {
    match letter {
        b'A' => Some(GitChange::Added),
        b'M' => Some(GitChange::Modified),
        b'D' => Some(GitChange::Deleted),
        b'R' => Some(GitChange::Renamed),
        b'C' => Some(GitChange::Copied),
        b'T' => Some(GitChange::TypeChanged),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ProjectId;
    use proptest::prelude::*;

    fn root() -> Root {
        Root::Project(ProjectId::scratch())
    }

    #[test]
    fn status_is_read() {
        let text = b"# branch.oid 1234\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -1\0\
            1 .M N... 100644 100644 100644 aa bb a b\xff.txt\0\
            2 R. N... 100644 100644 100644 aa bb R100 new\0old\0\
            u UU N... 100644 100644 100644 100644 aa bb cc both\0? more/deep\0? sub/\0? .tmp/x\0! ignored\0";
        let status = parse(&root(), text);
        assert_eq!((status.branch.as_deref(), status.head.as_deref()), (Some("main"), Some("1234")));
        assert_eq!((status.upstream.as_deref(), status.ahead, status.behind), (Some("origin/main"), 2, 1));
        let rows: Vec<_> =
            status.entries.iter().map(|entry| (entry.path.as_str(), entry.staged, entry.unstaged)).collect();
        let expected = [
            ("project/scratch/a b\\xff.txt", None, Some(GitChange::Modified)),
            ("project/scratch/new", Some(GitChange::Renamed), None),
            ("project/scratch/both", None, Some(GitChange::Conflict)),
            ("project/scratch/more/deep", None, Some(GitChange::Untracked)),
            ("project/scratch/sub", None, Some(GitChange::Untracked)),
        ];
        assert_eq!(rows, expected);
        assert_eq!(status.entries[1].from.as_ref().unwrap().as_str(), "project/scratch/old");
        assert!(status.entries[4].is_folder && status.is_dirty());
        let first = parse(&root(), b"# branch.oid (initial)\0# branch.head (detached)\0? a\0");
        assert_eq!((first.head.clone(), first.branch.clone(), first.is_dirty()), (None, None, false));
    }

    #[test]
    fn long_list_is_cut_and_counted() {
        let text: String = (0..MAX_ENTRIES + 7).map(|n| format!("? {n}\0")).collect();
        let status = parse(&root(), text.as_bytes());
        assert_eq!((status.entries.len(), status.left_out), (MAX_ENTRIES, 7));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_and_no_path_leads_out(
            records in proptest::collection::vec(
                (prop::sample::select(b"#12u?!x".to_vec()), proptest::collection::vec(any::<u8>(), 0..60)), 0..20)
        ) {
            let mut bytes = Vec::new();
            for (kind, rest) in records {
                bytes.push(kind);
                bytes.push(b' ');
                bytes.extend(rest);
                bytes.push(0);
            }
            for entry in parse(&root(), &bytes).entries {
                prop_assert!(entry.path.below().is_relative());
                prop_assert!(!entry.path.below().components().any(|part| part.as_os_str() == ".."));
            }
        }

        #[test]
        fn any_name_of_a_file_is_kept(name in proptest::collection::vec(1..=255_u8, 1..40)) {
            prop_assume!(EntryPath::new(root(), Path::new(OsStr::from_bytes(&name))).is_ok());
            let record = [b"1 M. N... 100644 100644 100644 aa bb ".as_slice(), &name, b"\0"].concat();
            let status = parse(&root(), &record);
            prop_assert_eq!(status.entries[0].path.below().as_os_str().as_bytes(), name.as_slice());
        }
    }
}
