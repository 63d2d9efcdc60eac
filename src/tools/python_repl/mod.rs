//! `python_repl`: runs Python code in an interpreter that stays alive between the calls of a session.
//!
//! Each session has one sandboxed `python3`, in which `driver.py` runs and exchanges lines of JSON. An interpreter ends if
//! it crashes, does not stop in time, is idle for ten minutes, must make room because eight others are in use, or if its
//! session is closed; the next call then starts a new one and reports that the state is gone.

mod interpreters;
mod report;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::interpreters::{InterpreterLost, Interpreters, Slot};
use self::report::{Report, crash, output};
use super::{
    CallKey, CommandChanges, CommandEnvironment, EndRun, OUTPUT_LIMIT, ObservedRun, OutsideText, Permissions, Prepared,
    PreparedCall, RunOptions, Tool, ToolContext, prepared,
};
use crate::domain::{Effect, EgressAttempts, SessionId, Shown, Taint, ToolAnswer, ToolSpec};
use crate::sandbox::{
    COMMAND_MEMORY, ClippedText, Interpreter, Job, Level, LineOutcome, Process, SandboxError, grouped,
};

/// Time limits for a call, for the start of Python, and for a reaction to Ctrl-C; limits for keeping interpreters.
#[derive(Clone, Copy, Debug)]
pub struct PythonLimits {
    pub wall: Duration,
    pub start: Duration,
    pub interrupt: Duration,
    /// Idle time after which an interpreter is closed.
    pub idle: Duration,
    /// Maximum number of interpreters alive at once.
    pub alive: usize,
}

impl Default for PythonLimits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30),
            start: Duration::from_secs(15),
            interrupt: Duration::from_secs(2),
            idle: Duration::from_secs(600),
            alive: 8,
        }
    }
}

pub struct PythonRepl {
    spec: ToolSpec,
    pythons: Arc<PythonHost>,
}

/// The interpreters of all sessions, and how they are started.
struct PythonHost {
    environment: CommandEnvironment,
    python: Interpreter,
    limits: PythonLimits,
    interpreters: Interpreters,
}

#[derive(Serialize)]
struct EvalRequest<'a> {
    id: u64,
    code: &'a str,
    /// Maximum bytes of output to return.
    keep: usize,
}

#[derive(Deserialize)]
struct EvalResponse {
    id: u64,
    error: Option<String>,
    head: String,
    tail: String,
    bytes: u64,
}

/// How a call in an interpreter ended.
enum Ended {
    Answered(EvalResponse),
    /// It did not end in time and was interrupted; the interpreter is still alive.
    Interrupted(EvalResponse),
    /// It did not stop even when interrupted.
    Stuck,
    Crashed,
}

impl PythonRepl {
    pub fn new(environment: CommandEnvironment, python: Interpreter) -> Self {
        Self::with_limits(environment, python, PythonLimits::default())
    }

    pub fn with_limits(environment: CommandEnvironment, python: Interpreter, limits: PythonLimits) -> Self {
        let spec = ToolSpec {
            name: "python_repl".to_owned(),
            description: format!(
                "Run Python 3 code in {}. Variables stay; the last expression's value is shown. {} 30 s. Returns \
                 up to 5,000 characters.",
                environment.folder.name,
                environment.bounds()
            ),
            parameters: json!({
                "type": "object",
                "properties": environment.parameters(json!({"code": {"type": "string", "minLength": 1}})),
                "required": ["code"],
            }),
            effect: Effect::Execute,
        };
        let pythons = PythonHost { environment, python, limits, interpreters: Interpreters::new(limits) };
        Self { spec, pythons: Arc::new(pythons) }
    }
}

#[derive(Deserialize)]
struct Arguments {
    code: String,
    #[serde(flatten)]
    permissions: Permissions,
}

/// Prepared code for the interpreter of a session.
struct Code {
    pythons: Arc<PythonHost>,
    call: CallKey,
    code: String,
    permissions: Permissions,
}

impl PythonHost {
    async fn execute(&self, call: &Code, cancel: &CancellationToken) -> Result<ToolAnswer, EndRun> {
        let Code { call, code, permissions, .. } = call;
        let (code, permissions) = (code.as_str(), *permissions);
        let slot = self.interpreters.slot(&call.session);
        let mut slot = tokio::select! {
            slot = slot.lock_owned() => slot,
            () = cancel.cancelled() => return Err(cancelled(String::new(), EgressAttempts::default())),
        };
        let started = Instant::now();
        slot.close_if_incompatible(permissions);
        // A call whose changes cannot be recorded must not be made only because the disk is full.
        let observed = match &self.environment.captures {
            Some(captures) => {
                let observed = tokio::select! {
                    observed = ObservedRun::begin(captures, call) => observed,
                    () = cancel.cancelled() => return Err(cancelled(String::new(), EgressAttempts::default())),
                };
                match observed {
                    Ok(observed) => Some(observed),
                    Err(error) => {
                        let message =
                            format!("nothing was run, because what it changes could not be recorded: {error}");
                        return Ok(ToolAnswer::failed(message).with_code(code));
                    }
                }
            }
            None => None,
        };
        let lost = slot.lost.take();
        // Removed from the slot during the call: if this future is dropped, the interpreter dies with it, and the next call
        // knows.
        let mut process = match slot.process.take() {
            Some(process) => {
                if permissions.network {
                    process.resume_network();
                }
                process
            }
            None => {
                if !self.interpreters.make_room() {
                    let message =
                        format!("{} interpreters of other chats are busy; try again later.", self.limits.alive);
                    return Ok(ToolAnswer::failed(message).with_code(code));
                }
                match self.start(permissions).await {
                    Ok(process) => process,
                    Err(error) => return Ok(CommandEnvironment::refusal(&error).with_code(code)),
                }
            }
        };
        if self.environment.reaches_outside(permissions) {
            slot.mark_tainted();
        }
        slot.lost = Some(InterpreterLost::Stopped);
        slot.calls += 1;
        let ended =
            self.evaluate(&mut process, EvalRequest { id: slot.calls, code, keep: 4 * OUTPUT_LIMIT }, cancel).await;
        // The network was granted for this call only: later attempts by its threads and children are refused.
        process.suspend_network();
        let egress_attempts = process.take_attempts();
        let report = Report { code, lost, permissions, egress_attempts: &egress_attempts, took: started.elapsed() };
        let answer = match ended {
            Ended::Answered(response) => {
                self.keep(&mut slot, process);
                Ok(self.answered(report, response))
            }
            Ended::Interrupted(response) => {
                self.keep(&mut slot, process);
                let text = output(&response).text;
                let message = format!("interrupted after {} s; the variables are kept", self.limits.wall.as_secs());
                if cancel.is_cancelled() { Err(text) } else { Ok(report.failed(&message, &text)) }
            }
            Ended::Stuck => {
                process.kill().await;
                if cancel.is_cancelled() {
                    Err(String::new())
                } else {
                    slot.lost = None;
                    let message = format!(
                        "killed: it did not stop after {} s. Output and variables are lost; the next call starts a new \
                         Python",
                        self.limits.wall.as_secs()
                    );
                    Ok(report.failed(&message, ""))
                }
            }
            Ended::Crashed => {
                let exit = process.kill().await;
                slot.lost = None;
                Ok(report.failed(&crash(exit), ""))
            }
        };
        // Also of a call that was stopped: what it had changed by then.
        let changes = match observed {
            Some(observed) => observed.end().await,
            None => CommandChanges::default(),
        };
        match answer {
            Ok(answer) => Ok(changes.add_to(answer)),
            Err(text) => Err(cancelled(changes.add_to(ToolAnswer::failed(text)).text, egress_attempts)),
        }
    }

    async fn start(&self, permissions: Permissions) -> Result<Process, SandboxError> {
        let readable =
            self.environment.readable(permissions).into_iter().chain(self.python.readable.iter().cloned()).collect();
        let driver = include_str!("driver.py");
        let program = self.python.program.to_string_lossy().into_owned();
        let job = Job {
            argv: [&program, "-I", "-c", driver].map(str::to_owned).into(),
            cwd: self.environment.folder.path.clone(),
            readable,
            env: Vec::new(),
            wall: self.limits.start,
            output_cap: 0,
            memory: COMMAND_MEMORY,
            network: permissions.job_network(),
            capture: None,
            owner: self.environment.folder.owner,
        };
        self.environment.sandbox.open(job).await
    }

    async fn evaluate(&self, process: &mut Process, request: EvalRequest<'_>, cancel: &CancellationToken) -> Ended {
        let id = request.id;
        let request = serde_json::to_string(&request).expect("numbers and a string");
        let deadline = Instant::now() + self.limits.wall;
        // If the process is gone, its response is missing below; if it does not read its input, the deadline applies.
        let sent = tokio::time::timeout(self.limits.wall, process.send(&request)).await;
        if sent.is_err() {
            return Ended::Stuck;
        }
        let first = tokio::select! {
            reply = reply(process, id, deadline) => reply,
            () = cancel.cancelled() => Reply::Late,
        };
        match first {
            Reply::Response(response) => Ended::Answered(response),
            Reply::Ended => Ended::Crashed,
            Reply::Late => {
                process.interrupt().await;
                match reply(process, id, Instant::now() + self.limits.interrupt).await {
                    Reply::Response(response) => Ended::Interrupted(response),
                    Reply::Ended => Ended::Crashed,
                    Reply::Late => Ended::Stuck,
                }
            }
        }
    }

    fn keep(&self, slot: &mut Slot, process: Process) {
        slot.process = Some(process);
        slot.lost = None;
        self.interpreters.used(slot);
    }

    fn answered(&self, report: Report<'_>, response: EvalResponse) -> ToolAnswer {
        let ClippedText { mut text, is_clipped } = output(&response);
        if is_clipped {
            text.push_str(&format!("\n[output cut to 5,000 characters of {} bytes]", grouped(response.bytes)));
        }
        if response.error.is_some()
            && let Some(hint) = self.environment.hint(&text, report.permissions)
        {
            text.push_str(&format!("\n[{hint}]"));
        }
        if text.is_empty() {
            text = "[no output]".to_owned();
        }
        let message = response.error.clone().unwrap_or_else(|| "ran".to_owned());
        let mut done = ToolAnswer::done(message, report.with_note(&text));
        done.ok = response.error.is_none();
        let mut data = json!({
            "duration_ms": report.took.as_millis() as u64,
            "output_bytes": response.bytes,
            "truncated": is_clipped,
            "new_interpreter": report.lost.is_some(),
        });
        report.egress_attempts.add_to(&mut data);
        done.with_code(report.code).with_data(data)
    }
}

impl Tool for PythonRepl {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, context: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let (pythons, call) = (self.pythons.clone(), context.key());
        let code = |Arguments { code, permissions }| Code { pythons, call, code, permissions };
        prepared("python_repl", arguments, code)
    }

    fn session_closed(&self, session: &SessionId) {
        self.pythons.interpreters.close(session);
    }

    fn home_closed(&self) {
        self.pythons.interpreters.close_all();
    }
}

impl PreparedCall for Code {
    fn effect(&self) -> Effect {
        Effect::Execute
    }

    fn shown(&self) -> Shown {
        self.pythons.environment.shown(&self.code, self.permissions)
    }

    fn level(&self) -> Option<Level> {
        Some(self.pythons.environment.sandbox.level())
    }

    fn outside_text(&self) -> OutsideText {
        let held = self.pythons.interpreters.is_tainted(&self.call.session).then_some(Taint::Command);
        self.pythons.environment.outside_text(self.permissions, held)
    }

    fn run<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        Box::pin(async move { self.pythons.execute(self, &options.cancel).await })
    }
}

fn cancelled(text: String, egress_attempts: EgressAttempts) -> EndRun {
    EndRun::Cancelled { text, egress_attempts }
}

enum Reply {
    Response(EvalResponse),
    Ended,
    Late,
}

async fn reply(process: &mut Process, id: u64, deadline: Instant) -> Reply {
    loop {
        match process.line(deadline.saturating_duration_since(Instant::now())).await {
            // Skips other lines: the code wrote them to a descriptor that it was not given.
            LineOutcome::Text(line) => match serde_json::from_str::<EvalResponse>(&line) {
                Ok(response) if response.id == id => return Reply::Response(response),
                Ok(_) | Err(_) => {}
            },
            LineOutcome::Ended => return Reply::Ended,
            LineOutcome::Late => return Reply::Late,
        }
    }
}
