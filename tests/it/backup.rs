//! `miniclaw backup` and `miniclaw restore` with the real program: while conversations go on, of one person of several, of a home
//! in a database, and when it is killed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::crash::{AcknowledgedState, Rng, watch, works};
use crate::people::{admin, ask, get, joined, world_with};
use crate::postgres_home::kept;
use crate::script::{always, says, script};
use crate::world::{KEY, World, files};

/// Runs a command that must succeed and returns what it prints.
async fn run(world: &World, arguments: &[&str]) -> String {
    let output = world.run(arguments).await;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Runs a command that must fail and returns why it does.
async fn refused(world: &World, arguments: &[&str]) -> String {
    let output = world.run(arguments).await;
    assert!(!output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder for backups, and what is restored from them.
struct Shelf(tempfile::TempDir);

impl Shelf {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    async fn back_up(&self, world: &World, name: &str) -> String {
        run(world, &["backup", &self.path(name), "--home", world.home().to_str().unwrap()]).await
    }

    /// Restores a backup to a new folder and verifies it.
    async fn restored(&self, world: &World, name: &str) -> PathBuf {
        let home = self.path(&format!("{name}-restored"));
        run(world, &["restore", &self.path(name), "--home", &home]).await;
        let verified = world.run(&["verify", "--home", &home, "--json"]).await;
        let result: Value = serde_json::from_slice(&verified.stdout).unwrap();
        assert_eq!((verified.status.code(), &result["ok"]), (Some(0), &json!(true)), "{result:#}");
        home.into()
    }
}

/// Returns the contents of all files below a folder, without the lock and caches.
fn contents(home: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let of_home = files(home).into_iter().map(|path| (path.strip_prefix(home).unwrap().to_owned(), path));
    let left_out = ["sessions/.lock", "storage/retrieval", "storage/index", "storage/model"];
    let kept = of_home.filter(|(below, _)| left_out.iter().all(|left_out| !below.starts_with(left_out)));
    kept.map(|(below, path)| (below, fs::read(path).unwrap())).collect()
}

#[tokio::test]
async fn stopped_home_is_restored_to_the_byte() {
    let world = World::new(works(2)).await.with_file("knowledge/a.md", "企鹅不会飞。\n");
    let server = world.serve().await;
    server.chat("s", "hi").await;
    server.settled("s").await;
    drop(server);
    world.write(".env", format!("CANARY={KEY}\n"));
    let shelf = Shelf::new();
    let said = shelf.back_up(&world, "b").await;
    assert!(said.contains(".env is not in it") && said.contains("--with-secrets") && !said.contains(KEY), "{said}");
    assert_eq!(fs::metadata(shelf.path("b")).unwrap().mode() & 0o777, 0o600);
    fs::remove_file(world.path(".env")).unwrap();
    let restored = shelf.restored(&world, "b").await;
    assert_eq!(contents(&restored), contents(&world.home()));
    assert!(
        refused(&world, &["restore", &shelf.path("b"), "--home", world.home().to_str().unwrap()])
            .await
            .contains("not empty")
    );
    assert!(
        refused(&world, &["backup", &shelf.path("b"), "--home", world.home().to_str().unwrap()])
            .await
            .contains("exists")
    );
}

#[tokio::test]
async fn backup_of_running_conversations_has_all_acknowledged() {
    const SESSIONS: usize = 3;
    let world = World::new(works(400)).await.with_file("knowledge/a.md", "企鹅不会飞。\n");
    let shelf = Shelf::new();
    let server = world.serve().await;
    let (acknowledged, is_over) = (RefCell::new(Vec::new()), Cell::new(false));
    let talk = async |session: usize| {
        for number in 0.. {
            if is_over.get() {
                break;
            }
            let message = format!("message {number} of {session}.");
            let path = format!("/api/sessions/s{session}/messages");
            server.post(&path, json!({"message": message})).await.ok();
            acknowledged.borrow_mut().push((session, message));
            server.settled(&format!("s{session}")).await;
        }
    };
    let before_last = RefCell::new(Vec::new());
    let backups = async {
        for round in 0..4 {
            let before = acknowledged.borrow().clone();
            let said = shelf.back_up(&world, &round.to_string()).await;
            assert!(said.contains("the running server waited for"), "{said}");
            let home = shelf.restored(&world, &round.to_string()).await;
            for (session, message) in &before {
                let read = |name: String| fs::read_to_string(home.join("sessions").join(name)).unwrap_or_default();
                let text = read(format!("s{session}.json")) + &read(format!("s{session}.journal"));
                assert!(text.contains(message), "{message} is missing in backup {round}");
            }
            *before_last.borrow_mut() = before;
        }
        is_over.set(true);
    };
    tokio::join!(talk(0), talk(1), talk(2), backups);
    drop(server);
    let before_last = before_last.into_inner();
    assert!(before_last.len() >= SESSIONS, "{before_last:?}");
    // A server goes on with what was restored.
    fs::rename(world.home(), shelf.path("original")).unwrap();
    fs::rename(shelf.path("3-restored"), world.home()).unwrap();
    let server = world.serve().await;
    for session in 0..SESSIONS {
        let id = format!("s{session}");
        server.chat(&id, "go on").await;
        server.settled(&id).await;
        let file = world.session(&id);
        let asked = file["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "user");
        let asked: Vec<&str> = asked.map(|message| message["content"].as_str().unwrap()).collect();
        let wanted: Vec<&str> = before_last.iter().filter(|(of, _)| *of == session).map(|(_, text)| &**text).collect();
        assert!(asked.starts_with(&wanted) && asked.last() == Some(&"go on"), "{asked:?} {wanted:?}");
    }
}

#[tokio::test]
async fn killed_backup_leaves_no_half_file() {
    let world = World::new(works(40)).await;
    let mut noise = vec![0_u8; 24 << 20];
    let mut rng = Rng(7);
    noise.iter_mut().for_each(|byte| *byte = u8::try_from(rng.below(256)).unwrap());
    world.write("scratch/noise", &noise);
    let server = world.serve().await;
    let shelf = Shelf::new();
    let home = world.home();
    let arguments =
        |file: &str| ["backup".to_owned(), file.to_owned(), "--home".to_owned(), home.to_str().unwrap().to_owned()];
    let (mut killed, mut acknowledged) = (0, AcknowledgedState::default());
    for round in 0..12 {
        let file = shelf.path(&format!("k{round}"));
        let of_file = arguments(&file);
        let mut command = world.command(&of_file.each_ref().map(String::as_str));
        let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
        let said = server.post("/api/sessions/s/messages", json!({"message": format!("{round}")})).await.ok();
        watch(&server, &said, rng.below(60), &mut acknowledged).await;
        child.kill().unwrap();
        child.wait().unwrap();
        if Path::new(&file).exists() {
            let whole = shelf.restored(&world, &format!("k{round}")).await;
            assert_eq!(fs::read(whole.join("scratch/noise")).unwrap(), noise, "a file of this name is complete");
        } else {
            killed += 1;
        }
        // The pause ended with the command.
        server.settled("s").await;
    }
    assert!(killed >= 1, "no backup was killed in time");
    let half = fs::read_dir(shelf.0.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(half.filter(|name| name.starts_with('.')).all(|name| name.ends_with(".partial")));
}

#[tokio::test]
async fn one_person_is_restored_and_others_stay() {
    let world = world_with(script([always(says(["Fine."]))]), "").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let ben = joined(&server, &ada, "Ben").await;
    for person in [&ada, &ben] {
        let saved = json!({"path": "memory/MEMORY.md", "content": "before\n"});
        ask(&server, person, ("POST", "/api/files"), saved).await.ok();
    }
    let shelf = Shelf::new();
    let home = world.home();
    let home = home.to_str().unwrap();
    shelf.back_up(&world, "all").await;
    run(&world, &["backup", &shelf.path("ben"), "--home", home, "--person", "ben"]).await;
    assert!(
        refused(&world, &["backup", &shelf.path("none"), "--home", home, "--person", "eve"])
            .await
            .contains("no account eve")
    );
    for person in [&ada, &ben] {
        let saved = json!({"path": "memory/MEMORY.md", "content": "after\n"});
        ask(&server, person, ("POST", "/api/files"), saved).await.ok();
    }
    let restore = |file: &str| {
        ["restore".to_owned(), shelf.path(file), "--home".into(), home.into(), "--person".into(), "ben".into()]
    };
    let restore = [restore("ben"), restore("all")];
    assert!(refused(&world, &restore[0].each_ref().map(String::as_str)).await.contains("stop it first"));
    server.terminate().await;
    assert!(refused(&world, &restore[0].each_ref().map(String::as_str)).await.contains("not empty"));
    let of_person = ["restore", &shelf.path("ben"), "--home", &shelf.path("elsewhere")];
    assert!(refused(&world, &of_person).await.contains("--person NAME"));
    for restore in &restore {
        fs::remove_dir_all(world.path(&format!("people/{}", ben.id))).unwrap();
        run(&world, &restore.each_ref().map(String::as_str)).await;
        assert_eq!(world.read(&format!("people/{}/memory/MEMORY.md", ben.id)), "before\n");
        assert_eq!(world.read(&format!("people/{}/memory/MEMORY.md", ada.id)), "after\n", "others stay as they are");
        let folder = fs::metadata(world.path(&format!("people/{}", ben.id))).unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    }
    let server = world.serve().await;
    let file = get(&server, &ben, "/api/files?path=memory/MEMORY.md").await.ok();
    assert_eq!(file["content"], "before\n", "and Ben is still signed in");
    drop(server);
    let whole = shelf.path("whole");
    run(&world, &["restore", &shelf.path("all"), "--home", &whole]).await;
    for person in [&ada, &ben] {
        let memory = Path::new(&whole).join("people").join(&person.id).join("memory/MEMORY.md");
        assert_eq!(fs::read_to_string(memory).unwrap(), "before\n");
    }
    // The homes of people are checked with that of the server.
    assert!(world.run(&["verify", "--home", &whole]).await.status.success());
    let broken = format!("people/{}/sessions/broken.json", ben.id);
    fs::write(Path::new(&whole).join(&broken), "{").unwrap();
    let output = world.run(&["verify", "--home", &whole]).await;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains(&format!(" {broken}: ")), "{said}");
}

#[tokio::test]
async fn home_in_a_database_is_backed_up() {
    let Some((_database, world)) = kept(World::new(works(4)).await).await else { return };
    let server = world.serve().await;
    server.chat("s", "hi").await;
    server.settled("s").await;
    let shelf = Shelf::new();
    shelf.back_up(&world, "b").await;
    let restored = shelf.restored(&world, "b").await;
    assert_eq!(fs::read(restored.join("sessions/s.json")).unwrap(), fs::read(world.path("sessions/s.json")).unwrap());
    assert_eq!(fs::read(restored.join("config.yml")).unwrap(), fs::read(world.path("config.yml")).unwrap());
    let names = fs::read_dir(shelf.0.path()).unwrap().count();
    assert_eq!(names, 2, "what it was made from is removed");
    let (file, another) = (shelf.path("b"), shelf.path("another"));
    let output = world.run(&["restore", &file, "--home", &another]).await;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("its config.yml names the database where the home was"), "{said}");
}
