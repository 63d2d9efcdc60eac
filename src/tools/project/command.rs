//! One command of `bash`: how it is run, and what its end means.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::ProjectFiles;
use super::answer::Failure;
use super::jobs::LiveText;
use crate::domain::{EgressAttempts, Language, Mask, Root, SecretName, SecretRefused};
use crate::sandbox::{COMMAND_MEMORY, Exit, Finished, Job, SandboxError};
use crate::store::StoreError;
use crate::tools::terminal::{KEPT, output, refused, signal_name};
use crate::tools::{CapturedRun, CommandEnvironment, LiveOutput, OUTPUT_LIMIT, Permissions};

/// Time of a command if the call does not say it.
pub const WALL: Duration = Duration::from_secs(30);
/// How often the output of a running command is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(100);
/// Goes to the folder and becomes the command. The folder exists: it was looked at before.
const SCRIPT: &str = r#"cd -- "$1" && exec /bin/bash -c "$2""#;

#[derive(Clone, Debug, Deserialize)]
pub struct Command {
    pub instruction: String,
    #[serde(default)]
    pub working_directory: Option<String>,
}

impl Command {
    /// Returns the folder in the project; empty for the project itself.
    fn folder(&self) -> &str {
        let folder = self.working_directory.as_deref().unwrap_or_default();
        let folder = folder.trim_matches('/');
        if folder == "." { "" } else { folder }
    }

    /// Returns the folder as records have it.
    pub fn shown_folder(&self) -> String {
        format!("/{}", self.folder())
    }

    /// Returns what a person sees of the command.
    pub fn line(&self) -> String {
        match self.folder() {
            "" => self.instruction.clone(),
            folder => format!("cd {folder} && {}", self.instruction),
        }
    }
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    NoFolder,
    Blocked,
    UnknownCommand,
    Timeout,
    Signal,
    ExitCode,
    NotStarted,
}

impl Reason {
    pub fn failure(self) -> Failure {
        let (code, chinese, _, _) = self.words();
        Failure::new(code, chinese, code)
    }

    pub fn suggestion(self, language: Language) -> &'static str {
        let (_, _, chinese, english) = self.words();
        match language {
            Language::Chinese => chinese,
            Language::English => english,
        }
    }

    /// Returns its code, the reason in Chinese, and what to do in Chinese and in English.
    fn words(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::NoFolder => (
                "no_folder",
                "工作目录不存在",
                "请检查工作目录路径是否正确",
                "Check the path of the working directory.",
            ),
            Self::Blocked => {
                ("blocked", "危险操作被阻止", "请使用安全的操作命令", "Do it another way, or ask the user to.")
            }
            Self::UnknownCommand => (
                "unknown_command",
                "命令不存在",
                "请检查命令拼写或是否已安装相关工具",
                "Check the spelling, and whether the program is installed.",
            ),
            Self::Timeout => (
                "timeout",
                "执行超时",
                "请延长 timeout，或放到后台运行",
                "Allow more time with timeout, or run it in the background.",
            ),
            Self::Signal => ("signal", "命令被信号终止", "请检查内存和时间的用量", "Check its use of memory and time."),
            Self::ExitCode => ("exit_code", "命令执行失败", "请查看输出中的错误信息", "Read the errors in its output."),
            Self::NotStarted => ("not_started", "命令未能启动", "请告知用户", "Tell the user."),
        }
    }
}

/// How a command ended.
pub struct CommandEnd {
    pub reason: Option<Reason>,
    pub exit_code: Option<i32>,
    /// What it wrote, for the record.
    pub output: String,
    /// `stdout`, `stderr` or `both`.
    pub output_type: &'static str,
    /// What the model reads.
    pub text: String,
    /// Its end in a few words.
    pub message: String,
    pub took: Duration,
    pub egress_attempts: EgressAttempts,
    pub is_cancelled: bool,
}

impl CommandEnd {
    /// Hides secrets that became readable only when escape sequences were removed from the output.
    fn masked(mut self, mask: &Mask) -> Self {
        for text in [&mut self.output, &mut self.text] {
            *text = mask.text(text).into_owned();
        }
        self
    }

    fn not_run(reason: Reason, output: String) -> Self {
        let exit_code = Some(1);
        let (text, message) = (output.clone(), "not run".to_owned());
        let (took, egress_attempts) = (Duration::ZERO, EgressAttempts::default());
        Self {
            reason: Some(reason),
            exit_code,
            output,
            output_type: "stderr",
            text,
            message,
            took,
            egress_attempts,
            is_cancelled: false,
        }
    }
}

/// What a command may use.
#[derive(Clone, Copy, Debug)]
pub struct CommandLimits {
    pub permissions: Permissions,
    /// Its time limit.
    pub wall: Duration,
}

/// What stops a command, and where its output goes while it runs.
#[derive(Clone, Copy)]
pub struct Running<'a> {
    pub cancel: &'a CancellationToken,
    /// Shows the output to the person.
    pub live: &'a LiveOutput,
    /// Keeps the end of it.
    pub output: &'a LiveText,
    /// Captures what it changes.
    pub captured: &'a CapturedRun,
    /// The secrets that it gets.
    pub given: &'a GivenSecrets,
}

/// The secrets that the commands of a call get.
#[derive(Default)]
pub struct GivenSecrets {
    secrets: Vec<(SecretName, SecretString)>,
    /// Hides all secrets of the project, also those that this call does not get: a file may hold what a command before it
    /// wrote.
    pub mask: Mask,
}

/// Runs the commands of a project.
pub struct Shell {
    files: ProjectFiles,
    pub environment: CommandEnvironment,
}

impl Shell {
    pub fn new(files: ProjectFiles, environment: CommandEnvironment) -> Self {
        Self { files, environment }
    }

    /// Returns the secrets of the project with these names.
    ///
    /// # Errors
    /// Returns why they cannot be given.
    pub async fn secrets(&self, names: &[SecretName]) -> Result<GivenSecrets, String> {
        let Root::Project(id) = self.files.root.clone() else { return Ok(GivenSecrets::default()) };
        let home = self.files.access.home.clone();
        let opened = tokio::task::spawn_blocking(move || home.open_secrets(&id)).await;
        let all = match opened.unwrap_or(Err(StoreError::ShutDown)) {
            Ok(all) => all,
            // The values cannot be known, so they cannot be hidden.
            Err(_) if names.is_empty() => return Ok(GivenSecrets::default()),
            Err(error) => return Err(error.to_string()),
        };
        let known = all.iter().filter_map(|(name, value)| Some((name, value.as_ref()?.expose_secret())));
        let mask = Mask::new(known);
        if let Some(missing) = names.iter().find(|name| !all.iter().any(|(known, _)| known == *name)) {
            return Err(SecretRefused::Unknown(missing.to_string()).to_string());
        }
        let wanted = all.into_iter().filter(|(name, _)| names.contains(name));
        let secrets = wanted.map(|(name, value)| Some((name, value?))).collect::<Option<_>>();
        Ok(GivenSecrets { secrets: secrets.ok_or_else(|| SecretRefused::Sealed.to_string())?, mask })
    }

    /// Returns the project that commands work in.
    pub fn root(&self) -> &Root {
        &self.files.root
    }

    /// Runs a command to its end.
    pub async fn run(&self, command: &Command, limits: CommandLimits, running: Running<'_>) -> CommandEnd {
        let CommandLimits { permissions, wall } = limits;
        if let Some(why) = refused(&command.instruction) {
            let words = format!("not run: this command would {why}. Do it another way, or ask the user to.");
            return CommandEnd::not_run(Reason::Blocked, words);
        }
        let folder = command.folder();
        if let Err(error) = self.files.access.home.check_working(&self.files.root) {
            return CommandEnd::not_run(Reason::NoFolder, format!("not run: {error}."));
        }
        let Running { cancel, live, output, captured, given } = running;
        let place = self.files.folder(folder).ok();
        if !place.is_some_and(|place| self.files.is_in_project(&place) && self.files.access.home.is_folder(&place)) {
            let words = format!("not run: there is no folder {} in the project.", command.shown_folder());
            return CommandEnd::not_run(Reason::NoFolder, words);
        }
        let inside = if folder.is_empty() { "." } else { folder };
        let argv = ["/bin/bash", "-c", SCRIPT, "bash", inside, &command.instruction];
        let job = Job {
            argv: argv.map(str::to_owned).into(),
            cwd: self.environment.folder.path.clone(),
            readable: self.environment.readable(permissions),
            env: given
                .secrets
                .iter()
                .map(|(name, value)| (name.to_string(), value.expose_secret().to_owned()))
                .collect(),
            wall,
            output_cap: KEPT,
            memory: COMMAND_MEMORY,
            network: permissions.job_network(),
            capture: None,
            owner: self.environment.folder.owner,
        };
        let push = |bytes: &[u8]| output.push(bytes);
        let ended = captured.run(job, cancel.clone(), &push);
        tokio::pin!(ended);
        let mut tick = tokio::time::interval(SHOWN_EVERY);
        let done = loop {
            tokio::select! {
                done = &mut ended => break done,
                _ = tick.tick() => if let Some(text) = output.take() { live.show(text) },
            }
        };
        match done {
            Ok(done) => {
                if let Some(text) = output.take_rest().filter(|_| !given.mask.is_empty()) {
                    live.show(text);
                }
                self.end(&done, limits).masked(&given.mask)
            }
            Err(error) => not_started(&error),
        }
    }

    fn end(&self, done: &Finished, CommandLimits { permissions, wall }: CommandLimits) -> CommandEnd {
        let clipped = output(done);
        let mut text = clipped.text.clone();
        if clipped.is_clipped {
            text.push_str(&format!("\n[output cut to {OUTPUT_LIMIT} characters]"));
        }
        let (reason, message) = match done.exit {
            Exit::Code(0) => (None, "exit code 0".to_owned()),
            Exit::Code(127) => (Some(Reason::UnknownCommand), "exit code 127".to_owned()),
            Exit::Code(code) => (Some(Reason::ExitCode), format!("exit code {code}")),
            Exit::Signal(signal) => (Some(Reason::Signal), format!("killed by signal {signal}{}", signal_name(signal))),
            Exit::TimedOut => {
                (Some(Reason::Timeout), format!("stopped after {} s, with everything it had started", wall.as_secs()))
            }
            Exit::Cancelled => (Some(Reason::Signal), "stopped".to_owned()),
        };
        if let Some(reason) = reason {
            text.push_str(&format!("\n[{message}]"));
            let hint = self.environment.hint(&[done.stdout.text(), done.stderr.text()].join("\n"), permissions);
            let advice =
                hint.or_else(|| (reason != Reason::ExitCode).then(|| reason.suggestion(Language::English).into()));
            if let Some(advice) = advice {
                text.push_str(&format!("\n[{advice}]"));
            }
        }
        if let Some(lines) = self.environment.contacted(&done.egress_attempts, permissions) {
            text.push_str(&format!("\n{lines}"));
        }
        let text = match text.trim_start_matches('\n') {
            "" => "[no output, exit code 0]".to_owned(),
            text => text.to_owned(),
        };
        let exit_code = match done.exit {
            Exit::Code(code) => Some(code),
            Exit::Signal(_) | Exit::TimedOut | Exit::Cancelled => None,
        };
        let output_type = match (done.stdout.is_empty(), done.stderr.is_empty()) {
            (_, true) => "stdout",
            (true, false) => "stderr",
            (false, false) => "both",
        };
        let (took, egress_attempts) = (done.took, done.egress_attempts.clone());
        let is_cancelled = done.exit == Exit::Cancelled;
        CommandEnd {
            reason,
            exit_code,
            output: clipped.text,
            output_type,
            text,
            message,
            took,
            egress_attempts,
            is_cancelled,
        }
    }
}

fn not_started(error: &SandboxError) -> CommandEnd {
    CommandEnd::not_run(Reason::NotStarted, CommandEnvironment::refusal(error).text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_of_a_command_is_relative_to_the_project() {
        let of = |folder: Option<&str>| Command {
            instruction: "ls".to_owned(),
            working_directory: folder.map(str::to_owned),
        };
        for (folder, shown, line) in [
            (None, "/", "ls"),
            (Some("/"), "/", "ls"),
            (Some("."), "/", "ls"),
            (Some("/frontend/"), "/frontend", "cd frontend && ls"),
            (Some("a/b"), "/a/b", "cd a/b && ls"),
        ] {
            assert_eq!((of(folder).shown_folder().as_str(), of(folder).line().as_str()), (shown, line));
        }
    }

    #[test]
    fn reasons_have_the_words_of_the_document() {
        let reason = Reason::NoFolder.failure();
        assert_eq!((reason.code, reason.reason(Language::Chinese).as_str()), ("no_folder", "工作目录不存在"));
        assert_eq!(Reason::Blocked.failure().reason(Language::Chinese), "危险操作被阻止");
        assert_eq!(Reason::UnknownCommand.suggestion(Language::Chinese), "请检查命令拼写或是否已安装相关工具");
    }
}
