//! What a person says to git: the name of a branch, the author and the message of a commit; and why git is not used.

use serde::{Deserialize, Serialize};

/// Maximum length of a branch's name in bytes.
const BRANCH_BYTES: usize = 200;
/// Maximum characters of an author's name or address.
const AUTHOR_CHARACTERS: usize = 200;
/// Maximum bytes of a commit's message.
pub const MESSAGE_BYTES: usize = 32 << 10;

/// The name of a branch as git allows it (git-check-ref-format), which never looks like an option or an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchName(String);

/// Who makes a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitAuthor {
    pub name: String,
    pub email: String,
}

/// Why something was not done with git.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitRefused {
    #[error(
        "git is not installed on the server's machine; install it (Debian and Ubuntu: apt install git, Fedora: dnf install \
         git, Alpine: apk add git), then try again"
    )]
    Missing,
    #[error("this project is no git repository yet")]
    NoRepository,
    #[error("git is not used here: {0}")]
    Elsewhere(&'static str),
    #[error("this project is a git repository already")]
    Exists,
    #[error(
        "another git process is at work in this project, or one was killed: if none is, delete .git/{0} and try again"
    )]
    Locked(String),
    #[error("there are changes that are not committed; commit or discard them, then switch branches")]
    Dirty,
    #[error("no changes are staged; stage some first")]
    NothingStaged,
    #[error("there are merge conflicts; resolve them in the files and stage these, then commit")]
    Conflicts,
    #[error("whose commit is it? Send author with name and email; it is remembered")]
    AuthorNeeded,
    #[error("an author has a name and an email of 1 to {AUTHOR_CHARACTERS} characters, without < > and line breaks")]
    BadAuthor,
    #[error("a message has 1 to {MESSAGE_BYTES} bytes and no control characters")]
    BadMessage,
    #[error("git does not allow this name of a branch")]
    BadBranch,
    #[error("there is a branch with this name already")]
    BranchExists,
    #[error("there is no such branch")]
    NoBranch,
    #[error("git took too long and was stopped")]
    TimedOut,
    /// What git wrote to its standard error, without control characters.
    #[error("git: {0}")]
    Failed(String),
}

impl BranchName {
    /// # Errors
    /// Returns [`GitRefused::BadBranch`] for a name that git refuses, and for one of more than 200 bytes.
    pub fn parse(text: &str) -> Result<Self, GitRefused> {
        let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
        let is_refused = |letter: char| letter.is_control() || " ~^:?*[\\".contains(letter);
        let fits = (1..=BRANCH_BYTES).contains(&text.len())
            && !text.starts_with('-')
            && !text.ends_with('.')
            && !["@", "HEAD"].contains(&text)
            && !text.contains("..")
            && !text.contains("@{")
            && !text.contains(is_refused)
            && text.split('/').all(is_part);
        if fits { Ok(Self(text.to_owned())) } else { Err(GitRefused::BadBranch) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl GitAuthor {
    /// Accepts a name and an address without surrounding space.
    ///
    /// # Errors
    /// Returns [`GitRefused::BadAuthor`] if one is empty, too long, or has characters that git would remove.
    pub fn parse(name: &str, email: &str) -> Result<Self, GitRefused> {
        let fits = |text: &str| {
            (1..=AUTHOR_CHARACTERS).contains(&text.chars().count())
                && !text.contains(|letter: char| letter.is_control() || "<>".contains(letter))
                // Git removes these at the ends, and refuses a name that has nothing else.
                && text.contains(|letter: char| !letter.is_whitespace() && !".,:;\"'\\".contains(letter))
        };
        let (name, email) = (name.trim(), email.trim());
        let both = fits(name) && fits(email);
        if both { Ok(Self { name: name.to_owned(), email: email.to_owned() }) } else { Err(GitRefused::BadAuthor) }
    }
}

/// Checks the message of a commit. Returns it without surrounding space.
///
/// # Errors
/// Returns [`GitRefused::BadMessage`] if it is empty, too long, or has control characters except line breaks and tabs.
pub fn commit_message(text: &str) -> Result<String, GitRefused> {
    let text = text.replace("\r\n", "\n");
    let text = text.trim();
    let is_refused = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
    let fits = (1..=MESSAGE_BYTES).contains(&text.len()) && !text.contains(is_refused);
    if fits { Ok(text.to_owned()) } else { Err(GitRefused::BadMessage) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_is_what_git_allows() {
        for good in ["main", "feature/茶", "a.b", "v1.2-rc", "a@b", "-a".trim_start_matches('-')] {
            assert!(BranchName::parse(good).is_ok(), "{good}");
        }
        let long = "x".repeat(201);
        for bad in [
            "", "-a", "--help", "a b", "a..b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "a/", "/a", "a//b", ".a",
            "a/.b", "a.lock", "a.lock/b", "a.", "@", "@{-1}", "a@{1}", "HEAD", "a\nb", "a\u{7f}", &long,
        ] {
            assert_eq!(BranchName::parse(bad), Err(GitRefused::BadBranch), "{bad:?}");
        }
    }

    #[test]
    fn author_and_message_are_checked() {
        let ada = GitAuthor::parse(" Ada Lovelace ", "ada@example.org").unwrap();
        assert_eq!((ada.name.as_str(), ada.email.as_str()), ("Ada Lovelace", "ada@example.org"));
        for (name, email) in [("", "a@b"), ("Ada", ""), ("A<b", "a@b"), ("Ada\nx", "a@b"), ("...", "a@b")] {
            assert_eq!(GitAuthor::parse(name, email), Err(GitRefused::BadAuthor), "{name:?} {email:?}");
        }
        assert_eq!(commit_message(" a\r\n\r\nb ").as_deref(), Ok("a\n\nb"));
        for bad in ["", " \n ", "a\0b", "a\u{1b}b", &"x".repeat(MESSAGE_BYTES + 1)] {
            assert_eq!(commit_message(bad), Err(GitRefused::BadMessage));
        }
    }
}
