//! Each file operation of a typical usage sequence fails once: acknowledged data is kept, nothing is half-written,
//! and the next message works. A usual run lets a third of the operations fail for each of two reasons.

use serde_json::{Value, json};

use crate::file_faults::{Fault, FileFaultInjector};
use crate::script::{always, says, script};
use crate::thorough::{is_thorough, step};
use crate::world::{Server, World, eventually, files};

const SOUL: &str = "You are the soul of a test.\n";
const SKILL: &str = "skills/tidy/SKILL.md";

/// Changes that were acknowledged while an operation failed.
#[derive(Debug, Default)]
struct Acknowledged {
    messages: Vec<String>,
    soul: Option<String>,
    skill: Option<String>,
}

async fn idle(server: &Server<'_>) -> Value {
    let mut history = Value::Null;
    eventually("nothing runs", async || {
        let answer = server.get("/api/sessions/s/history").await;
        // A session whose first message was refused does not exist.
        history = if answer.status() == 200 { answer.ok() } else { Value::Null };
        history["running"].is_null()
    })
    .await;
    history
}

async fn quarter_of_an_hour(server: &Server<'_>, nth: usize) -> Acknowledged {
    let mut done = Acknowledged::default();
    let say = async |text: String| {
        let said = server.post("/api/sessions/s/messages", json!({"message": text})).await;
        idle(server).await;
        (said.status() == 202).then_some(text)
    };
    done.messages.extend(say(format!("before {nth}")).await);
    let save = async |path: &str, text: String| {
        let saved = server.as_page("POST", "/api/files", json!({"path": path, "content": text})).await;
        (saved.status() == 200).then_some(text)
    };
    done.soul = save("workspace/SOUL.md", format!("The soul of {nth}.\n")).await;
    done.skill = save(SKILL, format!("---\nname: tidy\ndescription: Of {nth}\n---\n")).await;
    server.put("/api/config/rag-mode", json!({"enabled": false})).await;
    server.send("PUT", "/api/sessions/s", &[("Content-Type", "application/json")], b"{\"title\": \"A name\"}").await;
    done.messages.extend(say(format!("after {nth}")).await);
    done
}

fn said(history: &Value) -> Vec<String> {
    let messages = history["messages"].as_array().cloned().unwrap_or_default();
    let people = messages.iter().filter(|message| message["role"] == "user");
    people.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

/// Returns the violated invariants.
fn problems(world: &World, history: &Value, kept: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    let said = said(history);
    let mut rest = said.iter();
    for message in kept {
        if !rest.any(|other| other == message) {
            problems.push(format!("{message:?} was acknowledged; there is {said:?}"));
        }
    }
    if said.iter().collect::<std::collections::BTreeSet<_>>().len() != said.len() {
        problems.push(format!("said once, there twice: {said:?}"));
    }
    for file in files(&world.home()) {
        let name = file.strip_prefix(world.home()).unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let is_whole = match name.as_str() {
            "workspace/SOUL.md" => text == SOUL || (text.starts_with("The soul of ") && text.ends_with(".\n")),
            SKILL => text.ends_with("\n---\n"),
            name if name.ends_with(".json") && (!name.contains('/') || name.starts_with("sessions/")) => {
                serde_json::from_str::<Value>(&text).is_ok()
            }
            _ => true,
        };
        if !is_whole {
            problems.push(format!("{name} is {text:?}"));
        }
    }
    problems
}

fn leftovers(world: &World) -> Vec<std::path::PathBuf> {
    files(&world.home()).into_iter().filter(|path| path.to_string_lossy().ends_with("-tmp")).collect()
}

/// Returns the relevant files of which no operation failed.
fn missed(failures: &[String]) -> Vec<&'static str> {
    let of_all = ["/sessions/s.journal", "/sessions/.", "/workspace", "/storage/trusted", "/skills/tidy"];
    // Of every third one, those of a skill, which are two, can all be among the others.
    let relevant = if step(3) == 1 { &of_all[..] } else { &of_all[..3] };
    relevant.iter().copied().filter(|place| !failures.iter().any(|failed| failed.contains(place))).collect()
}

/// Lets every operation fail once, or every third one; and those after them, if the first third misses a relevant file.
async fn sweep(error: i32, first: usize) {
    if !FileFaultInjector::is_possible() {
        return;
    }
    let world = World::new(script([always(says(["Yes."]))])).await;
    let (mut kept, mut failures, mut refused) = (Vec::new(), Vec::new(), 0);
    let (mut nth, mut thirds) = (if is_thorough() { 1 } else { first }, 0);
    loop {
        let injector = FileFaultInjector::below(world.home());
        let server = world.serve_prepared(&["--port", "0"], |command| injector.watch(command)).await;
        injector.arm(Fault { nth, error });
        let done = quarter_of_an_hour(&server, nth).await;
        let (seen, failed) = injector.disarm();
        let what = format!("{nth}: {failed:?}");
        refused += 2 - done.messages.len() + usize::from(done.soul.is_none()) + usize::from(done.skill.is_none());
        kept.extend(done.messages);
        assert_eq!(server.get("/health").await.status(), 200, "{what}");
        // Whatever failed, the next message works.
        let next = format!("next {nth}");
        let taken = server.post("/api/sessions/s/messages", json!({"message": next})).await;
        assert_eq!(taken.status(), 202, "{what}: {}", taken.text());
        kept.push(next);
        let history = idle(&server).await;
        assert_eq!(history["messages"].as_array().unwrap().last().unwrap()["content"], "Yes.", "{what}");
        assert_eq!(problems(&world, &history, &kept), [""; 0], "{what}");
        if let Some(soul) = &done.soul {
            assert_eq!(world.read("workspace/SOUL.md"), *soul, "{what}");
        }
        if let Some(skill) = &done.skill {
            assert_eq!(world.read(SKILL), *skill, "{what}");
        }
        drop(server);

        let server = world.serve().await;
        let again = idle(&server).await;
        assert_eq!(problems(&world, &again, &kept), [""; 0], "{what}, after a restart");
        assert_eq!(said(&again), said(&history), "{what}, after a restart");
        assert_eq!(leftovers(&world), [""; 0].map(std::path::PathBuf::from), "{what}, after a restart");
        assert_eq!(server.get("/api/status").await.ok()["quarantine"], json!([]), "{what}, after a restart");
        drop(server);
        let Some(failed) = failed else {
            assert!(seen < nth, "{seen} operations were seen, and {nth} is more");
            thirds += 1;
            if thirds == step(3) || missed(&failures).is_empty() {
                break;
            }
            nth = first + thirds;
            continue;
        };
        failures.push(failed);
        nth += step(3);
    }
    // The faults must have hit the relevant files, and some requests must have failed.
    let missed = missed(&failures);
    assert!(missed.is_empty(), "{missed:?}: {failures:#?}");
    println!("{} operations failed, {refused} asks were refused", failures.len());
    assert!(refused * step(3) > 10 && failures.len() * step(3) > 40, "{refused} of {}", failures.len());
}

#[tokio::test]
async fn each_operation_fails_once_with_io_error() {
    sweep(libc::EIO, 1).await;
}

#[tokio::test]
async fn each_operation_fails_once_for_want_of_room() {
    sweep(libc::ENOSPC, 2).await;
}

/// Negative control: the check itself must detect violations.
#[tokio::test]
async fn violated_invariant_is_detected() {
    let world = World::new(script([])).await;
    let history = |said: &[&str]| {
        let messages: Vec<_> = said.iter().map(|text| json!({"role": "user", "content": text})).collect();
        json!({"messages": messages})
    };
    let kept = ["one".to_owned(), "two".to_owned()];
    assert_eq!(problems(&world, &history(&["one", "in doubt", "two"]), &kept), [""; 0]);
    assert_eq!(problems(&world, &history(&["one"]), &kept).len(), 1, "an acknowledged message is lost");
    assert_eq!(problems(&world, &history(&["two", "one"]), &kept).len(), 1, "in another order");
    assert_eq!(problems(&world, &history(&["one", "one", "two"]), &kept).len(), 1, "doubled");
    let whole = history(&["one", "two"]);
    for (half, rest) in [
        ("sessions/s.json", "{\"messages\": ["),
        ("trusted.json", "{"),
        ("workspace/SOUL.md", "The soul"),
        (SKILL, "---\nname: ti"),
    ] {
        world.write(half, rest);
        assert_eq!(problems(&world, &whole, &kept).len(), 1, "{half}");
        std::fs::remove_file(world.path(half)).unwrap();
    }
    world.write("workspace/.x.miniclaw-tmp", "half");
    assert_eq!(leftovers(&world).len(), 1);
}
