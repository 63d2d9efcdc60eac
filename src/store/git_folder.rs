//! The folder of git in a project, and whether git can be used in it: everything of the repository has to be in the project.

use std::io::{self, Read};

use cap_std::fs::Dir;

use super::error::StoreError;
use super::files::escape_or;
use super::home::Home;
use crate::domain::{Place, Root};

/// The folder of git in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitFolder {
    /// There is none, or it is not a repository.
    None,
    /// A folder with a whole repository in it.
    Whole,
    /// It cannot be used, for this reason: the repository, or a part of it, is elsewhere, or git does not know it.
    Elsewhere(&'static str),
}

const GIT: &str = ".git";
/// What git reads in its folder. None of it may be a link.
const PARTS: [&str; 12] = [
    "HEAD",
    "config",
    "config.worktree",
    "index",
    "objects",
    "objects/info",
    "objects/pack",
    "refs",
    "refs/heads",
    "packed-refs",
    "info",
    "logs",
];
/// What makes a folder a repository for git. Git completes a folder without one of them when it makes a repository.
const NEEDED: [&str; 3] = ["HEAD", "objects", "refs"];
/// No HEAD is longer: it has one line.
const MAX_HEAD: u64 = 4096;
const IS_FILE: &str =
    "its .git is a file that names a folder elsewhere (a worktree or a submodule); open that repository";
const IS_LINK: &str = "its .git is a link; put the repository itself into the project";
const HAS_LINK: &str = "a part of its .git is a link; put the repository itself into the project";
const IS_SHARED: &str = "its .git shares the repository of another folder (commondir); open that repository";
const BORROWS: &str = "its .git borrows objects from another repository (alternates); run `git repack -a -d` there, and remove \
                       .git/objects/info/alternates";
const BROKEN_HEAD: &str = "its .git/HEAD is damaged, so git does not know the repository; write the name of the branch into it, \
                           such as `ref: refs/heads/main`, or delete .git";

impl Home {
    /// Returns whether a project is a git repository that lies wholly in it.
    ///
    /// # Errors
    /// Returns an error if this home has no such project, or its folder cannot be read.
    pub fn git_folder(&self, root: &Root) -> Result<GitFolder, StoreError> {
        let place = Place::of_root(root.clone());
        let folder = self.open_root(root, |error| escape_or(&place, error))?;
        of_folder(&folder).map_err(|error| escape_or(&place, error))
    }
}

fn of_folder(folder: &Dir) -> io::Result<GitFolder> {
    let git = match folder.symlink_metadata(GIT) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(GitFolder::None),
        Err(error) => return Err(error),
        Ok(meta) if meta.is_symlink() => return Ok(GitFolder::Elsewhere(IS_LINK)),
        Ok(meta) if !meta.is_dir() => return Ok(GitFolder::Elsewhere(IS_FILE)),
        Ok(_) => folder.open_dir(GIT)?,
    };
    if PARTS.iter().any(|part| git.symlink_metadata(part).is_ok_and(|meta| meta.is_symlink())) {
        return Ok(GitFolder::Elsewhere(HAS_LINK));
    }
    if git.symlink_metadata("commondir").is_ok() {
        return Ok(GitFolder::Elsewhere(IS_SHARED));
    }
    if git.symlink_metadata("objects/info/alternates").is_ok() {
        return Ok(GitFolder::Elsewhere(BORROWS));
    }
    if is_broken(&git)? {
        return Ok(GitFolder::Elsewhere(BROKEN_HEAD));
    }
    match NEEDED.iter().all(|part| git.symlink_metadata(part).is_ok()) {
        true => Ok(GitFolder::Whole),
        false => Ok(GitFolder::None),
    }
}

/// Returns whether a repository has a HEAD that git refuses: it neither names a reference nor is the hash of a commit.
fn is_broken(git: &Dir) -> io::Result<bool> {
    let head = match git.open("HEAD") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    let mut start = Vec::new();
    head.take(MAX_HEAD).read_to_end(&mut start)?;
    let names_reference = start.strip_prefix(b"ref:").is_some_and(|name| name.trim_ascii_start().starts_with(b"refs/"));
    let hash = start.trim_ascii_end();
    let is_hash = matches!(hash.len(), 40 | 64) && hash.iter().all(u8::is_ascii_hexdigit);
    Ok(!names_reference && !is_hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn repository_has_to_be_in_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let found = || of_folder(&Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap()).unwrap();
        assert_eq!(found(), GitFolder::None);
        fs::write(at(".git"), "gitdir: /elsewhere").unwrap();
        assert_eq!(found(), GitFolder::Elsewhere(IS_FILE));
        fs::remove_file(at(".git")).unwrap();
        fs::create_dir_all(at("real/objects/info")).unwrap();
        symlink("real", at(".git")).unwrap();
        assert_eq!(found(), GitFolder::Elsewhere(IS_LINK));
        fs::remove_file(at(".git")).unwrap();
        fs::rename(at("real"), at(".git")).unwrap();
        fs::create_dir(at(".git/refs")).unwrap();
        assert_eq!(found(), GitFolder::None, "git takes a folder without a HEAD for none");
        fs::write(at(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(found(), GitFolder::Whole);
        for (head, is_whole) in [("junk", false), ("", false), ("ref: main", false), (&"1a".repeat(20), true)] {
            fs::write(at(".git/HEAD"), head).unwrap();
            assert_eq!(found() == GitFolder::Whole, is_whole, "{head}");
            assert_eq!(found() == GitFolder::Elsewhere(BROKEN_HEAD), !is_whole, "{head}");
        }
        for (name, why) in [("commondir", IS_SHARED), ("objects/info/alternates", BORROWS)] {
            fs::write(at(".git").join(name), "/elsewhere").unwrap();
            assert_eq!(found(), GitFolder::Elsewhere(why));
            fs::remove_file(at(".git").join(name)).unwrap();
        }
        fs::remove_dir(at(".git/refs")).unwrap();
        for name in ["config", "objects/pack", "refs"] {
            symlink("/etc/passwd", at(".git").join(name)).unwrap();
            assert_eq!(found(), GitFolder::Elsewhere(HAS_LINK), "{name}");
            fs::remove_file(at(".git").join(name)).unwrap();
        }
    }
}
