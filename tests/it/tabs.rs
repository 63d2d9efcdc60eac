//! Badly behaved clients: they send everything twice at once, and open many streams.

use futures_util::future::join_all;
use serde_json::json;

use crate::script::{always, says, script};
use crate::world::World;

#[tokio::test]
async fn same_message_from_two_tabs_is_stored_once() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    for key in ["k1", "k2"] {
        let body = json!({"message": "hi", "idempotency_key": key});
        let answers = join_all((0..8).map(|_| server.post("/api/sessions/s/messages", body.clone()))).await;
        let works: Vec<_> = answers.iter().map(|answer| answer.ok()["work_id"].clone()).collect();
        assert!(works[0].is_string() && works.iter().all(|work| *work == works[0]), "{works:?}");
        server.settled("s").await;
    }
    assert_eq!(server.settled("s").await["messages"].as_array().unwrap().len(), 4);
    assert_eq!(world.asked().len(), 2);
}

#[tokio::test]
async fn two_tabs_keep_both_messages_and_agree() {
    let world = World::new(script([always(says(["Yes."]))])).await;
    let server = world.serve().await;
    server.chat("s", "first").await;
    let mut tabs = [server.follow("/api/events").await, server.follow("/api/events").await];
    let say = |text: &str| server.post("/api/sessions/s/messages", json!({"message": text, "idempotency_key": text}));
    let (one, two) = futures_util::future::join(say("from-one"), say("from-two")).await;
    assert_ne!(one.ok()["work_id"], two.ok()["work_id"]);
    server.settled("s").await;
    let mut seen = Vec::new();
    for tab in &mut tabs {
        let (mut frames, mut ends) = (Vec::new(), 0);
        while ends < 2 {
            let told = tab.next().await.expect("the stream stays open");
            if told.is("frame") {
                let kind = told.data["frame"]["type"].as_str().unwrap_or_default();
                ends += usize::from(kind == "done" || kind == "error");
                frames.push(told);
            }
        }
        seen.push(frames);
    }
    assert_eq!(seen[0], seen[1]);
    let history = server.settled("s").await["messages"].to_string();
    assert!(history.contains("from-one") && history.contains("from-two"), "{history}");
}

#[tokio::test]
async fn open_file_limit_is_raised() {
    let world = World::new(script([])).await;
    let lower = |command: &mut std::process::Command| {
        use std::os::unix::process::CommandExt;
        // SAFETY: between fork and exec, only system calls that allocate nothing.
        unsafe {
            command.pre_exec(|| {
                let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
                libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
                limit.rlim_cur = 256.min(limit.rlim_max);
                if libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0 {
                    Ok(())
                } else {
                    Err(std::io::Error::last_os_error())
                }
            });
        }
    };
    let server = world.serve_prepared(&["--port", "0"], lower).await;
    let mut tabs = Vec::new();
    for _ in 0..300 {
        let mut tab = server.follow("/api/events").await;
        assert!(tab.next().await.expect("it is told").is("hello"));
        tabs.push(tab);
    }
    assert_eq!(server.get("/health").await.ok()["status"], "ok");
}
