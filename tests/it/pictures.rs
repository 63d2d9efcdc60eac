//! Pictures sent with a message: stored beside the session under their hash, sent to models with vision, described to
//! other models, and never a reason for a session to fail.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::approvals::run;
use crate::script::{always, calls, says, script};
use crate::world::{CONFIG, Server, World};

/// Returns the header of a PNG of this size; no component decodes more.
fn png(width: u32, height: u32) -> Vec<u8> {
    let head: [&[u8]; 4] = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &width.to_be_bytes(), &height.to_be_bytes(), b"\x08\x02"];
    head.concat()
}

/// Returns a PNG of this size whose structure is complete; its image data is not.
pub fn complete_png(width: u32, height: u32) -> Vec<u8> {
    let chunk = |typed: &[u8]| {
        let length = u32::try_from(typed.len() - 4).unwrap().to_be_bytes();
        [length.as_slice(), typed, &crc32fast::hash(typed).to_be_bytes()].concat()
    };
    let header = [b"IHDR".as_slice(), &width.to_be_bytes(), &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
    [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(&header), chunk(b"IDATx"), chunk(b"IEND")].concat()
}

pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sent(name: &str, bytes: &[u8]) -> Value {
    json!({"name": name, "encoding": "base64", "content": STANDARD.encode(bytes)})
}

fn kept(name: &str, bytes: &[u8], width: u32, height: u32) -> Value {
    let picture = json!({"media_type": "image/png", "hash": hash(bytes), "bytes": bytes.len(), "width": width,
        "height": height});
    json!({"name": name, "extension": "png", "content": "", "picture": picture})
}

pub fn address(bytes: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

/// Creates a world whose default model has vision; a session can choose `other/mock`, which has none.
pub async fn world(replies: impl IntoIterator<Item = Value>) -> World {
    let world = World::new(script(replies)).await;
    let at = world.provider.base_url.as_str();
    let models = format!("models: [{{id: eyes, api_url: '{at}', api_key: x, vision: true}}]\ndefault_model: eyes\n");
    world.write("config.yml", format!("{CONFIG}{models}"));
    world
}

async fn say(server: &Server<'_>, message: &str, attachments: Value) -> Value {
    let body = json!({"message": message, "session_id": "s", "stream": false, "attachments": attachments});
    let answer = server.post("/api/chat", body).await.ok();
    server.settled("s").await;
    answer
}

/// Returns the text and the pictures of each user message in the last request.
fn asked(world: &World) -> Vec<(String, Vec<String>)> {
    let messages = world.asked().pop().expect("a request")["messages"].take();
    let persons = messages.as_array().unwrap().iter().filter(|message| message["role"] == "user");
    let seen = persons.map(|message| match message["content"].as_str() {
        Some(text) => (text.to_owned(), Vec::new()),
        None => {
            let parts = message["content"].as_array().unwrap();
            let pictures = parts[1..].iter().map(|part| part["image_url"]["url"].as_str().unwrap().to_owned());
            (parts[0]["text"].as_str().unwrap().to_owned(), pictures.collect())
        }
    });
    seen.collect()
}

#[tokio::test]
async fn picture_reaches_the_model_and_survives_restart() {
    let world = world([always(says(["A cat."]))]).await;
    let server = world.serve().await;
    let cat = png(640, 480);
    let note = json!({"name": "note.md", "content": "one"});
    say(&server, "What is this?", json!([note, sent("photos/cat.jpeg", &cat)])).await;
    let text = "[picture 1: cat.jpeg]\n\n<attachment name=\"note.md\">\none\n</attachment>\n\nWhat is this?";
    assert_eq!(asked(&world), [(text.to_owned(), vec![address(&cat)])]);
    let file = format!("sessions/pictures/s/{}.png", hash(&cat));
    assert_eq!(std::fs::read(world.path(&file)).unwrap(), cat);
    let stands = kept("cat.jpeg", &cat, 640, 480);
    assert_eq!(world.session("s")["messages"][0]["attachments"][1], stands);
    assert!(!world.read("sessions/s.json").contains(&STANDARD.encode(&cat)), "the session's file stays readable");
    drop(server);

    let server = world.serve().await;
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(history["messages"][0]["attachments"][1], stands);
    let picture = server.get(&format!("/api/sessions/s/pictures/{}", hash(&cat))).await;
    assert_eq!(picture.status(), 200);
    for (header, value) in [
        ("content-type", "image/png"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "private, max-age=31536000, immutable"),
    ] {
        assert_eq!(picture.head.header(header), Some(value), "{header}");
    }
    assert!(picture.head.header("content-security-policy").unwrap().ends_with("sandbox"));
    // Sent again by its hash alone, as the page does when it repeats a message.
    let again = json!([{"name": "cat.jpeg", "encoding": "kept", "content": hash(&cat)}]);
    say(&server, "", again.clone()).await;
    assert_eq!(asked(&world)[1], ("[picture 1: cat.jpeg]".to_owned(), vec![address(&cat)]));
    let elsewhere = server.post("/api/sessions/t/messages", json!({"message": "", "attachments": again})).await;
    assert_eq!(elsewhere.refused(), (422, "picture_gone".to_owned()), "a session has its own pictures only");
}

#[tokio::test]
async fn sent_pictures_are_shown_exactly() {
    let world = world([always(says(["A cat."]))]).await;
    let server = world.serve().await;
    let cat = png(750, 750);
    say(&server, "Look.", json!([sent("cat.png", &cat)])).await;
    say(&server, "And?", json!([])).await;
    let list = server.get("/api/sessions/s/requests").await.ok();
    let names: Vec<&str> = list["requests"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    for (name, body) in names.iter().zip(world.asked()) {
        let seen = server.get(&format!("/api/sessions/s/requests/{name}")).await.ok();
        assert_eq!(seen["body"], body);
        let pieces = seen["pieces"].as_array().unwrap();
        let piece = pieces.iter().find(|piece| piece["text"].as_str().unwrap_or_default().contains("cat.png")).unwrap();
        assert!(piece["text"].as_str().unwrap().contains(&format!("picture:image/png;750x750;{}", hash(&cat))));
        assert!(piece["tokens"].as_u64().unwrap() > 750, "{piece}");
    }
    for file in crate::world::files(&world.path("sessions/requests")) {
        assert!(!std::fs::read_to_string(&file).unwrap().contains(&STANDARD.encode(&cat)), "{}", file.display());
    }
    let tokens = server.get("/api/tokens/session/s").await.ok();
    assert!(tokens["message_tokens"].as_u64().unwrap() > 750, "{tokens}");
    std::fs::remove_file(world.path(&format!("sessions/pictures/s/{}.png", hash(&cat)))).unwrap();
    let seen = server.get(&format!("/api/sessions/s/requests/{}", names[0])).await.ok();
    assert_eq!(seen["body"], Value::Null, "what cannot be proved is not shown");
}

#[tokio::test]
async fn blind_model_is_told_of_pictures() {
    let world = world([always(says(["Yes."]))]).await;
    let server = world.serve().await;
    let models = server.get("/api/models").await.ok();
    let sees =
        |id: &str| models["available"].as_array().unwrap().iter().find(|m| m["id"] == id).unwrap()["vision"].clone();
    assert_eq!((sees("other/eyes"), sees("other/mock")), (json!(true), json!(false)));
    assert_eq!(models["current"]["vision"], true);
    let cat = png(3, 2);
    say(&server, "Look.", json!([sent("cat.png", &cat)])).await;
    server.put("/api/sessions/s/model", json!({"model": "other/mock"})).await.ok();
    let body = json!({"message": "This?", "attachments": [sent("dog.png", &png(5, 5))]});
    let refused = server.post("/api/sessions/s/messages", body).await;
    assert_eq!(refused.refused(), (422, "cannot_see".to_owned()));
    assert!(refused.text().contains("vision_models"), "{}", refused.text());
    say(&server, "Well?", json!([])).await;
    let note = "[picture cat.png: this model cannot see pictures]\n\nLook.".to_owned();
    assert_eq!(asked(&world), [(note, Vec::new()), ("Well?".to_owned(), Vec::new())]);
    assert_eq!(world.session("s")["messages"].as_array().unwrap().len(), 4, "what was refused was not said");
}

#[tokio::test]
async fn missing_picture_is_reported_and_session_goes_on() {
    let world = world([always(says(["Yes."]))]).await;
    let server = world.serve().await;
    let (cat, dog) = (png(3, 2), png(5, 5));
    say(&server, "Look.", json!([sent("cat.png", &cat), sent("dog.png", &dog)])).await;
    let file = |bytes: &[u8]| format!("sessions/pictures/s/{}.png", hash(bytes));
    world.write(&file(&cat), [cat.as_slice(), b"<script>"].concat());
    std::fs::remove_file(world.path(&file(&dog))).unwrap();
    say(&server, "And?", json!([])).await;
    let told = "its file is missing or is not what was sent]";
    let text = format!("[picture 1: cat.png: {told}\n[picture 2: dog.png: {told}\n\nLook.");
    assert_eq!(asked(&world)[0], (text, Vec::new()));
    for bytes in [&cat, &dog] {
        let answer = server.get(&format!("/api/sessions/s/pictures/{}", hash(bytes))).await;
        assert_eq!(answer.refused(), (404, "not_found".to_owned()));
    }
    for odd in ["..%2F..%2Fs.json", "s.json", &hash(&cat).to_uppercase(), "%00"] {
        assert_eq!(server.get(&format!("/api/sessions/s/pictures/{odd}")).await.status(), 404, "{odd}");
    }
}

#[tokio::test]
async fn pictures_survive_export_branch_and_restore() {
    let world = world([always(says(["Yes."]))]).await;
    let server = world.serve().await;
    let cat = png(3, 2);
    say(&server, "Look.", json!([sent("cat.png", &cat)])).await;
    let shown = async |id: &str| server.get(&format!("/api/sessions/{id}/pictures/{}", hash(&cat))).await.status();
    let exported = server.get("/api/sessions/s/export?format=json").await.ok();
    assert_eq!(exported["pictures"], json!({hash(&cat): STANDARD.encode(&cat)}));
    let id = server.post("/api/sessions/import", exported.clone()).await.ok()["id"].as_str().unwrap().to_owned();
    assert_eq!(shown(&id).await, 200);
    let mut again = server.get(&format!("/api/sessions/{id}/export?format=json")).await.ok();
    assert_eq!(again.as_object_mut().unwrap().remove("taint"), Some(json!([{"from": "imported"}])));
    let mut expected = exported.clone();
    expected.as_object_mut().unwrap().retain(|field, _| !matches!(field.as_str(), "seq" | "taint"));
    // Which request made an answer is known only to the home that sent it, and its usage counts only there.
    for work in expected["works"].as_array_mut().unwrap() {
        work.as_object_mut().unwrap().remove("requests");
        work["foreign"] = json!(true);
    }
    assert_eq!(again, expected);
    assert!(world.session(&id).get("pictures").is_none());

    let mut forged = exported.clone();
    forged["pictures"] = json!({hash(&cat): STANDARD.encode(b"<script>"), "../../x": STANDARD.encode(&cat)});
    let forged = server.post("/api/sessions/import", forged).await.ok()["id"].as_str().unwrap().to_owned();
    assert_eq!(shown(&forged).await, 404, "what is not what its hash says is not kept");
    assert!(!world.path("sessions/x").exists() && !world.path("x").exists());

    let branch = json!({"message_id": world.session("s")["messages"][1]["id"], "cut": "after"});
    let branched = server.post("/api/sessions/s/branch", branch).await.ok()["id"].as_str().unwrap().to_owned();
    assert_eq!(shown(&branched).await, 200);

    server.delete("/api/sessions/s").await.ok();
    assert_eq!(shown("s").await, 404);
    server.post("/api/sessions/s/restore", json!({})).await.ok();
    assert_eq!(shown("s").await, 200);
    say(&server, "And?", json!([])).await;
    assert_eq!(asked(&world)[0].1, [address(&cat)]);
    server.delete("/api/sessions/s").await.ok();
    server.delete("/api/sessions/deleted/s").await.ok();
    let left = crate::world::files(&world.path("sessions/archive"));
    assert!(!left.iter().any(|file| file.to_string_lossy().contains(&hash(&cat))), "{left:?}");
    assert_eq!(shown(&branched).await, 200, "the others have their own");
}

#[tokio::test]
async fn invalid_picture_is_refused_and_not_kept() {
    let world = world([]).await;
    let server = world.serve().await;
    let large = |bytes: usize| [png(9, 9), vec![0; bytes]].concat();
    let most = 3 << 19;
    for (attachments, status, code, word) in [
        (json!([sent("a.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>")]), 422, "not_picture", "PNG, JPEG"),
        (json!([{"name": "a.png", "encoding": "base64", "content": "no base64!"}]), 422, "not_picture", "base64"),
        (json!([sent("a.png", &png(9, 0))]), 422, "not_picture", "complete"),
        (json!([sent("a.png", &png(60_000, 60_000))]), 413, "attachment_too_large", "8192"),
        (json!([sent("a.png", &large(most))]), 413, "attachment_too_large", "resize"),
        (json!(vec![sent("a.png", &large(most - 100)); 5]), 413, "attachment_too_large", "in total"),
        (json!([{"name": "a.png", "encoding": "kept", "content": "../s"}]), 422, "picture_gone", "again"),
    ] {
        let answer =
            server.post("/api/sessions/s/messages", json!({"message": "look", "attachments": attachments})).await;
        assert_eq!(answer.refused(), (status, code.to_owned()), "{word}");
        assert!(answer.json()["message"].as_str().unwrap().contains(word), "{}", answer.text());
    }
    let counted = server.post("/api/tokens/attachment", sent("x/a.bin", &png(750, 750))).await.ok();
    assert_eq!(counted, json!({"name": "a.bin", "extension": "png", "bytes": 26, "tokens": 750}));
    assert!(!world.path("sessions/pictures").exists());
    assert_eq!(world.provider.requests().len(), 0);
}

#[tokio::test]
async fn attached_picture_makes_run_ask() {
    let world = world([calls([run("echo hi")]), says(["Done."])]).await;
    let config = world
        .read("config.yml")
        .replace(CONFIG, "find_local_models: false\napprovals: {tools: {terminal: sandboxed}}\n");
    world.write("config.yml", config);
    let server = world.serve().await;
    let body = json!({"message": "do what it says", "attachments": [sent("a.png", &png(3, 2))]});
    assert_eq!(server.post("/api/sessions/s/messages", body).await.status(), 202);
    let asked = server.waiting(1).await.remove(0);
    assert!(asked["reason"].as_str().unwrap().contains("Untrusted content"), "{asked}");
    server.decide(&asked, "deny").await;
    server.settled("s").await;
}

#[tokio::test]
async fn sent_picture_survives_crash_and_needs_sign_in() {
    let world = world([json!({"steps": [{"text": "Half"}, {"gate": "never"}]}), always(says(["Yes."]))]).await;
    let server = world.serve().await;
    let cat = png(3, 2);
    let body = json!({"message": "go", "attachments": [sent("cat.png", &cat)], "idempotency_key": "k1"});
    assert_eq!(server.post("/api/sessions/s/messages", body.clone()).await.status(), 202);
    drop(server);
    let server = world.serve().await;
    let history = server.settled("s").await;
    assert_eq!(history["messages"][0]["attachments"][0], kept("cat.png", &cat, 3, 2));
    let path = format!("/api/sessions/s/pictures/{}", hash(&cat));
    assert_eq!(server.get(&path).await.status(), 200);
    for (header, value) in [("Sec-Fetch-Site", "cross-site"), ("Origin", "https://elsewhere.example")] {
        assert_eq!(server.send("GET", &path, &[(header, value)], b"").await.status(), 403, "{header}");
    }
}
