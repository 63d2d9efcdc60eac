//! scratch/ stays usable if the level, or the user as whom commands run, changes between two starts.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use miniclaw::sandbox::{Exit, Job, Level, SandboxError};
use tokio_util::sync::CancellationToken;

use crate::kit::{Home, HomeAccess, confined_levels, home, is_root, program, sandbox, skipped};
use crate::other_user::{USER, place};

const WRITE: &str = "echo more >> file && mkdir -p folder && echo more >> folder/file && rm -f gone && touch gone";

#[tokio::test]
async fn scratch_is_writable_after_level_change() {
    if !confined_levels().contains(&Level::Strict) {
        return;
    }
    for access in [HomeAccess::Open, HomeAccess::Private] {
        let mut home = home(Level::Standard, access);
        for level in [Level::Standard, Level::Strict, Level::Standard, Level::Strict, Level::Off, Level::Standard] {
            home.sandbox = sandbox(level);
            let done = home.bash(WRITE).await;
            assert_eq!(done.exit, Exit::Code(0), "{access:?} {level:?}: {}", done.stderr.text());
        }
    }
}

#[tokio::test]
async fn scratch_of_another_user_is_reclaimed() {
    if !is_root() {
        return skipped("a folder of another user", "only root can make one");
    }
    for access in [HomeAccess::Open, HomeAccess::Private] {
        let home = home(Level::Standard, access);
        leave_to(&home, 4242);
        let done = home.bash(WRITE).await;
        assert_eq!(done.exit, Exit::Code(0), "{access:?}: {}", done.stderr.text());
    }
}

/// Not a test: [`scratch_owner_error_names_the_remedy`] starts this as another user.
#[tokio::test]
#[ignore = "needs to be started as another user"]
async fn job_runs_in_folder_of_another_user() {
    let home = home(Level::Standard, HomeAccess::Open);
    let job = Job { cwd: std::env::var_os("FOREIGN").unwrap().into(), ..home.job(&["/bin/true"]) };
    let refused = home.sandbox.run(job, CancellationToken::new()).await;
    let Err(SandboxError::Confinement(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains(&format!("sudo chown -R {USER}")), "{why}");
}

#[tokio::test]
async fn scratch_owner_error_names_the_remedy() {
    if !is_root() {
        return skipped("a folder of another user", "only root can make one");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let [tests, server, foreign] = ["tests", "miniclaw", "foreign"].map(|name| folder.path().join(name));
    place(&std::env::current_exe().unwrap(), &tests);
    place(&program(), &server);
    std::fs::create_dir(&foreign).unwrap();
    let mut again = Command::new(tests);
    again
        .args(["--ignored", "--exact", "scratch::job_runs_in_folder_of_another_user", "--nocapture"])
        .uid(USER)
        .gid(USER);
    again.env_clear().env("MINICLAW_UNDER_TEST", server).env("FOREIGN", foreign).env("TMPDIR", folder.path());
    let output = tokio::task::spawn_blocking(move || again.output()).await.unwrap().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn leave_to(home: &Home, user: u32) {
    let scratch = home.path("scratch");
    std::fs::create_dir(scratch.join("folder")).unwrap();
    for name in ["file", "folder/file"] {
        std::fs::write(scratch.join(name), "before\n").unwrap();
    }
    for name in ["", "file", "folder", "folder/file"] {
        chown(scratch.join(name), Some(user), Some(user)).unwrap();
        std::fs::set_permissions(scratch.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}
