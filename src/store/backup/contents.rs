//! What of a folder belongs to a home, and what of a home is in a backup: all but caches, uploads under way, the lock, and `.env`.

use crate::store::atomic;

/// Files and folders at the top of a home.
const TOP: [&str; 23] = [
    "SKILLS_SNAPSHOT.md",
    "accounts.json",
    "api-tokens.json",
    "config.json",
    "config.yml",
    "knowledge",
    "mcp.json",
    "memory",
    "people-adopted.json",
    "project-members.json",
    "project-secrets.json",
    "projects.json",
    "providers.json",
    "scratch",
    "session-key.json",
    "sessions",
    "sign-outs.json",
    "skills",
    "storage",
    "trusted.json",
    "workspace",
    "workspaces",
    PEOPLE,
];
/// The folder with a home for each person.
pub(super) const PEOPLE: &str = "people";
/// The variables of the server: keys, `MINICLAW_TOKEN`, passwords.
pub(super) const SECRETS: &str = ".env";
/// What is made again when it is missing, and what belongs to a machine or a moment.
const LEFT_OUT: [&str; 8] = [
    "sessions/.lock",
    "storage/database.json",
    "storage/database-files.json",
    "storage/index",
    "storage/model",
    "storage/resumable",
    "storage/retrieval",
    "storage/uploads",
];
/// Packages of MCP servers are in folders of this one, each with what its installer downloaded.
const PACKAGES: &str = "storage/mcp-packages/";
const DOWNLOADS: &[u8] = b".cache";

/// Whether `.env` belongs to a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretsUse {
    LeftOut,
    Included,
}

/// Whether a path, relative to a home, is in a backup if its folder is.
pub(super) fn is_included(path: &[u8], secrets: SecretsUse) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    let top = parts.next().unwrap_or_default();
    if top == PEOPLE.as_bytes() {
        let _person = parts.next();
        let of_person = path.splitn(3, |byte| *byte == b'/').nth(2);
        return of_person.is_none_or(|of_person| !of_person.starts_with(b"people") && is_of_home(of_person));
    }
    is_of_home(path) || (secrets == SecretsUse::Included && path == SECRETS.as_bytes())
}

fn is_of_home(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    let top = parts.next().unwrap_or_default();
    let is_known = TOP.iter().any(|name| name.as_bytes() == top) || is_audit(path);
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let is_temporary = name.starts_with(b".") && name.ends_with(atomic::TEMP.as_bytes());
    let is_left_out = LEFT_OUT.iter().any(|left_out| left_out.as_bytes() == path);
    let is_download =
        path.starts_with(PACKAGES.as_bytes()) && path.split(|byte| *byte == b'/').nth(4) == Some(DOWNLOADS);
    is_known && !is_temporary && !is_left_out && !is_download
}

/// `audit.jsonl`, and full ones: `audit.1.jsonl`.
fn is_audit(path: &[u8]) -> bool {
    let number = path.strip_prefix(b"audit").and_then(|rest| rest.strip_suffix(b".jsonl"));
    number.is_some_and(|number| {
        number.is_empty() || number.strip_prefix(b".").is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
    })
}

/// Whether a backup may have a path: a plain one, of a home, in folders of a home.
pub(super) fn may_be_restored(path: &[u8], secrets: SecretsUse) -> bool {
    let is_plain = path.len() <= MAX_PATH
        && path.iter().filter(|byte| **byte == b'/').count() <= MAX_DEPTH
        && path
            .split(|byte| *byte == b'/')
            .all(|part| !matches!(part, b"" | b"." | b"..") && part.len() <= MAX_NAME && !part.contains(&0));
    let above = (0..path.len()).filter(|at| path[*at] == b'/').map(|at| &path[..at]);
    is_plain && above.chain([path]).all(|path| is_included(path, secrets))
}

/// Length of a path in bytes, of a name in it, and in how many folders a file can be.
pub(super) const MAX_PATH: usize = 4096;
const MAX_NAME: usize = 255;
pub(super) const MAX_DEPTH: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_secrets_and_strangers_are_left_out() {
        for included in [
            "workspace/SOUL.md",
            "sessions/s.journal",
            "sessions/requests/s/1.json",
            "storage/trash/x",
            "storage/mcp-packages/a/1.0/node_modules",
            "config.yml",
            "audit.jsonl",
            "audit.3.jsonl",
            "workspaces/a/.env",
            "people/0190/sessions/s.json",
            "people/0190",
            "people",
        ] {
            assert!(may_be_restored(included.as_bytes(), SecretsUse::LeftOut), "{included}");
        }
        for left_out in [
            ".env",
            "sessions/.lock",
            "people/0190/sessions/.lock",
            "people/0190/people",
            "people/0190/people/x",
            "people/0190/.env",
            "storage/retrieval",
            "storage/retrieval/x",
            "storage/index/reserve",
            "storage/mcp-packages/a/1.0/.cache",
            "storage/mcp-packages/a/1.0/.cache/x",
            "memory/.x.miniclaw-tmp",
            "target/release",
            "audit.x.jsonl",
            "workspace/../.env",
            "../x",
            "/etc/passwd",
            "workspace//x",
            "",
            "workspace/a\0b",
        ] {
            assert!(!may_be_restored(left_out.as_bytes(), SecretsUse::LeftOut), "{left_out}");
        }
        assert!(may_be_restored(b".env", SecretsUse::Included));
        let deep = format!("scratch/{}x", "d/".repeat(MAX_DEPTH));
        assert!(!may_be_restored(deep.as_bytes(), SecretsUse::Included));
        assert!(!may_be_restored(format!("scratch/{}", "n".repeat(MAX_NAME + 1)).as_bytes(), SecretsUse::Included));
    }
}
