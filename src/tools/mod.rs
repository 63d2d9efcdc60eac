//! The agent's tools. A tool has a name and a JSON Schema, prepares a call from its arguments, and runs it.

mod fetch_url;
pub mod files;
pub mod policy;
mod python_repl;
mod read_file;
mod schema;
mod search;
mod terminal;
mod text;
mod tool_set;

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::domain::defang::defang;
use crate::domain::visible::visible;
use crate::domain::{EgressAttempts, Root, SessionId, Shown, Taint, ToolAnswer, ToolSpec};
use crate::sandbox::{Level, Sandbox, SandboxError};

pub use self::policy::{Case, Policy, Reason, Rule, Verdict};
pub use fetch_url::{FetchConfig, FetchUrl, Lookup, system_lookup};
pub use files::{Editor, FileTool};
pub use python_repl::{PythonLimits, PythonRepl};
pub use read_file::ReadFile;
pub use search::SearchTool;
pub use terminal::Terminal;
pub use tool_set::{Checked, Rejection, ToolSet};

/// How much of a command's output the model reads, in characters.
pub const OUTPUT_LIMIT: usize = 5_000;

/// Whose call a tool prepares.
#[derive(Clone, Copy, Debug)]
pub struct ToolContext<'a> {
    pub session: &'a SessionId,
    pub call_id: &'a str,
}

/// How a prepared call is run.
pub struct RunOptions<'a> {
    /// What a person saw and approved; absent where the policy allows the call without asking.
    pub approved: Option<&'a Shown>,
    /// A person stopped the run.
    pub cancel: CancellationToken,
}

/// Something the model may call, by a name and a schema of its arguments.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// Reads the arguments, once, into a call that can be shown and run. They fit the tool's schema: [`ToolSet::prepare`]
    /// has checked it.
    ///
    /// # Errors
    /// The answer to a call that cannot be made, before anybody is asked about it.
    fn prepare<'a>(&'a self, arguments: Value, context: ToolContext<'a>) -> BoxFuture<'a, Prepared>;

    /// The session is gone: let go of what was kept for it.
    fn session_closed(&self, _: &SessionId) {}
}

pub type Prepared = Result<Box<dyn PreparedCall>, Box<ToolAnswer>>;

/// A call whose arguments were read.
pub trait PreparedCall: Send + Sync {
    /// What a person is shown before this call may run, and what their answer is bound to.
    fn shown(&self) -> Shown;

    /// Where such a call has text from that strangers may have written, if it brings such text into the conversation.
    fn outside_text(&self) -> Option<Taint> {
        None
    }

    /// Whether what the tool keeps for the session holds such text now, whatever this call asks for.
    fn holds_outside_text(&self) -> bool {
        false
    }

    /// A call fails in two ways and chooses: `Ok(ToolAnswer::failed(…))` tells the model, which can react; `Err(EndRun)`
    /// ends the run. It acts on what is there now, which may differ from what was shown.
    fn run<'a>(&'a self, options: RunOptions<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>>;
}

/// A call that needs nothing but its arguments to be prepared.
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

/// Reads arguments into the type of a tool.
fn read<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, Box<ToolAnswer>> {
    serde_json::from_value(arguments)
        .map_err(|error| Box::new(ToolAnswer::failed(format!("wrong arguments for {tool}: {error}. Nothing was run."))))
}

/// A whole number as JSON Schema has it: 3.0 is one too.
fn whole_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.map(|number| number as usize))
}

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum EndRun {
    /// A person stopped the run while the tool was at work; `text` is what the tool had to show until then, `contacts` whom
    /// it had asked to be connected with.
    #[error("the run was stopped")]
    Cancelled { text: String, contacts: EgressAttempts },
    /// An invariant of ours is broken; going on would make it worse.
    #[error("{0}")]
    Broken(String),
}

/// Where commands of a home run, and what they see of it.
#[derive(Clone, Debug)]
pub struct CommandEnvironment {
    pub sandbox: Sandbox,
    /// The folder commands work in, and the only one they may write. It must exist.
    pub scratch: PathBuf,
    /// What else of the home they may read.
    pub readable: Vec<PathBuf>,
    /// The folder of documents, which only those may read that ask for it.
    pub knowledge: PathBuf,
}

/// What a command asks for beyond running in the sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
struct Permissions {
    #[serde(default)]
    network: bool,
    #[serde(default, rename = "reads", deserialize_with = "names_knowledge")]
    knowledge: bool,
}

/// Whether the folder of documents is in the list.
fn names_knowledge<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Vec::<String>::deserialize(deserializer)?.iter().any(|folder| folder == KNOWLEDGE))
}

const READS: &str = "reads";
/// The folder of documents, below the home.
pub const KNOWLEDGE: &str = Root::Knowledge.name();

impl CommandEnvironment {
    /// The arguments that every command has beside its own.
    fn parameters(&self, mut own: Value) -> Value {
        own[READS] = json!({"type": "array", "items": {"enum": [KNOWLEDGE]}});
        if self.sandbox.can_network() {
            own["network"] = json!({"type": "boolean", "description": "the user is asked"});
        }
        own
    }

    /// What a command that asks for this may read of the home.
    fn readable(&self, permissions: Permissions) -> Vec<PathBuf> {
        let more = permissions.knowledge.then(|| self.knowledge.clone());
        self.readable.iter().cloned().chain(more).collect()
    }

    /// Whether what such a command writes may come from strangers. Without a sandbox any may have read and reached anything.
    fn reaches_outside(&self, permissions: Permissions) -> bool {
        permissions.network || permissions.knowledge || self.sandbox.level() == Level::Off
    }

    /// What a person sees of a command.
    fn shown(&self, command: &str, permissions: Permissions) -> Shown {
        Shown {
            command: visible(command),
            cwd: "scratch/".to_owned(),
            // Without a sandbox every process has it, asked for or not.
            network: permissions.network || self.sandbox.level() == Level::Off,
            reads: permissions.knowledge.then(|| KNOWLEDGE.to_owned()).into_iter().collect(),
            level: self.sandbox.level().name().to_owned(),
            ..Shown::default()
        }
    }

    /// What the model is told a command can do here.
    fn bounds(&self) -> &'static str {
        match self.sandbox.level() {
            Level::Standard | Level::Strict if self.sandbox.can_network() => "Writes only there.",
            Level::Standard | Level::Strict => "Writes only there; no network.",
            Level::Off => "",
        }
    }

    /// What to tell the model when nothing could be run.
    fn refusal(error: &SandboxError) -> ToolAnswer {
        let advice = match error {
            SandboxError::Confinement(_) => "No command can run here; go on without, and tell the user.",
            SandboxError::Program { .. } => "A command over 128 KB is too long; otherwise tell the user.",
            SandboxError::Lost => "Look at what it changed before you run it again.",
            SandboxError::NoNetwork(_) => "Do it without, or read pages with fetch_url.",
            SandboxError::Supervisor(_) => "The system may be out of memory or processes; try once more.",
        };
        ToolAnswer::failed(format!("{error}. {advice}"))
    }

    /// Why a command may have failed here and not elsewhere.
    fn hint(&self, output: &str, permissions: Permissions) -> Option<&'static str> {
        const REFUSED_BY_SANDBOX: [&str; 4] =
            ["Permission denied", "Operation not permitted", "PermissionError", "Read-only file system"];
        // One way to say so for each level: refused, or not there at all.
        let is_about_knowledge = |output: &str| {
            let is_refusal = |line: &str| line.contains("ermission denied") || line.contains("No such file");
            output.lines().any(|line| line.contains(KNOWLEDGE) && is_refusal(line))
        };
        const OFFLINE: [&str; 6] = [
            // Python's, where it may not even make one.
            "_socket.socket.__init__",
            "Could not resolve host",
            "Temporary failure in name resolution",
            "Network is unreachable",
            "Couldn't connect to server",
            "Failed to establish a new connection",
        ];
        const LIMITS: [(&str, &str); 7] = [
            ("Resource temporarily unavailable", "This sandbox allows about 256 processes."),
            ("BlockingIOError: [Errno 11]", "This sandbox allows about 256 processes."),
            ("MemoryError", "This sandbox allows each process 3 GiB of memory."),
            ("Cannot allocate memory", "This sandbox allows each process 3 GiB of memory."),
            ("memory exhausted", "This sandbox allows each process 3 GiB of memory."),
            ("File too large", "This sandbox allows files of up to 128 MiB."),
            ("File size limit exceeded", "This sandbox allows files of up to 128 MiB."),
        ];
        if let Some((_, limit)) = LIMITS.iter().find(|(sign, _)| output.contains(sign)) {
            return Some(limit);
        }
        match self.sandbox.level() {
            Level::Off => None,
            Level::Standard | Level::Strict if OFFLINE.iter().any(|sign| output.contains(sign)) => {
                Some(if self.sandbox.can_network() {
                    "Use fetch_url to read a page. A command has network only with \"network\": true, by HTTP and HTTPS, and \
                     never to this machine or its network."
                } else {
                    "There is no network here; use fetch_url to read a page."
                })
            }
            Level::Standard | Level::Strict if !permissions.knowledge && is_about_knowledge(output) => Some(
                "A command sees knowledge/ only with \"reads\": [\"knowledge\"]; read_file reads a document without one.",
            ),
            Level::Standard | Level::Strict if REFUSED_BY_SANDBOX.iter().any(|sign| output.contains(sign)) => {
                Some("This sandbox may write only in scratch/ (the working directory) and read only system files.")
            }
            Level::Standard | Level::Strict => None,
        }
    }
}

/// A tool's text as the model may read it: what strangers may have written cannot pose as the frame of the conversation.
pub fn fit_for_model(answer: ToolAnswer, call: &dyn PreparedCall) -> ToolAnswer {
    match answer.outside.is_some() || !answer.taint.is_empty() || call.outside_text().is_some() {
        true => ToolAnswer { text: defang(&answer.text).into_owned(), ..answer },
        false => answer,
    }
}

/// A call that is shown by one line and starts no process here.
fn line(command: &str) -> Shown {
    Shown { command: visible(command), ..Shown::default() }
}
