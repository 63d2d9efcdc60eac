//! `/ws`: the same works and events as on the other connections.

use serde_json::{Value, json};

use crate::crash::Rng;
use crate::script::{always, call, calls, says, script, steps};
use crate::socket_client::{Socket, of_frames, of_messages};
use crate::world::{ASKING, World};

fn types(frames: &[Value]) -> Vec<&str> {
    frames.iter().map(|frame| frame["type"].as_str().expect("a type")).collect()
}

fn message(text: &str) -> Value {
    json!({"type": "USER_MESSAGE", "data": {"content": text}, "id": 1})
}

#[tokio::test]
async fn socket_streams_a_work_to_its_result() {
    let first = steps([
        json!({"thinking": "Hm."}),
        json!({"text": "I look."}),
        call("c1", "read_file", json!({"path": "workspace/SOUL.md"})),
        json!({"finish": "tool_calls"}),
    ]);
    let world = World::new(script([first, says(["The", "re."])])).await;
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "").await;
    let begun = socket.next().await;
    let session = begun["data"]["session_id"].as_str().expect("an id").to_owned();
    assert_eq!((&begun["type"], &begun["data"]["messages"]), (&json!("HISTORY"), &json!([])));
    assert!(begun["id"].is_string());

    socket.send(message("look")).await;
    let frames = socket.until("RESULT").await;
    let of = |kind: &str| -> Vec<&Value> {
        frames.iter().filter(|frame| frame["type"] == kind).map(|f| &f["data"]).collect()
    };
    let accepted = of("STATUS").into_iter().find(|status| status["type"] == "accepted").expect("a receipt");
    assert_eq!((&accepted["reply_to"], &accepted["state"]), (&json!(1), &json!("started")));
    assert_eq!(of("THINKING")[0]["delta"], "Hm.");
    let texts: Vec<_> =
        of("ASSISTANT_TEXT").iter().map(|data| (data["segment"].clone(), data["delta"].clone())).collect();
    assert_eq!(texts[0], (json!(0), json!("I look.")));
    assert!(texts[1..].iter().all(|(segment, _)| *segment == 1), "{texts:?}");
    assert_eq!((&of("TOOL_USE")[0]["name"], &of("TOOL_USE")[0]["id"]), (&json!("read_file"), &json!("c1")));
    assert_eq!(of("TOOL_USE")[0]["input"], json!({"path": "workspace/SOUL.md"}));
    let result = of("TOOL_RESULT")[0];
    assert!(result["output"].as_str().unwrap().contains("the soul of a test"), "{result}");
    assert_eq!((&result["status"], &result["result"]["status"]), (&json!("done"), &json!(0)));
    let end = of("RESULT")[0];
    assert_eq!((&end["stop_reason"], &end["content"]), (&json!("done"), &json!("I look.\n\nThere.")));
    assert!(end["usage"]["output_tokens"].as_u64().unwrap() > 0 && end["duration_ms"].is_u64(), "{end}");
    assert!(end.as_object().unwrap().contains_key("cost"));

    let stored = world.session(&session);
    assert_eq!(of_frames(&frames), of_messages(&stored["messages"]));
    let mut again = Socket::open(&server, &format!("?session_id={session}")).await;
    assert_eq!(of_frames(&[again.next().await]), of_messages(&stored["messages"]));
}

/// A random run: texts, thoughts and calls in several segments, split into pieces anywhere.
fn any_run(random: &mut Rng, work: usize) -> Vec<Value> {
    let dialogues = random.below(3) as usize;
    let piece = |random: &mut Rng| "αbc déf 企鹅 ".chars().skip(random.below(6) as usize).collect::<String>();
    let mut replies = Vec::new();
    for dialogue in 0..=dialogues {
        let mut all = Vec::new();
        for _ in 0..random.below(3) {
            all.push(json!({"thinking": piece(random)}));
        }
        for _ in 0..random.below(4) {
            all.push(json!({"text": piece(random)}));
        }
        if dialogue < dialogues {
            for at in 0..=random.below(2) {
                let path = ["workspace/SOUL.md", "memory/none.md"][random.below(2) as usize];
                all.push(call(&format!("w{work}d{dialogue}c{at}"), "read_file", json!({ "path": path })));
            }
            all.push(json!({"finish": "tool_calls"}));
        } else {
            all.push(json!({"text": "end"}));
            all.push(json!({"finish": "stop"}));
        }
        replies.push(steps(all));
    }
    replies
}

/// Whether a history contains the work of the message with this key, which has ended.
fn shows_end_of(frame: &Value, key: &str) -> bool {
    let messages = frame["data"]["messages"].as_array().into_iter().flatten();
    frame["type"] == "HISTORY" && frame["data"]["running"].is_null() && messages.into_iter().any(|one| one["id"] == key)
}

/// Returns the work of the message with this key, as far as these frames tell it.
fn work_of<'a>(frames: &'a [Value], key: &str) -> Option<&'a Value> {
    frames.iter().find_map(|frame| {
        let data = &frame["data"];
        let told = (data["type"] == "user_message" && data["message_id"] == key).then_some(&data["work_id"]);
        let messages = || data["messages"].as_array()?.iter().find(|one| one["id"] == key);
        told.or_else(|| Some(&messages()?["work_id"]))
    })
}

#[tokio::test]
async fn socket_cut_anywhere_shows_what_a_reload_shows() {
    let cases = std::env::var("MINICLAW_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4);
    for seed in 0..cases {
        let mut random = Rng(77_000 + seed);
        let works: Vec<Vec<Value>> = (0..3).map(|work| any_run(&mut random, work)).collect();
        let world = World::new(script(works.into_iter().flatten())).await;
        let server = world.serve().await;
        let id = server.post("/api/sessions", json!({"title": "t"})).await.ok()["id"].as_str().unwrap().to_owned();
        let path = format!("?session_id={id}");
        let mut socket = Socket::open(&server, &path).await;
        let mut seen = vec![socket.next().await];
        let mut stream = server.follow(&format!("/api/sessions/{id}/events")).await;
        for work in 0..3 {
            let key = format!("k{work}");
            let said = json!({"type": "USER_MESSAGE", "data": {"content": format!("go {work}"), "key": key}});
            socket.send(said.clone()).await;
            loop {
                let frame = socket.next().await;
                let shows_end = shows_end_of(&frame, &key);
                seen.push(frame);
                // A work whose end a history has shown has a RESULT as well, which may come after it.
                let last = seen.last().expect("a frame");
                let is_result = last["type"] == "RESULT" && Some(&last["data"]["work_id"]) == work_of(&seen, &key);
                if shows_end || is_result {
                    break;
                }
                if random.below(4) == 0 {
                    // A client has an id only of frames that show events.
                    let with_id = seen.iter().rposition(|frame| frame["id"].is_string()).expect("an id");
                    seen.truncate(with_id + 1);
                    let last = seen[with_id]["id"].as_str().unwrap();
                    let after = if random.below(3) == 0 { String::new() } else { format!("&after={last}") };
                    socket = Socket::open(&server, &format!("{path}{after}")).await;
                    // It cannot know whether the message arrived.
                    socket.send(said.clone()).await;
                }
            }
            stream.until("done").await;
        }
        let history = server.settled(&id).await;
        let expected = of_messages(&history["messages"]);
        assert_eq!(of_frames(&seen), expected, "seed {seed}: {seen:#?}");
        assert_eq!(of_messages(&world.session(&id)["messages"]), expected, "seed {seed}");
        let mut ended: Vec<_> =
            seen.iter().filter(|f| f["type"] == "RESULT").map(|f| f["data"]["work_id"].to_string()).collect();
        let all = ended.len();
        ended.sort();
        ended.dedup();
        assert_eq!(ended.len(), all, "seed {seed}: one RESULT for each work");
    }
}

#[tokio::test]
async fn resumed_socket_gets_exactly_missed_frames() {
    let first = steps([
        json!({"text": "One "}),
        call("c1", "read_file", json!({"path": "workspace/SOUL.md"})),
        json!({"finish": "tool_calls"}),
    ]);
    let world = World::new(script([first, says(["two ", "three."])])).await;
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    socket.send(message("count")).await;
    let mut frames = socket.until("RESULT").await;
    frames.retain(|frame| frame["id"].is_string());
    for (at, frame) in frames.iter().enumerate() {
        let after = frame["id"].as_str().unwrap();
        let mut again = Socket::open(&server, &format!("?session_id=s&after={after}")).await;
        assert_eq!(again.next().await["data"], json!({"type": "resumed", "session_id": "s"}));
        for missed in &frames[at + 1..] {
            assert_eq!(again.next().await, *missed, "after {after}");
        }
    }
    for unknown in ["nonsense", "00000000.4"] {
        let mut again = Socket::open(&server, &format!("?session_id=s&after={unknown}")).await;
        assert_eq!(again.next().await["type"], "HISTORY", "{unknown}");
    }
}

#[tokio::test]
async fn resume_after_hundreds_of_events_misses_none() {
    let mut many: Vec<Value> = (0..300).map(|n| json!({"text": format!("{n} ")})).collect();
    many.push(json!({"finish": "stop"}));
    let world = World::new(script([steps(many)])).await;
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    socket.send(message("count")).await;
    let mut frames = socket.until("RESULT").await;
    frames.retain(|frame| frame["id"].is_string());
    let after = frames[1]["id"].as_str().unwrap();
    let mut again = Socket::open(&server, &format!("?session_id=s&after={after}")).await;
    again.next().await;
    assert_eq!(again.until("RESULT").await, frames[2..]);
}

#[tokio::test]
async fn frames_count_in_the_order_in_which_they_were_sent() {
    let held = |asked: &str| {
        let steps = [json!({"text": "One "}), json!({"gate": "g"}), json!({"finish": "stop"})];
        json!({"match": asked, "repeat": true, "steps": steps})
    };
    let world = World::new(script([held("first"), held("second"), always(says(["New."]))])).await;
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    socket.send(message("first")).await;
    socket.send(json!({"type": "INTERRUPT"})).await;
    let frames = socket.until("RESULT").await;
    assert_eq!(frames.last().unwrap()["data"]["stop_reason"], "interrupted");
    socket.send(message("second")).await;
    socket.send(json!({"type": "CLEAR_SESSION", "id": "c"})).await;
    socket.send(message("third")).await;
    let frames = socket.until("HISTORY").await;
    assert!(types(&frames).contains(&"RESULT"), "{frames:#?}");
    let new = frames.last().unwrap()["data"]["session_id"].as_str().unwrap().to_owned();
    assert_eq!(socket.until("RESULT").await.pop().unwrap()["data"]["content"], "New.");
    server.settled(&new).await;
    let said = |id: &str| of_messages(&world.session(id)["messages"]);
    assert!(said(&new).contains(&json!({"user": "third"})) && !said("s").contains(&json!({"user": "third"})));
    assert_eq!(server.get("/api/sessions").await.ok()["archived"], json!(["s"]));
}

#[tokio::test]
async fn second_message_interrupts_and_runs_next() {
    let held =
        steps([json!({"text": "One "}), json!({"gate": "g"}), json!({"text": "two."}), json!({"finish": "stop"})]);
    let world = World::new(script([held, says(["Second."])])).await;
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    socket.send(message("first")).await;
    socket.until("ASSISTANT_TEXT").await;
    socket.send(message("second")).await;
    let first = socket.until("RESULT").await.pop().unwrap();
    assert_eq!(
        (&first["data"]["stop_reason"], &first["data"]["stopped_by"]),
        (&json!("interrupted"), &json!("person"))
    );
    let second = socket.until("RESULT").await.pop().unwrap();
    assert_eq!((&second["data"]["stop_reason"], &second["data"]["content"]), (&json!("done"), &json!("Second.")));
    assert_ne!(first["data"]["work_id"], second["data"]["work_id"]);
}

#[tokio::test]
async fn question_is_answered_over_the_socket_only_with_the_secret() {
    let made = |id: &str| call(id, "terminal", json!({"command": "echo ran"}));
    let world =
        World::new(script([calls([made("c1")]), says(["Done."]), calls([made("c2")]), says(["Denied."])])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    let mut other = Socket::open(&server, "?session_id=t").await;
    socket.send(message("go")).await;
    let question = socket.until("APPROVAL_REQUEST").await.pop().unwrap()["data"].clone();
    assert_eq!(
        (&question["tool_name"], &question["tool_input"]),
        (&json!("terminal"), &json!({"command": "echo ran"}))
    );
    assert!(question["expires_at"].is_f64() && question["shown"]["command"] == "echo ran");
    let approve = json!({"request_id": question["request_id"], "approved": true});
    assert_eq!(socket.asked("APPROVAL_RESPONSE", approve.clone()).await["data"]["code"], "no_secret");
    assert_eq!(socket.asked("HELLO", json!({"secret": "0".repeat(64)})).await["data"]["may_answer"], false);
    assert_eq!(socket.asked("APPROVAL_RESPONSE", approve.clone()).await["data"]["code"], "no_secret");

    let hello = json!({"secret": server.secret().await});
    assert_eq!(other.asked("HELLO", hello.clone()).await["data"]["may_answer"], true);
    assert_eq!(
        other.asked("APPROVAL_RESPONSE", approve.clone()).await["data"]["code"],
        "not_found",
        "another session's"
    );
    assert_eq!(socket.asked("HELLO", hello).await["data"]["may_answer"], true);
    let id = question["request_id"].as_str().unwrap();
    for (wrong, code) in [
        (json!({"request_id": "nothing", "approved": true}), "not_found"),
        (json!({"request_id": format!("{id}0"), "approved": true}), "hash_differs"),
        (json!({"request_id": id, "hash": "0", "approved": true}), "hash_differs"),
        (json!({"request_id": id}), "bad_data"),
        (json!({"request_id": id, "approved": true, "always": true, "modified_input": {}}), "bad_arguments"),
    ] {
        assert_eq!(socket.asked("APPROVAL_RESPONSE", wrong.clone()).await["data"]["code"], code, "{wrong}");
    }
    let mut joined = Socket::open(&server, "?session_id=s").await;
    assert_eq!(joined.until("APPROVAL_REQUEST").await.pop().unwrap()["data"], question, "who joins sees the question");
    assert_eq!(socket.asked("APPROVAL_RESPONSE", approve.clone()).await["data"]["type"], "answered");
    let frames = socket.until("RESULT").await;
    assert!(types(&frames).contains(&"TOOL_RESULT"), "{frames:#?}");
    assert_eq!(socket.asked("APPROVAL_RESPONSE", approve).await["data"]["code"], "already_answered");

    socket.send(message("again")).await;
    let question = socket.until("APPROVAL_REQUEST").await.pop().unwrap()["data"].clone();
    let deny = json!({"request_id": question["request_id"], "hash": question["hash"], "approved": false, "deny_reason": "not now"});
    assert_eq!(socket.asked("APPROVAL_RESPONSE", deny).await["data"]["type"], "answered");
    let frames = socket.until("RESULT").await;
    let denied = frames.iter().find(|frame| frame["type"] == "TOOL_RESULT").expect("a result");
    assert_eq!(denied["data"]["status"], "denied");
    assert!(denied["data"]["output"].as_str().unwrap().contains("not now"), "{denied}");
}

#[tokio::test]
async fn interrupt_denies_what_is_asked_and_keeps_the_rest() {
    let asks = steps([
        json!({"text": "I would."}),
        call("c1", "terminal", json!({"command": "echo ran > ran.txt"})),
        json!({"finish": "tool_calls"}),
    ]);
    let world = World::new(script([asks])).await;
    world.write("config.yml", ASKING);
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    assert_eq!(
        socket.asked("INTERRUPT", json!({})).await["data"],
        json!({"type": "interrupted", "interrupted": false, "reply_to": "q"})
    );
    socket.send(message("go")).await;
    socket.until("APPROVAL_REQUEST").await;
    socket.send(json!({"type": "INTERRUPT"})).await;
    let frames = socket.until("RESULT").await;
    assert_eq!(frames.last().unwrap()["data"]["stop_reason"], "interrupted");
    let answered = frames.iter().find(|frame| frame["data"]["type"] == "approval_result").expect("an answer");
    assert_eq!(answered["data"]["decision"], "cancelled");
    assert!(server.settled("s").await["messages"].to_string().contains("I would."));
    assert!(!world.path("scratch/ran.txt").exists());
}

#[tokio::test]
async fn cleared_session_is_archived_and_a_new_one_begins() {
    let held = steps([json!({"text": "One "}), json!({"gate": "g"}), json!({"finish": "stop"})]);
    let world = World::new(script([held, always(says(["New."]))])).await;
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    socket.send(message("first")).await;
    socket.until("ASSISTANT_TEXT").await;
    socket.send(json!({"type": "CLEAR_SESSION", "id": "c"})).await;
    let frames = socket.until("HISTORY").await;
    let kinds = types(&frames);
    let place = |kind: &str| kinds.iter().position(|known| *known == kind).expect("it is told");
    assert!(place("RESULT") < place("HISTORY"), "{kinds:?}");
    let cleared = frames.iter().find(|frame| frame["data"]["type"] == "cleared").expect("it is told");
    assert_eq!((&cleared["data"]["archived"], &cleared["data"]["reply_to"]), (&json!("s"), &json!("c")));
    let new = frames.last().unwrap()["data"]["session_id"].as_str().unwrap().to_owned();
    assert_eq!((cleared["data"]["session_id"].as_str(), new == "s"), (Some(new.as_str()), false));
    assert_eq!(frames.last().unwrap()["data"]["messages"], json!([]));
    socket.send(message("second")).await;
    assert_eq!(socket.until("RESULT").await.pop().unwrap()["data"]["content"], "New.");
    server.settled(&new).await;
    assert_eq!(server.get("/api/sessions").await.ok()["archived"], json!(["s"]));
}

#[tokio::test]
async fn named_files_become_part_of_the_prompt() {
    let world = World::new(script([always(says(["Read."]))])).await;
    world.write("memory/tea.md", "Sencha at 70 degrees.\n");
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    let data = json!({"content": "what tea?", "files": ["memory/tea.md"],
        "attachments": [{"name": "note.txt", "content": "A cup of it."}]});
    assert_eq!(socket.asked("USER_MESSAGE", data).await["data"]["type"], "accepted");
    socket.until("RESULT").await;
    let sent = world.asked().pop().unwrap()["messages"].to_string();
    assert!(
        sent.contains("Sencha at 70 degrees.") && sent.contains("A cup of it.") && sent.contains("tea.md"),
        "{sent}"
    );
    for (path, code) in [
        ("memory/none.md", "not_found"),
        ("config.yml", "not_allowed"),
        ("../secret", "bad_path"),
        ("/etc/passwd", "bad_path"),
    ] {
        let refused = socket.asked("USER_MESSAGE", json!({"content": "x", "files": [path]})).await;
        assert_eq!((&refused["type"], refused["data"]["code"].as_str()), (&json!("ERROR"), Some(code)), "{path}");
    }
    let many: Vec<String> = (0..11).map(|n| format!("memory/{n}.md")).collect();
    let refused = socket.asked("USER_MESSAGE", json!({"content": "x", "files": many})).await;
    assert_eq!(refused["data"]["code"], "too_many_attachments");
}

#[tokio::test]
async fn repeated_key_sends_nothing_and_edit_replaces_the_history() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    let data = json!({"content": "hi", "key": "k1"});
    let first = socket.asked("USER_MESSAGE", data.clone()).await["data"]["work_id"].clone();
    socket.until("RESULT").await;
    assert_eq!(socket.asked("USER_MESSAGE", data).await["data"]["work_id"], first);
    server.settled("s").await;
    assert_eq!(server.settled("s").await["messages"].as_array().unwrap().len(), 2);
    server.post("/api/sessions/s/rewind", json!({"message_id": "k1"})).await.ok();
    let replaced = socket.until("HISTORY").await;
    assert_eq!(replaced.last().unwrap()["data"]["messages"], json!([]));
}

#[tokio::test]
async fn failed_work_ends_with_one_error() {
    let world = World::new(script([steps([
        json!({"status": 400}),
        json!({"bytes": r#"{"error":{"message":"no such model"}}"#}),
    ])]))
    .await;
    let server = world.serve().await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    socket.send(message("hi")).await;
    let error = socket.until("ERROR").await.pop().unwrap()["data"].clone();
    assert!(error["work_id"].is_string() && error["retryable"].is_boolean(), "{error}");
    server.settled("s").await;
    socket.send(json!({"type": "INTERRUPT", "id": "q"})).await;
    let rest = socket.until("STATUS").await;
    assert!(!types(&rest).contains(&"RESULT"), "{rest:#?}");
}
