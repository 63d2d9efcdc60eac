//! A full disk: requests are refused with a reason, no file is half-written, and work continues once there is space again.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::command_changes::{bound, cannot_capture, noise};
use crate::script::{always, call, calls, says, script, steps};
use crate::world::{CONFIG, World, eventually};

/// A small tmpfs mounted on a folder.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `size` as `mount` understands it.
    pub fn mount(folder: PathBuf, size: &str) -> Option<Self> {
        let options = format!("size={size}");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&folder).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(folder)),
            Ok(output) => {
                println!(
                    "skipped: no file system can be mounted here: {}",
                    String::from_utf8_lossy(&output.stderr).trim()
                );
                None
            }
            Err(error) => {
                println!("skipped: there is no mount: {error}");
                None
            }
        }
    }

    pub fn fill(&self) {
        let path = self.0.join("scratch/filler");
        let mut size = 1 << 20;
        let mut content = std::fs::read(&path).unwrap_or_default();
        while size > 0 {
            content.resize(content.len() + size, b'x');
            if std::fs::write(&path, &content).is_err() {
                content.truncate(content.len() - size);
                size /= 2;
            }
        }
    }

    /// Leaves about this many bytes free.
    fn fill_except(&self, free: u64) {
        self.fill();
        let filler = std::fs::File::options().write(true).open(self.0.join("scratch/filler")).expect("the filler");
        let size = filler.metadata().expect("its size").len();
        filler.set_len(size.saturating_sub(free)).expect("a shorter filler");
    }

    pub fn free(&self) {
        std::fs::remove_file(self.0.join("scratch/filler")).expect("the filler");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

#[tokio::test]
async fn full_disk_is_reported_and_loses_nothing() {
    let held =
        steps([json!({"text": "Half."}), json!({"gate": "g"}), json!({"text": " Whole."}), json!({"finish": "stop"})]);
    let world = World::new(script([says(["Yes."]), held, always(says(["Again."]))])).await;
    let Some(disk) = SmallDisk::mount(world.home(), "512k") else { return };
    world.write("config.yml", CONFIG);
    world.write("workspace/SOUL.md", "You are small.\n");
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.settled("s").await;

    disk.fill();
    let large = json!({"path": "workspace/SOUL.md", "content": "x".repeat(100_000)});
    assert_eq!(server.post("/api/files", large).await.refused(), (507, "disk_full".to_owned()));
    assert_eq!(world.read("workspace/SOUL.md"), "You are small.\n");
    let said = server.post("/api/sessions/s/messages", json!({"message": "x".repeat(50_000)})).await.refused();
    assert_eq!(said, (507, "disk_full".to_owned()));
    assert_eq!(world.session("s")["messages"].as_array().unwrap().len(), 2);
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["running"], json!(null));

    disk.free();
    let mut stream = server.open_chat("s", "second").await;
    stream.until("token").await;
    disk.fill();
    world.provider.open_gate("g");
    let rest = stream.rest().await;
    let ends = rest.iter().filter(|frame| frame.is("done") || frame.is("error")).count();
    assert_eq!(ends, 1, "{rest:#?}");

    disk.free();
    server.chat("s", "third").await;
    eventually("the session settles", async || !world.path("sessions/s.journal").exists()).await;
    let messages = world.session("s")["messages"].take();
    let asked: Vec<_> =
        messages.as_array().unwrap().iter().filter(|m| m["role"] == "user").map(|m| &m["content"]).collect();
    assert_eq!(asked, ["first", "second", "third"]);
    drop(server);
    let server = world.serve().await;
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["messages"], messages);
    drop(server);
    drop(disk);
}

#[tokio::test]
async fn command_is_not_applied_if_nothing_can_be_kept() {
    if cannot_capture().await {
        return;
    }
    let bash = |id: &str, command: &str| calls([call(id, "bash", json!({"commands": [{"instruction": command}]}))]);
    let command = "rm large; echo new > small.txt; echo x > created.txt";
    let script = script([
        bash("a", "echo one > small.txt"),
        says(["Done."]),
        bash("b", command),
        says(["Done."]),
        bash("c", command),
        says(["Done."]),
    ]);
    let world = World::new(script).await;
    let Some(disk) = SmallDisk::mount(world.home(), "2m") else { return };
    world.write("config.yml", CONFIG);
    let large = noise(1, 150_000);
    world.write("scratch/large", &large);
    let server = world.serve().await;
    let id = bound(&server).await;
    let ask = async || {
        server.chat(&id, "go").await;
        server.settled(&id).await;
        let messages = world.session(&id)["messages"].take();
        let calls = messages.as_array().unwrap().iter().filter_map(|message| message["tool_calls"].as_array());
        calls.flatten().last().unwrap().clone()
    };
    if ask().await["result"]["data"]["undo"] != json!(true) {
        println!("SKIPPED: commands cannot be captured on this file system");
        return;
    }
    disk.fill_except(100_000);
    let call = ask().await;
    let said = call["output"].to_string();
    assert!(said.contains("its changes of files were not applied: the disk is full"), "{said}");
    assert_eq!(
        (world.read("scratch/small.txt").as_str(), world.path("scratch/created.txt").exists()),
        ("one\n", false)
    );
    assert!(std::fs::read(world.path("scratch/large")).unwrap() == large);
    disk.free();
    let said = ask().await["output"].to_string();
    assert!(!said.contains("not applied"), "{said}");
    assert!(world.path("storage/captures/project.scratch").read_dir().unwrap().next().is_none(), "no capture is left");
    assert_eq!((world.read("scratch/small.txt").as_str(), world.path("scratch/large").exists()), ("new\n", false));
    drop(server);
    drop(disk);
}

/// Removes one file, changes one, makes one, and fills the disk.
const FILL: &str = "
import os
os.remove('large')
open('small.txt', 'w').write('new')
open('created.txt', 'w').write('x')
filler = os.open('filler', os.O_WRONLY | os.O_CREAT)
while True:
    os.write(filler, b'x' * 4096)
";

#[tokio::test]
async fn call_that_fills_the_disk_leaves_a_record() {
    let python = calls([call("p", "python_repl", json!({"code": FILL}))]);
    let world = World::new(script([python, says(["Done."])])).await;
    let Some(disk) = SmallDisk::mount(world.home(), "64m") else { return };
    world.write("config.yml", CONFIG);
    world.write("scratch/large", noise(1, 150_000));
    world.write("scratch/small.txt", "old");
    let server = world.serve().await;
    let id = bound(&server).await;
    server.chat(&id, "go").await;
    server.settled(&id).await;
    let messages = world.session(&id)["messages"].take();
    let call = messages[1]["tool_calls"][0].clone();
    let said = call["output"].to_string();
    assert!(said.contains("only a part of what it changed can be undone: the disk is full"), "{said}");
    assert_eq!(call["result"]["data"]["undo_gap"], json!("disk_full"));
    let changes = server.get(&format!("/api/sessions/{id}/changes")).await.ok();
    assert_eq!(changes["problems"][0]["problem"], json!("disk_full"), "{changes:#}");
    let files: Vec<_> =
        changes["files"].as_array().unwrap().iter().map(|file| (&file["path"], &file["undo"])).collect();
    let of = |name: &str| json!(format!("project/scratch/{name}"));
    let paths: Vec<_> = files.iter().map(|(path, _)| (*path).clone()).collect();
    assert_eq!(paths, [of("created.txt"), of("filler"), of("large"), of("small.txt")]);
    assert_eq!(files[2].1, &json!("not_kept"));
    drop(server);
    drop(disk);
}

#[tokio::test]
async fn look_for_which_there_is_no_room_leaves_no_copies() {
    let python = calls([call("p", "python_repl", json!({"code": "open('small.txt', 'w').write('new')"}))]);
    let world = World::new(script([python, says(["Done."])])).await;
    let Some(disk) = SmallDisk::mount(world.home(), "48m") else { return };
    world.write("config.yml", CONFIG);
    for (name, size) in [("a", 4 << 20), ("b", 18 << 20)] {
        world.write(&format!("scratch/{name}"), noise(1, size));
    }
    let server = world.serve().await;
    let id = bound(&server).await;
    server.chat(&id, "go").await;
    server.settled(&id).await;
    let said = world.session(&id)["messages"][1]["tool_calls"][0]["output"].to_string();
    assert!(said.contains("the disk is full"), "{said}");
    assert!(!world.path("scratch/small.txt").exists(), "nothing has run");
    assert_eq!(world.path("storage/index/project.scratch").read_dir().unwrap().count(), 0);
    assert!(!world.path("storage/index/reserve").exists());
    drop(server);
    drop(disk);
}
