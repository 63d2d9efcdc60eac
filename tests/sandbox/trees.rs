//! Nothing that a job starts outlives the job, the call, or the server.

use std::time::Duration;

use miniclaw::sandbox::{Exit, Level, LineOutcome, SandboxError};
use tokio_util::sync::CancellationToken;

use crate::kit::{Home, HomeAccess, confined_levels, home, marker, open, pids_with, processes_with, until};

#[tokio::test]
async fn no_process_outlives_its_job() {
    for level in confined_levels() {
        let home = home(level, HomeAccess::Open);
        for script in [
            "sleep MARK & echo started",
            "setsid nohup sleep MARK >/dev/null 2>&1 & echo started",
            "setsid sleep MARK & disown; echo started",
            "( ( sleep MARK & ) & ); echo started",
            "python3 -c 'import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nos.execvp(\"sleep\",[\"sleep\",\"MARK\"])'; echo started",
        ] {
            let mark = marker();
            let done = home.bash(&script.replace("MARK", &mark)).await;
            assert_eq!(done.stdout.text(), "started\n", "{script}: {:?}", done.stderr.text());
            assert_eq!(processes_with(&mark), 0, "{level:?} {script}");
            assert!(done.took < Duration::from_secs(20), "{script} took {:?}", done.took);
        }
    }
}

#[tokio::test]
async fn job_ignoring_term_is_killed_and_output_kept() {
    for level in confined_levels() {
        ignores_term(&home(level, HomeAccess::Open)).await;
    }
}

async fn ignores_term(home: &Home) {
    let mark = marker();
    let script = "trap '' TERM INT HUP; echo before; setsid sleep MARK & sleep MARK".replace("MARK", &mark);
    let done = home.bash_within(&script, Duration::from_secs(4)).await;
    assert_eq!((done.exit, done.stdout.text()), (Exit::TimedOut, "before\n".into()));
    assert_eq!(processes_with(&mark), 0);
    assert!(done.took < Duration::from_secs(30), "{:?}", done.took);
}

#[tokio::test]
async fn cancel_and_drop_kill_whole_tree() {
    for level in confined_levels() {
        cancelled_and_dropped(&home(level, HomeAccess::Open)).await;
    }
}

async fn cancelled_and_dropped(home: &Home) {
    let mark = marker();
    let script = format!("setsid sleep {mark} & sleep {mark}");
    let cancel = CancellationToken::new();
    let running = home.sandbox.run(home.job(&["/bin/bash", "-c", &script]), cancel.clone());
    let stop = async {
        until("both sleepers run", || processes_with(&format!("sleep\0{mark}")) == 2).await;
        cancel.cancel();
    };
    let (done, ()) = tokio::join!(running, stop);
    assert_eq!(done.unwrap().exit, Exit::Cancelled);
    assert_eq!(processes_with(&mark), 0);

    let mark = marker();
    let job = home.job(&["/bin/bash", "-c", &format!("setsid sleep {mark} & sleep {mark}")]);
    tokio::select! {
        _ = home.sandbox.run(job, CancellationToken::new()) => panic!("it cannot end"),
        () = until("both sleepers run", || processes_with(&format!("sleep\0{mark}")) == 2) => {}
    }
    until("dropping the future killed them", || processes_with(&mark) == 0).await;
}

#[tokio::test]
async fn killed_supervisor_kills_its_job() {
    let home = open();
    let mark = marker();
    let running = home.sandbox.run(home.job(&["sleep", &mark]), CancellationToken::new());
    let kill = async {
        let sleeper = || pids_with(&format!("sleep\0{mark}")).first().copied();
        until("the sleeper runs", || sleeper().is_some()).await;
        let status = std::fs::read_to_string(format!("/proc/{}/status", sleeper().unwrap())).unwrap();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap();
        assert_ne!(parent, std::process::id() as i32, "there is a supervisor between");
        // SAFETY: signals the supervisor of this test's job.
        unsafe { libc::kill(parent, libc::SIGKILL) };
    };
    let (done, ()) = tokio::join!(running, kill);
    assert!(matches!(done, Err(SandboxError::Lost)), "{done:?}");
    until("the sleeper died too", || processes_with(&mark) == 0).await;
}

/// The kernel's parent-death signal is sent when the *thread* that started the process ends, and a runtime ends its
/// idle blocking threads.
#[tokio::test]
async fn job_outlives_its_starting_thread() {
    for level in confined_levels() {
        let home = home(level, HomeAccess::Open);
        let (sandbox, job) = (home.sandbox.clone(), home.job(&["/bin/cat"]));
        let handle = tokio::runtime::Handle::current();
        let thread = std::thread::spawn(move || {
            // SAFETY: takes no arguments and cannot fail.
            let number = unsafe { libc::gettid() };
            (number, handle.block_on(sandbox.open(job)).unwrap())
        });
        let (number, mut process) = tokio::task::spawn_blocking(|| thread.join().unwrap()).await.unwrap();
        let task = format!("/proc/self/task/{number}");
        until("the thread has ended", || !std::path::Path::new(&task).exists()).await;
        process.send("still there?").await.unwrap();
        assert_eq!(process.line(Duration::from_secs(20)).await, LineOutcome::Text("still there?".into()), "{level:?}");
    }
}

/// Not a test: [`killed_server_leaves_no_process`] starts this server and kills it.
#[tokio::test]
#[ignore = "runs until it is killed"]
async fn a_server_to_be_killed() {
    let Ok(mark) = std::env::var("SERVER_MARK") else { return };
    let level = if std::env::var("SERVER_LEVEL").as_deref() == Ok("Strict") { Level::Strict } else { Level::Standard };
    let home = home(level, HomeAccess::Open);
    let script = format!("setsid sleep {mark} & sleep {mark}");
    home.bash_within(&script, Duration::from_secs(600)).await;
}

#[tokio::test]
async fn killed_server_leaves_no_process() {
    for level in confined_levels() {
        killed_server(level).await;
    }
}

async fn killed_server(level: Level) {
    // The killed server cannot clean up, so its folder is inside this test's folder.
    let (home, mark) = (open(), marker());
    let mut server = std::process::Command::new(std::env::current_exe().unwrap());
    server
        .args(["--ignored", "--exact", "trees::a_server_to_be_killed"])
        .env("SERVER_MARK", &mark)
        .env("SERVER_LEVEL", format!("{level:?}"))
        .env("TMPDIR", home.root.path());
    let mut server = server.stdout(std::process::Stdio::null()).spawn().unwrap();
    until("both sleepers run", || processes_with(&format!("sleep\0{mark}")) == 2).await;
    server.kill().unwrap();
    server.wait().unwrap();
    until("they died with the server", || processes_with(&mark) == 0).await;
}
