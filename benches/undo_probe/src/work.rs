//! What the measured command does. It is this program again, so that a start costs the same for every mechanism.

use std::fs;
use std::io;
use std::path::Path;

use crate::{process, remove, tree};

const ARGUMENT: &str = "__work";
const MADE: &str = "made";

#[derive(Clone, Copy)]
pub enum Work {
    Nothing,
    /// Creates this many files of 4 KB in new folders.
    Create(usize),
    /// Writes this many of the existing files again.
    Rewrite(usize),
}

/// If this process is the measured command, does its work in the working directory.
pub fn work_if_asked(arguments: &[String]) -> Option<io::Result<()>> {
    let [first, what, count] = arguments else { return None };
    if first != ARGUMENT {
        return None;
    }
    let count = count.parse().unwrap_or(0);
    Some(match what.as_str() {
        "create" => create(count),
        "rewrite" => (0..count).try_for_each(|n| fs::write(tree::file(Path::new("."), n), format!("{n:02000}"))),
        _ => Ok(()),
    })
}

fn create(count: usize) -> io::Result<()> {
    let text = "x".repeat(4_000);
    fs::create_dir(MADE)?;
    for number in 0..count {
        if number % 100 == 0 {
            fs::create_dir(format!("{MADE}/{}", number / 100))?;
        }
        fs::write(format!("{MADE}/{}/{number}", number / 100), &text)?;
    }
    Ok(())
}

impl Work {
    pub fn name(self) -> String {
        match self {
            Work::Nothing => "`true`".to_owned(),
            Work::Create(count) => format!("create {count}"),
            Work::Rewrite(count) => format!("rewrite {count}"),
        }
    }

    /// Replaces this process by the command.
    pub fn become_it(self, folder: &Path) -> io::Result<()> {
        std::env::set_current_dir(folder)?;
        let (what, count) = match self {
            Work::Nothing => ("nothing", 0),
            Work::Create(count) => ("create", count),
            Work::Rewrite(count) => ("rewrite", count),
        };
        process::become_program(&[ARGUMENT, what, &count.to_string()])
    }

    /// Removes what the command created.
    pub fn take_back(self, folder: &Path) -> io::Result<()> {
        remove(&folder.join(MADE))
    }
}
