//! The same tests for a server that does not run as root. Root can start it; other users run it as themselves.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::kit::{HomeAccess, confined_levels, is_root, program, skipped};
use crate::{escapes, everyday, unmediated};

/// A user who owns nothing on this machine.
pub const USER: u32 = 4242;

/// Not a test: [`unprivileged_server_confines_commands_equally`] starts this as another user.
#[tokio::test]
#[ignore = "needs to be started as another user"]
async fn as_another_user() {
    assert!(!is_root());
    for level in confined_levels() {
        escapes::all_hold(level, HomeAccess::Open).await;
        everyday::all_work(level, HomeAccess::Open).await;
        unmediated::none_succeeds(level, HomeAccess::Open).await;
    }
    escapes::most_escapes_succeed_unconfined(8).await;
}

#[tokio::test]
async fn unprivileged_server_confines_commands_equally() {
    run_again(&["--ignored", "--exact", "other_user::as_another_user"], "1 passed").await;
}

#[tokio::test]
async fn unprivileged_server_captures_changes_equally() {
    run_again(&["captured::"], "; 0 failed").await;
}

#[tokio::test]
async fn unprivileged_server_records_hosts_equally() {
    run_again(&["recorded::"], "; 0 failed").await;
}

/// Runs tests of this program as a user who owns nothing; `expected` is in the output if they pass.
async fn run_again(tests_to_run: &[&str], expected: &str) {
    if !is_root() {
        skipped("the batteries as user 4242", "only root can become another user; they ran as this user");
        return;
    }
    // The build folder may be closed to other users.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let (tests, server) = (folder.path().join("tests"), folder.path().join("miniclaw"));
    place(&std::env::current_exe().unwrap(), &tests);
    place(&program(), &server);
    let mut again = Command::new(tests);
    again.args(tests_to_run).arg("--nocapture").uid(USER).gid(USER);
    again.env_clear().env("MINICLAW_UNDER_TEST", server).env("TMPDIR", folder.path()).env("PATH", "/usr/bin:/bin");
    let output = tokio::task::spawn_blocking(move || again.output()).await.unwrap().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains(expected), "{said}");
    said.lines().filter(|line| line.starts_with("SKIPPED")).for_each(|line| skipped("as user 4242", line));
}

pub fn place(from: &Path, to: &Path) {
    if std::fs::hard_link(from, to).is_err() {
        std::fs::copy(from, to).unwrap();
    }
}
