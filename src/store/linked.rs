//! Folders of this machine that a person has linked as projects. Such a folder is never held open: each use opens it again by
//! its path, through no link, and only if it is the folder that was linked. So it is missing while its disk is, and back when
//! the disk is back.

use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::error::StoreError;
use super::home::Home;
use super::outside;
use super::projects::find_project;
use crate::clock;
use crate::domain::linking::{FolderIdentity, LinkProblem, LinkRefused, check, user_homes};
use crate::domain::{Project, ProjectId, ProjectName, ProjectRefused, Root};

/// Maximum number of entries that are counted for a person to see.
const MAX_COUNTED: usize = 10_000;

/// A folder that a person may link, as it is shown before.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkableFolder {
    /// Without links.
    pub path: PathBuf,
    /// Whether the path that the person gave leads there through a link.
    pub is_resolved: bool,
    /// Number of its entries, without those of its folders; at most 10,000.
    pub entries: usize,
    pub has_more: bool,
    /// The name of the user that it belongs to, or their number.
    pub owner: String,
    /// Whether this server may change it.
    pub is_writable: bool,
    identity: FolderIdentity,
}

impl LinkableFolder {
    /// Returns what stands for exactly this folder in the confirmation.
    pub fn proof(&self) -> String {
        let FolderIdentity { device, inode, born } = self.identity;
        let text = format!("{}\n{device} {inode} {born:?}", self.path.display());
        base16ct::lower::encode_string(&Sha256::digest(text)[..16])
    }
}

/// What a person confirms: the folder, and what the project is to be.
#[derive(Clone, Debug)]
pub struct NewLink {
    pub path: String,
    /// [`LinkableFolder::proof`] of the folder that the person saw.
    pub proof: String,
    pub target: LinkTarget,
}

#[derive(Clone, Debug)]
pub enum LinkTarget {
    /// A new project.
    New { name: ProjectName, description: String },
    /// A linked project whose folder was moved or replaced.
    Existing(ProjectId),
}

impl Home {
    /// Looks at a folder that a person may want to link.
    ///
    /// # Errors
    /// Returns [`ProjectRefused::Link`] if it cannot be linked.
    pub fn linkable(&self, given: &str, own: Option<&ProjectId>) -> Result<LinkableFolder, StoreError> {
        self.look_at(given.trim(), own).map_err(|refused| StoreError::Project(ProjectRefused::Link(refused)))
    }

    /// Links a folder that was looked at as a project.
    ///
    /// # Errors
    /// Returns [`ProjectRefused::Link`] if it cannot be linked or is not the folder that was looked at, and
    /// [`ProjectRefused::NameTaken`].
    pub(super) fn link_project(&self, link: &NewLink) -> Result<Project, StoreError> {
        let own = match &link.target {
            LinkTarget::New { .. } => None,
            LinkTarget::Existing(id) => Some(id),
        };
        let folder = self.linkable(&link.path, own)?;
        if folder.proof() != link.proof {
            let path = folder.path.display().to_string();
            return Err(StoreError::Project(ProjectRefused::Link(LinkRefused::Changed(path))));
        }
        // Looked at has been only a path that is text.
        let path = folder.path.to_string_lossy().into_owned();
        match &link.target {
            LinkTarget::New { name, description } => self.add_linked((name, description), path, folder.identity),
            LinkTarget::Existing(id) => {
                self.edit_projects(|projects| {
                    let project =
                        find_project(projects, id, |project| project.deleted_at.is_none() && project.link.is_some())?;
                    path.clone_into(&mut project.path);
                    project.link = Some(folder.identity);
                    project.updated_at = clock::now();
                    Ok(())
                })?;
                let project =
                    self.project(id).ok_or_else(|| StoreError::NotFound { what: format!("the project {id}") })?;
                self.indexes().forget(&Root::Project(id.clone()));
                self.open_project(&project)?;
                Ok(project)
            }
        }
    }

    /// Returns why the folder of a project cannot be used now; `None` if it can.
    pub fn folder_problem(&self, project: &Project) -> Option<LinkProblem> {
        let Some(link) = project.link.as_ref() else {
            return match self.check_root(&Root::Project(project.id.clone())) {
                Err(StoreError::Unavailable(problem)) => Some(problem),
                _ => None,
            };
        };
        if self.links_are_closed() {
            return Some(LinkProblem::NotHere(project.path.clone()));
        }
        open(Path::new(&project.path), link).err()
    }

    fn look_at(&self, given: &str, own: Option<&ProjectId>) -> Result<LinkableFolder, LinkRefused> {
        if self.links_are_closed() {
            return Err(LinkRefused::SeveralPeople);
        }
        let is_plain = given.len() <= 4096 && !given.chars().any(char::is_control);
        if !given.starts_with('/') || !is_plain {
            return Err(LinkRefused::NotAbsolute);
        }
        let shown = || given.to_owned();
        let path = Path::new(given).canonicalize().map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => LinkRefused::NotReadable(shown()),
            _ => LinkRefused::Missing(shown()),
        })?;
        if path.to_str().is_none_or(|path| path.chars().any(char::is_control)) {
            return Err(LinkRefused::NotAbsolute);
        }
        check(&path, &homes_of_users())?;
        let shown = path.display().to_string();
        let dir = open_without_links(&path).map_err(|error| match error {
            Errno::NOTDIR => LinkRefused::NotFolder(shown.clone()),
            Errno::ACCESS | Errno::PERM => LinkRefused::NotReadable(shown.clone()),
            _ => LinkRefused::Missing(shown.clone()),
        })?;
        let identity = identity(&dir).map_err(|_| LinkRefused::NotReadable(shown.clone()))?;
        self.check_own(&path, &identity)?;
        let overlaps = |project: &Project| {
            let other = Path::new(&project.path);
            Some(&project.id) != own
                && (other.starts_with(&path) || path.starts_with(other) || project.link == Some(identity))
        };
        let linked = self.project_list().into_iter().filter(|project| project.link.is_some()).find(overlaps);
        if let Some(project) = linked {
            return Err(LinkRefused::Linked { path: shown, name: project.name });
        }
        let names = dir.entries().map_err(|_| LinkRefused::NotReadable(shown))?;
        let counted = names.take(MAX_COUNTED + 1).count();
        let owner = rustix::fs::fstat(&dir).map_or(0, |stat| stat.st_uid);
        Ok(LinkableFolder {
            is_resolved: path != Path::new(given.trim_end_matches('/')),
            entries: counted.min(MAX_COUNTED),
            has_more: counted > MAX_COUNTED,
            owner: user_name(owner),
            is_writable: rustix::fs::accessat(&dir, ".", Access::WRITE_OK, AtFlags::EACCESS).is_ok(),
            identity,
            path,
        })
    }

    /// Refuses a folder that contains this home or lies in it, by whatever path.
    fn check_own(&self, path: &Path, identity: &FolderIdentity) -> Result<(), LinkRefused> {
        let refused = || Err(LinkRefused::OwnHome(path.display().to_string()));
        if path.starts_with(self.path()) || self.path().starts_with(path) {
            return refused();
        }
        // The same folders can have other paths: of another mount.
        let number = |folder: &Path| rustix::fs::lstat(folder).map(|stat| (stat.st_dev, stat.st_ino)).ok();
        let home = number(self.path());
        let is_home_below =
            self.path().ancestors().any(|above| number(above) == Some((identity.device, identity.inode)));
        if is_home_below || path.ancestors().any(|above| number(above) == home) {
            return refused();
        }
        Ok(())
    }
}

/// Opens the folder that was linked.
///
/// # Errors
/// Returns why it cannot be used.
pub(super) fn open(path: &Path, link: &FolderIdentity) -> Result<Dir, LinkProblem> {
    let shown = || path.display().to_string();
    let opened = open_without_links(path).map_err(|error| match error {
        Errno::LOOP => LinkProblem::Replaced(shown()),
        Errno::ACCESS | Errno::PERM => LinkProblem::NotReadable(shown()),
        Errno::NOTDIR if path.symlink_metadata().is_ok() => LinkProblem::Replaced(shown()),
        _ => LinkProblem::Missing(shown()),
    })?;
    match identity(&opened) {
        Ok(now) if link.is_same(&now) => Ok(opened),
        Ok(_) => Err(LinkProblem::Replaced(shown())),
        Err(_) => Err(LinkProblem::Missing(shown())),
    }
}

fn open_without_links(path: &Path) -> rustix::io::Result<Dir> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let opened = rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)?;
    Ok(Dir::from_std_file(std::fs::File::from(opened)))
}

// The types of some numbers depend on the processor.
#[allow(clippy::unnecessary_cast)]
pub(super) fn identity(dir: &Dir) -> rustix::io::Result<FolderIdentity> {
    let stat = rustix::fs::fstat(dir)?;
    let born = rustix::fs::statx(dir, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok();
    let born = born.filter(|all| all.stx_mask & StatxFlags::BTIME.bits() != 0);
    let born = born.map(|all| (all.stx_btime.tv_sec, all.stx_btime.tv_nsec));
    Ok(FolderIdentity { device: stat.st_dev as u64, inode: stat.st_ino as u64, born })
}

/// Returns the home directories of the users of this machine, of which a link may lead elsewhere.
fn homes_of_users() -> Vec<PathBuf> {
    let mut homes = user_homes(&outside::text(Path::new("/etc/passwd")).unwrap_or_default());
    homes.extend(std::env::home_dir().filter(|home| home.is_absolute() && home.parent().is_some()));
    let resolved: Vec<PathBuf> = homes.iter().filter_map(|home| home.canonicalize().ok()).collect();
    homes.extend(resolved.into_iter().filter(|home| home.parent().is_some()));
    homes
}

fn user_name(id: u32) -> String {
    let passwd = outside::text(Path::new("/etc/passwd")).unwrap_or_default();
    let named = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, number) = (fields.next()?, fields.nth(1)?);
        (number.parse() == Ok(id)).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| id.to_string())
}
