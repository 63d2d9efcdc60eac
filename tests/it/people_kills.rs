//! `kill -9` while people register, upload, delete, restore and set secrets, and while a home becomes an account's: afterwards each
//! of these has happened as a whole or not at all, and what was acknowledged is there. `MINICLAW_KILLS` sets the number of kills.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};

use crate::command_changes::{bash, cannot_capture, count, tree, undo};
use crate::conversations::data;
use crate::crash::Rng;
use crate::http::{Answer, open};
use crate::people::{PASSWORD, admin, ask, login, signed_in, world};
use crate::people_adopt::{people, said};
use crate::project_uploads::{BOUNDARY, file, form, is_empty};
use crate::script::{always, calls, says, script};
use crate::world::{CONFIG, Server, World, eventually, files};

fn kills(few: usize) -> usize {
    std::env::var("MINICLAW_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(few)
}

/// Sends all requests at once, and kills the server after so many responses. Returns the responses, by the request's number.
async fn killed_after(server: Server<'_>, requests: &[Vec<u8>], responses: usize) -> BTreeMap<usize, Answer> {
    let address = server.address;
    let mut under_way: FuturesUnordered<_> = requests
        .iter()
        .enumerate()
        .map(|(at, request)| async move {
            let mut stream = tokio::net::TcpStream::connect(address).await.ok()?;
            tokio::io::AsyncWriteExt::write_all(&mut stream, request).await.ok()?;
            let mut bytes = Vec::new();
            // A response that the kill cuts off is none.
            tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut bytes).await.ok()?;
            Some((at, bytes))
        })
        .collect();
    let mut seen = BTreeMap::new();
    while seen.len() < responses {
        match under_way.next().await {
            Some(Some((at, bytes))) => drop(seen.insert(at, bytes)),
            Some(None) => {}
            None => break,
        }
    }
    // Dropping the server kills it.
    drop(server);
    while let Some(ended) = under_way.next().await {
        seen.extend(ended);
    }
    seen.into_iter().filter_map(|(at, bytes)| Some((at, whole(&bytes)?))).collect()
}

/// Returns a response that has arrived whole.
fn whole(bytes: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, length)| length.parse().ok());
    let is_whole = length.is_some_and(|length: usize| body.len() == length);
    is_whole.then(|| Answer { head: crate::http::Head { status, headers }, body: body.as_bytes().to_vec() })
}

fn post(server: &Server<'_>, path: &str, body: &Value) -> Vec<u8> {
    server.request("POST", path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
}

#[tokio::test]
async fn killed_registration_leaves_a_whole_account_or_none() {
    let world = world("").await;
    let mut random = Rng(20_261_128);
    let mut server = world.serve().await;
    let ada = admin(&server).await;
    let rounds = kills(4);
    let (mut none, mut made) = (0, 0);
    for round in 0..rounds {
        let invited = ask(&server, &ada, ("POST", "/api/admin/invitations"), json!({})).await.ok();
        let (code, invitation) = (invited["data"]["code"].clone(), invited["data"]["id"].clone());
        let names: Vec<String> = (0..3).map(|at| format!("guest{round}x{at}")).collect();
        let body = |name: &String| json!({"username": name, "password": PASSWORD, "invitation": code});
        let mut requests: Vec<_> = names.iter().map(|name| post(&server, "/api/auth/register", &body(name))).collect();
        requests.push(post(&server, "/api/auth/login", &json!({"username": "ada", "password": PASSWORD})));
        let responses = if round == 0 { 0 } else { random.below(4) as usize };
        let answers = killed_after(server, &requests, responses).await;

        server = world.serve().await;
        let book: Value = serde_json::from_str(&world.read("accounts.json")).unwrap();
        let is_there =
            |name: &&String| book["accounts"].as_array().unwrap().iter().any(|one| one["username"] == name.as_str());
        let there: Vec<&String> = names.iter().filter(is_there).collect();
        assert!(there.len() <= 1, "one invitation makes one account: {there:?}");
        let invitations = book["invitations"].as_array().unwrap();
        let used = invitations.iter().find(|one| one["id"] == invitation).unwrap()["used_by"].clone();
        assert_eq!(!used.is_null(), there.len() == 1, "used once, or not at all: {used}");
        for (at, answer) in &answers {
            if *at < names.len() && answer.status() == 200 {
                assert_eq!(there, [&names[*at]], "an account that was acknowledged is there");
            }
        }
        for name in &names {
            let expected = if there.contains(&name) { 200 } else { 401 };
            assert_eq!(login(&server, name, PASSWORD).await.status(), expected, "{name}");
        }
        none += usize::from(there.is_empty());
        made += there.len();
        if there.is_empty() {
            let again = server.post("/api/auth/register", body(&names[0])).await;
            assert_eq!(again.status(), 200, "the invitation still counts: {}", again.text());
        }
        signed_in(&server, "ada").await;
    }
    println!("{none} kills before an account was made, {made} after");
}

const FILES: usize = 60;

#[tokio::test]
async fn killed_commit_leaves_a_whole_project_or_the_upload() {
    let mut random = Rng(20_261_129);
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let (mut before, mut after) = (0, 0);
    for round in 0..kills(6) {
        let world = World::new(script([])).await;
        let server = world.serve().await;
        let begun = server.post("/api/projects/uploads", json!({"name": format!("Tea {round}")})).await;
        let id = data(&begun)["id"].as_str().unwrap().to_owned();
        // Every other one has a folder that all files lie in, which is moved differently.
        let top = if round % 2 == 0 { "tea/" } else { "" };
        let all: Vec<_> =
            (0..FILES).map(|at| file(&format!("{top}{}/{at}", at % 7), format!("{at}").as_bytes())).collect();
        let path = format!("/api/projects/uploads/{id}/files");
        data(&server.send("POST", &path, &[("Content-Type", &kind)], &form(&all)).await);
        let path = format!("/api/projects/uploads/{id}/commit");
        let body = json!({"files": FILES});
        // The list takes about as long as the commit.
        let list = || server.request("GET", "/api/projects/uploads", &[], b"");
        let requests = [post(&server, &path, &body), list(), list(), list()];
        let responses = random.below(5) as usize;
        let answers = killed_after(server, &requests, responses).await;

        let server = world.serve().await;
        let projects = data(&server.get("/api/projects?limit=100").await)["items"].as_array().unwrap().clone();
        let is_there = projects.iter().any(|project| project["id"] == id.as_str());
        let acknowledged = answers.get(&0).is_some_and(|answer| answer.status() == 200);
        assert!(is_there || !acknowledged, "a project that was acknowledged is there");
        if is_there {
            after += 1
        } else {
            before += 1
        }
        // The client asks again, whatever it was told.
        let made = data(&server.post(&path, body).await);
        assert_eq!(made["id"], id.as_str());
        let folder = world.path(&format!("workspaces/{}", made["path"].as_str().unwrap()));
        assert_eq!(files(&folder).len(), FILES, "whole");
        assert!(folder.join("0/0").is_file(), "without the folder that all lie in");
        assert!(is_empty(&world, "storage/resumable"), "and nothing is left");
        assert_eq!(fs::read_dir(world.path("workspaces")).unwrap().count(), 1, "no folder belongs to no project");
    }
    println!("{before} kills before the project was there, {after} after");
}

#[tokio::test]
async fn killed_changes_of_projects_are_whole() {
    let mut random = Rng(20_261_130);
    for round in 0..kills(5) {
        let world = World::new(script([])).await;
        let server = world.serve().await;
        let made = async |name: String| {
            let id =
                data(&server.post("/api/projects", json!({"name": name})).await)["id"].as_str().unwrap().to_owned();
            let file = format!("/api/projects/{id}/files/a.txt");
            data(&server.put(&file, json!({"content": id})).await);
            id
        };
        let deleted = made(format!("deleted {round}")).await;
        let restored = made(format!("restored {round}")).await;
        data(&server.delete(&format!("/api/projects/{restored}")).await);
        let secret = format!("/api/projects/{deleted}/secrets/TOKEN");
        let value = json!({"value": "a secret of this round"}).to_string();
        let requests = [
            post(&server, "/api/projects", &json!({"name": format!("made {round}")})),
            server.request("PUT", &secret, &[("Content-Type", "application/json")], value.as_bytes()),
            server.request("DELETE", &format!("/api/projects/{deleted}"), &[], b""),
            post(&server, &format!("/api/projects/{restored}/restore"), &json!({})),
        ];
        let answers = killed_after(server, &requests, random.below(5) as usize).await;
        let succeeded = |at: usize| answers.get(&at).is_some_and(|answer| answer.status() == 200);

        let server = world.serve().await;
        let list = async |query: &str| {
            data(&server.get(&format!("/api/projects?limit=100{query}")).await)["items"].as_array().unwrap().clone()
        };
        let (here, gone) = (list("").await, list("&deleted=true").await);
        let has = |list: &[Value], id: &str| list.iter().any(|project| project["id"] == id);
        for id in [&deleted, &restored] {
            assert!(has(&here, id) != has(&gone, id), "{id} is in one of the two lists");
        }
        assert!(!succeeded(2) || has(&gone, &deleted), "a deletion that was acknowledged");
        assert!(!succeeded(3) || has(&here, &restored), "a restoration that was acknowledged");
        let is_made = here.iter().any(|project| project["name"] == format!("made {round}"));
        assert!(is_made || !succeeded(0), "a project that was acknowledged");
        for id in [&deleted, &restored] {
            if has(&gone, id) {
                data(&server.post(&format!("/api/projects/{id}/restore"), json!({})).await);
            }
            let read = data(&server.get(&format!("/api/projects/{id}/files/a.txt")).await);
            assert_eq!(read["content"], id.as_str(), "its files are what they were");
        }
        let secrets = data(&server.get(&format!("/api/projects/{deleted}/secrets")).await)["items"].clone();
        let is_set = secrets.as_array().unwrap().iter().any(|secret| secret["name"] == "TOKEN");
        assert!(is_set || !succeeded(1), "a secret that was acknowledged: {secrets}");
        // One project more is made after each kill.
        let again = server.post("/api/projects", json!({"name": format!("made {round}")})).await;
        assert_eq!(again.status(), if is_made { 409 } else { 200 }, "{}", again.text());
    }
}

/// Returns the contents of all files of a home, without its lock.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let kept = files(folder).into_iter().filter(|path| !path.ends_with("sessions/.lock"));
    kept.map(|path| (path.strip_prefix(folder).unwrap().to_owned(), fs::read(path).unwrap())).collect()
}

/// Runs `miniclaw people` and kills it when so many entries have left the top of the home, or have come back.
async fn killed_move(world: &World, arguments: &[&str], moved: usize) {
    let home = world.home();
    let all = [&["people"][..], arguments, &["--home", home.to_str().unwrap()]].concat();
    let mut command = world.command(&all);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let run = move || {
        let entries = || fs::read_dir(&home).unwrap().filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        let before: std::collections::BTreeSet<_> = entries();
        let mut child = command.spawn().unwrap();
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), format!("{PASSWORD}\n").as_bytes());
        // Without a pause: a move takes less than a millisecond.
        loop {
            let now = entries();
            if now.symmetric_difference(&before).count() >= moved || child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::yield_now();
        }
        let _ = child.kill();
        child.wait().unwrap();
    };
    tokio::task::spawn_blocking(run).await.unwrap();
}

/// Runs it to its end, and again if it only completed what a killed one had begun, or if that one has not quite ended and still
/// holds the lock of the home.
async fn whole_move(world: &World, arguments: &[&str], has_accounts: bool) {
    eventually("the home is moved", async || {
        world.note(&said(&people(world, arguments, PASSWORD).await));
        !world.path("people-move.json").exists() && world.path("accounts.json").exists() == has_accounts
    })
    .await;
}

#[tokio::test]
async fn killed_adoption_and_release_are_completed() {
    let mut random = Rng(20_261_131);
    let world = World::new(script([always(says(["Fine."]))])).await;
    let server = world.serve().await;
    server.chat("s1", "Remember me").await;
    server.post("/api/projects", json!({"name": "Things"})).await.ok();
    server.terminate().await;
    let home = world.home();
    let before = content(&home);
    for round in 0..kills(3) {
        let moved = 1 + random.below(12) as usize;
        killed_move(&world, &["adopt", "--username", "Ada"], moved).await;
        if !world.path("people-move.json").exists() && !world.path("accounts.json").exists() {
            let now = content(&home);
            assert!(before.iter().all(|(path, bytes)| now.get(path) == Some(bytes)), "{round}: nothing was begun");
        }
        // The next command completes what was begun, or does it if nothing was.
        whole_move(&world, &["adopt", "--username", "Ada"], true).await;
        let server = world.serve().await;
        let ada = signed_in(&server, "ada").await;
        let listed = crate::people::get(&server, &ada, "/api/sessions").await.text();
        assert!(listed.contains("s1"), "round {round}: {listed}");
        server.terminate().await;
        let persons = content(&world.path("people").join(&ada.id));

        killed_move(&world, &["release"], 1 + random.below(12) as usize).await;
        whole_move(&world, &["release"], false).await;
        let after = content(&home);
        for (path, bytes) in &before {
            let expected = persons.get(path).unwrap_or(bytes);
            assert_eq!(after.get(path), Some(expected), "round {round}: {}", path.display());
        }
        let verified = world.run(&["verify", "--home", home.to_str().unwrap()]).await;
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
        // The next round begins with the same home.
        for entry in fs::read_dir(&home).unwrap().map(Result::unwrap) {
            if entry.file_name().to_string_lossy().starts_with("people-") {
                fs::remove_dir_all(entry.path()).unwrap();
            }
        }
        let known = |path: &PathBuf| before.contains_key(path);
        for path in content(&home).into_keys().filter(|path| !known(path)) {
            fs::remove_file(home.join(path)).unwrap();
        }
        for (path, bytes) in &before {
            fs::write(home.join(path), bytes).unwrap();
        }
    }
}

#[tokio::test]
async fn killed_promotion_into_a_linked_folder_is_completed() {
    const MANY: usize = 400;
    if cannot_capture().await {
        return;
    }
    let mut random = Rng(20_261_132);
    let command = format!("mkdir out; for i in $(seq {MANY}); do echo $i > out/$i; done; rm old.txt; echo ONE > a.txt");
    for _ in 0..kills(2) {
        let killed_at = 1 + random.below(MANY as u64 - 1) as usize;
        let world = World::new(script([calls([bash("c", &command)]), says(["Done."])])).await;
        world.write("config.yml", CONFIG);
        let server = world.serve().await;
        let (_root, folder) = crate::project_links::persons_folder();
        fs::write(folder.join("old.txt"), "old").unwrap();
        let first = tree(&folder);
        let project = crate::project_links::link(&server, &folder).await["id"].clone();
        let made = server.post("/api/sessions", json!({"title": "Work", "project_id": project})).await.ok();
        let session = made["id"].as_str().unwrap().to_owned();
        let body = json!({"message": "go", "session_id": session}).to_string();
        let request = server.request("POST", "/api/chat", &[("Content-Type", "application/json")], body.as_bytes());
        let stream = open(server.address, &request).await;
        let out = folder.join("out");
        eventually("the changes are being applied", async || count(&out) >= killed_at).await;
        drop(server);
        drop(stream);
        let server = world.serve().await;
        server.settled(&session).await;
        assert_eq!(count(&out), MANY, "killed after {killed_at}: completed by the start");
        assert_eq!(fs::read_to_string(folder.join("a.txt")).unwrap(), "ONE\n");
        assert!(!folder.join("old.txt").exists());
        undo(&server, &session, "c").await;
        assert_eq!(tree(&folder), first, "killed after {killed_at}");
    }
}
