//! The sandbox on the real system: jobs cannot do what is forbidden, leave nothing behind, and everyday work still works.
//! Every refusal has a negative control: the same command with the sandbox off.

mod captured;
mod escapes;
mod everyday;
mod files;
mod kit;
mod limits;
mod linked;
mod neighbours;
mod network;
mod other_user;
mod recorded;
mod scratch;
mod secrets;
mod spawning;
mod trees;
mod unmediated;

use std::time::Duration;

use kit::{confined_levels, home, marker, open, processes_with, until};
use miniclaw::sandbox::{Exit, Level, LineOutcome, SandboxError, SandboxStatus};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn command_reports_how_it_ended() {
    for level in confined_levels().into_iter().chain([Level::Off]) {
        let home = home(level, kit::HomeAccess::Open);
        let done = home.bash("echo out; echo err >&2; exit 7").await;
        let said = (done.exit, done.stdout.text(), done.stderr.text());
        assert_eq!(said, (Exit::Code(7), "out\n".into(), "err\n".into()), "{level:?}");
        assert_eq!(home.bash("kill -11 $$").await.exit, Exit::Signal(11), "{level:?}");
        let missing = home.sandbox.run(home.job(&["no-such-program"]), CancellationToken::new()).await;
        assert!(matches!(missing, Err(SandboxError::Program { .. })), "{missing:?}");
        let nothing = home.sandbox.run(home.job(&[]), CancellationToken::new()).await;
        assert!(matches!(nothing, Err(SandboxError::Program { .. })), "{nothing:?}");
    }
}

#[tokio::test]
async fn interpreter_exchanges_lines() {
    for level in confined_levels() {
        spoken_to(&home(level, kit::HomeAccess::Open)).await;
    }
}

/// A shell makes its background processes ignore interrupts, and a server passes that on to its children.
#[tokio::test]
async fn interpreter_of_background_server_is_interruptible() {
    // SAFETY: sets the disposition of one signal for this process, which no test sends to it.
    let before = unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let home = home(Level::Standard, kit::HomeAccess::Open);
    let mut process = home.sandbox.open(home.job(&["/bin/cat"])).await.unwrap();
    process.send("one").await.unwrap();
    assert_eq!(process.line(Duration::from_secs(20)).await, LineOutcome::Text("one".into()));
    process.interrupt().await;
    assert_eq!(process.line(Duration::from_secs(20)).await, LineOutcome::Ended);
    assert_eq!(process.kill().await, Exit::Signal(libc::SIGINT));
    // SAFETY: as above.
    unsafe { libc::signal(libc::SIGINT, before) };
}

async fn spoken_to(home: &kit::Home) {
    let mut process = home.sandbox.open(home.job(&["/bin/cat"])).await.unwrap();
    process.send("one").await.unwrap();
    process.send("two").await.unwrap();
    assert_eq!(process.line(Duration::from_secs(20)).await, LineOutcome::Text("one".into()));
    assert_eq!(process.line(Duration::from_secs(20)).await, LineOutcome::Text("two".into()));
    assert_eq!(process.line(Duration::from_millis(20)).await, LineOutcome::Late);
    process.interrupt().await;
    assert_eq!(process.line(Duration::from_secs(20)).await, LineOutcome::Ended);
    process.kill().await;

    let mark = marker();
    let script = format!("setsid sleep {mark} & echo ready; sleep {mark}");
    let mut process = home.sandbox.open(home.job(&["/bin/bash", "-c", &script])).await.unwrap();
    assert_eq!(process.line(Duration::from_secs(20)).await, LineOutcome::Text("ready".into()));
    drop(process);
    until("dropping it killed the tree", || processes_with(&mark) == 0).await;
}

#[tokio::test]
async fn service_has_own_environment_and_ends_with_server() {
    use miniclaw::sandbox::Service;
    let home = open();
    let mark = marker();
    let service = Service {
        name: "helper".into(),
        program: "/bin/bash".into(),
        arguments: vec!["-c".into(), format!("env | sort | tr '\\n' ' '; echo; echo noise >&2; read -r x; : {mark}")],
        env: vec![("MODEL".into(), "small".into())],
        cwd: home.path("scratch"),
    };
    let mut process = home.sandbox.service(service).unwrap();
    let line = process.first_line(Duration::from_secs(20)).await.unwrap();
    assert!(line.contains("MODEL=small") && !line.contains("PATH=/root") && !line.contains("CANARY"), "{line}");
    assert!(process.is_running(), "its standard input is held open");
    drop(process);
    until("dropping it ended it", || processes_with(&mark) == 0).await;
}

#[tokio::test]
async fn without_landlock_nothing_runs() {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
    // Only the thread of this test, and its child processes, see a kernel without Landlock.
    let rules = [(libc::SYS_landlock_create_ruleset, Vec::new())].into();
    let missing = SeccompAction::Errno(libc::ENOSYS as u32);
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, missing, arch).unwrap();
    apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();

    for level in confined_levels() {
        let home = home(level, kit::HomeAccess::Open);
        let refused = home.sandbox.run(home.job(&["/bin/bash", "-c", "touch ran"]), CancellationToken::new()).await;
        let Err(SandboxError::Confinement(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains("offers Landlock version 0"), "{level:?}: {why}");
        assert_eq!(home.sandbox.status(), SandboxStatus::NoLandlock(0));
        assert!(!home.path("scratch/ran").exists());
    }
}

#[tokio::test]
async fn broken_bubblewrap_runs_nothing_with_reason() {
    if !confined_levels().contains(&Level::Strict) {
        return;
    }
    let home = home(Level::Strict, kit::HomeAccess::Open);
    let mut job = home.job(&["/bin/bash", "-c", "touch ran"]);
    job.cwd = home.path("no such folder");
    let refused = home.sandbox.run(job.clone(), CancellationToken::new()).await;
    let Err(SandboxError::Confinement(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("bubblewrap") && why.contains("no such folder"), "{why}");
    let Err(SandboxError::Confinement(why)) = home.sandbox.open(job).await.map(|_| ()) else {
        panic!("it must not open")
    };
    assert!(why.contains("bubblewrap"), "{why}");
    assert!(!home.path("scratch/ran").exists());
}
