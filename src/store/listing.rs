//! What is below a folder: one look at each file, by several threads where there are many.
//!
//! Every question to an index begins with this, so that it counts in microseconds a file.

use std::io;
use std::thread;

use cap_std::fs::{Dir, Metadata, MetadataExt};
use serde::Serialize;

use crate::domain::{FileStamp, HomePath};

/// Listings stop at this depth and this many files: a folder symlinked or unpacked by mistake must not stop the server.
const MAX_DEPTH: usize = 12;
const MAX_FILES: usize = 20_000;
/// A thread is started for so many files, and this many threads at most.
const SHARE: usize = 512;
const MAX_THREADS: usize = 4;

/// A file in a listing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileEntry {
    pub path: HomePath,
    pub size: u64,
    /// Unix seconds.
    pub modified: f64,
    #[serde(skip)]
    pub stamp: FileStamp,
}

/// Everything below the folder `root`, by path. Hidden files and folders are left out, and what is no file.
pub(super) fn below(dir: &Dir, root: &HomePath) -> io::Result<Vec<FileEntry>> {
    let mut names = Names { root: dir, folders: Vec::new(), count: 0 };
    names.read(dir, root, 0)?;
    let mut found = names.look(SHARE);
    // Sorted folder by folder, so that little is left to do.
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// The files of a folder, by name.
struct Folder {
    path: HomePath,
    /// The same from the root of the listing; empty for the root itself.
    below_root: String,
    files: Vec<Name>,
}

struct Name {
    text: String,
    is_link: bool,
}

struct Names<'a> {
    root: &'a Dir,
    folders: Vec<Folder>,
    count: usize,
}

impl Names<'_> {
    fn read(&mut self, dir: &Dir, path: &HomePath, depth: usize) -> io::Result<()> {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for entry in dir.entries()? {
            let entry = entry?;
            let Ok(text) = entry.file_name().into_string() else { continue };
            if text.starts_with('.') || self.count >= MAX_FILES {
                continue;
            }
            let mut kind = entry.file_type()?;
            if !(kind.is_file() || kind.is_dir() || kind.is_symlink()) {
                // Some file systems do not say; a pipe or a socket says so again.
                let Ok(meta) = dir.symlink_metadata(&text) else { continue };
                kind = meta.file_type();
            }
            if kind.is_dir() {
                folders.push(text);
            } else if kind.is_file() || kind.is_symlink() {
                files.push(Name { text, is_link: kind.is_symlink() });
                self.count += 1;
            }
        }
        files.sort_unstable_by(|a, b| a.text.cmp(&b.text));
        let below_root = path.as_str().split_once('/').map_or("", |(_, below)| below).to_owned();
        self.folders.push(Folder { path: path.clone(), below_root, files });
        if depth >= MAX_DEPTH {
            return Ok(());
        }
        folders.sort_unstable();
        for name in folders {
            let Ok(path) = path.child(&name) else { continue };
            // A folder that cannot be read hides what is in it, and nothing else.
            if let Ok(inner) = dir.open_dir(&name) {
                self.read(&inner, &path, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Looks at every file; a thread has at least `share` of them.
    fn look(&self, share: usize) -> Vec<FileEntry> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = (self.count / share.max(1)).clamp(1, cores.min(MAX_THREADS));
        let shares = self.shares(self.count.div_ceil(threads).max(1));
        let Some((first, others)) = shares.split_first() else { return Vec::new() };
        thread::scope(|scope| {
            let others: Vec<_> = others.iter().map(|share| scope.spawn(|| self.look_at(share))).collect();
            let mut found = self.look_at(first);
            for other in others {
                found.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            found
        })
    }

    /// All files in shares of `most`: folders with some of their files.
    fn shares(&self, most: usize) -> Vec<Vec<(&Folder, &[Name])>> {
        let mut shares: Vec<Vec<(&Folder, &[Name])>> = vec![Vec::new()];
        let mut room = most;
        for folder in &self.folders {
            let mut files = folder.files.as_slice();
            while !files.is_empty() {
                if room == 0 {
                    shares.push(Vec::new());
                    room = most;
                }
                let (these, rest) = files.split_at(room.min(files.len()));
                room -= these.len();
                files = rest;
                shares.last_mut().expect("there is one from the begin").push((folder, these));
            }
        }
        shares
    }

    fn look_at(&self, share: &[(&Folder, &[Name])]) -> Vec<FileEntry> {
        let mut found = Vec::with_capacity(share.iter().map(|(_, files)| files.len()).sum());
        for (folder, files) in share {
            let opened;
            let dir = if folder.below_root.is_empty() {
                self.root
            } else {
                let Ok(dir) = self.root.open_dir(&folder.below_root) else { continue };
                opened = dir;
                &opened
            };
            found.extend(files.iter().filter_map(|file| entry(dir, &folder.path, file)));
        }
        found
    }
}

fn entry(dir: &Dir, folder: &HomePath, file: &Name) -> Option<FileEntry> {
    // A link that leads out, or to nothing, is not part of the home.
    let meta = if file.is_link { dir.metadata(&file.text) } else { dir.symlink_metadata(&file.text) }.ok()?;
    if !meta.is_file() {
        return None;
    }
    let path = folder.child(&file.text).ok()?;
    Some(FileEntry { path, size: meta.len(), modified: modified(&meta), stamp: stamp(&meta) })
}

fn modified(meta: &Metadata) -> f64 {
    if meta.mtime() < 0 { 0.0 } else { meta.mtime() as f64 + meta.mtime_nsec() as f64 / 1e9 }
}

fn stamp(meta: &Metadata) -> FileStamp {
    let (modified, changed) = ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
    FileStamp::of(meta.len(), modified, changed, (meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    fn root() -> HomePath {
        HomePath::parse("knowledge").unwrap()
    }

    fn listed(folder: &std::path::Path) -> Vec<FileEntry> {
        below(&Dir::open_ambient_dir(folder, ambient_authority()).unwrap(), &root()).unwrap()
    }

    fn paths(folder: &std::path::Path) -> Vec<String> {
        listed(folder).iter().map(|file| file.path.to_string()).collect()
    }

    fn write(folder: &std::path::Path, name: &str) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    }

    #[test]
    fn files_come_by_path_whatever_lies_between_folders() {
        let folder = tempfile::tempdir().unwrap();
        let names = ["a/b.md", "a/b/c.md", "a/z.md", "a-b/x.md", "a.md", "a b/y.md", "b", "猫.md", "a/0.md"];
        names.iter().for_each(|name| write(folder.path(), name));
        for hidden in [".env", "a/.git/config", ".cache/x.md", "a/back\\slash.md", "line\nbreak.md", "x\u{85}/in.md"] {
            write(folder.path(), hidden);
        }
        let mut expected = names.map(|name| format!("knowledge/{name}"));
        expected.sort();
        assert_eq!(paths(folder.path()), expected);
    }

    #[test]
    fn the_twelfth_folder_is_listed_and_the_thirteenth_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let deep = |count: usize| "d/".repeat(count);
        write(folder.path(), &format!("{}in.md", deep(MAX_DEPTH)));
        write(folder.path(), &format!("{}out.md", deep(MAX_DEPTH + 1)));
        assert_eq!(paths(folder.path()), [format!("knowledge/{}in.md", deep(12))]);
    }

    #[test]
    fn no_more_than_the_most_files_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..=MAX_FILES {
            std::fs::File::create(folder.path().join(number.to_string())).unwrap();
        }
        assert_eq!(listed(folder.path()).len(), MAX_FILES);
    }

    #[test]
    fn links_count_as_what_they_lead_to_within_the_folder() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(folder.path(), "a/real.md");
        write(outside.path(), "secret.md");
        let link = |to: &std::path::Path, name: &str| std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap();
        link("a/real.md".as_ref(), "link.md");
        link("a".as_ref(), "folder");
        link("nowhere".as_ref(), "broken.md");
        link(&outside.path().join("secret.md"), "out.md");
        link(outside.path(), "outside");
        let found = listed(folder.path());
        let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["knowledge/a/real.md", "knowledge/link.md"]);
        assert_eq!(found[0].stamp, found[1].stamp, "an edit of the file is an edit of what leads to it");
    }

    #[test]
    fn a_pipe_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = std::ffi::CString::new(folder.path().join("pipe").to_str().unwrap()).unwrap();
        // SAFETY: a NUL-terminated path and a mode are all mkfifo takes.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert!(listed(folder.path()).is_empty());
    }

    #[test]
    fn an_edit_that_keeps_size_and_time_of_change_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a.md");
        let before = listed(folder.path());
        let path = folder.path().join("a.md");
        let then = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::write(folder.path().join("b.md"), "b.md").unwrap();
        std::fs::rename(folder.path().join("b.md"), &path).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
        let after = listed(folder.path());
        assert_eq!((after[0].size, after[0].modified), (before[0].size, before[0].modified));
        assert_ne!(after[0].stamp, before[0].stamp);
    }

    #[test]
    fn several_threads_see_what_one_sees() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..61 {
            write(folder.path(), &format!("{}/{}.md", number % 7, number));
            write(folder.path(), &format!("{number}.md"));
        }
        let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let mut names = Names { root: &dir, folders: Vec::new(), count: 0 };
        names.read(&dir, &root(), 0).unwrap();
        let alone = names.look(usize::MAX);
        assert_eq!(alone.len(), 122);
        assert_eq!(names.look(10), alone);
        for most in [1, 2, 7, 50, 121, 122, 500] {
            let shares = names.shares(most);
            assert_eq!(shares.len(), 122usize.div_ceil(most), "{most}");
            let found: Vec<FileEntry> = shares.iter().flat_map(|share| names.look_at(share)).collect();
            assert_eq!(found, alone, "{most}");
        }
    }
}
