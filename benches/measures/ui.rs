//! The page in a browser: loading it, opening a long conversation, and an answer of 20,000 tokens.
//!
//! `frontend/e2e/budgets/` measures them in a real browser; this module adds the figures to the report.

use std::fs;
use std::io::{self, Error};
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::Bench;
use crate::kit::report::Report;
use crate::kit::server::binary;

#[derive(Deserialize)]
struct Measured {
    name: String,
    value: Option<f64>,
    unit: String,
    at_most: Option<f64>,
    at_least: Option<f64>,
    note: String,
}

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("The page in a browser");
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("frontend/e2e/budgets/run.mjs");
    let path = bench.folder("ui.json");
    let mut command = Command::new("node");
    command.arg(driver).env("MINICLAW_BIN", binary()).arg("--figures").arg(&path);
    if !bench.quick {
        command.arg("--bench");
    }
    // The driver exits with 1 if a budget is missed, which the figures show. If it writes no figures, it could not measure.
    let ended = command.status()?;
    let text = fs::read_to_string(&path).map_err(|_| Error::other(format!("the browser's driver {ended}")))?;
    let figures: Vec<Measured> = serde_json::from_str(&text)?;
    for Measured { name, value, unit, at_most, at_least, note } in figures {
        let figure = report.figure(name, value.unwrap_or(f64::NAN), unit).note(note);
        if let Some(target) = at_most {
            figure.at_most(target);
        }
        if let Some(target) = at_least {
            figure.at_least(target);
        }
    }
    report.show();
    Ok(())
}
