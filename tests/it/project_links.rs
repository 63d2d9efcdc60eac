//! Folders of this machine that are linked as projects: which are refused, what happens if one is gone, and that its files keep
//! their owner.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::command_changes::{bash, cannot_capture};
use crate::conversations::{data, refused};
use crate::people;
use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, Server, World};

const LINK: &str = "/api/projects/link";

/// A folder of a person, outside of every home. Others may reach it, as commands of a server that is root must.
pub fn persons_folder() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let folder = root.path().canonicalize().unwrap().join("tea");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.txt"), "one\n").unwrap();
    (root, folder)
}

async fn look(server: &Server<'_>, path: &Path) -> Value {
    data(&server.as_page("POST", LINK, json!({"path": path})).await)["folder"].clone()
}

pub async fn link(server: &Server<'_>, path: &Path) -> Value {
    let confirm = look(server, path).await["confirm"].clone();
    let linked = server.as_page("POST", LINK, json!({"path": path, "confirm": confirm})).await;
    data(&linked)["project"].clone()
}

fn id(project: &Value) -> String {
    project["id"].as_str().unwrap().to_owned()
}

/// Lets the model make one call in a conversation that is bound to a project; returns the recorded call.
async fn called(world: &World, server: &Server<'_>, project: &str) -> Value {
    let made = server.post("/api/sessions", json!({"title": "Work", "project_id": project})).await.ok();
    let session = made["id"].as_str().unwrap().to_owned();
    server.chat(&session, "go").await;
    server.settled(&session).await;
    let recorded = world.session(&session);
    let mut messages = recorded["messages"].as_array().unwrap().iter();
    messages.find_map(|message| message["tool_calls"].as_array()?.first().cloned()).unwrap()
}

#[tokio::test]
async fn folder_is_shown_then_linked_then_only_unlinked() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let (root, folder) = persons_folder();
    let by_link = root.path().join("way");
    symlink(&folder, &by_link).unwrap();
    let seen = look(&server, &by_link).await;
    assert_eq!((&seen["path"], &seen["resolved"], &seen["entries"]), (&json!(folder), &json!(true), &json!(1)));
    assert_eq!(data(&server.get("/api/projects").await)["items"], json!([]), "looking links nothing");

    let project = link(&server, &folder).await;
    assert_eq!((&project["name"], &project["path"], &project["linked"]), (&json!("tea"), &json!(folder), &json!(true)));
    let files = format!("/api/projects/{}/files", id(&project));
    assert_eq!(data(&server.get(&format!("{files}/a.txt")).await)["content"], "one\n");
    data(&server.put(&format!("{files}/b.txt"), json!({"content": "two"})).await);
    assert_eq!(fs::read_to_string(folder.join("b.txt")).unwrap(), "two");
    let again = server.as_page("POST", LINK, json!({"path": by_link})).await;
    assert_eq!(refused(&again), (409, "link_exists".to_owned()));
    let inner = folder.join("inner");
    fs::create_dir(&inner).unwrap();
    assert_eq!(refused(&server.as_page("POST", LINK, json!({"path": inner})).await).1, "link_exists");

    data(&server.delete(&format!("/api/projects/{}", id(&project))).await);
    assert_eq!(fs::read_to_string(folder.join("a.txt")).unwrap(), "one\n");
    assert_eq!(refused(&server.get(&files).await).0, 404);
    data(&server.post(&format!("/api/projects/{}/restore", id(&project)), json!({})).await);
    assert_eq!(data(&server.get(&format!("{files}/a.txt")).await)["content"], "one\n");
    drop(server);
    let server = world.serve().await;
    assert_eq!(data(&server.get(&format!("{files}/b.txt")).await)["content"], "two", "it outlives a restart");
}

#[tokio::test]
async fn only_the_page_links_a_folder() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let (_root, folder) = persons_folder();
    let program = server.post(LINK, json!({"path": folder})).await;
    assert_eq!(refused(&program), (403, "no_secret".to_owned()));
    let confirm = look(&server, &folder).await["confirm"].clone();
    let program = server.post(LINK, json!({"path": folder, "confirm": confirm})).await;
    assert_eq!(refused(&program), (403, "no_secret".to_owned()));
    // Another folder has the path now.
    fs::rename(&folder, folder.with_extension("old")).unwrap();
    fs::create_dir(&folder).unwrap();
    let changed = server.as_page("POST", LINK, json!({"path": folder, "confirm": confirm})).await;
    assert_eq!(refused(&changed), (409, "link_changed".to_owned()));
    assert_eq!(data(&server.get("/api/projects").await)["items"], json!([]));
}

#[tokio::test]
async fn dangerous_folders_cannot_be_linked() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let (root, folder) = persons_folder();
    fs::create_dir_all(folder.join(".ssh/keys")).unwrap();
    let to_home = root.path().join("to-home");
    symlink(world.home(), &to_home).unwrap();
    let home = world.home();
    let cases = [
        ("tea".into(), 400, "link_bad_path"),
        (String::new(), 400, "link_bad_path"),
        ("/tmp/a\nb".into(), 400, "link_bad_path"),
        ("/".into(), 403, "link_too_much"),
        ("/tmp/../..".into(), 403, "link_too_much"),
        ("/tmp".into(), 403, "link_too_much"),
        ("/proc".into(), 403, "link_system"),
        ("/etc".into(), 403, "link_system"),
        ("/usr/share".into(), 403, "link_system"),
        ("/proc/self/cwd/../none-such".into(), 404, "link_missing"),
        ("/none/such".into(), 404, "link_missing"),
        (folder.join("a.txt").display().to_string(), 400, "link_not_folder"),
        (folder.join(".ssh/keys").display().to_string(), 403, "link_secrets"),
        (home.display().to_string(), 403, "link_own_home"),
        // The servers of tests have it as the home directory of their user.
        (home.parent().unwrap().display().to_string(), 403, "link_home_directory"),
        (home.join("workspaces").display().to_string(), 404, "link_missing"),
        (home.join("memory").display().to_string(), 403, "link_own_home"),
        (to_home.join("sessions").display().to_string(), 403, "link_own_home"),
    ];
    for (path, status, reason) in cases {
        let answer = server.as_page("POST", LINK, json!({"path": path})).await;
        assert_eq!(refused(&answer), (status, reason.to_owned()), "{path:?}");
    }
    if let Some(own) = std::env::home_dir().filter(|own| own.is_dir() && own.parent().is_some()) {
        let answer = server.as_page("POST", LINK, json!({"path": own})).await;
        assert_eq!(refused(&answer).1, "link_home_directory");
    }
}

#[tokio::test]
async fn folder_that_is_gone_comes_back() {
    let read = || call("1", "read_file", json!({"items": [{"path": "a.txt"}]}));
    let steps = [
        calls([read()]),
        says(["Gone."]),
        calls([bash("2", "cat a.txt")]),
        says(["Gone."]),
        calls([read()]),
        says(["Back."]),
    ];
    let world = World::new(script(steps)).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let (_root, folder) = persons_folder();
    let project = link(&server, &folder).await;
    let files = format!("/api/projects/{}/files", id(&project));
    let listed = async || data(&server.get("/api/projects").await)["items"][0].clone();
    assert_eq!(listed().await["available"], true);

    let away = folder.with_extension("away");
    fs::rename(&folder, &away).unwrap();
    let now = listed().await;
    assert_eq!((&now["available"], &now["problem"]), (&json!(false), &json!("folder_missing")));
    assert_eq!(refused(&server.get(&files).await), (409, "folder_missing".to_owned()));
    let write = server.put(&format!("{files}/x"), json!({"content": "x"})).await;
    assert_eq!(refused(&write), (409, "folder_missing".to_owned()));
    let told = called(&world, &server, &id(&project)).await.to_string();
    assert!(told.contains("is not there now"), "{told}");

    // A link, or another folder, in its place is not followed.
    symlink(&away, &folder).unwrap();
    assert_eq!(listed().await["problem"], "folder_replaced");
    assert_eq!(refused(&server.get(&files).await).1, "folder_replaced");
    let told = called(&world, &server, &id(&project)).await.to_string();
    assert!(told.contains("another folder now"), "{told}");
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    assert_eq!(listed().await["problem"], "folder_replaced");
    fs::remove_dir(&folder).unwrap();

    fs::rename(&away, &folder).unwrap();
    assert_eq!(listed().await["available"], true);
    assert_eq!(data(&server.get(&format!("{files}/a.txt")).await)["content"], "one\n");
    let told = called(&world, &server, &id(&project)).await.to_string();
    assert!(told.contains("one"), "{told}");

    // It was moved for good: the same project gets the new place.
    fs::rename(&folder, &away).unwrap();
    let again = json!({"path": away, "project_id": id(&project)});
    let confirm = data(&server.as_page("POST", LINK, again).await)["folder"]["confirm"].clone();
    let again = json!({"path": away, "project_id": id(&project), "confirm": confirm});
    assert_eq!(data(&server.as_page("POST", LINK, again).await)["project"]["id"], project["id"]);
    assert_eq!(data(&server.get(&format!("{files}/a.txt")).await)["content"], "one\n");
}

#[tokio::test]
async fn folder_that_disappears_during_a_run_gets_nothing() {
    let command = "echo begun; until [ -e \"$TMPDIR/go\" ]; do sleep 0.05; done; echo x > new.txt; echo two >> a.txt";
    let steps = [calls([bash("1", command)]), says(["Hm."]), calls([bash("2", "cat a.txt")]), says(["Done."])];
    let world = World::new(script(steps)).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let (root, folder) = persons_folder();
    let project = link(&server, &folder).await;
    let made = server.post("/api/sessions", json!({"title": "Work", "project_id": id(&project)})).await.ok();
    let session = made["id"].as_str().unwrap().to_owned();
    let mut stream = server.open_chat(&session, "go").await;
    loop {
        let frame = stream.next().await.expect("the command says that it has begun");
        if frame.is("tool_output") && frame.data.to_string().contains("begun") {
            break;
        }
    }
    // Another folder takes its place: it must stay as it is.
    let away = folder.with_extension("away");
    fs::rename(&folder, &away).unwrap();
    fs::create_dir(&folder).unwrap();
    world.signal_command(away.to_str().unwrap(), "go").await;
    stream.rest().await;
    server.settled(&session).await;
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is written to a folder that nobody has linked");
    let entries: Vec<_> = fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(entries.len(), 2, "{entries:?}");
    if !cannot_capture().await {
        assert!(!away.join("new.txt").exists(), "and nothing to the one that was linked, unseen");
        let told = world.asked()[1]["messages"].to_string();
        assert!(told.contains("another folder now"), "{told}");
    }
    fs::remove_dir(&folder).unwrap();
    fs::rename(&away, &folder).unwrap();
    server.chat(&session, "again").await;
    server.settled(&session).await;
    assert!(world.asked()[3]["messages"].to_string().contains("one"), "it works again");
}

#[tokio::test]
async fn commands_in_a_linked_folder_keep_its_owners() {
    if cannot_capture().await {
        return;
    }
    let command = "echo two >> a.txt && mkdir new && echo x > new/b && rm old && chmod 755 run";
    let world = World::new(script([calls([bash("1", command)]), says(["Done."])])).await;
    world.write("config.yml", CONFIG);
    let (_root, folder) = persons_folder();
    fs::write(folder.join("old"), "old").unwrap();
    fs::write(folder.join("run"), "run").unwrap();
    fs::set_permissions(folder.join("a.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    // Only root can do this; another user owns everything anyway.
    let owner =
        if chown(&folder, Some(1234), Some(1234)).is_ok() { 1234 } else { fs::metadata(&folder).unwrap().uid() };
    for name in ["a.txt", "old", "run"] {
        let _ = chown(folder.join(name), Some(owner), Some(owner));
    }
    let server = world.serve().await;
    let project = link(&server, &folder).await;
    let done = called(&world, &server, &id(&project)).await;
    assert_eq!(fs::read_to_string(folder.join("a.txt")).unwrap(), "one\ntwo\n", "{done}");
    assert!(!folder.join("old").exists());
    for name in ["", "a.txt", "new", "new/b", "run"] {
        assert_eq!(fs::metadata(folder.join(name)).unwrap().uid(), owner, "{name}");
    }
    assert_eq!(fs::metadata(folder.join("a.txt")).unwrap().mode() & 0o777, 0o640);
    assert_eq!(fs::metadata(folder.join("run")).unwrap().mode() & 0o777, 0o755);
    let files = format!("/api/projects/{}/files", id(&project));
    data(&server.put(&format!("{files}/a.txt"), json!({"content": "mine"})).await);
    let saved = fs::metadata(folder.join("a.txt")).unwrap();
    assert_eq!((saved.uid(), saved.mode() & 0o777), (owner, 0o640), "a save keeps them too");
}

/// A mounted tmpfs, unmounted when dropped.
struct Mounted(PathBuf);

impl Mounted {
    /// Returns nothing, and says so, where this user cannot mount.
    fn at(path: &Path) -> Option<Self> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(path).output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self(path.to_owned()));
        }
        let _ = writeln!(std::io::stderr(), "SKIPPED: folders on other file systems: nothing can be mounted here");
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[tokio::test]
async fn folder_on_another_file_system_works_like_any_other() {
    if cannot_capture().await {
        return;
    }
    let command =
        "sed -i s/one/ONE/ a.txt && rm gone && mkdir -p deep/er && ln -s ../a.txt deep/link && echo n > deep/er/new";
    let world = World::new(script([calls([bash("1", command)]), says(["Done."])])).await;
    world.write("config.yml", CONFIG);
    let (_root, folder) = persons_folder();
    let Some(_mounted) = Mounted::at(&folder) else { return };
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("a.txt"), "one\n").unwrap();
    fs::write(folder.join("gone"), "was here").unwrap();
    let server = world.serve().await;
    let project = link(&server, &folder).await;
    let done = called(&world, &server, &id(&project)).await;
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    assert_eq!((read("a.txt"), read("deep/er/new")), ("ONE\n".to_owned(), "n\n".to_owned()), "{done}");
    assert_eq!(fs::read_link(folder.join("deep/link")).unwrap(), Path::new("../a.txt"));
    assert!(!folder.join("gone").exists());
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("miniclaw-tmp")), "{left:?}");

    let session = server.get("/api/sessions").await.ok()["sessions"][0]["id"].as_str().unwrap().to_owned();
    let undone = server.as_page("POST", &format!("/api/sessions/{session}/operations/1/undo"), json!({})).await;
    undone.ok();
    assert_eq!((read("a.txt"), read("gone")), ("one\n".to_owned(), "was here".to_owned()));
    assert!(!folder.join("deep").exists());

    // The trash is on the file system of the home.
    let files = format!("/api/projects/{}/files", id(&project));
    fs::create_dir(folder.join("whole")).unwrap();
    fs::write(folder.join("whole/part"), "part").unwrap();
    for name in ["a.txt", "whole"] {
        let trash = data(&server.delete(&format!("{files}/{name}")).await)["trash"].clone();
        assert!(!folder.join(name).exists(), "{name}");
        server.post("/api/files/restore", json!({"trash": trash})).await.ok();
        assert!(folder.join(name).exists(), "{name}");
    }
    assert_eq!(read("whole/part"), "part");
}

#[tokio::test]
async fn server_for_several_people_uses_no_links() {
    let (_root, folder) = persons_folder();
    let list = {
        let world = World::new(script([])).await;
        let server = world.serve().await;
        link(&server, &folder).await;
        world.read("projects.json")
    };
    let world = people::world("").await;
    let ada = {
        let server = world.serve().await;
        people::admin(&server).await
    };
    // Her home was that of a server for one person before.
    world.write(&format!("people/{}/projects.json", ada.id), &list);
    let server = world.serve().await;
    let listed = people::get(&server, &ada, "/api/projects").await.ok()["data"]["items"][0].clone();
    assert_eq!((&listed["available"], &listed["problem"]), (&json!(false), &json!("folder_not_here")));
    let files = people::get(&server, &ada, &format!("/api/projects/{}/files", id(&listed))).await;
    assert_eq!(refused(&files), (409, "folder_not_here".to_owned()));
    // The cookie has the name of the port.
    let ada = people::signed_in(&server, "ada").await;
    let page = server.send("GET", "/", &[("Cookie", &ada.cookie)], b"").await.text();
    let secret = page.split_once("name=\"miniclaw-secret\" content=\"").unwrap().1[..64].to_owned();
    let headers =
        [("Cookie", ada.cookie.as_str()), ("X-Miniclaw-Secret", &secret), ("Content-Type", "application/json")];
    let other = folder.join("other");
    fs::create_dir(&other).unwrap();
    let answer = server.send("POST", LINK, &headers, json!({"path": other}).to_string().as_bytes()).await;
    assert_eq!(refused(&answer), (403, "link_several_people".to_owned()));
}
