//! Walks through a folder with everything in it. No link is followed, nothing of another file system is entered, and nothing is
//! changed: a folder that its owner may not list is left out.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::vec;

use crate::store::capture::{Beneath, Node, NodeKind, names};

/// Maximum depth of folders: each level holds a descriptor.
const MAX_DEPTH: usize = 256;
/// Maximum length of a path in bytes that the kernel resolves, with the end.
const PATH_LIMIT: usize = 4096;
/// Where commands put temporary files, at the top of the folder. They are no changes.
pub const TEMPORARY: &str = ".tmp";

/// Something that a look leaves out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// Relative to the folder.
    pub path: PathBuf,
    pub why: LeftOutReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOutReason {
    /// A pipe, a socket or a device.
    Special,
    /// Another file system is mounted there.
    OtherFileSystem,
    /// A folder that the server may not list.
    Unreadable,
    /// A folder that is nested more than 256 deep, or whose path is longer than the kernel resolves.
    TooDeep,
}

/// An entry that a walk has found.
pub struct Found<'a> {
    pub beneath: &'a Beneath,
    /// The folder that it is in, open.
    pub folder: &'a OwnedFd,
    /// Relative to the folder of the walk.
    pub path: PathBuf,
    pub node: Node,
}

impl Found<'_> {
    pub fn name(&self) -> &Path {
        self.path.file_name().map_or(Path::new("."), Path::new)
    }
}

/// What a walk did not visit.
pub struct Walked {
    /// Sorted.
    pub left_out: Vec<LeftOut>,
    /// Whether it ended before it had visited everything, because there is too much.
    pub is_cut: bool,
}

/// An open folder, with the names in it that are still to be visited.
struct Level {
    folder: OwnedFd,
    path: PathBuf,
    names: vec::IntoIter<PathBuf>,
}

/// Calls `visit` with every entry in a folder, a folder before its content, but with no more than `most`.
///
/// # Errors
/// Returns an error if the folder cannot be listed.
pub fn walk(folder: &Path, most: usize, visit: &mut dyn FnMut(Found)) -> io::Result<Walked> {
    let beneath = Beneath::open(folder)?;
    let top = beneath.folder(Path::new(""))?;
    // One more than in other folders, because one is not visited.
    let top_names: Vec<PathBuf> = names(&top, most.saturating_add(1))?;
    let top_names = top_names.into_iter().filter(|name| name != Path::new(TEMPORARY)).collect::<Vec<_>>();
    let mut levels = vec![Level { folder: top, path: PathBuf::new(), names: top_names.into_iter() }];
    let (mut left_out, mut seen, mut is_cut) = (Vec::new(), 0, false);
    while let Some(level) = levels.last_mut() {
        let next = level.names.next().filter(|_| !is_cut);
        let Some(name) = next else {
            levels.pop();
            continue;
        };
        // An entry that has gone meanwhile is not there.
        let Ok(Some(node)) = beneath.node_in(&level.folder, &name) else { continue };
        let path = level.path.join(&name);
        let mut leave_out = |why| left_out.push(LeftOut { path: path.clone(), why });
        seen += 1;
        is_cut = seen > most;
        if is_cut {
            continue;
        }
        if !beneath.is_on_same_device(&node) {
            leave_out(LeftOutReason::OtherFileSystem);
            continue;
        }
        if node.kind == NodeKind::Special {
            leave_out(LeftOutReason::Special);
        }
        let is_folder = node.is_folder();
        visit(Found { beneath: &beneath, folder: &level.folder, path: path.clone(), node });
        if !is_folder {
            continue;
        }
        if levels.len() >= MAX_DEPTH || path.as_os_str().len() >= PATH_LIMIT {
            leave_out(LeftOutReason::TooDeep);
            continue;
        }
        match enter(&beneath, &levels, (path.clone(), &name), most) {
            Ok(level) => levels.push(level),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => leave_out(LeftOutReason::OtherFileSystem),
            Err(_) => leave_out(LeftOutReason::Unreadable),
        }
    }
    left_out.sort_unstable();
    Ok(Walked { left_out, is_cut })
}

fn enter(beneath: &Beneath, levels: &[Level], (path, name): (PathBuf, &Path), most: usize) -> io::Result<Level> {
    let above = &levels.last().ok_or(io::ErrorKind::NotFound)?.folder;
    let folder = beneath.folder_in(above, name)?;
    let names = names(&folder, most)?.into_iter();
    Ok(Level { folder, path, names })
}
