//! Documents that would crash the program that reads them: the server keeps running, reports which documents are not
//! read and why, and does not try them again.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use serde_json::Value;

use crate::corpus::{Sample, Text, docx_of, pdf_of, samples};
use crate::script::script;
use crate::world::{Server, World, eventually};

/// Makes the log show which documents are read.
const LOG: (&str, &str) = ("MINICLAW_LOG", "warn,miniclaw::library=debug");

/// Time limit for the whole corpus; most of it is spent waiting for documents that run into their timeout.
const ALL: Duration = Duration::from_secs(180);

async fn folder(server: &Server<'_>, name: &str) -> Value {
    let status = server.get("/api/retrieval/status").await.ok();
    let folders = status["folders"].as_array().unwrap();
    folders.iter().find(|folder| folder["folder"] == name).unwrap().clone()
}

/// Searches, and waits until the index is up to date with the files.
async fn search(server: &Server<'_>, name: &str, query: &str) -> Vec<String> {
    let since = Instant::now();
    let path = format!("/api/retrieval/search?folder={name}&query={query}");
    loop {
        let found = server.get(&path).await.ok();
        if folder(server, name).await["state"] == "ready" {
            let hits = server.get(&path).await.ok()["hits"].as_array().unwrap().clone();
            return hits.iter().map(|hit| hit["source"].as_str().unwrap().to_owned()).collect();
        }
        assert!(since.elapsed() < ALL, "still being read: {found}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Returns the files that are not read, with their reasons.
async fn unreadable(server: &Server<'_>, name: &str) -> BTreeMap<String, String> {
    let listed = folder(server, name).await["unreadable"].as_array().unwrap().clone();
    let text = |file: &Value, of: &str| file[of].as_str().unwrap().to_owned();
    let files: BTreeMap<String, String> = listed.iter().map(|file| (text(file, "path"), text(file, "code"))).collect();
    assert_eq!(files.len(), listed.len(), "each once");
    assert!(listed.iter().all(|file| !text(file, "reason").is_empty()));
    files
}

/// Returns how often a document was given to a reader.
fn read_so_far(world: &World) -> usize {
    world.log().matches("a document is read").count()
}

/// Returns the server's resident memory in bytes: the current value, and the peak since the last [`forget_peak`].
fn memory(server: &Server<'_>) -> [u64; 2] {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
    })
}

fn forget_peak(server: &Server<'_>) {
    std::fs::write(format!("/proc/{}/clear_refs", server.pid()), "5").unwrap();
}

#[tokio::test]
async fn hostile_documents_are_tried_once_within_memory() {
    let world = World::new(script([])).await.with_env(LOG.0, LOG.1).with_file("knowledge/birds.md", "Petrels moult.\n");
    let samples: Vec<Sample> = samples();
    let server = world.serve().await;
    forget_peak(&server);
    // A busy server: memory that indexing ordinary text takes temporarily is not counted.
    for file in 0..4 {
        let lines: String =
            (0..8_000).map(|line| format!("Line {line} of {file} says word{}.\n\n", line * 7 % 3001)).collect();
        world.write(&format!("knowledge/ordinary{file}.md"), lines);
    }
    for number in 0..3 {
        world.write(&format!("knowledge/duck{number}.docx"), docx_of("Ducks", &["Eiders dive."]));
        assert_eq!(search(&server, "knowledge", "eiders").await.len(), number + 1);
    }
    let read_before = read_so_far(&world);
    let [before, peak_before] = memory(&server);

    for Sample { name, bytes, .. } in &samples {
        world.write(&format!("knowledge/{name}"), bytes);
    }
    let asked = Instant::now();
    assert_eq!(server.get("/api/retrieval/search?query=moult").await.ok()["hits"][0]["source"], "knowledge/birds.md");
    assert!(
        asked.elapsed() < Duration::from_secs(20),
        "a question does not wait for all of them: {:?}",
        asked.elapsed()
    );
    assert_eq!(search(&server, "knowledge", "plovers").await, ["knowledge/good.docx"]);
    // Segments of the index may still be merging at this moment.
    eventually("the server is no more than 20 MB larger", async || {
        memory(&server)[0].saturating_sub(before) >> 20 <= 20
    })
    .await;
    let [after, peak] = memory(&server);
    let [grown, above] = [after.saturating_sub(before) >> 20, peak.saturating_sub(peak_before) >> 20];
    println!("the server grew by {grown} MB, and took at most {above} MB more than for ordinary text");
    // The temporary memory is the text of good documents on its way into the index.
    assert!(above <= 32, "by {grown} MB, at most {above} MB more than for ordinary text");
    assert_eq!(server.get("/health").await.ok()["status"], "ok");

    let refused = unreadable(&server, "knowledge").await;
    for sample in &samples {
        let code = refused.get(&format!("knowledge/{}", sample.name)).map(String::as_str);
        match sample.text {
            Text::Contains(word) => {
                assert_eq!(code, None, "{}", sample.name);
                let found = search(&server, "knowledge", &word.replace(' ', "%20")).await;
                assert!(found.iter().any(|path| path.ends_with(&sample.name)), "{}: {found:?}", sample.name);
            }
            Text::Refused(expected) => assert_eq!(code, Some(expected), "{}", sample.name),
            Text::Any => assert_ne!(code, Some("no_reader"), "{}", sample.name),
        }
    }
    eventually("all are logged", async || read_so_far(&world) - read_before >= samples.len()).await;
    let read = read_so_far(&world);
    assert_eq!(read - read_before, samples.len(), "each is read once, and not by any later question");

    assert!(server.terminate().await.0.success());
    let server = world.serve().await;
    assert_eq!(search(&server, "knowledge", "plovers").await, ["knowledge/good.docx"]);
    assert_eq!(unreadable(&server, "knowledge").await, refused);
    assert_eq!(read_so_far(&world), read, "nor after a restart");
    // Under another name and with a new modification time: the content is still the same.
    world
        .write("knowledge/copy.pdf", &samples.iter().find(|sample| sample.name == "form-in-itself.pdf").unwrap().bytes);
    world.write("knowledge/copy.html", "<p>Grouse drum.</p>");
    assert_eq!(search(&server, "knowledge", "grouse").await, ["knowledge/copy.html"]);
    assert_eq!(unreadable(&server, "knowledge").await["knowledge/copy.pdf"], "too_deep");
    eventually("it is logged", async || read_so_far(&world) > read).await;
    assert_eq!(read_so_far(&world), read + 1, "only what is new");
    // A repaired document is read.
    world.write("knowledge/form-in-itself.pdf", pdf_of(&["Linnets sing."]));
    assert_eq!(search(&server, "knowledge", "linnets").await, ["knowledge/form-in-itself.pdf"]);
    assert!(!unreadable(&server, "knowledge").await.contains_key("knowledge/form-in-itself.pdf"));
}

#[tokio::test]
async fn hostile_document_is_not_retried_at_start() {
    let hostile = samples().into_iter().find(|sample| sample.name == "form-in-itself.pdf").unwrap();
    let world = World::new(script([])).await.with_env(LOG.0, LOG.1);
    world.write("memory/hostile.pdf", &hostile.bytes);
    world.write("memory/good.html", "<p>Penguins swim.</p>");
    for start in 0..3 {
        let server = world.serve().await;
        assert_eq!(search(&server, "memory", "penguins").await, ["memory/good.html"], "start {start}");
        assert_eq!(
            unreadable(&server, "memory").await,
            BTreeMap::from([("memory/hostile.pdf".into(), "too_deep".into())])
        );
        // The index of memory/ is rebuilt at each start, so readable documents are read again.
        eventually("they are logged", async || read_so_far(&world) >= 2 + start).await;
        assert_eq!(read_so_far(&world), 2 + start, "start {start}");
    }
}

#[tokio::test]
async fn unconfined_reader_keeps_its_limits() {
    // The three system calls of Landlock fail as on a kernel without it.
    let calls = [444, 445, 446].map(|call| (call, Vec::new())).into();
    let missing = SeccompAction::Errno(libc::ENOSYS as u32);
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(calls, SeccompAction::Allow, missing, arch).unwrap();
    let filter = BpfProgram::try_from(filter).unwrap();
    let bad = ["form-in-itself.pdf", "bomb-400.pdf"];
    for level in ["standard", "off"] {
        let world = World::new(script([])).await.with_file("knowledge/good.html", "<p>Penguins swim.</p>");
        for sample in samples().into_iter().filter(|sample| bad.contains(&sample.name.as_str())) {
            world.write(&format!("knowledge/{}", sample.name), sample.bytes);
        }
        let filter = filter.clone();
        let server = world
            .serve_prepared(&["--port", "0", "--sandbox", level], move |command| {
                use std::os::unix::process::CommandExt;
                // SAFETY: a single system call on memory that was allocated before the fork.
                unsafe { command.pre_exec(move || apply_filter(&filter).map_err(std::io::Error::other)) };
            })
            .await;
        assert_eq!(search(&server, "knowledge", "penguins").await, ["knowledge/good.html"]);
        let expected = [("knowledge/bomb-400.pdf", "memory_limit"), ("knowledge/form-in-itself.pdf", "too_deep")];
        let expected: BTreeMap<_, _> = expected.map(|(path, code)| (path.to_owned(), code.to_owned())).into();
        assert_eq!(unreadable(&server, "knowledge").await, expected, "{level}");
    }
}

#[tokio::test]
async fn files_beyond_index_limit_are_reported() {
    let world = World::new(script([])).await;
    for folder in 0..3 {
        let folder = world.path(&format!("knowledge/{folder}"));
        std::fs::create_dir_all(&folder).unwrap();
        for file in 0..7_000 {
            std::fs::File::create(folder.join(format!("{file}.md"))).unwrap();
        }
    }
    let server = world.serve().await;
    search(&server, "knowledge", "anything").await;
    let status = folder(&server, "knowledge").await;
    assert_eq!((&status["files"], &status["left_out"]), (&20_000.into(), &1_000.into()));
    let problems = server.get("/api/status").await.ok()["problems"].to_string();
    assert!(problems.contains("1,000 files in knowledge/ are not indexed"), "{problems}");
    std::fs::remove_dir_all(world.path("knowledge/0")).unwrap();
    search(&server, "knowledge", "anything").await;
    let status = folder(&server, "knowledge").await;
    assert_eq!((&status["files"], &status["left_out"]), (&14_000.into(), &0.into()));
}
