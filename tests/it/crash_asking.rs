//! `kill -9` at any moment while calls wait for a person: an acknowledged answer is kept and counts, an approved
//! call runs at most once, one that was not approved never runs, and a file has either its old content or the
//! content that was shown.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::crash::Rng;
use crate::script::{call, calls, says, script};
use crate::world::{ASKING, Server, World};

/// Returns `count` exchanges, each with a call of every kind that is numbered by the exchange, and an answer between.
fn exchanges(count: u64) -> Vec<Value> {
    let exchange = |n: u64| {
        let made = calls([
            call("r", "read_file", json!({"path": format!("knowledge/edited-{n}.md")})),
            call("t", "terminal", json!({"command": format!("echo ran >> ran-{n}.txt")})),
            call(
                "e",
                "edit_file",
                json!({"path": format!("knowledge/edited-{n}.md"),
                                          "edits": [{"search": "before", "replace": "after"}]}),
            ),
            call("c", "create_file", json!({"path": format!("knowledge/created-{n}.md"), "content": "created\n"})),
            call("d", "delete_file", json!({"path": format!("knowledge/deleted-{n}.md")})),
        ]);
        [made, says(["So much ", "for that."])]
    };
    (0..count).flat_map(exchange).collect()
}

/// Data that the person received before the server died.
#[derive(Default)]
struct Acknowledged {
    messages: Vec<String>,
    /// The decision for each approval.
    answers: BTreeMap<String, String>,
}

#[tokio::test]
async fn kill_while_asking_loses_no_answer() {
    let kills: u64 = std::env::var("MINICLAW_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(32);
    let world = World::new(script(exchanges(2 * kills + 4))).await.with_file("config.yml", ASKING);
    for n in 0..2 * kills + 4 {
        world.write(&format!("knowledge/edited-{n}.md"), "before\n");
        world.write(&format!("knowledge/deleted-{n}.md"), "there\n");
    }
    let (mut rng, mut acknowledged, mut waited) = (Rng(20_261_123), Acknowledged::default(), 0);
    for round in 0..kills {
        let server = world.serve().await;
        check(&server, &acknowledged).await;
        let waiting = server.get("/api/approvals").await.ok()["approvals"].as_array().unwrap().clone();
        waited += waiting.len();
        for asked in waiting {
            answer(&server, &asked, &mut rng, &mut acknowledged).await;
        }
        if acknowledged.messages.is_empty() || rng.below(3) > 0 {
            let message = format!("message {round}.");
            let said = server.post("/api/sessions/s/messages", json!({"message": message})).await.ok();
            acknowledged.messages.push(message);
            let after = said["after"].as_str().unwrap();
            let path = format!("/api/sessions/s/events?until=settled&after={after}");
            let mut stream = server.follow(&path).await;
            let mut asked = 0;
            // An exchange asks about four calls at once; if one stays unanswered, no more frames follow.
            for _ in 0..rng.below(40) {
                let Some(frame) = stream.next().await else { break };
                if frame.is("approval_request") {
                    asked += 1;
                    let left = !answer(&server, &frame.data, &mut rng, &mut acknowledged).await;
                    if left || asked > rng.below(6) {
                        break;
                    }
                }
            }
        }
        // Dropping the server kills it.
        drop(server);
    }
    let server = world.serve().await;
    check(&server, &acknowledged).await;
    let decided = |word: &str| acknowledged.answers.values().filter(|decision| *decision == word).count();
    println!(
        "{kills} kills: {} messages, {} approved, {} denied, {waited} times one waited over a restart",
        acknowledged.messages.len(),
        decided("approve"),
        decided("deny")
    );
    let least = usize::try_from(kills / 4).unwrap();
    assert!(decided("approve") >= least && decided("deny") >= least && waited >= least, "these kills mean nothing");
    // A message ends the works that still wait, and a stop ends the work that it starts.
    server.post("/api/sessions/s/messages", json!({"message": "the last one"})).await.ok();
    server.post("/api/sessions/s/interrupt", json!({})).await.ok();
    server.settled("s").await;
}

/// Decides the approval or leaves it unanswered; returns `false` if it was left.
async fn answer(server: &Server<'_>, asked: &Value, rng: &mut Rng, acknowledged: &mut Acknowledged) -> bool {
    let decision = ["approve", "approve", "deny", "leave"][usize::try_from(rng.below(4)).unwrap()];
    if decision == "leave" {
        return false;
    }
    let id = asked["id"].as_str().unwrap();
    let answered = server.answer(id, json!({"decision": decision, "hash": asked["hash"]})).await;
    if answered.status() == 200 {
        acknowledged.answers.insert(id.to_owned(), decision.to_owned());
    } else {
        assert!([404, 409].contains(&answered.status()), "{}", answered.text());
    }
    true
}

async fn check(server: &Server<'_>, acknowledged: &Acknowledged) {
    if acknowledged.messages.is_empty() {
        return;
    }
    let world = server.world;
    let history = server.get("/api/sessions/s/history").await.ok();
    let messages = history["messages"].as_array().unwrap();
    let asked: Vec<_> = messages.iter().filter(|m| m["role"] == "user").map(|m| m["content"].clone()).collect();
    assert_eq!(asked, acknowledged.messages, "every acknowledged message, once, in order");
    let mut answers = acknowledged.answers.clone();
    let calls = messages.iter().flat_map(|m| m["tool_calls"].as_array().cloned().unwrap_or_default());
    for call in calls {
        let approval = &call["approval"];
        if let Some(decision) = answers.remove(approval["id"].as_str().unwrap_or_default()) {
            let word = if decision == "approve" { "approved" } else { "denied" };
            assert_eq!(approval["decision"], word, "an acknowledged answer: {call}");
        }
        let approved = approval["decision"] == "approved";
        let done = call["status"] == "done";
        assert!(!done || approved || call["tool"] == "read_file", "done without a person's word: {call}");
        effect(world, &call, done, approved);
    }
    assert!(answers.is_empty(), "answers of calls that are gone: {answers:?}");
}

/// Checks the effect of a call: executed exactly once if it is reported as done, and never without approval.
fn effect(world: &World, call: &Value, done: bool, approved: bool) {
    let text = call["arguments"].to_string();
    let n: String = match text.split_once('-') {
        Some((_, rest)) => rest.chars().take_while(char::is_ascii_digit).collect(),
        None => return,
    };
    let read = |path: String| std::fs::read_to_string(world.path(&path)).ok();
    let (before, after, now) = match call["tool"].as_str().unwrap() {
        "terminal" => (None, Some("ran\n"), read(format!("scratch/ran-{n}.txt"))),
        "edit_file" => (Some("before\n"), Some("after\n"), read(format!("knowledge/edited-{n}.md"))),
        "create_file" => (None, Some("created\n"), read(format!("knowledge/created-{n}.md"))),
        "delete_file" => (Some("there\n"), None, read(format!("knowledge/deleted-{n}.md"))),
        _ => return,
    };
    let now = now.as_deref();
    if done {
        assert_eq!(now, after, "{call}");
    } else if approved {
        // A shell that is killed between creating the file and writing to it leaves it empty.
        let begun = call["tool"] == "terminal" && now == Some("");
        assert!(begun || now == before || now == after, "neither as it was nor as it was shown: {now:?} {call}");
    } else {
        assert_eq!(now, before, "{call}");
    }
}
