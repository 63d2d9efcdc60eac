//! Disconnecting and reconnecting: no event is missed or repeated, and no run stops because no client is connected.

use serde_json::json;

use crate::http::{Frame, open};
use crate::script::{call, calls, says, script, steps};
use crate::world::World;

async fn recorded() -> World {
    let first = steps([
        json!({"thinking": "Hm."}),
        json!({"text": "I "}),
        json!({"text": "look."}),
        call("c1", "read_file", json!({"path": "workspace/SOUL.md"})),
        call("c2", "search_knowledge_base", json!({"query": "soul"})),
        json!({"finish": "tool_calls"}),
    ]);
    World::new(script([first, says(["Th", "ere."]), says(["Again."])])).await
}

fn ids(frames: &[Frame]) -> Vec<String> {
    frames.iter().map(|frame| frame.id.clone().expect("an id")).collect()
}

#[tokio::test]
async fn resume_from_any_frame_has_no_gap_or_repeat() {
    let world = recorded().await;
    let server = world.serve().await;
    let frames = server.chat("s", "look").await;
    assert!(frames.len() >= 14, "{frames:#?}");
    for (at, id) in ids(&frames).iter().enumerate() {
        let rest = &frames[at + 1..];
        let by_query = server.follow(&format!("/api/sessions/s/events?until=settled&after={id}")).await.rest().await;
        assert_eq!(by_query, rest, "after {id}");
        let path = "/api/sessions/s/events?until=settled&after=nonsense";
        let request = server.request("GET", path, &[("Last-Event-ID", id)], b"");
        assert_eq!(open(server.address, &request).await.rest().await, rest, "the header wins, after {id}");
    }
}

#[tokio::test]
async fn tab_stream_resumes_from_any_frame() {
    let world = recorded().await;
    let server = world.serve().await;
    let frames = server.chat("s", "look").await;
    for (at, id) in ids(&frames).iter().enumerate().take(frames.len() - 1) {
        let mut tab = server.follow(&format!("/api/events?after={id}")).await;
        let hello = tab.next().await.unwrap();
        assert_eq!((hello.event.as_str(), &hello.id), ("hello", &None));
        let mut rest = Vec::new();
        while rest.len() < frames.len() - at - 1 {
            let told = tab.next().await.unwrap();
            if told.is("frame") {
                assert_eq!(told.data["session_id"], "s");
                let event = told.data["frame"]["type"].as_str().unwrap().to_owned();
                rest.push(Frame { id: told.id, event, data: told.data["frame"].clone() });
            }
        }
        assert_eq!(rest, frames[at + 1..], "after {id}");
    }
}

#[tokio::test]
async fn unknown_event_id_is_a_gap() {
    let world = World::new(script([says(["Yes."])])).await;
    let server = world.serve().await;
    let frames = server.chat("s", "hi").await;
    let last = ids(&frames).pop().unwrap();
    let (boot, number) = last.rsplit_once('.').unwrap();
    let future = format!("{boot}.{}", number.parse::<u64>().unwrap() + 1000);
    for unknown in ["00000000.1", "nonsense", "1", future.as_str()] {
        let mut of_session = server.follow(&format!("/api/sessions/s/events?after={unknown}")).await;
        assert_eq!(of_session.next().await.unwrap().event, "gap", "{unknown}");
        let mut of_tab = server.follow(&format!("/api/events?after={unknown}")).await;
        let first_two = [of_tab.next().await.unwrap().event, of_tab.next().await.unwrap().event];
        assert_eq!(first_two, ["hello", "gap"], "{unknown}");
    }
    drop(server);
    let server = world.serve().await;
    let mut after_restart = server.follow(&format!("/api/sessions/s/events?after={last}")).await;
    assert_eq!(after_restart.next().await.unwrap().event, "gap");
}

#[tokio::test]
async fn disconnect_does_not_cancel_run() {
    let held =
        steps([json!({"text": "One "}), json!({"gate": "g"}), json!({"text": "two."}), json!({"finish": "stop"})]);
    let world = World::new(script([held])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "count").await;
    let seen = stream.until("token").await;
    drop(stream);
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(history["messages"][1]["content"], "One ", "what was said so far");
    assert!(history["running"]["work_id"].is_string());
    let since = history["last_event_id"].as_str().unwrap().to_owned();
    world.provider.open_gate("g");

    let from_token = ids(&seen).pop().unwrap();
    let back = server.follow(&format!("/api/sessions/s/events?until=settled&after={from_token}")).await.rest().await;
    let names: Vec<&str> = back.iter().map(|frame| frame.event.as_str()).collect();
    assert_eq!(names, ["token", "usage", "done", "title"]);
    let from_history = server.follow(&format!("/api/sessions/s/events?until=settled&after={since}")).await.rest().await;
    assert_eq!(from_history, back);
    server.settled("s").await;
    assert_eq!(world.session("s")["messages"][1]["content"], "One two.");
}

#[tokio::test]
async fn history_and_stream_meet_without_overlap() {
    let held = steps([
        json!({"thinking": "Hm. "}),
        json!({"text": "One "}),
        json!({"gate": "g"}),
        json!({"thinking": "So."}),
        json!({"text": "two."}),
        json!({"finish": "stop"}),
    ]);
    let world = World::new(script([calls([call("c", "terminal", json!({"command": "echo hello"}))]), held])).await;
    let server = world.serve().await;
    let mut stream = server.open_chat("s", "count").await;
    stream.until("token").await;
    let history = server.get("/api/sessions/s/history").await.ok();
    assert_eq!(history["messages"][1]["tool_calls"][0]["status"], "done");
    assert_eq!(history["messages"][2]["thinking"], "Hm. ");
    let after = history["last_event_id"].as_str().unwrap().to_owned();
    world.provider.open_gate("g");
    let rest = server.follow(&format!("/api/sessions/s/events?until=settled&after={after}")).await.rest().await;
    let said: String = rest.iter().filter(|f| f.is("token")).map(|f| f.data["content"].as_str().unwrap()).collect();
    assert_eq!(said, "two.");
    server.settled("s").await;
    assert_eq!(world.session("s")["messages"][2]["thinking"], "Hm. So.");
}

#[tokio::test]
async fn concurrent_followers_see_equal_events() {
    let world = recorded().await;
    let server = world.serve().await;
    server.post("/api/sessions", json!({})).await.ok();
    server.chat("s", "first").await;
    let followers = [server.follow("/api/sessions/s/events").await, server.follow("/api/sessions/s/events").await];
    let mut chat = server.open_chat("s", "second").await;
    let own = chat.until("done").await;
    for mut follower in followers {
        assert_eq!(follower.until("done").await, own);
    }
}

#[tokio::test]
async fn following_unknown_session_is_an_error() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    assert_eq!(server.get("/api/sessions/nobody/events").await.refused(), (404, "not_found".to_owned()));
    assert_eq!(server.get("/api/sessions/a%2Fb/events").await.refused(), (400, "bad_session_id".to_owned()));
}
