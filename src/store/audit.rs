//! `audit.jsonl` in the home of a server that several people use: one line for each entry, synced. Full files are renamed to
//! `audit.1.jsonl` and so on; the oldest one is deleted.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};

use super::atomic;
use super::error::StoreError;
use super::home::{Home, lock};
use crate::domain::{AuditEntry, AuditFilter, AuditPage};

const FILE: &str = "audit.jsonl";
/// Maximum bytes of a file.
const MAX_FILE: u64 = 4 << 20;
/// Number of full files that are kept.
const KEPT: usize = 7;

/// Returns the name of a file of the log; 0 is the one that is written.
fn name(number: usize) -> String {
    if number == 0 { FILE.to_owned() } else { format!("audit.{number}.jsonl") }
}

/// Returns the names of the files of the log that are there.
pub(super) fn files(root: &Dir) -> Vec<String> {
    (0..=KEPT).map(name).filter(|name| root.symlink_metadata(name).is_ok()).collect()
}

impl Home {
    /// Appends an entry and syncs it.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn append_audit(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(entry).expect("an entry is JSON");
        line.push(b'\n');
        let _one_writer = lock(self.audit());
        append(self.root(), &line).map_err(StoreError::io(format!("writing {FILE}")))
    }

    /// Returns at most `most` entries that fit, newest first, after the one with the id `after`. `None` if there is none with
    /// that id any more.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read.
    pub fn audit_page(
        &self,
        filter: &AuditFilter,
        after: Option<&str>,
        most: usize,
    ) -> Result<Option<AuditPage>, StoreError> {
        let _nothing_moves = lock(self.audit());
        let mut page = AuditPage { entries: Vec::new(), has_more: false };
        let (mut seen, mut is_after) = (HashSet::new(), after.is_none());
        for number in 0..=KEPT {
            let bytes = match self.root().read(name(number)) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(StoreError::io(format!("reading {}", name(number)))(error)),
            };
            // A line that cannot be read was cut off by a crash, or edited.
            let entries = bytes.rsplit(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
            for entry in entries {
                let entry: AuditEntry = entry;
                if !seen.insert(entry.id.clone()) {
                    continue;
                }
                if !is_after {
                    is_after = after == Some(entry.id.as_str());
                } else if filter.fits(&entry) {
                    if page.entries.len() == most {
                        page.has_more = true;
                        return Ok(Some(page));
                    }
                    page.entries.push(entry);
                }
            }
        }
        Ok(is_after.then_some(page))
    }
}

fn append(root: &Dir, line: &[u8]) -> io::Result<()> {
    // Opened each time: somebody may have moved the file away.
    let mut file = opened(root)?;
    let length = file.metadata()?.len();
    if length + line.len() as u64 > MAX_FILE {
        drop(file);
        for number in (0..KEPT).rev() {
            match root.rename(name(number), root, name(number + 1)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        file = opened(root)?;
    }
    let before = file.metadata()?.len();
    let written = file.write_all(line).and_then(|()| file.sync_data());
    if let Err(error) = written {
        // Best effort: half a line is not read.
        let _ = file.set_len(before);
        return Err(error);
    }
    Ok(())
}

/// Opens the file to append to it. A line that a crash has cut off is ended.
fn opened(root: &Dir) -> io::Result<File> {
    let is_new = root.symlink_metadata(FILE).is_err();
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true).mode(0o600);
    let mut file = root.open_with(FILE, &options)?.into_std();
    if is_new {
        super::project_folder::hand_over(root, &file)?;
        atomic::sync_dir(root)?;
    }
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    if last != *b"\n" {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AuditOutcome;

    fn entry(id: &str, event: &str) -> AuditEntry {
        AuditEntry {
            id: id.to_owned(),
            at: String::new(),
            event: event.to_owned(),
            outcome: AuditOutcome::Done,
            reason: None,
            actor: None,
            actor_name: None,
            account: None,
            account_name: None,
            address: None,
            detail: serde_json::Map::new(),
            unrecorded: 0,
        }
    }

    fn ids(page: Option<AuditPage>) -> Vec<String> {
        page.unwrap().entries.into_iter().map(|entry| entry.id).collect()
    }

    #[test]
    fn entries_are_read_newest_first_in_pages() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let all = AuditFilter::default();
        assert_eq!(home.audit_page(&all, None, 2).unwrap().unwrap().entries, []);
        home.append_audit(&AuditEntry { outcome: AuditOutcome::Begun, ..entry("1", "a") }).unwrap();
        for number in 2..6 {
            home.append_audit(&entry(&number.to_string(), if number == 4 { "b" } else { "a" })).unwrap();
        }
        home.append_audit(&AuditEntry { outcome: AuditOutcome::Refused, ..entry("1", "a") }).unwrap();
        let first = home.audit_page(&all, None, 2).unwrap().unwrap();
        assert_eq!(first.entries[0].outcome, AuditOutcome::Refused, "the last line of an act counts");
        assert!(first.has_more);
        assert_eq!(ids(home.audit_page(&all, None, 2).unwrap()), ["1", "5"]);
        home.append_audit(&entry("9", "a")).unwrap();
        assert_eq!(ids(home.audit_page(&all, Some("5"), 9).unwrap()), ["4", "3", "2"], "new entries move nothing");
        let only = AuditFilter { event: Some("b".to_owned()), ..AuditFilter::default() };
        assert_eq!(ids(home.audit_page(&only, None, 9).unwrap()), ["4"]);
        assert_eq!(home.audit_page(&all, Some("none"), 9).unwrap(), None);
        let last = home.audit_page(&all, Some("3"), 1).unwrap().unwrap();
        assert!(!last.has_more, "2 is the last one");
    }

    #[test]
    fn cut_off_line_harms_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        home.append_audit(&entry("1", "a")).unwrap();
        drop(home);
        let path = folder.path().join(FILE);
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("{\"id\": \"2\", \"at");
        std::fs::write(&path, text).unwrap();
        let home = Home::open(folder.path()).unwrap();
        home.append_audit(&entry("3", "a")).unwrap();
        assert_eq!(ids(home.audit_page(&AuditFilter::default(), None, 9).unwrap()), ["3", "1"]);
    }

    #[test]
    fn log_is_bounded_and_read_across_files() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        let long = "x".repeat(1 << 20);
        for number in 0..60 {
            home.append_audit(&AuditEntry { reason: Some(long.clone()), ..entry(&format!("{number:02}"), "a") })
                .unwrap();
        }
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap()).collect();
        let of_log: Vec<_> =
            names.iter().filter(|entry| entry.file_name().to_str().unwrap().starts_with("audit")).collect();
        assert_eq!(of_log.len(), KEPT + 1);
        assert!(of_log.iter().all(|entry| entry.metadata().unwrap().len() <= MAX_FILE));
        let found = ids(home.audit_page(&AuditFilter::default(), None, 99).unwrap());
        let expected: Vec<String> = (0..60).rev().map(|number| format!("{number:02}")).collect();
        assert_eq!(found, expected[..found.len()]);
        assert!(found.len() > 20, "{}", found.len());
    }
}
