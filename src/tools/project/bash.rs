//! `bash`: runs several commands of a project, one after the other, in the sandbox.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::answer::{self, FailedDetails, Verb};
use super::command::{Command, CommandEnd, CommandLimits, GivenSecrets, Reason, Running, Shell, WALL};
use super::jobs::{JobReport, Jobs, LiveText, NewJob};
use super::{ProjectFiles, spec};
use crate::domain::visible::visible;
use crate::domain::{Effect, EgressAttempts, Language, SecretName, SessionId, Shown, ToolAnswer, ToolSpec};
use crate::sandbox::Level;
use crate::tools::Unrehearsable;
use crate::tools::{
    CallKey, CapturedRun, Capturing, CommandEnvironment, EndRun, EndedRun, HeldChanges, LiveOutput, OutsideText,
    Permissions, Prepared, PreparedCall, Rehearsal, RunOptions, Tool, ToolContext, line, read, whole_number,
};

/// Maximum time of a command that the call asks for, in seconds.
const MAX_TIMEOUT: usize = 600;
const EXECUTE: Verb = Verb { word: "execute", past: "executed", label: "执行结果" };

pub struct Bash {
    shell: Arc<Shell>,
    jobs: Arc<Jobs>,
    spec: ToolSpec,
}

impl Bash {
    /// `jobs` are the commands in the background, which people can see and stop too.
    ///
    /// With `secrets`, a call can ask for these.
    pub fn new(
        files: ProjectFiles,
        environment: CommandEnvironment,
        (jobs, secrets): (Arc<Jobs>, &[SecretName]),
    ) -> Self {
        let command = json!({
            "type": "object",
            "properties": {"instruction": {"type": "string", "minLength": 1}, "working_directory": {"type": "string"}},
            "required": ["instruction"],
        });
        let properties = environment.parameters(json!({
            "commands": {"type": "array", "items": command},
            "stop_on_error": {"type": "boolean"},
            "timeout": {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT},
            "background": {"type": "boolean"},
            "job": {"type": "string"},
            "stop": {"type": "boolean"},
        }));
        let properties = with_secrets(properties, secrets);
        let description = format!(
            "Run bash commands in the project, in order. {} 30 s each, or timeout. background returns a job id; job looks at it, \
             with stop ends it.",
            environment.bounds()
        );
        let spec = spec("bash", &description, (properties, &[]), Effect::Execute);
        Self { shell: Arc::new(Shell::new(files, environment)), jobs, spec }
    }
}

/// Adds the parameter for secrets with these names; nothing if there are none.
fn with_secrets(mut parameters: Value, names: &[SecretName]) -> Value {
    if !names.is_empty() {
        let description = "as environment variables; the user is asked";
        parameters["secrets"] = json!({"type": "array", "items": {"enum": names}, "description": description});
    }
    parameters
}

#[derive(Clone, Deserialize)]
struct Arguments {
    #[serde(default)]
    commands: Vec<Command>,
    #[serde(default)]
    stop_on_error: bool,
    #[serde(default, deserialize_with = "whole_number")]
    timeout: Option<usize>,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    job: Option<String>,
    #[serde(default)]
    stop: bool,
    /// Names of the project's secrets.
    #[serde(default)]
    secrets: Vec<SecretName>,
    #[serde(flatten)]
    permissions: Permissions,
}

/// A call that looks at a job, or stops it.
struct JobCall {
    jobs: Arc<Jobs>,
    session: SessionId,
    id: String,
    stop: bool,
}

struct BashCall {
    shell: Arc<Shell>,
    jobs: Arc<Jobs>,
    call: CallKey,
    arguments: Arguments,
    language: Language,
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: Value, context: ToolContext<'a>) -> BoxFuture<'a, Prepared> {
        let prepared = read("bash", arguments).and_then(|arguments| self.call(arguments, context));
        Box::pin(std::future::ready(prepared))
    }

    fn session_closed(&self, session: &SessionId) {
        self.jobs.close(session);
    }
}

impl Bash {
    fn call(&self, arguments: Arguments, context: ToolContext<'_>) -> Prepared {
        let jobs = self.jobs.clone();
        match (&arguments.job, arguments.commands.is_empty()) {
            (Some(id), true) => {
                let session = context.session.clone();
                Ok(Box::new(JobCall { jobs, session, id: id.clone(), stop: arguments.stop }))
            }
            (None, false) => {
                let (shell, language) = (self.shell.clone(), context.conversation.language());
                Ok(Box::new(BashCall { shell, jobs, call: context.key(), arguments, language }))
            }
            _ => Err(Box::new(ToolAnswer::failed("a call has either commands or job; nothing was run."))),
        }
    }
}

impl BashCall {
    /// Returns the commands, one a line.
    fn lines(&self) -> String {
        let lines: Vec<String> = self.arguments.commands.iter().map(Command::line).collect();
        lines.join("\n")
    }

    fn limits(&self) -> CommandLimits {
        let wall = self.arguments.timeout.map_or(WALL, |seconds| Duration::from_secs(seconds as u64));
        CommandLimits { permissions: self.arguments.permissions, wall }
    }

    async fn execute(&self, options: RunOptions<'_>) -> Result<ToolAnswer, EndRun> {
        let given = match self.given(options.approved).await {
            Ok(given) => given,
            Err(refused) => return Ok(*refused),
        };
        if self.arguments.background {
            return Ok(self.start(given));
        }
        let held = options.held;
        self.ended(options, (Capturing::IfPossible, given)).await.applied(self.call.clone(), held).await
    }

    /// Returns the secrets that the commands get: those that a person approved by name, or the answer that refuses them.
    async fn given(&self, approved: Option<&Shown>) -> Result<GivenSecrets, Box<ToolAnswer>> {
        let wanted = &self.arguments.secrets;
        let is_approved =
            |name: &SecretName| approved.is_some_and(|shown| shown.secrets.iter().any(|known| known == name.as_str()));
        if !wanted.iter().all(is_approved) {
            let words = "secrets are given only to commands that the user approved with them. Nothing was run.";
            return Err(Box::new(ToolAnswer::failed(words)));
        }
        let given = self.shell.secrets(wanted).await;
        given.map_err(|why| Box::new(ToolAnswer::failed(format!("{why}. Nothing was run; tell the user."))))
    }

    /// Runs the commands, and keeps their changes apart.
    async fn ended(&self, options: RunOptions<'_>, (capturing, given): (Capturing, GivenSecrets)) -> EndedRun {
        let captured = self.shell.environment.begin(capturing, &self.call).await.masking(given.mask.clone());
        let ends = self.run_all((&captured, &given), options).await;
        let (answer, changes) = (self.answer(&ends), captured.hold().await);
        let was_stopped = ends.last().is_some_and(|end| end.is_cancelled);
        let attempts = ends.into_iter().map(|end| end.egress_attempts);
        let attempts = attempts.fold(EgressAttempts::default(), EgressAttempts::merged);
        let changes = changes.with_attempts(attempts.clone());
        EndedRun { answer, changes, stopped: was_stopped.then_some(attempts) }
    }

    async fn run_all(
        &self,
        (captured, given): (&CapturedRun, &GivenSecrets),
        options: RunOptions<'_>,
    ) -> Vec<CommandEnd> {
        let mut ends = Vec::new();
        for command in &self.arguments.commands {
            let output = LiveText::masking(&given.mask);
            let running = Running { cancel: &options.cancel, live: &options.live, output: &output, captured, given };
            let end = self.shell.run(command, self.limits(), running).await;
            let stops = end.is_cancelled || (end.reason.is_some() && self.arguments.stop_on_error);
            ends.push(end);
            if stops {
                break;
            }
        }
        ends
    }

    /// Starts the commands in the background.
    fn start(&self, given: GivenSecrets) -> ToolAnswer {
        let (cancel, call) = (CancellationToken::new(), self.call.clone());
        let (command, root) = (visible(&self.lines()), self.shell.root().clone());
        let mask = given.mask.clone();
        let new = NewJob { call_id: call.call_id.clone(), command, root, mask, cancel: cancel.clone() };
        let Some(job) = self.jobs.add(&call.session, new) else {
            return ToolAnswer::failed("too many jobs are running in the background; stop one first. Nothing was run.");
        };
        let id = job.id.clone();
        let (shell, arguments, limits) = (self.shell.clone(), self.arguments.clone(), self.limits());
        // Weak: the jobs are stopped when their tenant drops them.
        let jobs = Arc::downgrade(&self.jobs);
        tokio::spawn(async move {
            let captured = shell.environment.begin(Capturing::Never, &call).await.masking(given.mask.clone());
            let mut last = None;
            for command in &arguments.commands {
                let live = LiveOutput::default();
                let running =
                    Running { cancel: &cancel, live: &live, output: &job.live, captured: &captured, given: &given };
                let end = shell.run(command, limits, running).await;
                let stops = end.is_cancelled || (end.reason.is_some() && arguments.stop_on_error);
                last = Some(end);
                if stops {
                    break;
                }
            }
            // Whoever sees that the job has ended can undo what it changed.
            let changes = captured.hold().await.apply(call.session.clone(), call.call_id).await;
            if let (Some(jobs), Some(end)) = (jobs.upgrade(), last) {
                jobs.end(&call.session, &job, ((&end).into(), changes));
            }
        });
        let text = format!("started in the background as {id}; look at it with {{\"job\": \"{id}\"}}");
        let answer =
            ToolAnswer::done(format!("started as {id}"), text).with_data(json!({"job": id, "state": "running"}));
        self.arguments.commands.iter().fold(answer, |answer, command| answer.with_code(&command.instruction))
    }

    fn answer(&self, ends: &[CommandEnd]) -> ToolAnswer {
        let (total, language) = (self.arguments.commands.len(), self.language);
        let mut details = FailedDetails::default();
        let (mut rows, mut texts) = (Vec::new(), Vec::new());
        for (at, (command, end)) in self.arguments.commands.iter().zip(ends).enumerate() {
            let failure = end.reason.map(Reason::failure);
            let mut row = json!({
                "working_directory": command.shown_folder(), "instruction": command.instruction,
                "result": EXECUTE.result(failure.as_ref(), language), "exit_code": end.exit_code, "output": end.output,
                "output_type": end.output_type, "duration_ms": end.took.as_millis() as u64,
            });
            if let (Some(reason), Some(failure)) = (end.reason, &failure) {
                row["code"] = json!(failure.code);
                details.add(json!({"command_index": at, "suggestion": reason.suggestion(language)}), failure, language);
            }
            end.egress_attempts.add_to(&mut row);
            rows.push(row);
            texts.push(match total {
                1 => end.text.clone(),
                _ => format!("$ {}\n{}", command.instruction, end.text),
            });
        }
        let failed = details.len();
        let skipped = total - ends.len();
        if skipped > 0 {
            texts.push(format!("[{skipped} commands were not run, because one before them failed]"));
        }
        let successful = ends.len() - failed;
        let mut data = json!({
            "commands": rows,
            "summary": {
                "total_commands": total, "successful_commands": successful, "failed_commands": failed,
                "skipped_commands": skipped, "success_rate": format!("{}%", 100 * successful / total.max(1)),
                "failed_details": details.into_value(),
            },
        });
        let attempts = ends.iter().map(|end| end.egress_attempts.clone());
        attempts.fold(EgressAttempts::default(), EgressAttempts::merged).add_to(&mut data);
        let message = match (total, ends) {
            (1, [end]) => end.message.clone(),
            _ => answer::message(total, failed, language),
        };
        let answer = ToolAnswer::done(message, texts.join("\n\n")).with_data(data);
        let codes = self.arguments.commands.iter().map(|command| command.instruction.clone());
        ToolAnswer { ok: failed == 0 && skipped == 0, operation_code: codes.collect(), ..answer }
    }
}

impl PreparedCall for BashCall {
    fn effect(&self) -> Effect {
        Effect::Execute
    }

    fn shown(&self) -> Shown {
        let mut command = self.lines();
        if self.arguments.background {
            command.push_str(" &");
        }
        let shown = self.shell.environment.shown("", self.arguments.permissions);
        let secrets = self.arguments.secrets.iter().map(SecretName::to_string).collect();
        Shown { command: visible(&command), secrets, ..shown }
    }

    fn level(&self) -> Option<Level> {
        Some(self.shell.environment.sandbox.level())
    }

    fn unrehearsable(&self) -> Option<Unrehearsable> {
        if !self.arguments.secrets.is_empty() {
            let why = "A command that gets secrets cannot be run before it is approved.";
            return Some(Unrehearsable::new("secrets", why));
        }
        if self.arguments.background {
            let why = "A command in the background cannot be run before it is approved.";
            return Some(Unrehearsable::new("background", why));
        }
        self.shell.environment.unrehearsable(self.arguments.permissions)
    }

    fn rehearse<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<Rehearsal, EndRun>> {
        Box::pin(async {
            let given = match self.given(None).await {
                Ok(given) => given,
                Err(refused) => return Ok(Rehearsal { answer: *refused, changes: HeldChanges::default() }),
            };
            self.ended(options, (Capturing::Required, given)).await.held()
        })
    }

    fn outside_text(&self) -> OutsideText {
        self.shell.environment.outside_text(self.arguments.permissions, None)
    }

    fn run<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        Box::pin(self.execute(options))
    }
}

impl JobCall {
    async fn look(&self) -> ToolAnswer {
        let Some(job) = self.jobs.get(&self.session, &self.id) else {
            return ToolAnswer::failed(format!(
                "there is no {} in this conversation; it may be from before a restart.",
                self.id
            ));
        };
        if self.stop {
            job.stopped().await;
        }
        let JobReport { outcome, output, is_truncated, took, .. } = job.report();
        let state = if outcome.is_some() { "ended" } else { "running" };
        let status = outcome.map_or_else(|| format!("running for {} s", took.as_secs()), |outcome| outcome.text);
        let text = match output.trim_end() {
            "" => format!("[{status}; no output]"),
            output => format!("{output}\n[{status}]"),
        };
        let data = json!({"job": self.id, "state": state, "truncated": is_truncated});
        let answer = ToolAnswer::done(status, text).with_data(data).with_code(&self.id);
        job.changes().map_or(answer.clone(), |changes| changes.list_in(answer))
    }
}

impl PreparedCall for JobCall {
    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn shown(&self) -> Shown {
        line(&self.id)
    }

    fn outside_text(&self) -> OutsideText {
        // The job may have had the network or documents.
        OutsideText { brings: vec![crate::domain::Taint::Command], ..OutsideText::default() }
    }

    fn run<'a>(&'a self, _: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>> {
        Box::pin(async move { Ok(self.look().await) })
    }
}
