//! The agent's tools. A tool has a name and a JSON Schema, prepares a call from its arguments, and runs it.

mod calculator;
mod captured;
mod catalogue;
mod client;
mod deferred;
mod elicited;
mod fetch_url;
pub mod files;
mod held;
mod live_output;
pub mod mcp;
mod observed;
mod outside;
pub mod policy;
pub mod project;
mod python_repl;
mod read_file;
mod recall;
mod schema;
mod search;
mod terminal;
mod text;
mod tool_set;
mod weather;
mod web_search;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Mutex;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::domain::visible::visible;
use crate::domain::{
    Effect, EgressAttempts, Elicitation, FolderOwner, Place, RehearsalState, Root, Session, SessionId, Shown, Taint,
    ToolAnswer, ToolSpec,
};
use crate::sandbox::{Level, Network, Sandbox, SandboxError};

use self::text::line;

pub use self::calculator::Calculator;
pub use self::captured::{ApplyCaptured, CapturedRun, Captures, Capturing, CommandChanges, RecordObserved};
pub use self::catalogue::{BUILT_IN, BuiltIn, ToolCategory, built_in};
pub use self::held::{EndedRun, Held, HeldChanges, Rehearsal, RehearsedFile};
pub use self::observed::{CallKey, ObservedRun};
pub use self::policy::{Case, Policy, Reason, Rule, ServerRule, Verdict};
pub use deferred::{FIND_TOOLS, USE_TOOL};
pub use elicited::{Elicited, LiveQuestion, LiveQuestions};
pub use fetch_url::{FetchConfig, FetchUrl, Lookup, system_lookup};
pub use files::{ApplyChange, CallChange, FileAccess, FileTool, KeepPictures};
pub use live_output::LiveOutput;
pub use outside::{FilesRead, OutsideText, sanitize_for_model};
pub use python_repl::{PythonLimits, PythonRepl};
pub use read_file::ReadFile;
pub use recall::{RecallTool, quoted};
pub use schema::{ArgumentSchema, BadSchema, SchemaOrigin};
pub use search::SearchTool;
pub use terminal::Terminal;
pub use tool_set::{BadTool, Checked, Rejection, ToolSet};
pub use weather::{Weather, WeatherAddresses};
pub use web_search::{SearchBackend, SearchEngine, WebSearch};

/// Maximum length of a command's output for the model, in characters.
pub const OUTPUT_LIMIT: usize = 5_000;

/// What a tool knows of the call that it prepares.
#[derive(Clone, Copy, Debug)]
pub struct ToolContext<'a> {
    pub session: &'a SessionId,
    pub call_id: &'a str,
    /// The conversation so far.
    pub conversation: &'a Session,
}

impl<'a> ToolContext<'a> {
    fn key(&self) -> CallKey {
        CallKey { session: self.session.clone(), call_id: self.call_id.to_owned() }
    }

    pub fn new(session: &'a SessionId, call_id: &'a str, conversation: &'a Session) -> Self {
        Self { session, call_id, conversation }
    }
}

/// How a prepared call is run.
#[derive(Default)]
pub struct RunOptions<'a> {
    /// What a person saw and approved; absent if the policy allows the call without asking.
    pub approved: Option<&'a Shown>,
    /// Fires when a person stops the run.
    pub cancel: CancellationToken,
    /// Where a call shows its output while it runs; what is sent here is not part of its answer.
    pub live: LiveOutput,
    /// Receives the changes of a command instead of the folder, all of them, if there are files among them that other
    /// programs run later: a person is asked about these. If absent, they are applied.
    pub held: Option<&'a Mutex<HeldChanges>>,
    /// The answer to [`EndRun::InputRequired`] of an earlier run of the call.
    pub elicited: Option<&'a Elicited>,
    /// Where the call asks a person while it goes on.
    pub questions: LiveQuestions,
}

/// A function that the model may call, with a name and a schema of its arguments.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Returns who wrote the schema of its arguments.
    fn schema_origin(&self) -> SchemaOrigin {
        SchemaOrigin::Own
    }

    /// Reads the arguments once into a call that can be shown and run. [`ToolSet::prepare`] has already checked them against
    /// the tool's schema.
    ///
    /// # Errors
    /// Returns the answer to a call that cannot be made, before a person is asked about it.
    fn prepare<'a>(&'a self, arguments: Value, context: ToolContext<'a>) -> BoxFuture<'a, Prepared>;

    /// Drops what the tool keeps for a closed session.
    fn session_closed(&self, _: &SessionId) {}

    /// Drops what the tool keeps for all sessions, because their home is closed.
    fn home_closed(&self) {}
}

pub type Prepared = Result<Box<dyn PreparedCall>, Box<ToolAnswer>>;

/// A call with parsed arguments.
pub trait PreparedCall: Send + Sync {
    /// Returns what running it can change.
    fn effect(&self) -> Effect;

    /// Returns what a person sees before this call may run, and what their answer is bound to.
    fn shown(&self) -> Shown;

    /// Returns what the configuration of its server says about its calls; absent for a tool that has no server.
    fn server_rule(&self) -> ServerRule {
        ServerRule::default()
    }

    /// Returns the files that it changes, as far as they are known before it runs.
    fn changes(&self) -> &[Place] {
        &[]
    }

    /// Returns the sandbox level of the process that it starts; `None` if it starts none here.
    fn level(&self) -> Option<Level> {
        None
    }

    /// Returns why it cannot be run with its changes of files kept apart until a person has seen them; `None` if it can.
    fn unrehearsable(&self) -> Option<Unrehearsable> {
        Some(Unrehearsable::new("tool", "What this tool changes cannot be shown before."))
    }

    /// Runs the call with its changes of files kept apart. Only for a call that is not [`PreparedCall::unrehearsable`].
    fn rehearse<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<Rehearsal, EndRun>> {
        Box::pin(async { Ok(Rehearsal { answer: self.run(options).await?, changes: HeldChanges::default() }) })
    }

    /// Returns the text from outside that it handles, as of now: a run may change the state that a tool keeps.
    fn outside_text(&self) -> OutsideText {
        OutsideText::default()
    }

    /// Returns whether it is not run here but handed to the program whose tool it calls.
    fn is_handed_off(&self) -> bool {
        false
    }

    /// Notes that the call does not go on after [`EndRun::InputRequired`]: nobody has answered, or not in a way that counts.
    fn abandoned(&self) {}

    /// Runs the call. There are two ways to fail: `Ok(ToolAnswer::failed(…))` tells the model, which can react;
    /// `Err(EndRun)` ends the run. The call acts on the current state, which may differ from what was shown.
    fn run<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>>;
}

/// Prepares a call that needs nothing but its arguments.
fn prepared<'a, Arguments, Call>(
    tool: &str,
    arguments: Value,
    call: impl FnOnce(Arguments) -> Call,
) -> BoxFuture<'a, Prepared>
where
    Arguments: DeserializeOwned,
    Call: PreparedCall + 'static,
{
    let prepared = read(tool, arguments).map(|arguments| Box::new(call(arguments)) as Box<dyn PreparedCall>);
    Box::pin(std::future::ready(prepared))
}

/// Parses arguments into the type of a tool.
fn read<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, Box<ToolAnswer>> {
    serde_json::from_value(arguments)
        .map_err(|error| Box::new(ToolAnswer::failed(format!("wrong arguments for {tool}: {error}. Nothing was run."))))
}

/// Deserializes a whole number as JSON Schema defines it: 3.0 is one too.
fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.map(|number| number as usize))
}

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum EndRun {
    /// A person stopped the run while the tool was running; `text` is the tool's output so far, `egress_attempts` the hosts that it
    /// tried to reach.
    #[error("the run was stopped")]
    Cancelled { text: String, egress_attempts: EgressAttempts },
    /// The call goes on once a person has answered: it is run again with [`RunOptions::elicited`].
    #[error("the call needs input of a person")]
    InputRequired(Box<Elicitation>),
    /// An internal invariant is broken; continuing would make it worse.
    #[error("{0}")]
    Broken(String),
}

/// Why a call cannot be run with its changes of files kept apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrehearsable {
    /// As [`ApprovalReason::obstacle`](crate::domain::ApprovalReason::obstacle).
    pub code: &'static str,
    /// A sentence for the person.
    pub why: String,
}

impl Unrehearsable {
    pub fn new(code: &'static str, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }

    /// Returns this for the question about the call.
    pub fn state(&self) -> RehearsalState {
        RehearsalState::Unavailable { obstacle: self.code.to_owned(), why: self.why.clone() }
    }
}

/// The working directory of commands, and the only folder that they may write to. It must exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingFolder {
    pub path: PathBuf,
    /// How people and the model name it: `scratch/`, or `workspaces/tea/` for the folder of a project.
    pub name: String,
    /// To whom its files belong.
    pub owner: FolderOwner,
}

/// Where a home's commands run, and which of its files they can access.
#[derive(Clone, Debug)]
pub struct CommandEnvironment {
    pub sandbox: Sandbox,
    pub folder: WorkingFolder,
    /// Other paths of the home that they may read.
    pub readable: Vec<PathBuf>,
    /// The folder of documents; only commands that request it may read it.
    pub knowledge: PathBuf,
    /// Where what they change is captured; absent if it is not.
    pub captures: Option<Captures>,
}

/// What a command requests beyond running in the sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
struct Permissions {
    #[serde(default)]
    network: bool,
    #[serde(default, rename = "reads", deserialize_with = "names_knowledge")]
    knowledge: bool,
}

impl Permissions {
    fn job_network(self) -> Network {
        if self.network { Network::Proxied } else { Network::None }
    }
}

/// Deserializes a list of folders: true if it contains the folder of documents.
fn names_knowledge<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Vec::<String>::deserialize(deserializer)?.iter().any(|folder| folder == KNOWLEDGE))
}

const READS: &str = "reads";
/// Name of the folder of documents in the home.
pub const KNOWLEDGE: &str = match Root::Knowledge.folder() {
    Some(folder) => folder,
    None => panic!("knowledge/ is a folder of the home"),
};

impl CommandEnvironment {
    /// Returns a command's own parameters and those that every command has.
    fn parameters(&self, mut own: Value) -> Value {
        own[READS] = json!({"type": "array", "items": {"enum": [KNOWLEDGE]}});
        if self.sandbox.can_network() {
            own["network"] = json!({"type": "boolean", "description": "the user is asked"});
        }
        own
    }

    /// Returns why a command with these permissions cannot be rehearsed.
    fn unrehearsable(&self, permissions: Permissions) -> Option<Unrehearsable> {
        if permissions.network {
            return Some(Unrehearsable::new("network", "A command with network cannot be run before it is approved."));
        }
        let why = match &self.captures {
            Some(captures) => captures.obstacle(&self.sandbox)?,
            None => "nothing is captured here".to_owned(),
        };
        let code = match self.sandbox.level() {
            Level::Off => "off",
            Level::Strict => "strict",
            Level::Standard => "system",
        };
        Some(Unrehearsable::new(code, format!("What it changes cannot be shown before: {why}.")))
    }

    /// Prepares to run the commands of a call.
    async fn begin(&self, capturing: Capturing, call: &CallKey) -> CapturedRun {
        CapturedRun::begin(&self.sandbox, (self.captures.as_ref(), capturing), &self.folder.path, call).await
    }

    /// Returns the paths of the home that a command with these permissions may read.
    fn readable(&self, permissions: Permissions) -> Vec<PathBuf> {
        let more = permissions.knowledge.then(|| self.knowledge.clone());
        self.readable.iter().cloned().chain(more).collect()
    }

    /// Returns whether the output of a command with these permissions may contain text from strangers. Without a sandbox,
    /// any command may have read and reached anything.
    fn reaches_outside(&self, permissions: Permissions) -> bool {
        permissions.network || permissions.knowledge || self.sandbox.level() == Level::Off
    }

    /// Returns the text from outside that a command handles. `holds` is what the process has read in an earlier call.
    fn outside_text(&self, permissions: Permissions, holds: Option<Taint>) -> OutsideText {
        let read = self.reaches_outside(permissions).then_some(Taint::Command).or(holds.clone());
        OutsideText { brings: read.into_iter().chain([Taint::Output]).collect(), holds, files: FilesRead::Any }
    }

    /// Returns what a person sees of a command.
    fn shown(&self, command: &str, permissions: Permissions) -> Shown {
        Shown {
            command: visible(command),
            cwd: self.folder.name.clone(),
            // Without a sandbox every process has network, requested or not.
            network: permissions.network || self.sandbox.level() == Level::Off,
            reads: permissions.knowledge.then(|| KNOWLEDGE.to_owned()).into_iter().collect(),
            level: self.sandbox.level().name().to_owned(),
            ..Shown::default()
        }
    }

    /// Returns the limits of a command for the tool's description.
    fn bounds(&self) -> &'static str {
        match self.sandbox.level() {
            Level::Standard | Level::Strict if self.sandbox.can_network() => "Writes only there.",
            Level::Standard | Level::Strict => "Writes only there; no network.",
            Level::Off => "",
        }
    }

    /// Returns the answer for the model if nothing could be run.
    fn refusal(error: &SandboxError) -> ToolAnswer {
        let advice = match error {
            SandboxError::Confinement(_) => "No command can run here; go on without, and tell the user.",
            SandboxError::Program { .. } => "A command over 128 KB is too long; otherwise tell the user.",
            SandboxError::Lost => "Look at what it changed before you run it again.",
            SandboxError::Capture(_) => "Tell the user what is missing.",
            SandboxError::NoNetwork(_) => "Do it without, or read pages with fetch_url.",
            SandboxError::Supervisor(_) => "The system may be out of memory or processes; try once more.",
        };
        ToolAnswer::failed(format!("{error}. {advice}"))
    }

    /// Returns what the model reads about the hosts that a command tried to reach; `None` if there are none. A command
    /// without network has such attempts only if it was rehearsed.
    fn contacted(&self, attempts: &EgressAttempts, permissions: Permissions) -> Option<String> {
        let line = attempts.line()?;
        if permissions.network {
            return Some(line);
        }
        Some(format!(
            "{line}\n[It had no network while it was tried out. If it needs these hosts, call it again with \"network\": true: \
             the user is asked first. fetch_url reads a page.]"
        ))
    }

    /// Returns why a command may have failed because of the sandbox.
    fn hint(&self, output: &str, permissions: Permissions) -> Option<Cow<'static, str>> {
        const REFUSED_BY_SANDBOX: [&str; 4] =
            ["Permission denied", "Operation not permitted", "PermissionError", "Read-only file system"];
        // The levels differ: the folder is refused or does not exist.
        let is_about_knowledge = |output: &str| {
            let is_refusal = |line: &str| line.contains("ermission denied") || line.contains("No such file");
            output.lines().any(|line| line.contains(KNOWLEDGE) && is_refusal(line))
        };
        const OFFLINE: [&str; 6] = [
            // Python's error if it cannot even create a socket.
            "_socket.socket.__init__",
            "Could not resolve host",
            "Temporary failure in name resolution",
            "Network is unreachable",
            "Couldn't connect to server",
            "Failed to establish a new connection",
        ];
        const FILE_SIZE: &str =
            "This sandbox allows files of up to 1 GiB, or 128 MiB where the changes of commands are not captured.";
        const LIMITS: [(&str, &str); 7] = [
            ("Resource temporarily unavailable", "This sandbox allows about 256 processes."),
            ("BlockingIOError: [Errno 11]", "This sandbox allows about 256 processes."),
            ("MemoryError", "This sandbox allows each process 3 GiB of memory."),
            ("Cannot allocate memory", "This sandbox allows each process 3 GiB of memory."),
            ("memory exhausted", "This sandbox allows each process 3 GiB of memory."),
            ("File too large", FILE_SIZE),
            ("File size limit exceeded", FILE_SIZE),
        ];
        if let Some((_, limit)) = LIMITS.iter().find(|(sign, _)| output.contains(sign)) {
            return Some(Cow::Borrowed(limit));
        }
        match self.sandbox.level() {
            Level::Off => None,
            Level::Standard | Level::Strict if OFFLINE.iter().any(|sign| output.contains(sign)) => {
                Some(Cow::Borrowed(if self.sandbox.can_network() {
                    "Use fetch_url to read a page. A command has network only with \"network\": true, by HTTP and HTTPS, and \
                     never to this machine or its network."
                } else {
                    "There is no network here; use fetch_url to read a page."
                }))
            }
            Level::Standard | Level::Strict if !permissions.knowledge && is_about_knowledge(output) => {
                Some(Cow::Borrowed(
                    "A command sees knowledge/ only with \"reads\": [\"knowledge\"]; read_file reads a document without one.",
                ))
            }
            Level::Standard | Level::Strict if REFUSED_BY_SANDBOX.iter().any(|sign| output.contains(sign)) => {
                let folder = &self.folder.name;
                Some(Cow::Owned(format!(
                    "This sandbox may write only in {folder} (the working directory) and read only system files."
                )))
            }
            Level::Standard | Level::Strict => None,
        }
    }
}
