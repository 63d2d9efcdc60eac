//! Measures three ways to know what a command changed in a folder of 50,000 files:
//! an overlay, keeping old contents when a call that may write is notified, and an index of stamps before and after.
//!
//! `undo-probe FOLDER [--user ID] [--runs N] [--files N]`: FOLDER must not exist, and lies on the file system to measure.
//! With `--user` (needs root), everything that is measured runs as that user, who has no privileges.

mod notify;
mod overlay;
mod process;
mod snapshot;
mod tree;
mod work;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use process::Identity;
use work::Work;

pub struct Probe {
    /// The folder with the files.
    pub lower: PathBuf,
    /// Where a mechanism keeps its own files; on the same file system.
    pub own: PathBuf,
    pub identity: Identity,
    pub runs: usize,
    pub files: usize,
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(done) = work::work_if_asked(&arguments) {
        return done;
    }
    let value = |name: &str| arguments.iter().position(|word| word == name).and_then(|at| arguments.get(at + 1));
    let number = |name: &str| value(name).and_then(|text| text.parse::<usize>().ok());
    let Some(folder) = arguments.first().filter(|word| !word.starts_with("--")).map(PathBuf::from) else {
        return Err(io::Error::other("name a folder that does not exist yet, on the file system to measure"));
    };
    fs::create_dir(&folder)?;
    let probe = Probe {
        lower: folder.join("lower"),
        own: folder.join("own"),
        identity: number("--user").map_or(Identity::Own, |id| Identity::User(id as u32)),
        runs: number("--runs").unwrap_or(20),
        files: number("--files").unwrap_or(50_000),
    };
    let measured = measure(&probe);
    fs::remove_dir_all(&folder)?;
    measured
}

fn measure(probe: &Probe) -> io::Result<()> {
    fs::create_dir(&probe.lower)?;
    fs::create_dir(&probe.own)?;
    tree::fill(&probe.lower, probe.files)?;
    probe.identity.give(&probe.lower)?;
    probe.identity.give(&probe.own)?;
    // Otherwise the measures would contain the write-back of the files just made.
    process::sync_all();
    println!("{} files, {} runs, {}", probe.files, probe.runs, probe.identity.name());
    println!("\n| what | median | quartiles | beyond no capture |\n|---|---|---|---|");
    for work in [Work::Nothing, Work::Create(1000), Work::Create(5000), Work::Rewrite(1000)] {
        let mut rows = Rows::default();
        // Alternating, so that other load on the machine affects all of them equally.
        for _ in 0..probe.runs {
            rows.add("no capture", plain(probe, work)?);
            overlay::measure(probe, work, &mut rows)?;
            notify::measure(probe, work, &mut rows)?;
            snapshot::measure(probe, work, &mut rows)?;
        }
        rows.print(work);
    }
    let began = Instant::now();
    snapshot::copy_all(&probe.lower, &probe.own.join("copies"))?;
    println!("\nOne copy of all files, which an index needs to bring contents back: {} ms", ms(began.elapsed()));
    Ok(())
}

fn plain(probe: &Probe, work: Work) -> io::Result<Duration> {
    let began = Instant::now();
    let child = process::start(probe.identity, || work.become_it(&probe.lower))?;
    process::ended(child)?;
    let took = began.elapsed();
    work.take_back(&probe.lower)?;
    Ok(took)
}

/// Times by what was measured, in the order of the first run.
#[derive(Default)]
pub struct Rows(Vec<(String, Vec<Duration>)>);

impl Rows {
    pub fn add(&mut self, what: &str, took: Duration) {
        match self.0.iter_mut().find(|(known, _)| known == what) {
            Some((_, times)) => times.push(took),
            None => self.0.push((what.to_owned(), vec![took])),
        }
    }

    fn print(&mut self, work: Work) {
        let mut base = None;
        for (what, times) in &mut self.0 {
            times.sort_unstable();
            let at = |part: usize| times[(times.len() - 1) * part / 4];
            let plain = *base.get_or_insert(at(2));
            let beyond = match what.starts_with("- ") || at(2) == plain {
                true => String::new(),
                false => {
                    let times = at(2).as_secs_f64() / plain.as_secs_f64();
                    format!("{:+.2} ms, {times:.2} ×", (at(2).as_secs_f64() - plain.as_secs_f64()) * 1e3)
                }
            };
            println!("| {}: {what} | {} ms | {}–{} | {beyond} |", work.name(), ms(at(2)), ms(at(1)), ms(at(3)));
        }
    }
}

fn ms(took: Duration) -> String {
    format!("{:.2}", took.as_secs_f64() * 1e3)
}

/// Removes a folder whose files other users may own, or that may not exist.
pub fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
