//! The tools on the real system: what the model reads, what a person sees, and how failures look.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use miniclaw::domain::{SessionId, ToolAnswer};
use miniclaw::sandbox::{Level, Sandbox, SandboxConfig};
use miniclaw::tools::{Call, EndRun, Registry, Terminal, Tool, Workshop};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

struct Home {
    workshop: Workshop,
    _root: tempfile::TempDir,
}

fn home() -> Home {
    let root = tempfile::tempdir().unwrap();
    let scratch = root.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let supervisor_exe = PathBuf::from(env!("CARGO_BIN_EXE_miniclaw"));
    let sandbox = Sandbox::new(SandboxConfig { supervisor_exe, level: Level::Standard });
    Home { workshop: Workshop { sandbox, scratch, readable: Vec::new() }, _root: root }
}

async fn call(tool: &dyn Tool, session: &str, arguments: Value) -> ToolAnswer {
    call_until(tool, session, arguments, CancellationToken::new()).await.unwrap()
}

async fn call_until(
    tool: &dyn Tool,
    session: &str,
    arguments: Value,
    cancel: CancellationToken,
) -> Result<ToolAnswer, EndRun> {
    let session = SessionId::parse(session).unwrap();
    tool.run(Call { session: &session, call_id: "call_1", arguments: &arguments, cancel }).await
}

async fn bash(terminal: &Terminal, command: &str) -> ToolAnswer {
    call(terminal, "s", json!({"command": command})).await
}

#[test]
fn tools_are_described_tersely() {
    let home = home();
    let tools = Registry::new(vec![Arc::new(Terminal::new(home.workshop.clone()))]);
    for spec in tools.specs().iter() {
        let bytes = spec.description.len() + spec.parameters.to_string().len();
        assert!(spec.description.len() <= 250 && bytes <= 400, "{}: {bytes} bytes", spec.name);
    }
}

#[tokio::test]
async fn terminal_shows_output_then_the_exit_code() {
    let home = home();
    let terminal = Terminal::new(home.workshop.clone());
    let answer = bash(&terminal, "echo hello").await;
    assert_eq!((answer.ok, answer.text.as_str(), answer.message.as_str()), (true, "hello", "exit code 0"));
    assert_eq!(answer.operation_code, ["echo hello"]);
    let mut data = answer.data;
    assert!(data["duration_ms"].take().is_u64());
    assert_eq!(
        data,
        json!({"exit_code": 0, "duration_ms": null, "stdout_bytes": 6, "stderr_bytes": 0, "truncated": false})
    );

    assert_eq!(bash(&terminal, "true").await.text, "[no output, exit code 0]");
    let answer = bash(&terminal, "echo out; echo err >&2; exit 3").await;
    assert_eq!((answer.ok, answer.text.as_str()), (false, "out\n[stderr]\nerr\n[exit code 3]"));
    assert_eq!(bash(&terminal, "false").await.text, "[exit code 1]");
    assert_eq!(bash(&terminal, "echo kept > f; pwd").await.text, home.workshop.scratch.display().to_string());
    assert_eq!(bash(&terminal, "cat f").await.text, "kept");
    assert_eq!(bash(&terminal, "cat").await.text, "[no output, exit code 0]", "stdin is empty");
    assert_eq!(bash(&terminal, "printf '\\033[31mred\\033[0m'").await.text, "red");
}

#[tokio::test]
async fn terminal_explains_its_failures() {
    let home = home();
    let terminal = Terminal::new(home.workshop.clone());
    let answer = bash(&terminal, "no-such-program-here").await;
    assert!(answer.text.contains("[exit code 127]") && answer.text.contains("not installed"), "{}", answer.text);
    let answer = bash(&terminal, "echo x > /etc/x").await;
    assert!(answer.text.contains("may write only in scratch/"), "{}", answer.text);
    let answer = bash(&terminal, "python3 -c 'import socket;socket.create_connection((\"1.1.1.1\",80))'").await;
    assert!(answer.text.contains("network is off"), "{}", answer.text);
    let answer = bash(&terminal, "kill -SEGV $$").await;
    assert!(answer.text.contains("killed by signal 11 (invalid memory access)"), "{}", answer.text);
    assert_eq!(answer.data["exit_code"], Value::Null);

    let answer = bash(&terminal, "cd / && rm -rf /*").await;
    assert!(!answer.ok && answer.text.starts_with("not run: this command would delete"), "{}", answer.text);
    assert_eq!(answer.operation_code, ["cd / && rm -rf /*"]);

    let quick = Terminal::new(home.workshop.clone()).with_limit(Duration::from_secs(1));
    let answer = bash(&quick, "echo partial; sleep 100").await;
    assert!(!answer.ok && answer.text.starts_with("partial\n[stopped after 1 s"), "{}", answer.text);

    let gone = Workshop { scratch: home.workshop.scratch.join("missing"), ..home.workshop.clone() };
    let answer = bash(&Terminal::new(gone), "true").await;
    assert!(!answer.ok && answer.text.contains("could not be set up"), "{}", answer.text);
}

#[tokio::test]
async fn terminal_cuts_long_output_and_says_so() {
    let home = home();
    let terminal = Terminal::new(home.workshop.clone());
    let answer = bash(&terminal, "echo first; yes 数据 | head -20000; echo oops >&2; echo last").await;
    assert!(answer.text.starts_with("first\n数据\n"), "{}", answer.text);
    assert!(
        answer.text.contains("bytes left out …]") && answer.text.contains("last\n[stderr]\noops\n"),
        "{}",
        answer.text
    );
    assert!(answer.text.ends_with("[output cut to 5,000 characters of 140,016 bytes]"), "{}", answer.text);
    assert!(answer.text.chars().count() < 5_200, "{}", answer.text.chars().count());
    assert_eq!(answer.data["truncated"], true);
    let answer = bash(&terminal, "seq 1 900").await;
    assert_eq!(answer.data["truncated"], false);
    assert!(answer.text.starts_with("1\n2\n") && answer.text.ends_with("\n900"));
}

#[tokio::test]
async fn stopping_the_run_stops_the_command_and_keeps_its_output() {
    let home = home();
    let terminal = Terminal::new(home.workshop.clone());
    let cancel = CancellationToken::new();
    let ready = home.workshop.scratch.join("ready");
    let stop = async {
        let started = Instant::now();
        while !ready.exists() {
            assert!(started.elapsed() < Duration::from_secs(20));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        cancel.cancel();
    };
    let arguments = json!({"command": "echo partial; touch ready; sleep 100"});
    let (ended, ()) = tokio::join!(call_until(&terminal, "s", arguments, cancel.clone()), stop);
    assert_eq!(ended, Err(EndRun::Cancelled { text: "partial".to_owned() }));
}
