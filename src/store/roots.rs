//! The folders of the roots. A root of the home is a folder in it; the folder of a project is registered.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use cap_std::fs::Dir;

use super::error::StoreError;
use super::home::Home;
use super::linked;
use super::projects::WORKSPACES;
use crate::domain::{FolderIdentity, LinkProblem, ProjectId, Root};

/// The folder of a project.
#[derive(Clone)]
pub(super) struct ProjectFolder {
    handle: FolderHandle,
    /// For processes that work in it.
    path: PathBuf,
}

/// How it is opened, for each use: other programs move and delete folders.
#[derive(Clone)]
enum FolderHandle {
    /// By this path in the home.
    InHome(PathBuf),
    /// A person has linked it.
    Linked(FolderIdentity),
}

impl ProjectFolder {
    /// The folder with this path in the home at `home`, whether it is there now or not.
    pub fn in_home(home: &Path, path: PathBuf) -> Self {
        Self { path: home.join(&path), handle: FolderHandle::InHome(path) }
    }

    pub fn linked(link: FolderIdentity, path: PathBuf) -> Self {
        Self { handle: FolderHandle::Linked(link), path }
    }
}

impl Home {
    /// Makes the files of a folder of this machine available as those of a project.
    #[cfg(test)]
    pub fn add_project(&self, id: ProjectId, folder: &Path) {
        let folder = folder.canonicalize().unwrap();
        let identity =
            linked::identity(&Dir::open_ambient_dir(&folder, cap_std::ambient_authority()).unwrap()).unwrap();
        self.register(id, ProjectFolder::linked(identity, folder));
    }

    pub(super) fn register(&self, id: ProjectId, folder: ProjectFolder) {
        self.projects().write().unwrap_or_else(PoisonError::into_inner).insert(id, folder);
    }

    /// Returns the path of a project's folder, for processes that work in it; `None` if this home does not have it, or if the
    /// folder cannot be used now.
    pub fn project_path(&self, root: &Root) -> Option<PathBuf> {
        let path = self.working_path(root)?;
        self.check_root(root).is_ok().then_some(path)
    }

    /// Returns the path of a project's folder, whether it can be used now or not; `None` if this home does not have it.
    pub fn working_path(&self, root: &Root) -> Option<PathBuf> {
        let Root::Project(id) = root else { return None };
        if let Some(shared) = self.shared_folder(id) {
            return self.shared_path(&shared);
        }
        let projects = self.projects().read().unwrap_or_else(PoisonError::into_inner);
        Some(projects.get(id)?.path.clone())
    }

    /// Returns which folder a person has linked as this project; `None` for any other root.
    pub fn linked_folder(&self, root: &Root) -> Option<FolderIdentity> {
        let Root::Project(id) = root else { return None };
        let projects = self.projects().read().unwrap_or_else(PoisonError::into_inner);
        match projects.get(id)?.handle {
            FolderHandle::Linked(link) => Some(link),
            FolderHandle::InHome(_) => None,
        }
    }

    /// Checks that the folder of a root can be used now, which that of a linked project may not.
    ///
    /// # Errors
    /// Returns [`StoreError::Unavailable`] with the reason.
    pub fn check_root(&self, root: &Root) -> Result<(), StoreError> {
        self.open_root(root, StoreError::io(format!("folder {root}/"))).map(drop)
    }

    /// Checks that commands may work in the folder of a root now.
    ///
    /// # Errors
    /// Returns the errors of [`Self::check_root`], and [`StoreError::Role`] in a project that the person may only read.
    pub fn check_working(&self, root: &Root) -> Result<(), StoreError> {
        self.require_writable(root)?;
        self.check_root(root)
    }

    /// Returns the projects of this home, whether their folders are available or not.
    pub fn project_ids(&self) -> Vec<ProjectId> {
        let own: Vec<ProjectId> =
            self.projects().read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect();
        let shared = self.shared_roles().into_keys().filter(|id| !own.contains(id)).collect::<Vec<_>>();
        own.into_iter().chain(shared).collect()
    }

    /// Removes a project; its folder is left as it is. Returns whether there was one.
    pub fn remove_project(&self, id: &ProjectId) -> bool {
        self.indexes().forget(&Root::Project(id.clone()));
        self.projects().write().unwrap_or_else(PoisonError::into_inner).remove(id).is_some()
    }

    /// Returns whether a root exists in this home. Only a project can be unknown.
    pub fn has_root(&self, root: &Root) -> bool {
        match root {
            Root::Workspace | Root::Memory | Root::Skills | Root::Knowledge | Root::Snapshot => true,
            Root::Project(id) => {
                self.projects().read().unwrap_or_else(PoisonError::into_inner).contains_key(id)
                    || self.shared_folder(id).is_some()
            }
        }
    }

    /// Opens the folder of a root. `explain` converts an error of the file system.
    ///
    /// # Errors
    /// Returns [`StoreError::NotAllowed`] for the list of skills, which is a file, and for a project that this home does
    /// not have.
    pub(super) fn open_root(
        &self,
        root: &Root,
        explain: impl FnOnce(io::Error) -> StoreError,
    ) -> Result<Dir, StoreError> {
        let refused = |why| Err(StoreError::NotAllowed { path: root.to_string(), why });
        let opened = match (root.folder(), root) {
            (Some(folder), _) => self.root().open_dir(folder),
            (None, Root::Project(id)) if let Some(shared) = self.shared_folder(id) => {
                let opened = self.open_shared(&shared);
                self.require_there(root, &format!("{WORKSPACES}/{}", shared.project.path), &opened)?;
                opened
            }
            // No lock is held: a network disk may not answer for long.
            (None, Root::Project(id)) => match self.project_folder(id) {
                Some(ProjectFolder { handle: FolderHandle::InHome(path), .. }) => {
                    let opened = self.root().open_dir(&path);
                    self.require_there(root, &path.display().to_string(), &opened)?;
                    opened
                }
                Some(ProjectFolder { path, .. }) if self.links_are_closed() => {
                    return Err(StoreError::Unavailable(LinkProblem::NotHere(path.display().to_string())));
                }
                Some(ProjectFolder { handle: FolderHandle::Linked(link), path }) => {
                    return linked::open(&path, &link).map_err(StoreError::Unavailable);
                }
                None => return refused("this home has no such project"),
            },
            // Its folder is the home itself, which is never listed.
            (None, _) => return refused("it is not a folder"),
        };
        opened.map_err(explain)
    }

    fn project_folder(&self, id: &ProjectId) -> Option<ProjectFolder> {
        self.projects().read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// # Errors
    /// Returns [`LinkProblem::Missing`] if the folder of a project is not there.
    fn require_there(&self, root: &Root, path: &str, opened: &io::Result<Dir>) -> Result<(), StoreError> {
        match opened {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                // What is put there later may be another folder.
                self.indexes().forget(root);
                Err(StoreError::Unavailable(LinkProblem::Missing(path.to_owned())))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Place;
    use crate::store::Expect;

    fn project(name: &str) -> ProjectId {
        ProjectId::parse(name).unwrap()
    }

    #[test]
    fn registered_project_is_read_written_listed_and_moved() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let home = Home::open(folder.path()).unwrap();
        home.add_project(project("tea"), elsewhere.path());
        let root = Root::Project(project("tea"));
        let place = |below: &str| Place::parse(&format!("{root}/{below}")).unwrap();
        home.save_text(&place("src/main.rs"), "fn main() {}", &Expect::Absent).unwrap();
        assert_eq!(std::fs::read_to_string(elsewhere.path().join("src/main.rs")).unwrap(), "fn main() {}");
        assert_eq!(home.read_text(&place("src/main.rs")).unwrap().content, "fn main() {}");
        assert_eq!(home.list(&root).unwrap()[0].path, place("src/main.rs"));
        assert_eq!(home.list_folder(&Place::of_root(root.clone())).unwrap().folders, [place("src")]);
        home.rename_text(&place("src/main.rs"), &place("src/lib.rs"), &Expect::Anything).unwrap();
        assert!(home.has_entry(&place("src/lib.rs")) && !home.has_entry(&place("src/main.rs")));

        std::fs::write(folder.path().join(".env"), "KEY=canary").unwrap();
        std::os::unix::fs::symlink(folder.path().join(".env"), elsewhere.path().join("link")).unwrap();
        assert!(matches!(home.read_bytes(&place("link")), Err(StoreError::NotAllowed { .. })));
    }

    #[test]
    fn unknown_project_is_refused() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let home = Home::open(folder.path()).unwrap();
        let place = Place::parse("project/tea/a.md").unwrap();
        let refused = "project/tea cannot be used here: this home has no such project";
        let refuses = || {
            assert!(!home.has_root(place.root()));
            assert_eq!(home.read_bytes(&place).unwrap_err().to_string(), refused);
            assert_eq!(home.list(place.root()).unwrap_err().to_string(), refused);
            assert_eq!(home.save_text(&place, "x", &Expect::Anything).unwrap_err().to_string(), refused);
        };
        refuses();
        home.add_project(project("tea"), elsewhere.path());
        home.save_text(&place, "x", &Expect::Absent).unwrap();
        assert!(home.remove_project(&project("tea")) && !home.remove_project(&project("tea")));
        refuses();
        assert!(elsewhere.path().join("a.md").is_file(), "the folder is left as it is");
    }

    #[test]
    fn list_of_skills_does_not_open_the_home() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        home.write_skills_snapshot("none").unwrap();
        assert_eq!(home.read_text(&Place::of_root(Root::Snapshot)).unwrap().content, "none");
        let refused = "SKILLS_SNAPSHOT.md cannot be used here: it is not a folder";
        assert_eq!(home.list(&Root::Snapshot).unwrap_err().to_string(), refused);
        assert_eq!(home.list_folder(&Place::of_root(Root::Snapshot)).unwrap_err().to_string(), refused);
        assert_eq!(home.find_files(&Root::Snapshot, 9, &|_| true).unwrap_err().to_string(), refused);
    }
}
