//! The cost of appending a fact by the length of its session; it must not depend on the length.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use miniclaw::domain::{Event, Fact, Session, SessionId, WorkId};
use miniclaw::store::{Claim, Durability, Home, SessionLog};

use super::Bench;
use crate::kit::numbers::Samples;
use crate::kit::report::Report;
use crate::kit::seed;

pub const LENGTHS: [usize; 3] = [10, 1_000, 10_000];
/// Maximum ratio of the longest to the shortest session; a disk's latency alone varies nearly as much between two runs.
const FLAT: f64 = 1.5;

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Journal: a fact appended and synced");
    let folder = bench.folder("journal");
    std::fs::create_dir_all(&folder)?;
    let n = bench.times(300);
    let disk = disk_alone(&folder, n)?;
    report
        .figure("the disk alone: 300 bytes and fdatasync, p50", disk.p50(), "ms")
        .note(format!("p95 {:.2}", disk.p95()));
    let log = SessionLog::Folder(Home::open(&folder).map_err(io::Error::other)?);
    let claim = log.claim().await.map_err(io::Error::other)?.claim;
    let mut medians = Vec::new();
    for length in LENGTHS {
        let times = appends(&log, claim, length, n).await?;
        let note = format!("n = {n}, p95 {:.2}, ± {:.2}", times.synced.p95(), times.synced.spread());
        report.figure(format!("append at {length} messages, p50"), times.synced.p50(), "ms").note(note);
        medians.push((times.synced.p50(), times.folded.p50()));
    }
    let (shortest, longest) = (medians[0], medians[LENGTHS.len() - 1]);
    let note = "1 is perfectly flat";
    report.figure("longest session / shortest", longest.0 / shortest.0, "×").at_most(FLAT).note(note);
    let note = format!("at 10 messages {:.1} µs", shortest.1 * 1e3);
    report.figure("folding the fact in at 10,000 messages, p50", longest.1 * 1e3, "µs").note(note);
    report.show();
    Ok(())
}

struct Appends {
    synced: Samples,
    folded: Samples,
}

async fn appends(log: &SessionLog, claim: Claim, length: usize, n: usize) -> io::Result<Appends> {
    let mut session: Session = serde_json::from_value(seed::session("bench", length)).map_err(io::Error::other)?;
    let id = SessionId::parse(&format!("length-{length}")).map_err(io::Error::other)?;
    let mut writer = log.writer(claim, &id);
    let work_id = WorkId::new("w");
    let started = Event::WorkStarted {
        work_id: work_id.clone(),
        message_id: "m".to_owned(),
        content: "a question of ordinary length, as it is asked every day".to_owned(),
        attachments: Vec::new(),
        model: "scripted".to_owned(),
        without_tools: false,
        client: None,
    };
    let segment = Event::SegmentStarted { work_id: work_id.clone(), dialogue: 0, segment: 0 };
    let (mut synced, mut folded) = (Samples::default(), Samples::default());
    let text = |at: usize| Event::Text {
        work_id: work_id.clone(),
        at,
        text: "ten tokens of text, as they come in ".to_owned(),
    };
    let events = [started, segment].into_iter().chain((0..n).map(|at| text(at * 36)));
    for event in events {
        let fact = Fact { seq: session.seq + 1, at: 1.7e9, event };
        let began = Instant::now();
        writer.append(std::slice::from_ref(&fact), Durability::Synced).await.map_err(io::Error::other)?;
        synced.push_ms(began.elapsed());
        let began = Instant::now();
        session.apply_fact(&fact);
        folded.push_ms(began.elapsed());
    }
    writer.checkpoint(session.into(), None).await.map_err(io::Error::other)?;
    Ok(Appends { synced, folded })
}

/// Measures the latency of the disk alone, which is a lower bound.
fn disk_alone(folder: &Path, n: usize) -> io::Result<Samples> {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(folder.join("disk-alone"))?;
    let mut times = Samples::default();
    for _ in 0..n {
        let began = Instant::now();
        file.write_all(&[b'x'; 300])?;
        file.sync_data()?;
        times.push_ms(began.elapsed());
    }
    Ok(times)
}
