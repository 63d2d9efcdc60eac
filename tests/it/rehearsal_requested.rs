//! Calls that a person tries out while they wait: the same question is asked again, with what the call would change.

use serde_json::{Value, json};

use crate::approvals::asking;
use crate::command_changes::{cannot_capture, cannot_record};
use crate::http::Answer;
use crate::interrupt::{a_long_time, is_running};
use crate::rehearsal::{ask_for, captures, files, question, results, run};
use crate::script::{call, calls, says, script};
use crate::world::{ASKING, PLAIN, Server, World, eventually};

async fn world(made: impl IntoIterator<Item = Value>) -> World {
    let world = asking(made).await;
    world.write("scratch/a.txt", "one\ntwo\n");
    world.write("scratch/gone.txt", "gone\n");
    world
}

async fn rehearse(server: &Server<'_>, asked: &Value) -> Answer {
    let path = format!("/api/approvals/{}/rehearse", asked["id"].as_str().unwrap());
    server.as_page("POST", &path, json!({})).await
}

/// Has a call tried out, and returns the question about its effect.
async fn tried_out(server: &Server<'_>, asked: &Value) -> Value {
    let answer = rehearse(server, asked).await;
    assert_eq!((answer.status(), answer.ok()), (202, json!({"state": "running"})));
    let mut again = Value::Null;
    eventually("the call is tried out", async || {
        let waiting = server.get("/api/approvals").await.ok()["approvals"].take();
        let found = waiting.as_array().unwrap().iter().find(|waiting| waiting["id"] == asked["id"]).cloned();
        again = found.expect("the question stays");
        again["shown"]["rehearsal"].is_object()
    })
    .await;
    again
}

#[tokio::test]
async fn call_that_was_tried_out_is_applied_exactly() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "sed -i s/one/ONE/ a.txt; rm gone.txt; date +%N > now.txt; echo said")]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    assert_eq!((&asked["rehearsal"], asked["shown"].get("rehearsal")), (&json!({"state": "available"}), None));
    let again = tried_out(&server, &asked).await;
    for field in ["id", "call_id", "work_id", "reason", "because", "arguments"] {
        assert_eq!(again[field], asked[field], "{field}");
    }
    assert!(again["hash"] != asked["hash"] && again.get("rehearsal").is_none(), "{again}");
    let rehearsal = &again["shown"]["rehearsal"];
    assert_eq!(
        (&rehearsal["outcome"], &rehearsal["output"], &rehearsal["created"], &rehearsal["deleted"]),
        (&json!("exit code 0"), &json!("said"), &json!(1), &json!(1)),
    );
    assert_eq!(files(&server, &again).await.len(), 3);
    assert_eq!((world.read("scratch/a.txt").as_str(), world.path("scratch/now.txt").exists()), ("one\ntwo\n", false));
    let content = format!("/api/approvals/{}/changes/content?path=now.txt&side=after", again["id"].as_str().unwrap());
    let now = server.get(&content).await.text();
    let old = json!({"decision": "approve", "hash": asked["hash"]});
    let refused = server.answer(asked["id"].as_str().unwrap(), old).await;
    assert_eq!(refused.refused(), (409, "hash_differs".to_owned()), "that was another question");
    assert_eq!(rehearse(&server, &again).await.ok(), json!({"state": "ended"}), "it is not run again");
    assert_eq!(server.waiting(1).await[0]["hash"], again["hash"]);

    server.decide(&again, "approve").await;
    let frames = stream.rest().await;
    assert_eq!(frames.iter().filter(|frame| frame.is("approval_request")).count(), 2);
    server.settled("s").await;
    assert_eq!(world.read("scratch/now.txt"), now, "what was shown is applied, not a second run");
    assert_eq!((world.read("scratch/a.txt").as_str(), world.path("scratch/gone.txt").exists()), ("ONE\ntwo\n", false));
    assert!(results(&world)[0].starts_with("said"), "{:?}", results(&world));
    server.post("/api/sessions/s/operations/c1/undo", json!({})).await.ok();
    assert_eq!((world.read("scratch/a.txt").as_str(), world.path("scratch/now.txt").exists()), ("one\ntwo\n", false));
    eventually("the layer is removed", async || captures(&world) == 0).await;
}

#[tokio::test]
async fn denying_after_a_trial_leaves_the_folder() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "rm -r *; echo gone")]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    let again = tried_out(&server, &asked).await;
    assert_eq!(again["shown"]["rehearsal"]["deleted"], 2);
    server.decide(&again, "deny").await;
    stream.rest().await;
    server.settled("s").await;
    assert_eq!(world.read("scratch/gone.txt"), "gone\n");
    assert!(
        results(&world)[0].contains("It was tried out, and what it changed was discarded"),
        "{:?}",
        results(&world)
    );
    eventually("the layer is removed", async || captures(&world) == 0).await;
}

#[tokio::test]
async fn trial_without_effect_keeps_the_question() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "date +%N; ls /root")]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    let again = tried_out(&server, &asked).await;
    let rehearsal = &again["shown"]["rehearsal"];
    assert_eq!(
        (&rehearsal["created"], &rehearsal["changed"], &rehearsal["deleted"]),
        (&json!(0), &json!(0), &json!(0))
    );
    assert!(files(&server, &again).await.is_empty());
    assert_eq!(world.asked().len(), 1, "the model reads nothing before a person approves");
    server.decide(&again, "approve").await;
    stream.rest().await;
    server.settled("s").await;
    let result = &results(&world)[0];
    assert!(result.starts_with(rehearsal["output"].as_str().unwrap()), "handed over, not run again: {result}");
    assert_eq!(captures(&world), 0);
}

#[tokio::test]
async fn calls_that_cannot_be_tried_out_say_why() {
    let background = json!({"commands": [{"instruction": "touch x"}], "background": true});
    let network = json!({"commands": [{"instruction": "touch x"}], "network": true});
    let python = call("c3", "python_repl", json!({"code": "1"}));
    let made = [call("c1", "bash", background), call("c2", "bash", network), python];
    let world = asking(made).await;
    let server = world.serve().await;
    let bound = server.post("/api/sessions", json!({"title": "Work", "project_id": "scratch"})).await.ok();
    let stream = server.open_chat(bound["id"].as_str().unwrap(), "go").await;
    let asked = server.waiting(3).await;
    for (asked, obstacle) in asked.iter().zip(["background", "network", "tool"]) {
        assert_eq!(
            (&asked["rehearsal"]["state"], &asked["rehearsal"]["obstacle"]),
            (&json!("unavailable"), &json!(obstacle))
        );
        let refused = rehearse(&server, asked).await;
        assert_eq!(refused.refused(), (409, "unrehearsable".to_owned()));
        let body = refused.json();
        assert_eq!((&body["about"]["obstacle"], &body["message"]), (&json!(obstacle), &asked["rehearsal"]["why"]));
    }
    assert_eq!(server.waiting(3).await, asked);
    assert_eq!(rehearse(&server, &json!({"id": "other"})).await.refused(), (404, "not_found".to_owned()));
    let path = format!("/api/approvals/{}/rehearse", asked[0]["id"].as_str().unwrap());
    assert_eq!(server.post(&path, json!({})).await.status(), 403, "without the secret of the page");
    for asked in &asked {
        server.decide(asked, "deny").await;
    }
    stream.rest().await;
    assert_eq!(rehearse(&server, &asked[0]).await.refused(), (409, "already_answered".to_owned()));
}

#[tokio::test]
async fn files_without_commands_offer_no_trial() {
    let made = call("c1", "create_file", json!({"path": "knowledge/a.md", "content": "x"}));
    let world = asking([made]).await;
    world.write("config.yml", PLAIN);
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    assert_eq!(asked.get("rehearsal"), None, "{asked}");
    assert_eq!(rehearse(&server, &asked).await.refused(), (409, "unrehearsable".to_owned()));
    server.decide(&asked, "deny").await;
    stream.rest().await;
}

#[tokio::test]
async fn kill_during_a_trial_asks_the_plain_question_again() {
    if cannot_capture().await {
        return;
    }
    let long = a_long_time(4911);
    let world = world([run("c1", &format!("rm -r *; sleep {long}"))]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    rehearse(&server, &asked).await.ok();
    eventually("it runs", async || is_running(&long)).await;
    assert_eq!(server.waiting(1).await[0]["rehearsal"], json!({"state": "running"}));
    assert_eq!(rehearse(&server, &asked).await.ok(), json!({"state": "running"}), "once");
    drop(stream);
    // Dropping the server kills it.
    drop(server);
    let server = world.serve().await;
    let again = server.waiting(1).await.remove(0);
    for field in ["id", "hash", "shown", "rehearsal"] {
        assert_eq!(again[field], asked[field], "{field}");
    }
    assert!(world.path("scratch/gone.txt").exists());
    server.decide(&again, "deny").await;
    server.settled("s").await;
    assert!(results(&world)[0].contains("It was not run."), "{:?}", results(&world));
}

#[tokio::test]
async fn kill_after_a_trial_keeps_the_question() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "echo once >> a.txt")]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    let tried = tried_out(&server, &asked).await;
    drop(stream);
    drop(server);
    let server = world.serve().await;
    let plain = server.waiting(1).await.remove(0);
    assert_eq!((&plain["id"], &plain["hash"]), (&asked["id"], &asked["hash"]), "the plain question");
    let old = json!({"decision": "approve", "hash": tried["hash"]});
    let refused = server.answer(plain["id"].as_str().unwrap(), old).await;
    assert_eq!(refused.refused(), (409, "hash_differs".to_owned()));
    assert_eq!(world.read("scratch/a.txt"), "one\ntwo\n");
    let again = tried_out(&server, &plain).await;
    assert_eq!(again["hash"], tried["hash"], "the same effect");
    server.decide(&again, "approve").await;
    server.settled("s").await;
    assert_eq!(world.read("scratch/a.txt"), "one\ntwo\nonce\n");
}

#[tokio::test]
async fn stopping_the_run_stops_a_trial() {
    if cannot_capture().await {
        return;
    }
    let long = a_long_time(4912);
    let world = world([run("c1", &format!("rm -r *; sleep {long}"))]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    rehearse(&server, &asked).await.ok();
    eventually("it runs", async || is_running(&long)).await;
    server.post("/api/sessions/s/interrupt", json!({})).await.ok();
    stream.rest().await;
    server.settled("s").await;
    eventually("it is stopped", async || !is_running(&long)).await;
    assert!(world.path("scratch/gone.txt").exists());
    assert_eq!(server.get("/api/approvals").await.ok()["approvals"], json!([]));
    assert_eq!(world.session("s")["messages"][1]["tool_calls"][0]["status"], "cancelled");
    eventually("the layer is removed", async || captures(&world) == 0).await;
}

#[tokio::test]
async fn server_that_stops_during_a_trial_keeps_the_question() {
    if cannot_capture().await {
        return;
    }
    let long = a_long_time(4913);
    let world = world([run("c1", &format!("rm -r *; sleep {long}"))]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    rehearse(&server, &asked).await.ok();
    eventually("it runs", async || is_running(&long)).await;
    let (status, _) = server.terminate().await;
    assert!(status.success());
    drop(stream);
    eventually("it is stopped", async || !is_running(&long)).await;
    let server = world.serve().await;
    let again = server.waiting(1).await.remove(0);
    assert_eq!((&again["id"], &again["hash"]), (&asked["id"], &asked["hash"]));
    server.decide(&again, "deny").await;
    server.settled("s").await;
    assert!(world.path("scratch/gone.txt").exists());
}

#[tokio::test]
async fn answer_during_a_trial_counts_for_the_call_itself() {
    if cannot_capture().await {
        return;
    }
    let long = a_long_time(4914);
    // In the folder itself, which a trial does not change, the second run finds nothing to wait for.
    let command = format!("echo once >> a.txt; grep -q wait gone.txt && sleep {long}; true");
    for (decision, left) in [("approve", "one\ntwo\nonce\n"), ("deny", "one\ntwo\n")] {
        let world = world([run("c1", &command)]).await;
        world.write("scratch/gone.txt", "wait\n");
        let server = world.serve().await;
        let stream = server.open_chat("s", "go").await;
        let asked = server.waiting(1).await.remove(0);
        rehearse(&server, &asked).await.ok();
        eventually("it runs", async || is_running(&long)).await;
        world.write("scratch/gone.txt", "go on\n");
        server.decide(&asked, decision).await;
        stream.rest().await;
        server.settled("s").await;
        assert_eq!(world.read("scratch/a.txt"), left);
        eventually("it is stopped", async || !is_running(&long)).await;
        assert_eq!(results(&world)[0].contains("what it changed was discarded"), decision == "deny");
    }
}

#[tokio::test]
async fn question_does_not_expire_during_its_trial() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "sleep 3; rm a.txt")]).await;
    world.write("config.yml", format!("{PLAIN}approvals: {{effects: {{execute: ask}}, timeout_seconds: 1}}\n"));
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    rehearse(&server, &asked).await.ok();
    let frames = stream.rest().await;
    let asked: Vec<_> = frames.iter().filter(|frame| frame.is("approval_request")).collect();
    assert_eq!(asked.last().unwrap().data["shown"]["rehearsal"]["deleted"], 1, "{frames:#?}");
    let result = frames.iter().find(|frame| frame.is("approval_result")).expect("a result");
    assert_eq!(result.data["decision"], "expired", "nobody answered that question in time");
    server.settled("s").await;
    assert!(world.path("scratch/a.txt").exists());
}

#[tokio::test]
async fn each_question_of_an_exchange_can_be_tried_out() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "rm gone.txt"), run("c2", "echo x > x.txt"), run("c3", "echo y > y.txt")]).await;
    let server = world.serve().await;
    let stream = server.open_chat("s", "go").await;
    let asked = server.waiting(3).await;
    let third = tried_out(&server, &asked[2]).await;
    let second = tried_out(&server, &asked[1]).await;
    assert_eq!(files(&server, &second).await[0]["path"], "x.txt");
    assert_eq!(files(&server, &third).await[0]["path"], "y.txt");
    assert!(world.path("scratch/gone.txt").exists(), "nobody has approved the first");
    server.decide(&third, "approve").await;
    server.decide(&second, "deny").await;
    server.decide(&asked[0], "approve").await;
    stream.rest().await;
    server.settled("s").await;
    let exists = |name: &str| world.path(&format!("scratch/{name}")).exists();
    assert_eq!((exists("gone.txt"), exists("x.txt"), exists("y.txt")), (false, false, true));
    let calls = world.session("s")["messages"][1]["tool_calls"].take();
    let statuses: Vec<&str> = calls.as_array().unwrap().iter().map(|call| call["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["done", "denied", "done"]);
}

#[tokio::test]
async fn trial_is_refused_if_the_files_change_before_approval() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "echo more >> a.txt; echo new > new.txt")]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    let again = tried_out(&server, &asked).await;
    world.write("scratch/a.txt", "a person's\n");
    server.decide(&again, "approve").await;
    stream.rest().await;
    server.settled("s").await;
    assert_eq!((world.read("scratch/a.txt").as_str(), world.path("scratch/new.txt").exists()), ("a person's\n", false));
    assert!(results(&world)[0].contains("changed by somebody else"), "{:?}", results(&world));
}

#[tokio::test]
async fn trial_has_no_network_and_lists_hosts() {
    if cannot_record().await {
        return;
    }
    let world = world([run("c1", &format!("{}; echo x > x.txt", ask_for("a.example:8443")))]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    let again = tried_out(&server, &asked).await;
    assert_eq!(again["shown"]["rehearsal"]["hosts"], json!(["a.example:8443"]));
    assert_eq!(again["shown"]["network"], false);
    server.decide(&again, "approve").await;
    stream.rest().await;
    server.settled("s").await;
    assert!(results(&world)[0].contains("[network: a.example:8443 (refused)]"), "{:?}", results(&world));
    assert_eq!(world.read("scratch/x.txt"), "x\n");
}

#[tokio::test]
async fn always_after_a_trial_allows_the_same_call_later() {
    if cannot_capture().await {
        return;
    }
    let command = "echo once >> a.txt";
    let script = script([calls([run("c1", command)]), calls([run("c2", command)]), says(["Done."])]);
    let world = World::new(script).await;
    world.write("config.yml", ASKING);
    world.write("scratch/a.txt", "");
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    let again = tried_out(&server, &asked).await;
    let always = server.decide(&again, "always").await;
    assert_eq!(always, json!({"decision": "approved", "scope": "always"}));
    let frames = stream.rest().await;
    server.settled("s").await;
    assert_eq!(world.read("scratch/a.txt"), "once\nonce\n");
    assert_eq!(frames.iter().filter(|frame| frame.is("approval_request")).count(), 2, "not about the second call");
}

#[tokio::test]
async fn changed_arguments_run_after_a_trial_of_others() {
    if cannot_capture().await {
        return;
    }
    let world = world([run("c1", "rm a.txt")]).await;
    let server = world.serve().await;
    let (stream, asked) = question(&server).await;
    let again = tried_out(&server, &asked).await;
    let own = json!({"decision": "approve", "hash": again["hash"], "arguments": {"command": "rm gone.txt"}});
    server.answer(again["id"].as_str().unwrap(), own).await.ok();
    stream.rest().await;
    server.settled("s").await;
    assert!(world.path("scratch/a.txt").exists() && !world.path("scratch/gone.txt").exists());
}

#[tokio::test]
async fn approved_trial_is_applied_once_after_any_kill() {
    if cannot_capture().await {
        return;
    }
    // The server is killed after this many frames.
    for frames in 0..4 {
        let world = world([run("c1", "echo once >> a.txt")]).await;
        let server = world.serve().await;
        drop(server.open_chat("s", "go").await);
        let asked = server.waiting(1).await.remove(0);
        let again = tried_out(&server, &asked).await;
        let mut stream = server.follow("/api/sessions/s/events").await;
        server.decide(&again, "approve").await;
        for _ in 0..frames {
            stream.next().await;
        }
        drop((stream, server));
        let server = world.serve().await;
        server.settled("s").await;
        assert_eq!(server.waiting(0).await.len(), 0, "what was answered is not asked again");
        let text = world.read("scratch/a.txt");
        let status = world.session("s")["messages"][1]["tool_calls"][0]["status"].take();
        match status.as_str().unwrap() {
            "done" => assert_eq!(text, "one\ntwo\nonce\n", "{frames}"),
            "interrupted" => assert!(["one\ntwo\n", "one\ntwo\nonce\n"].contains(&text.as_str()), "{frames}: {text}"),
            other => panic!("{frames}: {other}"),
        }
    }
}
