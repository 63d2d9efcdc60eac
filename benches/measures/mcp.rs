//! MCP servers: what a call takes beyond the server's own time, the start in the sandbox, servers that nobody uses, and finding
//! one of many tools. And the start of `miniclaw acp`.

use std::io::{self, BufRead, BufReader, Error, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use miniclaw::provider::scripted::MockProvider;
use serde_json::{Value, json};

use super::{Bench, fast_model, model, titled_session};
use crate::kit::http::{Connection, find};
use crate::kit::numbers::Samples;
use crate::kit::report::Report;
use crate::kit::server::{Server, program, starter_home};

const SERVER: &str = include_str!("mcp.py");
const IDLE_SERVERS: usize = 10;
const TOOLS: usize = 2_000;

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("MCP servers and editors");
    calls(bench, report).await?;
    starts(bench, report).await?;
    idle(bench, report).await?;
    find_tools(bench, report).await?;
    editor(bench, report).await?;
    report.show();
    Ok(())
}

/// A call through the server, and the same straight to the program.
async fn calls(bench: &Bench, report: &mut Report) -> io::Result<()> {
    let home = Home::new(bench, "mcp-call", fast_model(1).await?)?;
    let server = Server::start(&home.folder)?;
    let mut page = server.connect().await?.into_page().await?;
    confirm(&mut page, "echo", entry(1)).await?;
    let mut direct = Program::of(Command::new("/usr/bin/python3").args(["-c", SERVER, "1"]))?;
    let (mut ours, mut base) = (Samples::default(), Samples::default());
    let arguments = json!({"text": "hello"});
    for turn in 0..bench.times(300) + 5 {
        let began = Instant::now();
        let body = json!({"tool": "tool_0", "arguments": arguments});
        let called = page.post("/api/mcp/echo/call", &body).await?.json()?;
        let took = began.elapsed();
        if called["text"].as_str().is_none_or(|text| !text.contains("hello")) {
            return Err(Error::other(format!("the tool answered {called}")));
        }
        let began = Instant::now();
        direct.ask("tools/call", &json!({"name": "tool_0", "arguments": arguments}))?;
        if turn >= 5 {
            ours.push_ms(took);
            base.push_ms(began.elapsed());
        }
    }
    let beyond = ours.beyond(base.p50());
    let note = format!(
        "n = {}, in the sandbox, the request to /api/mcp included; the server's own is {:.2} ms; ± {:.2}",
        beyond.len(),
        base.p50(),
        beyond.spread()
    );
    report.figure("a call beyond the server's own time, p50", beyond.p50(), "ms").at_most(1.0).note(note);
    Ok(())
}

/// Starts with and without the sandbox, one after the other.
async fn starts(bench: &Bench, report: &mut Report) -> io::Result<()> {
    let fenced = Home::new(bench, "mcp-fenced", fast_model(1).await?)?;
    let plain = Home::new(bench, "mcp-plain", fast_model(1).await?)?;
    let fenced_server = Server::start(&fenced.folder)?;
    let plain_server = Server::start_without_sandbox(&plain.folder)?;
    let mut fenced_page = fenced_server.connect().await?.into_page().await?;
    let mut plain_page = plain_server.connect().await?.into_page().await?;
    confirm(&mut fenced_page, "echo", entry(1)).await?;
    confirm(&mut plain_page, "echo", entry(1)).await?;
    let (mut in_fence, mut without) = (Samples::default(), Samples::default());
    for _ in 0..bench.times(60) {
        without.push_ms(reconnect(&mut plain_page).await?);
        in_fence.push_ms(reconnect(&mut fenced_page).await?);
    }
    let beyond = in_fence.beyond(without.p50());
    let note = format!(
        "n = {}, a program in Python, stopped, started and listed; without the sandbox {:.1} ms; ± {:.1}",
        beyond.len(),
        without.p50(),
        beyond.spread()
    );
    report.figure("start in the sandbox beyond one without, p50", beyond.p50(), "ms").at_most(5.0).note(note);
    Ok(())
}

async fn reconnect(page: &mut Connection) -> io::Result<Duration> {
    let began = Instant::now();
    expect_ok(&page.post("/api/mcp/echo/reconnect", &json!({})).await?.json()?)?;
    Ok(began.elapsed())
}

/// The memory and the processes of servers that are configured and confirmed, after a restart.
async fn idle(bench: &Bench, report: &mut Report) -> io::Result<()> {
    let none = Home::new(bench, "mcp-none", fast_model(1).await?)?;
    let ten = Home::new(bench, "mcp-ten", fast_model(1).await?)?;
    let server = Server::start(&ten.folder)?;
    let mut page = server.connect().await?.into_page().await?;
    for number in 0..IDLE_SERVERS {
        confirm(&mut page, &format!("idle{number}"), entry(5)).await?;
    }
    drop(server);
    let (mut memory_of_none, mut memory_of_ten, mut processes) = (Samples::default(), Samples::default(), 0);
    for _ in 0..bench.times(20).max(3) {
        for (home, memory) in [(&none, &mut memory_of_none), (&ten, &mut memory_of_ten)] {
            let server = Server::start(&home.folder)?;
            let mut page = server.connect().await?;
            let id = titled_session(&mut page).await?;
            let body = json!({"message": "hi", "session_id": id}).to_string();
            page.stream("/api/chat", &body, |_, _| ()).await?;
            memory.push(server.memory()?.1);
            processes = processes.max(server.children()?);
        }
    }
    let more = memory_of_ten.beyond(memory_of_none.p50());
    let note = format!("n = {}, after a start and a turn, without file pages; ± {:.2}", more.len(), more.spread());
    report.figure(format!("memory of {IDLE_SERVERS} idle servers, p50"), more.p50(), "MB").at_most(1.0).note(note);
    report.figure("their processes", processes as f64, "").at_most(0.0);
    Ok(())
}

/// The step of a turn that looks for a tool among many.
async fn find_tools(bench: &Bench, report: &mut Report) -> io::Result<()> {
    let n = bench.times(100);
    let turn = |number: usize| {
        let query = json!({"query": format!("change the colour of object {}", number * 37)});
        let call = json!({"tool_call": {"id": format!("c{number}"), "name": "find_tools", "arguments": query}});
        let said = json!({"steps": [{"text": "Done."}, {"finish": "stop"}]});
        [json!({"steps": [call, {"finish": "tool_calls"}]}), said]
    };
    let replies: Vec<Value> = (0..n).flat_map(turn).collect();
    let home = Home::new(bench, "mcp-find", model(json!(replies)).await?)?;
    let server = Server::start(&home.folder)?;
    let mut page = server.connect().await?.into_page().await?;
    let listed = confirm(&mut page, "many", entry(TOOLS)).await?;
    let tools = listed["tools"].as_array().ok_or_else(|| Error::other("no tools"))?;
    let seen: Vec<Value> =
        tools.iter().map(|tool| json!({"name": tool["definition"]["name"], "sha256": tool["sha256"]})).collect();
    if seen.len() != TOOLS {
        return Err(Error::other(format!("{} tools are listed", seen.len())));
    }
    expect_ok(&page.post("/api/mcp/many/tools/trust", &json!({"tools": seen})).await?.json()?)?;
    let (mut id, mut took) = (String::new(), Samples::default());
    for turn in 0..n {
        if turn % 10 == 0 {
            id = titled_session(&mut page).await?;
        }
        let body = json!({"message": "find it", "session_id": id}).to_string();
        let mut started = None;
        let each = |event: &[u8], now: Instant| {
            if find(event, b"event: tool_start").is_some() {
                started = Some(now);
            } else if find(event, b"event: tool_end").is_some()
                && let Some(started) = started.take()
            {
                took.push_ms(now - started);
            }
        };
        page.stream("/api/chat", &body, each).await?;
    }
    if took.len() != n {
        return Err(Error::other(format!("{} of {n} searches were seen", took.len())));
    }
    let note = format!("n = {n}, the step of a turn with its facts; ± {:.2}", took.spread());
    report.figure(format!("`find_tools` among {TOOLS} tools, p50"), took.p50(), "ms").at_most(3.0).note(note);
    Ok(())
}

/// The time until an editor's first request is answered.
async fn editor(bench: &Bench, report: &mut Report) -> io::Result<()> {
    let home = Home::new(bench, "acp", fast_model(1).await?)?;
    let server = Server::start(&home.folder)?;
    let mut samples = Samples::default();
    for _ in 0..bench.times(40) {
        let began = Instant::now();
        let mut command = program();
        let mut acp = Program::of(command.args(["acp", "--home"]).arg(&home.folder))?;
        acp.ask("initialize", &json!({"protocolVersion": 1, "clientCapabilities": {}}))?;
        samples.push_ms(began.elapsed());
    }
    drop(server);
    let note = format!("n = {}, beside a running server; ± {:.1}", samples.len(), samples.spread());
    let name = "start of `miniclaw acp` until `initialize` is answered, p50";
    report.figure(name, samples.p50(), "ms").at_most(50.0).note(note);
    Ok(())
}

/// A starter home and its model.
struct Home {
    folder: PathBuf,
    _model: MockProvider,
}

impl Home {
    fn new(bench: &Bench, name: &str, model: MockProvider) -> io::Result<Self> {
        let folder = bench.folder(name);
        starter_home(&folder, &model.base_url)?;
        Ok(Self { folder, _model: model })
    }
}

fn entry(tools: usize) -> Value {
    json!({"command": "/usr/bin/python3", "args": ["-c", SERVER, tools.to_string()]})
}

/// Adds a server, confirms its entry, and returns it as it is listed then.
async fn confirm(page: &mut Connection, name: &str, entry: Value) -> io::Result<Value> {
    let of_name = |listed: &Value| {
        let servers = listed["servers"].as_array()?;
        servers.iter().find(|server| server["name"] == name).cloned()
    };
    let missing = |listed: &Value| Error::other(format!("{name} is not listed: {listed}"));
    let listed = page.post("/api/mcp", &json!({"mcpServers": {name: entry}})).await?.json()?;
    let added = of_name(&listed).ok_or_else(|| missing(&listed))?;
    let seen = json!({"sha256": added["sha256"]});
    let listed = page.post(&format!("/api/mcp/{name}/trust"), &seen).await?.json()?;
    of_name(&listed).ok_or_else(|| missing(&listed))
}

fn expect_ok(answer: &Value) -> io::Result<()> {
    if answer["servers"].is_array() { Ok(()) } else { Err(Error::other(answer.to_string())) }
}

/// A program that answers requests in JSON-RPC, a line each.
struct Program {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    fn of(command: &mut Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let pipe = || Error::other("the program has no pipe");
        let (input, output) = (child.stdin.take().ok_or_else(pipe)?, child.stdout.take().ok_or_else(pipe)?);
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    fn ask(&mut self, method: &str, params: &Value) -> io::Result<()> {
        let mut request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        request.push('\n');
        self.input.write_all(request.as_bytes())?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line)?;
        if answer["result"].is_object() { Ok(()) } else { Err(Error::other(line)) }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
