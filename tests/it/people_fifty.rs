//! Many people at once: fifty in a thorough run. Everything of each of them contains a marker that is only theirs; each of them asks for everything of
//! another, lists and searches, and follows events. No response, no event and no file of a home contains a foreign marker.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::http::open;
use crate::people::{Person, ask, get, world_with};
use crate::people_attacks::{account, minted};
use crate::script::{always, call, calls, says, script};
use crate::thorough::is_thorough;
use crate::world::{Server, World, eventually, files};

/// How many of them are served at the same moment by this test.
const AT_ONCE: usize = 10;
/// Occurs in every marker, so that a search for it would find those of all.
const COMMON: &str = "quokka";

fn marker(at: usize) -> String {
    format!("{COMMON}-{at:02}-of")
}

/// Returns the numbers of the people whose markers occur in a text.
fn owners(text: &str) -> BTreeSet<usize> {
    let number = |rest: &str| rest.strip_prefix('-')?.get(..5)?.strip_suffix("-of")?.parse().ok();
    text.split(COMMON).skip(1).filter_map(number).collect()
}

/// What a person has.
struct Belongings {
    person: Person,
    project: String,
    session: String,
    message: String,
    /// Everything that their stream of events has said.
    events: Arc<Mutex<String>>,
}

/// Follows a person's events for as long as the runtime lives.
async fn follow(server: &Server<'_>, person: &Person) -> Arc<Mutex<String>> {
    let bearer = format!("Bearer {}", person.token);
    let mut stream = server.follow_with("/api/events", &[("Authorization", &bearer)]).await;
    let seen = Arc::<Mutex<String>>::default();
    let into = seen.clone();
    tokio::spawn(async move {
        while let Some(frame) = stream.next().await {
            into.lock().unwrap().push_str(&format!("{frame:?}\n"));
        }
    });
    seen
}

async fn made(server: &Server<'_>, at: usize, person: Person) -> Belongings {
    let (events, mark) = (follow(server, &person).await, marker(at));
    for path in ["memory/mine.md", "knowledge/mine.md", "skills/mine/SKILL.md"] {
        let body = json!({"path": path, "content": format!("# {mark}\n")});
        ask(server, &person, ("POST", "/api/files"), body).await.ok();
    }
    let body = json!({"path": format!("memory/{mark}.md"), "content": "x"});
    ask(server, &person, ("POST", "/api/files"), body).await.ok();
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned();
    let project = ask(server, &person, ("POST", "/api/projects"), json!({"name": mark})).await.ok();
    let project = text(&project["data"]["id"]);
    let file = format!("/api/projects/{project}/files/mine.txt");
    ask(server, &person, ("PUT", &file), json!({"content": mark})).await.ok();
    let made = ask(server, &person, ("POST", "/api/sessions"), json!({"title": mark})).await.ok();
    let session = text(&made["id"]);
    // The model reads her own file, so that results of tools have the marker, too.
    let said = json!({"message": format!("{mark} look"), "session_id": session});
    let answer = ask(server, &person, ("POST", "/api/chat"), said).await;
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let history = format!("/api/sessions/{session}/history");
    eventually("the work settles", async || get(server, &person, &history).await.ok()["running"].is_null()).await;
    let messages = get(server, &person, &format!("/api/conversations/{session}/messages")).await.ok();
    let message = text(&messages["data"]["items"][0]["id"]);
    Belongings { person, project, session, message, events }
}

/// Returns the addresses of everything that another has, and what writes there: every GET of the API that names or searches
/// something, and of the others a third, so that sixteen people try each.
fn attempts(document: &Value, at: usize, other: &Belongings) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (number, (template, methods)) in document["paths"].as_object().unwrap().iter().enumerate() {
        if template.starts_with("/api/auth") || template.ends_with("openapi.json") || methods.get("get").is_none() {
            continue;
        }
        let names = methods["get"]["parameters"].as_array().is_some_and(|parameters| !parameters.is_empty());
        if !names && number % 3 != at % 3 {
            continue;
        }
        let is_project = template.starts_with("/api/projects/");
        let id = if is_project { &other.project } else { &other.session };
        let id = if template.starts_with("/api/admin") { &other.person.id } else { id };
        let mut path = template.replace("{id}", id).replace("{mid}", &other.message);
        path =
            path.replace("{message_id}", &other.message).replace("{*path}", "mine.txt").replace("{path}", "mine.txt");
        while let Some((before, rest)) = path.split_once('{') {
            path = format!("{before}1{}", rest.split_once('}').unwrap().1);
        }
        let parameters = methods["get"]["parameters"].as_array().cloned().unwrap_or_default();
        let query: Vec<String> = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "query")
            .filter_map(|parameter| {
                let name = parameter["name"].as_str()?;
                let value = match name {
                    "q" | "query" | "text" | "words" | "pattern" => COMMON,
                    "session_id" => &other.session,
                    "project_id" => &other.project,
                    "path" | "filepath" => "memory/mine.md",
                    "root" | "folder" => "memory",
                    "until" => "settled",
                    _ if parameter["required"] == true => "1",
                    _ => return None,
                };
                Some(format!("{name}={value}"))
            })
            .collect();
        all.push(("GET".to_owned(), if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }));
    }
    let Belongings { project, session, message, .. } = other;
    for (method, path) in [
        ("PUT", format!("/api/projects/{project}/files/mine.txt")),
        ("DELETE", format!("/api/projects/{project}/files/mine.txt")),
        ("DELETE", format!("/api/projects/{project}")),
        ("POST", format!("/api/projects/{project}/restore")),
        ("DELETE", format!("/api/sessions/{session}")),
        ("PATCH", format!("/api/conversations/{session}")),
        ("DELETE", format!("/api/conversations/{session}/messages/{message}")),
        ("POST", format!("/api/sessions/{session}/messages")),
    ] {
        all.push((method.to_owned(), path));
    }
    all
}

/// Returns how many of the requests succeeded.
async fn attacked(server: &Server<'_>, document: &Value, at: usize, all: &[Belongings]) -> usize {
    let (own, other) = (&all[at], &all[(at + 1) % all.len()]);
    let bearer = format!("Bearer {}", own.person.token);
    let mut succeeded = 0;
    for (method, path) in attempts(document, at, other) {
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let body: &[u8] = if method == "GET" { b"" } else { br#"{"content": "stolen", "message": "x", "title": "x"}"# };
        let mut answer = open(server.address, &server.request(&method, &path, &headers, body)).await;
        let status = answer.head.status;
        let text = match answer.head.header("content-type") {
            Some("text/event-stream") => format!("{:?}", answer.next().await),
            _ => answer.body_text().await,
        };
        succeeded += usize::from(status < 300);
        // An id that was asked for may be repeated in a refusal; what belongs to it may not.
        assert!(owners(&text).iter().all(|owner| *owner == at), "{at}: {method} {path} shows what is foreign: {text}");
        assert!(!text.contains("stolen"), "{method} {path}: {text}");
        assert!(status < 500 || status == 503, "{method} {path}: {status} {text}");
        // A message to an id that he does not have begins a conversation of his own.
        let is_own = path.ends_with("/messages");
        assert!(method == "GET" || is_own || status >= 400, "{at}: {method} {path}: {status} {text}");
    }
    succeeded
}

/// The world of this test: the accounts are there already, and nobody has to sign in.
async fn crowd() -> (World, Vec<Person>) {
    let people = if is_thorough() { 50 } else { 16 };
    let id = |at: usize| format!("person{at:02}");
    let looks = (0..people).map(|at| {
        let mut look = calls([call("c1", "read_file", json!({"path": "memory/mine.md"}))]);
        look["match"] = json!(marker(at));
        look
    });
    let world = world_with(script(looks.chain([always(says(["Fine."]))])), "registration: closed").await;
    let accounts: Vec<Value> = (0..people)
        .map(|at| account(&id(at), &format!("name{at:02}"), if at == 0 { "admin" } else { "user" }))
        .collect();
    world.write("accounts.json", json!({"accounts": accounts}).to_string());
    let people = (0..people).map(|at| Person { id: id(at), token: minted(&id(at), &json!({})), cookie: String::new() });
    (world, people.collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_people_at_once_see_nothing_of_each_other() {
    let (world, people) = crowd().await;
    let server = world.serve().await;
    let making = people.into_iter().enumerate().map(|(at, person)| made(&server, at, person));
    let all: Vec<Belongings> = stream::iter(making).buffered(AT_ONCE).collect().await;
    for (at, own) in all.iter().enumerate() {
        let history = get(&server, &own.person, &format!("/api/sessions/{}/history", own.session)).await.text();
        assert_eq!(owners(&history), BTreeSet::from([at]), "a marker is seen where it may be: {history}");
    }
    let document = get(&server, &all[1].person, "/api/openapi.json").await.ok();
    let attacks = (1..all.len()).map(|at| attacked(&server, &document, at, &all));
    let succeeded: Vec<usize> = stream::iter(attacks).buffer_unordered(AT_ONCE).collect().await;
    assert!(succeeded.iter().all(|count| *count > 8), "lists and searches of one's own succeed: {succeeded:?}");
    for (at, own) in all.iter().enumerate() {
        let seen = own.events.lock().unwrap().clone();
        assert_eq!(owners(&seen), BTreeSet::from([at]), "the events of {at}: {seen}");
        let home = world.path(&format!("people/{}", own.person.id));
        for path in files(&home) {
            let name = path.strip_prefix(&home).unwrap().display().to_string();
            let text = name.clone() + &String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default());
            assert!(owners(&text).iter().all(|owner| *owner == at), "{name} of {at}");
        }
        let read = |path: &str| std::fs::read_to_string(home.join(path)).unwrap();
        assert_eq!(read("memory/mine.md"), format!("# {}\n", marker(at)));
        let file = get(&server, &own.person, &format!("/api/projects/{}/files/mine.txt", own.project)).await.ok();
        assert_eq!(file["data"]["content"], marker(at), "nobody has changed or deleted it");
    }
}

#[test]
fn foreign_markers_are_found_wherever_they_are() {
    let text = format!("…{}\",{}x", marker(7), marker(49));
    assert_eq!(owners(&text), BTreeSet::from([7, 49]));
    assert_eq!(owners("quokka, quokka-7-of, quokka-"), BTreeSet::new());
}
