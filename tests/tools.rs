//! The tools on the real system: what the model reads, what a person sees, and how failures are reported.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use miniclaw::domain::{EgressAttempts, Session, SessionId, Taint, ToolAnswer};
use miniclaw::sandbox::{Interpreter, Level, Sandbox, SandboxConfig};
use miniclaw::tools::{
    CommandEnvironment, EndRun, PreparedCall, PythonLimits, PythonRepl, RunOptions, Terminal, Tool, ToolContext,
    ToolSet, WorkingFolder,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

struct Home {
    environment: CommandEnvironment,
    _root: tempfile::TempDir,
}

fn home() -> Home {
    let root = tempfile::tempdir().unwrap();
    let scratch = root.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let supervisor_exe = PathBuf::from(env!("CARGO_BIN_EXE_miniclaw"));
    let sandbox = Sandbox::new(SandboxConfig { supervisor_exe, level: Level::Standard });
    let [memory, knowledge] = ["memory", "knowledge"].map(|name| root.path().join(name));
    std::fs::create_dir(&memory).unwrap();
    std::fs::create_dir(&knowledge).unwrap();
    std::fs::write(memory.join("MEMORY.md"), "likes tea").unwrap();
    std::fs::write(knowledge.join("doc.md"), "obey me").unwrap();
    Home {
        environment: CommandEnvironment {
            sandbox,
            folder: WorkingFolder {
                path: scratch,
                name: "scratch/".to_owned(),
                owner: miniclaw::domain::FolderOwner::Commands,
            },
            readable: vec![memory],
            knowledge,
            captures: None,
        },
        _root: root,
    }
}

impl Home {
    fn python(&self, limits: PythonLimits) -> PythonRepl {
        let python =
            Interpreter::python(&std::env::var_os("PATH").unwrap_or_default()).expect("a python3 for the tests");
        PythonRepl::with_limits(self.environment.clone(), python, limits)
    }
}

fn stays_root(home: &Home) -> bool {
    home.environment.sandbox.warning_for(&home.environment.folder.path).is_some()
}

async fn python(repl: &PythonRepl, code: &str) -> ToolAnswer {
    call(repl, "s", json!({"code": code})).await
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
    prepare(tool, session, arguments).await.run(RunOptions { cancel, ..RunOptions::default() }).await
}

async fn prepare(tool: &dyn Tool, session: &str, arguments: Value) -> Box<dyn PreparedCall> {
    let session = SessionId::parse(session).unwrap();
    let conversation = Session::new("", 0.0);
    tool.prepare(arguments, ToolContext::new(&session, "call_1", &conversation)).await.expect("it can be prepared")
}

async fn bash(terminal: &Terminal, command: &str) -> ToolAnswer {
    call(terminal, "s", json!({"command": command})).await
}

#[test]
fn tools_are_described_tersely() {
    let home = home();
    let tools = ToolSet::new(vec![
        Arc::new(Terminal::new(home.environment.clone())),
        Arc::new(home.python(PythonLimits::default())),
    ]);
    let tools = tools.unwrap();
    for spec in tools.specs().iter() {
        let bytes = spec.description.len() + spec.parameters.to_string().len();
        assert!(spec.description.len() <= 250 && bytes <= 400, "{}: {bytes} bytes", spec.name);
    }
}

#[tokio::test]
async fn terminal_shows_output_then_the_exit_code() {
    let home = home();
    let terminal = Terminal::new(home.environment.clone());
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
    assert_eq!(bash(&terminal, "echo kept > f; pwd").await.text, home.environment.folder.path.display().to_string());
    assert_eq!(bash(&terminal, "cat f").await.text, "kept");
    assert_eq!(bash(&terminal, "cat").await.text, "[no output, exit code 0]", "stdin is empty");
    assert_eq!(bash(&terminal, "printf '\\033[31mred\\033[0m'").await.text, "red");
}

#[tokio::test]
async fn terminal_explains_its_failures() {
    let home = home();
    let terminal = Terminal::new(home.environment.clone());
    let answer = bash(&terminal, "no-such-program-here").await;
    assert!(answer.text.contains("[exit code 127]") && answer.text.contains("not installed"), "{}", answer.text);
    let answer = bash(&terminal, "echo x > /etc/x").await;
    assert!(answer.text.contains("may write only in scratch/"), "{}", answer.text);
    let answer = bash(&terminal, "python3 -c 'import socket;socket.create_connection((\"1.1.1.1\",80))'").await;
    assert!(answer.text.contains("There is no network here"), "{}", answer.text);
    let answer = bash(&terminal, "kill -SEGV $$").await;
    assert!(answer.text.contains("killed by signal 11 (invalid memory access)"), "{}", answer.text);
    assert_eq!(answer.data["exit_code"], Value::Null);

    let answer = bash(&terminal, "cd / && rm -rf /*").await;
    assert!(!answer.ok && answer.text.starts_with("not run: this command would delete"), "{}", answer.text);
    assert_eq!(answer.operation_code, ["cd / && rm -rf /*"]);

    for (command, reason) in [
        ("python3 -c 'x = bytearray(3 << 30)'", "3 GiB of memory"),
        ("head -c 200000000 /dev/zero > big", "larger than allowed here"),
        ("head -c 200000000 /dev/zero > big; true; exit 153", "larger than allowed here"),
        ("python3 -c 'open(\"big\", \"wb\").write(bytes(200_000_000))'", "or 128 MiB where"),
        ("for i in $(seq 1000); do sleep 100 & done", "about 256 processes"),
        (
            "python3 -c 'import os, signal\nfor i in range(1000):\n if not os.fork(): signal.pause()'",
            "about 256 processes",
        ),
    ] {
        let answer = bash(&terminal, command).await;
        // Limits on processes do not apply to user 0 (docs/sandbox.md), and a build below a private folder runs as that user.
        if !reason.contains("processes") || !stays_root(&home) {
            assert!(!answer.ok && answer.text.contains(reason), "{command}: {}", answer.text);
        }
    }

    let quick = Terminal::new(home.environment.clone()).with_limit(Duration::from_secs(4));
    let answer = bash(&quick, "while :; do :; done").await;
    assert!(!answer.ok && answer.text.starts_with("[stopped after 4 s"), "{}", answer.text);
    let answer = bash(&quick, "echo partial; sleep 100").await;
    assert!(!answer.ok && answer.text.starts_with("partial\n[stopped after 4 s"), "{}", answer.text);

    let path = home.environment.folder.path.join("missing");
    let folder = WorkingFolder { path, ..home.environment.folder.clone() };
    let gone = CommandEnvironment { folder, ..home.environment.clone() };
    let answer = bash(&Terminal::new(gone), "true").await;
    assert!(!answer.ok && answer.text.contains("its working directory"), "{}", answer.text);
}

#[tokio::test]
async fn terminal_truncates_long_output_with_notice() {
    let home = home();
    let terminal = Terminal::new(home.environment.clone());
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
async fn stopping_run_stops_command_and_keeps_output() {
    let home = home();
    let terminal = Terminal::new(home.environment.clone());
    let cancel = CancellationToken::new();
    let ready = home.environment.folder.path.join("ready");
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
    assert_eq!(
        ended,
        Err(EndRun::Cancelled { text: "partial".to_owned(), egress_attempts: EgressAttempts::default() })
    );
}

#[tokio::test]
async fn python_remembers_and_shows_the_last_value() {
    let home = home();
    let repl = home.python(PythonLimits::default());
    let answer = python(&repl, "import math\nx = 20\nx + 1").await;
    assert_eq!((answer.ok, answer.text.as_str(), answer.message.as_str()), (true, "21", "ran"));
    assert_eq!(answer.operation_code, ["import math\nx = 20\nx + 1"]);
    assert_eq!(answer.data["new_interpreter"], false);
    for (code, shown) in [
        ("x + _", "41"),
        ("x = 1", "[no output]"),
        ("def f(n):\n    return n * 2\nprint('a'); f(x)", "a\n2"),
        ("None", "[no output]"),
        ("math.floor(2.5)", "2"),
        (
            "import sys, subprocess\nprint('1'); print('2', file=sys.stderr); subprocess.run(['echo', '3']); print('4')",
            "1\n2\n3\n4",
        ),
        ("import os; os.write(1, b'raw\\xff'); None", "raw\u{fffd}"),
        ("input()", "EOFError"),
        ("open('note.txt', 'w').write('hi')", "2"),
        ("'数据' * 2", "'数据数据'"),
        ("exit(3)", "[exit(3): this Python goes on, its variables are kept]"),
        ("f(x)", "2"),
        ("os.getcwd() == os.environ['HOME']", "True"),
        ("from multiprocessing import Pool\nPool(2).map(f, [1, 2])", "[2, 4]"),
    ] {
        let answer = python(&repl, code).await;
        assert!(
            answer.text == shown || answer.text.ends_with(&format!("{shown}: EOF when reading a line")),
            "{code}: {}",
            answer.text
        );
    }
    let other = call(&repl, "other", json!({"code": "x"})).await;
    assert!(other.text.contains("NameError"), "sessions do not share variables: {}", other.text);
}

/// Starts a local web server, and a home whose egress proxy reaches only that server, under the name `site.test`.
async fn online() -> (Home, u16) {
    use miniclaw::egress::{Guard, Lookup, Proxy};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let hello = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nHELLO";
                // A client that sends nothing keeps its tunnel open until it closes it.
                if client.read(&mut [0; 4096]).await.is_ok_and(|read| read > 0) {
                    let _ = client.write_all(hello).await;
                }
            });
        }
    });
    let names: Lookup = Arc::new(|_| Box::pin(async { Ok(vec![[127, 0, 0, 1].into()]) }));
    let proxy = Proxy::start(Guard::new(&[format!("site.test:{port}")]), names).await.unwrap();
    let home = home();
    let sandbox = home.environment.sandbox.clone().with_egress_proxy(Arc::new(proxy));
    (Home { environment: CommandEnvironment { sandbox, ..home.environment.clone() }, ..home }, port)
}

#[tokio::test]
async fn python_network_needs_approval_and_passes_the_guard() {
    let (home, port) = online().await;
    if !home.environment.sandbox.can_network() {
        return println!("skipped: this kernel cannot keep a command to the proxy");
    }
    let repl = home.python(PythonLimits::default());
    let get =
        |host: &str| format!("import urllib.request as u; print(u.urlopen('http://{host}:{port}/', timeout=5).read())");
    let allowed = |code: String| call(&repl, "s", json!({"code": code, "network": true}));
    let answer = allowed(get("site.test")).await;
    assert!(answer.ok && answer.text.contains("HELLO"), "{}", answer.text);
    for host in ["127.0.0.1", "localhost", "inside.test", "[::1]"] {
        let answer = allowed(get(host)).await;
        assert!(!answer.ok && !answer.text.contains("HELLO"), "{host}: {}", answer.text);
    }
    // Connections past the proxy fail, and the next call without network has none, whatever it kept from this one.
    let around = format!("import socket; socket.create_connection(('127.0.0.1', {port}), 5)");
    assert!(!allowed(around).await.ok);
    allowed("import os; kept = dict(os.environ)".to_owned()).await;
    let answer =
        python(&repl, &format!("import os; os.environ.update(globals().get('kept', {{}})); {}", get("site.test")))
            .await;
    assert!(!answer.ok && !answer.text.contains("HELLO"), "{}", answer.text);
}

/// Waits until a file in scratch/ has been written, and returns its text.
async fn written(home: &Home, name: &str) -> String {
    let since = Instant::now();
    loop {
        match std::fs::read_to_string(home.environment.folder.path.join(name)) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => assert!(since.elapsed() < Duration::from_secs(20), "{name} was not written"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn contacts(answer: &ToolAnswer) -> Vec<(String, bool)> {
    let listed = answer.data["contacts"].as_array().into_iter().flatten();
    listed.map(|one| (one["host"].as_str().unwrap().to_owned(), one["refused"].as_bool().unwrap())).collect()
}

#[tokio::test]
async fn network_grant_of_python_ends_with_its_call() {
    let (home, port) = online().await;
    if !home.environment.sandbox.can_network() {
        return println!("skipped: this kernel cannot keep a command to the proxy");
    }
    let repl = home.python(PythonLimits::default());
    let with_network = |code: String| call(&repl, "s", json!({"code": code, "network": true}));
    // A connection that stays open, and a thread that outlives the call.
    let first = format!(
        "import os, socket, threading, time, urllib.request as u
host, proxy_port = os.environ['http_proxy'].rsplit('@')[1].split(':')
import base64
secret = base64.b64encode(os.environ['http_proxy'].split('//')[1].rsplit('@')[0].encode()).decode()
tunnel = socket.create_connection((host, int(proxy_port)), 10)
tunnel.sendall(f'CONNECT site.test:{port} HTTP/1.1\\r\\nProxy-Authorization: Basic {{secret}}\\r\\n\\r\\n'.encode())
begun = tunnel.recv(100)
def later():
    while not os.path.exists('go'): time.sleep(0.01)
    try: said = u.urlopen('http://site.test:{port}/', timeout=10).read().decode()
    except Exception as error: said = str(error)
    cut = tunnel.recv(1) == b''
    with open('said.tmp', 'w') as f: f.write(f'{{said}} cut={{cut}}\\n')
    os.rename('said.tmp', 'said')
threading.Thread(target=later, daemon=True).start()
print(begun[:12], u.urlopen('http://site.test:{port}/', timeout=10).read())"
    );
    let answer = with_network(first).await;
    assert!(answer.text.contains("b'HTTP/1.1 200' b'HELLO'"), "{}", answer.text);
    let site = format!("site.test:{port}");
    assert_eq!(contacts(&answer), [(site.clone(), false)]);
    std::fs::write(home.environment.folder.path.join("go"), "").unwrap();
    assert_eq!(written(&home, "said").await, "HTTP Error 403: Forbidden cut=True\n");
    // The next call with network can use the connection again, and reports what was attempted in between.
    let again =
        with_network(format!("print(u.urlopen('http://site.test:{port}/', timeout=10).read(), begun[:4])")).await;
    assert!(again.text.contains("b'HELLO' b'HTTP'"), "the variables are kept: {}", again.text);
    assert_eq!(contacts(&again), [(site.clone(), false), (site, true)]);
    let without = python(&repl, "begun").await;
    assert!(without.text.contains("network is given to a Python of its own"), "{}", without.text);
    assert!(without.text.contains("NameError"), "{}", without.text);
}

#[tokio::test]
async fn egress_attempts_are_recorded_however_command_ends() {
    let (home, port) = online().await;
    if !home.environment.sandbox.can_network() {
        return println!("skipped: this kernel cannot keep a command to the proxy");
    }
    let terminal = Terminal::new(home.environment.clone());
    let site = format!("site.test:{port}");
    let get = format!("curl -sS http://{site}/; curl -s http://10.0.0.1/");
    let run = |command: String| json!({"command": command, "network": true});
    let expected = [("10.0.0.1".to_owned(), true), (site.clone(), false)];
    let line = format!("[network: 10.0.0.1 (refused), {site}]");
    for end in ["", "; exit 3", "; kill -9 $$"] {
        let answer = call(&terminal, "s", run(format!("{get}{end}"))).await;
        assert_eq!(contacts(&answer), expected, "{end}: {}", answer.text);
        assert!(answer.text.ends_with(&line), "{end}: {}", answer.text);
    }
    let answer = bash(&terminal, "true").await;
    assert!(answer.data.get("contacts").is_none() && !answer.text.contains("[network"), "{}", answer.text);
    let many = "for n in $(seq 1 12); do curl -s http://10.0.0.$n/; done; true".to_owned();
    let answer = call(&terminal, "s", run(many)).await;
    assert!(contacts(&answer).len() == 12 && answer.text.ends_with("and 2 more]"), "{}", answer.text);
    // Cancelled in the middle, and stopped by the time limit.
    let cancel = CancellationToken::new();
    let stop = async {
        written(&home, "ready").await;
        cancel.cancel();
    };
    let arguments = run(format!("{get}; echo > ready; sleep 100"));
    let (ended, ()) = tokio::join!(call_until(&terminal, "s", arguments, cancel.clone()), stop);
    let Err(EndRun::Cancelled { egress_attempts: told, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!(told.line(), Some(line.clone()));
    let short = Terminal::new(home.environment.clone()).with_limit(Duration::from_secs(10));
    let answer = call(&short, "s", run(format!("{get}; sleep 100"))).await;
    assert!(!answer.ok && answer.text.ends_with(&line), "{}", answer.text);
    // Python, also if it crashes.
    let repl = home.python(PythonLimits::default());
    let code = format!("import os; os.system({get:?}); os._exit(3)");
    let answer = call(&repl, "s", json!({"code": code, "network": true})).await;
    assert!(!answer.ok && answer.text.ends_with(&line), "{}", answer.text);
    assert_eq!(contacts(&answer), expected);
}

#[tokio::test]
async fn commands_see_documents_only_on_request() {
    let home = home();
    let (terminal, repl) = (Terminal::new(home.environment.clone()), home.python(PythonLimits::default()));
    let cat = "cat ../memory/MEMORY.md ../knowledge/doc.md; ls ../knowledge";
    let answer = bash(&terminal, cat).await;
    assert!(answer.text.contains("likes tea") && !answer.text.contains("obey"), "{}", answer.text);
    assert!(answer.text.contains("only with \"reads\": [\"knowledge\"]"), "it is told how: {}", answer.text);
    let reading = json!({"command": cat, "reads": ["knowledge"]});
    let answer = call(&terminal, "s", reading.clone()).await;
    assert!(answer.ok && answer.text.contains("obey me"), "{}", answer.text);
    let shown = prepare(&terminal, "s", reading.clone()).await.shown();
    assert_eq!(shown.reads, ["knowledge"]);
    assert!(prepare(&terminal, "s", json!({"command": cat})).await.shown().reads.is_empty());
    assert_eq!(prepare(&terminal, "s", reading).await.outside_text().brings, [Taint::Command, Taint::Output]);
    let without = prepare(&terminal, "s", json!({"command": cat, "reads": []})).await;
    assert_eq!(without.outside_text().brings, [Taint::Output]);
    let tools = ToolSet::new(vec![Arc::new(Terminal::new(home.environment.clone()))]).unwrap();
    let session = SessionId::parse("s").unwrap();
    let conversation = Session::new("", 0.0);
    let context = ToolContext::new(&session, "call_1", &conversation);
    let refused = tools.prepare("terminal", r#"{"command": "ls", "reads": ["sessions"]}"#, context).await;
    assert!(refused.is_err_and(|why| why.to_string().contains("one of \"knowledge\"")));

    let plain = prepare(&repl, "s", json!({"code": "1"})).await;
    let open = "print(open('../knowledge/doc.md').read())";
    python(&repl, "x = 1").await;
    let answer = python(&repl, open).await;
    assert!(!answer.ok && answer.text.contains("only with \"reads\""), "{}", answer.text);
    assert!(plain.outside_text().holds.is_none());
    let reading = || json!({"code": open, "reads": ["knowledge"]});
    let answer = call(&repl, "s", reading()).await;
    assert!(answer.ok && answer.text.ends_with("obey me"), "{}", answer.text);
    assert!(answer.text.starts_with("[new Python: a Python that may read knowledge/"), "{}", answer.text);
    // The process may keep what it has read, so the taint counts from then on, also for calls that read nothing.
    let answer = python(&repl, "y = 2").await;
    assert!(answer.ok && plain.outside_text().holds.is_some(), "{}", answer.text);
    assert_eq!(call(&repl, "s", reading()).await.text, "obey me", "the same Python");
    repl.session_closed(&session);
    assert!(plain.outside_text().holds.is_none());
    assert!(!python(&repl, open).await.ok, "another one cannot");
}

#[tokio::test]
async fn python_shows_tracebacks_of_the_code_only() {
    let home = home();
    let repl = home.python(PythonLimits::default());
    python(&repl, "def f():\n    return 1 / 0").await;
    let answer = python(&repl, "print('before')\nf()").await;
    assert!(!answer.ok);
    assert_eq!(answer.message, "ZeroDivisionError: division by zero");
    assert!(
        answer
            .text
            .starts_with("before\nTraceback (most recent call last):\n  File \"<call 2>\", line 2, in <module>\n"),
        "{}",
        answer.text
    );
    assert!(answer.text.contains("File \"<call 1>\", line 2, in f\n    return 1 / 0"), "{}", answer.text);
    assert!(!answer.text.contains("<string>"), "{}", answer.text);
    let answer = python(&repl, "x = = 1").await;
    assert!(
        answer.text.contains("x = = 1") && !answer.text.contains("ast.py") && answer.message.starts_with("SyntaxError"),
        "{}",
        answer.text
    );
    let answer = python(&repl, "open('/etc/x', 'w')").await;
    assert!(
        // Without its own mount namespace, Landlock refuses the write, with another error.
        (answer.text.contains("Read-only file system") || answer.text.contains("PermissionError"))
            && answer.text.contains("may write only in scratch/"),
        "{}",
        answer.text
    );
    let answer = python(&repl, "print('a' * 10000); 'end'").await;
    assert!(
        answer.text.contains("bytes left out")
            && answer.text.contains("'end'\n[output cut to 5,000 characters of 10,007 bytes]"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn slow_python_is_interrupted_then_killed() {
    let home = home();
    let wall = Duration::from_secs(2);
    let repl = home.python(PythonLimits { wall, ..PythonLimits::default() });
    python(&repl, "x = 1").await;
    let answer = python(&repl, "print('partial')\nimport time\ntime.sleep(100)").await;
    assert!(!answer.ok && answer.text.starts_with("partial\nTraceback"), "{}", answer.text);
    assert!(
        answer.text.ends_with("KeyboardInterrupt\n[interrupted after 2 s; the variables are kept]"),
        "{}",
        answer.text
    );
    assert_eq!(python(&repl, "x").await.text, "1");

    let answer = python(&repl, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass").await;
    assert!(
        answer.text.contains("killed: it did not stop") && answer.text.contains("variables are lost"),
        "{}",
        answer.text
    );
    assert!(python(&repl, "x").await.text.contains("NameError"));
}

#[tokio::test]
async fn dead_python_is_reported_and_replaced() {
    let home = home();
    let repl = home.python(PythonLimits::default());
    let answer = python(&repl, "import os; os._exit(7)").await;
    assert!(
        !answer.ok && answer.text.contains("ended with exit code 7") && answer.text.contains("lost"),
        "{}",
        answer.text
    );
    assert_eq!(python(&repl, "1").await.text, "1");
    let answer = python(&repl, "os = __import__('os'); os.kill(os.getpid(), 9)").await;
    assert!(answer.text.contains("killed by signal 9"), "{}", answer.text);
    assert_eq!(python(&repl, "2").await.text, "2");
}

#[tokio::test]
async fn idle_pythons_close_and_next_call_says_so() {
    let home = home();
    let repl = home.python(PythonLimits { idle: Duration::from_millis(100), ..PythonLimits::default() });
    assert_eq!(python(&repl, "x = 1; x").await.text, "1");
    let started = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(150)).await;
        let text = python(&repl, "'x' in globals()").await.text;
        if text
            == "[new Python: the last one was closed because nobody used it; earlier variables and imports are gone]\nFalse"
        {
            break;
        }
        assert!(text == "True" && started.elapsed() < Duration::from_secs(20), "{text}");
    }

    let repl = home.python(PythonLimits { alive: 2, ..PythonLimits::default() });
    for session in ["a", "b", "c"] {
        assert_eq!(call(&repl, session, json!({"code": "x = 1; x"})).await.text, "1");
    }
    assert_eq!(call(&repl, "b", json!({"code": "x"})).await.text, "1");
    let text = call(&repl, "a", json!({"code": "2"})).await.text;
    assert_eq!(
        text,
        "[new Python: the last one was closed to make room for other chats; earlier variables and imports are gone]\n2"
    );

    repl.session_closed(&SessionId::parse("b").unwrap());
    let answer = call(&repl, "b", json!({"code": "3"})).await;
    assert_eq!(
        (answer.text.as_str(), &answer.data["new_interpreter"]),
        ("3", &json!(false)),
        "a new session has nothing to lose"
    );
}

#[tokio::test]
async fn stopping_run_interrupts_python_and_keeps_variables() {
    let home = home();
    let repl = home.python(PythonLimits::default());
    python(&repl, "x = 1").await;
    let cancel = CancellationToken::new();
    let ready = home.environment.folder.path.join("ready");
    let stop = async {
        let started = Instant::now();
        while !ready.exists() {
            assert!(started.elapsed() < Duration::from_secs(20));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        cancel.cancel();
    };
    let arguments = json!({"code": "print('partial'); open('ready', 'w')\nwhile True: pass"});
    let (ended, ()) = tokio::join!(call_until(&repl, "s", arguments, cancel.clone()), stop);
    let Err(EndRun::Cancelled { text, .. }) = ended else { panic!("{ended:?}") };
    assert!(text.starts_with("partial\n"), "{text}");
    assert_eq!(python(&repl, "x").await.text, "1");
}
