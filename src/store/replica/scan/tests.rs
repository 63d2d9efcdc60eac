use super::*;
use crate::store::replica::reading::read_later;
use cap_std::ambient_authority;

impl Manifest {
    fn compare(&self, home: &Dir) -> Result<Batch, StoreError> {
        compare(self, home, Scope::All, None)
    }
}

/// Returns a folder with these files in `knowledge/`.
fn home(files: &[(&str, &str)]) -> (tempfile::TempDir, Dir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("knowledge")).unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join("knowledge").join(name), content).unwrap();
    }
    let dir = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
    (folder, dir)
}

fn paths(rows: &[FileRow]) -> Vec<&str> {
    rows.iter().map(|row| std::str::from_utf8(&row.path).unwrap()).collect()
}

#[test]
fn each_change_is_found_once() {
    let (folder, dir) = home(&[("a.md", "one"), ("b.md", "two")]);
    let mut manifest = Manifest::default();
    let first = manifest.compare(&dir).unwrap();
    assert_eq!(first.commit.put.len(), 3, "the folder, too: {:?}", paths(&first.commit.put));
    assert_eq!(first.pieces.len(), 2);
    manifest.stored(first);
    assert!(manifest.compare(&dir).unwrap().is_empty());

    // Of the same length, and with the time that it had.
    let path = folder.path().join("knowledge/a.md");
    let before = std::fs::metadata(&path).unwrap().modified().unwrap();
    std::fs::write(&path, "eno").unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_modified(before).unwrap();
    let second = manifest.compare(&dir).unwrap();
    assert_eq!(paths(&second.commit.put), ["knowledge/a.md"]);
    assert_eq!(second.dropped, [sha256_bytes(b"one")]);
    manifest.stored(second);
    std::fs::remove_file(&path).unwrap();
    let third = manifest.compare(&dir).unwrap();
    assert_eq!((third.commit.put.len(), third.commit.gone.clone()), (0, vec![b"knowledge/a.md".to_vec()]));
}

#[test]
fn piece_stays_while_a_file_needs_it() {
    let (folder, dir) = home(&[("a.md", "same"), ("b.md", "same")]);
    let mut manifest = Manifest::default();
    let first = manifest.compare(&dir).unwrap();
    assert_eq!(first.pieces.len(), 1);
    manifest.stored(first);
    std::fs::remove_file(folder.path().join("knowledge/a.md")).unwrap();
    let second = manifest.compare(&dir).unwrap();
    assert_eq!((second.commit.gone.len(), second.dropped.len()), (1, 0));
    manifest.stored(second);
    std::fs::remove_file(folder.path().join("knowledge/b.md")).unwrap();
    assert_eq!(manifest.compare(&dir).unwrap().dropped, [sha256_bytes(b"same")]);
}

#[test]
fn growing_file_costs_its_last_piece() {
    let (folder, dir) = home(&[]);
    let path = folder.path().join("knowledge/log");
    let start: Vec<u8> = (0..3 * PIECE).map(|at| (at / PIECE) as u8).collect();
    std::fs::write(&path, &start).unwrap();
    let mut manifest = Manifest::default();
    let first = manifest.compare(&dir).unwrap();
    assert_eq!(first.pieces.len(), 3);
    manifest.stored(first);
    std::fs::write(&path, [start, b"more".to_vec()].concat()).unwrap();
    let second = manifest.compare(&dir).unwrap();
    assert_eq!((second.pieces.len(), second.dropped.len()), (1, 0));
}

#[test]
fn links_are_not_followed_and_pipes_not_read() {
    let (folder, dir) = home(&[]);
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("knowledge/link")).unwrap();
    std::os::unix::fs::symlink("/etc", folder.path().join("memory")).unwrap();
    let pipe = std::ffi::CString::new(folder.path().join("knowledge/pipe").into_os_string().into_encoded_bytes());
    // SAFETY: the path is a string that ends with a zero byte.
    assert_eq!(unsafe { libc::mkfifo(pipe.unwrap().as_ptr(), 0o600) }, 0);
    let batch = Manifest::default().compare(&dir).unwrap();
    let kinds: Vec<_> = batch.commit.put.iter().map(|row| row.kind).collect();
    assert_eq!(paths(&batch.commit.put), ["knowledge", "knowledge/link", "memory"]);
    assert_eq!(kinds, [RowKind::Folder, RowKind::Link, RowKind::Link]);
    assert_eq!(batch.commit.put[1].pieces, [sha256_bytes(b"/etc/passwd")]);
}

#[test]
fn what_cannot_be_kept_stays_as_it_is_stored() {
    let (folder, dir) = home(&[("a.md", "one"), ("b.md", "two")]);
    let mut manifest = Manifest::default();
    let first = manifest.compare(&dir).unwrap();
    manifest.stored(first);
    std::fs::File::options()
        .write(true)
        .open(folder.path().join("knowledge/a.md"))
        .unwrap()
        .set_len(MAX_FILE + 1)
        .unwrap();
    let mut deep = folder.path().join("knowledge");
    deep.extend(std::iter::repeat_n("d", MAX_DEPTH + 5));
    std::fs::create_dir_all(deep).unwrap();
    let second = manifest.compare(&dir).unwrap();
    assert!(second.commit.gone.is_empty());
    assert!(!paths(&second.commit.put).contains(&"knowledge/a.md"));
    let reported: Vec<NotKept> = manifest.unreported(&second).into_iter().map(|(_, why)| why.clone()).collect();
    assert_eq!(reported, [NotKept::TooLarge, NotKept::TooDeep]);
    assert_eq!(second.commit.put.len(), MAX_DEPTH);
    manifest.stored(second);
    let third = manifest.compare(&dir).unwrap();
    assert!(third.is_empty() && manifest.unreported(&third).is_empty());
}

#[test]
fn many_changes_come_in_batches_and_nothing_is_lost() {
    let files: Vec<String> = (0..BATCH_FILES + 20).map(|n| format!("{n}.md")).collect();
    let named: Vec<(&str, &str)> = files.iter().map(|name| (name.as_str(), name.as_str())).collect();
    let (_folder, dir) = home(&named);
    let mut manifest = Manifest::default();
    let (mut batches, mut rest) = (0, None);
    loop {
        let scope = rest.as_ref().map_or(Scope::All, Scope::Paths);
        let mut batch = compare(&manifest, &dir, scope, None).unwrap();
        assert!(batch.commit.gone.is_empty(), "what is not read yet is not gone");
        let left = std::mem::take(&mut batch.rest);
        manifest.stored(batch);
        batches += 1;
        if left.is_empty() {
            break;
        }
        assert!(left.iter().all(|path| !manifest.contains(path)), "nothing is read twice");
        rest = Some(left);
    }
    assert_eq!((batches, manifest.rows().count()), (2, files.len() + 1));
}

#[test]
fn large_file_is_read_in_parts() {
    let (folder, dir) = home(&[]);
    let path = folder.path().join("knowledge/large.bin");
    let bytes: Vec<u8> = (0..BATCH_BYTES + 10 * PIECE).map(|at| (at / 1000 % 251) as u8 ^ (at >> 18) as u8).collect();
    std::fs::write(&path, &bytes).unwrap();
    let batch = Manifest::default().compare(&dir).unwrap();
    let row = batch.commit.put.iter().find(|row| row.kind == RowKind::File).unwrap();
    assert_eq!(row.pieces, bytes.chunks(PIECE).map(sha256_bytes).collect::<Vec<_>>());
    assert!(batch.pieces.len() <= BATCH_BYTES / PIECE + 1 && batch.later.len() >= 9, "{}", batch.later.len());
    let later = read_later(&dir, &batch.later);
    for (piece, wanted) in later.iter().zip(&batch.later) {
        let unpacked = zstd::bulk::decompress(&piece.as_ref().unwrap().packed, PIECE).unwrap();
        assert_eq!(sha256_bytes(&unpacked), wanted.sha256);
    }
    // What is not there any more as it was is not taken for it.
    std::fs::write(&path, &bytes[..BATCH_BYTES]).unwrap();
    assert!(read_later(&dir, &batch.later).iter().all(Option::is_none));
}
