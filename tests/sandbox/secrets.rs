//! A job gets only what it was given: no inherited environment or descriptors, and no view of other processes.

use std::os::fd::{AsRawFd, IntoRawFd};
use std::time::Duration;

use miniclaw::sandbox::{Level, LineOutcome};

use crate::kit::{HomeAccess, confined_levels, home, marker, pids_with, program, until};

const CANARY: &str = "canary-8471";

/// Sets a key like those in the server's environment, once for all tests of this program; none of them reads it.
fn with_a_key() {
    // SAFETY: other tests of this binary do not read this variable.
    unsafe { std::env::set_var("CANARY_API_KEY", CANARY) };
}

#[tokio::test]
async fn job_inherits_no_environment_or_descriptors() {
    // A descriptor that the server opened without close-on-exec.
    let leak = std::fs::File::open("/etc/passwd").unwrap();
    // SAFETY: duplicating a valid descriptor to another number; std would set close-on-exec.
    let leaked = unsafe { libc::dup(leak.as_raw_fd()) };
    let _ = leak.into_raw_fd();
    assert!(leaked > 2);
    with_a_key();

    for level in confined_levels().into_iter().chain([Level::Off]) {
        let home = home(level, HomeAccess::Open);
        let script = "import os\nopen_fds=[]\nfor fd in range(3,1024):\n try: os.fstat(fd); open_fds.append(fd)\n \
                      except OSError: pass\nprint(open_fds, sorted(os.environ))";
        let done = home.run(home.job(&["python3", "-c", script])).await;
        let names = "['GIT_CONFIG_COUNT', 'GIT_CONFIG_KEY_0', 'GIT_CONFIG_VALUE_0', 'GIT_OPTIONAL_LOCKS', 'HOME', \
                     'HOME_ROOT', 'LANG', 'PATH', 'PYTHONPYCACHEPREFIX', 'TERM', 'TMPDIR', 'XDG_CACHE_HOME', \
                     'npm_config_cache', 'npm_config_update_notifier']";
        let seen = done.stdout.text().replace("'LC_CTYPE', ", "").replace("'PWD', ", "");
        assert_eq!(seen.trim(), format!("[] {names}"), "{level:?} {}", done.stderr.text());
    }
}

#[tokio::test]
async fn job_cannot_read_any_process_environment() {
    with_a_key();
    let look = "cat /proc/*/environ /proc/self/environ 2>/dev/null | tr '\\0' '\\n' | grep -c .";
    for level in confined_levels() {
        for access in [HomeAccess::Open, HomeAccess::Private] {
            let done = home(level, access).bash(look).await;
            assert_eq!(done.stdout.text().trim(), "0", "{level:?} {access:?}");
        }
    }
    // Negative control: without confinement and as the same user, the server's environment is readable in /proc.
    let off = home(Level::Off, HomeAccess::Private);
    assert_ne!(off.bash(look).await.stdout.text().trim(), "0");
}

/// Bubblewrap is the first process in the namespace, and its environment would be in `/proc/1/environ`.
#[tokio::test]
async fn helpers_do_not_inherit_server_environment() {
    with_a_key();
    for level in confined_levels() {
        let home = home(level, HomeAccess::Open);
        let mark = marker();
        let script = format!("echo ready; exec sleep {mark}");
        let mut process = home.sandbox.open(home.job(&["/bin/bash", "-c", &script])).await.unwrap();
        assert_eq!(process.line(Duration::from_secs(20)).await, LineOutcome::Text("ready".into()));
        until("it sleeps", || !pids_with(&format!("sleep\0{mark}")).is_empty()).await;
        let mut pid = pids_with(&format!("sleep\0{mark}"))[0];
        let mut between = 0;
        while pid != std::process::id() as i32 {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            assert!(
                !String::from_utf8_lossy(&environment).contains(CANARY),
                "{level:?}: process {between} above the job"
            );
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            pid = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim().parse().unwrap();
            between += 1;
        }
        assert!(
            between >= if level == Level::Strict { 3 } else { 2 },
            "{level:?}: only {between} processes were looked at"
        );
        process.kill().await;
    }
}

/// Checks the server itself, whose environment holds the keys.
#[tokio::test]
async fn same_user_cannot_inspect_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = tokio::process::Command::new(program());
    server.args(["serve", "--port", "0", "--home"]).arg(folder.path().join("home")).kill_on_drop(true);
    let mut server = server.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(server.stdout.take().unwrap()));
    assert!(lines.next_line().await.unwrap().unwrap().starts_with("listening on "));
    let environment = format!("/proc/{}/environ", server.id().unwrap());
    // In /proc, a non-dumpable process belongs to root, whoever runs it.
    let owner = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(environment).unwrap());
    assert_eq!(owner, 0);
    server.kill().await.unwrap();
}
