//! Runs the system's git in the sandbox, in a repository whose files may come from anybody.
//!
//! Nothing that the repository configures runs: no hooks, filters, external diffs, file system monitors, signing programs,
//! editors, pagers or transports. Most of it is switched off by name; filters and configured hooks have names of their own,
//! so their names are read first. The sandbox keeps git to the project's folder in any case, without network, and a
//! command that only reads cannot write, except in a linked folder, which is its working directory.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::visible::visible;
use crate::domain::{EntryPath, FolderOwner, GitRefused, RoleRefused};
use crate::engine::{EngineError, blocking};
use crate::sandbox::{COMMAND_MEMORY, Captured, Exit, Finished, Job, Network, Sandbox, SandboxError, empty_folder};
use crate::store::StoreError;

/// Time limit of a command that only reads, and of one that changes something.
const READ_WALL: Duration = Duration::from_secs(30);
const WRITE_WALL: Duration = Duration::from_secs(180);
/// Maximum number of filters and hooks in the configuration of a repository.
const MAX_DRIVERS: usize = 500;
/// Maximum bytes kept of a list, such as that of the changed files.
pub(super) const LIST: usize = 16 << 20;
/// Maximum bytes of the names in a configuration.
const CONFIG: usize = 1 << 20;
/// Maximum characters of an error message of git.
const ERROR_CHARS: usize = 500;
/// Maximum bytes of paths in one command, and of such that bash writes.
const PATH_BYTES: usize = 256 << 10;
const WRITTEN_BYTES: usize = 24 << 10;

const LARGE: &str = "the configuration of the repository is too large";
const NO_TEXT: &str = "the configuration of the repository has a filter, hook or merge driver whose name is not UTF-8";

/// Variables of each command.
const VARIABLES: [(&str, &str); 19] = [
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "/bin/false"),
    ("SSH_ASKPASS", "/bin/false"),
    ("GIT_SSH_COMMAND", "/bin/false"),
    ("GIT_PROXY_COMMAND", "/bin/false"),
    ("GIT_EDITOR", "/bin/false"),
    ("GIT_SEQUENCE_EDITOR", "/bin/false"),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
    // Overrides `protocol.*` of the repository.
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_ADVICE", "0"),
    ("GIT_MERGE_AUTOEDIT", "no"),
];
/// Configuration of each command, which overrides that of the repository.
const CONFIGURATION: [(&str, &str); 45] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "/bin/false"),
    ("core.askPass", "/bin/false"),
    ("core.sshCommand", "/bin/false"),
    ("core.gitProxy", ""),
    ("core.alternateRefsCommand", "/bin/false"),
    ("core.quotePath", "false"),
    ("protocol.allow", "never"),
    ("credential.helper", ""),
    ("commit.gpgSign", "false"),
    ("commit.verbose", "false"),
    ("commit.status", "false"),
    ("commit.template", "/dev/null"),
    ("tag.gpgSign", "false"),
    ("gpg.program", "/bin/false"),
    ("gpg.openpgp.program", "/bin/false"),
    ("gpg.x509.program", "/bin/false"),
    ("gpg.ssh.program", "/bin/false"),
    ("gpg.ssh.defaultKeyCommand", "/bin/false"),
    ("log.showSignature", "false"),
    ("log.mailmap", "false"),
    ("log.showRoot", "true"),
    ("mailmap.file", "/dev/null"),
    ("mailmap.blob", ""),
    ("diff.external", ""),
    ("diff.orderFile", "/dev/null"),
    ("diff.autoRefreshIndex", "false"),
    ("diff.submodule", "short"),
    ("diff.noprefix", "false"),
    ("diff.mnemonicPrefix", "false"),
    ("interactive.diffFilter", "cat"),
    ("color.ui", "false"),
    ("column.ui", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("status.submoduleSummary", "false"),
    ("rerere.enabled", "false"),
    ("safe.directory", "*"),
    ("init.templateDir", ""),
];

/// What a command of git may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Nothing,
    /// The folder of git.
    Repository,
    /// Also the files of the project.
    Files,
}

/// A command of git.
#[derive(Clone, Debug)]
pub(super) struct GitCommand {
    /// Its name and options.
    pub arguments: Vec<String>,
    /// The files of the project that it is about, behind the options.
    pub paths: Vec<EntryPath>,
    pub access: Access,
    /// Variables for this command.
    pub variables: Vec<(String, String)>,
    /// Maximum bytes kept of its output, from the beginning.
    pub keep: usize,
    /// There is no repository yet.
    pub is_first: bool,
}

/// The output of a command.
#[derive(Clone, Debug)]
pub(super) struct GitOutput {
    pub bytes: Vec<u8>,
    /// Whether there was more.
    pub is_cut: bool,
}

/// Runs commands in the repository of one project.
#[derive(Clone)]
pub(super) struct GitRunner {
    pub sandbox: Sandbox,
    /// The project's folder.
    pub folder: PathBuf,
    /// To whom the files of the folder belong.
    pub owner: FolderOwner,
    /// Whether the person may only read the project.
    pub is_read_only: bool,
    /// Stops every command.
    pub cancel: CancellationToken,
}

impl GitCommand {
    pub fn reading(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Self {
            arguments,
            paths: Vec::new(),
            access: Access::Nothing,
            variables: Vec::new(),
            keep: LIST,
            is_first: false,
        }
    }

    pub fn writing(arguments: &[&str], access: Access) -> Self {
        Self { access, ..Self::reading(arguments) }
    }

    pub fn about(self, paths: Vec<EntryPath>) -> Self {
        Self { paths, ..self }
    }
}

impl GitRunner {
    /// Runs a command to its end.
    ///
    /// # Errors
    /// Returns [`GitRefused`] if it fails, with what git wrote.
    pub async fn run(&self, command: GitCommand) -> Result<GitOutput, EngineError> {
        Ok(self.run_naming_filters(command).await?.0)
    }

    /// Like [`Self::run`]; also returns the names of the filters that the repository configures and that do not run.
    ///
    /// # Errors
    /// Same as [`Self::run`].
    pub async fn run_naming_filters(&self, command: GitCommand) -> Result<(GitOutput, Vec<String>), EngineError> {
        self.give_folder().await?;
        let drivers = self.drivers().await?;
        let off = drivers.iter().flat_map(Driver::switched_off).collect();
        Ok((self.run_with(command, off).await?, filters(&drivers)))
    }

    /// Makes a repository.
    ///
    /// # Errors
    /// Returns [`GitRefused`] if git cannot do it.
    pub async fn init(&self) -> Result<(), EngineError> {
        self.give_folder().await?;
        let init = ["init", "-q", "--template=", "--initial-branch=main"];
        self.run_with(GitCommand { is_first: true, ..GitCommand::writing(&init, Access::Files) }, Vec::new()).await?;
        Ok(())
    }

    /// Lets the user of commands into the folder, as each command does. It is only read by some.
    async fn give_folder(&self) -> Result<(), EngineError> {
        if self.owner != FolderOwner::Commands {
            return Ok(());
        }
        let (sandbox, folder) = (self.sandbox.clone(), self.folder.clone());
        let prepared = blocking(move || Ok(sandbox.prepare(&folder))).await?;
        prepared.map_err(refused)
    }

    /// Returns what the configuration of the repository would run under names of its own.
    async fn drivers(&self) -> Result<BTreeSet<Driver>, EngineError> {
        let list = GitCommand { keep: CONFIG, ..GitCommand::reading(&["config", "--list", "--name-only", "-z"]) };
        let output = self.run_with(list, Vec::new()).await?;
        match drivers(&output.bytes) {
            _ if output.is_cut => Err(GitRefused::Elsewhere(LARGE).into()),
            Some(drivers) if drivers.len() > MAX_DRIVERS => Err(GitRefused::Elsewhere(LARGE).into()),
            Some(drivers) => Ok(drivers),
            None => Err(GitRefused::Elsewhere(NO_TEXT).into()),
        }
    }

    async fn run_with(&self, command: GitCommand, more: Vec<(String, String)>) -> Result<GitOutput, EngineError> {
        let empty =
            empty_folder().map_err(|_| EngineError::Internal("no folder for a command of git could be made"))?;
        let git = self.folder.join(".git");
        let cwd = match command.access {
            // The user of commands is shown as the owner only of a working directory.
            _ if self.owner != FolderOwner::Commands => self.folder.clone(),
            Access::Nothing => empty.path().to_owned(),
            Access::Repository => git.clone(),
            Access::Files => self.folder.clone(),
        };
        let shown = |path: &PathBuf| path.to_string_lossy().into_owned();
        let mut variables = Vec::new();
        if !command.is_first {
            // Overrides what a `.git` or a configuration says about other places.
            variables.push(("GIT_DIR".to_owned(), shown(&git)));
            variables.push(("GIT_WORK_TREE".to_owned(), shown(&self.folder)));
        }
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        variables.extend(VARIABLES.map(owned));
        let configuration: Vec<_> = CONFIGURATION.map(owned).into_iter().chain(more).collect();
        variables.push(("GIT_CONFIG_COUNT".to_owned(), configuration.len().to_string()));
        for (at, (key, value)) in configuration.into_iter().enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{at}"), key));
            variables.push((format!("GIT_CONFIG_VALUE_{at}"), value));
        }
        variables.extend(command.variables);
        let git = ["git", "-C", &shown(&self.folder), "--no-pager", "--literal-pathspecs"];
        let line = git.into_iter().map(str::to_owned).chain(command.arguments).collect();
        let job = Job {
            argv: with_paths(line, &command.paths)?,
            cwd,
            readable: vec![self.folder.clone()],
            env: variables,
            wall: if command.access == Access::Nothing { READ_WALL } else { WRITE_WALL },
            // Half of it is the beginning.
            output_cap: 2 * command.keep,
            memory: COMMAND_MEMORY,
            network: Network::None,
            capture: None,
            owner: match self.owner {
                FolderOwner::Sharer { uid, .. } => {
                    FolderOwner::Sharer { uid, is_read_only: command.access == Access::Nothing }
                }
                owner => owner,
            },
        };
        // Whoever calls: nothing is changed for a person who may only read.
        if self.is_read_only && command.access != Access::Nothing {
            return Err(StoreError::Role(RoleRefused::ReadOnly).into());
        }
        let done = self.sandbox.run(job, self.cancel.clone()).await.map_err(refused)?;
        output(done, command.keep)
    }
}

/// Returns the command line with paths. Arguments of a job are text; a path that is none is written by bash.
fn with_paths(mut line: Vec<String>, paths: &[EntryPath]) -> Result<Vec<String>, GitRefused> {
    let bytes: usize = paths.iter().map(|path| path.below().as_os_str().len() + 1).sum();
    let texts: Option<Vec<&str>> = paths.iter().map(|path| path.below().to_str()).collect();
    if bytes > if texts.is_some() { PATH_BYTES } else { WRITTEN_BYTES } {
        return Err(GitRefused::Failed("too many paths for one request; send fewer".to_owned()));
    }
    if paths.is_empty() {
        return Ok(line);
    }
    line.push("--".to_owned());
    match texts {
        Some(texts) => line.extend(texts.into_iter().map(str::to_owned)),
        None => {
            let mut script = "exec \"$@\"".to_owned();
            for path in paths {
                script.push_str(" $'");
                for byte in path.below().as_os_str().as_bytes() {
                    // Writing to a String cannot fail.
                    let _ = write!(script, "\\x{byte:02x}");
                }
                script.push('\'');
            }
            line.splice(0..0, ["/bin/bash".to_owned(), "-c".to_owned(), script, "bash".to_owned()]);
        }
    }
    Ok(line)
}

fn output(done: Finished, keep: usize) -> Result<GitOutput, EngineError> {
    let Captured { head, tail, total_bytes } = done.stdout;
    let mut bytes = head;
    let is_whole = bytes.len() as u64 + tail.len() as u64 == total_bytes;
    if is_whole {
        bytes.extend_from_slice(&tail);
    }
    let is_cut = total_bytes > keep as u64;
    bytes.truncate(keep);
    match done.exit {
        Exit::Code(0) => Ok(GitOutput { bytes, is_cut }),
        // It wrote more than the sandbox reads, and what was kept is whole.
        Exit::Signal(libc::SIGPIPE) if is_cut => Ok(GitOutput { bytes, is_cut: true }),
        Exit::Code(141) if is_cut => Ok(GitOutput { bytes, is_cut: true }),
        Exit::TimedOut if is_cut => Ok(GitOutput { bytes, is_cut: true }),
        Exit::TimedOut | Exit::Cancelled => Err(GitRefused::TimedOut.into()),
        Exit::Code(_) | Exit::Signal(_) => Err(explained(&done.stderr.text()).into()),
    }
}

/// Returns what an error of git means.
fn explained(stderr: &str) -> GitRefused {
    let is_lock = |line: &&str| line.contains(".lock': File exists");
    if let Some(line) = stderr.lines().find(is_lock) {
        let name = line.split_once("/.git/").and_then(|(_, rest)| rest.split_once('\''));
        return GitRefused::Locked(name.map_or("index.lock", |(name, _)| name).chars().take(200).collect());
    }
    if stderr.contains("not a git repository") {
        return GitRefused::NoRepository;
    }
    let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let text: Vec<String> = lines.map(visible).collect();
    let text = if text.is_empty() { "it failed without an explanation".to_owned() } else { text.join(" ") };
    GitRefused::Failed(text.chars().take(ERROR_CHARS).collect())
}

fn refused(error: SandboxError) -> EngineError {
    match error {
        SandboxError::Program { .. } => GitRefused::Missing.into(),
        error => EngineError::NoSandbox(error.to_string()),
    }
}

/// Something in the configuration of a repository that would run a program, under a name of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Driver {
    Filter(String),
    Hook(String),
    Merge(String),
}

impl Driver {
    fn switched_off(&self) -> Vec<(String, String)> {
        let set = |key: String, value: &str| (key, value.to_owned());
        match self {
            Self::Filter(name) => vec![
                set(format!("filter.{name}.clean"), ""),
                set(format!("filter.{name}.smudge"), ""),
                set(format!("filter.{name}.process"), ""),
                set(format!("filter.{name}.required"), "false"),
            ],
            Self::Hook(name) => vec![set(format!("hook.{name}.enabled"), "false")],
            Self::Merge(name) => vec![set(format!("merge.{name}.driver"), "/bin/false")],
        }
    }
}

/// Returns the drivers in a list of configured names, which end with NUL; `None` if one has a name that is no text, so that it
/// could not be switched off.
fn drivers(names: &[u8]) -> Option<BTreeSet<Driver>> {
    let mut drivers = BTreeSet::new();
    for name in names.split(|byte| *byte == 0) {
        let sections = ["filter.", "hook.", "merge."];
        let found = sections.into_iter().find_map(|section| Some((section, name.strip_prefix(section.as_bytes())?)));
        let Some((section, rest)) = found else { continue };
        let Some(end) = rest.iter().rposition(|byte| *byte == b'.') else { continue };
        let name = std::str::from_utf8(&rest[..end]).ok()?.to_owned();
        drivers.insert(match section {
            "filter." => Driver::Filter(name),
            "hook." => Driver::Hook(name),
            _ => Driver::Merge(name),
        });
    }
    Some(drivers)
}

/// Returns the names of the filters, sorted.
fn filters(drivers: &BTreeSet<Driver>) -> Vec<String> {
    let filter = |driver: &Driver| if let Driver::Filter(name) = driver { Some(visible(name)) } else { None };
    drivers.iter().filter_map(filter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ProjectId, Root};
    use proptest::prelude::*;

    fn path(bytes: &[u8]) -> EntryPath {
        let root = Root::Project(ProjectId::scratch());
        EntryPath::new(root, std::path::Path::new(std::ffi::OsStr::from_bytes(bytes))).unwrap()
    }

    #[test]
    fn drivers_are_found_by_their_names() {
        let names =
            b"core.bare\0filter.a.b.clean\0filter.lfs.required\0filter.x\0hook.Y.command\0merge.u.driver\0merge.ff\0";
        assert_eq!(filters(&drivers(names).unwrap()), ["a.b", "lfs"]);
        let hook = drivers(names).unwrap().into_iter().find(|driver| matches!(driver, Driver::Hook(_)));
        assert_eq!(hook, Some(Driver::Hook("Y".to_owned())));
        assert_eq!(drivers(names).unwrap().len(), 4);
        assert_eq!(drivers(b"user.\xff.name\0filter.\xff.clean\0"), None, "it could not be switched off");
    }

    #[test]
    fn errors_of_git_are_explained() {
        let lock = "fatal: Unable to create '/home/a/.git/index.lock': File exists.\n\nAnother git process";
        assert_eq!(explained(lock), GitRefused::Locked("index.lock".to_owned()));
        let said = explained("hint: no\nfatal: bad config line 1 in file .git/config\u{1b}[31m\n");
        assert_eq!(said.to_string(), "git: fatal: bad config line 1 in file .git/config\\u001b[31m");
    }

    #[test]
    fn path_that_is_no_text_is_passed_byte_for_byte() {
        let line = with_paths(vec!["printf".into(), "%s".into()], &[path(b"a b"), path(b"\xff'$(x)\n")]).unwrap();
        assert_eq!((line[0].as_str(), line[3].as_str()), ("/bin/bash", "bash"));
        assert!(line[2].ends_with(" $'\\x61\\x20\\x62' $'\\xff\\x27\\x24\\x28\\x78\\x29\\x0a'"), "{}", line[2]);
        let plain = with_paths(vec!["git".into()], &[path(b"-n")]).unwrap();
        assert_eq!(plain, ["git", "--", "-n"]);
    }

    proptest! {
        #[test]
        fn any_names_and_errors_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = drivers(&bytes);
            let _ = explained(&String::from_utf8_lossy(&bytes));
        }
    }
}
