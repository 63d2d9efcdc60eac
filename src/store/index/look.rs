//! What a folder contained at one moment: every entry with its attributes, and files with the hash of their content. A file
//! is read only if its stamp is not the one of the look before.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::copies::Copies;
use super::walk::{Found, LeftOut, LeftOutReason, Walked, walk};
use crate::clock;
use crate::store::blobs::{Content as Hashed, hash_of};
use crate::store::capture::{Beneath, Node, NodeKind};
use crate::store::listing::COARSEST;

/// Maximum number of files, folders and links that a folder may have to be looked at.
pub const MAX_ENTRIES: usize = 50_000;
/// Maximum number of bytes that one look reads; contents beyond it stay unknown until a later look.
const MAX_READ: u64 = 4 << 30;
/// How often a file that changes while it is read is read again.
const READS: usize = 3;

/// An entry as a look found it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub node: Node,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// It is no file.
    None,
    Known {
        /// SHA-256 in hexadecimal.
        hash: String,
        /// Unix seconds before the content was read. A change in the same tick of the file system's clock would not change
        /// the stamp, so a file that had changed just before is read again by the next look.
        read_at: f64,
    },
    /// It was not read: one look reads no more than 4 GiB, and a file may be unreadable or change all the time.
    Unknown,
}

impl Entry {
    /// Returns whether both are the same for a record: times and owners do not count.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.node.kind, &other.node.kind) {
            (NodeKind::File, NodeKind::File) => self.node.mode == other.node.mode && self.has_content_of(other),
            (NodeKind::Folder, NodeKind::Folder) => self.node.mode == other.node.mode,
            (one, another) => one == another,
        }
    }

    pub fn has_content_of(&self, other: &Self) -> bool {
        match (&self.content, &other.content) {
            (Content::Known { hash, .. }, Content::Known { hash: other, .. }) => hash == other,
            _ => self.node.stamp == other.node.stamp,
        }
    }

    /// Returns a file whose content was read just now.
    pub fn of_file(node: Node, hash: String) -> Self {
        Self { node, content: Content::Known { hash, read_at: clock::now() } }
    }

    /// Returns the hash of a file's content, if it is known.
    pub fn hash(&self) -> Option<&str> {
        match &self.content {
            Content::Known { hash, .. } => Some(hash),
            Content::None | Content::Unknown => None,
        }
    }

    /// Returns its content if it is that of a later look too.
    fn content_now(&self, now: &Node) -> Option<Content> {
        let Content::Known { read_at, .. } = &self.content else { return None };
        let (seconds, nanoseconds) = now.changed;
        let settled_at = seconds as f64 + nanoseconds as f64 / 1e9 + COARSEST.as_secs_f64();
        (self.node.stamp == now.stamp && settled_at < *read_at).then(|| self.content.clone())
    }
}

/// Whether an entry is the same at two moments; `None` means that there is none.
pub fn is_same(one: Option<&Entry>, other: Option<&Entry>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.is_same(other),
        _ => false,
    }
}

/// What a folder contained.
#[derive(Debug, Default)]
pub struct Look {
    /// By path, relative to the folder.
    pub entries: BTreeMap<PathBuf, Entry>,
    /// Sorted.
    pub left_out: Vec<LeftOut>,
    /// Whether there is more in the folder than it contains.
    pub is_cut: bool,
}

impl Look {
    /// Looks at a folder. `None` if it has more than `most` entries.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be listed.
    pub fn take(folder: &Path, last: Option<&Self>, most: usize) -> io::Result<Option<Self>> {
        let (look, _) = Self::walked(folder, last, most)?;
        Ok(Some(look).filter(|look| !look.is_cut))
    }

    /// Looks at a folder again. If it has more than `most` entries by now, the look is cut: it contains that many of them, and
    /// all that `before` contains and that are still there.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be listed.
    pub fn take_again(folder: &Path, (before, last): (&Self, Option<&Self>), most: usize) -> io::Result<Self> {
        let (mut look, mut budget) = Self::walked(folder, last, most)?;
        if look.is_cut {
            let beneath = Beneath::open(folder)?;
            let missed: Vec<&PathBuf> =
                before.entries.keys().filter(|path| !look.entries.contains_key(*path)).collect();
            for path in missed {
                // What cannot be looked at any more counts as unchanged.
                let now = entry_at(&beneath, path, (last, &mut budget));
                let now = now.unwrap_or_else(|_| before.entries.get(path).cloned());
                look.entries.extend(now.map(|entry| (path.clone(), entry)));
            }
        }
        Ok(look)
    }

    /// Returns a look with the bytes that it may still read.
    fn walked(folder: &Path, last: Option<&Self>, most: usize) -> io::Result<(Self, u64)> {
        let (mut entries, mut budget) = (BTreeMap::new(), MAX_READ);
        let Walked { left_out, is_cut } = walk(folder, most, &mut |found: Found| {
            let entry = looked_at(&found, (last, &mut budget));
            entries.insert(found.path, entry);
        })?;
        let mut look = Self { entries, left_out, is_cut };
        if let Some(last) = last {
            look.keep_what_is_hidden(last);
        }
        Ok((look, budget))
    }

    /// Nothing is known of what is in a folder that cannot be read any more, so it counts as unchanged.
    fn keep_what_is_hidden(&mut self, last: &Self) {
        let hidden = self.left_out.iter().filter(|left| left.why == LeftOutReason::Unreadable);
        for LeftOut { path, .. } in hidden {
            let below = last.entries.range(path.clone()..).take_while(|(below, _)| below.starts_with(path));
            for (below, entry) in below.filter(|(below, _)| *below != path) {
                self.entries.entry(below.clone()).or_insert_with(|| entry.clone());
            }
        }
    }

    /// Keeps copies of the contents.
    ///
    /// # Errors
    /// Returns an error if a copy cannot be written.
    pub fn copy_to(&self, copies: &Copies, folder: &Path) -> io::Result<()> {
        let mut beneath = None;
        for (path, entry) in &self.entries {
            let Some(hash) = entry.hash().filter(|hash| !copies.has(hash)) else { continue };
            let beneath = match &beneath {
                Some(beneath) => beneath,
                None => beneath.insert(Beneath::open(folder)?),
            };
            // A file that cannot be opened any more is not kept, and a record says so.
            if let Ok(file) = beneath.file(path) {
                copies.add(hash, entry.node.size, &file)?;
            }
        }
        Ok(())
    }
}

/// Looks at one entry of a folder, as it is now; `None` if there is none. Its content is read only if it is not that of the
/// last look.
pub fn entry_now(beneath: &Beneath, path: &Path, last: Option<&Look>) -> Option<Entry> {
    entry_at(beneath, path, (last, &mut { MAX_READ })).ok()?
}

fn entry_at(beneath: &Beneath, path: &Path, known: (Option<&Look>, &mut u64)) -> io::Result<Option<Entry>> {
    let Some(node) = beneath.node(path)? else { return Ok(None) };
    let folder = beneath.folder(path.parent().unwrap_or(Path::new("")))?;
    Ok(Some(looked_at(&Found { beneath, folder: &folder, path: path.to_owned(), node }, known)))
}

/// Looks at an entry that was found. Its content is read only if it is not that of the last look.
fn looked_at(found: &Found, (last, budget): (Option<&Look>, &mut u64)) -> Entry {
    let known = last.and_then(|last| last.entries.get(&found.path));
    match known.and_then(|known| known.content_now(&found.node)) {
        Some(content) => Entry { node: found.node.clone(), content },
        None => read(found, budget),
    }
}

/// Reads the content of a file that has been found.
fn read(found: &Found, budget: &mut u64) -> Entry {
    let mut node = found.node.clone();
    if node.kind != NodeKind::File {
        return Entry { node, content: Content::None };
    }
    for _ in 0..READS {
        if node.size > *budget {
            break;
        }
        let read_at = clock::now();
        let opened = found.beneath.file_in(found.folder, found.name());
        // A file that grows faster than it is read has no end.
        let bounded = opened.and_then(|file| hash_of(file.take(node.size.saturating_add(1))));
        let Ok(Hashed { hash, size }) = bounded else { break };
        *budget = budget.saturating_sub(size);
        // Opening a file that its owner may not read changes its time, so it is read twice.
        match found.beneath.node_in(found.folder, found.name()) {
            Ok(Some(now)) if now.kind != NodeKind::File => break,
            Ok(Some(now)) if now.stamp == node.stamp => {
                return Entry { node, content: Content::Known { hash, read_at } };
            }
            Ok(Some(now)) if is_touched(&now, &node) => {
                return Entry { node: now, content: Content::Known { hash, read_at } };
            }
            Ok(Some(now)) => node = now,
            Ok(None) | Err(_) => break,
        }
    }
    Entry { node, content: Content::Unknown }
}

/// Whether only the time of the last change differs, as after a read of a file whose owner may not read it. The look counts
/// it as just changed, so the next one reads it again.
fn is_touched(now: &Node, before: &Node) -> bool {
    let same = |node: &Node| (node.mode, node.size, node.device, node.inode, node.modified);
    before.mode & 0o400 == 0 && same(now) == same(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn look(folder: &Path, last: Option<&Look>) -> Look {
        Look::take(folder, last, MAX_ENTRIES).unwrap().unwrap()
    }

    #[test]
    fn unchanged_file_is_read_again_only_if_it_is_fresh() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let mut first = look(folder.path(), None);
        // A content that only the first look knows shows whether the next one read the file.
        let forge = |look: &mut Look, read_at: f64| {
            let entry = look.entries.get_mut(Path::new("a")).unwrap();
            entry.content = Content::Known { hash: "forged".to_owned(), read_at };
        };
        let hash = |look: &Look| look.entries[Path::new("a")].hash().unwrap().to_owned();
        let real = hash(&first);
        forge(&mut first, clock::now());
        assert_eq!(hash(&look(folder.path(), Some(&first))), real, "it changed within the racy window");
        forge(&mut first, clock::now() + 60.0);
        assert_eq!(hash(&look(folder.path(), Some(&first))), "forged", "it had been unchanged for a minute");
        fs::write(&path, "two").unwrap();
        assert_eq!(hash(&look(folder.path(), Some(&first))), crate::store::sha256(b"two"));
    }

    #[test]
    fn too_many_entries_are_not_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::create_dir_all(folder.path().join(name).join("in")).unwrap();
        }
        let all = Look::take(folder.path(), None, 6).unwrap().unwrap();
        assert_eq!(all.entries.len(), 6);
        assert!(Look::take(folder.path(), None, 5).unwrap().is_none());
        fs::remove_dir(folder.path().join("c/in")).unwrap();
        let cut = Look::take_again(folder.path(), (&all, None), 1).unwrap();
        let paths: Vec<_> = cut.entries.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(
            (paths, cut.is_cut),
            (vec!["a", "a/in", "b", "b/in", "c"], true),
            "what was known is looked at again"
        );
    }

    #[test]
    fn folder_of_temporary_files_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".tmp")).unwrap();
        for n in 0..40 {
            fs::write(folder.path().join(n.to_string()), "").unwrap();
            assert!(Look::take(folder.path(), None, n).unwrap().is_none(), "{n}");
            assert!(Look::take(folder.path(), None, n + 1).unwrap().is_some(), "{n}");
        }
    }

    #[test]
    fn look_changes_no_mode() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let folder = tempfile::tempdir().unwrap();
        let modes = [("listed", 0o555), ("closed", 0o000)];
        for (name, mode) in modes {
            fs::create_dir_all(folder.path().join(name).join("in")).unwrap();
            fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let changed = || modes.map(|(name, _)| fs::metadata(folder.path().join(name)).unwrap().ctime_nsec());
        let before = changed();
        let look = look(folder.path(), None);
        assert_eq!(changed(), before);
        // The administrator may list both.
        let is_left_out = look.left_out.iter().any(|left| left.path == Path::new("closed"));
        assert_eq!(is_left_out, !rustix::process::geteuid().is_root());
        assert!(look.entries.contains_key(Path::new("listed/in")));
        fs::set_permissions(folder.path().join("closed"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(folder.path().join("listed"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn links_are_not_followed_and_special_files_are_named() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "canary").unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).unwrap();
        fs::create_dir(folder.path().join(".tmp")).unwrap();
        fs::create_dir_all(folder.path().join("in/.tmp")).unwrap();
        mknodat(CWD, folder.path().join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let look = look(folder.path(), None);
        let paths: Vec<_> = look.entries.keys().map(|path| path.to_str().unwrap()).collect();
        assert_eq!(paths, ["in", "in/.tmp", "out", "pipe"]);
        assert_eq!(look.left_out, [LeftOut { path: "pipe".into(), why: LeftOutReason::Special }]);
    }
}
