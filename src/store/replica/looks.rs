//! `storage/database-files.json`: what the files of a copy contained, by how they looked, so that whoever opens the copy next need not
//! read them all again.
//!
//! A file that looks as it is noted has the content that is noted, whatever was stored since. A file that was changed looks different,
//! and is read. After a crash of the machine this is not so: the note says in which boot it was written.

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use super::manifest::Manifest;
use super::marker::this_boot;
use super::reading::Seen;
use crate::store::atomic;
use crate::store::error::StoreError;
use crate::store::postgres::{FileRow, PieceHash, RowKind};

const STORAGE: &str = "storage";
const NAME: &str = "database-files.json";

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Looks {
    /// The boot of the machine in which it was written.
    boot: Option<String>,
    /// Without those whose paths are not UTF-8.
    files: Vec<NotedFile>,
}

#[derive(Serialize, Deserialize)]
struct NotedFile {
    path: String,
    seen: Seen,
    /// SHA-256 of its pieces, in hexadecimal.
    pieces: Vec<String>,
}

impl NotedFile {
    /// `None` if a piece is none.
    fn row(&self) -> Option<FileRow> {
        let piece = |hash: &String| PieceHash::try_from(base16ct::lower::decode_vec(hash).ok()?).ok();
        let pieces: Option<Vec<PieceHash>> = self.pieces.iter().map(piece).collect();
        Some(FileRow {
            path: self.path.clone().into_bytes(),
            kind: RowKind::File,
            mode: self.seen.mode,
            size: self.seen.size,
            modified: self.seen.modified,
            pieces: pieces?,
        })
    }
}

impl Looks {
    /// Returns what the manifest notes of its files.
    pub fn of(manifest: &Manifest) -> Self {
        let noted = |(row, seen): (&FileRow, Seen)| {
            let path = std::str::from_utf8(&row.path).ok()?.to_owned();
            let pieces = row.pieces.iter().map(|piece| base16ct::lower::encode_string(piece)).collect();
            Some(NotedFile { path, seen, pieces })
        };
        Self { boot: this_boot(), files: manifest.seen().filter_map(noted).collect() }
    }

    /// Returns what is noted in the copy; `None` if the note is missing, damaged, or of another version.
    pub fn read(copy: &Dir) -> Option<Self> {
        let bytes = copy.read(format!("{STORAGE}/{NAME}")).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Whether the machine has not been started again since.
    pub fn is_of_this_boot(&self) -> bool {
        self.boot.is_some() && self.boot == this_boot()
    }

    /// Writes it to the copy. If the machine crashes, it may be damaged.
    pub fn note(&self, copy: &Dir) -> Result<(), StoreError> {
        let doing = || StoreError::io(format!("writing {STORAGE}/{NAME}"));
        let storage = copy.open_dir(STORAGE).map_err(doing())?;
        let bytes = serde_json::to_vec(self).expect("it is made of strings and numbers");
        atomic::replace_unsynced(&storage, NAME, &bytes).map_err(doing())
    }

    /// Returns the files that are noted, as if they were stored.
    pub fn into_manifest(self) -> Manifest {
        let rows = self.files.iter().filter_map(NotedFile::row).collect();
        let mut manifest = Manifest::of(rows);
        self.put_in(&mut manifest);
        manifest
    }

    /// Notes in the manifest how those of its files look that are stored as they are noted.
    pub fn put_in(self, manifest: &mut Manifest) {
        for noted in self.files {
            if let Some(row) = noted.row() {
                manifest.set_seen_of(&row, noted.seen);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::replica::scan::{Scope, look_only};
    use cap_std::ambient_authority;

    /// Returns what the copy has, once its files are old enough for their looks to count.
    fn settled(copy: &Dir) -> Manifest {
        loop {
            let mut manifest = Manifest::default();
            let batch = look_only(&manifest, copy, Scope::All).unwrap();
            manifest.stored(batch);
            if manifest.seen().next().is_some() {
                return manifest;
            }
        }
    }

    #[test]
    fn noted_files_are_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("knowledge/a.md");
        for name in ["knowledge", STORAGE] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        std::fs::write(&path, "one").unwrap();
        let copy = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let manifest = settled(&copy);
        let rows: Vec<FileRow> = manifest.rows().cloned().collect();
        Looks::of(&manifest).note(&copy).unwrap();
        let look = |rows: &[FileRow]| {
            let mut manifest = Manifest::of(rows.to_vec());
            if let Some(looks) = Looks::read(&copy) {
                looks.put_in(&mut manifest);
            }
            look_only(&manifest, &copy, Scope::All).unwrap()
        };
        assert_eq!(look(&rows).seen.len(), 0, "it is as it was noted");
        let other = rows.iter().cloned().map(|row| FileRow { pieces: vec![[7; 32]], ..row }).collect::<Vec<_>>();
        assert_eq!(look(&other).seen.len(), 1, "another content is stored, so the file is read");
        let looks = Looks::read(&copy).unwrap();
        assert!(
            looks.is_of_this_boot() && !Looks { boot: Some("another".to_owned()), files: Vec::new() }.is_of_this_boot()
        );
        assert_eq!(look_only(&looks.into_manifest(), &copy, Scope::All).unwrap().seen.len(), 0);
        std::fs::write(&path, "two").unwrap();
        assert_eq!(look(&rows).commit.put.len(), 1, "it was changed since");
        for damaged in ["{", r#"{"commit": null, "files": [["knowledge/a.md", {}]]}"#] {
            std::fs::write(folder.path().join(STORAGE).join(NAME), damaged).unwrap();
            assert!(Looks::read(&copy).is_none(), "{damaged}");
        }
    }
}
