//! What a scan of a folder leaves out: hidden files, and in a project what its `.gitignore` files say, which are read again when they
//! change.

use std::sync::Arc;

use cap_std::fs::Dir;
use ignore::gitignore::Gitignore;

use super::listing;
use super::project_walk::{IGNORE_FILE, is_ignored, rules_of};
use crate::domain::{FileStamp, Place};

/// Maximum depth and number of files of the listing of a project.
const MAX_PROJECT_DEPTH: usize = 64;
const MAX_PROJECT_FILES: usize = 50_000;

/// Which entries a scan lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ScanKind {
    /// Those whose names do not begin with a dot.
    #[default]
    Visible,
    /// Those whose names begin with a dot too.
    Hidden,
    /// Those of a project: no links, no names that begin with a dot, and nothing that a `.gitignore` leaves out.
    Project,
}

impl ScanKind {
    pub fn max_files(self) -> usize {
        if self == Self::Project { MAX_PROJECT_FILES } else { listing::MAX_FILES }
    }

    pub fn max_depth(self) -> usize {
        if self == Self::Project { MAX_PROJECT_DEPTH } else { listing::MAX_DEPTH }
    }
}

/// The rules of one folder.
#[derive(Clone, Default)]
pub(super) struct FolderRules {
    /// Stamp of its `.gitignore`; `None` if it has none.
    stamp: Option<FileStamp>,
    rules: Option<Arc<Gitignore>>,
}

impl FolderRules {
    /// Reads the rules of a folder, or takes those that are known if the file is the same.
    pub fn read(dir: &Dir, below_root: &str, known: Option<&Self>) -> Self {
        let stamp = dir.symlink_metadata(IGNORE_FILE).ok().map(|meta| listing::stamp(&meta));
        match known {
            Some(known) if known.stamp == stamp => known.clone(),
            _ => Self { rules: stamp.and_then(|_| rules_of(dir, below_root)), stamp },
        }
    }
}

/// The rules that count in a folder: its own, and those of the folders above it.
#[derive(Default)]
pub(super) struct Rules {
    all: Vec<Arc<Gitignore>>,
    /// Whether a folder on the way has other rules than at the last scan.
    changed: bool,
}

/// What [`Rules`] were before a folder was entered.
pub(super) struct Outer {
    length: usize,
    changed: bool,
}

impl Rules {
    /// Adds the rules of a folder. `known` are those of the last scan, if it had the folder.
    pub fn enter(&mut self, own: &FolderRules, known: Option<&FolderRules>) -> Outer {
        let outer = Outer { length: self.all.len(), changed: self.changed };
        self.changed |= known.is_some_and(|known| known.stamp != own.stamp);
        self.all.extend(own.rules.clone());
        outer
    }

    pub fn leave(&mut self, outer: Outer) {
        self.all.truncate(outer.length);
        self.changed = outer.changed;
    }

    /// Whether the names in the folder have to be read again, because other rules count than at the last scan.
    pub fn are_new(&self) -> bool {
        self.changed
    }

    pub fn leave_out(&self, folder: &Place, name: &str, is_folder: bool) -> bool {
        !self.all.is_empty() && folder.child(name).is_ok_and(|place| is_ignored(&self.all, &place, is_folder))
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::{ProjectId, Root};
    use crate::store::{FolderScan, Home};

    fn paths(home: &Home, scan: &mut FolderScan) -> Vec<String> {
        home.rescan(&Root::Project(ProjectId::scratch()), scan).unwrap();
        scan.files().iter().map(|file| file.path.path().to_owned()).collect()
    }

    #[test]
    fn scan_of_a_project_leaves_out_what_git_does() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let scratch = folder.path().join("scratch");
        let write = |path: &str, text: &str| {
            std::fs::create_dir_all(scratch.join(path).parent().unwrap()).unwrap();
            std::fs::write(scratch.join(path), text).unwrap();
        };
        for path in
            ["a.md", "b.log", "sub/b.log", "sub/c.md", ".obsidian/app.json", ".trash/old.md", ".git/x", "d/e.md"]
        {
            write(path, "");
        }
        std::os::unix::fs::symlink(scratch.join("a.md"), scratch.join("link.md")).unwrap();
        std::os::unix::fs::symlink("/etc", scratch.join("etc")).unwrap();
        let mut scan = FolderScan::of_project();
        assert_eq!(paths(&home, &mut scan), ["a.md", "b.log", "d/e.md", "sub/b.log", "sub/c.md"]);
        write(".gitignore", "*.log\n/d/\n");
        assert_eq!(paths(&home, &mut scan), ["a.md", "sub/c.md"]);
        write("sub/.gitignore", "!b.log\n");
        assert_eq!(paths(&home, &mut scan), ["a.md", "sub/b.log", "sub/c.md"]);
        write(".gitignore", "*.md\n");
        assert_eq!(paths(&home, &mut scan), ["b.log", "sub/b.log"]);
        std::fs::remove_file(scratch.join(".gitignore")).unwrap();
        assert_eq!(paths(&home, &mut scan), ["a.md", "b.log", "d/e.md", "sub/b.log", "sub/c.md"]);
        assert_eq!(paths(&home, &mut FolderScan::of_project()), paths(&home, &mut scan));
    }
}
