//! `miniclaw people`: accounts from the command line, and a home that becomes that of the first account, and back.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::json;

use crate::conversations::data;
use crate::people::{PASSWORD, ask, get, signed_in};
use crate::script::{always, says, script};
use crate::world::{CONFIG, World, files};

/// Runs the command with a line on standard input.
pub async fn people(world: &World, arguments: &[&str], input: &str) -> Output {
    let home = world.home();
    let all = [&["people"][..], arguments, &["--home", home.to_str().unwrap()]].concat();
    let mut command = world.command(&all);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let input = format!("{input}\n");
    let run = move || {
        let mut child = command.spawn().unwrap();
        // It may end without reading.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Returns the contents of all files below a folder, without locks.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let kept = files(folder).into_iter().filter(|path| !path.ends_with("sessions/.lock"));
    kept.map(|path| (path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(path).unwrap())).collect()
}

async fn verified(world: &World, home: &Path) {
    let output = world.run(&["verify", "--home", home.to_str().unwrap()]).await;
    assert!(output.status.success(), "{}", said(&output));
}

/// config.yml already asks for a key that the move has not written yet, so it must not be read before the move is complete.
#[tokio::test]
async fn half_made_move_is_completed_before_config_is_read() {
    let world = World::new(script([])).await;
    world.write("config.yml", format!("auth_mode: multi\n{CONFIG}"));
    let key = format!("MINICLAW_JWT_SECRET={}\n", "0123456789abcdef".repeat(4));
    let steps = json!([{"step": "write", "name": ".env", "text": key}]);
    world.write("people-move.json", json!({"version": 1, "steps": steps}).to_string());
    let asked = people(&world, &["release"], "").await;
    assert!(said(&asked).contains("is complete now, and nothing else was done"), "{}", said(&asked));
    assert_eq!(world.read(".env"), key);
    assert!(!world.path("people-move.json").exists());
    let listed = people(&world, &["list"], "").await;
    assert!(listed.status.success(), "{}", said(&listed));
}

#[tokio::test]
async fn home_becomes_the_first_accounts_and_back_to_the_byte() {
    let world = World::new(script([always(says(["Fine."]))])).await;
    world.write("config.yml", format!("# mine\n{CONFIG}"));
    let server = world.serve().await;
    server.chat("s1", "Remember me").await;
    server.post("/api/projects", json!({"name": "Things"})).await.ok();
    let running = people(&world, &["adopt", "--username", "Ada"], PASSWORD).await;
    assert!(!running.status.success() && said(&running).contains("the server is running"), "{}", said(&running));
    server.terminate().await;
    let before = content(&world.home());
    verified(&world, &world.home()).await;

    for (arguments, password, why) in [
        (vec!["adopt", "--username", "Ada"], "short", "at least 8"),
        (vec!["adopt", "--username", ""], PASSWORD, "user name"),
        (vec!["adopt", "--username", "Ada", "--email", "x"], PASSWORD, "email"),
        (vec!["release"], "", "exactly one account"),
    ] {
        let refused = people(&world, &arguments, password).await;
        assert!(!refused.status.success() && said(&refused).contains(why), "{arguments:?}: {}", said(&refused));
        assert!(!said(&refused).contains(PASSWORD));
    }
    assert_eq!(content(&world.home()), before, "nothing was changed");

    let adopted = people(&world, &["adopt", "--username", "Ada", "--email", "ada@example.org"], PASSWORD).await;
    assert!(adopted.status.success(), "{}", said(&adopted));
    assert_eq!(world.read("config.yml").lines().next(), Some("# mine"), "comments stay");
    let again = people(&world, &["adopt", "--username", "Bob"], PASSWORD).await;
    assert!(!again.status.success() && said(&again).contains("several people"), "{}", said(&again));
    let of_server = ["config.yml", ".env", "accounts.json", "people-adopted.json"];
    let id = std::fs::read_dir(world.path("people")).unwrap().next().unwrap().unwrap().file_name();
    let persons = world.path("people").join(id);
    let mine = content(&persons);
    for (path, bytes) in &before {
        let is_servers = of_server.iter().any(|name| path == Path::new(name));
        assert!(is_servers || mine.get(path) == Some(bytes), "{}", path.display());
    }
    for entry in std::fs::read_dir(world.home()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "people" || of_server.contains(&name.as_str()), "{name} belongs to nobody");
    }
    verified(&world, &persons).await;

    let server = world.serve().await;
    let ada = signed_in(&server, "ada").await;
    assert_eq!(get(&server, &ada, "/api/auth/profile").await.ok()["data"]["role"], "admin");
    assert!(get(&server, &ada, "/api/sessions").await.text().contains("s1"));
    let projects = data(&get(&server, &ada, "/api/projects").await);
    let member = format!("/api/projects/{}/members/bob", projects["items"][0]["id"].as_str().unwrap());
    data(&ask(&server, &ada, ("PUT", &member), json!({"role": "editor"})).await);
    assert!(world.path("project-members.json").exists());
    server.terminate().await;
    let persons_now = content(&persons);

    let released = people(&world, &["release"], "").await;
    assert!(released.status.success(), "{}", said(&released));
    let after = content(&world.home());
    let aside = |path: &Path| path.components().next().unwrap().as_os_str().to_str().unwrap().starts_with("people-2");
    let of_home: BTreeMap<_, _> = after.into_iter().filter(|(path, _)| !aside(path)).collect();
    for (path, bytes) in &before {
        let expected = persons_now.get(path).unwrap_or(bytes);
        assert_eq!(of_home.get(path), Some(expected), "{}", path.display());
    }
    // Every start writes the examples of the configuration where they are missing.
    let is_known = |path: &Path| {
        let is_example = [".env.example", "config.example.yml"].iter().any(|name| path == Path::new(name));
        is_example || before.contains_key(path) || persons_now.contains_key(path)
    };
    let new: Vec<_> = of_home.keys().filter(|path| !is_known(path)).collect();
    assert!(new.is_empty(), "{new:?}");
    let set_aside = said(&released).split("people-2").nth(1).unwrap().split('/').next().unwrap().to_owned();
    assert!(world.path(&format!("people-2{set_aside}/project-members.json")).exists(), "{}", said(&released));
    verified(&world, &world.home()).await;
    let server = world.serve().await;
    assert!(server.get("/api/sessions").await.text().contains("s1"), "it works without an account");
}

#[tokio::test]
async fn admin_who_is_locked_out_gets_in_again() {
    let world = World::new(script([])).await;
    world.serve().await.terminate().await;
    people(&world, &["adopt", "--username", "Ada"], PASSWORD).await;
    let listed = people(&world, &["list"], "").await;
    assert!(said(&listed).contains("Ada") && said(&listed).contains("admin active"), "{}", said(&listed));
    let last = people(&world, &["disable", "ada"], "").await;
    assert!(said(&last).contains("last active admin"), "{}", said(&last));
    let nobody = people(&world, &["reset-password", "eve"], "").await;
    assert!(!nobody.status.success() && said(&nobody).contains("no account"), "{}", said(&nobody));
    let reset = people(&world, &["reset-password", "ADA"], "").await;
    let password = String::from_utf8_lossy(&reset.stdout).trim().to_owned();

    let server = world.serve().await;
    let login =
        async |password: &str| server.post("/api/auth/login", json!({"username": "ada", "password": password})).await;
    assert_eq!(login(PASSWORD).await.status(), 401);
    let signed = login(&password).await.ok();
    let ada = crate::people::Person {
        id: signed["data"]["user"]["id"].as_str().unwrap().to_owned(),
        token: signed["data"]["token"].as_str().unwrap().to_owned(),
        cookie: String::new(),
    };
    let bob = crate::people::joined(&server, &ada, "Bob").await;
    let running = people(&world, &["disable", "bob"], "").await;
    assert!(said(&running).contains("the server is running"), "{}", said(&running));
    assert!(people(&world, &["list"], "").await.status.success(), "also while it runs");
    server.terminate().await;
    let two = people(&world, &["release"], "").await;
    assert!(said(&two).contains("exactly one account, and there are 2"), "{}", said(&two));
    assert!(people(&world, &["disable", "bob"], "").await.status.success());
    let server = world.serve().await;
    assert_eq!(ask(&server, &bob, ("GET", "/api/sessions"), json!({})).await.status(), 401);
    assert_eq!(server.post("/api/auth/login", json!({"username": "bob", "password": PASSWORD})).await.status(), 403);
    server.terminate().await;
    assert!(people(&world, &["enable", "bob"], "").await.status.success());
    let server = world.serve().await;
    signed_in(&server, "bob").await;
}
