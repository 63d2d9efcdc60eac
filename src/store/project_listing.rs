//! One folder of a project as a person sees it: hidden files and ignored ones too.

use cap_std::fs::{DirEntry, FileType, MetadataExt};

use super::error::StoreError;
use super::home::Home;
use super::listing::kind;
use super::project_walk::{LEFT_OUT, is_ignored, rules_of};
use crate::domain::Place;

/// Maximum number of entries that are listed, and of names that are read.
const MAX_LISTED: usize = 10_000;
const MAX_NAMES: usize = 500_000;

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

/// The entries of a folder: folders first, each sorted by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectListing {
    pub entries: Vec<ListedEntry>,
    /// Number of entries beyond the 10,000 that are listed, or whose names are not allowed in a path.
    pub left_out: usize,
}

impl Home {
    /// Lists one folder of a project.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such folder, and [`StoreError::NotAllowed`] for a file.
    pub fn list_project_folder(&self, folder: &Place) -> Result<ProjectListing, StoreError> {
        let doing = || StoreError::io(format!("listing {folder}/"));
        let mut rules = self.rules_above(folder)?;
        let dir = self.open_folder(folder)?;
        rules.extend(rules_of(&dir, folder.path()));
        let (mut found, mut left_out) = (Vec::new(), 0);
        for entry in dir.entries().map_err(doing())?.take(MAX_NAMES) {
            let entry = entry.map_err(doing())?;
            let Some(kind) = kind(&dir, &entry).map_err(doing())? else { continue };
            match named(folder, &entry, kind) {
                Some(named) => found.push(named),
                None => left_out += 1,
            }
        }
        found.sort_by(|(a, a_kind), (b, b_kind)| {
            let order = |kind: &FileType| !kind.is_dir();
            order(a_kind).cmp(&order(b_kind)).then_with(|| a.cmp(b))
        });
        left_out += found.len().saturating_sub(MAX_LISTED);
        found.truncate(MAX_LISTED);
        let entries = found.into_iter().map(|(place, kind)| {
            let meta = dir.symlink_metadata(place.file_name()).ok();
            let own = LEFT_OUT.contains(&place.file_name());
            ListedEntry {
                is_ignored: own || is_ignored(&rules, &place, kind.is_dir()),
                kind: match kind {
                    kind if kind.is_dir() => ListedKind::Folder,
                    kind if kind.is_file() => ListedKind::File,
                    _ => ListedKind::Link,
                },
                size: meta.as_ref().filter(|_| !kind.is_dir()).map_or(0, MetadataExt::size),
                modified: meta.map_or(0.0, |meta| meta.mtime() as f64 + meta.mtime_nsec() as f64 / 1e9),
                place,
            }
        });
        Ok(ProjectListing { entries: entries.collect(), left_out })
    }
}

fn named(folder: &Place, entry: &DirEntry, kind: FileType) -> Option<(Place, FileType)> {
    Some((folder.child(entry.file_name().to_str()?).ok()?, kind))
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
            let listing = home.list_project_folder(folder).unwrap();
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
        assert!(matches!(home.list_project_folder(&root.child("etc").unwrap()), Err(StoreError::NotAllowed { .. })));
        assert!(matches!(home.list_project_folder(&root.child("none").unwrap()), Err(StoreError::NotFound { .. })));
    }
}
