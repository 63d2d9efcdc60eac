//! The files that the program of a server may use.

use std::path::{Path, PathBuf};

use super::package;
use crate::domain::Root;
use crate::domain::mcp::McpEntry;
use crate::store::{Home, real_path};

/// What the program of a server may use of the file system.
pub struct Paths {
    pub cwd: PathBuf,
    pub readable: Vec<PathBuf>,
    pub writable: Vec<PathBuf>,
}

impl Paths {
    /// Returns the paths of an entry, and makes the folders that it may write to.
    ///
    /// # Errors
    /// Returns a sentence for a path that would let the program read what no command may read.
    pub fn of(home: &Home, entry: &McpEntry) -> Result<Self, String> {
        let cwd = home.mcp_folder(&entry.name).map_err(|error| error.to_string())?;
        let writable = entry.write.iter().map(|folder| home.mcp_writable(folder).map_err(|error| error.to_string()));
        let readable = entry.read.iter().map(|path| {
            let real = real_path(&home.path().join(path));
            match may_read(home.path(), &real) {
                true => Ok(real),
                false => {
                    Err(format!("{path} cannot be given to a server: it holds the settings and sessions of the home"))
                }
            }
        });
        let mut readable = readable.collect::<Result<Vec<_>, String>>()?;
        if let Some(package) = &entry.package {
            readable.push(package::unchanged(home, &entry.name, package)?);
        }
        Ok(Self { cwd, readable, writable: writable.collect::<Result<_, _>>()? })
    }
}

/// Returns whether a program may read a path, which has no links: outside of the home, or in one of its folders of files.
fn may_read(home: &Path, real: &Path) -> bool {
    if home.starts_with(real) {
        return false;
    }
    let Ok(below) = real.strip_prefix(home) else { return true };
    let open = Root::HOME.iter().filter_map(Root::folder).chain(["scratch", "workspaces"]);
    let first = below.components().next().map(|part| part.as_os_str().to_owned());
    first.is_some_and(|first| open.into_iter().any(|folder| first == folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_home_cannot_be_given_away() {
        let home = Path::new("/srv/ada/claw");
        for (path, may) in [
            ("/srv/ada/claw/memory", true),
            ("/srv/ada/claw/scratch/mcp", true),
            ("/srv/ada/notes", true),
            ("/srv/ada/claw/.env", false),
            ("/srv/ada/claw/sessions", false),
            ("/srv/ada/claw/storage/mcp/other", false),
            ("/srv/ada/claw", false),
            ("/srv/ada", false),
            ("/", false),
        ] {
            assert_eq!(may_read(home, Path::new(path)), may, "{path}");
        }
    }
}
