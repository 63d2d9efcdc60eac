//! Reads the commits and branches that git lists.

use crate::domain::visible::visible;

/// The fields of a commit, each ended by NUL (with `-z`).
pub(super) const COMMIT_FORMAT: &str = "--format=tformat:%H%x00%P%x00%an%x00%ae%x00%ct%x00%D%x00%s";
/// The fields of a branch; a line each.
pub(super) const BRANCH_FORMAT: &str =
    "--format=%(refname:strip=2)%00%(objectname)%00%(committerdate:unix)%00%(subject)";

/// A commit. Invisible characters of its texts are escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitCommit {
    pub id: String,
    pub parents: Vec<String>,
    pub author: String,
    pub email: String,
    /// When it was committed, in Unix seconds.
    pub at: i64,
    /// Branches and tags that name it.
    pub refs: Vec<String>,
    pub subject: String,
}

/// A branch. Invisible characters of its texts are escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitBranch {
    pub name: String,
    /// Its last commit.
    pub head: String,
    /// When that was committed, in Unix seconds.
    pub at: i64,
    pub subject: String,
}

pub(super) fn commits(bytes: &[u8]) -> Vec<GitCommit> {
    let fields: Vec<String> = bytes.split(|byte| *byte == 0).map(text).collect();
    let commit = |fields: &[String]| {
        let [id, parents, author, email, at, refs, subject] = fields else { return None };
        let words = |text: &str, by: &str| {
            text.split(by).map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        is_id(id).then(|| GitCommit {
            id: id.clone(),
            parents: words(parents, " "),
            author: author.clone(),
            email: email.clone(),
            at: at.parse().unwrap_or(0),
            refs: words(refs, ", "),
            subject: subject.clone(),
        })
    };
    fields.chunks_exact(7).filter_map(commit).collect()
}

pub(super) fn branches(bytes: &[u8]) -> Vec<GitBranch> {
    let branch = |line: &[u8]| {
        let fields: Vec<String> = line.split(|byte| *byte == 0).map(text).collect();
        let [name, head, at, subject] = fields.as_slice() else { return None };
        let (name, head, subject) = (name.clone(), head.clone(), subject.clone());
        Some(GitBranch { name, head, at: at.parse().unwrap_or(0), subject })
    };
    bytes.split(|byte| *byte == b'\n').filter_map(branch).collect()
}

/// Returns whether this is the whole id of a commit.
pub fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn text(bytes: &[u8]) -> String {
    visible(&String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn commits_and_branches_are_read() {
        let id = "1c002dd4b536e7479fe34593e72e6c6c1819e53b";
        let record = format!("{id}\0{id} {id}\0Ada\0a@b\x001700000000\0HEAD -> main, tag: v1\0Add \u{202e}b\0");
        let found = commits(format!("{record}{record}").as_bytes());
        assert_eq!((found.len(), found[0].parents.len(), found[0].at), (2, 2, 1_700_000_000));
        assert_eq!(
            (found[0].refs.as_slice(), found[0].subject.as_str()),
            (&["HEAD -> main".to_owned(), "tag: v1".to_owned()][..], "Add \\u202eb")
        );
        let found = branches(format!("main\0{id}\0007\0A\nfeature/x\0{id}\x008\0B\nbroken\n").as_bytes());
        assert_eq!(found.iter().map(|branch| branch.name.as_str()).collect::<Vec<_>>(), ["main", "feature/x"]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            commits(&bytes);
            branches(&bytes);
        }
    }
}
