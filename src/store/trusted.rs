//! `trusted.json`: the versions of the files in skills/ that are trusted, by path and content, and those of the MCP servers
//! and their tools (`store::mcp`).
//!
//! The file is next to `config.json`, where no tool reads or writes. A version that is not in it may be used, but its text
//! counts as text from outside. A trusted version stays trusted for its path, so that an undo restores the trust along with
//! the content. The text of the version trusted last is kept in `storage/trusted/`, to show what has changed since; the
//! trust does not depend on it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Metadata, MetadataExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::atomic;
use super::error::StoreError;
use super::files::Expect;
use super::home::Home;
use super::listing::{self, FileEntry, FolderScan, Unlisted, is_too_deep};
use super::settings::SettingsFile;
use super::tree::{TreeChange, TreePath};
use crate::clock;
use crate::domain::{FileStamp, Place, Root};

const FILE: SettingsFile = SettingsFile::Trusted;
pub(super) const TEXTS: &str = "storage/trusted";
/// Maximum number of trusted versions per path; beyond it, the version trusted longest ago is no longer trusted.
const MAX_VERSIONS: usize = 200;
/// Maximum size in bytes of a text that is kept for comparison.
const MAX_TEXT_SIZE: usize = 1 << 20;
/// Minimum age of a change for a reliable stamp: a file that changed more recently may change again under the same stamp.
const MIN_SETTLED_AGE: Duration = Duration::from_secs(3);

/// Why a version is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustedBy {
    /// The version existed when this home first recorded trust.
    FirstStart,
    /// The program came with this version.
    Starter,
    /// A person saved the version in the editor or uploaded it.
    Editor,
    /// A person approved the call that wrote the version, and saw the diff to a version they trusted.
    Approval,
    /// A person reviewed the version and marked it as trusted.
    Person,
    /// A person marked the version as trusted on the command line.
    CommandLine,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TrustedVersion {
    /// Hash of the content, in hexadecimal.
    pub sha256: String,
    /// Unix seconds.
    pub at: f64,
    pub by: TrustedBy,
}

/// A file in skills/ whose current version is not trusted.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct Untrusted {
    #[schema(value_type = String)]
    pub path: Place,
    /// Whether another version of the file was trusted before.
    pub changed: bool,
}

/// The files in skills/ and which of them are trusted. Includes hidden files, because commands can read them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkillFiles {
    /// All files that can be listed, sorted by path.
    pub files: Vec<FileEntry>,
    /// Those of `files` whose current version is not trusted, sorted by path.
    pub untrusted: Vec<Untrusted>,
    /// Entries that exist but cannot be trusted, because they cannot be listed.
    pub unlisted: Vec<Unlisted>,
}

impl SkillFiles {
    /// Returns the path of one entry that a command could read and that nobody has trusted; `None` if there is none.
    pub fn first_untrusted(&self) -> Option<String> {
        let untrusted = self.untrusted.first().map(|file| file.path.to_string());
        untrusted.or_else(|| self.unlisted.first().map(Unlisted::path))
    }

    /// Whether one of the files changed so recently that it may change again under the same stamp.
    pub fn is_settling(&self) -> bool {
        self.files.iter().any(|file| clock::now() - file.modified <= MIN_SETTLED_AGE.as_secs_f64())
    }
}

/// Trusted versions by path; the version trusted last comes last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TrustRecord(pub(super) BTreeMap<String, Vec<TrustedVersion>>);

/// What `trusted.json` holds, and what a change of it expects.
pub(super) struct RecordedTrust {
    pub(super) record: TrustRecord,
    state: RecordState,
    pub(super) expect: Expect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordState {
    /// This home never recorded trust before.
    Missing,
    Damaged,
    Whole,
}

/// The result of the last scan of skills/, so that the next scan reads only what has changed.
pub(super) struct TrustCache {
    scan: FolderScan,
    /// Hashes of files, each with the stamp that the file had when it was hashed.
    hashes: HashMap<Place, (FileStamp, String)>,
    record: Option<(FileStamp, Arc<TrustRecord>)>,
    found: Option<(Arc<TrustRecord>, Arc<SkillFiles>)>,
}

impl Default for TrustCache {
    fn default() -> Self {
        Self { scan: FolderScan::with_hidden(), hashes: HashMap::new(), record: None, found: None }
    }
}

impl TrustRecord {
    fn contains(&self, path: &Place, sha256: &str) -> bool {
        self.versions(path).iter().any(|version| version.sha256 == sha256)
    }

    fn versions(&self, path: &Place) -> &[TrustedVersion] {
        self.0.get(path.as_str()).map(Vec::as_slice).unwrap_or_default()
    }

    fn add(&mut self, path: &Place, version: TrustedVersion) {
        self.add_at(path.to_string(), version);
    }

    pub(super) fn add_at(&mut self, key: String, version: TrustedVersion) {
        let versions = self.0.entry(key).or_default();
        versions.retain(|known| known.sha256 != version.sha256);
        versions.push(version);
        let surplus = versions.len().saturating_sub(MAX_VERSIONS);
        versions.drain(..surplus);
    }

    /// Parses the file. Entries that do not parse trust nothing.
    fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let paths: BTreeMap<String, Value> = serde_json::from_slice(bytes)?;
        let versions = |value| serde_json::from_value::<Vec<Value>>(value).unwrap_or_default();
        let record = paths.into_iter().map(|(path, value)| {
            let known = versions(value).into_iter().filter_map(|version| serde_json::from_value(version).ok());
            (path, known.collect())
        });
        Ok(Self(record.collect()))
    }

    pub(super) fn change(&self, expect: Expect) -> TreeChange {
        let mut bytes = serde_json::to_vec_pretty(&self.0).expect("versions are JSON");
        bytes.push(b'\n');
        TreeChange::write(TreePath::Settings(FILE), &bytes, expect)
    }
}

impl Home {
    /// Initializes trust; called at each start. Returns the change that trusts files with the `shipped` content, and all
    /// existing files if this home never recorded trust before. Copies a damaged list to quarantine; it trusts nothing.
    ///
    /// # Errors
    /// Returns an error if the files cannot be listed, or if the list cannot be read.
    pub(super) fn initial_trust(&self, shipped: &[(Place, Vec<u8>)]) -> Result<Option<TreeChange>, StoreError> {
        let RecordedTrust { mut record, state, expect } = self.recorded_trust()?;
        let before = record.clone();
        let came: BTreeMap<&Place, String> = shipped.iter().map(|(path, bytes)| (path, sha256(bytes))).collect();
        let mut scan = FolderScan::with_hidden();
        self.rescan(&Root::Skills, &mut scan)?;
        for file in scan.files() {
            let Ok(hash) = self.hash_whole(&file.path) else { continue };
            let by = match (came.get(&file.path) == Some(&hash), state) {
                (true, _) => TrustedBy::Starter,
                (false, RecordState::Missing) => TrustedBy::FirstStart,
                (false, RecordState::Damaged | RecordState::Whole) => continue,
            };
            if !record.contains(&file.path, &hash) {
                self.keep_text_of(&file.path, &self.read_bytes(&file.path).unwrap_or_default());
                record.add(&file.path, TrustedVersion { sha256: hash, at: clock::now(), by });
            }
        }
        let is_recorded = state == RecordState::Whole && record == before;
        Ok((!is_recorded).then(|| record.change(expect)))
    }

    /// Whether this content of a file is trusted. Always true for files outside skills/, never true for files in skills/
    /// that are too deep to be listed.
    pub fn trusts(&self, path: &Place, bytes: &[u8]) -> bool {
        !path.is_pinned() || (!is_too_deep(path) && self.trust_record().contains(path, &sha256(bytes)))
    }

    /// Returns the change that trusts this content at this path; the file need not exist yet. `None` for paths outside
    /// skills/ and paths that are too deep to be listed.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read.
    pub(super) fn trust_change(
        &self,
        path: &Place,
        bytes: &[u8],
        by: TrustedBy,
    ) -> Result<Option<TreeChange>, StoreError> {
        self.keep_text_of(path, bytes);
        self.trusted_version(path, sha256(bytes), by)
    }

    /// Returns the change that trusts the current version of a file, whatever its size.
    ///
    /// # Errors
    /// Returns the errors of [`Home::trust_change`], and an error if the file cannot be read.
    pub(super) fn trust_file_change(&self, path: &Place, by: TrustedBy) -> Result<Option<TreeChange>, StoreError> {
        match self.read_bytes(path) {
            Err(StoreError::TooLarge { .. }) => self.trusted_version(path, self.hash_whole(path)?, by),
            bytes => self.trust_change(path, &bytes?, by),
        }
    }

    fn trusted_version(&self, path: &Place, sha256: String, by: TrustedBy) -> Result<Option<TreeChange>, StoreError> {
        if !path.is_pinned() || is_too_deep(path) {
            return Ok(None);
        }
        let RecordedTrust { mut record, expect, .. } = self.recorded_trust()?;
        record.add(path, TrustedVersion { sha256, at: clock::now(), by });
        Ok(Some(record.change(expect)))
    }

    /// Reads the list for a change. Copies a damaged one to quarantine.
    pub(super) fn recorded_trust(&self) -> Result<RecordedTrust, StoreError> {
        let (bytes, expect) = self.settings_bytes(FILE)?;
        let (record, state) = match bytes.as_deref().map(TrustRecord::parse) {
            None => (TrustRecord::default(), RecordState::Missing),
            Some(Ok(record)) => (record, RecordState::Whole),
            Some(Err(reason)) => {
                let reason = format!("{reason}; no skill is trusted any more");
                self.quarantine_copy(FILE, &bytes.unwrap_or_default(), reason)?;
                (TrustRecord::default(), RecordState::Damaged)
            }
        };
        Ok(RecordedTrust { record, state, expect })
    }

    /// Returns the version of a file that was trusted last, with its text if that was kept.
    pub fn trusted_last(&self, path: &Place) -> Option<(TrustedVersion, Option<String>)> {
        let version = self.trust_record().versions(path).last()?.clone();
        let text = self.texts().and_then(|texts| texts.read_to_string(&version.sha256)).ok();
        let text = text.filter(|text| sha256(text.as_bytes()) == version.sha256);
        Some((version, text))
    }

    /// Returns the files in skills/ whose current version is not trusted, sorted by path.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be listed.
    pub fn untrusted(&self) -> Result<Vec<Untrusted>, StoreError> {
        Ok(self.skill_files()?.untrusted.clone())
    }

    /// Returns the files in skills/ and which of them are trusted.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be listed.
    pub fn skill_files(&self) -> Result<Arc<SkillFiles>, StoreError> {
        let mut trust = self.trust_cache();
        let changed = match self.rescan(&Root::Skills, &mut trust.scan) {
            Ok(changed) => changed,
            Err(error) => {
                *trust = TrustCache::default();
                return Err(error);
            }
        };
        let (unlisted, record) = (trust.scan.unlisted(), self.trust_record_cached(&mut trust.record));
        if let Some((with, found)) = &trust.found
            && !changed
            && Arc::ptr_eq(with, &record)
            && found.unlisted == unlisted
            && !found.is_settling()
        {
            return Ok(found.clone());
        }
        let files = trust.scan.files();
        let before = std::mem::take(&mut trust.hashes);
        let mut untrusted = Vec::new();
        for file in &files {
            let known = before.get(&file.path).filter(|(stamp, _)| *stamp == file.stamp);
            // A file that cannot be read is not trusted.
            let hash = known.map(|(_, hash)| hash.clone()).or_else(|| self.hash_whole(&file.path).ok());
            if hash.as_ref().is_none_or(|hash| !record.contains(&file.path, hash)) {
                untrusted.push(Untrusted { path: file.path.clone(), changed: !record.versions(&file.path).is_empty() });
            }
            if let Some(hash) = hash.filter(|_| clock::now() - file.modified > MIN_SETTLED_AGE.as_secs_f64()) {
                trust.hashes.insert(file.path.clone(), (file.stamp, hash));
            }
        }
        // A file that could not be read may be readable the next time, under the same stamp.
        let found = Arc::new(SkillFiles { unlisted, untrusted, files });
        let all_hashed = trust.hashes.len() == found.files.len();
        trust.found = all_hashed.then(|| (record, found.clone()));
        Ok(found)
    }

    /// Returns the trusted versions. A list that cannot be read trusts nothing.
    pub(super) fn trust_record(&self) -> Arc<TrustRecord> {
        self.trust_record_cached(&mut self.trust_cache().record)
    }

    /// Returns the trusted versions. Rereads the file unless its stamp is the same and older than the resolution of any
    /// clock.
    fn trust_record_cached(&self, known: &mut Option<(FileStamp, Arc<TrustRecord>)>) -> Arc<TrustRecord> {
        let meta = self.root().symlink_metadata(FILE.name()).ok();
        let stamp = meta.as_ref().map(listing::stamp);
        if let (Some(stamp), Some((of, record))) = (stamp, known.as_ref())
            && stamp == *of
        {
            return record.clone();
        }
        let bytes = self.root().read(FILE.name()).unwrap_or_default();
        let record = Arc::new(TrustRecord::parse(&bytes).unwrap_or_default());
        let is_settled = |meta: &Metadata| clock::now() - meta.ctime() as f64 > MIN_SETTLED_AGE.as_secs_f64() + 1.0;
        *known = stamp.filter(|_| meta.is_some_and(|meta| is_settled(&meta))).map(|stamp| (stamp, record.clone()));
        record
    }

    /// Returns the SHA-256 of a file's content, whatever its size.
    pub(super) fn hash_whole(&self, path: &Place) -> Result<String, StoreError> {
        let (mut file, mut digest) = (self.open_regular(path)?, Sha256::new());
        let mut block = vec![0; 1 << 16];
        loop {
            match file.read(&mut block).map_err(StoreError::io(format!("reading {path}")))? {
                0 => return Ok(base16ct::lower::encode_string(&digest.finalize())),
                read => digest.update(&block[..read]),
            }
        }
    }

    pub(super) fn texts(&self) -> io::Result<Dir> {
        if !self.root().is_dir(TEXTS) {
            let mut builder = DirBuilder::new();
            builder.mode(0o700);
            self.root().create_dir_with(TEXTS, &builder)?;
        }
        self.root().open_dir(TEXTS)
    }

    /// Stores the text of a trusted version. Only the comparison with a later version depends on it.
    fn keep_text_of(&self, path: &Place, bytes: &[u8]) {
        if !path.is_pinned() || bytes.len() > MAX_TEXT_SIZE || std::str::from_utf8(bytes).is_err() {
            return;
        }
        let kept = self.texts().and_then(|texts| atomic::replace(&texts, &sha256(bytes), bytes, 0o600));
        if let Err(error) = kept {
            tracing::warn!(%error, "the trusted text of a skill could not be kept for comparison");
        }
    }

    /// Removes texts that are not the last trusted version of any path, after `trusted.json` was written.
    pub(super) fn drop_texts(&self, record: &[u8]) {
        let record = TrustRecord::parse(record).unwrap_or_default();
        let last: BTreeSet<&str> =
            record.0.values().filter_map(|versions| versions.last()).map(|version| version.sha256.as_str()).collect();
        let Ok(texts) = self.texts() else { return };
        for entry in texts.entries().into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_none_or(|name| !last.contains(name)) {
                // Best effort: the next write tries again.
                let _ = texts.remove_file(entry.file_name());
            }
        }
    }
}

fn sha256(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Sha256::digest(bytes))
}

#[cfg(test)]
impl Home {
    fn initialize_trust(&self, shipped: &[(Place, Vec<u8>)]) -> Result<(), StoreError> {
        self.edit(|home| home.initial_trust(shipped)).map(drop)
    }

    pub fn trust(&self, path: &Place, bytes: &[u8], by: TrustedBy) -> Result<(), StoreError> {
        self.edit(|home| home.trust_change(path, bytes, by)).map(drop)
    }

    fn trust_file(&self, path: &Place, by: TrustedBy) -> Result<(), StoreError> {
        self.edit(|home| home.trust_file_change(path, by)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::BadPath;

    const SKILL: &str = "skills/x/SKILL.md";

    fn path(text: &str) -> Place {
        Place::parse(text).unwrap()
    }

    fn home(files: &[(&str, &str)]) -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let home = Home::open(folder.path()).unwrap();
        (folder, home)
    }

    fn names(home: &Home) -> Vec<(String, bool)> {
        home.untrusted().unwrap().into_iter().map(|file| (file.path.to_string(), file.changed)).collect()
    }

    #[test]
    fn only_starter_files_are_trusted() {
        let (folder, home) = home(&[(SKILL, "one"), ("skills/x/run.py", "print(1)")]);
        assert_eq!(names(&home).len(), 2, "before the first start nothing is trusted");
        home.initialize_trust(&[(path(SKILL), b"one".to_vec())]).unwrap();
        assert_eq!(names(&home), []);
        let by = |name: &str| home.trusted_last(&path(name)).unwrap().0.by;
        assert_eq!((by(SKILL), by("skills/x/run.py")), (TrustedBy::Starter, TrustedBy::FirstStart));
        std::fs::write(folder.path().join("skills/x/run.py"), "print(2)").unwrap();
        std::fs::create_dir(folder.path().join("skills/new")).unwrap();
        std::fs::write(folder.path().join("skills/new/SKILL.md"), "new").unwrap();
        let expected = [("skills/new/SKILL.md".to_owned(), false), ("skills/x/run.py".to_owned(), true)];
        assert_eq!(names(&home), expected);
        home.initialize_trust(&[]).unwrap();
        assert_eq!(names(&home), expected, "a later start trusts nothing new");
        home.initialize_trust(&[(path("skills/new/SKILL.md"), b"new".to_vec())]).unwrap();
        assert_eq!(names(&home), expected[1..], "but what the program comes with");
    }

    #[test]
    fn trust_binds_content_and_path() {
        let (_folder, home) = home(&[]);
        home.initialize_trust(&[]).unwrap();
        let skill = path(SKILL);
        assert!(!home.trusts(&skill, b"one"));
        home.trust(&skill, b"one", TrustedBy::Editor).unwrap();
        home.trust(&skill, b"two", TrustedBy::Person).unwrap();
        assert!(home.trusts(&skill, b"one") && home.trusts(&skill, b"two"));
        assert!(!home.trusts(&skill, b"twO") && !home.trusts(&path("skills/y/SKILL.md"), b"one"));
        assert!(home.trusts(&path("memory/MEMORY.md"), b"anything"), "only skills are pinned");
        let (last, text) = home.trusted_last(&skill).unwrap();
        assert_eq!((last.by, text.as_deref()), (TrustedBy::Person, Some("two")));
        assert_eq!(home.texts().unwrap().entries().unwrap().count(), 1, "only the last text is kept");
        for number in 0..MAX_VERSIONS {
            home.trust(&skill, number.to_string().as_bytes(), TrustedBy::Editor).unwrap();
        }
        assert!(!home.trusts(&skill, b"two") && home.trusts(&skill, b"0"));
    }

    #[test]
    fn changed_byte_is_a_new_version() {
        let (folder, home) = home(&[(SKILL, "run a")]);
        home.initialize_trust(&[]).unwrap();
        let file = folder.path().join(SKILL);
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        let back = || std::fs::File::options().write(true).open(&file).unwrap().set_modified(long_ago).unwrap();
        back();
        assert_eq!(names(&home), []);
        std::fs::write(&file, "run b").unwrap();
        back();
        assert_eq!(names(&home), [(SKILL.to_owned(), true)]);
    }

    #[test]
    fn damaged_trust_list_trusts_nothing() {
        let (folder, home) = home(&[(SKILL, "one")]);
        home.initialize_trust(&[]).unwrap();
        let file = folder.path().join(FILE.name());
        let whole = std::fs::read_to_string(&file).unwrap();
        for damaged in [&whole[..whole.len() / 2], "", "[]", "null"] {
            std::fs::write(&file, damaged).unwrap();
            assert_eq!(names(&home), [(SKILL.to_owned(), false)], "{damaged}");
            home.initial_trust(&[]).unwrap().expect("an empty list");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), damaged, "it is there until it is replaced");
            home.initialize_trust(&[]).unwrap();
            let moved = home.quarantined().pop().unwrap();
            assert_eq!(moved.file, FILE.name());
            assert_eq!(std::fs::read_to_string(folder.path().join(moved.moved_to)).unwrap(), damaged);
            home.initialize_trust(&[]).unwrap();
            assert_eq!(names(&home), [(SKILL.to_owned(), false)], "{damaged}: an empty list is no first start");
        }
        // Entries that do not parse trust nothing, and the others count.
        std::fs::write(&file, format!("{{\"{SKILL}\": [7, {{\"sha256\": \"x\"}}], \"skills/y\": 3}}")).unwrap();
        assert_eq!(names(&home), [(SKILL.to_owned(), false)]);
        home.trust(&path(SKILL), b"one", TrustedBy::Person).unwrap();
        assert_eq!(names(&home), []);
        std::fs::write(&file, "{").unwrap();
        home.trust(&path("skills/z"), b"z", TrustedBy::Person).unwrap();
        assert_eq!((names(&home).len(), home.quarantined().len()), (1, 9));
    }

    #[test]
    fn hidden_files_are_pinned_and_deep_ones_untrusted() {
        let deep = format!("skills/x/{}out.md", "d/".repeat(12));
        let (folder, home) = home(&[(SKILL, "one"), ("skills/x/.git/HEAD", "ref"), (&deep, "deep")]);
        home.initialize_trust(&[]).unwrap();
        assert_eq!(names(&home), [], "hidden ones that were there are trusted like the others");
        let files = home.skill_files().unwrap();
        let folder_of_it = deep.strip_suffix("/out.md").unwrap();
        assert_eq!(files.first_untrusted().as_deref(), Some(folder_of_it));
        home.trust_file(&path(&deep), TrustedBy::Person).unwrap();
        assert!(!home.trusts(&path(&deep), b"deep"));
        std::fs::write(folder.path().join("skills/x/.hidden.md"), "obey").unwrap();
        assert_eq!(names(&home), [("skills/x/.hidden.md".to_owned(), false)]);
        home.trust_file(&path("skills/x/.hidden.md"), TrustedBy::CommandLine).unwrap();
        assert_eq!(names(&home), []);
    }

    #[test]
    fn trust_list_is_unreachable_by_path() {
        let (folder, home) = home(&[(SKILL, "one")]);
        home.initialize_trust(&[]).unwrap();
        for name in [FILE.name(), "storage/trusted/x"] {
            assert_eq!(Place::parse(name), Err(BadPath::Outside(name.to_owned())));
        }
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(folder.path().join(FILE.name())).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn file_above_tool_limit_is_pinned() {
        let (folder, home) = home(&[]);
        let file = folder.path().join("skills/model.bin");
        std::fs::write(&file, vec![7; 11 << 20]).unwrap();
        home.initialize_trust(&[]).unwrap();
        assert_eq!(names(&home), []);
        std::fs::write(&file, vec![8; 11 << 20]).unwrap();
        assert_eq!(names(&home), [("skills/model.bin".to_owned(), true)]);
        home.trust_file(&path("skills/model.bin"), TrustedBy::CommandLine).unwrap();
        assert_eq!(names(&home), []);
    }
}
