//! An index of size, times and inode of every file, before and after.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::work::Work;
use crate::{Probe, Rows, process};

type Stamp = [i64; 6];

pub fn measure(probe: &Probe, work: Work, rows: &mut Rows) -> io::Result<()> {
    let began = Instant::now();
    let before = index(&probe.lower)?;
    let walked = began.elapsed();
    let child = process::start(probe.identity, || work.become_it(&probe.lower))?;
    process::ended(child)?;
    let after = index(&probe.lower)?;
    let changed = after.iter().filter(|(path, stamp)| before.get(*path) != Some(stamp)).count();
    let gone = before.keys().filter(|path| !after.contains_key(*path)).count();
    rows.add("index before and after", began.elapsed());
    rows.add("- of it one index", walked);
    std::hint::black_box((changed, gone));
    work.take_back(&probe.lower)
}

fn index(folder: &Path) -> io::Result<HashMap<PathBuf, Stamp>> {
    let mut found = HashMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            // Relative to the open folder: less to resolve.
            let meta = entry.metadata()?;
            if meta.is_dir() {
                folders.push(entry.path());
            }
            let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
            let stamp = [meta.size() as i64, times[0], times[1], times[2], times[3], meta.ino() as i64];
            found.insert(entry.path(), stamp);
        }
    }
    Ok(found)
}

pub fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => copy_all(&entry.path(), &to.join(entry.file_name()))?,
            false => fs::copy(entry.path(), to.join(entry.file_name())).map(drop)?,
        }
    }
    Ok(())
}
