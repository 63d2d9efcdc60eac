//! Backups that somebody forged or damaged.

use std::io::Write as _;

use tar::{EntryType, Header};

use super::manifest::{Attributes, Content, End, Entry, FORMAT, HEAD, MANIFEST, Part};
use super::tests::{Tree, home, options, restored, tree};
use super::*;
use crate::store::sha256;

/// An archive that is written entry by entry, with nothing checked.
struct Forged(tar::Builder<Vec<u8>>, Vec<u8>, u64, u64);

const PLAIN: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0, modified: 0 };

impl Forged {
    fn new() -> Self {
        let mut forged = Self(tar::Builder::new(Vec::new()), Vec::new(), 0, 0);
        let head =
            format!(r#"{{"format": {FORMAT}, "miniclaw": "x", "made_at": 1.0, "of": "home", "secrets": false}}"#);
        forged.add(HEAD, EntryType::Regular, head.as_bytes());
        for folder in ["workspace", "scratch", "sessions", "storage"] {
            forged.entry(folder, Content::Folder);
        }
        forged
    }

    fn add(&mut self, name: &str, kind: EntryType, content: &[u8]) -> &mut Self {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    fn entry(&mut self, path: &str, content: Content) -> &mut Self {
        if let Content::File { size, .. } = content {
            self.3 += size;
        }
        self.2 += 1;
        serde_json::to_writer(&mut self.1, &Entry::new(path.as_bytes(), content, PLAIN)).unwrap();
        self.1.push(b'\n');
        self
    }

    fn file(&mut self, path: &str, content: &[u8]) -> &mut Self {
        self.add(&format!("home/{path}"), EntryType::Regular, content);
        self.entry(path, Content::File { part: Part::Home, size: content.len() as u64, sha256: sha256(content) })
    }

    fn link(&mut self, path: &str, target: &str) -> &mut Self {
        self.entry(path, Content::Link { target: target.to_owned() })
    }

    /// Restores it to a new folder, which must be empty if that fails.
    fn restored(&mut self, links: LinkUse) -> Result<Tree, BackupError> {
        let mut manifest = std::mem::take(&mut self.1);
        serde_json::to_writer(&mut manifest, &End { entries: self.2, bytes: self.3 }).unwrap();
        manifest.push(b'\n');
        self.add(MANIFEST, EntryType::Regular, &manifest);
        let archive = std::mem::replace(&mut self.0, tar::Builder::new(Vec::new())).into_inner().unwrap();
        opened(&zstd::encode_all(&*archive, 1).unwrap(), links)
    }
}

/// Restores an archive to a new folder, which must be empty if that fails.
fn opened(archive: &[u8], links: LinkUse) -> Result<Tree, BackupError> {
    let there = tempfile::tempdir().unwrap();
    let (file, target) = (there.path().join("b"), there.path().join("home"));
    fs::write(&file, archive).unwrap();
    match restored(&file, &target, links) {
        Ok(_) => Ok(tree(&target)),
        Err(error) => {
            assert_eq!(fs::read_dir(&target).map_or(0, Iterator::count), 0, "nothing is left: {error}");
            assert_eq!(
                fs::read_dir(there.path()).unwrap().filter(|entry| entry.as_ref().unwrap().path() != target).count(),
                1
            );
            Err(error)
        }
    }
}

#[track_caller]
fn refused(forged: &mut Forged, code: &str) {
    let error = forged.restored(LinkUse::OnlyInside).expect_err(code);
    let shown = format!("{error:?}");
    assert!(shown.starts_with(code), "{shown} is not {code}");
}

#[test]
fn forged_backup_that_breaks_no_rule_is_restored() {
    let whole =
        Forged::new().file("workspace/a.md", b"a").link("scratch/l", "../workspace/a.md").restored(LinkUse::OnlyInside);
    assert_eq!(whole.unwrap().len(), 6);
}

#[test]
fn paths_that_lead_out_are_refused() {
    for path in [
        "../x",
        "/etc/cron.d/x",
        "workspace/../../x",
        "workspace/../.env",
        ".env",
        "sessions/.lock",
        ".miniclaw-restoring/x",
        "target/x",
        "workspace//x",
        "workspace/./x",
        "",
    ] {
        refused(Forged::new().add(&format!("home/{path}"), EntryType::Regular, b"x"), "Refused");
        refused(Forged::new().entry(path, Content::Folder), "Refused");
    }
    refused(Forged::new().add("workspace/x", EntryType::Regular, b"x"), "Refused");
    refused(Forged::new().add("other/workspace/x", EntryType::Regular, b"x"), "Refused");
    refused(Forged::new().file("workspace/none/x", b"x"), "Refused");
}

#[test]
fn links_that_lead_out_are_refused() {
    for target in ["/etc/passwd", "../../x", "../..", "a/../../../x"] {
        refused(Forged::new().link("scratch/l", target), "OutsideLink");
    }
    // Each leads inside by its own text.
    refused(Forged::new().link("scratch/a", ".").link("scratch/l", "a/../.."), "OutsideLink");
    for target in ["", "a\\x00b"] {
        refused(Forged::new().link("scratch/l", target), "Refused");
    }
    assert!(Forged::new().link("scratch/l", "/etc/passwd").restored(LinkUse::All).is_ok(), "a person may want it");
    // Nothing is written through a link, not even through one that is allowed.
    let outside = tempfile::tempdir().unwrap();
    let mut through = Forged::new();
    through.link("scratch/l", outside.path().to_str().unwrap()).file("scratch/l/x", b"x");
    assert!(matches!(through.restored(LinkUse::All), Err(BackupError::Refused { .. })));
    let mut through = Forged::new();
    through.link("workspace/l", outside.path().to_str().unwrap());
    through.add("home/workspace/l/x", EntryType::Regular, b"x");
    assert!(through.restored(LinkUse::All).is_ok(), "what the manifest does not name is removed first");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn only_plain_files_are_read() {
    for kind in [
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::Continuous,
        EntryType::GNUSparse,
        EntryType::XHeader,
        EntryType::XGlobalHeader,
    ] {
        refused(Forged::new().add("home/workspace/x", kind, b""), "Refused");
    }
    refused(Forged::new().file("workspace/x", b"1").add("home/workspace/x", EntryType::Regular, b"2"), "Refused");
    refused(Forged::new().file("workspace/x", b"1").entry("workspace/x", Content::Folder), "Refused");
    refused(Forged::new().add("x", EntryType::GNULongName, &vec![b'x'; 1 << 20]), "Damaged");
}

#[test]
fn modes_give_no_rights_of_others() {
    let mut forged = Forged::new();
    forged.add("home/scratch/x", EntryType::Regular, b"");
    let content = Content::File { part: Part::Home, size: 0, sha256: sha256(b"") };
    let attributes = Attributes { mode: 0o6755, uid: 4_000_000_000, ..PLAIN };
    serde_json::to_writer(&mut forged.1, &Entry::new(b"scratch/x", content, attributes)).unwrap();
    forged.1.push(b'\n');
    forged.2 += 1;
    let whole = forged.restored(LinkUse::OnlyInside).unwrap();
    assert_eq!(whole[&b"scratch/x"[..]].0, 0o755);
}

#[test]
fn manifest_decides_what_is_right() {
    let content = |size, text: &[u8]| Content::File { part: Part::Home, size, sha256: sha256(text) };
    let forged = |size, text: &[u8]| {
        let mut forged = Forged::new();
        forged.add("home/workspace/x", EntryType::Regular, b"right").entry("workspace/x", content(size, text));
        forged
    };
    assert!(forged(5, b"right").restored(LinkUse::OnlyInside).is_ok());
    for (size, text) in [(5, &b"wrong"[..]), (4, b"right"), (6, b"right")] {
        refused(&mut forged(size, text), "Damaged");
    }
    refused(Forged::new().entry("workspace/y", content(1, b"y")), "Damaged");
    let mut miscounted = forged(5, b"right");
    miscounted.2 += 1;
    refused(&mut miscounted, "Damaged");
    let mut followed = forged(5, b"right");
    followed.1.extend(b"{\"entries\": 5, \"bytes\": 5}\n");
    refused(&mut followed, "Damaged");
}

#[test]
fn cut_and_changed_backups_are_refused() {
    let (home, there) = (home(), tempfile::tempdir().unwrap());
    fs::write(home.path().join("scratch/long"), "0123456789".repeat(500)).unwrap();
    let file = there.path().join("b");
    back_up(&options(home.path()), &file).unwrap();
    let (whole, before) = (fs::read(&file).unwrap(), tree(home.path()));
    for at in 0..whole.len() {
        assert!(opened(&whole[..at], LinkUse::OnlyInside).is_err(), "cut after {at} bytes");
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        if let Ok(restored) = opened(&flipped, LinkUse::OnlyInside) {
            assert_eq!(restored, before, "a changed bit at {at}");
        }
    }
    for strange in [&b""[..], b"not a backup", &[0; 2000], &zstd::encode_all(&[0; 4096][..], 1).unwrap()] {
        let error = opened(strange, LinkUse::OnlyInside).unwrap_err();
        assert!(matches!(error, BackupError::NotABackup { .. }), "{error:?}");
    }
    let mut newer = Forged::new();
    newer.0 = tar::Builder::new(Vec::new());
    refused(newer.add(HEAD, EntryType::Regular, br#"{"format": 2}"#), "Newer");
}

#[test]
fn bombs_end_at_the_size_of_the_disk() {
    let there = tempfile::tempdir().unwrap();
    let mut staging = super::staging::Staging::begin(open(there.path()).unwrap(), there.path()).unwrap();
    staging.limit(1 << 20);
    let zeros = |length| std::io::Read::take(std::io::repeat(0), length);
    staging.write((Part::Home, b"scratch/a"), &mut zeros(1 << 19)).unwrap();
    assert!(matches!(staging.skip(&mut zeros(u64::MAX)), Err(BackupError::NoRoom { .. })));
    let bomb = staging.write((Part::Home, b"scratch/b"), &mut zeros(u64::MAX));
    assert!(matches!(bomb, Err(BackupError::NoRoom { .. })), "{bomb:?}");
    // A window that would take gigabytes of memory.
    let mut wide = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    wide.window_log(30).unwrap();
    wide.write_all(&[0; 1000]).unwrap();
    let error = opened(&wide.finish().unwrap(), LinkUse::OnlyInside).unwrap_err();
    assert!(matches!(error, BackupError::NotABackup { .. }), "{error:?}");
}
