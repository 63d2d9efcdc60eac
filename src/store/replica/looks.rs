//! `storage/database-files.json`: how the files of a copy looked when the home was given up, so that whoever opens the copy next
//! need not read them all again.
//!
//! It is written once the files are on the disk, and counts for the commit that it names. A file that was changed since looks
//! different, and is read.

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::manifest::Manifest;
use super::reading::Seen;
use crate::store::atomic;
use crate::store::error::StoreError;

const STORAGE: &str = "storage";
const NAME: &str = "database-files.json";

#[derive(Serialize, Deserialize)]
pub(super) struct Looks {
    /// The last commit of files.
    commit: Option<Uuid>,
    /// Without those whose paths are not UTF-8.
    files: Vec<(String, Seen)>,
}

impl Looks {
    /// Returns what the manifest notes of how its files look, for this commit.
    pub fn of(manifest: &Manifest, commit: Option<Uuid>) -> Self {
        let text = |path: &[u8]| std::str::from_utf8(path).ok().map(str::to_owned);
        let files = manifest.seen().filter_map(|(path, seen)| Some((text(path)?, seen))).collect();
        Self { commit, files }
    }

    /// Returns what is noted in the copy; `None` if it is missing, damaged, or of another commit.
    pub fn read(copy: &Dir, commit: Option<Uuid>) -> Option<Self> {
        let bytes = copy.read(format!("{STORAGE}/{NAME}")).ok()?;
        serde_json::from_slice::<Self>(&bytes).ok().filter(|looks| looks.commit == commit)
    }

    /// Writes it to the copy. If the machine crashes, it may be damaged.
    pub fn note(&self, copy: &Dir) -> Result<(), StoreError> {
        let doing = || StoreError::io(format!("writing {STORAGE}/{NAME}"));
        let storage = copy.open_dir(STORAGE).map_err(doing())?;
        let bytes = serde_json::to_vec(self).expect("it is made of strings and numbers");
        atomic::replace_unsynced(&storage, NAME, &bytes).map_err(doing())
    }

    /// Notes in the manifest how its files looked.
    pub fn put_in(self, manifest: &mut Manifest) {
        for (path, seen) in self.files {
            manifest.set_seen(path.as_bytes(), seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::postgres::FileRow;
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
        let commit = Some(Uuid::from_u128(1));
        Looks::of(&manifest, commit).note(&copy).unwrap();
        let look = |commit| {
            let mut manifest = Manifest::of(rows.clone());
            if let Some(looks) = Looks::read(&copy, commit) {
                looks.put_in(&mut manifest);
            }
            look_only(&manifest, &copy, Scope::All).unwrap()
        };
        assert_eq!(look(commit).seen.len(), 0, "it is as it was noted");
        assert_eq!(look(None).seen.len(), 1, "the note is of another commit, so the file is read");
        std::fs::write(&path, "two").unwrap();
        assert_eq!(look(commit).commit.put.len(), 1, "it was changed since");
        std::fs::write(folder.path().join(STORAGE).join(NAME), "{").unwrap();
        assert!(Looks::read(&copy, commit).is_none());
    }
}
