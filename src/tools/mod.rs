//! What the agent may do. A tool is a name with a schema, and a run that gives an answer to the model.

mod fetch_url;
pub mod files;
pub mod policy;
mod python_repl;
mod read_file;
mod registry;
mod schema;
mod search;
mod terminal;
mod text;

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::domain::defang::defang;
use crate::domain::visible::visible;
use crate::domain::{Contacts, Root, SessionId, Shown, Taint, ToolAnswer, ToolSpec};
use crate::sandbox::{Level, Sandbox, SandboxError};

pub use self::policy::{Case, Policy, Reason, Rule, Verdict};
pub use fetch_url::{FetchConfig, FetchUrl, Lookup, system_lookup};
pub use files::{Editor, FileTool};
pub use python_repl::{Limits as PythonLimits, PythonRepl};
pub use read_file::ReadFile;
pub use registry::{Checked, Registry, Rejection};
pub use search::SearchTool;
pub use terminal::Terminal;

/// How much of a command's output the model reads, in characters.
pub const OUTPUT_LIMIT: usize = 5_000;

/// One call of a tool.
pub struct Call<'a> {
    pub session: &'a SessionId,
    pub call_id: &'a str,
    /// Fits the tool's schema: [`Registry::check`] has seen it.
    pub arguments: &'a Value,
    /// What a person saw and approved; absent where the policy allows the call without asking.
    pub approved: Option<&'a Shown>,
    /// A person stopped the run.
    pub cancel: CancellationToken,
}

/// A tool fails in two ways and chooses: `Ok(ToolAnswer::failed(…))` tells the model, which can react; `Err(EndRun)` ends
/// the run.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &ToolSpec;

    /// What a person is shown before this call may run, and what their answer is bound to. A call that cannot be made is
    /// answered here, before anybody is asked.
    fn shown<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Result<Shown, Box<ToolAnswer>>>;

    /// Where such a call has text from that strangers may have written, if it brings such text into the conversation.
    fn brings(&self, arguments: &Value) -> Option<Taint>;

    /// Whether what this tool keeps for a session holds such text, whatever the next call's arguments are.
    fn holds_outside(&self, _: &SessionId) -> bool {
        false
    }

    fn run<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<ToolAnswer, EndRun>>;

    /// The session is gone: let go of what was kept for it.
    fn session_closed(&self, _: &SessionId) {}
}

#[derive(Debug, thiserror::Error, PartialEq)]
pub enum EndRun {
    /// A person stopped the run while the tool was at work; `text` is what the tool had to show until then, `contacts` whom
    /// it had asked to be connected with.
    #[error("the run was stopped")]
    Cancelled { text: String, contacts: Contacts },
    /// An invariant of ours is broken; going on would make it worse.
    #[error("{0}")]
    Broken(String),
}

/// Where commands of a home run.
#[derive(Clone, Debug)]
pub struct Workshop {
    pub sandbox: Sandbox,
    /// The folder commands work in, and the only one they may write. It must exist.
    pub scratch: PathBuf,
    /// What else of the home they may read.
    pub readable: Vec<PathBuf>,
    /// The folder of documents, which only those may read that ask for it.
    pub knowledge: PathBuf,
}

/// What a command asks for beyond running in the sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Asks {
    network: bool,
    knowledge: bool,
}

impl Asks {
    fn of(arguments: &Value) -> Self {
        let reads = arguments[READS].as_array().into_iter().flatten();
        Self {
            network: arguments["network"].as_bool().unwrap_or(false),
            knowledge: reads.into_iter().any(|folder| folder == KNOWLEDGE),
        }
    }
}

const READS: &str = "reads";
/// The folder of documents, below the home.
pub const KNOWLEDGE: &str = Root::Knowledge.name();

impl Workshop {
    /// The arguments that every command has beside its own.
    fn parameters(&self, mut own: Value) -> Value {
        own[READS] = json!({"type": "array", "items": {"enum": [KNOWLEDGE]}});
        if self.sandbox.can_network() {
            own["network"] = json!({"type": "boolean", "description": "the user is asked"});
        }
        own
    }

    /// What a command that asks for this may read of the home.
    fn readable(&self, asks: Asks) -> Vec<PathBuf> {
        let more = asks.knowledge.then(|| self.knowledge.clone());
        self.readable.iter().cloned().chain(more).collect()
    }

    /// Whether what such a command writes may come from strangers. Without a sandbox any may have read and reached anything.
    fn reaches_outside(&self, asks: Asks) -> bool {
        asks.network || asks.knowledge || self.sandbox.level() == Level::Off
    }

    /// What a person sees of a command.
    fn shown(&self, command: &str, arguments: &Value) -> Shown {
        let asks = Asks::of(arguments);
        Shown {
            command: visible(command),
            cwd: "scratch/".to_owned(),
            // Without a sandbox every process has it, asked for or not.
            network: asks.network || self.sandbox.level() == Level::Off,
            reads: asks.knowledge.then(|| KNOWLEDGE.to_owned()).into_iter().collect(),
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
            SandboxError::Fence(_) => "No command can run here; go on without, and tell the user.",
            SandboxError::Program { .. } => "A command over 128 KB is too long; otherwise tell the user.",
            SandboxError::Lost => "Look at what it changed before you run it again.",
            SandboxError::NoNetwork(_) => "Do it without, or read pages with fetch_url.",
            SandboxError::Supervisor(_) => "The system may be out of memory or processes; try once more.",
        };
        ToolAnswer::failed(format!("{error}. {advice}"))
    }

    /// Why a command may have failed here and not elsewhere.
    fn hint(&self, output: &str, asks: Asks) -> Option<&'static str> {
        const FENCED: [&str; 4] =
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
            Level::Standard | Level::Strict if !asks.knowledge && is_about_knowledge(output) => Some(
                "A command sees knowledge/ only with \"reads\": [\"knowledge\"]; read_file reads a document without one.",
            ),
            Level::Standard | Level::Strict if FENCED.iter().any(|sign| output.contains(sign)) => {
                Some("This sandbox may write only in scratch/ (the working directory) and read only system files.")
            }
            Level::Standard | Level::Strict => None,
        }
    }
}

/// A tool's text as the model may read it: what strangers may have written cannot pose as the frame of the conversation.
pub fn fit_for_model(answer: ToolAnswer, call: &Checked) -> ToolAnswer {
    match answer.outside.is_some() || !answer.taint.is_empty() || call.tool.brings(&call.arguments).is_some() {
        true => ToolAnswer { text: defang(&answer.text).into_owned(), ..answer },
        false => answer,
    }
}

/// A call that is shown by one line and starts no process here.
fn line(command: &str) -> Shown {
    Shown { command: visible(command), ..Shown::default() }
}
