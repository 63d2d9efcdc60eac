//! Several people whose homes, accounts and sign-ins are in a database.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::people::{self, Person, admin, ask, get, joined, login, register, setup_code, signed_in, status_of};
use crate::postgres::{TestDatabase, postgres};
use crate::postgres_home::{exported, run, text_of, tree, wipe};
use crate::script::{always, says, script};
use crate::world::{Server, World, eventually};

/// Adds the database to the configuration of a world, and makes its tables.
async fn with_database(world: World) -> Option<(TestDatabase, World)> {
    let database = postgres().await?.database().await;
    let world = world.with_env("DATABASE_URL", &database.url(""));
    let config = world.read("config.yml");
    world.write("config.yml", format!("{config}store: {{postgres: '${{DATABASE_URL}}'}}\n"));
    run(&world, &["db", "migrate", "--home", world.home().to_str().unwrap()]).await;
    Some((database, world))
}

/// Returns a world of several people in a database that is still empty.
async fn empty() -> Option<(TestDatabase, World)> {
    let world = people::world("").await;
    wipe(&world);
    with_database(world).await
}

/// Has a person work: a message with its answer, a note and a project.
pub async fn use_home(server: &Server<'_>, person: &Person, word: &str) {
    say(server, person, &format!("{word} asks")).await;
    let note = json!({"path": format!("memory/{word}.md"), "content": format!("{word} notes.\n")});
    ask(server, person, ("POST", "/api/files"), note).await.ok();
    ask(server, person, ("POST", "/api/projects"), json!({"name": format!("{word}'s")})).await.ok();
}

pub async fn say(server: &Server<'_>, person: &Person, text: &str) {
    ask(server, person, ("POST", "/api/sessions/s/messages"), json!({"message": text})).await.ok();
    eventually("the message is answered", async || {
        let history = get(server, person, "/api/sessions/s/history").await.ok();
        let last = history["messages"].as_array().and_then(|messages| messages.last().cloned()).unwrap_or_default();
        history["running"].is_null() && last["role"] == "assistant"
    })
    .await;
}

/// Returns what is kept of a server's folder in a database.
fn kept(folder: &Path) -> BTreeMap<Vec<u8>, (u32, Vec<u8>)> {
    let is_kept = |path: &[u8]| {
        let path = String::from_utf8_lossy(path);
        let own = path.strip_prefix("people/").and_then(|below| Some(below.split_once('/')?.1)).unwrap_or(&path);
        let left_out = [
            "config.yml",
            "config.example.yml",
            "SKILLS_SNAPSHOT.md",
            ".env",
            "storage",
            "sessions/.lock",
            "sessions/found",
            "sessions/requests",
            "people",
        ];
        let is_left_out = left_out.iter().any(|name| own == *name || own.starts_with(&format!("{name}/")));
        let is_in_storage = ["deleted_projects", "mcp-sign-ins", "quarantine", "trash", "trusted"];
        let is_in_storage = is_in_storage.iter().any(|name| own.starts_with(&format!("storage/{name}")));
        let is_home = path.strip_prefix("people/").is_some_and(|id| !id.contains('/'));
        (!is_left_out || is_in_storage) && !is_home && !own.ends_with(".example")
    };
    tree(folder).into_iter().filter(|(path, _)| is_kept(path)).collect()
}

fn differing(one: &BTreeMap<Vec<u8>, (u32, Vec<u8>)>, other: &BTreeMap<Vec<u8>, (u32, Vec<u8>)>) -> Vec<String> {
    let paths = one.keys().chain(other.keys()).filter(|path| one.get(*path) != other.get(*path));
    paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

#[tokio::test]
async fn postgres_export_of_imported_people_is_the_same() {
    let world = people::world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    for (person, word) in [(&ada, "ada"), (&bob, "bob")] {
        use_home(&server, person, word).await;
    }
    assert!(server.terminate().await.0.success());
    let Some((database, world)) = with_database(world).await else { return };
    let home = world.home();
    run(&world, &["import", home.to_str().unwrap(), "--home", home.to_str().unwrap()]).await;
    let before = kept(&home);
    let out = exported(&world, "one").await;
    assert!(text_of(&out, "accounts.json").is_some_and(|text| text.contains("Bob")));
    assert!(text_of(&out, &format!("people/{}/memory/bob.md", bob.id)).is_some_and(|text| text == "bob notes.\n"));
    assert_eq!(differing(&before, &kept(&home.parent().unwrap().join("one"))), Vec::<String>::new());
    assert_eq!(database.number("SELECT count(*) FROM homes WHERE account IS NOT NULL").await, 2);

    // What was exported is a home of several people without a database.
    let plain = home.parent().unwrap().join("one");
    std::fs::write(plain.join("config.yml"), format!("auth_mode: multi\n{}", crate::world::CONFIG)).unwrap();
    for verified in [plain.clone(), plain.join("people").join(&bob.id)] {
        let output = world.run(&["verify", "--home", verified.to_str().unwrap()]).await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    // Imported from there into another database, it is the same again.
    let other = postgres().await.unwrap().database().await;
    let moved = World::new(script([always(says(["Fine."]))])).await.with_env("DATABASE_URL", &other.url(""));
    moved.write("config.yml", world.read("config.yml"));
    let moved = moved.with_env("MINICLAW_JWT_SECRET", people::SECRET);
    wipe(&moved);
    run(&moved, &["db", "migrate", "--home", moved.home().to_str().unwrap()]).await;
    run(&moved, &["import", plain.to_str().unwrap(), "--home", moved.home().to_str().unwrap()]).await;
    exported(&moved, "again").await;
    let again = moved.home().parent().unwrap().join("again");
    assert_eq!(differing(&before, &kept(&again)), Vec::<String>::new());

    let server = moved.serve().await;
    assert_eq!(status_of(&server, &ada.token).await, 200, "the sign-in counts where the homes are");
    for (person, mine, other) in [(&ada, "ada", "bob"), (&bob, "bob", "ada")] {
        let history = get(&server, person, "/api/sessions/s/history").await.text();
        assert!(history.contains(&format!("{mine} asks")) && !history.contains(&format!("{other} asks")), "{history}");
    }
}

#[tokio::test]
async fn postgres_people_survive_kills_and_lost_copies() {
    let Some((_database, world)) = empty().await else { return };
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    let eve = joined(&server, &ada, "Eve").await;
    for (person, word) in [(&ada, "ada"), (&bob, "bob"), (&eve, "eve")] {
        use_home(&server, person, word).await;
    }
    let account = format!("/api/admin/people/{}", eve.id);
    ask(&server, &ada, ("PATCH", &account), json!({"is_active": false})).await.ok();
    let second = signed_in(&server, "bob").await;
    ask(&server, &second, ("POST", "/api/auth/logout"), json!({})).await.ok();
    let token = ask(&server, &bob, ("POST", "/api/auth/tokens"), json!({"name": "backup", "scope": "read"})).await.ok();
    let token = token["data"]["token"].as_str().unwrap().to_owned();
    // Dropping the server kills it.
    drop(server);
    wipe(&world);

    let server = world.serve().await;
    assert_eq!(status_of(&server, &ada.token).await, 200);
    assert_eq!(status_of(&server, &token).await, 200);
    assert_eq!(status_of(&server, &second.token).await, 401, "it has signed out");
    assert_eq!(status_of(&server, &eve.token).await, 403, "the account is disabled");
    assert_eq!(login(&server, "eve", people::PASSWORD).await.status(), 403);
    for (person, word, other) in [(&ada, "ada", "bob"), (&bob, "bob", "ada")] {
        let history = get(&server, person, "/api/sessions/s/history").await.text();
        assert!(history.contains(&format!("{word} asks")) && !history.contains(other), "{history}");
        let note = get(&server, person, &format!("/api/files?path=memory/{word}.md")).await;
        assert!(note.text().contains(&format!("{word} notes.")), "{}", note.text());
        assert_eq!(get(&server, person, &format!("/api/files?path=memory/{other}.md")).await.status(), 404);
        let projects = get(&server, person, "/api/projects").await.text();
        assert!(projects.contains(&format!("{word}'s")) && !projects.contains(&format!("{other}'s")), "{projects}");
    }
    let log = get(&server, &ada, "/api/admin/audit").await.text();
    assert!(log.contains("sign_out") && log.contains("account_changed"), "the audit log is in the database: {log}");
    assert!(!log.contains("asks"), "{log}");
}

#[tokio::test]
async fn postgres_import_of_people_goes_on_after_a_failure() {
    let world = people::world("").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    for (person, word) in [(&ada, "ada"), (&bob, "bob")] {
        use_home(&server, person, word).await;
    }
    assert!(server.terminate().await.0.success());
    let Some((_database, world)) = with_database(world).await else { return };
    let home = world.home();
    let arguments = ["import", home.to_str().unwrap(), "--home", home.to_str().unwrap()];
    let last = std::cmp::max(&ada.id, &bob.id);
    let kept_away = std::fs::File::open(world.path(&format!("people/{last}/sessions/.lock"))).unwrap();
    kept_away.lock().unwrap();
    let refused = world.run(&arguments).await;
    assert!(!refused.status.success(), "the home of a person is in use");
    let status = world.run(&["db", "status", "--home", home.to_str().unwrap()]).await;
    assert!(String::from_utf8_lossy(&status.stderr).contains("database_import_incomplete"));
    let started = world.run(&["serve", "--home", home.to_str().unwrap(), "--port", "0"]).await;
    assert_eq!(started.status.code(), Some(78), "no server starts on a part of the people");
    drop(kept_away);
    world.write(&format!("people/{}/memory/later.md", bob.id), "In between.\n");
    run(&world, &arguments).await;
    let out = exported(&world, "whole").await;
    assert_eq!(text_of(&out, &format!("people/{}/memory/later.md", bob.id)), Some("In between.\n"));
    assert!(text_of(&out, &format!("people/{}/memory/ada.md", ada.id)).is_some());
    let twice = world.run(&arguments).await;
    assert!(String::from_utf8_lossy(&twice.stderr).contains("database_not_empty"));
}

#[tokio::test]
async fn postgres_server_of_people_ends_when_another_takes_over() {
    let Some((database, first)) = empty().await else { return };
    let old = first.serve().await;
    let ada = admin(&old).await;
    use_home(&old, &ada, "ada").await;
    let second = people::world("").await.with_env("DATABASE_URL", &database.url(""));
    wipe(&second);
    second.write("config.yml", first.read("config.yml"));
    let new = second.serve().await;
    say(&new, &ada, "from the second").await;
    first.write(&format!("people/{}/memory/late.md", ada.id), "late\n");
    let state = format!("/proc/{}/stat", old.pid());
    eventually("it ends by itself", async || std::fs::read_to_string(&state).is_ok_and(|state| state.contains(") Z ")))
        .await;
    assert_eq!(old.terminate().await.0.code(), Some(78), "it has lost the homes");
    assert!(new.terminate().await.0.success());
    let out = exported(&second, "after").await;
    let session = text_of(&out, &format!("people/{}/sessions/s.json", ada.id)).unwrap();
    assert!(session.contains("ada asks") && session.contains("from the second"), "{session}");
    assert_eq!(text_of(&out, &format!("people/{}/memory/late.md", ada.id)), None);
}

#[tokio::test]
async fn postgres_many_people_share_few_connections() {
    let Some((database, world)) = empty().await else { return };
    let server = world.serve().await;
    let ada = admin(&server).await;
    let mut all = Vec::new();
    for number in 0..24 {
        all.push(joined(&server, &ada, &format!("person{number}")).await);
    }
    let all = all.iter().map(async |person| say(&server, person, "hello").await);
    futures_util::future::join_all(all).await;
    let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let open = database.number(open).await;
    assert!(open <= 20, "{open} connections for 25 people");
    assert!(database.number("SELECT count(*) FROM homes WHERE account IS NOT NULL AND owner IS NOT NULL").await >= 24);
}

#[tokio::test]
async fn postgres_people_are_refused_what_a_database_cannot_do() {
    let Some((_database, world)) = empty().await else { return };
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    use_home(&server, &bob, "bob").await;
    let made = ask(&server, &ada, ("POST", "/api/projects"), json!({"name": "Ours"})).await.ok();
    let id = made["data"]["id"].as_str().unwrap().to_owned();
    let member =
        ask(&server, &ada, ("PUT", &format!("/api/projects/{id}/members/bob")), json!({"role": "editor"})).await;
    assert_eq!(people::refused(&member), (409, "no_sharing_in_database".to_owned()));
    let accepted = ask(&server, &bob, ("POST", &format!("/api/projects/invitations/{id}")), Value::Null).await;
    assert_eq!(people::refused(&accepted), (409, "no_sharing_in_database".to_owned()));
    let home = world.home();
    let home = home.to_str().unwrap();
    let file = world.home().parent().unwrap().join("bob.tar.zst");
    let file = file.to_str().unwrap();
    run(&world, &["backup", file, "--person", "Bob", "--home", home]).await;
    assert!(server.terminate().await.0.success());
    let said = |output: std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    for refused in [&["restore", file, "--person", "Bob", "--home", home][..], &["people", "release", "--home", home]] {
        let output = world.run(refused).await;
        assert!(!output.status.success() && said(output).contains("miniclaw export"), "{refused:?}");
    }
    run(&world, &["people", "disable", "Bob", "--home", home]).await;
    let server = world.serve().await;
    assert_eq!(login(&server, "bob", people::PASSWORD).await.status(), 403);
    drop(server);
    wipe(&world);
    let server = world.serve().await;
    assert_eq!(login(&server, "bob", people::PASSWORD).await.status(), 403, "what the command line changed is stored");
    assert_eq!(register(&server, "Eve", json!({"setup_code": setup_code(&world).await})).await.status(), 403);
}
