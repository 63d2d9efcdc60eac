//! Finds Python, which may be outside the system's folders.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A program for jobs, and the paths that it must be able to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    pub program: PathBuf,
    pub readable: Vec<PathBuf>,
}

impl Interpreter {
    /// Returns the system's `python3`, or else the first binary one in `search_path` (the server's PATH). A version
    /// manager's shim is a script that needs more than a job may read; it is replaced by the newest version that it manages.
    pub fn python(search_path: &OsStr) -> Option<Self> {
        let system = Path::new("/usr/bin");
        std::iter::once(system.to_owned()).chain(std::env::split_paths(search_path)).find_map(|folder| {
            let program = folder.join("python3");
            if is_executable_image(&program) {
                return Some(Self::at(&program));
            }
            let shims = folder.file_name().is_some_and(|name| name == "shims") && program.exists();
            let versions = folder.parent().filter(|_| shims)?.join("versions");
            let mut installed: Vec<PathBuf> =
                fs::read_dir(versions).ok()?.flatten().map(|entry| entry.path()).collect();
            installed.sort_by_key(|path| std::cmp::Reverse(version(path)));
            installed
                .iter()
                .map(|path| path.join("bin/python3"))
                .find(|path| is_executable_image(path))
                .map(|path| Self::at(&path))
        })
    }

    fn at(program: &Path) -> Self {
        let real = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
        // For bin/python3 of an installation, the libraries are next to bin/. A link into another installation (a virtual
        // environment) needs both.
        let prefixes = [program, real.as_path()].map(|path| path.parent().and_then(Path::parent).map(Path::to_owned));
        let mut readable: Vec<PathBuf> = prefixes.into_iter().flatten().collect();
        readable.dedup();
        readable.retain(|path| path != Path::new("/") && path != Path::new("/usr"));
        Self { program: program.to_owned(), readable }
    }
}

/// Returns whether the file is an ELF file, not a script.
fn is_executable_image(path: &Path) -> bool {
    let mut start = [0; 4];
    fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"\x7fELF"
}

fn version(path: &Path) -> Vec<u32> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn newest_version_behind_shim_is_used_with_prefix() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        for (path, content) in [
            ("shims/python3", b"#!/bin/sh".as_slice()),
            ("versions/3.9.1/bin/python3", b"\x7fELF"),
            ("versions/3.12.0/bin/python3.12", b"\x7fELF"),
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), content).unwrap();
        }
        symlink("python3.12", root.join("versions/3.12.0/bin/python3")).unwrap();
        let found = Interpreter::python(root.join("shims").as_os_str()).unwrap();
        if found.program.starts_with("/usr/bin") {
            assert_eq!(found.readable, Vec::<PathBuf>::new(), "the system's Python needs nothing more");
            return;
        }
        assert_eq!(found.program, root.join("versions/3.12.0/bin/python3"));
        assert_eq!(found.readable, [root.join("versions/3.12.0")]);
    }
}
