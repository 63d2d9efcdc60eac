//! Sessions that are bound to a project: the size of a request, a search in many files, and the list of many operations.

use std::io;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::{Bench, fast_model, model};
use crate::kit::http::Connection;
use crate::kit::numbers::{Samples, ms};
use crate::kit::report::Report;
use crate::kit::seed;
use crate::kit::server::{Server, starter_home};

/// Number of files of the project, of folders that they are in, and bytes of each.
const FILES: usize = 50_000;
const FOLDERS: usize = 500;
const FILE_SIZE: usize = 2_000;
/// Bytes of the uploaded file.
const UPLOAD: usize = 200_000_000;
/// Number of works of the long session, and of operations in each.
const WORKS: usize = 500;
const OPERATIONS: usize = 20;

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Projects");
    request_for_hi(bench, report).await?;
    uploads(bench, report).await?;
    searches(bench, report).await?;
    operations(bench, report).await?;
    report.show();
    Ok(())
}

async fn bound_session(connection: &mut Connection) -> io::Result<String> {
    let made = connection.post("/api/sessions", &json!({"title": "bench", "project_id": "scratch"})).await?.json()?;
    made["id"].as_str().map(str::to_owned).ok_or_else(|| io::Error::other("a session without an id"))
}

async fn request_for_hi(bench: &Bench, report: &mut Report) -> io::Result<()> {
    let model = fast_model(1).await?;
    let home = bench.folder("bound");
    starter_home(&home, &model.base_url)?;
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    let id = bound_session(&mut connection).await?;
    connection.stream("/api/chat", &json!({"message": "hi", "session_id": id}).to_string(), |_, _| {}).await?;
    let requests = model.requests();
    let body = requests.first().ok_or_else(|| io::Error::other("the model was not asked"))?;
    let tools = body["tools"].as_array().map_or(0, Vec::len);
    let note = format!("{tools} tools {}", body["tools"].to_string().len());
    let all = body.to_string().len() as f64 / 1024.0;
    report.figure("request body for “hi”, bound to a project", all, "KiB").at_most(8.5).note(note);
    Ok(())
}

/// Measures the upload of a folder with one large file, which becomes a project, and what it does to the memory.
async fn uploads(bench: &Bench, report: &mut Report) -> io::Result<()> {
    let model = fast_model(1).await?;
    let home = bench.folder("uploads");
    starter_home(&home, &model.base_url)?;
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    let before = server.memory()?.0;
    let mut speeds = Samples::default();
    for at in 0..bench.times(10) {
        let began = Instant::now();
        connection.upload("/api/projects/upload", &format!("folder{at}/large.bin"), UPLOAD).await?.json()?;
        speeds.push(UPLOAD as f64 / 1e6 / began.elapsed().as_secs_f64());
    }
    let grown = server.memory()?.0 - before;
    let note = format!("n = {}, ± {:.0}; {grown:.1} MB more resident after them", speeds.len(), speeds.spread());
    report.figure("upload of a file of 200 MB, synced, p50", speeds.p50(), "MB/s").at_least(80.0).note(note);
    Ok(())
}

async fn searches(bench: &Bench, report: &mut Report) -> io::Result<()> {
    let n = bench.times(20);
    let call = |at: usize| {
        let arguments = json!({"pattern": format!("needle{:03}", at % FOLDERS)});
        let call = json!({"tool_call": {"id": format!("c{at}"), "name": "search_files", "arguments": arguments}});
        [json!({"steps": [call, {"finish": "tool_calls"}]}), json!({"steps": [{"text": "Found."}, {"finish": "stop"}]})]
    };
    let model = model((0..n).flat_map(call).collect::<Vec<Value>>().into()).await?;
    let home = bench.folder("files");
    starter_home(&home, &model.base_url)?;
    let server = Server::start(&home)?;
    fill(&home.join("scratch"))?;
    let mut connection = server.connect().await?;
    let id = bound_session(&mut connection).await?;
    folders(&mut connection, n, report).await?;
    found_names(&mut connection, n, report).await?;
    for at in 0..n {
        let ask = json!({"message": format!("search {at}"), "session_id": id}).to_string();
        connection.stream("/api/chat", &ask, |_, _| {}).await?;
    }
    let history = connection.get(&format!("/api/sessions/{id}/history")).await?.json()?;
    let mut times = Samples::default();
    for message in history["messages"].as_array().into_iter().flatten() {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            if call["result"]["data"]["files_matched"] != json!(FILES / FOLDERS) {
                return Err(io::Error::other(format!("the search did not find its files: {call}")));
            }
            times.push(call["duration_ms"].as_f64().unwrap_or(f64::NAN));
        }
    }
    let note = format!("n = {}, p95 {:.0}; 100 files match", times.len(), times.p95());
    report.figure("search_files in 50,000 files of 2 kB, p50", times.p50(), "ms").at_most(200.0).note(note);
    Ok(())
}

/// Measures what the tree of the project asks for: its folders, and the content of one.
async fn folders(connection: &mut Connection, n: usize, report: &mut Report) -> io::Result<()> {
    for (what, path, count, most) in [
        ("the 500 folders of 50,000 files", "", FOLDERS, 150.0),
        ("a folder of 100 files", "folder007", FILES / FOLDERS, 50.0),
    ] {
        let mut times = Samples::default();
        for _ in 0..n {
            let began = Instant::now();
            let listed = connection.get(&format!("/api/projects/scratch/files?path={path}")).await?.json()?;
            times.push(ms(began.elapsed()));
            let found = listed["data"]["items"].as_array().map_or(0, Vec::len);
            if found != count {
                return Err(io::Error::other(format!("{found} entries were listed instead of {count}")));
            }
        }
        let note = format!("n = {}, p95 {:.1}", times.len(), times.p95());
        report.figure(format!("listing {what}, p50"), times.p50(), "ms").at_most(most).note(note);
    }
    Ok(())
}

/// Measures what the field that finds files asks for.
async fn found_names(connection: &mut Connection, n: usize, report: &mut Report) -> io::Result<()> {
    let mut times = Samples::default();
    for at in 0..n {
        let folder = format!("folder{:03}/007.txt", at % FOLDERS);
        let began = Instant::now();
        let found = connection.get(&format!("/api/projects/scratch/find?q={folder}")).await?.json()?;
        times.push(ms(began.elapsed()));
        if found["data"]["items"][0]["path"] != folder {
            return Err(io::Error::other(format!("{folder} was not found: {found}")));
        }
    }
    let note = format!("n = {}, p95 {:.1}", times.len(), times.p95());
    report.figure("finding a file by its path among 50,000, p50", times.p50(), "ms").at_most(150.0).note(note);
    Ok(())
}

/// Writes the files of the project; those of one folder contain the same word.
fn fill(project: &Path) -> io::Result<()> {
    let filler = "some words of a file that is like many others\n".repeat(FILE_SIZE / 46);
    for folder in 0..FOLDERS {
        let inside = project.join(format!("folder{folder:03}"));
        std::fs::create_dir_all(&inside)?;
        for file in 0..FILES / FOLDERS {
            std::fs::write(inside.join(format!("{file:03}.txt")), format!("{filler}needle{folder:03}\n"))?;
        }
    }
    Ok(())
}

async fn operations(bench: &Bench, report: &mut Report) -> io::Result<()> {
    let model = fast_model(1).await?;
    let home = bench.folder("operations");
    starter_home(&home, &model.base_url)?;
    let work = |work: usize| {
        let calls = (0..OPERATIONS).map(|at| {
            json!({"tool": "read_file", "input": "memory/MEMORY.md", "output": "Nothing yet.", "status": "done",
                "id": format!("c{work}.{at}"), "arguments": {"path": "memory/MEMORY.md"}, "index": at,
                "result": {"status": 0, "message": "read", "data": {}, "operationCode": ["memory/MEMORY.md"]}})
        });
        let id = format!("w{work}");
        [
            json!({"role": "user", "content": "Read it.", "work_id": id, "id": format!("m{work}")}),
            json!({"role": "assistant", "content": "Done.", "work_id": id, "tool_calls": calls.collect::<Vec<_>>()}),
        ]
    };
    let session = seed::titled("many operations", (0..WORKS).flat_map(work).collect());
    seed::write(&home, "operations", &session)?;
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    let path = "/api/sessions/operations/operations";
    let listed = connection.get(path).await?.json()?;
    let count: usize =
        listed.as_array().into_iter().flatten().filter_map(|work| work["operations"].as_array()).map(Vec::len).sum();
    if count != WORKS * OPERATIONS {
        return Err(io::Error::other(format!("{count} operations were listed")));
    }
    let mut times = Samples::default();
    let mut bytes = 0;
    for _ in 0..bench.times(50) {
        let began = Instant::now();
        bytes = connection.get(path).await?.body.len();
        times.push(ms(began.elapsed()));
    }
    let note = format!("n = {}, p95 {:.1}; {:.1} MB", times.len(), times.p95(), bytes as f64 / 1e6);
    report.figure("operations of a session with 10,000, p50", times.p50(), "ms").at_most(50.0).note(note);
    Ok(())
}
