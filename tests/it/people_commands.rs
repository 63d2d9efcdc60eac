//! Commands on a server that several people use: each person's run as a user of the system that is only theirs.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use miniclaw::domain::UidRange;
use miniclaw::sandbox::{Level, Sandbox, SandboxConfig};
use serde_json::{Value, json};

use crate::command_changes::{bash, tree};
use crate::people::{Person, SECRET, admin, ask, get, joined, signed_in};
use crate::script::{calls, says, script};
use crate::world::{CONFIG, PLAIN, Server, World, eventually};

/// The levels that this machine can run the commands of people at; reports the others.
fn levels() -> Vec<Level> {
    let mut levels = vec![Level::Standard, Level::Strict];
    levels.retain(|level| {
        let obstacle = Sandbox::new(SandboxConfig::new(*level)).person_obstacle(UidRange::DEFAULT);
        if let Some(why) = &obstacle {
            let _ = writeln!(std::io::stderr(), "SKIPPED: people's commands at level {}: {why}", level.name());
        }
        obstacle.is_none()
    });
    levels
}

fn can_capture() -> bool {
    levels().contains(&Level::Standard)
}

/// Returns a reply to messages with this word.
fn to(word: &str, reply: Value) -> Value {
    json!({"match": word, "steps": reply["steps"]})
}

/// Creates the world of a server whose model runs these commands, each when a message has its word.
async fn world(settings: &str, commands: &[(&str, &str)]) -> World {
    let replies = commands.iter().flat_map(|(word, command)| {
        let (first, then) = command.split_once('\0').map_or((*command, None), |(first, then)| (first, Some(then)));
        let run = match then {
            Some("background") => {
                let arguments = json!({"commands": [{"instruction": first}], "background": true, "timeout": 600});
                crate::script::call(word, "bash", arguments)
            }
            Some("python") => crate::script::call(word, "python_repl", json!({"code": first})),
            _ => bash(word, first),
        };
        [to(word, calls([run])), to(word, says(["Done."]))]
    });
    let world = World::new(script(replies)).await.with_env("MINICLAW_JWT_SECRET", SECRET);
    world.with_file("config.yml", &format!("auth_mode: multi\n{settings}\n"))
}

/// Makes a project with this name and a session in it; returns the session.
async fn bound(server: &Server<'_>, person: &Person, name: &str) -> String {
    let project = ask(server, person, ("POST", "/api/projects"), json!({"name": name})).await.ok();
    let body = json!({"title": name, "project_id": project["data"]["id"]});
    let made = ask(server, person, ("POST", "/api/sessions"), body).await.ok();
    made["id"].as_str().unwrap().to_owned()
}

async fn says_to(server: &Server<'_>, person: &Person, (session, word): (&str, &str)) {
    ask(server, person, ("POST", "/api/chat"), json!({"message": word, "session_id": session})).await;
    let (history, journal) = (format!("/api/sessions/{session}/history"), format!("sessions/{session}.journal"));
    eventually("the work settles", async || {
        let is_idle = get(server, person, &history).await.ok()["running"].is_null();
        is_idle && !home(server.world, person).join(&journal).exists()
    })
    .await;
}

fn home(world: &World, person: &Person) -> PathBuf {
    world.path(&format!("people/{}", person.id))
}

/// Returns what the model read of a call.
fn output(world: &World, (person, session, call): (&Person, &str, &str)) -> String {
    let file = home(world, person).join(format!("sessions/{session}.json"));
    let session: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let messages = session["messages"].as_array().unwrap().iter();
    let mut all = messages.filter_map(|message| message["tool_calls"].as_array()).flatten();
    let call = all.find(|known| known["id"] == call).unwrap();
    call["output"].as_str().unwrap().to_owned()
}

/// Returns the user of each account, by name.
fn uids(world: &World) -> Vec<(String, Option<u64>)> {
    let book: Value = serde_json::from_str(&world.read("accounts.json")).unwrap();
    let accounts = book["accounts"].as_array().unwrap().iter();
    accounts.map(|account| (account["username"].as_str().unwrap().to_owned(), account["uid"].as_u64())).collect()
}

fn uid_of(world: &World, name: &str) -> u32 {
    let found = uids(world).into_iter().find(|(known, _)| known == name).unwrap().1;
    u32::try_from(found.expect("a user")).unwrap()
}

fn owners(folder: &Path) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = tree(folder)
        .into_keys()
        .map(|path| folder.join(path).symlink_metadata().unwrap())
        .chain([folder.metadata().unwrap()])
        .map(|meta| (meta.uid(), meta.gid()))
        .collect();
    all.dedup();
    all
}

async fn tools(server: &Server<'_>, person: &Person) -> (Value, Vec<String>) {
    let status = get(server, person, "/api/status").await.ok();
    let tools = status["tools"].as_array().unwrap().iter();
    (status["commands"].clone(), tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect())
}

#[tokio::test]
async fn two_people_run_commands_at_once_and_see_their_own() {
    const LOOK: &str = "id -u; pwd; echo \"$0 of $(id -u)\" > mine.txt; sleep 0.3; ls ..; ls -R /tmp ../../.. 2>&1; \
                        cat ../*/*.txt ../../../*/workspaces/*/*.txt 2>&1; echo end";
    for level in levels() {
        let settings = format!("{CONFIG}sandbox: {}", level.name());
        let world = world(&settings, &[("go-ada", LOOK), ("go-bob", LOOK)]).await;
        let server = world.serve().await;
        let ada = admin(&server).await;
        let bob = joined(&server, &ada, "Bob").await;
        let (hers, his) = (bound(&server, &ada, "hers").await, bound(&server, &bob, "his").await);
        tokio::join!(says_to(&server, &ada, (&hers, "go-ada")), says_to(&server, &bob, (&his, "go-bob")),);
        assert_ne!(uid_of(&world, "Ada"), uid_of(&world, "Bob"));
        for (person, name, session, project, (other, others)) in
            [(&ada, "Ada", &hers, "hers", (&bob, "Bob")), (&bob, "Bob", &his, "his", (&ada, "Ada"))]
        {
            let uid = uid_of(&world, name);
            let said = output(&world, (person, session, &format!("go-{}", name.to_lowercase())));
            assert!(said.contains(&format!("{uid}\n")) && said.contains("end"), "{level:?}: {said}");
            assert!(
                !said.contains(&other.id) && !said.contains(&uid_of(&world, others).to_string()),
                "{level:?}: {said}"
            );
            let folder = home(&world, person).join("workspaces").join(project);
            assert_eq!(folder.metadata().unwrap().mode() & 0o7777, 0o700, "{level:?}");
            assert_eq!(owners(&folder), [(uid, uid)], "{level:?}");
            assert!(folder.join("mine.txt").is_file());
            assert_eq!(home(&world, person).metadata().unwrap().mode() & 0o777, 0o700);
            let (commands, tools) = tools(&server, person).await;
            assert_eq!((&commands["code"], &commands["about"]["uid"]), (&json!("own_user"), &json!(uid.to_string())));
            assert!(
                ["terminal", "python_repl"].iter().all(|tool| tools.iter().any(|known| known == tool)),
                "{tools:?}"
            );
        }
    }
}

#[tokio::test]
async fn several_people_have_strict_commands_by_default() {
    if !levels().contains(&Level::Strict) {
        return;
    }
    let world =
        world(CONFIG, &[("go", "id -u; ls /proc | grep -c '^[0-9]'; ls /home /root /etc/shadow; echo end")]).await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let session = bound(&server, &ada, "plan").await;
    says_to(&server, &ada, (&session, "go")).await;
    let said = output(&world, (&ada, &session, "go"));
    assert!(said.contains(&uid_of(&world, "Ada").to_string()) && said.contains("/root': No such file"), "{said}");
    assert_eq!(get(&server, &ada, "/api/status").await.ok()["sandbox"]["code"], "strict");
}

/// Counts the processes whose command line contains a marker.
fn processes_with(marker: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(marker)).count()
}

#[tokio::test]
async fn git_of_a_disabled_person_is_stopped() {
    if crate::project_git::has_no_git() {
        return;
    }
    let Some(level) = levels().first().copied() else { return };
    let world = world(&format!("{CONFIG}sandbox: {}", level.name()), &[]).await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    let project = ask(&server, &bob, ("POST", "/api/projects"), json!({"name": "Tea"})).await.ok();
    let git = format!("/api/projects/{}/git", project["data"]["id"].as_str().unwrap());
    ask(&server, &bob, ("POST", &format!("{git}/init")), json!({})).await.ok();
    let folder = home(&world, &bob).join("workspaces/Tea");
    // Git reads all of it, which takes much longer than this test.
    fs::File::create(folder.join("huge")).unwrap().set_len(60 << 30).unwrap();
    let marker = format!("{}\0--no-pager", folder.display());
    let running = || processes_with(&format!("{marker}\0--literal-pathspecs\0add"));
    let (stage, path) = (format!("{git}/stage"), format!("/api/admin/people/{}", bob.id));
    let (staged, ()) = tokio::join!(ask(&server, &bob, ("POST", &stage), json!({})), async {
        eventually("git runs", async || running() == 1).await;
        ask(&server, &ada, ("PATCH", &path), json!({"is_active": false})).await.ok();
        assert_eq!(running(), 0, "it has ended before the admin is answered");
    });
    assert!(staged.status() >= 400, "{}", staged.text());
}

#[tokio::test]
async fn job_of_a_disabled_person_is_killed_and_others_go_on() {
    for level in levels() {
        let [hers, his] = [1, 2].map(|number| format!("9{number}{}.{}", std::process::id(), level.name().len()));
        let [of_ada, of_bob] = [&hers, &his].map(|time| format!("echo x > made; sleep {time}\0background"));
        let python = format!("import subprocess\nsubprocess.Popen(['sleep', '{his}1'])\0python");
        let settings = format!("{CONFIG}sandbox: {}", level.name());
        let commands = [("go-ada", of_ada.as_str()), ("go-bob", &of_bob), ("go-python", &python)];
        let world = world(&settings, &commands).await;
        let server = world.serve().await;
        let ada = admin(&server).await;
        let bob = joined(&server, &ada, "Bob").await;
        for (person, word) in [(&ada, "go-ada"), (&bob, "go-bob"), (&bob, "go-python")] {
            let session = bound(&server, person, word).await;
            says_to(&server, person, (&session, word)).await;
        }
        let sleeping = |time: &str| processes_with(&format!("sleep\0{time}"));
        eventually("all run", async || (sleeping(&hers), sleeping(&his)) == (1, 2)).await;
        let path = format!("/api/admin/people/{}", bob.id);
        ask(&server, &ada, ("PATCH", &path), json!({"is_active": false})).await.ok();
        assert_eq!(sleeping(&format!("{his}\0")), 0, "{level:?}: the job has ended before the admin is answered");
        eventually("his Python ends", async || sleeping(&his) == 0).await;
        assert_eq!(sleeping(&hers), 1, "{level:?}: hers goes on");
        let before = uid_of(&world, "Bob");
        ask(&server, &ada, ("PATCH", &path), json!({"is_active": true})).await.ok();
        let bob = signed_in(&server, "bob").await;
        let (commands, _) = tools(&server, &bob).await;
        assert_eq!((commands["code"].as_str(), uid_of(&world, "Bob")), (Some("own_user"), before), "he keeps his user");
    }
}

#[tokio::test]
async fn captured_change_and_its_undo_keep_the_owner() {
    if !can_capture() {
        return;
    }
    let make = "mkdir -p a/b; echo one > a/b/f; echo two > g; ln -s g link";
    let change = "echo more >> a/b/f; rm g; mkdir new; echo x > new/file; chmod 600 a/b/f; chmod 777 .";
    let settings = format!("{CONFIG}sandbox: standard");
    let world = world(&settings, &[("go-make", make), ("go-change", change)]).await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let session = bound(&server, &ada, "plan").await;
    let folder = home(&world, &ada).join("workspaces/plan");
    says_to(&server, &ada, (&session, "go-make")).await;
    let uid = uid_of(&world, "Ada");
    let first = tree(&folder);
    assert_eq!(owners(&folder), [(uid, uid)]);
    says_to(&server, &ada, (&session, "go-change")).await;
    let second = tree(&folder);
    assert!(second.contains_key(Path::new("new/file")) && owners(&folder) == [(uid, uid)], "{second:?}");
    // The second one does it again.
    for expected in [&first, &second] {
        let path = format!("/api/sessions/{session}/operations/go-change/undo");
        ask(&server, &ada, ("POST", &path), json!({})).await.ok();
        assert_eq!((&tree(&folder), owners(&folder)), (expected, vec![(uid, uid)]));
    }
    assert!(
        fs::read_dir(home(&world, &ada).join("storage/captures"))
            .into_iter()
            .flatten()
            .flatten()
            .all(|entry| { fs::read_dir(entry.path()).unwrap().next().is_none() })
    );
}

#[tokio::test]
async fn rehearsal_of_a_person_applies_what_was_shown() {
    if !can_capture() {
        return;
    }
    let world = world(&format!("{PLAIN}sandbox: standard"), &[("go", "echo $(id -u) > made.txt")]).await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let session = bound(&server, &ada, "plan").await;
    let bearer = format!("Bearer {}", ada.token);
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
    let body = json!({"message": "go", "session_id": session}).to_string();
    let request = server.request("POST", "/api/chat", &headers, body.as_bytes());
    let stream = crate::http::open(server.address, &request).await;
    let mut waiting = Value::Null;
    eventually("she is asked", async || {
        let listed = get(&server, &ada, "/api/approvals").await.ok();
        waiting = listed["approvals"].get(0).cloned().unwrap_or_default();
        !waiting.is_null()
    })
    .await;
    let made = home(&world, &ada).join("workspaces/plan/made.txt");
    assert_eq!((&waiting["shown"]["rehearsal"]["created"], made.exists()), (&json!(1), false), "{waiting}");
    let page = server.send("GET", "/", &[("Cookie", &ada.cookie)], b"").await.text();
    let (_, rest) = page.split_once("name=\"miniclaw-secret\" content=\"").unwrap();
    let secret = rest.split('"').next().unwrap();
    let headers =
        [("Cookie", ada.cookie.as_str()), ("X-Miniclaw-Secret", secret), ("Content-Type", "application/json")];
    let answer = json!({"decision": "approve", "hash": waiting["hash"]}).to_string();
    let path = format!("/api/approvals/{}", waiting["id"].as_str().unwrap());
    let answered = server.send("POST", &path, &headers, answer.as_bytes()).await;
    answered.ok();
    stream.rest().await;
    let uid = uid_of(&world, "Ada");
    assert_eq!(fs::read_to_string(&made).unwrap().trim(), uid.to_string());
    assert_eq!(owners(&home(&world, &ada).join("workspaces/plan")), [(uid, uid)]);
}

#[tokio::test]
async fn users_are_kept_when_the_range_changes_and_never_given_twice() {
    if levels().is_empty() {
        return;
    }
    let level = levels()[0].name();
    let settings = |range: &str| format!("auth_mode: multi\nsandbox: {level}\npeople_uids: {range}\n{CONFIG}");
    let world = world("", &[]).await;
    world.write("config.yml", settings("2100010000-2100010001"));
    let server = world.serve().await;
    let ada = admin(&server).await;
    joined(&server, &ada, "Bob").await;
    let cy = joined(&server, &ada, "Cy").await;
    let (commands, tools_of_cy) = tools(&server, &cy).await;
    assert_eq!((&commands["available"], &commands["code"]), (&json!(false), &json!("no_uid")));
    assert!(!tools_of_cy.contains(&"terminal".to_owned()), "{tools_of_cy:?}");
    drop(server);
    world.write("config.yml", settings("2100020000-2100020009"));
    drop(world.serve().await);
    let named = |name: &str, uid: u64| (name.to_owned(), Some(uid));
    let expected = [named("Ada", 2_100_010_000), named("Bob", 2_100_010_001), named("Cy", 2_100_020_000)];
    assert_eq!(uids(&world), expected);

    // As an account of an earlier version, in the place of one that was deleted.
    let mut book: Value = serde_json::from_str(&world.read("accounts.json")).unwrap();
    book["accounts"][2].as_object_mut().unwrap().shift_remove("uid");
    book["accounts"].as_array_mut().unwrap().remove(1);
    world.write("accounts.json", serde_json::to_vec(&book).unwrap());
    drop(world.serve().await);
    assert_eq!(uids(&world), [named("Ada", 2_100_010_000), named("Cy", 2_100_020_001)]);

    book["accounts"][0]["uid"] = json!(0);
    world.write("accounts.json", serde_json::to_vec(&book).unwrap());
    let output = world.run(&["serve", "--home", world.home().to_str().unwrap(), "--port", "0"]).await;
    assert!(String::from_utf8_lossy(&output.stderr).contains("accounts.json is damaged"), "nobody becomes root");
}

#[tokio::test]
async fn user_of_the_machine_is_not_used_and_the_server_starts() {
    if levels().is_empty() {
        return;
    }
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut uids = known.lines().filter_map(|line| line.split(':').nth(2)?.parse::<u32>().ok());
    let Some(uid) = uids.find(|uid| (1000..60_000).contains(uid)) else {
        let _ = writeln!(std::io::stderr(), "SKIPPED: users of the machine: there is none");
        return;
    };
    let world = world(&format!("{CONFIG}people_uids: {uid}-{}", uid + 100), &[]).await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let (commands, tools) = tools(&server, &ada).await;
    assert_eq!((&commands["code"], &commands["about"]["file"]), (&json!("taken_uids"), &json!("/etc/passwd")));
    assert!(commands["note"].as_str().unwrap().contains("people_uids"), "{commands}");
    assert!(tools.contains(&"read_file".to_owned()) && !tools.contains(&"terminal".to_owned()), "{tools:?}");
    assert_eq!(crate::people_commands::uids(&world), [("Ada".to_owned(), None)]);
}

#[tokio::test]
async fn range_that_is_none_is_refused_at_the_start() {
    let world = world(&format!("{CONFIG}people_uids: 0-100"), &[]).await;
    let output = world.run(&["serve", "--home", world.home().to_str().unwrap(), "--port", "0"]).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("people_uids: must lie between 1000"), "{said}");
}
