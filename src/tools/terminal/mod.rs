//! `terminal`: runs one command line with bash in the sandbox.

mod deny;

pub use deny::refused;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::text::{plain, trimmed};
use super::{
    CallKey, Capturing, CommandEnvironment, EndRun, EndedRun, HeldChanges, OUTPUT_LIMIT, OutsideText, Permissions,
    Prepared, PreparedCall, Rehearsal, RunOptions, Tool, ToolContext, Unrehearsable, prepared,
};
use crate::domain::{Effect, Shown, ToolAnswer, ToolSpec};
use crate::sandbox::{COMMAND_MEMORY, ClippedText, Exit, Finished, Job, Level, grouped};

const WALL: Duration = Duration::from_secs(30);
/// Maximum bytes kept of each stream: enough for the characters shown, at up to four bytes each.
pub const KEPT: usize = 4 * OUTPUT_LIMIT;
/// Characters reserved for standard error, even if standard output alone would fill the limit.
const ERRORS_SHARE: usize = 1_500;

pub struct Terminal {
    spec: ToolSpec,
    shell: Arc<Shell>,
}

struct Shell {
    environment: CommandEnvironment,
    wall: Duration,
}

#[derive(Deserialize)]
struct Arguments {
    command: String,
    #[serde(flatten)]
    permissions: Permissions,
}

/// A prepared command line.
struct Command {
    shell: Arc<Shell>,
    call: CallKey,
    command: String,
    permissions: Permissions,
}

impl Terminal {
    pub fn new(environment: CommandEnvironment) -> Self {
        let spec = ToolSpec {
            name: "terminal".to_owned(),
            description: format!(
                "Run a bash command in scratch/. {} 30 s, no stdin. Returns up to 5,000 characters \
                 and the exit code.",
                environment.bounds()
            ),
            parameters: json!({
                "type": "object",
                "properties": environment.parameters(json!({"command": {"type": "string", "minLength": 1}})),
                "required": ["command"],
            }),
            effect: Effect::Execute,
        };
        Self { spec, shell: Arc::new(Shell { environment, wall: WALL }) }
    }

    /// Replaces the time limit of 30 seconds.
    pub fn with_limit(self, wall: Duration) -> Self {
        let environment = self.shell.environment.clone();
        Self { shell: Arc::new(Shell { environment, wall }), ..self }
    }
}

impl Command {
    async fn execute(&self, options: RunOptions<'_>) -> Result<ToolAnswer, EndRun> {
        let held = options.held;
        self.ended(options, Capturing::IfPossible).await.applied(self.call.clone(), held).await
    }

    /// Runs the command, and keeps its changes apart.
    async fn ended(&self, options: RunOptions<'_>, capturing: Capturing) -> EndedRun {
        let Self { shell, command, permissions, .. } = self;
        if let Some(why) = deny::refused(command) {
            let message = format!("not run: this command would {why}. Do it another way, or ask the user to.");
            let answer = ToolAnswer::failed(message).with_code(command);
            return EndedRun { answer, changes: HeldChanges::default(), stopped: None };
        }
        let job = Job {
            argv: vec!["/bin/bash".to_owned(), "-c".to_owned(), command.clone()],
            cwd: shell.environment.folder.path.clone(),
            readable: shell.environment.readable(*permissions),
            env: Vec::new(),
            wall: shell.wall,
            output_cap: KEPT,
            memory: COMMAND_MEMORY,
            network: permissions.job_network(),
            capture: None,
            owner: shell.environment.folder.owner,
        };
        let captured = shell.environment.begin(capturing, &self.call).await;
        let ended = captured.run(job, options.cancel, &|_| {}).await;
        let attempts = ended.as_ref().map(|done| done.egress_attempts.clone()).unwrap_or_default();
        let changes = captured.hold().await.with_attempts(attempts);
        let (answer, stopped) = match ended {
            Ok(done) if done.exit == Exit::Cancelled => {
                (ToolAnswer::failed(output(&done).text), Some(done.egress_attempts))
            }
            Ok(done) => (self.answer(&done), None),
            Err(error) => (CommandEnvironment::refusal(&error).with_code(command), None),
        };
        EndedRun { answer, changes, stopped }
    }

    fn answer(&self, done: &Finished) -> ToolAnswer {
        let ClippedText { mut text, is_clipped } = output(done);
        let message = match done.exit {
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(signal) => format!("killed by signal {signal}{}", signal_name(signal)),
            Exit::TimedOut => format!("stopped after {} s, with everything it had started", self.shell.wall.as_secs()),
            Exit::Cancelled => "stopped".to_owned(),
        };
        if is_clipped {
            let total = grouped(done.stdout.total_bytes + done.stderr.total_bytes);
            text.push_str(&format!("\n[output cut to 5,000 characters of {total} bytes]"));
        }
        if done.exit != Exit::Code(0) {
            text.push_str(&format!("\n[{message}]"));
        }
        if let Some(advice) = self.advice(done) {
            text.push_str(&format!("\n[{advice}]"));
        }
        if let Some(lines) = self.shell.environment.contacted(&done.egress_attempts, self.permissions) {
            text.push_str(&format!("\n{lines}"));
        }
        let text = match text.trim_start_matches('\n') {
            "" => "[no output, exit code 0]",
            text => text,
        };
        let exit_code = match done.exit {
            Exit::Code(code) => json!(code),
            Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled => json!(null),
        };
        let mut data = json!({
            "exit_code": exit_code,
            "duration_ms": done.took.as_millis() as u64,
            "stdout_bytes": done.stdout.total_bytes,
            "stderr_bytes": done.stderr.total_bytes,
            "truncated": is_clipped,
        });
        done.egress_attempts.add_to(&mut data);
        let mut answer = ToolAnswer::done(message, text).with_code(&self.command).with_data(data);
        answer.ok = done.exit == Exit::Code(0);
        answer
    }

    fn advice(&self, done: &Finished) -> Option<String> {
        match done.exit {
            Exit::Code(0) | Exit::Cancelled => None,
            Exit::Code(127) => Some("That program is not installed; nothing can be installed here.".to_owned()),
            // A shell reports a child killed by a signal with such an exit code.
            Exit::Code(code) if code > 128 && !signal_name(code - 128).is_empty() => {
                Some(format!("Exit code {code} is signal {}{}.", code - 128, signal_name(code - 128)))
            }
            Exit::TimedOut => {
                let advice = "Split the work, or let it print less and stop by itself.";
                // It may have waited for something the sandbox denies, as bash does when it cannot fork.
                Some(self.hint(done).map_or(advice.to_owned(), |hint| format!("{hint} {advice}")))
            }
            Exit::Signal(libc::SIGPIPE) => Some("It wrote more than 64 MiB; pipe it through head.".to_owned()),
            Exit::Code(_) | Exit::Signal(_) => self.hint(done).map(Cow::into_owned),
        }
    }

    fn hint(&self, done: &Finished) -> Option<Cow<'static, str>> {
        // All of the kept output, because the answer may omit the relevant line.
        let output = [done.stdout.text(), done.stderr.text()].join("\n");
        self.shell.environment.hint(&output, self.permissions)
    }
}

impl Tool for Terminal {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, context: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let (shell, call) = (self.shell.clone(), context.key());
        prepared("terminal", arguments, |Arguments { command, permissions }| Command {
            shell,
            call,
            command,
            permissions,
        })
    }
}

impl PreparedCall for Command {
    fn effect(&self) -> Effect {
        Effect::Execute
    }

    fn shown(&self) -> Shown {
        self.shell.environment.shown(&self.command, self.permissions)
    }

    fn level(&self) -> Option<Level> {
        Some(self.shell.environment.sandbox.level())
    }

    fn unrehearsable(&self) -> Option<Unrehearsable> {
        self.shell.environment.unrehearsable(self.permissions)
    }

    fn rehearse<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<Rehearsal, EndRun>> {
        Box::pin(async { self.ended(options, Capturing::Required).await.held() })
    }

    fn outside_text(&self) -> OutsideText {
        self.shell.environment.outside_text(self.permissions, None)
    }

    fn run<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        Box::pin(self.execute(options))
    }
}

/// Returns both streams in at most [`OUTPUT_LIMIT`] characters.
pub fn output(done: &Finished) -> ClippedText {
    let errors_whole = done.stderr.clip(OUTPUT_LIMIT).text;
    let output_whole = done.stdout.clip(OUTPUT_LIMIT).text;
    let room = OUTPUT_LIMIT.saturating_sub(output_whole.chars().count()).max(ERRORS_SHARE);
    let errors = done.stderr.clip(room);
    let for_output = OUTPUT_LIMIT - errors_whole.chars().count().min(room).min(OUTPUT_LIMIT);
    let output = done.stdout.clip(for_output);
    let mut text = trimmed(&plain(&output.text)).unwrap_or_default().to_owned();
    if let Some(shown) = trimmed(&plain(&errors.text)) {
        text.push_str(if text.is_empty() { "[stderr]\n" } else { "\n[stderr]\n" });
        text.push_str(shown);
    }
    ClippedText { text, is_clipped: errors.is_clipped || output.is_clipped }
}

/// Describes a signal, with a space before it; empty if there is nothing to say.
pub fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => " (invalid memory access)",
        libc::SIGABRT => " (aborted)",
        libc::SIGKILL => " (killed, perhaps for its use of memory or processor time)",
        libc::SIGXCPU => " (processor time)",
        libc::SIGXFSZ => " (a file larger than allowed here)",
        libc::SIGPIPE => " (output closed)",
        _ => "",
    }
}
