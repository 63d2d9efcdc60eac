//! Which files of a home are kept in a database: those that people, tools and sessions need. Caches, records of requests, and what
//! belongs to a machine (config.yml, `.env`, the lock) are not.

use crate::store::atomic;

/// Files at the top of a home.
const FILES: [&str; 19] = [
    "accounts.json",
    "api-tokens.json",
    "audit.1.jsonl",
    "audit.2.jsonl",
    "audit.3.jsonl",
    "audit.4.jsonl",
    "audit.5.jsonl",
    "audit.6.jsonl",
    "audit.7.jsonl",
    "audit.jsonl",
    "config.json",
    "mcp.json",
    "project-members.json",
    "project-secrets.json",
    "projects.json",
    "providers.json",
    "session-key.json",
    "sign-outs.json",
    "trusted.json",
];
/// Folders that are kept with everything in them, but for [`LEFT_OUT`].
const FOLDERS: [&str; 12] = [
    "knowledge",
    "memory",
    "sessions",
    "skills",
    "storage/deleted_projects",
    "storage/mcp",
    "storage/mcp-sign-ins",
    "storage/quarantine",
    "storage/trash",
    "storage/trusted",
    "workspace",
    // Last, with the projects: what is large is left out there first.
    "scratch",
];
/// The folders in which what is kept stands. They are not kept themselves, and are watched for what comes.
pub(super) const FOLDERS_OF_ROOTS: [&str; 2] = ["", "storage"];
/// What every home has from its start on: without one of these, the copy was deleted.
const REQUIRED: [&str; 7] = ["knowledge", "memory", "scratch", "session-key.json", "sessions", "skills", "workspace"];
/// The folders of projects are kept, too.
const PROJECTS: &str = "workspaces";
/// Paths in these folders that are not kept.
const LEFT_OUT: [&str; 3] = ["sessions/.lock", "sessions/found", "sessions/requests"];
/// Journals are kept as facts.
pub(super) const JOURNAL: &str = ".journal";

/// Returns the paths that are kept with everything in them.
pub(super) fn roots() -> impl Iterator<Item = &'static str> {
    FILES.into_iter().chain(FOLDERS).chain([PROJECTS])
}

/// Whether a path is kept, if its folder is. `path` is relative to the home.
pub(super) fn is_kept(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let is_left_out = LEFT_OUT.iter().any(|left_out| left_out.as_bytes() == path);
    let is_temporary = name.starts_with(b".") && name.ends_with(atomic::TEMP.as_bytes());
    !is_left_out && !is_temporary && journal_of(path).is_none()
}

/// Whether a home without this path is none.
pub(super) fn is_required(path: &[u8]) -> bool {
    REQUIRED.iter().any(|required| required.as_bytes() == path)
}

/// Whether a path of a database may be written to a home.
pub(super) fn may_be_written(path: &[u8]) -> bool {
    let is_plain =
        path.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b"..") && !part.contains(&0));
    let is_below = roots().any(|root| {
        let rest = path.strip_prefix(root.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    });
    let ancestors = (0..path.len()).filter(|at| path[*at] == b'/').map(|at| &path[..at]);
    is_plain && is_below && ancestors.chain([path]).all(is_kept)
}

/// Returns the name of the session whose journal this is.
pub(super) fn journal_of(path: &[u8]) -> Option<&[u8]> {
    let name = path.strip_prefix(b"sessions/").filter(|name| !name.contains(&b'/'))?;
    name.strip_suffix(JOURNAL.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_machine_and_caches_are_not_kept() {
        for kept in [
            "workspace/SOUL.md",
            "sessions/s.json",
            "sessions/archive/deleted/s.journal",
            "config.json",
            "workspaces/a/.git/config",
            "workspaces",
            "scratch/x.journal",
            "accounts.json",
            "audit.7.jsonl",
        ] {
            assert!(may_be_written(kept.as_bytes()), "{kept}");
        }
        for left in [
            "config.yml",
            ".env",
            "sessions/.lock",
            "sessions/s.journal",
            "sessions/requests/s/1.json",
            "storage/retrieval/x",
            "storage",
            "workspace/../.env",
            "/etc/passwd",
            "workspace//x",
            "workspace/.x.miniclaw-tmp",
            "workspacex",
            "people/ann/workspace/SOUL.md",
            "",
            "workspace/a\0b",
        ] {
            assert!(!may_be_written(left.as_bytes()), "{left}");
        }
    }
}
