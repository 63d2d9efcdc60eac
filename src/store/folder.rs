//! Lists one folder at a time, and finds files by path. A listing costs the same however many files the root has; a search
//! reads a limited number of names.

use std::io;

use cap_std::fs::{Dir, DirEntry};

use super::error::StoreError;
use super::files::escape_or;
use super::home::Home;
use super::listing::{File, FileEntry, MAX_DEPTH, kind, seen};
use crate::domain::{Place, Root};

/// Maximum number of folders, and of files, in the listing of a folder.
const MAX_LISTED: usize = 5_000;
/// Maximum number of names that are read: in one folder for a listing, in a root for a search.
const MAX_NAMES: usize = 200_000;

/// The direct children of a folder, sorted by name. Like the listing of a root it omits hidden files and folders, names
/// that are not allowed in a [`Place`], links that lead out, and special files such as pipes.
#[derive(Debug, Default, PartialEq)]
pub struct FolderContent {
    pub folders: Vec<Place>,
    pub files: Vec<FileEntry>,
    /// Number of folders and files beyond the 5,000 of each that are listed. Names beyond the first 200,000 are not
    /// counted.
    pub left_out: usize,
}

/// The files whose paths match a search, sorted by path.
#[derive(Debug, Default, PartialEq)]
pub struct FoundFiles {
    pub files: Vec<FileEntry>,
    /// Whether there may be more matches.
    pub more: bool,
}

impl Home {
    /// Lists the direct children of a root, or of a folder in one.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if the folder does not exist, and [`StoreError::NotAllowed`] for a file or for a
    /// link that leads out of the root.
    pub fn list_folder(&self, folder: &Place) -> Result<FolderContent, StoreError> {
        let dir = self.open_folder(folder)?;
        let mut names = FolderNames::read(&dir, MAX_NAMES).map_err(StoreError::io(format!("listing {folder}/")))?;
        let left_out = [names.folders.len(), names.files.len()].map(|n| n.saturating_sub(MAX_LISTED)).iter().sum();
        names.folders.truncate(MAX_LISTED);
        names.files.truncate(MAX_LISTED);
        Ok(FolderContent {
            folders: names.folders.iter().filter_map(|name| folder.child(name).ok()).collect(),
            files: names.files.iter().filter_map(|file| entry(&dir, folder, file)).collect(),
            left_out,
        })
    }

    /// Returns up to `most` files of a root whose paths are `wanted`, searched folder by folder.
    ///
    /// # Errors
    /// Returns an error if the root cannot be read. A subfolder that cannot be read is skipped.
    pub fn find_files(
        &self,
        root: &Root,
        most: usize,
        wanted: &dyn Fn(&Place) -> bool,
    ) -> Result<FoundFiles, StoreError> {
        let root = Place::of_root(root.clone());
        let dir = self.open_folder(&root)?;
        let mut search = NameSearch { wanted, most, names_left: MAX_NAMES, found: FoundFiles::default() };
        search.folder(&dir, &root, 0).map_err(StoreError::io(format!("listing {root}/")))?;
        let mut found = search.found;
        found.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    pub(super) fn open_folder(&self, folder: &Place) -> Result<Dir, StoreError> {
        // Opens relative to the root's own handle, so that no link in the root leads to another part of the home.
        let explain = |error: io::Error| match error.kind() {
            io::ErrorKind::NotADirectory => {
                StoreError::NotAllowed { path: folder.to_string(), why: "it is not a folder" }
            }
            _ => escape_or(folder, error),
        };
        let root = self.open_root(folder.root(), explain)?;
        if folder.path().is_empty() { Ok(root) } else { root.open_dir(folder.path()).map_err(explain) }
    }
}

/// The names in a folder that are UTF-8 and not hidden; both lists are sorted by name.
#[derive(Default)]
struct FolderNames {
    folders: Vec<String>,
    files: Vec<File>,
    /// Number of all entries that were read.
    count: usize,
}

impl FolderNames {
    fn read(dir: &Dir, most: usize) -> io::Result<Self> {
        let mut names = Self::default();
        for entry in dir.entries()?.take(most) {
            names.add(dir, &entry?)?;
        }
        names.folders.sort_unstable();
        names.files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }

    fn add(&mut self, dir: &Dir, entry: &DirEntry) -> io::Result<()> {
        self.count += 1;
        let Some(name) = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.')) else {
            return Ok(());
        };
        match kind(dir, entry)? {
            Some(kind) if kind.is_dir() => self.folders.push(name),
            Some(kind) => self.files.push(File { name, is_link: kind.is_symlink(), seen: None }),
            None => {}
        }
        Ok(())
    }
}

struct NameSearch<'a> {
    wanted: &'a dyn Fn(&Place) -> bool,
    most: usize,
    names_left: usize,
    found: FoundFiles,
}

impl NameSearch<'_> {
    fn folder(&mut self, dir: &Dir, folder: &Place, depth: usize) -> io::Result<()> {
        let names = FolderNames::read(dir, self.names_left)?;
        self.names_left -= names.count;
        for file in &names.files {
            let Ok(path) = folder.child(&file.name) else { continue };
            if !(self.wanted)(&path) {
                continue;
            }
            let Some(entry) = entry(dir, folder, file) else { continue };
            if self.found.files.len() == self.most {
                self.found.more = true;
                return Ok(());
            }
            self.found.files.push(entry);
        }
        for name in &names.folders {
            if self.found.more {
                break;
            }
            if depth == MAX_DEPTH || self.names_left == 0 {
                self.found.more = true;
                break;
            }
            let (Ok(path), Ok(inner)) = (folder.child(name), dir.open_dir(name)) else { continue };
            if let Err(error) = self.folder(&inner, &path, depth + 1) {
                tracing::debug!(%path, %error, "a folder could not be listed");
            }
        }
        Ok(())
    }
}

fn entry(dir: &Dir, folder: &Place, file: &File) -> Option<FileEntry> {
    let (stamp, size, modified) = seen(dir, file)?;
    Some(FileEntry { path: folder.child(&file.name).ok()?, size, modified, stamp })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(files: &[&str]) -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        for name in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        (folder, home)
    }

    fn listed(home: &Home, folder: &Place) -> Vec<String> {
        let content = home.list_folder(folder).unwrap();
        assert_eq!(content.left_out, 0);
        let folders = content.folders.iter().map(|folder| format!("{folder}/"));
        folders.chain(content.files.iter().map(|file| file.path.to_string())).collect()
    }

    fn place(text: &str) -> Place {
        Place::parse(text).unwrap()
    }

    #[test]
    fn folder_lists_direct_children() {
        let names =
            ["workspace/b.md", "workspace/a/in.md", "workspace/.git/HEAD", "workspace/.env", "workspace/x\n.md"];
        let (folder, home) = home(&names);
        std::os::unix::fs::symlink("b.md", folder.path().join("workspace/link.md")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("workspace/out.md")).unwrap();
        std::os::unix::fs::symlink("../sessions", folder.path().join("workspace/sessions")).unwrap();
        std::os::unix::net::UnixListener::bind(folder.path().join("workspace/socket")).unwrap();
        let root = Place::of_root(Root::Workspace);
        assert_eq!(listed(&home, &root), ["workspace/a/", "workspace/b.md", "workspace/link.md"]);
        assert_eq!(listed(&home, &place("workspace/a")), ["workspace/a/in.md"]);
    }

    #[test]
    fn only_folders_of_a_root_are_listed() {
        let (folder, home) = home(&["workspace/b.md", "sessions/s.json"]);
        std::os::unix::fs::symlink("../sessions", folder.path().join("workspace/sessions")).unwrap();
        let refused = |path: &str| home.list_folder(&place(path)).unwrap_err();
        assert!(matches!(refused("workspace/b.md"), StoreError::NotAllowed { why: "it is not a folder", .. }));
        assert!(matches!(refused("workspace/sessions"), StoreError::NotAllowed { .. }));
        assert!(matches!(refused("workspace/none"), StoreError::NotFound { .. }));
    }

    #[test]
    fn long_folder_states_omitted_count() {
        let (folder, home) = home(&[]);
        for n in 0..MAX_LISTED + 7 {
            std::fs::write(folder.path().join(format!("knowledge/{n:05}")), "").unwrap();
        }
        let content = home.list_folder(&Place::of_root(Root::Knowledge)).unwrap();
        assert_eq!((content.files.len(), content.left_out), (MAX_LISTED, 7));
        assert_eq!(content.files[MAX_LISTED - 1].path.as_str(), "knowledge/04999");
    }

    #[test]
    fn files_are_found_by_path_at_any_depth() {
        let deep = format!("memory/{}x.md", "d/".repeat(MAX_DEPTH + 1));
        let (_folder, home) = home(&["memory/x.md", "memory/a/x.md", "memory/a/y.md", "memory/.x/x.md", &deep]);
        let find =
            |most, end: &str| home.find_files(&Root::Memory, most, &|path| path.as_str().ends_with(end)).unwrap();
        let paths = |found: &FoundFiles| found.files.iter().map(|file| file.path.to_string()).collect::<Vec<_>>();
        let found = find(10, "x.md");
        assert_eq!((paths(&found), found.more), (vec!["memory/a/x.md".to_owned(), "memory/x.md".to_owned()], true));
        assert_eq!((find(1, ".md").files.len(), find(1, ".md").more), (1, true));
        std::fs::remove_dir_all(_folder.path().join("memory/d")).unwrap();
        assert!(!find(3, ".md").more);
        assert_eq!(find(3, "none"), FoundFiles::default());
    }
}
