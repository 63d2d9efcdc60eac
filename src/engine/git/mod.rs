//! Git in a project, done by a person: status, diffs, staging, commits, branches. An agent uses git in its commands.

mod diff;
mod discard;
mod log;
mod run;
mod status;

use std::sync::Arc;

pub use self::diff::GitDiff;
pub use self::discard::{Discarded, MAX_DISCARDED};
pub use self::log::{GitBranch, GitCommit, is_id};
use self::run::{Access, GitCommand, GitRunner};
pub use self::status::{GitChange, GitEntry, GitStatus};
use super::{Engine, EngineError, Notice, blocking};
use crate::domain::{BranchName, EntryPath, GitAuthor, GitRefused, ProjectId, ProjectRefused, Root};
use crate::sandbox::Level;
use crate::store::{GitFolder, StoreError, TextFile};

/// Maximum bytes of a diff that is shown.
const MAX_DIFF: usize = 1 << 20;
/// Maximum number of branches that are listed.
const MAX_BRANCHES: usize = 1_000;
/// The options of each diff.
const DIFF: [&str; 7] = [
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=all",
    "--find-renames",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];
const STATUS: [&str; 7] = [
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--untracked-files=all",
    "--ignore-submodules=all",
    "--find-renames",
];

/// Why git does not run in the folder of another person.
const NO_EXCHANGE: &str =
    "the files of another person cannot be shown as those of your commands on this server, so git does not run here";

/// What a diff compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiffOf {
    /// The files with what is staged.
    Unstaged,
    /// What is staged with the last commit.
    Staged,
    /// A commit with its first parent.
    Commit(String),
}

/// The state of a project's repository.
#[derive(Clone, Debug)]
pub struct GitOverview {
    /// `None` if the project is no repository yet.
    pub status: Option<GitStatus>,
    /// Filters that the repository configures, such as `lfs`. They do not run.
    pub filters: Vec<String>,
    /// Whose commits a person made last.
    pub author: Option<GitAuthor>,
}

/// A page of commits.
pub struct GitLog {
    pub commits: Vec<GitCommit>,
    pub has_more: bool,
}

impl Engine {
    /// Returns the state of a project's repository.
    ///
    /// # Errors
    /// Returns [`EngineError::Git`] with the reason if git cannot be used.
    pub async fn git_overview(&self, id: &ProjectId) -> Result<GitOverview, EngineError> {
        let author = self.tenant.home.git_author();
        let runner = match self.repository(id).await {
            Err(EngineError::Git(GitRefused::NoRepository)) => {
                return Ok(GitOverview { status: None, filters: Vec::new(), author });
            }
            runner => runner?,
        };
        let _one_at_a_time = self.tenant.git.lock().await;
        let (output, filters) = runner.run_naming_filters(GitCommand::reading(&STATUS)).await?;
        let status = status::parse(&Root::Project(id.clone()), &output.bytes);
        Ok(GitOverview { status: Some(status), filters, author })
    }

    /// Returns the diff of a file, or of all.
    ///
    /// # Errors
    /// Returns [`EngineError::Git`] with the reason.
    pub async fn git_diff(&self, id: &ProjectId, of: DiffOf, path: Option<EntryPath>) -> Result<GitDiff, EngineError> {
        let runner = self.repository(id).await?;
        let mut arguments = match &of {
            DiffOf::Unstaged => vec!["diff"],
            DiffOf::Staged => vec!["diff", "--cached"],
            DiffOf::Commit(_) => vec!["show", "--format=", "--diff-merges=first-parent", "--no-notes"],
        };
        arguments.extend(DIFF);
        if let DiffOf::Commit(commit) = &of {
            arguments.push(commit);
        }
        let command = GitCommand { keep: MAX_DIFF, ..GitCommand::reading(&arguments) };
        let guard = self.tenant.git.lock().await;
        let output = runner.run(command.about(path.iter().cloned().collect())).await?;
        drop(guard);
        let diff = diff::parse(&output.bytes, output.is_cut);
        match path.as_ref().and_then(EntryPath::place) {
            // Git has nothing to compare a file with that it does not track.
            Some(place) if output.bytes.is_empty() && of == DiffOf::Unstaged => {
                let tracked = GitCommand::reading(&["ls-files", "-z"]).about(path.iter().cloned().collect());
                if !self.git_read(id, tracked).await?.is_empty() {
                    return Ok(diff);
                }
                let (home, shown) = (self.tenant.home.clone(), place.path().to_owned());
                let read = blocking(move || home.read_text(&place)).await;
                Ok(match read {
                    Ok(TextFile { content, .. }) if content.len() <= MAX_DIFF => diff::of_new(&shown, &content),
                    Ok(_) => GitDiff { is_cut: true, ..GitDiff::default() },
                    Err(_) => GitDiff { is_binary: true, ..GitDiff::default() },
                })
            }
            _ => Ok(diff),
        }
    }

    /// Stages files, or everything. A deleted file is staged as deleted.
    ///
    /// # Errors
    /// Returns [`EngineError::Git`] with the reason.
    pub async fn git_stage(&self, id: &ProjectId, paths: Option<Vec<EntryPath>>) -> Result<(), EngineError> {
        match paths {
            Some(paths) => self.git_write(id, staging(&["add", "-A"]).about(paths)).await.map(drop),
            None => {
                self.git_write(id, staging(&["add", "-A"])).await?;
                // Temporary files of commands are nobody's.
                self.git_write(id, staging(&["reset", "-q", "--", ".tmp"])).await.map(drop)
            }
        }
    }

    /// Takes files, or everything, out of what is staged. The files stay as they are.
    ///
    /// # Errors
    /// Returns [`EngineError::Git`] with the reason.
    pub async fn git_unstage(&self, id: &ProjectId, paths: Option<Vec<EntryPath>>) -> Result<(), EngineError> {
        let command = match paths {
            Some(paths) => staging(&["reset", "-q"]).about(paths),
            None => staging(&["reset", "-q", "--", "."]),
        };
        self.git_write(id, command).await.map(drop)
    }

    /// Commits what is staged, and remembers the author. Returns the id of the commit.
    ///
    /// # Errors
    /// Returns [`GitRefused::AuthorNeeded`] if no author is given or known, and other reasons.
    pub async fn git_commit(
        &self,
        id: &ProjectId,
        message: String,
        author: Option<GitAuthor>,
    ) -> Result<String, EngineError> {
        self.tenant.home.require_writable(&Root::Project(id.clone()))?;
        let GitOverview { status, author: known, .. } = self.git_overview(id).await?;
        let status = status.ok_or(GitRefused::NoRepository)?;
        if status.entries.iter().any(|entry| entry.unstaged == Some(GitChange::Conflict)) {
            return Err(GitRefused::Conflicts.into());
        }
        if !status.entries.iter().any(|entry| entry.staged.is_some()) && status.left_out == 0 {
            return Err(GitRefused::NothingStaged.into());
        }
        let by = author.clone().or_else(|| known.clone()).ok_or(GitRefused::AuthorNeeded)?;
        if author.is_some() && author != known {
            self.tenant.tree.set_git_author(self.tenant.claim, by.clone()).await?;
        }
        let message = format!("--message={message}");
        let commit = ["commit", "-q", "--no-verify", "--no-gpg-sign", "--cleanup=whitespace", &message];
        let variables = ["AUTHOR", "COMMITTER"].into_iter().flat_map(|who| {
            [(format!("GIT_{who}_NAME"), by.name.clone()), (format!("GIT_{who}_EMAIL"), by.email.clone())]
        });
        let command = GitCommand { variables: variables.collect(), ..GitCommand::writing(&commit, Access::Repository) };
        self.git_write(id, command).await?;
        let head = self.git_read(id, GitCommand::reading(&["rev-parse", "--verify", "HEAD"])).await?;
        Ok(String::from_utf8_lossy(&head).trim().to_owned())
    }

    /// Returns the branches, those with the newest commits first.
    ///
    /// # Errors
    /// Returns [`EngineError::Git`] with the reason.
    pub async fn git_branches(&self, id: &ProjectId) -> Result<Vec<GitBranch>, EngineError> {
        let count = format!("--count={MAX_BRANCHES}");
        let list = ["for-each-ref", "--sort=-committerdate", &count, log::BRANCH_FORMAT, "refs/heads"];
        Ok(log::branches(&self.git_read(id, GitCommand::reading(&list)).await?))
    }

    /// Creates a branch at the last commit, and switches to it if `switch` says so; the files stay as they are.
    ///
    /// # Errors
    /// Returns [`GitRefused::BranchExists`] if there is one with this name.
    pub async fn git_create_branch(&self, id: &ProjectId, name: &BranchName, switch: bool) -> Result<(), EngineError> {
        self.tenant.home.require_writable(&Root::Project(id.clone()))?;
        if self.has_branch(id, name).await? {
            return Err(GitRefused::BranchExists.into());
        }
        let reference = format!("refs/heads/{}", name.as_str());
        let has_commit = self.git_overview(id).await?.status.is_some_and(|status| status.head.is_some());
        if has_commit {
            let create = ["branch", "--no-track", name.as_str()];
            self.git_write(id, GitCommand::writing(&create, Access::Repository)).await?;
        }
        if switch || !has_commit {
            let point = ["symbolic-ref", "-m", "created from the page", "HEAD", &reference];
            self.git_write(id, GitCommand::writing(&point, Access::Repository)).await?;
        }
        Ok(())
    }

    /// Switches to a branch. Files change to what they are in it; a switch back undoes that.
    ///
    /// # Errors
    /// Returns [`GitRefused::Dirty`] if there are changes that are not committed, and [`ProjectRefused::Busy`] while a
    /// conversation works in the project.
    pub async fn git_switch(&self, id: &ProjectId, name: &BranchName) -> Result<(), EngineError> {
        self.free_to_change(id).await?;
        if !self.has_branch(id, name).await? {
            return Err(GitRefused::NoBranch.into());
        }
        if self.git_overview(id).await?.status.is_some_and(|status| status.is_dirty()) {
            return Err(GitRefused::Dirty.into());
        }
        let switch = ["switch", "-q", "--no-guess", "--no-recurse-submodules", "--no-overwrite-ignore", name.as_str()];
        let switched = self.git_write(id, GitCommand::writing(&switch, Access::Files)).await;
        self.files_changed(id);
        switched.map(drop)
    }

    /// Returns commits, newest first: those of `head` and before it, without the first `skip`.
    ///
    /// # Errors
    /// Returns [`EngineError::Git`] with the reason.
    pub async fn git_log(
        &self,
        id: &ProjectId,
        (head, skip, most): (&str, usize, usize),
        path: Option<EntryPath>,
    ) -> Result<GitLog, EngineError> {
        let (skip, count) = (format!("--skip={skip}"), format!("--max-count={}", most + 1));
        let list = ["log", "-z", "--no-color", "--no-notes", log::COMMIT_FORMAT, &skip, &count, head];
        let command = GitCommand::reading(&list).about(path.into_iter().collect());
        let mut commits = log::commits(&self.git_read(id, command).await?);
        let has_more = commits.len() > most;
        commits.truncate(most);
        Ok(GitLog { commits, has_more })
    }

    /// Makes a project a repository.
    ///
    /// # Errors
    /// Returns [`GitRefused::Exists`] if it is one.
    pub async fn git_init(&self, id: &ProjectId) -> Result<(), EngineError> {
        self.tenant.home.require_writable(&Root::Project(id.clone()))?;
        match self.repository(id).await {
            Err(EngineError::Git(GitRefused::NoRepository)) => {}
            Err(error) => return Err(error),
            Ok(_) => return Err(GitRefused::Exists.into()),
        }
        let runner = self.runner(id)?;
        self.changed_by_git(async move { runner.init().await }).await?;
        self.files_changed(id);
        Ok(())
    }

    async fn has_branch(&self, id: &ProjectId, name: &BranchName) -> Result<bool, EngineError> {
        let reference = format!("refs/heads/{}", name.as_str());
        let list = self.git_read(id, GitCommand::reading(&["for-each-ref", "--format=%(refname)", &reference])).await?;
        Ok(list.split(|byte| *byte == b'\n').any(|line| line == reference.as_bytes()))
    }

    /// # Errors
    /// Returns [`ProjectRefused::Busy`] while a conversation works in the project: what it finds must not change, and what
    /// changes must not count as its own.
    async fn free_to_change(&self, id: &ProjectId) -> Result<(), EngineError> {
        self.tenant.home.require_writable(&Root::Project(id.clone()))?;
        match self.is_at_work_in(id).await {
            true => Err(StoreError::Project(ProjectRefused::Busy).into()),
            false => Ok(()),
        }
    }

    fn files_changed(&self, id: &ProjectId) {
        let path = Root::Project(id.clone()).to_string();
        self.tenant.hub.notice(Notice::FolderChanged { path });
    }

    async fn git_read(&self, id: &ProjectId, command: GitCommand) -> Result<Vec<u8>, EngineError> {
        let runner = self.repository(id).await?;
        let _one_at_a_time = self.tenant.git.lock().await;
        Ok(runner.run(command).await?.bytes)
    }

    /// Runs a command that changes something to its end, even if nobody waits for it.
    async fn git_write(&self, id: &ProjectId, command: GitCommand) -> Result<Vec<u8>, EngineError> {
        self.tenant.home.require_writable(&Root::Project(id.clone()))?;
        let runner = self.repository(id).await?;
        self.changed_by_git(async move { Ok(runner.run(command).await?.bytes) }).await
    }

    /// Waits for a command that changes files. If the home is in a database, they are stored there before this returns, also after a
    /// failure.
    async fn changed_by_git<T: Send + 'static>(
        &self,
        command: impl Future<Output = Result<T, EngineError>> + Send + 'static,
    ) -> Result<T, EngineError> {
        let tenant = Arc::clone(&self.tenant);
        let changed = tokio::spawn(async move {
            let _one_at_a_time = tenant.git.lock().await;
            let done = command.await;
            tenant.tree.store_changes(tenant.claim).await?;
            done
        });
        changed.await.map_err(|_| StoreError::ShutDown)?
    }

    /// Returns what runs git in a project, if all of its repository is in the project.
    async fn repository(&self, id: &ProjectId) -> Result<GitRunner, EngineError> {
        let runner = self.runner(id)?;
        let (home, root) = (self.tenant.home.clone(), Root::Project(id.clone()));
        match blocking(move || home.git_folder(&root)).await? {
            GitFolder::Whole => Ok(runner),
            GitFolder::None => Err(GitRefused::NoRepository.into()),
            GitFolder::Elsewhere(why) => Err(GitRefused::Elsewhere(why).into()),
        }
    }

    fn runner(&self, id: &ProjectId) -> Result<GitRunner, EngineError> {
        let (home, root) = (&self.tenant.home, Root::Project(id.clone()));
        let folder = home.working_path(&root).ok_or_else(|| EngineError::NoProject(id.clone()))?;
        let sandbox = self.tenant.commands.of_helpers(&self.tenant.runtime);
        if self.tenant.commands.person.is_some() && sandbox.level() == Level::Off {
            return Err(EngineError::NoSandbox("the sandbox is off, and several people use this server".to_owned()));
        }
        if sandbox.is_readable_by_every_job(&folder) {
            return Err(EngineError::NoSandbox("the home lies below a folder of the system".to_owned()));
        }
        let is_read_only = home.require_writable(&root).is_err();
        let owner = home.folder_owner(&root).ok_or_else(|| {
            let why = home.exchange_problem(id).map(|why| format!(" ({why})")).unwrap_or_default();
            EngineError::NoSandbox(format!("{NO_EXCHANGE}{why}"))
        })?;
        Ok(GitRunner { sandbox, folder, owner, is_read_only, cancel: self.tenant.closing.clone() })
    }
}

fn staging(arguments: &[&str]) -> GitCommand {
    GitCommand::writing(arguments, Access::Repository)
}
