//! What commands change in a project: known to the byte, shown, undone, done again, and withdrawn.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use miniclaw::sandbox::{Exit, Finished, Job, Level, Network, Overlay, Sandbox, SandboxConfig, SandboxError};
use miniclaw::store::Capture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, Server, World, eventually};

/// The content of a folder, by path: kind and mode, and content or target.
pub type Tree = BTreeMap<PathBuf, (String, Vec<u8>)>;

pub fn tree(folder: &Path) -> Tree {
    let mut all = Tree::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(now) = folders.pop() {
        for entry in fs::read_dir(&now).unwrap().map(Result::unwrap) {
            let (path, meta) = (entry.path(), entry.path().symlink_metadata().unwrap());
            let below = path.strip_prefix(folder).unwrap().to_owned();
            let mode = meta.mode() & 0o777;
            let state = if meta.is_dir() {
                folders.push(path);
                (format!("folder {mode:o}"), Vec::new())
            } else if meta.is_symlink() {
                ("link".to_owned(), fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes())
            } else {
                (format!("file {mode:o}"), fs::read(&path).unwrap())
            };
            all.insert(below, state);
        }
    }
    all
}

/// Runs a script in an overlay, in a folder of its own.
async fn probe(script: &str) -> Result<Finished, SandboxError> {
    let folder = tempfile::tempdir().unwrap();
    let (scratch, capture) = (folder.path().join("scratch"), folder.path().join("capture"));
    fs::create_dir(&scratch).unwrap();
    let config = SandboxConfig { supervisor_exe: env!("CARGO_BIN_EXE_miniclaw").into(), level: Level::Standard };
    let sandbox = Sandbox::new(config);
    sandbox.prepare(&scratch).unwrap();
    let capture = Capture::create(&capture, &scratch).unwrap();
    let overlay = Overlay { upper: capture.upper(), work: capture.work(), temporary: capture.temporary() };
    let job = Job {
        argv: ["/bin/bash", "-c", script].map(str::to_owned).into(),
        cwd: scratch,
        readable: Vec::new(),
        env: Vec::new(),
        wall: std::time::Duration::from_secs(30),
        output_cap: 100,
        memory: 1 << 30,
        network: Network::Recorded,
        capture: Some(overlay),
        owner: miniclaw::domain::FolderOwner::Commands,
    };
    sandbox.run(job, CancellationToken::new()).await
}

/// Returns whether this machine does not record which hosts a command asks for, and says so.
pub async fn cannot_record() -> bool {
    if cannot_capture().await {
        return true;
    }
    let cannot = probe("test -n \"$http_proxy\"").await.unwrap().exit != Exit::Code(0);
    if cannot {
        let _ = writeln!(std::io::stderr(), "SKIPPED: hosts that commands ask for: no network namespaces here");
    }
    cannot
}

/// Returns whether this machine has no overlays for commands, and says so.
pub async fn cannot_capture() -> bool {
    match probe("true").await {
        Err(SandboxError::Capture(why)) => {
            // On stderr itself, where the person who runs the tests sees it.
            let _ = writeln!(std::io::stderr(), "SKIPPED: what commands change: {why}");
            true
        }
        ended => {
            ended.unwrap();
            false
        }
    }
}

/// A project with some of everything.
pub fn fill(world: &World) {
    let scratch = world.path("scratch");
    for folder in ["src/deep", "old/inner", "empty", "swapped/in"] {
        fs::create_dir_all(scratch.join(folder)).unwrap();
    }
    for (path, content) in [
        ("src/a.txt", "one\ntwo\n"),
        ("src/deep/b.txt", "b\n"),
        ("old/c.txt", "c\n"),
        ("old/inner/d.txt", ""),
        ("swapped/in/e.txt", "e\n"),
        ("run.sh", "#!/bin/sh\n"),
        ("kept.txt", "kept\n"),
    ] {
        fs::write(scratch.join(path), content).unwrap();
    }
    fs::write(scratch.join("data.bin"), [0, 255, 10, 13, 128]).unwrap();
    symlink("src/a.txt", scratch.join("link")).unwrap();
    fs::set_permissions(scratch.join("kept.txt"), fs::Permissions::from_mode(0o640)).unwrap();
}

/// Changes some of everything.
pub const EVERYDAY: &str = "set -e
sed -i s/one/ONE/ src/a.txt
rm -r old
mv src/deep moved
chmod 755 run.sh
chmod 600 kept.txt
printf '\\377\\000' > data.bin
ln -sf moved link
ln -s nowhere dangling
mkdir -p new/folder && echo new > new/folder/file
: > nothing
truncate -s 3M sparse && printf end >> sparse
rmdir empty && echo file > empty
rm -r swapped && ln -s src swapped";

pub fn bash(id: &str, command: &str) -> Value {
    call(id, "bash", json!({"commands": [{"instruction": command}]}))
}

pub async fn bound(server: &Server<'_>) -> String {
    let made = server.post("/api/sessions", json!({"title": "Work", "project_id": "scratch"})).await.ok();
    made["id"].as_str().unwrap().to_owned()
}

pub async fn ask(server: &Server<'_>, id: &str, question: &str) -> String {
    server.chat(id, question).await;
    let history = server.settled(id).await;
    history["messages"].as_array().unwrap().last().unwrap()["work_id"].as_str().unwrap().to_owned()
}

pub async fn undo(server: &Server<'_>, id: &str, call: &str) -> Value {
    server.post(&format!("/api/sessions/{id}/operations/{call}/undo"), json!({})).await.ok()
}

#[tokio::test]
async fn command_is_undone_and_done_again_to_the_byte() {
    if cannot_capture().await {
        return;
    }
    let world = World::new(script([calls([bash("c", EVERYDAY)]), says(["Done."])])).await;
    world.write("config.yml", CONFIG);
    fill(&world);
    let server = world.serve().await;
    let id = bound(&server).await;
    let first = tree(&world.path("scratch"));
    let work = ask(&server, &id, "go").await;
    let second = tree(&world.path("scratch"));
    assert_eq!(second[Path::new("src/a.txt")].1, b"ONE\ntwo\n");
    assert!(second.contains_key(Path::new("moved/b.txt")) && !second.contains_key(Path::new("old/c.txt")));

    let listed = server.get(&format!("/api/sessions/{id}/changes?work_id={work}")).await.ok();
    let kinds: BTreeMap<String, String> = listed["files"].as_array().unwrap().iter().map(kind_of).collect();
    let expected = [
        ("dangling", "created nothing link"),
        ("data.bin", "changed binary binary"),
        ("empty", "changed folder text"),
        ("kept.txt", "changed text text"),
        ("link", "changed link link"),
        ("moved/b.txt", "renamed text text"),
        ("new", "created nothing folder"),
        ("nothing", "renamed text text"),
        ("old", "deleted folder nothing"),
        ("run.sh", "changed text text"),
    ];
    for (path, kind) in expected {
        assert_eq!(kinds.get(path).map(String::as_str), Some(kind), "{path}: {kinds:?}");
    }
    let content =
        |side: &str, path: &str| format!("/api/sessions/{id}/changes/content?path=project/scratch/{path}&side={side}");
    assert_eq!(server.get(&content("before", "src/a.txt")).await.text(), "one\ntwo\n");
    assert_eq!(server.get(&content("after", "src/a.txt")).await.text(), "ONE\ntwo\n");
    assert_eq!(server.get(&content("before", "link")).await.text(), "src/a.txt");

    undo(&server, &id, "c").await;
    assert_eq!(tree(&world.path("scratch")), first);
    undo(&server, &id, "c").await;
    assert_eq!(tree(&world.path("scratch")), second, "done again");
    let withdraw = format!("/api/sessions/{id}/works/{work}/withdraw");
    let done = server.post(&withdraw, json!({})).await.ok();
    assert_eq!(done["withdrawn"], true);
    assert_eq!(tree(&world.path("scratch")), first);
    drop(server);
    let server = world.serve().await;
    server.post(&format!("/api/sessions/{id}/works/{work}/reapply"), json!({})).await.ok();
    assert_eq!(tree(&world.path("scratch")), second, "reapplied after a restart");
    let captures = world.path("storage/captures/project.scratch");
    eventually("no capture is left", async || fs::read_dir(&captures).unwrap().count() == 0).await;
}

fn kind_of(file: &Value) -> (String, String) {
    let side = |side: &str| file[side]["content"].as_str().unwrap_or("nothing").to_owned();
    let path = file["path"].as_str().unwrap().trim_start_matches("project/scratch/").to_owned();
    (path, format!("{} {} {}", file["kind"].as_str().unwrap(), side("before"), side("after")))
}

/// Returns bytes that do not shrink.
pub fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed;
    let bytes = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    });
    bytes.take(size).collect()
}

/// Returns what `miniclaw verify` says.
async fn report(world: &World) -> Value {
    let home = world.home();
    let output = world.run(&["verify", "--home", home.to_str().unwrap(), "--json"]).await;
    serde_json::from_slice(&output.stdout).unwrap()
}

fn check_of<'r>(report: &'r Value, name: &str) -> &'r Value {
    report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap()
}

/// Makes, changes, moves and deletes entries whose names and targets are not plain text.
const ODD: &str = "set -e
bytes=$(printf '\\377\\376'); long=$(printf '%0250d' 7); deep=$long/$long/$long/$long/$long/$long
echo new > 'new
line'
echo more >> 'old
line'
mv \"b$bytes\" 'back\\slash'
rm \"gone$bytes\"
mkdir -p \"$deep\" \"folder$bytes/$bytes\"
echo deep > \"$deep/$bytes\"
echo x > \"folder$bytes/$bytes/\t\"
chmod 600 'mode
'
ln -s \"to$bytes\" link
ln -sfn \"other$bytes\" \"link$bytes\"";

fn bytes_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[tokio::test]
async fn names_of_any_bytes_are_undone_and_done_again() {
    if cannot_capture().await {
        return;
    }
    let world = World::new(script([calls([bash("c", ODD)]), says(["Done."])])).await;
    world.write("config.yml", CONFIG);
    let scratch = world.path("scratch");
    fs::create_dir_all(&scratch).unwrap();
    for name in [b"old\nline".as_slice(), b"b\xff\xfe", b"gone\xff\xfe", b"mode\n"] {
        fs::write(scratch.join(bytes_path(name)), name).unwrap();
    }
    symlink(bytes_path(b"to\n\xff"), scratch.join(bytes_path(b"link\xff\xfe"))).unwrap();
    let server = world.serve().await;
    let id = bound(&server).await;
    let first = tree(&scratch);
    let work = ask(&server, &id, "go").await;
    let second = tree(&scratch);
    let output = world.session(&id)["messages"][1]["tool_calls"][0]["output"].to_string();
    let name = bytes_path(b"folder\xff\xfe/\xff\xfe/\t");
    assert_eq!(second[&name].1, b"x\n", "{output}");
    assert!(
        second.keys().any(|path| path.as_os_str().len() > 1_500) && !second.contains_key(&bytes_path(b"b\xff\xfe"))
    );
    assert!(!output.contains("cannot be undone"), "{output}");

    let listed = server.get(&format!("/api/sessions/{id}/changes?work_id={work}")).await.ok();
    let paths: Vec<&str> =
        listed["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    for path in ["new\\x0aline", "back\\\\slash", "gone\\xff\\xfe", "folder\\xff\\xfe/\\xff\\xfe/\\x09"] {
        assert!(paths.contains(&format!("project/scratch/{path}").as_str()), "{path}: {paths:?}");
    }
    let content = |path: &str| {
        let path = path.replace('\\', "%5C");
        format!("/api/sessions/{id}/changes/content?path=project/scratch/{path}&side=before")
    };
    assert_eq!(server.get(&content("old\\x0aline")).await.text(), "old\nline");
    assert_eq!(server.get(&content("..\\x2f..\\x2fconfig.yml")).await.status(), 400);

    undo(&server, &id, "c").await;
    assert_eq!(tree(&scratch), first);
    undo(&server, &id, "c").await;
    assert_eq!(tree(&scratch), second, "done again");
    drop(server);
    let server = world.serve().await;
    let withdraw = format!("/api/sessions/{id}/works/{work}/withdraw");
    server.post(&withdraw, json!({"keep": ["project/scratch/new\\x0aline"]})).await.ok();
    let mut kept = first.clone();
    kept.insert("new\nline".into(), second[Path::new("new\nline")].clone());
    assert_eq!(tree(&scratch), kept, "one is kept");
    server.post(&format!("/api/sessions/{id}/works/{work}/reapply"), json!({})).await.ok();
    assert_eq!(tree(&scratch), second, "reapplied");
    drop(server);
    let report = report(&world).await;
    assert_eq!(report["ok"], true, "{report}");
    assert_eq!(check_of(&report, "files")["notes"], json!([]), "{report}");
}

#[tokio::test]
async fn undo_of_a_command_leaves_what_a_person_changed() {
    if cannot_capture().await {
        return;
    }
    let command = "echo one > a.txt; echo two > b.txt";
    let world = World::new(script([calls([bash("c", command)]), says(["Done."])])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let id = bound(&server).await;
    let work = ask(&server, &id, "go").await;
    world.write("scratch/b.txt", "mine\n");
    let refused = server.post(&format!("/api/sessions/{id}/operations/c/undo"), json!({})).await;
    assert_eq!(refused.status(), 409, "{}", refused.text());
    assert_eq!((world.read("scratch/a.txt").as_str(), world.read("scratch/b.txt").as_str()), ("one\n", "mine\n"));
    let withdraw = format!("/api/sessions/{id}/works/{work}/withdraw");
    let refused = server.post(&withdraw, json!({})).await;
    assert_eq!(refused.status(), 409);
    assert!(refused.text().contains("b.txt"), "{}", refused.text());
    server.post(&withdraw, json!({"keep": ["project/scratch/b.txt"]})).await.ok();
    assert!(!world.path("scratch/a.txt").exists());
    assert_eq!(world.read("scratch/b.txt"), "mine\n");
}

#[tokio::test]
async fn commands_and_file_tools_of_a_work_are_undone_together() {
    if cannot_capture().await {
        return;
    }
    let edit = json!({"path": "src/a.txt", "operations": [{"search": "two", "replace": "TWO"}]});
    let work = [
        bash("c1", "echo three >> src/a.txt; mkdir out; cp src/a.txt out/"),
        call("c2", "edit_file", edit),
        bash("c3", "cat src/a.txt > out/a.txt; rm -r old"),
        call("c4", "delete_file", json!({"paths": ["src/deep"], "recursive": true})),
    ];
    let world = World::new(script([calls(work), says(["Done."])])).await;
    world.write("config.yml", CONFIG);
    fill(&world);
    let server = world.serve().await;
    let id = bound(&server).await;
    let first = tree(&world.path("scratch"));
    let work = ask(&server, &id, "go").await;
    assert_eq!(world.read("scratch/out/a.txt"), "one\nTWO\nthree\n");
    server.post(&format!("/api/sessions/{id}/works/{work}/withdraw"), json!({})).await.ok();
    assert_eq!(tree(&world.path("scratch")), first);
}

/// Returns the number of files in a folder; 0 if there is none.
pub fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[tokio::test]
async fn names_of_one_file_are_changed_and_undone_each() {
    if cannot_capture().await {
        return;
    }
    let work = [
        bash("c1", "for name in two three four; do ln kept.txt $name; done"),
        bash("c2", "rm two three; echo more >> kept.txt"),
    ];
    let world = World::new(script([calls(work), says(["Done."])])).await;
    world.write("config.yml", CONFIG);
    fill(&world);
    let server = world.serve().await;
    let id = bound(&server).await;
    let first = tree(&world.path("scratch"));
    ask(&server, &id, "go").await;
    assert_eq!(
        (world.read("scratch/four").as_str(), world.read("scratch/kept.txt").as_str()),
        ("kept\n", "kept\nmore\n")
    );
    assert!(!world.path("scratch/two").exists() && !world.path("scratch/three").exists());
    undo(&server, &id, "c2").await;
    assert_eq!((world.read("scratch/three").as_str(), world.read("scratch/kept.txt").as_str()), ("kept\n", "kept\n"));
    undo(&server, &id, "c1").await;
    assert_eq!(tree(&world.path("scratch")), first);
}

#[tokio::test]
async fn two_sessions_undo_only_their_own_changes() {
    if cannot_capture().await {
        return;
    }
    let script = script([
        calls([bash("a", "echo a > a.txt; echo a > both.txt")]),
        says(["Done."]),
        calls([bash("b", "echo b > b.txt; echo b >> both.txt")]),
        says(["Done."]),
    ]);
    let world = World::new(script).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let (one, other) = (bound(&server).await, bound(&server).await);
    ask(&server, &one, "go").await;
    ask(&server, &other, "go").await;
    let refused = server.post(&format!("/api/sessions/{one}/operations/a/undo"), json!({})).await;
    assert_eq!((refused.status(), refused.text().contains("both.txt")), (409, true), "{}", refused.text());
    assert!(world.path("scratch/a.txt").exists(), "all or none");
    undo(&server, &other, "b").await;
    assert_eq!((world.read("scratch/both.txt").as_str(), world.path("scratch/b.txt").exists()), ("a\n", false));
    undo(&server, &one, "a").await;
    assert_eq!(count(&world.path("scratch")), 0);
}

#[tokio::test]
async fn large_sparse_and_linked_files_are_undone() {
    const LARGE: u64 = 100 << 20;
    if cannot_capture().await {
        return;
    }
    let command = "set -e; ln kept.txt hard; echo more >> hard; printf end >> large; truncate -s 100M new; rm gone";
    let world = World::new(script([calls([bash("c", command)]), says(["Done."])])).await;
    world.write("config.yml", CONFIG);
    world.write("scratch/kept.txt", "kept\n");
    for name in ["large", "gone"] {
        fs::File::create(world.path("scratch").join(name)).unwrap().set_len(LARGE).unwrap();
    }
    let server = world.serve().await;
    let id = bound(&server).await;
    ask(&server, &id, "go").await;
    let size = |name: &str| fs::metadata(world.path("scratch").join(name)).map(|meta| meta.len()).ok();
    assert_eq!((size("large"), size("new"), size("gone")), (Some(LARGE + 3), Some(LARGE), None));
    undo(&server, &id, "c").await;
    assert_eq!((size("large"), size("new"), size("gone")), (Some(LARGE), None, Some(LARGE)));
    assert_eq!((world.read("scratch/kept.txt").as_str(), size("hard")), ("kept\n", None));
}

#[tokio::test]
async fn command_whose_capture_cannot_be_prepared_does_not_run() {
    if cannot_capture().await {
        return;
    }
    let world = World::new(script([calls([bash("c", "echo x > x.txt")]), says(["Done."])])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let id = bound(&server).await;
    fs::remove_dir_all(world.path("storage/captures")).unwrap();
    world.write("storage/captures", "in the way");
    ask(&server, &id, "go").await;
    assert!(!world.path("scratch/x.txt").exists(), "a change that cannot be undone is not made");
    let output = world.session(&id)["messages"][1]["tool_calls"][0]["output"].to_string();
    assert!(output.contains("nothing was run"), "{output}");
}

#[tokio::test]
async fn commits_are_listed_and_git_stays_as_it_is() {
    if cannot_capture().await {
        return;
    }
    let commands = [
        bash(
            "c2",
            "cd lib && echo one > a.txt && git add a.txt && git commit -qm 'Add a' && git commit -qm 'Nothing' --allow-empty",
        ),
        bash("c3", "cd lib && git checkout -q HEAD~1 && git log --oneline"),
        bash("c4", "rm -rf lib/.git"),
    ];
    let replies = commands.map(|command| calls([command])).into_iter().chain([says(["Done."])]);
    let world = World::new(script(replies)).await;
    world.write("config.yml", CONFIG);
    // Not by the agent: the settings of a repository are among the files that need a person.
    let begin = "git init -q -b main lib && cd lib && git config user.name Ada && git config user.email a@b.org";
    fs::create_dir_all(world.path("scratch")).unwrap();
    let mut begun = std::process::Command::new("bash");
    begun.args(["-ec", begin]).current_dir(world.path("scratch")).env("HOME", world.home());
    assert!(begun.status().unwrap().success());
    let server = world.serve().await;
    let id = bound(&server).await;
    ask(&server, &id, "go").await;
    let changes = server.get(&format!("/api/sessions/{id}/changes")).await.ok();
    let commits = changes["commits"].as_array().unwrap();
    let listed: Vec<_> = commits.iter().map(|commit| (&commit["call_id"], &commit["subject"])).collect();
    assert_eq!(listed, [(&json!("c2"), &json!("Add a")), (&json!("c2"), &json!("Nothing"))]);
    assert_eq!((&commits[0]["repository"], commits[0]["id"].as_str().unwrap().len()), (&json!("lib"), 40));

    // Deleting the whole repository is taken back; otherwise git's folder stays as it is.
    assert!(!world.path("scratch/lib/.git").exists());
    undo(&server, &id, "c4").await;
    let git = tree(&world.path("scratch/lib/.git"));
    assert!(git.contains_key(Path::new("logs/HEAD")));
    undo(&server, &id, "c2").await;
    assert!(!world.path("scratch/lib/a.txt").exists());
    assert_eq!(tree(&world.path("scratch/lib/.git")), git);
    assert_eq!(server.get(&format!("/api/sessions/{id}/changes")).await.ok()["commits"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn undo_of_dropped_contents_names_them_and_changes_nothing() {
    if cannot_capture().await {
        return;
    }
    const SIZE: usize = 400 << 10;
    let world = World::new(script([
        calls([bash("a", "rm first; echo new > small.txt")]),
        says(["Done."]),
        calls([bash("b", "rm second third")]),
        says(["Done."]),
        calls([bash("c", "rm fourth fifth sixth")]),
        says(["Done."]),
    ]))
    .await;
    world.write("config.yml", format!("{CONFIG}\nundo: {{kept_mib: 1}}\n"));
    for (seed, name) in (1..).zip(["first", "second", "third", "fourth", "fifth", "sixth"]) {
        world.write(&format!("scratch/{name}"), noise(seed, SIZE));
    }
    world.write("scratch/small.txt", "old\n");
    let server = world.serve().await;
    let id = bound(&server).await;
    let first = tree(&world.path("scratch"));
    let works = [ask(&server, &id, "one").await, ask(&server, &id, "two").await];
    let now = tree(&world.path("scratch"));
    let refused = server.post(&format!("/api/sessions/{id}/operations/a/undo"), json!({})).await;
    assert_eq!(refused.refused(), (409, "not_kept".to_owned()), "{}", refused.text());
    assert!(refused.text().contains(&format!("project/scratch/first ({SIZE} bytes, dropped")), "{}", refused.text());
    let withdraw = format!("/api/sessions/{id}/works/{}/withdraw", works[0]);
    let refused = server.post(&withdraw, json!({})).await;
    assert_eq!(refused.refused(), (409, "not_kept".to_owned()), "{}", refused.text());
    assert_eq!(tree(&world.path("scratch")), now);
    let listed = server.get(&format!("/api/sessions/{id}/changes?work_id={}", works[0])).await.ok();
    let gone = listed["files"].as_array().unwrap().iter().find(|file| file["path"] == "project/scratch/first").unwrap();
    assert_eq!((&gone["before"]["content"], &gone["before"]["size"]), (&json!("dropped"), &json!(SIZE)));
    assert_eq!(gone["undo"], "not_kept");
    let preview = server.get(&format!("/api/sessions/{id}/works/{}/undo", works[0])).await.ok();
    assert_eq!(preview["files"][0]["not_kept"], true, "{preview}");

    undo(&server, &id, "b").await;
    let (mut back, all) = (tree(&world.path("scratch")), &first);
    assert_eq!(
        (back.remove(Path::new("second")), back.remove(Path::new("third"))),
        (all.get(Path::new("second")).cloned(), all.get(Path::new("third")).cloned())
    );
    undo(&server, &id, "b").await;
    assert_eq!(tree(&world.path("scratch")), now, "done again");

    ask(&server, &id, "three").await;
    let output = world.session(&id)["messages"].as_array().unwrap().last().unwrap()["tool_calls"].to_string();
    let output = if output == "null" { world.session(&id).to_string() } else { output };
    assert!(output.contains("cannot be undone: project/scratch/sixth (409600 bytes)"), "{output}");
    drop(server);
    let report = report(&world).await;
    assert_eq!(report["ok"], true, "{report}");
    let blobs = world.path(&format!("sessions/changes/{id}/blobs"));
    let kept: u64 = fs::read_dir(blobs).unwrap().map(|blob| blob.unwrap().metadata().unwrap().len()).sum();
    assert!(kept <= 1 << 20, "{kept}");
}

/// Replaces files by links and back without an end, while it writes through names, hard links and descriptors.
const RACING: &str = "(while :; do ln -sfn ../memory/person.md swap; mv -T swap raced; echo x > next; mv next raced; done) > /dev/null 2>&1 &
(while :; do ln -sfn ../../memory swap2; mv -T swap2 folder/in; rm folder/in; mkdir folder/in; echo y > folder/in/person.md; rm -r folder/in; done) > /dev/null 2>&1 &
ln kept hard; echo more >> hard
exec 3>>deleted; rm deleted; echo late >&3; echo evil > /proc/self/fd/3; ln -f /proc/self/fd/3 back
(exec 4< ../memory; echo evil > /proc/self/fd/4/person.md); ln ../memory/person.md stolen; mv ../memory/person.md moved
ln -s ../memory out; echo evil > out/person.md; rm -f out/person.md
for i in $(seq 300); do echo $i > raced; echo $i > folder/in/person.md; echo $i >> kept; done
true";

#[tokio::test]
async fn racing_command_changes_nothing_outside_and_is_undone() {
    if cannot_capture().await {
        return;
    }
    let world = World::new(script([calls([bash("c", RACING)]), says(["Done."])])).await;
    world.write("config.yml", CONFIG);
    world.write("memory/person.md", "mine\n");
    for name in ["raced", "kept", "deleted", "folder/file"] {
        world.write(&format!("scratch/{name}"), "old\n");
    }
    let server = world.serve().await;
    let id = bound(&server).await;
    let (first, outside) = (tree(&world.path("scratch")), tree(&world.path("memory")));
    ask(&server, &id, "go").await;
    let second = tree(&world.path("scratch"));
    assert_eq!(tree(&world.path("memory")), outside, "nothing outside is written");
    assert!(second[Path::new("hard")].1.starts_with(b"old\nmore\n1\n2\n"));
    assert!(!second.contains_key(Path::new("deleted")));
    undo(&server, &id, "c").await;
    assert_eq!(tree(&world.path("scratch")), first, "no file of the person is lost");
    undo(&server, &id, "c").await;
    assert_eq!((tree(&world.path("scratch")), tree(&world.path("memory"))), (second, outside));
}
