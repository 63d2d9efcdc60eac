//! `api-tokens.json`: the tokens with which programs use the OpenAI API (docs/openai.md) and the MCP server (docs/mcp-server.md)
//! of a single-person server. Only their hashes are stored. The command line writes the file while the server runs, and the
//! server reads it again when it has changed.

use std::fs::{File, metadata};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::atomic;
use crate::clock;
use crate::domain::FileStamp;

/// What these tokens begin with.
pub const API_TOKEN_PREFIX: &str = "mck_";
const FILE: &str = "api-tokens.json";
const MAX_TOKENS: usize = 50;
const MAX_NAME: usize = 100;

/// A token as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApiToken {
    pub id: String,
    pub name: String,
    /// SHA-256 of the token, in hexadecimal.
    sha256: String,
    /// Unix seconds.
    pub created_at: f64,
    /// What it can do, as [`ApiTokenScope::name`] writes it. A token whose scope this version does not know counts nowhere.
    pub scope: String,
}

/// What a token of a program can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiTokenScope {
    /// Use `/v1` and `/mcp`, and nothing else.
    Ask,
    /// Read over `/mcp`, and nothing else.
    Read,
    /// What `Ask` can do, and call tools over `/mcp` (`mcp_server` in config.yml).
    Tools,
    /// Read `/metrics`, and nothing else.
    Metrics,
}

impl ApiTokenScope {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Read => "read",
            Self::Tools => "tools",
            Self::Metrics => "metrics",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Ask, Self::Read, Self::Tools, Self::Metrics].into_iter().find(|scope| scope.name() == name)
    }
}

/// The file. A write keeps fields that this version does not know.
#[derive(Default, Serialize, Deserialize)]
struct TokenFile {
    #[serde(default)]
    tokens: Vec<ApiToken>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// The tokens of a home, as they are on disk.
#[derive(Debug)]
pub struct ApiTokens {
    folder: PathBuf,
    read: Mutex<Option<(FileStamp, Vec<ApiToken>)>>,
}

impl ApiTokens {
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), read: Mutex::default() }
    }

    /// Returns all tokens, oldest first.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn list(&self) -> Result<Vec<ApiToken>> {
        let Ok(stamp) = metadata(self.folder.join(FILE)).map(|found| stamp(&found)) else { return Ok(Vec::new()) };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, tokens)) = &*read
            && *known == stamp
        {
            return Ok(tokens.clone());
        }
        let tokens = parsed(&std::fs::read(self.folder.join(FILE))?)?.tokens;
        *read = Some((stamp, tokens.clone()));
        Ok(tokens)
    }

    /// Returns the id and the scope of the token with this text. If the file cannot be read, no token counts.
    pub fn find(&self, token: &str) -> Option<(String, ApiTokenScope)> {
        // What is compared is the hash of a random token, so its time reveals nothing.
        let hash = hash_of(token);
        let known = self.list().inspect_err(|error| tracing::error!(%error, "{FILE} cannot be used")).ok()?;
        let found = known.into_iter().find(|known| known.sha256 == hash)?;
        ApiTokenScope::parse(&found.scope).map(|scope| (found.id, scope))
    }

    /// Returns whether there still is a token with this id and scope. If the file cannot be read, no token counts.
    pub fn counts(&self, id: &str, scope: ApiTokenScope) -> bool {
        self.list().is_ok_and(|tokens| tokens.iter().any(|token| token.id == id && token.scope == scope.name()))
    }

    /// Makes a token and returns its text, which is stored nowhere.
    ///
    /// # Errors
    /// Returns an error if there are too many, if the name is no line of text, or if the file cannot be changed.
    pub fn add(&self, name: &str, scope: ApiTokenScope) -> Result<String> {
        let name = name.trim();
        if name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                format!("a name is a line of at most {MAX_NAME} characters"),
            ));
        }
        let token = format!("{API_TOKEN_PREFIX}{}", clock::new_secret());
        self.change(|tokens| {
            if tokens.len() >= MAX_TOKENS {
                return Err(Error::other(format!("there are {MAX_TOKENS} tokens already; revoke one first")));
            }
            tokens.push(ApiToken {
                id: clock::new_secret()[..8].to_owned(),
                name: name.to_owned(),
                sha256: hash_of(&token),
                created_at: clock::now(),
                scope: scope.name().to_owned(),
            });
            Ok(())
        })?;
        Ok(token)
    }

    /// Removes the token with this id.
    ///
    /// # Errors
    /// Returns an error if there is none, or if the file cannot be changed.
    pub fn revoke(&self, id: &str) -> Result<()> {
        self.change(|tokens| {
            let before = tokens.len();
            tokens.retain(|token| token.id != id);
            match tokens.len() < before {
                true => Ok(()),
                false => Err(Error::new(ErrorKind::NotFound, "there is no token with this id")),
            }
        })
    }

    fn change(&self, change: impl FnOnce(&mut Vec<ApiToken>) -> Result<()>) -> Result<()> {
        // Two commands at once change it one after the other.
        let held = File::open(&self.folder)?;
        flock(&held, FlockOperation::LockExclusive)?;
        let dir = Dir::open_ambient_dir(&self.folder, ambient_authority())?;
        let mut file = match dir.read(FILE) {
            Ok(bytes) => parsed(&bytes)?,
            Err(error) if error.kind() == ErrorKind::NotFound => TokenFile::default(),
            Err(error) => return Err(error),
        };
        change(&mut file.tokens)?;
        let mut bytes = serde_json::to_vec_pretty(&file)?;
        bytes.push(b'\n');
        atomic::replace_with_mode(&dir, FILE, &bytes, 0o600)
    }
}

fn parsed(bytes: &[u8]) -> Result<TokenFile> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::new(ErrorKind::InvalidData, format!("{FILE} is damaged ({error})")))
}

fn hash_of(token: &str) -> String {
    base16ct::lower::encode_string(&Sha256::digest(token))
}

fn stamp(found: &std::fs::Metadata) -> FileStamp {
    let (modified, changed) = ((found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()));
    FileStamp::of(found.len(), modified, changed, (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn token_counts_until_it_is_revoked() {
        let folder = tempfile::tempdir().unwrap();
        let (server, command) = (ApiTokens::new(folder.path()), ApiTokens::new(folder.path()));
        assert!(server.list().unwrap().is_empty() && server.find("").is_none());
        let token = command.add("llm", ApiTokenScope::Ask).unwrap();
        let (id, scope) = server.find(&token).expect("it is found at once");
        assert_eq!(scope, ApiTokenScope::Ask);
        assert_eq!(server.list().unwrap()[0].name, "llm");
        assert!(server.find(&token[..token.len() - 1]).is_none() && server.find(&id).is_none());
        assert!(server.counts(&id, ApiTokenScope::Ask) && !server.counts(&id, ApiTokenScope::Read));
        command.revoke(&id).unwrap();
        assert!(server.find(&token).is_none() && !server.counts(&id, ApiTokenScope::Ask));
        assert_eq!(command.revoke(&id).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn file_holds_no_token_and_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = ApiTokens::new(folder.path());
        let token = tokens.add("", ApiTokenScope::Read).unwrap();
        assert_eq!(tokens.find(&token).unwrap().1, ApiTokenScope::Read);
        let path = folder.path().join(FILE);
        assert_eq!(metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!std::fs::read_to_string(&path).unwrap().contains(&token[API_TOKEN_PREFIX.len()..]));
        std::fs::write(&path, "{").unwrap();
        assert!(tokens.find(&token).is_none(), "a damaged file lets nobody in");
        assert!(tokens.add("x", ApiTokenScope::Ask).is_err(), "and is not overwritten");
        assert!(ApiTokens::new(folder.path()).add("two\nlines", ApiTokenScope::Ask).is_err());
    }
}
