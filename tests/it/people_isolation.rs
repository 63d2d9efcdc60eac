//! Every route of the API, asked by one person with everything that belongs to another.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::http::{Answer, Incoming, open};
use crate::people::{Person, admin, ask, get, joined, world};
use crate::world::{Server, World, eventually, files};

/// What occurs in everything that is hers.
const HERS: &str = "quetzalcoatlus northropi";
/// The word of it that others search for, and the one that nobody else ever writes.
const WORD: &str = "quetzalcoatlus";
const SECRET_WORD: &str = "northropi";
/// What he would write.
const STOLEN: &str = "written-by-somebody-else";
/// They end the sign-in of whoever asks.
const OWN_SIGN_IN: [&str; 3] = ["/api/logout", "/api/auth/logout", "/api/auth/logout-everywhere"];

/// What belongs to a person, by the names that parameters and fields of the API have.
struct Belongings(BTreeMap<&'static str, Vec<String>>);

async fn made(server: &Server<'_>, person: &Person) -> Belongings {
    let save = async |path: &str| {
        let body = json!({"path": path, "content": format!("# {HERS}\n")});
        ask(server, person, ("POST", "/api/files"), body).await.ok();
    };
    save("memory/hers.md").await;
    save("knowledge/hers.md").await;
    save("skills/hers/SKILL.md").await;
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned();
    let project = ask(server, person, ("POST", "/api/projects"), json!({"name": HERS})).await.ok();
    let project = text(&project["data"]["id"]);
    let file = format!("/api/projects/{project}/files/hers.txt");
    ask(server, person, ("PUT", &file), json!({"content": HERS})).await.ok();
    let session = ask(server, person, ("POST", "/api/sessions"), json!({"title": HERS})).await.ok();
    let session = text(session.get("id").unwrap_or(&session["session"]["id"]));
    let said = json!({"message": HERS, "session_id": session});
    ask(server, person, ("POST", "/api/chat"), said).await;
    let history = format!("/api/sessions/{session}/history");
    eventually("her work settles", async || get(server, person, &history).await.ok()["running"].is_null()).await;
    let messages = get(server, person, &format!("/api/conversations/{session}/messages")).await.ok();
    let messages = messages["data"]["items"].as_array().unwrap().iter().map(|item| text(&item["id"])).collect();
    let token = ask(server, person, ("POST", "/api/auth/tokens"), json!({"name": HERS})).await.ok();
    let token = text(&token["data"]["id"]);
    let paths = ["memory/hers.md", "knowledge/hers.md", "skills/hers/SKILL.md", "hers.txt"].map(str::to_owned);
    let paths = [paths.to_vec(), vec![format!("project/{project}/hers.txt"), "memory".to_owned()]].concat();
    Belongings(BTreeMap::from([
        ("id", vec![session.clone(), project.clone(), token, person.id.clone()]),
        ("session_id", vec![session]),
        ("project_id", vec![project]),
        ("message_id", messages),
        ("path", paths),
        ("word", vec![WORD.to_owned()]),
    ]))
}

impl Belongings {
    /// Returns the values to try for a parameter or field.
    fn of(&self, name: &str) -> Vec<String> {
        let key = match name {
            "id" => "id",
            "session_id" => "session_id",
            "project_id" => "project_id",
            "mid" | "message_id" => "message_id",
            "path" | "filepath" | "from" | "to" | "old_path" | "new_path" => "path",
            "q" | "query" | "text" | "words" | "pattern" => "word",
            "root" | "folder" => return vec!["memory".to_owned(), "knowledge".to_owned()],
            "format" => return vec!["json".to_owned(), "markdown".to_owned()],
            "until" => return vec!["settled".to_owned()],
            "side" => return vec!["before".to_owned(), "after".to_owned()],
            _ => return Vec::new(),
        };
        self.0[key].clone()
    }

    /// Returns a body with every field of a schema.
    fn body(&self, document: &Value, schema: &Value, depth: usize) -> Value {
        if depth > 6 {
            return Value::Null;
        }
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.trim_start_matches("#/components/schemas/");
            return self.body(document, &document["components"]["schemas"][name], depth + 1);
        }
        for choice in ["allOf", "oneOf", "anyOf"] {
            if let Some(choices) = schema[choice].as_array() {
                let first = choices.iter().find(|choice| choice["type"] != "null");
                return first.map_or(Value::Null, |first| self.body(document, first, depth + 1));
            }
        }
        if let Some(properties) = schema["properties"].as_object() {
            let fields = properties.iter().map(|(name, field)| {
                let known = self.of(name).first().cloned().map(Value::from);
                (name.clone(), known.unwrap_or_else(|| self.body(document, field, depth + 1)))
            });
            return Value::Object(fields.collect::<Map<_, _>>());
        }
        if let Some(word) = schema["enum"].as_array().and_then(|words| words.first()) {
            return word.clone();
        }
        let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
        match kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null") {
            Some("string") => json!(STOLEN),
            Some("integer" | "number") => json!(1),
            Some("boolean") => json!(true),
            Some("array") => json!([self.body(document, &schema["items"], depth + 1)]),
            _ => json!({}),
        }
    }
}

/// Returns every path that a template stands for, with each of her values, and with each of them as the query.
fn paths(hers: &Belongings, template: &str, parameters: &[Value]) -> Vec<String> {
    let mut all = vec![template.to_owned()];
    for parameter in parameters {
        let name = parameter["name"].as_str().unwrap();
        let values = hers.of(name);
        let values = if values.is_empty() { vec!["1".to_owned()] } else { values };
        all = match parameter["in"].as_str() {
            Some("path") => {
                let fill = |path: &String, value: &String| {
                    path.replace(&format!("{{{name}}}"), value).replace(&format!("{{*{name}}}"), value)
                };
                all.iter().flat_map(|path| values.iter().map(move |value| fill(path, value))).collect()
            }
            Some("query") if parameter["required"] == true || !hers.of(name).is_empty() => {
                let add = |path: &String, value: &String| {
                    format!("{path}{}{name}={value}", if path.contains('?') { '&' } else { '?' })
                };
                all.iter().flat_map(|path| values.iter().map(move |value| add(path, value))).collect()
            }
            _ => all,
        };
    }
    all
}

/// Returns the text of a response; of a stream that stays open only the beginning.
async fn text_of(mut incoming: Incoming, is_get: bool) -> (u16, String) {
    let status = incoming.head.status;
    if is_get && incoming.head.header("content-type") == Some("text/event-stream") {
        return (status, format!("{:?}", incoming.next().await));
    }
    (status, incoming.body_text().await)
}

fn content(world: &World, person: &Person) -> BTreeMap<String, Vec<u8>> {
    let below = |folder: &str| files(&world.path(&format!("people/{}/{folder}", person.id)));
    let folders = ["memory", "knowledge", "skills", "workspace", "workspaces", "sessions"];
    let all = folders.into_iter().flat_map(below);
    all.map(|path| (path.display().to_string(), std::fs::read(&path).unwrap_or_default())).collect()
}

#[tokio::test]
async fn no_route_shows_or_changes_what_belongs_to_another() {
    let world = world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let (ann, bob) = (joined(&server, &ada, "Ann").await, joined(&server, &ada, "Bob").await);
    let hers = made(&server, &ann).await;
    let seen = get(&server, &ann, "/api/sessions").await;
    assert!(seen.text().contains(SECRET_WORD), "the word is seen where it may be: {}", seen.text());
    let document = get(&server, &bob, "/api/openapi.json").await.ok();
    let settled = async |person| {
        eventually("her files rest", async || {
            let before = content(&world, person);
            get(&server, person, "/api/sessions").await;
            before == content(&world, person)
        })
        .await;
        content(&world, person)
    };
    let (before, account) = (settled(&ann).await, account_of(&server, &ada, &ann).await);
    let bearer = format!("Bearer {}", bob.token);

    let (mut asked, mut succeeded) = (0, 0);
    for (template, methods) in document["paths"].as_object().unwrap() {
        if OWN_SIGN_IN.contains(&template.as_str()) {
            continue;
        }
        for (method, operation) in methods.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            let body = hers.body(&document, schema, 0);
            for path in paths(&hers, template, &parameters) {
                let bodies = if method == "get" { vec![Value::Null] } else { vec![body.clone(), json!({})] };
                for body in bodies {
                    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
                    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
                    let request = server.request(&method.to_uppercase(), &path, &headers, &body);
                    let (status, text) = text_of(open(server.address, &request).await, method == "get").await;
                    asked += 1;
                    succeeded += usize::from(status < 300);
                    assert!(!text.contains(SECRET_WORD), "{method} {path} shows what is hers: {text}");
                    assert!(status < 500 || status == 502 || status == 503, "{method} {path}: {status} {text}");
                    assert!(!template.starts_with("/api/admin") || status == 403, "{method} {path}: {status}");
                }
            }
        }
    }
    assert!(asked > 400 && succeeded > 60, "{asked} requests, of which {succeeded} succeeded");
    assert_eq!(settled(&ann).await, before, "something of hers was changed");
    assert_eq!(account_of(&server, &ada, &ann).await, account);
    let mine = get(&server, &ann, "/api/auth/tokens").await.ok();
    assert_eq!(mine["data"]["items"].as_array().unwrap().len(), 1, "her token is there");
    let listed: Answer = get(&server, &bob, "/api/sessions").await;
    assert_eq!(listed.status(), 200, "he is still signed in");
}

async fn account_of(server: &Server<'_>, admin: &Person, person: &Person) -> Value {
    let listed = get(server, admin, "/api/admin/people").await.ok();
    let items = listed["data"]["items"].as_array().unwrap().clone();
    items.into_iter().find(|item| item["id"] == person.id.as_str()).unwrap()
}
