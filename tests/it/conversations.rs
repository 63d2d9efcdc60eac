//! The conversations of the NanoClaw document, used as its client does: the envelope, pages, settings, and streams of steps.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::http::{Answer, Frame, Incoming, open};
use crate::script::{call, says, script, steps};
use crate::world::{ASKING, CONFIG, Server, World};

const CONVERSATIONS: &str = "/api/conversations";
const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Returns the data of a response that succeeded.
pub fn data(answer: &Answer) -> Value {
    let body = answer.ok();
    assert_eq!(body["code"], 0, "{body}");
    body["data"].clone()
}

/// Returns the status and the reason of a response that failed, in the form of the document.
pub fn refused(answer: &Answer) -> (u16, String) {
    let body = answer.json();
    assert_eq!(body["code"], answer.status(), "{body}");
    assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    (answer.status(), body["reason"].as_str().unwrap().to_owned())
}

async fn created(server: &Server<'_>, body: Value) -> String {
    data(&server.post(CONVERSATIONS, body).await)["id"].as_str().unwrap().to_owned()
}

async fn patch(server: &Server<'_>, id: &str, body: Value) -> Answer {
    server.send("PATCH", &format!("{CONVERSATIONS}/{id}"), &[JSON], body.to_string().as_bytes()).await
}

/// Posts to a path of a conversation that answers with a stream.
async fn streamed(server: &Server<'_>, path: &str, key: &str, body: Value) -> Incoming {
    let headers = [JSON, ("Idempotency-Key", key)];
    let request = server.request("POST", path, &headers, body.to_string().as_bytes());
    let incoming = open(server.address, &request).await;
    assert_eq!(incoming.head.status, 200);
    incoming
}

async fn said(server: &Server<'_>, id: &str, key: &str, text: &str) -> Vec<Frame> {
    streamed(server, &format!("{CONVERSATIONS}/{id}/messages"), key, json!({"text": text})).await.rest().await
}

async fn messages(server: &Server<'_>, id: &str) -> Vec<Value> {
    let page = data(&server.get(&format!("{CONVERSATIONS}/{id}/messages")).await);
    page["items"].as_array().unwrap().clone()
}

/// Returns the steps that a client of the document has at the end: each replaces the one with its id.
fn shown(frames: &[Frame]) -> Vec<Value> {
    let mut steps = BTreeMap::new();
    for frame in frames.iter().filter(|frame| frame.is("process_step")) {
        let index = frame.data["index"].as_u64().unwrap();
        assert_eq!(frame.data["id"], format!("step-{index}"));
        match frame.data["delta"].as_str() {
            None => drop(steps.insert(index, frame.data.clone())),
            Some(delta) => {
                let content = steps.get_mut(&index).and_then(|step| step.get_mut("content")).unwrap();
                *content = format!("{}{delta}", content.as_str().unwrap()).into();
            }
        }
    }
    steps.into_values().collect()
}

/// Returns a world whose model thinks, writes, reads a file, and writes again.
async fn world() -> World {
    let first = steps([
        json!({"thinking": "Let me "}),
        json!({"thinking": "think."}),
        json!({"text": "I look "}),
        json!({"text": "it up."}),
        call("c1", "read_file", json!({"path": "workspace/SOUL.md"})),
        json!({"finish": "tool_calls"}),
    ]);
    let second = steps([
        json!({"text": "You have "}),
        json!({"gate": "g"}),
        json!({"text": "a soul."}),
        json!({"finish": "stop"}),
    ]);
    World::new(script([first, second, says(["Another answer."])])).await
}

#[tokio::test]
async fn conversation_is_created_changed_and_deleted() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let new = data(&server.post(CONVERSATIONS, json!({"title": "  Notes ", "project_id": "scratch"})).await);
    let id = new["id"].as_str().unwrap();
    assert_eq!((&new["title"], &new["project_id"], &new["user_id"]), (&json!("Notes"), &json!("scratch"), &json!(1)));
    let defaults = [&new["system_prompt"], &new["temperature"], &new["max_tokens"], &new["thinking_enabled"]];
    assert_eq!(defaults, [&json!(""), &json!(1.0), &json!(65536), &json!(false)]);
    assert_eq!((&new["model"], &new["message_count"]), (&json!("mock"), &json!(0)));
    assert_eq!(world.session(id).get("chosen"), None, "defaults are not stored");
    let change = json!({"title": "Work", "system_prompt": "Answer in verse.", "temperature": 0.7, "max_tokens": 99,
        "project_id": null, "unknown": 1});
    let changed = data(&patch(&server, id, change).await);
    assert_eq!(changed["project_id"], Value::Null);
    let chosen = json!({"system_prompt": "Answer in verse.", "temperature": 0.7, "max_tokens": 99});
    assert_eq!(world.session(id)["chosen"], chosen);
    let reset = data(&patch(&server, id, json!({"temperature": null, "system_prompt": ""})).await);
    assert_eq!(
        (&reset["temperature"], &reset["max_tokens"], &reset["title"]),
        (&json!(1.0), &json!(99), &json!("Work"))
    );
    assert_eq!(data(&server.get(&format!("{CONVERSATIONS}/{id}")).await), reset);
    assert_eq!(data(&server.delete(&format!("{CONVERSATIONS}/{id}")).await), Value::Null);
    assert_eq!(refused(&server.get(&format!("{CONVERSATIONS}/{id}")).await), (404, "not_found".to_owned()));
    assert_eq!(refused(&server.delete(&format!("{CONVERSATIONS}/{id}")).await).0, 404);
}

/// A client of the document knows the models by their ids in config.yml, and sends back what it has read.
#[tokio::test]
async fn model_is_chosen_by_its_id_in_config_yml() {
    let world = World::new(script([])).await;
    let address = world.provider.base_url.as_str().trim_end_matches('/').to_owned();
    let model =
        |id: &str, path: &str| format!("  - {{id: {id}, api_url: '{address}{path}', api_key: x, model: same}}\n");
    let other = "  - {id: glm-5, api_url: 'https://open.bigmodel.cn/api/paas/v4/chat/completions', api_key: x}\n";
    let models = format!("models:\n{}{}{other}default_model: second\n", model("first", ""), model("second", "/v2"));
    world.write("config.yml", format!("{CONFIG}{models}"));
    let server = world.serve().await;
    let available = server.get("/api/models").await.ok();
    let ids: Vec<&str> =
        available["available"].as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
    let distinct: std::collections::BTreeSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
    assert_eq!(data(&server.post(CONVERSATIONS, json!({"title": "t"})).await)["model"], "second", "the default");
    for name in ["first", "second", "glm-5"] {
        let new = data(&server.post(CONVERSATIONS, json!({"title": "t", "model": name})).await);
        assert_eq!(new["model"], name);
        let id = new["id"].as_str().unwrap();
        assert_eq!(data(&patch(&server, id, json!({"model": new["model"]})).await)["model"], name);
        let chosen = world.session(id)["chosen"]["model"].clone();
        assert!(ids.contains(&chosen.as_str().unwrap()), "the page knows {chosen}");
    }
}

#[tokio::test]
async fn refused_change_changes_nothing() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = created(&server, json!({"title": "Notes"})).await;
    let before = world.session(&id);
    for (change, status, reason) in [
        (json!({"title": "x", "temperature": 2.5}), 400, "bad_choice"),
        (json!({"title": "x", "max_tokens": 0}), 400, "bad_choice"),
        (json!({"title": "x", "system_prompt": "字".repeat(20_001)}), 400, "bad_choice"),
        (json!({"title": "x", "model": "nobody/none"}), 400, "unknown_model"),
        (json!({"title": "x", "project_id": "none"}), 404, "not_found"),
        (json!({"title": "x", "project_id": "../x"}), 404, "not_found"),
        (json!({"title": "x".repeat(256)}), 400, "too_long"),
        (json!({"temperature": "warm"}), 400, "bad_json"),
    ] {
        assert_eq!(refused(&patch(&server, &id, change.clone()).await), (status, reason.to_owned()), "{change}");
        assert_eq!(world.session(&id), before, "{change}");
    }
    let not_json = server.send("PATCH", &format!("{CONVERSATIONS}/{id}"), &[], b"{}").await;
    assert_eq!(refused(&not_json), (415, "not_json".to_owned()));
    let array = patch(&server, &id, json!(["x"])).await;
    assert_eq!(refused(&array), (400, "bad_json".to_owned()));
    assert!(array.text().contains("a JSON object"), "{}", array.text());
    assert_eq!(world.session(&id), before);
    let without_body = server.send("POST", CONVERSATIONS, &[], b"").await;
    assert_eq!(data(&without_body)["title"], "");
    assert_eq!(refused(&server.get(&format!("{CONVERSATIONS}/a.b")).await).0, 404);
    assert_eq!(refused(&server.put(CONVERSATIONS, json!({})).await), (405, "wrong_method".to_owned()));
    assert_eq!(refused(&server.get(&format!("{CONVERSATIONS}/{id}/none")).await).0, 404);
}

#[tokio::test]
async fn pages_of_conversations_join_and_are_filtered() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let mut ids = Vec::new();
    for number in 0..5 {
        let project = if number % 2 == 0 { json!("scratch") } else { Value::Null };
        ids.push(created(&server, json!({"title": format!("n{number}"), "project_id": project})).await);
    }
    ids.reverse();
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = data(&server.get(&format!("{CONVERSATIONS}?limit=2&cursor={cursor}")).await);
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()));
        assert_eq!(page["has_more"], !page["next_cursor"].is_null());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = next.to_owned();
        // What is added meanwhile is on no later page.
        created(&server, json!({})).await;
    }
    assert_eq!(seen, ids);
    let bound = data(&server.get(&format!("{CONVERSATIONS}?project_id=scratch")).await);
    let names: Vec<_> = bound["items"].as_array().unwrap().iter().map(|item| &item["project_name"]).collect();
    assert_eq!(names, [&json!("scratch"); 3]);
    assert_eq!(refused(&server.get(&format!("{CONVERSATIONS}?limit=101")).await), (400, "bad_limit".to_owned()));
    assert_eq!(refused(&server.get(&format!("{CONVERSATIONS}?cursor=none")).await), (400, "bad_cursor".to_owned()));
}

#[tokio::test]
async fn next_page_begins_where_the_page_before_ended() {
    let world = World::new(script([says(["Yes."])])).await;
    let server = world.serve().await;
    let mut ids = Vec::new();
    for number in 0..6 {
        ids.push(created(&server, json!({"title": format!("n{number}")})).await);
    }
    ids.reverse();
    let page = async |cursor: &str| {
        let page = data(&server.get(&format!("{CONVERSATIONS}?limit=2&cursor={cursor}")).await);
        let items = page["items"].as_array().unwrap();
        let ids: Vec<_> = items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
        (ids, page["next_cursor"].as_str().map(str::to_owned))
    };
    let (first, next) = page("").await;
    assert_eq!((&first[..], next.as_ref()), (&ids[..2], Some(&ids[1])), "the cursor is the id of the last one");
    // The conversation at the end of the page moves to the top of the list.
    said(&server, &ids[1], "k", "hi").await;
    server.settled(&ids[1]).await;
    let (second, next) = page(&ids[1]).await;
    assert_eq!((&second[..], next.as_ref()), (&ids[2..4], Some(&ids[3])));
    data(&server.delete(&format!("{CONVERSATIONS}/{}", ids[3])).await);
    assert_eq!(page(&ids[3]).await, (ids[4..].to_vec(), None));
    let (again, _) = page("").await;
    assert_eq!(again, [ids[1].clone(), ids[0].clone()]);
}

#[tokio::test]
async fn choices_are_in_the_next_request_and_defaults_are_not() {
    let world = World::new(script([says(["One."]), says(["Two."])])).await;
    let server = world.serve().await;
    let id = created(&server, json!({"title": "t"})).await;
    said(&server, &id, "k1", "one").await;
    let change = json!({"system_prompt": " Answer in verse.\n", "temperature": 0.7, "max_tokens": 99});
    data(&patch(&server, &id, change).await);
    said(&server, &id, "k2", "two").await;
    let asked = world.asked();
    let system = |body: &Value| body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert_eq!((asked[0].get("temperature"), asked[0].get("max_tokens")), (None, None));
    assert_eq!(
        system(&asked[1]),
        format!("{}\n\n<!-- Conversation Instructions -->\nAnswer in verse.", system(&asked[0]))
    );
    assert_eq!((&asked[1]["temperature"], &asked[1]["max_tokens"]), (&json!(0.7), &json!(99)));
}

#[tokio::test]
async fn answer_without_tools_stays_without_them() {
    let cut = steps([json!({"text": "One"}), json!({"finish": "length"})]);
    let world = World::new(script([cut, says([" two."]), says(["Again."]), says(["With tools."])])).await;
    let server = world.serve().await;
    let id = created(&server, json!({"title": "t", "project_id": "scratch"})).await;
    let path = format!("{CONVERSATIONS}/{id}/messages");
    let body = json!({"text": "count", "tools_enabled": false});
    let frames = streamed(&server, &path, "k1", body).await.rest().await;
    let answer = frames.last().unwrap().data["message_id"].as_str().unwrap().to_owned();
    let work = server.settled(&id).await["works"][0].clone();
    assert_eq!(work["without_tools"], true);
    // A kill: what was chosen is in the session's file.
    drop(server);
    let server = world.serve().await;
    server.post(&format!("/api/sessions/{id}/continue"), json!({})).await;
    server.settled(&id).await;
    let path = format!("{CONVERSATIONS}/{id}/regenerate/{answer}");
    streamed(&server, &path, "k2", json!({})).await.rest().await;
    said(&server, &id, "k3", "and now?").await;
    let offered: Vec<_> = world.provider.requests().iter().map(|body| body.get("tools").is_some()).collect();
    assert_eq!(offered, [false, false, false, true]);
    let works = world.session(&id)["works"].clone();
    assert_eq!((&works[0]["without_tools"], works[1].get("without_tools")), (&json!(true), None));
}

#[tokio::test]
async fn change_is_one_fact_and_another_project_waits() {
    let asks = steps([call("c1", "terminal", json!({"command": "touch x"})), json!({"finish": "tool_calls"})]);
    let world = World::new(script([asks, says(["Not done."])])).await.with_file("config.yml", ASKING);
    let server = world.serve().await;
    let id = created(&server, json!({"title": "t"})).await;
    let before = world.session(&id)["seq"].as_u64().unwrap_or_default();
    let mut events = server.follow(&format!("/api/sessions/{id}/events")).await;
    let change = json!({"title": "Work", "temperature": 0.5, "project_id": "scratch"});
    data(&patch(&server, &id, change.clone()).await);
    let told = events.until("bound").await;
    for name in ["title", "chosen", "bound"] {
        assert!(told.iter().any(|frame| frame.is(name)), "other tabs learn of {name}");
    }
    let file = world.session(&id);
    assert_eq!(file["seq"].as_u64().unwrap(), before + 1);
    assert_eq!(
        (&file["title"], &file["chosen"]["temperature"], &file["project_id"]),
        (&json!("Work"), &json!(0.5), &json!("scratch"))
    );
    data(&patch(&server, &id, change).await);
    assert_eq!(world.session(&id)["seq"], file["seq"], "the same again is no fact");
    data(&patch(&server, &id, json!({"project_id": null})).await);

    let path = format!("{CONVERSATIONS}/{id}/messages");
    let mut stream = streamed(&server, &path, "k", json!({"content": "go"})).await;
    let asked = stream.until("approval_request").await;
    let refusal = patch(&server, &id, json!({"title": "x", "project_id": "scratch"})).await;
    assert_eq!(refused(&refusal), (409, "busy".to_owned()));
    let during = data(&patch(&server, &id, json!({"title": "During", "project_id": null})).await);
    assert_eq!((&during["title"], &during["project_id"]), (&json!("During"), &Value::Null));
    // A kill: the journal has the change.
    drop(server);
    let server = world.serve().await;
    assert_eq!(data(&server.get(&format!("{CONVERSATIONS}/{id}")).await)["title"], "During");
    server.waiting(1).await;
    server.decide(&asked.last().unwrap().data, "deny").await;
    server.settled(&id).await;
    data(&patch(&server, &id, json!({"project_id": "scratch"})).await);
}

#[tokio::test]
async fn steps_of_a_stream_are_those_after_a_reload() {
    let world = world().await;
    world.provider.open_gate("g");
    let server = world.serve().await;
    let id = created(&server, json!({})).await;
    let frames = said(&server, &id, "k", "What do I have?").await;
    let steps = shown(&frames);
    let types: Vec<_> = steps.iter().map(|step| step["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["thinking", "text", "tool_call", "tool_result", "text"]);
    assert_eq!(steps[0]["content"], "Let me think.");
    assert_eq!((&steps[2]["id_ref"], &steps[3]["id_ref"]), (&json!("c1"), &json!("c1")));
    let result: Value = serde_json::from_str(steps[3]["content"].as_str().unwrap()).unwrap();
    assert_eq!(result["success"], true);
    let done = frames.last().unwrap();
    assert!(done.is("done"));
    assert_eq!(done.data["suggested_title"], "What do I have?");
    let stored = messages(&server, &id).await;
    assert_eq!(stored.len(), 2);
    assert_eq!((&stored[1]["id"], &stored[1]["process_steps"]), (&done.data["message_id"], &json!(steps)));
    assert_eq!(stored[1]["text"], "I look it up.\n\nYou have a soul.");
    let call = &stored[1]["tool_calls"][0];
    assert_eq!((&call["id"], &call["type"], &call["success"]), (&json!("c1"), &json!("function"), &json!(true)));
    assert_eq!(call["function"], json!({"name": "read_file", "arguments": r#"{"path":"workspace/SOUL.md"}"#}));
    assert_eq!((&stored[0]["role"], &stored[0]["id"]), (&json!("user"), &json!("k")));
    assert_eq!(data(&server.get(&format!("{CONVERSATIONS}/{id}")).await)["message_count"], 2);
    let listed = data(&server.get(CONVERSATIONS).await);
    assert_eq!(listed["items"][0]["message_count"], 2, "the list counts as the conversation does");
}

#[tokio::test]
async fn broken_stream_resumes_with_the_same_steps() {
    let world = world().await;
    let server = world.serve().await;
    let id = created(&server, json!({"title": "t"})).await;
    let path = format!("{CONVERSATIONS}/{id}/messages?delta=1");
    let body = json!({"text": "hi", "content": "not this", "project_id": "scratch"});
    let mut first = streamed(&server, &path, "k", body.clone()).await;
    while first.next().await.unwrap().data["index"] != 4 {}
    drop(first);
    let mut again = streamed(&server, &path, "k", body.clone()).await;
    let mut frames = vec![again.next().await.unwrap()];
    while frames.last().unwrap().data["index"] != 4 {
        frames.push(again.next().await.unwrap());
    }
    world.provider.open_gate("g");
    frames.extend(again.rest().await);
    assert!(frames.iter().any(|frame| frame.data["delta"] == "a soul."), "{frames:?}");
    assert_eq!(frames.last().unwrap().data["suggested_title"], Value::Null);
    let stored = messages(&server, &id).await;
    assert_eq!(json!(shown(&frames)), stored[1]["process_steps"]);
    assert_eq!(world.asked().len(), 2, "nothing was sent again");
    let after = streamed(&server, &path, "k", body).await.rest().await;
    assert_eq!(json!(shown(&after)), stored[1]["process_steps"]);
    assert!(after.last().unwrap().is("done"));
}

#[tokio::test]
async fn answer_that_was_cut_off_is_not_said_to_be_complete() {
    let world = world().await;
    let server = world.serve().await;
    let id = created(&server, json!({})).await;
    let path = format!("{CONVERSATIONS}/{id}/messages");
    let body = json!({"text": "hi"});
    let mut first = streamed(&server, &path, "k", body.clone()).await;
    while first.next().await.unwrap().data["index"] != 4 {}
    server.signal(9);
    drop((first, server));
    let server = world.serve().await;
    let again = streamed(&server, &path, "k", body).await.rest().await;
    let last = again.last().unwrap();
    assert!(last.is("error") && last.data["code"] == "interrupted", "{last:?}");
    let stored = messages(&server, &id).await;
    assert_eq!(
        (&stored[1]["stop_reason"], json!(shown(&again))),
        (&json!("interrupted"), stored[1]["process_steps"].clone())
    );
    world.provider.open_gate("g");
    for repeated in [said(&server, &id, "k2", "more").await, said(&server, &id, "k2", "more").await] {
        let done = repeated.last().unwrap();
        assert!(done.is("done") && done.data["stop_reason"] == "done", "{done:?}");
    }
}

#[tokio::test]
async fn regenerated_answer_replaces_the_former_one() {
    let world = world().await;
    world.provider.open_gate("g");
    let server = world.serve().await;
    let id = created(&server, json!({"title": "t"})).await;
    let first = said(&server, &id, "k1", "hi").await;
    let answer = first.last().unwrap().data["message_id"].as_str().unwrap().to_owned();
    let path = format!("{CONVERSATIONS}/{id}/regenerate/{answer}");
    let second = streamed(&server, &path, "k2", json!({})).await.rest().await;
    assert_eq!(shown(&second)[0]["content"], "Another answer.");
    let again = streamed(&server, &path, "k2", json!({})).await.rest().await;
    assert_eq!(shown(&again), shown(&second), "the key is known");
    let stored = messages(&server, &id).await;
    let texts: Vec<_> = stored.iter().map(|message| message["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["hi", "Another answer."]);
    let history = server.get(&format!("/api/sessions/{id}/history")).await.ok();
    assert_eq!(history["branches"][0]["message_id"], "k1", "the former answer stays reachable");
    let gone = said(&server, &id, "k1", "hi").await;
    assert!(gone.len() == 1 && gone[0].is("error"), "the message was put aside: {gone:?}");
    let unknown = format!("{CONVERSATIONS}/{id}/regenerate/none");
    assert_eq!(refused(&server.post(&unknown, json!({})).await), (404, "not_found".to_owned()));
}

#[tokio::test]
async fn stream_stays_open_while_a_call_waits_for_a_person() {
    let asks = steps([call("c1", "terminal", json!({"command": "touch x"})), json!({"finish": "tool_calls"})]);
    let world = World::new(script([asks, says(["Not done."])])).await.with_file("config.yml", ASKING);
    let server = world.serve().await;
    let id = created(&server, json!({"title": "t"})).await;
    let path = format!("{CONVERSATIONS}/{id}/messages");
    let mut stream = streamed(&server, &path, "k", json!({"content": "go"})).await;
    let asked = stream.until("approval_request").await;
    server.decide(&asked.last().unwrap().data, "deny").await;
    let rest = stream.rest().await;
    let result = rest.iter().find(|frame| frame.data["type"] == "tool_result").unwrap();
    let content: Value = serde_json::from_str(result.data["content"].as_str().unwrap()).unwrap();
    assert_eq!(content["success"], false, "{content}");
    assert!(content["error"].as_str().unwrap().starts_with("[denied by the user]"), "{content}");
    assert!(rest.last().unwrap().is("done"));
}

#[tokio::test]
async fn failed_answer_ends_with_an_error() {
    let fails = steps([json!({"status": 401})]);
    let world = World::new(script([fails])).await;
    let server = world.serve().await;
    let id = created(&server, json!({"title": "t"})).await;
    let frames = said(&server, &id, "k", "hi").await;
    let error = frames.last().unwrap();
    assert!(error.is("error") && !error.data["content"].as_str().unwrap().is_empty(), "{error:?}");
    assert_eq!(error.data["code"], "auth");
    assert_eq!(messages(&server, &id).await[1]["error"], error.data["content"]);
    let empty = server.post(&format!("{CONVERSATIONS}/{id}/messages"), json!({"text": " "})).await;
    assert_eq!(refused(&empty), (400, "empty_message".to_owned()));
    let unknown = server.post(&format!("{CONVERSATIONS}/none/messages"), json!({"text": "hi"})).await;
    assert_eq!(refused(&unknown), (404, "not_found".to_owned()));
    assert!(!world.path("sessions/none.json").exists());
}

#[tokio::test]
async fn key_of_another_message_is_refused() {
    let world = World::new(script([says(["One."]), says(["Two."])])).await;
    let server = world.serve().await;
    let id = created(&server, json!({})).await;
    let first = said(&server, &id, "k", "first text").await;
    let again = said(&server, &id, "k", "first text").await;
    assert_eq!(shown(&first), shown(&again), "the same message is not said again");
    let path = format!("{CONVERSATIONS}/{id}/messages");
    let other = async |key: &str| {
        let body = json!({"text": "second text"}).to_string();
        server.send("POST", &path, &[JSON, ("Idempotency-Key", key)], body.as_bytes()).await
    };
    assert_eq!(refused(&other("k").await), (422, "key_reused".to_owned()));
    assert_eq!(other("l").await.status(), 200);
    assert_eq!(world.asked().len(), 2);
}
