//! Resident memory of the server process, when idle and after ordinary use.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Bench, fast_model, titled_session};
use crate::kit::http::Connection;
use crate::kit::report::Report;
use crate::kit::server::{Server, starter_home};

const LIMIT_MB: f64 = 40.0;

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Memory");
    let model = fast_model(200).await?;
    let home = bench.folder("memory");
    starter_home(&home, &model.base_url)?;
    let server = Server::start(&home)?;
    let mut connection = server.connect().await?;
    connection.get("/health").await?.json()?;
    resting(report, &server, "idle, after the start").await?;

    let id = titled_session(&mut connection).await?;
    let ask = json!({"message": "hi", "session_id": id}).to_string();
    connection.stream("/api/chat", &ask, |_, _| {}).await?;
    resting(report, &server, "after one chat turn").await?;

    let files = json!({"paths": ["workspace/SOUL.md", "workspace/AGENTS.md", "memory/MEMORY.md"]});
    connection.post("/api/tokens/files", &files).await?.json()?;
    resting(report, &server, "after tokens were counted").await?;

    page_load(&mut connection, &id).await?;
    resting(report, &server, "after everything the web UI asks for").await?;

    for _ in 0..bench.times(100) {
        connection.stream("/api/chat", &ask, |_, _| {}).await?;
    }
    resting(report, &server, "after 100 more turns of 200 tokens").await?;
    report.show();
    Ok(())
}

async fn resting(report: &mut Report, server: &Server, when: &str) -> io::Result<()> {
    sleep(Duration::from_millis(1500)).await;
    let (all, own) = server.memory()?;
    let note = format!("of it {own:.1} MB not file pages; {} threads", server.threads()?);
    report.figure(format!("resident {when}"), all, "MB").at_most(LIMIT_MB).note(note);
    Ok(())
}

/// Sends the requests that a browser sends when it opens the page on a session, and opens every folder and file.
async fn page_load(connection: &mut Connection, id: &str) -> io::Result<()> {
    let page = connection.get("/").await?;
    let page = String::from_utf8_lossy(&page.body).into_owned();
    let assets = page.split('"').filter(|word| word.contains("assets/") || word.ends_with(".js"));
    for asset in assets {
        let path = asset.trim_start_matches('.').trim_start_matches('/');
        connection.get(&format!("/{path}")).await?;
    }
    for path in ["status", "models", "skills", "sessions", "config/rag-mode", "openapi.json"] {
        connection.get(&format!("/api/{path}")).await?.json()?;
    }
    let mut files = Vec::new();
    for root in ["workspace", "memory", "skills", "knowledge"] {
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            let content = connection.get(&format!("/api/files/folder?path={folder}")).await?.json()?;
            let paths = |kind: &str| {
                let entries = content[kind].as_array().into_iter().flatten();
                entries.filter_map(|entry| entry["path"].as_str().map(str::to_owned)).collect::<Vec<_>>()
            };
            files.extend(paths("files"));
            folders.extend(paths("folders"));
        }
    }
    for file in &files {
        connection.get(&format!("/api/files?path={file}")).await?;
    }
    connection.post("/api/tokens/files", &json!({"paths": files})).await?.json()?;
    for path in ["history", "messages"] {
        connection.get(&format!("/api/sessions/{id}/{path}")).await?.json()?;
    }
    connection.get(&format!("/api/tokens/session/{id}")).await?.json()?;
    let prompt: Value = connection.get(&format!("/api/prompt?session_id={id}")).await?.json()?;
    if prompt["system"].as_str().is_some_and(str::is_empty) {
        return Err(io::Error::other("an empty prompt"));
    }
    Ok(())
}
