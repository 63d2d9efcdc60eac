//! An overlay: the upper layer is the change.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::work::Work;
use crate::{Probe, Rows, process, remove};

pub fn measure(probe: &Probe, work: Work, rows: &mut Rows) -> io::Result<()> {
    let (upper, inner) = (probe.own.join("upper"), probe.own.join("work"));
    for folder in [&upper, &inner] {
        remove(folder)?;
        fs::create_dir(folder)?;
        probe.identity.give(folder)?;
    }
    let options = format!(
        "lowerdir={},upperdir={},workdir={},userxattr",
        probe.lower.display(),
        upper.display(),
        inner.display()
    );
    let (mut read, mut write) = io::pipe()?;
    let began = Instant::now();
    let child = process::start(probe.identity, || {
        process::separate(probe.identity)?;
        let began = Instant::now();
        process::mount(c"overlay", &probe.lower, (c"overlay", 0), &options)?;
        write.write_all(&(began.elapsed().as_nanos() as u64).to_le_bytes())?;
        work.become_it(&probe.lower)
    })?;
    process::ended(child)?;
    rows.add("overlay, with its namespace", began.elapsed());
    let mut mounted = [0; 8];
    read.read_exact(&mut mounted)?;
    rows.add("- of it the mount alone", Duration::from_nanos(u64::from_le_bytes(mounted)));
    let began = Instant::now();
    let changed = walk(&upper)?;
    rows.add("- walk of the upper layer", began.elapsed());
    let began = Instant::now();
    promote(&upper, &probe.lower, &changed)?;
    rows.add("- promotion by rename", began.elapsed());
    work.take_back(&probe.lower)
}

/// Returns the files and folders of a layer, by relative path.
fn walk(upper: &Path) -> io::Result<Vec<(PathBuf, fs::Metadata)>> {
    let mut found = Vec::new();
    let mut folders = vec![upper.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let meta = fs::symlink_metadata(&path)?;
            let relative = path.strip_prefix(upper).map_err(io::Error::other)?.to_owned();
            if meta.is_dir() {
                folders.push(path);
            }
            found.push((relative, meta));
        }
    }
    Ok(found)
}

fn promote(upper: &Path, lower: &Path, changed: &[(PathBuf, fs::Metadata)]) -> io::Result<()> {
    let folders: BTreeSet<&Path> = changed.iter().filter(|(_, meta)| meta.is_dir()).map(|(p, _)| p.as_path()).collect();
    for folder in folders {
        match fs::create_dir(lower.join(folder)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    changed.iter().filter(|(_, meta)| meta.is_file()).try_for_each(|(path, _)| {
        let target = lower.join(path);
        // What a promotion must at least look at: is the file below still the one that the command saw?
        let _ = fs::symlink_metadata(&target);
        fs::rename(upper.join(path), target)
    })
}
