//! `kill -9` while a command runs, and while its changes are applied: all of them are there afterwards, or none, and an undo
//! gives back exactly what was there before.

use crate::command_changes::{EVERYDAY, bash, bound, cannot_capture, count, fill, tree, undo};
use crate::crash::Rng;
use crate::script::{calls, says, script};
use crate::world::{CONFIG, World, eventually};

#[tokio::test]
async fn kill_while_changes_are_applied_is_completed_and_undone() {
    const FILES: usize = 1_000;
    if cannot_capture().await {
        return;
    }
    let command =
        format!("rm -r old; mkdir out; for i in $(seq {FILES}); do echo $i > out/$i; done; echo ONE > src/a.txt");
    let kills = std::env::var("MINICLAW_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3);
    let mut random = Rng(20_261_126);
    // The number of files after which the server is killed. The command itself never writes to the folder.
    let ends = [1, FILES / 3, FILES - 1].into_iter();
    let others = std::iter::repeat_with(|| 1 + random.below(FILES as u64 - 1) as usize);
    for killed_after in ends.chain(others).take(kills) {
        let world = World::new(script([calls([bash("c", &command)]), says(["Done."])])).await;
        world.write("config.yml", CONFIG);
        fill(&world);
        let first = tree(&world.path("scratch"));
        let server = world.serve().await;
        let id = bound(&server).await;
        let stream = server.open_chat(&id, "go").await;
        let out = world.path("scratch/out");
        eventually("the changes are being applied", async || count(&out) >= killed_after).await;
        // Dropping the server kills it.
        drop(server);
        drop(stream);
        let server = world.serve().await;
        assert_eq!(count(&out), FILES, "killed after {killed_after}: completed by the start");
        assert_eq!(world.read("scratch/src/a.txt"), "ONE\n");
        assert!(!world.path("scratch/old").exists());
        server.settled(&id).await;
        undo(&server, &id, "c").await;
        assert_eq!(tree(&world.path("scratch")), first, "killed after {killed_after}");
    }
}

#[tokio::test]
async fn kill_while_a_command_runs_leaves_all_or_nothing() {
    if cannot_capture().await {
        return;
    }
    // Says how far it is, so that the server can be killed while it runs, ends, and is recorded.
    let command = format!("{EVERYDAY}\nfor i in $(seq 50); do echo $i; echo $i > new/$i; done");
    let kills = std::env::var("MINICLAW_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(8);
    let mut random = Rng(20_261_127);
    let (mut nothing, mut all) = (0, 0);
    // The number of frames after which the server is killed: none, all, or some.
    let frames = [0, u64::MAX].into_iter().chain(std::iter::repeat_with(|| random.below(9)));
    for frames in frames.take(kills) {
        let world = World::new(script([calls([bash("c", &command)]), says(["Done."])])).await;
        world.write("config.yml", CONFIG);
        fill(&world);
        let first = tree(&world.path("scratch"));
        let server = world.serve().await;
        let id = bound(&server).await;
        let mut stream = server.open_chat(&id, "go").await;
        for _ in 0..frames {
            if stream.next().await.is_none() {
                break;
            }
        }
        drop(server);
        drop(stream);
        let server = world.serve().await;
        server.settled(&id).await;
        let now = tree(&world.path("scratch"));
        if now == first {
            nothing += 1;
        } else {
            all += 1;
            assert_eq!(now.keys().filter(|path| path.starts_with("new")).count(), 53, "all or nothing");
            undo(&server, &id, "c").await;
            assert_eq!(tree(&world.path("scratch")), first);
        }
        drop(server);
        let verified = world.run(&["verify", "--home", world.home().to_str().unwrap()]).await;
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    }
    println!("{nothing} kills before anything was applied, {all} after");
    assert!(nothing > 0 && all > 0, "{nothing} and {all}: the kills do not cover both");
}
