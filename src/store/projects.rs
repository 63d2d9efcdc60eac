//! The projects of a home: `projects.json`, and a folder for each in `workspaces/`, unless a person has linked one that lies
//! elsewhere. The folder of a deleted project is in `storage/deleted_projects/{id}` until the project is restored or removed for
//! good.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::StoreError;
use super::home::Home;
use super::resumable::ResumableUpload;
use super::roots::ProjectFolder;
use super::settings::SettingsFile;
use super::tree::{TreeChange, TreePath};
use super::tree_uploads::UploadCommit;
use super::uploads::Upload;
use crate::clock;
use crate::domain::linking::{FolderIdentity, check_link};
use crate::domain::{Project, ProjectId, ProjectName, ProjectRefused, RelPath, Root};

/// The folder that holds the folders of all projects.
pub(super) const WORKSPACES: &str = "workspaces";
const FILE: SettingsFile = SettingsFile::Projects;

/// `projects.json`. A write keeps fields that this version does not know, and entries that it cannot read.
#[derive(Default, Deserialize)]
#[serde(from = "StoredProjects")]
pub(super) struct ProjectFile {
    pub projects: Vec<Project>,
    /// Entries that are no project, each with the reason.
    unreadable: Vec<(Value, String)>,
    unknown: Map<String, Value>,
}

/// The file as it is stored.
#[derive(Serialize, Deserialize)]
struct StoredProjects {
    #[serde(default)]
    projects: Vec<Value>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

impl From<StoredProjects> for ProjectFile {
    fn from(StoredProjects { projects, unknown }: StoredProjects) -> Self {
        let mut file = Self { unknown, ..Self::default() };
        for entry in projects {
            match Project::deserialize(&entry) {
                Ok(project) => file.projects.push(project),
                Err(reason) => file.unreadable.push((entry, reason.to_string())),
            }
        }
        file
    }
}

impl ProjectFile {
    fn bytes(&self) -> Vec<u8> {
        let projects = self.projects.iter().map(|project| serde_json::to_value(project).expect("projects are JSON"));
        let unreadable = self.unreadable.iter().map(|(entry, _)| entry.clone());
        let stored = StoredProjects { projects: projects.chain(unreadable).collect(), unknown: self.unknown.clone() };
        let mut bytes = serde_json::to_vec_pretty(&stored).expect("projects are JSON");
        bytes.push(b'\n');
        bytes
    }
}

/// What a person changes about a project; `None` leaves it as it is.
#[derive(Clone, Debug, Default)]
pub struct ProjectChange {
    pub name: Option<ProjectName>,
    pub description: Option<String>,
}

impl Home {
    /// Returns the projects that people have made, newest first, without deleted ones. Read from disk, so that a manual
    /// edit of a name takes effect at once.
    pub fn project_list(&self) -> Vec<Project> {
        let mut projects = self.project_file().projects;
        projects.retain(|project| project.deleted_at.is_none());
        projects.sort_by(|a, b| b.created_at.total_cmp(&a.created_at).then_with(|| b.id.cmp(&a.id)));
        projects
    }

    /// Returns the deleted projects that can be restored, most recently deleted first.
    pub fn deleted_projects(&self) -> Vec<Project> {
        let mut projects = self.project_file().projects;
        projects.retain(|project| project.deleted_at.is_some());
        projects.sort_by(|a, b| b.deleted_at.unwrap_or_default().total_cmp(&a.deleted_at.unwrap_or_default()));
        projects
    }

    /// Returns a project that is not deleted.
    pub fn project(&self, id: &ProjectId) -> Option<Project> {
        self.project_list().into_iter().find(|project| project.id == *id)
    }

    /// Makes the files of all projects available, and completes what a server that was killed had begun.
    pub(super) fn open_projects(&self) {
        if let Ok((Some(bytes), _)) = self.settings_bytes(FILE)
            && let Err(reason) = serde_json::from_slice::<ProjectFile>(&bytes)
        {
            let name = FILE.name();
            self.warn(format!("{name} is damaged ({reason}), so no project is shown. Mend it and start again."));
        }
        let ProjectFile { projects, unreadable, .. } = self.project_file();
        for (entry, reason) in unreadable {
            let shown = entry["name"].as_str().or(entry["id"].as_str()).unwrap_or("without a name").to_owned();
            let name = FILE.name();
            self.warn(format!(
                "An entry of {name} ({shown}) cannot be read ({reason}), so this project is not shown. The entry stays in \
                 the file: mend it there and start again."
            ));
        }
        for project in projects {
            let done = match project.deleted_at {
                Some(_) => self.move_deleted(&project),
                None => self.open_project(&project).and_then(|()| self.finish_commit(&project)),
            };
            if let Err(error) = done {
                self.warn(format!("The folder of the project “{}” cannot be used: {error}.", project.name));
            }
        }
    }

    /// Like [`Self::open_projects`], without changing anything.
    pub(super) fn open_projects_for_reading(&self) {
        for project in self.project_list() {
            // What is not there cannot be read.
            let _ = self.open_project(&project);
        }
    }

    /// Creates a project with an empty folder.
    ///
    /// # Errors
    /// Returns [`ProjectRefused::NameTaken`] if there is a project with that name.
    pub(super) fn create_project(&self, name: &ProjectName, description: &str) -> Result<Project, StoreError> {
        let make = |workspaces: &Dir, folder: &str| workspaces.create_dir_with(folder, DirBuilder::new().mode(0o755));
        self.add_project_with((name, description), make, |workspaces, folder| workspaces.remove_dir_all(folder))
    }

    /// Creates a project of what was uploaded.
    ///
    /// # Errors
    /// Returns [`ProjectRefused::NameTaken`] if there is a project with that name; what was uploaded is discarded.
    pub(super) fn create_uploaded(
        &self,
        name: &ProjectName,
        description: &str,
        upload: Upload,
    ) -> Result<Project, StoreError> {
        let make = |workspaces: &Dir, folder: &str| upload.move_to(workspaces, folder);
        self.add_project_with((name, description), make, |workspaces, folder| workspaces.remove_dir_all(folder))
    }

    /// Creates a project of an upload that went on after interruptions. The project has the id of the upload, so that a client
    /// that got no answer can ask again: then the project is returned as it is.
    ///
    /// # Errors
    /// Returns the errors of [`Self::create_uploaded`], and [`StoreError::Incomplete`]. What has arrived stays then.
    pub(super) fn commit_resumable(&self, commit: &UploadCommit) -> Result<Project, StoreError> {
        let UploadCommit { id, name, description, expected } = commit;
        if let Some(made) = self.committed_upload(id) {
            return Ok(made);
        }
        let upload = self.resumable_upload(id)?;
        let project_id = ProjectId::parse(id).map_err(|_| StoreError::NoUpload { id: id.clone() })?;
        upload.close(*expected)?;
        let made = self.add_committed(Project { id: project_id, ..new_project(name, description) }, &upload);
        let made = made.inspect_err(|_| upload.open_again())?;
        self.forget_resumable(id);
        Ok(made)
    }

    /// Returns the project that was made of an upload, if its files are in place.
    pub fn committed_upload(&self, id: &str) -> Option<Project> {
        let id = ProjectId::parse(id).ok()?;
        self.working_path(&Root::Project(id.clone()))?;
        self.project(&id)
    }

    /// Adds the project of an upload to the list before its files are moved: if the server is killed in between, the next
    /// start moves them ([`Self::finish_commit`]), and no files are left that belong to no project.
    fn add_committed(&self, project: Project, upload: &ResumableUpload) -> Result<Project, StoreError> {
        let _one_at_a_time = self.project_folders_lock();
        let workspaces = self.workspaces()?;
        let doing = StoreError::io(format!("creating {WORKSPACES}/"));
        upload.sync().map_err(doing)?;
        let name = ProjectName::parse(&project.name).map_err(StoreError::Project)?;
        let added = std::cell::RefCell::new(project);
        self.edit_projects(|projects| {
            let mut project = added.borrow_mut();
            // An attempt that failed may have left it.
            projects.retain(|known| known.id != project.id);
            free_name(projects, &name, None)?;
            project.path = name.folder(is_taken_in(&workspaces, projects));
            projects.push(project.clone());
            Ok(())
        })?;
        let project = added.into_inner();
        let moved = upload.move_to(&workspaces, &project.path);
        let moved = moved.map_err(StoreError::io(format!("creating {WORKSPACES}/{}", project.path)));
        if let Err(error) = moved.and_then(|()| self.open_project(&project)) {
            // Nobody has seen it yet. If even that fails, the next start completes it.
            let _ = self.edit_projects(|projects| {
                projects.retain(|known| known.id != project.id);
                Ok(())
            });
            return Err(error);
        }
        Ok(project)
    }

    /// Moves the files of an upload to their place, if the server was killed when only that was left to do.
    fn finish_commit(&self, project: &Project) -> Result<(), StoreError> {
        if project.link.is_some() {
            return Ok(());
        }
        let folder = folder_name(project)?;
        let workspaces = self.workspaces()?;
        if workspaces.symlink_metadata(folder).is_err() {
            let doing = StoreError::io(format!("the folder {WORKSPACES}/{folder}"));
            match self.move_committed(project.id.as_str(), (&workspaces, folder)) {
                // Nothing was left to do: somebody took the folder away, and may put it back.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                moved => moved.map_err(doing)?,
            }
        }
        self.forget_resumable(project.id.as_str());
        Ok(())
    }

    /// Creates a project whose folder `make` makes, in `workspaces/` and with this name. If the project cannot be created
    /// after that, `unmake` takes it back.
    fn add_project_with(
        &self,
        (name, description): (&ProjectName, &str),
        make: impl FnOnce(&Dir, &str) -> io::Result<()>,
        unmake: impl FnOnce(&Dir, &str) -> io::Result<()>,
    ) -> Result<Project, StoreError> {
        let _one_at_a_time = self.project_folders_lock();
        let workspaces = self.workspaces()?;
        free_name(&self.project_file().projects, name, None)?;
        let path = name.folder(is_taken_in(&workspaces, &self.project_file().projects));
        let project = Project { path, ..new_project(name, description) };
        make(&workspaces, &project.path).map_err(StoreError::io(format!("creating {WORKSPACES}/{}", project.path)))?;
        let added = self.edit_projects(|projects| {
            free_name(projects, name, None)?;
            projects.push(project.clone());
            Ok(())
        });
        if let Err(error) = added.and_then(|()| self.open_project(&project)) {
            // Nobody has seen it yet. Best effort: an entry of the list may have been the only thing that failed.
            let _ = unmake(&workspaces, &project.path);
            return Err(error);
        }
        Ok(project)
    }

    /// Changes what a person says about a project. Its folder keeps its name, so that open files stay where they are.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no such project, and [`ProjectRefused::NameTaken`].
    pub(super) fn change_project(&self, id: &ProjectId, change: &ProjectChange) -> Result<Project, StoreError> {
        self.require_own(id)?;
        self.edit_projects(|projects| {
            if let Some(name) = &change.name {
                free_name(projects, name, Some(id))?;
            }
            let project = find_project(projects, id, |project| project.deleted_at.is_none())?;
            let ProjectChange { name, description } = change.clone();
            if let Some(name) = name {
                name.as_str().clone_into(&mut project.name);
            }
            project.description = description.unwrap_or_else(|| project.description.clone());
            project.updated_at = clock::now();
            Ok(())
        })?;
        self.project(id).ok_or_else(|| missing(id))
    }

    /// Creates a project of a folder that a person has linked.
    pub(super) fn add_linked(
        &self,
        (name, description): (&ProjectName, &str),
        path: String,
        link: FolderIdentity,
    ) -> Result<Project, StoreError> {
        let project = Project { path, link: Some(link), ..new_project(name, description) };
        self.edit_projects(|projects| {
            free_name(projects, name, None)?;
            projects.push(project.clone());
            Ok(())
        })?;
        self.open_project(&project)?;
        Ok(project)
    }

    pub(super) fn project_file(&self) -> ProjectFile {
        let bytes = self.settings_bytes(FILE).ok().and_then(|(bytes, _)| bytes);
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    /// Changes the list of projects, and again if somebody else has changed it in between. A file that does not parse is
    /// copied to quarantine first.
    pub(super) fn edit_projects(
        &self,
        change: impl Fn(&mut Vec<Project>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let plan = |home: &Self| {
            let (bytes, expect) = home.settings_bytes(FILE)?;
            let mut file: ProjectFile = match bytes.as_deref().map(serde_json::from_slice) {
                None => ProjectFile::default(),
                Some(Ok(file)) => file,
                Some(Err(reason)) => {
                    home.quarantine_copy(FILE, &bytes.unwrap_or_default(), reason.to_string())?;
                    ProjectFile::default()
                }
            };
            change(&mut file.projects)?;
            Ok::<_, StoreError>(TreeChange::write(TreePath::Settings(FILE), &file.bytes(), expect))
        };
        loop {
            match self.commit(&[plan(self)?]) {
                // Whoever was faster has made progress, so this ends.
                Err(StoreError::Conflict { .. }) => {}
                committed => return committed,
            }
        }
    }

    pub(super) fn open_project(&self, project: &Project) -> Result<(), StoreError> {
        if let Some(link) = project.link {
            let path = PathBuf::from(&project.path);
            // Somebody may have edited the file.
            check_link(&path).map_err(|refused| StoreError::Project(ProjectRefused::Link(refused)))?;
            self.register(project.id.clone(), ProjectFolder::linked(link, path));
            return Ok(());
        }
        let folder = Path::new(WORKSPACES).join(folder_name(project)?);
        self.register(project.id.clone(), ProjectFolder::in_home(self.path(), folder));
        Ok(())
    }

    pub(super) fn workspaces(&self) -> Result<Dir, StoreError> {
        let doing = || format!("opening {WORKSPACES}/");
        if !self.root().is_dir(WORKSPACES) {
            // Commands run as another user where the server is root, and must reach their folder.
            let mut builder = DirBuilder::new();
            builder.mode(0o711);
            self.root().create_dir_with(WORKSPACES, &builder).map_err(StoreError::io(doing()))?;
        }
        self.root().open_dir(WORKSPACES).map_err(StoreError::io(doing()))
    }
}

/// Returns a project with a new id, and no folder yet.
fn new_project(name: &ProjectName, description: &str) -> Project {
    let now = clock::now();
    Project {
        id: ProjectId::parse(&clock::new_id()).expect("a UUID is the id of a project"),
        name: name.as_str().to_owned(),
        path: String::new(),
        link: None,
        description: description.to_owned(),
        created_at: now,
        updated_at: now,
        deleted_at: None,
    }
}

/// Returns whether a folder in `workspaces/` exists or belongs to a project.
fn is_taken_in<'p>(workspaces: &'p Dir, projects: &'p [Project]) -> impl Fn(&str) -> bool + 'p {
    |folder| workspaces.symlink_metadata(folder).is_ok() || projects.iter().any(|known| is_same(&known.path, folder))
}

/// Returns the projects in the text of a `projects.json`; none if it is damaged.
pub(super) fn listed_projects(bytes: &[u8]) -> Vec<Project> {
    serde_json::from_slice::<ProjectFile>(bytes).map(|file| file.projects).unwrap_or_default()
}

pub(super) fn missing(id: &ProjectId) -> StoreError {
    StoreError::NotFound { what: format!("the project {id}") }
}

fn is_same(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

/// Returns the name of a project's folder if it is a single name: a person may have edited the file.
pub(super) fn folder_name(project: &Project) -> Result<&str, StoreError> {
    let path = RelPath::parse(&project.path).ok().filter(|path| path.as_str() == path.first_name());
    match path {
        Some(path) if path.as_str() == project.path && !project.path.starts_with('.') => Ok(&project.path),
        _ => Err(StoreError::NotAllowed { path: project.path.clone(), why: "it is not the name of a folder" }),
    }
}

pub(super) fn find_project<'p>(
    projects: &'p mut [Project],
    id: &ProjectId,
    is_wanted: impl Fn(&Project) -> bool,
) -> Result<&'p mut Project, StoreError> {
    projects.iter_mut().find(|project| project.id == *id && is_wanted(project)).ok_or_else(|| missing(id))
}

/// # Errors
/// Returns [`ProjectRefused::NameTaken`] if a project other than `own` has this name and is not deleted.
pub(super) fn free_name(projects: &[Project], name: &ProjectName, own: Option<&ProjectId>) -> Result<(), StoreError> {
    let is_taken =
        |other: &&Project| other.deleted_at.is_none() && Some(&other.id) != own && name.is_same_as(&other.name);
    match projects.iter().find(is_taken) {
        Some(other) => Err(StoreError::Project(ProjectRefused::NameTaken(other.name.clone()))),
        None => Ok(()),
    }
}
