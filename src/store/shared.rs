//! The projects that others share with the person of a home. What this person may do there is only in the server's list
//! (`project-members.json`), never in a file of a home, and is looked up at each use: a role that was taken back is gone with the
//! next access. The folder is opened anew each time, beneath the home of its owner, whose list says where it is.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt};
use rustix::fs::{Mode, OFlags};

use super::error::StoreError;
use super::home::{Home, lock};
use super::projects::{WORKSPACES, folder_name, listed_projects};
use super::settings::SettingsFile;
use crate::domain::{
    AccountId, FolderOwner, MemberBook, MemberRole, MemberState, Project, ProjectId, ProjectRole, RoleRefused, Root,
};

/// The projects of a home, and the stamp of the file that they were read from.
type ReadList = (FileStamp, Arc<Vec<Project>>);

/// The shared projects of a server, for the homes of its people.
pub struct SharedProjects {
    /// The folder with the homes of people.
    people: Dir,
    path: PathBuf,
    state: RwLock<Arc<SharedState>>,
    /// The lists of owners, each as it was when its file had this stamp.
    lists: Mutex<HashMap<AccountId, ReadList>>,
    /// Held while somebody who shares projects, or has shared ones, changes files: their homes have the same files.
    writing: Mutex<()>,
}

/// Size, number in the file system, and times of change of a file: when it was written, and when anything about it changed.
type FileStamp = (u64, u64, (i64, i64), (i64, i64));

/// Who may use whose projects.
#[derive(Default)]
pub struct SharedState {
    roles: HashMap<AccountId, BTreeMap<ProjectId, (AccountId, MemberRole)>>,
    /// Everybody who shares a project, or is invited to one.
    concerned: std::collections::HashSet<AccountId>,
    /// The users of the system that the files of people belong to.
    uids: HashMap<AccountId, u32>,
    /// Why commands cannot work in the folder of somebody else; `None` if they can.
    no_exchange: Option<String>,
}

impl SharedState {
    pub fn new(book: &MemberBook, uids: impl Iterator<Item = (AccountId, u32)>, no_exchange: Option<String>) -> Self {
        let mut state = Self { uids: uids.collect(), no_exchange, ..Self::default() };
        for project in &book.projects {
            state.concerned.insert(project.owner.clone());
            for member in &project.members {
                let Some(account) = &member.account else { continue };
                state.concerned.insert(account.clone());
                if member.state == MemberState::Member && *account != project.owner {
                    let of_account = state.roles.entry(account.clone()).or_default();
                    of_account.insert(project.id.clone(), (project.owner.clone(), member.role));
                }
            }
        }
        state
    }
}

/// The person of a home, as a member of projects of others.
pub(super) struct Membership {
    account: AccountId,
    shared: Arc<SharedProjects>,
}

/// A project that somebody shares with the person of a home.
pub(super) struct SharedFolder {
    pub project: Project,
    pub owner: AccountId,
    pub role: MemberRole,
}

impl SharedProjects {
    /// # Errors
    /// Returns an error if the folder with the homes of people cannot be opened.
    pub fn new(people: &Path) -> Result<Arc<Self>, StoreError> {
        let dir = Dir::open_ambient_dir(people, ambient_authority());
        let dir = dir.map_err(StoreError::io(format!("opening {}", people.display())))?;
        Ok(Arc::new(Self {
            people: dir,
            path: people.to_owned(),
            state: RwLock::default(),
            lists: Mutex::default(),
            writing: Mutex::default(),
        }))
    }

    /// Sets who may use whose projects. Counts for every access from now on.
    pub fn set(&self, state: SharedState) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    fn state(&self) -> Arc<SharedState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a project of this owner that is there and not deleted. Only one with a folder of its own can be shared.
    pub fn project_of(&self, owner: &AccountId, id: &ProjectId) -> Option<Project> {
        let projects = self.list_of(owner)?;
        let is_it = |project: &&Project| project.id == *id && project.deleted_at.is_none() && project.link.is_none();
        projects.iter().find(is_it).cloned()
    }

    /// Returns the list of an owner as it is on disk; `None` if it cannot be read.
    fn list_of(&self, owner: &AccountId) -> Option<Arc<Vec<Project>>> {
        let home = self.people.open_dir(owner.as_str()).ok()?;
        let file = SettingsFile::Projects.name();
        let meta = home.symlink_metadata(file).ok()?;
        let stamp = (meta.size(), meta.ino(), (meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
        if let Some((known, projects)) = lock(&self.lists).get(owner)
            && *known == stamp
        {
            return Some(projects.clone());
        }
        let projects = Arc::new(listed_projects(&home.read(file).ok()?));
        lock(&self.lists).insert(owner.clone(), (stamp, projects.clone()));
        Some(projects)
    }

    fn path_of(&self, owner: &AccountId, folder: &str) -> PathBuf {
        self.path.join(owner.as_str()).join(WORKSPACES).join(folder)
    }
}

impl SharedFolder {
    /// Opens the folder of the project, through no link.
    pub fn open(&self, shared: &SharedProjects) -> io::Result<Dir> {
        let folder = folder_name(&self.project).map_err(io::Error::other)?;
        let workspaces = shared.people.open_dir(self.owner.as_str())?.open_dir(WORKSPACES)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&workspaces, folder, flags, Mode::empty())?;
        Ok(Dir::from_std_file(std::fs::File::from(opened)))
    }
}

impl Home {
    /// Lets the person of this home use the projects that others share with them. Only the first call has an effect.
    pub fn share(&self, account: AccountId, shared: Arc<SharedProjects>) {
        let _ = self.membership().set(Membership { account, shared });
    }

    /// Returns a project that somebody shares with the person of this home.
    pub(super) fn shared_folder(&self, id: &ProjectId) -> Option<SharedFolder> {
        let Membership { account, shared } = self.membership().get()?;
        let (owner, role) = shared.state().roles.get(account)?.get(id)?.clone();
        let project = shared.project_of(&owner, id)?;
        Some(SharedFolder { project, owner, role })
    }

    pub(super) fn open_shared(&self, folder: &SharedFolder) -> io::Result<Dir> {
        let Membership { shared, .. } = self.membership().get().ok_or(io::ErrorKind::NotFound)?;
        folder.open(shared)
    }

    pub(super) fn shared_path(&self, folder: &SharedFolder) -> Option<PathBuf> {
        let Membership { shared, .. } = self.membership().get()?;
        Some(shared.path_of(&folder.owner, folder_name(&folder.project).ok()?))
    }

    /// Returns the ids of the projects that others share with the person of this home, with the role in each.
    pub fn shared_roles(&self) -> BTreeMap<ProjectId, ProjectRole> {
        self.shared_projects().into_iter().map(|(project, role, _)| (project.id, role)).collect()
    }

    /// Returns the projects that others share with the person of this home, with the role and the owner of each.
    pub fn shared_projects(&self) -> Vec<(Project, ProjectRole, AccountId)> {
        let Some(Membership { account, shared }) = self.membership().get() else { return Vec::new() };
        let state = shared.state();
        let of_account = state.roles.get(account).into_iter().flatten();
        let there = of_account.filter_map(|(id, (owner, role))| {
            Some((shared.project_of(owner, id)?, ProjectRole::from(*role), owner.clone()))
        });
        there.collect()
    }

    /// Returns what the person of this home may do in a project, and whose it is if it is somebody else's; `None` if this home
    /// does not have it.
    pub fn role_in(&self, id: &ProjectId) -> Option<(ProjectRole, Option<AccountId>)> {
        match self.shared_folder(id) {
            Some(shared) => Some((shared.role.into(), Some(shared.owner))),
            None => self.has_root(&Root::Project(id.clone())).then_some((ProjectRole::Owner, None)),
        }
    }

    /// Checks that the person of this home may change the files of a root. Every change of files passes here.
    ///
    /// # Errors
    /// Returns [`RoleRefused::ReadOnly`] in a project that they may only read.
    pub fn require_writable(&self, root: &Root) -> Result<(), StoreError> {
        let Root::Project(id) = root else { return Ok(()) };
        match self.shared_folder(id) {
            Some(SharedFolder { role: MemberRole::Viewer, .. }) => Err(StoreError::Role(RoleRefused::ReadOnly)),
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that a project is not one that somebody else shares.
    ///
    /// # Errors
    /// Returns [`RoleRefused::OwnerOnly`].
    pub fn require_own(&self, id: &ProjectId) -> Result<(), StoreError> {
        match self.shared_folder(id) {
            Some(_) => Err(StoreError::Role(RoleRefused::OwnerOnly)),
            None => Ok(()),
        }
    }

    /// Returns to whom the files of a project belong when commands work in it; `None` if no command can work in it.
    pub fn folder_owner(&self, root: &Root) -> Option<FolderOwner> {
        let Root::Project(id) = root else { return Some(FolderOwner::Commands) };
        let Some(folder) = self.shared_folder(id) else {
            return Some(self.linked_folder(root).map_or(FolderOwner::Commands, FolderOwner::Kept));
        };
        let state = self.membership().get()?.shared.state();
        let uid = state.uids.get(&folder.owner).copied().filter(|_| state.no_exchange.is_none())?;
        Some(FolderOwner::Sharer { uid, is_read_only: folder.role == MemberRole::Viewer })
    }

    /// Returns why no command can work in a project of somebody else; `None` if one can, or if the project is the person's own.
    pub fn exchange_problem(&self, id: &ProjectId) -> Option<String> {
        let folder = self.shared_folder(id)?;
        let state = self.membership().get()?.shared.state();
        let without_user = || Some("its owner has no user of the system".to_owned());
        match state.uids.get(&folder.owner) {
            Some(_) => state.no_exchange.clone(),
            None => state.no_exchange.clone().or_else(without_user),
        }
    }

    /// Keeps other homes from changing the same files, if the person of this home shares any.
    pub(super) fn shared_writing(&self) -> Option<MutexGuard<'_, ()>> {
        let Membership { account, shared } = self.membership().get()?;
        let is_concerned = shared.state().concerned.contains(account);
        is_concerned.then(|| lock(&shared.writing))
    }
}
