//! A full disk: requests are refused with a reason, no file is half-written, and work continues once there is space again.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::script::{always, says, script, steps};
use crate::world::{CONFIG, World, eventually};

/// A small tmpfs mounted on a folder.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: PathBuf) -> Option<Self> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"]).arg(&folder).output();
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

    fn fill(&self) {
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

    fn free(&self) {
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
    let Some(disk) = SmallDisk::mount(world.home()) else { return };
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
