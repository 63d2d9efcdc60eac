//! `mcp.json`, the MCP servers of a home, with what a person has trusted of them and what they last listed.
//!
//! Trust is recorded in `trusted.json`: `mcp/{server}` for the entry of a server, `mcp/{server}/{tool}` for the definition of a
//! tool. The text of the version trusted last is kept like that of a skill; the model reads it, so it counts only while it has
//! its hash.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Read};
use std::path::PathBuf;

use cap_std::fs::{DirBuilder, DirBuilderExt};
use secrecy::SecretString;
use serde_json::{Map, Value};

use super::atomic;
use super::error::StoreError;
use super::fence::Claim;
use super::home::Home;
use super::listing;
use super::seal::sha256;
use super::sealed_text::SealedFor;
use super::settings::SettingsFile;
use super::tree::{Tree, TreeChange, TreePath};
use super::trusted::{RecordedTrust, TrustedBy, TrustedVersion};
use crate::clock;
use crate::domain::FileStamp;

const FILE: SettingsFile = SettingsFile::Mcp;
const SERVERS: &str = "mcpServers";
const FOLDERS: &str = "storage/mcp";
const LISTS: &str = "storage/mcp-lists";
const PACKAGES: &str = "storage/mcp-packages";
/// Where a version waits while another installation of it takes its place.
const OLD_PACKAGE: &str = ".old";
/// Where packages are cached while one is installed, in its folder.
pub const PACKAGE_CACHE: &str = ".cache";
/// Maximum bytes of a file of a package that is read.
const MAX_PACKAGE_FILE: u64 = 16 << 20;
const SIGN_INS: &str = "storage/mcp-sign-ins";
/// What the key of a sign-in is for.
const PURPOSE: &str = "sign-ins to MCP servers";
/// Maximum bytes of a sign-in.
const MAX_SIGN_IN: u64 = 256 << 10;
/// Maximum bytes of `mcp.json`.
const MAX_FILE: usize = 1 << 20;
/// Maximum bytes of what a server last listed.
const MAX_LIST: u64 = 64 << 20;
/// Maximum number of servers.
pub const MAX_SERVERS: usize = 50;

/// `mcp.json` as it is on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct McpFile {
    /// Changes with the file; `None` if there is none.
    pub stamp: Option<FileStamp>,
    /// The entries in their order, or why the file cannot be used.
    pub entries: Result<Vec<(String, Value)>, String>,
}

/// An entry that takes the place of another one.
#[derive(Clone, Debug)]
pub struct ReplacedEntry {
    pub server: String,
    /// As it was when the next one was made of it.
    pub seen: Value,
    pub next: Value,
}

/// The versions of an entry, or of a tool's definition, that a person has trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrustedDefinition {
    /// Their hashes, the one trusted last at the end.
    pub versions: Vec<TrustedVersion>,
    /// The text of the last one, if it was kept and has its hash.
    pub text: Option<String>,
}

impl TrustedDefinition {
    pub fn contains(&self, sha256: &str) -> bool {
        self.versions.iter().any(|version| version.sha256 == sha256)
    }
}

impl Home {
    /// Returns the stamp of `mcp.json`; `None` if there is none.
    pub fn mcp_stamp(&self) -> Option<FileStamp> {
        self.root().symlink_metadata(FILE.name()).ok().map(|meta| listing::stamp(&meta))
    }

    /// Reads `mcp.json`.
    pub fn mcp_file(&self) -> McpFile {
        // Before the content, so that a change meanwhile is seen the next time.
        let stamp = self.mcp_stamp();
        let entries = self.settings_bytes(FILE).map_err(|error| error.to_string());
        let entries = entries.and_then(|(bytes, _)| Ok(entries_of(&parsed(bytes.as_deref())?)));
        McpFile { stamp, entries }
    }

    /// Reads the entry of a server; `None` if there is none.
    pub fn mcp_entry(&self, server: &str) -> Option<Value> {
        self.mcp_file().entries.ok()?.into_iter().find(|(name, _)| name == server).map(|(_, entry)| entry)
    }

    /// Returns what a person has trusted of a server, by the names of its tools; the entry itself has an empty name.
    pub fn mcp_trust(&self, server: &str) -> BTreeMap<String, TrustedDefinition> {
        let record = self.trust_record();
        let (own, of_tool) = (entry_key(server), tool_key(server, ""));
        let keys = record.0.iter().filter_map(|(key, versions)| {
            let name = if *key == own { Some("") } else { key.strip_prefix(&of_tool) };
            name.map(|name| (name.to_owned(), versions))
        });
        let texts = self.texts().ok();
        let definition = |versions: &Vec<TrustedVersion>| {
            let last = versions.last().map(|version| version.sha256.clone()).unwrap_or_default();
            let text = texts.as_ref().and_then(|texts| texts.read_to_string(&last).ok());
            TrustedDefinition { versions: versions.clone(), text: text.filter(|text| sha256(text.as_bytes()) == last) }
        };
        keys.map(|(name, versions)| (name, definition(versions))).collect()
    }

    /// Makes the folder of a server's program, and returns its path.
    ///
    /// # Errors
    /// Returns an error if it cannot be made.
    pub fn mcp_folder(&self, server: &str) -> Result<PathBuf, StoreError> {
        let folder = format!("{FOLDERS}/{server}");
        self.private_folder(&folder)?;
        Ok(self.path().join(folder))
    }

    /// Makes a folder below scratch/ or workspaces/ that a server's program may write to, and returns its path.
    ///
    /// # Errors
    /// Returns an error if it cannot be made, or if a link leads out of the home.
    pub fn mcp_writable(&self, folder: &str) -> Result<PathBuf, StoreError> {
        let folder = folder.trim_end_matches('/');
        self.root().create_dir_all(folder).map_err(StoreError::io(format!("making {folder}")))?;
        Ok(self.path().join(folder))
    }

    fn private_folder(&self, folder: &str) -> Result<(), StoreError> {
        let mut builder = DirBuilder::new();
        builder.mode(0o700).recursive(true);
        self.root().create_dir_with(folder, &builder).map_err(StoreError::io(format!("making {folder}")))
    }

    /// Returns what a server last listed, as it was kept.
    pub fn mcp_list(&self, server: &str) -> Option<Vec<u8>> {
        let file = self.root().open(format!("{LISTS}/{server}.json")).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_LIST + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= MAX_LIST).then_some(bytes)
    }

    /// Keeps what a server has listed. Losing it costs only time.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn keep_mcp_list(&self, server: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.private_folder(LISTS)?;
        let kept = self
            .root()
            .open_dir(LISTS)
            .and_then(|lists| atomic::replace(&lists, &format!("{server}.json"), bytes, 0o600));
        kept.map_err(StoreError::io(format!("keeping the tools of {server}")))
    }

    /// Makes an empty folder to install a version of a server's package in, and returns its path.
    ///
    /// # Errors
    /// Returns an error if it cannot be made.
    pub fn fresh_mcp_package(&self, server: &str, version: &str) -> Result<PathBuf, StoreError> {
        self.remove_mcp_package(server, version)?;
        let folder = package_folder(server, version);
        let mut builder = DirBuilder::new();
        // Its program may run as another user than the one that installs it; storage/ is closed to others all the same.
        builder.mode(0o755).recursive(true);
        self.root().create_dir_with(&folder, &builder).map_err(StoreError::io(format!("making {folder}")))?;
        let root = self.root().open_dir(&folder).map_err(StoreError::io(format!("making {folder}")))?;
        atomic::replace(&root, "package.json", b"{\"private\": true}\n", 0o644)
            .map_err(StoreError::io(format!("making {folder}")))?;
        Ok(self.path().join(folder))
    }

    /// Puts a version that was installed elsewhere in its place, instead of the one that may be there.
    ///
    /// # Errors
    /// Returns an error if it cannot be moved.
    pub fn put_mcp_package(&self, server: &str, (staged, version): (&str, &str)) -> Result<(), StoreError> {
        let (from, to) = (package_folder(server, staged), package_folder(server, version));
        let aside = package_folder(server, OLD_PACKAGE);
        gone(self.root().remove_dir_all(&aside)).map_err(StoreError::io(format!("removing {aside}")))?;
        gone(self.root().rename(&to, self.root(), &aside)).map_err(StoreError::io(format!("moving {to}")))?;
        self.root().rename(&from, self.root(), &to).map_err(StoreError::io(format!("moving {from}")))?;
        gone(self.root().remove_dir_all(&aside)).map_err(StoreError::io(format!("removing {aside}")))
    }

    /// Removes what the installation of a package has left behind and nothing needs.
    ///
    /// # Errors
    /// Returns an error if it cannot be removed.
    pub fn tidy_mcp_package(&self, server: &str, version: &str) -> Result<(), StoreError> {
        let cache = format!("{}/{PACKAGE_CACHE}", package_folder(server, version));
        gone(self.root().remove_dir_all(&cache)).map_err(StoreError::io(format!("removing {cache}")))
    }

    /// Removes a version of a server's package.
    ///
    /// # Errors
    /// Returns an error if it cannot be removed.
    pub fn remove_mcp_package(&self, server: &str, version: &str) -> Result<(), StoreError> {
        let folder = package_folder(server, version);
        gone(self.root().remove_dir_all(&folder)).map_err(StoreError::io(format!("removing {folder}")))
    }

    /// Returns the path of a version of a server's package.
    pub fn mcp_package(&self, server: &str, version: &str) -> PathBuf {
        self.path().join(package_folder(server, version))
    }

    /// Reads a file of a version of a server's package; `None` if there is none, or it is larger than 16 MiB. No link leads out
    /// of the folder.
    pub fn mcp_package_file(&self, (server, version): (&str, &str), file: &str) -> Option<Vec<u8>> {
        let folder = self.root().open_dir(package_folder(server, version)).ok()?;
        let mut bytes = Vec::new();
        folder.open(file).ok()?.take(MAX_PACKAGE_FILE + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= MAX_PACKAGE_FILE).then_some(bytes)
    }

    /// Returns what is kept of a sign-in to a server; `None` if there is none, or it was for another address.
    pub fn mcp_sign_in(&self, server: &str, url: &str) -> Option<SecretString> {
        let file = self.root().open(format!("{SIGN_INS}/{server}")).ok()?;
        let mut sealed = String::new();
        file.take(MAX_SIGN_IN).read_to_string(&mut sealed).ok()?;
        self.open_text(SealedFor { purpose: PURPOSE, bound_to: &bound_to(server, url) }, &sealed)
    }

    /// Keeps a sign-in to a server, sealed for the server and its address.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn keep_mcp_sign_in(&self, (server, url): (&str, &str), text: &SecretString) -> Result<(), StoreError> {
        let sealed = self.seal_text(SealedFor { purpose: PURPOSE, bound_to: &bound_to(server, url) }, text)?;
        self.private_folder(SIGN_INS)?;
        let kept = self
            .root()
            .open_dir(SIGN_INS)
            .and_then(|folder| atomic::replace_with_mode(&folder, server, sealed.as_bytes(), 0o600));
        kept.map_err(StoreError::io(format!("keeping the sign-in to {server}")))
    }

    /// Removes what is kept of the sign-in to a server.
    ///
    /// # Errors
    /// Returns an error if it cannot be removed.
    pub fn forget_mcp_sign_in(&self, server: &str) -> Result<(), StoreError> {
        gone(self.root().remove_file(format!("{SIGN_INS}/{server}")))
            .map_err(StoreError::io(format!("removing the sign-in to {server}")))
    }

    /// Removes what the program of a server keeps in its own folder, with the list of its tools and its sign-in.
    ///
    /// # Errors
    /// Returns an error if something of it cannot be removed.
    pub fn remove_mcp_files(&self, server: &str) -> Result<(), StoreError> {
        self.forget_mcp_sign_in(server)?;
        gone(self.root().remove_file(format!("{LISTS}/{server}.json")))
            .and_then(|()| gone(self.root().remove_dir_all(format!("{PACKAGES}/{server}"))))
            .and_then(|()| gone(self.root().remove_dir_all(format!("{FOLDERS}/{server}"))))
            .map_err(StoreError::io(format!("removing the files of {server}")))
    }

    /// Keeps a long result of a tool in scratch/, and returns its path there.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn keep_mcp_result(&self, name: &str, bytes: &[u8]) -> Result<String, StoreError> {
        let path = format!("mcp-results/{name}");
        let io = || StoreError::io(format!("keeping scratch/{path}"));
        let scratch = self.root().open_dir("scratch").map_err(io())?;
        scratch.create_dir_all("mcp-results").map_err(io())?;
        let results = scratch.open_dir("mcp-results").map_err(io())?;
        atomic::replace(&results, name, bytes, 0o644).map_err(io())?;
        Ok(format!("scratch/{path}"))
    }

    fn mcp_change(
        &self,
        change: impl FnOnce(&mut Map<String, Value>) -> Result<(), StoreError>,
    ) -> Result<Option<TreeChange>, StoreError> {
        let (bytes, expect) = self.settings_bytes(FILE)?;
        let damaged =
            |why: String| StoreError::io(format!("reading {}", FILE.name()))(Error::new(ErrorKind::InvalidData, why));
        let mut file = parsed(bytes.as_deref()).map_err(damaged)?;
        let servers = file.entry(SERVERS).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(servers) = servers {
            change(servers)?;
        }
        let mut bytes = serde_json::to_vec_pretty(&file).expect("JSON is JSON");
        bytes.push(b'\n');
        Ok(Some(TreeChange::write(TreePath::Settings(FILE), &bytes, expect)))
    }

    fn mcp_trust_change(&self, texts: &[(String, String)], by: TrustedBy) -> Result<Option<TreeChange>, StoreError> {
        let RecordedTrust { mut record, expect, .. } = self.recorded_trust()?;
        let folder = self.texts().map_err(StoreError::io("keeping what is trusted"))?;
        for (key, text) in texts {
            let hash = sha256(text.as_bytes());
            atomic::replace(&folder, &hash, text.as_bytes(), 0o600)
                .map_err(StoreError::io("keeping what is trusted"))?;
            record.add_at(key.clone(), TrustedVersion { sha256: hash, at: clock::now(), by });
        }
        Ok(Some(record.change(expect)))
    }

    fn mcp_forget_change(&self, server: &str) -> Result<Option<TreeChange>, StoreError> {
        let RecordedTrust { mut record, expect, .. } = self.recorded_trust()?;
        let (own, of_tool) = (entry_key(server), tool_key(server, ""));
        let before = record.0.len();
        record.0.retain(|key, _| *key != own && !key.starts_with(&of_tool));
        Ok((record.0.len() < before).then(|| record.change(expect)))
    }
}

impl Tree {
    /// Adds the entries of MCP servers, or replaces them.
    ///
    /// # Errors
    /// Returns [`StoreError::NotAllowed`] if there are too many, and an error if the file is damaged or cannot be written.
    pub async fn set_mcp_entries(&self, claim: Claim, entries: Vec<(String, Value)>) -> Result<(), StoreError> {
        let change = move |home: &Home| {
            home.mcp_change(|servers| {
                servers.extend(entries.iter().cloned());
                match servers.len() > MAX_SERVERS {
                    true => Err(StoreError::NotAllowed {
                        path: FILE.name().to_owned(),
                        why: "a home has up to 50 MCP servers",
                    }),
                    false => Ok(()),
                }
            })
        };
        self.edit(claim, change).await.map(drop)
    }

    /// Replaces the entry of an MCP server by another one, if it is still as it was seen.
    ///
    /// # Errors
    /// Returns [`StoreError::Conflict`] if it is not, and an error if the file is damaged or cannot be written.
    pub async fn replace_mcp_entry(&self, claim: Claim, entry: ReplacedEntry) -> Result<(), StoreError> {
        let change = move |home: &Home| {
            let ReplacedEntry { server, seen, next } = &entry;
            home.mcp_change(|servers| match servers.get_mut(server) {
                Some(now) if now == seen => {
                    *now = next.clone();
                    Ok(())
                }
                Some(_) | None => Err(StoreError::Conflict { path: FILE.name().to_owned(), etag: None }),
            })
        };
        self.edit(claim, change).await.map(drop)
    }

    /// Removes an MCP server, with what was trusted of it.
    ///
    /// # Errors
    /// Returns an error if a file is damaged or cannot be written.
    pub async fn remove_mcp_entry(&self, claim: Claim, server: String) -> Result<(), StoreError> {
        let of_trust = server.clone();
        self.edit(claim, move |home| home.mcp_forget_change(&of_trust)).await?;
        let change = move |home: &Home| {
            home.mcp_change(|servers| {
                servers.shift_remove(&server);
                Ok(())
            })
        };
        self.edit(claim, change).await.map(drop)
    }

    /// Trusts the entry of an MCP server, of which this is the text.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read or written.
    pub async fn trust_mcp_entry(
        &self,
        claim: Claim,
        (server, text): (String, String),
        by: TrustedBy,
    ) -> Result<(), StoreError> {
        let texts = vec![(entry_key(&server), text)];
        self.edit(claim, move |home| home.mcp_trust_change(&texts, by)).await.map(drop)
    }

    /// Trusts the definitions of tools of an MCP server, by their names.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read or written.
    pub async fn trust_mcp_tools(
        &self,
        claim: Claim,
        (server, tools): (String, Vec<(String, String)>),
        by: TrustedBy,
    ) -> Result<(), StoreError> {
        let texts: Vec<_> = tools.into_iter().map(|(tool, text)| (tool_key(&server, &tool), text)).collect();
        self.edit(claim, move |home| home.mcp_trust_change(&texts, by)).await.map(drop)
    }
}

/// What was not there is gone.
fn gone(removed: std::io::Result<()>) -> std::io::Result<()> {
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn package_folder(server: &str, version: &str) -> String {
    format!("{PACKAGES}/{server}/{version}")
}

fn bound_to(server: &str, url: &str) -> Vec<u8> {
    format!("{server}\n{url}").into_bytes()
}

fn entry_key(server: &str) -> String {
    format!("mcp/{server}")
}

fn tool_key(server: &str, tool: &str) -> String {
    format!("mcp/{server}/{tool}")
}

/// A damaged file is left as it is.
fn parsed(bytes: Option<&[u8]>) -> Result<Map<String, Value>, String> {
    let Some(bytes) = bytes else { return Ok(Map::new()) };
    if bytes.len() > MAX_FILE {
        return Err("mcp.json is larger than 1 MiB".to_owned());
    }
    let file: Map<String, Value> = serde_json::from_slice(bytes).map_err(|error| format!("mcp.json: {error}"))?;
    match file.get(SERVERS) {
        Some(servers) if !servers.is_object() => Err("mcp.json: mcpServers is no object".to_owned()),
        _ => Ok(file),
    }
}

fn entries_of(file: &Map<String, Value>) -> Vec<(String, Value)> {
    let servers = file.get(SERVERS).and_then(Value::as_object).into_iter().flatten();
    servers.take(MAX_SERVERS).map(|(name, entry)| (name.clone(), entry.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::OwnedHome;
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn entry_is_replaced_only_as_it_was_seen() {
        let folder = tempfile::tempdir().unwrap();
        let (owned, _) = OwnedHome::claim(Home::open(folder.path()).unwrap()).await.unwrap();
        let entries = vec![("pets".to_owned(), json!({"command": "a"}))];
        owned.tree.set_mcp_entries(owned.claim, entries).await.unwrap();
        let replace = async |server: &str, seen: Value, next: Value| {
            let entry = ReplacedEntry { server: server.to_owned(), seen, next };
            owned.tree.replace_mcp_entry(owned.claim, entry).await
        };
        replace("pets", json!({"command": "a"}), json!({"command": "b"})).await.unwrap();
        for (server, seen) in [("pets", json!({"command": "a"})), ("cats", json!({"command": "b"}))] {
            let refused = replace(server, seen, json!({"command": "c"})).await;
            assert!(matches!(refused, Err(StoreError::Conflict { .. })), "{refused:?}");
        }
        assert_eq!(owned.home.mcp_entry("pets"), Some(json!({"command": "b"})));
        assert_eq!(owned.home.mcp_entry("cats"), None);
    }
}
