//! The time from spawning the process to its first response.

use std::io;

use super::{Bench, fast_model, size};
use crate::kit::numbers::Samples;
use crate::kit::report::Report;
use crate::kit::server::{Server, binary, configure, starter_home};

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Start");
    let model = fast_model(1).await?;
    let (mut ready, mut empty) = (Samples::default(), Samples::default());
    for turn in 0..bench.times(40) {
        let home = bench.folder(&format!("start-{turn}"));
        starter_home(&home, &model.base_url)?;
        ready.push_ms(Server::time_to_health(&home).await?.1);
    }
    for turn in 0..bench.times(10) {
        let home = bench.folder(&format!("start-empty-{turn}"));
        std::fs::create_dir_all(&home)?;
        configure(&home, &model.base_url)?;
        empty.push_ms(Server::time_to_health(&home).await?.1);
    }
    let note = format!("n = {}, fresh starter home each, ± {:.1}", ready.len(), ready.spread());
    report.figure("process start to first 200 of /health, p50", ready.p50(), "ms").at_most(100.0).note(note);
    report.figure("the same, p95", ready.p95(), "ms").at_most(100.0);
    let note = format!("n = {}; writes and syncs every file of the home", empty.len());
    report.figure("the very first start, which makes the home, p50", empty.p50(), "ms").note(note);
    report.figure("size of the binary, web UI inside", size(&binary())? as f64 / 1e6, "MB");
    report.show();
    Ok(())
}
