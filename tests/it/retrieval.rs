//! Search in memory and knowledge: explained, by words and by meaning, up to date with the files, rebuilt after deletion.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::http::PATIENCE;
use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, Server, World};

const BIRDS: &str =
    "# Birds\n\n## Penguins\n\nPenguins cannot fly. They swim.\n\n## Ostriches\n\nOstriches run fast.\n";

/// Starts an embedding service that knows three meanings and counts the requested texts.
async fn embedder() -> (String, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/v1/embeddings", post(embed)).with_state(asked.clone());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (
        format!(
            "{CONFIG}embedding: {{provider: openai, api_url: 'http://{address}/v1', api_key: none, model: made}}\n"
        ),
        asked,
    )
}

async fn embed(State(asked): State<Arc<AtomicUsize>>, Json(body): Json<Value>) -> Json<Value> {
    let texts: Vec<&str> = match &body["input"] {
        Value::Array(texts) => texts.iter().map(|text| text.as_str().unwrap()).collect(),
        text => vec![text.as_str().unwrap()],
    };
    asked.fetch_add(texts.len(), Ordering::SeqCst);
    let groups: [&[&str]; 3] = [&["Penguin", "antarctic"], &["Ostrich", "sprint"], &["soup", "kitchen"]];
    let vectors = texts.iter().enumerate().map(|(index, text)| {
        let vector: Vec<f32> = groups
            .iter()
            .map(|words| 0.01 + words.iter().filter(|word| text.contains(**word)).count() as f32)
            .collect();
        json!({"index": index, "object": "embedding", "embedding": vector})
    });
    Json(json!({"object": "list", "model": "made", "data": vectors.collect::<Vec<_>>()}))
}

/// Polls the status until `holds` is true.
async fn status(server: &Server<'_>, holds: impl Fn(&Value) -> bool) -> Value {
    let waiting = async {
        loop {
            let status = server.get("/api/retrieval/status").await.ok();
            if holds(&status) {
                return status;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the index comes to rest")
}

fn knowledge(status: &Value) -> &Value {
    status["folders"].as_array().unwrap().iter().find(|folder| folder["folder"] == "knowledge").unwrap()
}

fn sources(search: &Value) -> Vec<&str> {
    search["hits"].as_array().unwrap().iter().map(|hit| hit["source"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn search_explains_its_scores() {
    let world =
        World::new(script([])).await.with_file("knowledge/birds.md", BIRDS).with_file("knowledge/x.md", "They run.");
    let server = world.serve().await;
    let search = server.get("/api/retrieval/search?query=Which+birds+run%3F&k=1").await.ok();
    assert_eq!((&search["folder"], &search["k"]), (&json!("knowledge"), &json!(1)));
    assert_eq!(search["ignored"], json!(["which"]));
    let terms: Vec<&str> = search["terms"].as_array().unwrap().iter().map(|t| t["term"].as_str().unwrap()).collect();
    assert_eq!(terms, ["bird", "run"]);
    assert_eq!(search["weights"]["reason"], "no_model");
    let hit = &search["hits"][0];
    assert_eq!((&hit["source"], &hit["lines"]), (&json!("knowledge/birds.md"), &json!([1, 9])));
    let lexical = &hit["how"]["lexical"];
    let sum: f64 = lexical["terms"].as_array().unwrap().iter().map(|term| term["score"].as_f64().unwrap()).sum();
    assert!((sum - lexical["score"].as_f64().unwrap()).abs() < 1e-9);
    let missed = &search["near_misses"][0];
    assert_eq!((&missed["hit"]["source"], &missed["reason"]), (&json!("knowledge/x.md"), &json!("weaker_words")));
    assert!(search["took_us"]["lexical"].is_u64());

    for (query, refused) in [
        ("query=", "empty_query"),
        ("query=a&folder=workspace", "bad_folder"),
        ("query=a&vector_weight=2", "bad_weight"),
    ] {
        let answer = server.get(&format!("/api/retrieval/search?{query}")).await.refused();
        assert_eq!(answer, (400, refused.to_owned()), "{query}");
    }
}

#[tokio::test]
async fn repeated_passage_is_one_hit() {
    let told = |name: &str| (0..30).map(|n| format!("Line {n} of the {name}. ")).collect::<String>();
    let report = format!("{}The penguins swim to the south. {}", told("report"), told("appendix"));
    let repeating = format!("{}\n\n{report}\n\n{}\n\n{report}\n", told("introduction"), told("middle"));
    let world = World::new(script([])).await.with_file("knowledge/report.md", &repeating);
    let world = world.with_file("knowledge/copy.md", &report);
    let server = world.serve().await;
    let search = server.get("/api/retrieval/search?query=Where+do+penguins+swim%3F&k=2").await.ok();
    let hits = search["hits"].as_array().unwrap();
    let duplicates: Vec<(&Value, &Value)> =
        hits.iter().map(|hit| (&hit["source"], &hit["how"]["duplicates"])).collect();
    let (once, twice) = (json!("knowledge/copy.md"), json!("knowledge/report.md"));
    assert!(duplicates.len() == 2 && duplicates.contains(&(&once, &Value::Null)), "{search:#}");
    assert!(duplicates.contains(&(&twice, &json!(1))), "{search:#}");
    let first = hits.iter().find(|hit| hit["source"] == twice).unwrap();
    let end = first["range"][1].as_u64().unwrap() as usize;
    assert!(end < repeating.find("middle").unwrap() + 40 && repeating[..end].contains("penguins"), "{first:#}");
}

#[tokio::test]
async fn vectors_answer_what_words_miss() {
    let (config, asked) = embedder().await;
    let world = World::new(script([]))
        .await
        .with_file("config.yml", &config)
        .with_file("knowledge/birds.md", "Penguins live on ice.")
        .with_file("knowledge/race.md", "The Ostrich is fast.")
        .with_file("knowledge/food.md", "Tomato soup.");
    let server = world.serve().await;
    let search = "/api/retrieval/search?query=who+can+sprint&k=1";
    server.get(search).await.ok();
    let ready = |status: &Value| knowledge(status)["embedded"] == 3 && knowledge(status)["state"] == "ready";
    let overview = status(&server, ready).await;
    assert_eq!((&overview["model"]["state"], &overview["model"]["dimension"]), (&json!("ready"), &json!(3)));
    let found = server.get(search).await.ok();
    assert_eq!((sources(&found), &found["weights"]["reason"]), (vec!["knowledge/race.md"], &json!("balanced")));
    assert!(found["hits"][0]["how"]["vector"]["cosine"].as_f64().unwrap() > 0.9);

    let before = asked.load(Ordering::SeqCst);
    drop(server);
    let server = world.serve().await;
    assert_eq!(sources(&server.get(search).await.ok()), ["knowledge/race.md"]);
    assert!(asked.load(Ordering::SeqCst) <= before + 2, "vectors are kept; only a probe and the question are embedded");
    world.write("knowledge/race.md", "The Ostrich is fast. It has long legs.");
    server.get(search).await.ok();
    status(&server, ready).await;
    assert!(asked.load(Ordering::SeqCst) <= before + 5, "an edit embeds its own chunk only");
}

#[tokio::test]
async fn index_follows_files_and_rebuilds_identically() {
    let world =
        World::new(script([])).await.with_file("knowledge/birds.md", BIRDS).with_file("knowledge/sea.md", "Fish swim.");
    let search = "/api/retrieval/search?query=swim+fast&k=5";
    let hits = async |server: &Server<'_>| server.get(search).await.ok()["hits"].take();
    let server = world.serve().await;
    assert_eq!(hits(&server).await.as_array().unwrap().len(), 2);
    world.write("knowledge/sea.md", "Fish swim. Tuna swim fast.");
    world.write("knowledge/land.md", "Cheetahs run fast.");
    let edited = hits(&server).await;
    assert_eq!(edited.as_array().unwrap().len(), 3);
    std::fs::remove_file(world.path("knowledge/land.md")).unwrap();
    let removed = hits(&server).await;
    assert_eq!(removed.as_array().unwrap().len(), 2);
    drop(server);
    std::fs::remove_dir_all(world.path("storage")).unwrap();
    let server = world.serve().await;
    assert_eq!(hits(&server).await, removed);
    drop(server);
    std::fs::write(world.path("storage/retrieval/knowledge/meta.json"), "damaged").unwrap();
    let server = world.serve().await;
    assert_eq!(hits(&server).await, removed);
}

#[tokio::test]
async fn unreadable_files_are_listed_with_reason() {
    let world =
        World::new(script([])).await.with_file("knowledge/a.md", "alpha").with_file("knowledge/p.html", "<p>beta</p>");
    world.write("knowledge/b.bin", b"\xff\xfe");
    world.write("knowledge/c.pdf", b"%PDF-1.7 torn");
    let server = world.serve().await;
    assert_eq!(sources(&server.get("/api/retrieval/search?query=beta").await.ok()), ["knowledge/p.html"]);
    let overview = server.get("/api/retrieval/status").await.ok();
    let folder = knowledge(&overview);
    assert_eq!((&folder["files"], &folder["chunks"]), (&json!(4), &json!(2)));
    let unreadable = folder["unreadable"].as_array().unwrap();
    let paths: Vec<&str> = unreadable.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["knowledge/b.bin", "knowledge/c.pdf"]);
    let reasons: Vec<_> = unreadable.iter().map(|file| (&file["code"], &file["reason"])).collect();
    assert_eq!(reasons[0], (&json!("not_utf8"), &json!("Not a UTF-8 text file.")));
    assert_eq!(reasons[1].0, "damaged");
    assert!(reasons[1].1.as_str().unwrap().starts_with("Damaged"), "{unreadable:?}");
    assert_eq!(overview["model"]["state"], "absent");
    assert!(overview["model"]["detail"].as_str().unwrap().contains("make embedder"));
}

#[tokio::test]
async fn file_shows_its_chunks() {
    let long: String = (0..80).map(|n| format!("## Part {n}\n\n{}\n\n", "words of it ".repeat(30))).collect();
    let world = World::new(script([])).await.with_file("knowledge/a.md", &format!("# Title\n\n{long}"));
    let server = world.serve().await;
    let cut = server.get("/api/retrieval/chunks?path=knowledge/a.md").await.ok();
    assert_eq!(cut["title"], "Title");
    let chunks = cut["chunks"].as_array().unwrap();
    let text = world.read("knowledge/a.md");
    assert!(chunks.len() >= 40);
    for chunk in chunks {
        let (from, to) = (chunk["range"][0].as_u64().unwrap() as usize, chunk["range"][1].as_u64().unwrap() as usize);
        assert_eq!(&text[from..to], chunk["text"].as_str().unwrap());
        assert!(chunk["tokens"].as_u64().unwrap() <= 256 && chunk["embedded"] == false);
    }
    for (path, code) in [("knowledge/none.md", 404), ("workspace/SOUL.md", 400), ("../x", 400)] {
        assert_eq!(server.get(&format!("/api/retrieval/chunks?path={path}")).await.refused().0, code, "{path}");
    }
}

#[tokio::test]
async fn retrieval_tests_report_regressions() {
    let cases = "{\"query\": \"Can penguins fly?\", \"file\": \"birds.md\", \"heading\": \"Birds\"}\n\
                 {\"query\": \"Which birds run?\", \"file\": \"birds.md\", \"text\": \"Ostriches\"}\n\nnonsense\n";
    let world =
        World::new(script([])).await.with_file("knowledge/birds.md", BIRDS).with_file("knowledge/tests.jsonl", cases);
    let server = world.serve().await;
    let tests = server.get("/api/retrieval/tests?folder=knowledge").await.ok();
    assert_eq!((tests["cases"].as_array().unwrap().len(), &tests["problems"][0]["line"]), (2, &json!(4)));
    assert!(tests["last"].is_null());
    let run = async || server.post("/api/retrieval/tests", json!({"folder": "knowledge"})).await.ok();
    let first = run().await;
    assert_eq!((&first["recall_at_k"], &first["mrr"], &first["before"]), (&json!(1.0), &json!(1.0), &Value::Null));
    world.write("knowledge/birds.md", BIRDS.replace("Penguins cannot fly", "They cannot do so"));
    world.write("knowledge/decoy.md", "Can penguins fly? Penguins fly in a dream. Can penguins fly?");
    let second = run().await;
    assert_eq!((&second["worse"][0]["line"], &second["worse"][0]["before"]), (&json!(1), &json!(1)));
    assert_eq!(second["before"]["recall_at_k"], 1.0);
    assert_eq!(server.get("/api/retrieval/tests").await.ok()["last"]["at"], second["at"]);
    assert_eq!(
        server.get("/api/retrieval/search?query=nonsense").await.ok()["hits"],
        json!([]),
        "tests are no document"
    );
    drop(server);

    let home = world.home();
    let output = world.run(&["eval", "--home", home.to_str().unwrap()]).await;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("knowledge: 2 questions") && text.contains("knowledge/tests.jsonl:4"), "{text}");
    assert!(output.status.success(), "nothing is worse than at the run before: {text}");
    std::fs::remove_file(world.path("knowledge/birds.md")).unwrap();
    let output = world.run(&["eval", "--home", home.to_str().unwrap()]).await;
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
}

#[tokio::test]
async fn search_tool_answers_with_citations() {
    let first = calls([call("c1", "search_knowledge_base", json!({"query": "penguins fly"}))]);
    let second = calls([call("c2", "search_memory", json!({"query": "penguin name"}))]);
    let world = World::new(script([first, second, says(["Pingu cannot fly."])]))
        .await
        .with_file("knowledge/birds.md", BIRDS)
        .with_file("memory/notes/pets.md", "The penguin has the name Pingu.\n");
    let server = world.serve().await;
    server.chat("s", "?").await;
    server.settled("s").await;
    let calls = &world.session("s")["messages"][1]["tool_calls"];
    let output = calls[0]["output"].as_str().unwrap();
    assert!(output.contains("knowledge/birds.md:1-9") && output.contains("Penguins cannot fly"), "{output}");
    assert!(calls[1]["output"].as_str().unwrap().contains("memory/notes/pets.md:1"), "{calls}");
    let request = world.asked()[0]["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(!request.contains("Pingu"));
}

#[tokio::test]
async fn large_folder_is_indexed_in_the_background() {
    let world = World::new(script([])).await;
    let page =
        |n: usize| format!("# Page {n}\n\n{}\n\nunique{n}\n", format!("text of page {n} and more of it. ").repeat(400));
    for n in 0..400 {
        world.write(&format!("knowledge/p{n}.md"), page(n));
    }
    let server = world.serve().await;
    let search = server.get("/api/retrieval/search?query=unique399").await.ok();
    assert_eq!(server.get("/health").await.ok()["status"], "ok");
    assert!(search["hits"].is_array());
    status(&server, |status| knowledge(status)["state"] == "ready" && knowledge(status)["files"] == 400).await;
    assert_eq!(sources(&server.get("/api/retrieval/search?query=unique399").await.ok()), ["knowledge/p399.md"]);
    assert_eq!(sources(&server.get("/api/retrieval/search?query=unique0").await.ok()), ["knowledge/p0.md"]);
}
