//! Requests to the search of a running server and to the status of its index.

use std::io::{self, Error};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::time::sleep;

use super::http::Connection;
use super::numbers::{Samples, ms};
use super::texts::Rng;

/// Timeout for building an index.
const PATIENCE: Duration = Duration::from_secs(900);

/// Timings of some questions, in milliseconds.
#[derive(Default)]
pub struct Asked {
    /// The whole request, as the client measures it.
    pub whole: Samples,
    /// The same without the embedding of the question.
    pub beyond: Samples,
    /// The check for changed files and the search, as the server reports them: without HTTP and thread switches.
    pub inside: Samples,
    /// The embedding of the question.
    pub embedding: Samples,
    /// The parts that the server reports: check for changed files, search by words, search by meaning, windows and fusion.
    pub refresh: Samples,
    pub lexical: Samples,
    pub vector: Samples,
    pub fuse: Samples,
}

impl Asked {
    pub fn parts(&self) -> String {
        let part = |name: &str, samples: &Samples| format!("{name} {:.2}", samples.p50());
        let parts = [
            part("changed files", &self.refresh),
            part("words", &self.lexical),
            part("vectors", &self.vector),
            part("windows", &self.fuse),
        ];
        format!("n = {}; p50 of its parts in ms: {}", self.whole.len(), parts.join(", "))
    }

    /// Asks `n` different questions.
    pub async fn ask(connection: &mut Connection, folder: &str, n: usize) -> io::Result<Self> {
        let mut rng = Rng::new(1);
        let mut asked = Self::default();
        for _ in 0..n {
            let (answer, took) = search(connection, folder, &rng.question()).await?;
            let part = |name: &str| answer["took_us"][name].as_f64().unwrap_or_default() / 1e3;
            asked.whole.push_ms(took);
            asked.beyond.push(ms(took) - part("embed"));
            asked.inside.push(part("refresh") + part("lexical") + part("vector") + part("fuse"));
            asked.embedding.push(part("embed"));
            asked.refresh.push(part("refresh"));
            asked.lexical.push(part("lexical"));
            asked.vector.push(part("vector"));
            asked.fuse.push(part("fuse"));
            if answer["hits"].as_array().is_none_or(Vec::is_empty) {
                return Err(Error::other("a question without an answer"));
            }
        }
        Ok(asked)
    }
}

/// Returns the response to one question and how long it took.
pub async fn search(connection: &mut Connection, folder: &str, query: &str) -> io::Result<(Value, Duration)> {
    let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
    let path = format!("/api/retrieval/search?folder={folder}&query={query}&k=3&candidates=3");
    let began = Instant::now();
    let answer = connection.get(&path).await?;
    let took = began.elapsed();
    Ok((answer.json()?, took))
}

/// Searches once and waits until the whole folder is indexed and, with a model, embedded. Returns the number of chunks.
pub async fn settled(connection: &mut Connection, folder: &str, embedded: Embedded) -> io::Result<usize> {
    search(connection, folder, "anything").await?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let status = connection.get("/api/retrieval/status").await?.json()?;
        let folders = status["folders"].as_array().into_iter().flatten();
        let of = folders.into_iter().find(|status| status["folder"] == folder).cloned().unwrap_or_default();
        let all = embedded == Embedded::No || of["embedded"] == of["chunks"];
        if of["state"] == "ready" && of["chunks"] != 0 && all {
            return Ok(of["chunks"].as_u64().unwrap_or_default() as usize);
        }
        sleep(Duration::from_millis(100)).await;
    }
    Err(Error::other(format!("{folder}/ is not indexed after {} s", PATIENCE.as_secs())))
}

/// Whether to wait for the vectors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Embedded {
    Yes,
    No,
}
