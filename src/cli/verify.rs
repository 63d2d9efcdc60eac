//! `miniclaw verify`: checks that the files of a home belong together and are what the home wrote.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::{home_dir, load_config};
use crate::library::stored;
use crate::prompt::transcript;
use crate::store::verify::{Check, Finding, Report, verify};
use crate::store::{Home, StoreError};

/// Exit code if the home could not be checked.
const NOT_CHECKED: u8 = 2;
/// Maximum number of notes that are printed for each check; `--json` has all.
const MAX_NOTES: usize = 20;

#[derive(Args)]
pub struct VerifyArguments {
    /// The home to check. A server may be running on it.
    #[arg(long, env = "MINICLAW_HOME")]
    home: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Checks the home. The exit code is 0 if nothing but notes was found, 1 if a file that only the home writes was changed
/// outside, and 2 if the home could not be checked.
pub fn run(arguments: &VerifyArguments) -> anyhow::Result<ExitCode> {
    let folder = home_dir(arguments.home.clone());
    match checked(&folder) {
        Ok(report) => {
            match arguments.json {
                true => say!("{}", serde_json::to_string_pretty(&report)?),
                false => super::print(format_args!("{}", text(&report))),
            }
            Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Err(error) => {
            eprintln!("miniclaw: the home could not be checked: {error:#}");
            if matches!(error.downcast_ref(), Some(StoreError::NotFound { .. })) {
                eprintln!("Name the home with --home. It can be checked after the server has started on it once.");
            }
            Ok(ExitCode::from(NOT_CHECKED))
        }
    }
}

fn checked(folder: &Path) -> anyhow::Result<Report> {
    let home = Home::open_for_reading(folder)?;
    let mut all = checks(folder, &home)?;
    for name in home.people_names()? {
        let place = format!("people/{name}");
        // Nobody has used a home that is not found.
        let theirs = match Home::open_for_reading(&folder.join(&place)) {
            Err(StoreError::NotFound { .. }) => continue,
            opened => checks(folder, &opened?)?,
        };
        for (check, of_person) in all.iter_mut().zip(theirs) {
            check.add_of_folder(&place, of_person);
        }
    }
    Ok(Report::of(all))
}

/// Returns all checks of a home, always the same. `folder` has the config.yml.
fn checks(folder: &Path, home: &Home) -> anyhow::Result<Vec<Check>> {
    let mut checks = verify(home, &transcript::problems)?;
    checks.push(indexes(folder, home));
    Ok(checks)
}

/// Compares the index that is stored with the files. Nothing in it is trusted, so there are only notes.
fn indexes(folder: &Path, home: &Home) -> Check {
    let mut check = Check::new("indexes");
    let limits = match load_config(folder) {
        Ok((config, _)) => config.retrieval.limits,
        Err(error) => {
            check.note("config.yml", format!("the search index was not checked: {error}"));
            return check;
        }
    };
    let found = stored::compare(home, limits);
    check.count = found.files;
    for problem in found.problems {
        check.note(problem.path, problem.what);
    }
    check
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    for check in &report.checks {
        let word = match (check.ok, check.notes.is_empty()) {
            (false, _) => "ALARM",
            (true, false) => "note",
            (true, true) => "ok",
        };
        let Check { name, count, alarms, notes, .. } = check;
        text.push_str(&format!("{word:<6} {name:<12} {count:>7} checked"));
        for (number, noun) in [(alarms.len(), "alarm"), (notes.len(), "note")] {
            if number > 0 {
                text.push_str(&format!(", {number} {noun}{}", if number == 1 { "" } else { "s" }));
            }
        }
        text.push('\n');
    }
    let alarms = report.checks.iter().flat_map(|check| &check.alarms).map(|finding| line("ALARM", finding));
    let notes = report.checks.iter().flat_map(|check| {
        let more = check.notes.len().saturating_sub(MAX_NOTES);
        let more = (more > 0).then(|| format!("note   {}: {more} more notes (--json has all)\n", check.name));
        check.notes.iter().take(MAX_NOTES).map(|finding| line("note", finding)).chain(more)
    });
    for (at, line) in alarms.chain(notes).enumerate() {
        if at == 0 {
            text.push('\n');
        }
        text.push_str(&line);
    }
    text
}

/// Returns a finding as one line. A name of a file that is not plain text must not write to the terminal.
fn line(word: &str, Finding { path, what, .. }: &Finding) -> String {
    let plain = |text: &str| text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect::<String>();
    format!("{word:<6} {}: {}\n", plain(path), plain(what))
}
