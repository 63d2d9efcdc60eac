//! Power cuts while the server is at work: a file system on a loop device is shut down without flushing its log
//! (`FS_IOC_GOINGDOWN`), as after a power cut. Needs root, a loop device and mkfs; prints a note if one is missing.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::command_changes::{bash, bound, noise};
use crate::crash::{AcknowledgedState, Rng, check, watch, works};
use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, World, eventually};

/// `_IOR('X', 125, u32)`, and the flag not to flush the log.
const GOING_DOWN: libc::c_ulong = 0x8004_587D;
const NO_LOG_FLUSH: u32 = 2;

/// A file system in an image file, mounted on a folder.
struct Disk {
    image: tempfile::NamedTempFile,
    on: PathBuf,
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{program}: {said}")) }
}

impl Disk {
    fn make(kind: &str, on: PathBuf) -> Result<Self, String> {
        let image = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
        let size = if kind == "xfs" { 320 << 20 } else { 64 << 20 };
        image.as_file().set_len(size).map_err(|error| error.to_string())?;
        let force = if kind == "xfs" { "-f" } else { "-F" };
        run(&format!("mkfs.{kind}"), &["-q", force, &image.path().to_string_lossy()])?;
        let disk = Self { image, on };
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&self) -> Result<(), String> {
        run("mount", &["-o", "loop", &self.image.path().to_string_lossy(), &self.on.to_string_lossy()])
    }

    /// Cuts the power: no further write reaches the disk.
    fn cut_power(&self) {
        let folder = File::open(&self.on).expect("the mounted folder");
        let how = NO_LOG_FLUSH;
        // SAFETY: the call reads one u32 through the pointer, which is valid until it returns.
        let done = unsafe { libc::ioctl(folder.as_raw_fd(), GOING_DOWN, &raw const how) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    }

    async fn power_on(&self) {
        // The supervisor of the server's commands ends shortly after the server.
        eventually("nobody uses the disk any more", async || run("umount", &[&self.on.to_string_lossy()]).is_ok())
            .await;
        // The process of a command that was being started had a copy of the mount. Until it ends, a new mount would
        // get the same file system, which is still shut down.
        eventually("the disk is free", async || !self.is_attached()).await;
        self.mount().expect("it can be mounted again");
    }

    /// Returns whether a loop device uses the image.
    fn is_attached(&self) -> bool {
        let devices = std::fs::read_dir("/sys/block").expect("the block devices");
        let images =
            devices.filter_map(|device| std::fs::read_to_string(device.ok()?.path().join("loop/backing_file")).ok());
        images.into_iter().any(|image| Path::new(image.trim_end()) == self.image.path())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.on).output();
    }
}

/// Writes without syncing, like a careless program: the loss of this file shows that the power cut was real.
fn careless(home: &Path, round: u64) -> PathBuf {
    let path = home.join(format!("scratch/careless-{round}"));
    std::fs::write(&path, "not synced").expect("a file");
    path
}

async fn cut(kind: &str) {
    let cuts = std::env::var("MINICLAW_POWER_CUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    let world = World::new(works(2 * cuts)).await;
    let disk = match Disk::make(kind, world.home()) {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: no {kind} can be made and mounted here: {reason}"),
    };
    world.write("config.yml", CONFIG);
    world.write("workspace/SOUL.md", "You are small.\n");
    run("sync", &[]).expect("sync");
    let mut rng = Rng(20_261_122);
    let mut acknowledged = AcknowledgedState::default();
    let mut forgotten = 0;
    for round in 0..cuts {
        let server = world.serve().await;
        check(&world, &acknowledged);
        let message = format!("message {round}.");
        let said = server.post("/api/sessions/s/messages", json!({"message": message})).await.ok();
        acknowledged.messages.push(message);
        watch(&server, &said, rng.below(50), &mut acknowledged).await;
        let careless = careless(&world.home(), round);
        disk.cut_power();
        drop(server);
        disk.power_on().await;
        forgotten += u64::from(std::fs::read(&careless).is_ok_and(|bytes| bytes.is_empty()) || !careless.exists());
    }
    let server = world.serve().await;
    check(&world, &acknowledged);
    server.chat("s", "the last one").await;
    server.settled("s").await;
    drop(server);
    assert!(forgotten * 2 > cuts, "{forgotten} of {cuts} unsynced files were lost: these were no power cuts");
    println!(
        "{kind}: {cuts} power cuts, {} calls and {} answers acknowledged",
        acknowledged.ended.len(),
        acknowledged.done.len()
    );
}

/// Simulates how ext4 reacts to a disk error: it remounts the file system read-only.
#[tokio::test]
async fn read_only_disk_is_reported_and_loses_nothing() {
    let world = World::new(works(4)).await;
    let disk = match Disk::make("ext4", world.home()) {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: no ext4 can be made and mounted here: {reason}"),
    };
    world.write("config.yml", CONFIG);
    world.write("workspace/SOUL.md", "You are small.\n");
    let server = world.serve().await;
    server.chat("s", "first").await;
    server.settled("s").await;
    run("sync", &[]).unwrap();
    run("mount", &["-o", "remount,abort", &world.home().to_string_lossy()]).unwrap();
    for _ in 0..2 {
        let said = server.post("/api/sessions/s/messages", json!({"message": "lost"})).await;
        assert!(said.text().contains("Read-only file system"), "{}", said.text());
        assert_eq!(said.refused(), (500, "io".to_owned()));
    }
    let saved = server.post("/api/files", json!({"path": "workspace/SOUL.md", "content": "new"})).await;
    assert_eq!(saved.refused(), (500, "io".to_owned()));
    assert_eq!(server.get("/api/sessions/s/history").await.ok()["messages"][0]["content"], "first");
    drop(server);
    disk.power_on().await;
    let server = world.serve().await;
    assert_eq!(world.read("workspace/SOUL.md"), "You are small.\n");
    server.chat("s", "second").await;
    let history = server.settled("s").await["messages"].take();
    let asked: Vec<_> = history.as_array().unwrap().iter().filter(|m| m["role"] == "user").collect();
    assert_eq!([&asked[0]["content"], &asked[1]["content"]], ["first", "second"]);
    assert_eq!(asked.len(), 2);
    drop(server);
}

#[tokio::test]
async fn kept_contents_survive_a_power_cut() {
    let replies = [
        calls([bash("a", "for f in many*; do echo changed > $f; done")]),
        says(["Done."]),
        calls([call("b", "python_repl", json!({"code": "open('few', 'w').write('changed')"}))]),
        says(["Done."]),
    ];
    let world = World::new(script(replies)).await;
    let disk = match Disk::make("ext4", world.home()) {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: no ext4 can be made and mounted here: {reason}"),
    };
    world.write("config.yml", CONFIG);
    let names: Vec<String> = (0..20).map(|n| format!("many{n}")).chain(["few".to_owned()]).collect();
    let contents: Vec<Vec<u8>> = (0..).map(|seed| noise(seed, 20_000)).take(names.len()).collect();
    for (name, content) in names.iter().zip(&contents) {
        world.write(&format!("scratch/{name}"), content);
    }
    let server = world.serve().await;
    let id = bound(&server).await;
    run("sync", &[]).expect("sync");
    for _ in 0..2 {
        server.chat(&id, "go").await;
        server.settled(&id).await;
    }
    let blobs = world.path(&format!("sessions/changes/{id}/blobs"));
    assert_eq!(std::fs::read_dir(&blobs).expect("the kept contents").count(), names.len(), "{}", world.session(&id));
    assert_eq!(world.read("scratch/many0"), "changed\n", "{}", world.session(&id));
    let careless = careless(&world.home(), 0);
    disk.cut_power();
    drop(server);
    disk.power_on().await;
    let is_lost = std::fs::read(&careless).is_ok_and(|bytes| bytes.is_empty()) || !careless.exists();
    println!("an unsynced file was lost: {is_lost}");
    for (name, content) in names.iter().zip(&contents) {
        let hash = base16ct::lower::encode_string(&Sha256::digest(content));
        let kept = std::fs::read(blobs.join(hash));
        assert!(kept.is_ok_and(|kept| kept == *content), "{name}");
    }
}

#[tokio::test]
async fn ext4_power_cut_loses_nothing_acknowledged() {
    cut("ext4").await;
}

#[tokio::test]
async fn xfs_power_cut_loses_nothing_acknowledged() {
    cut("xfs").await;
}
