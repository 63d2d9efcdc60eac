//! Servers that are installed from a package: fetched once, in the sandbox, with network only for that and without running
//! any of its scripts. From then on its program starts from the files, offline.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::McpServers;
use super::starting::MEMORY;
use crate::domain::FolderOwner;
use crate::domain::mcp::{BadMcpEntry, McpPackage};
use crate::domain::visible::visible;
use crate::sandbox::{Exit, Job, Network, Sandbox};
use crate::store::{Home, PACKAGE_CACHE, sha256};

/// How long an installation may take.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(300);
const OUTPUT: usize = 16 << 10;
/// Maximum characters of what the client of the registry wrote in the reason of a failure.
const SHOWN: usize = 2_000;
const LOCK: &str = "package-lock.json";
/// What no version begins with: the name of the folder of an installation that is not complete begins with it.
const STAGED: &str = ".staged-";
/// Variables of the home with which a person says where packages come from.
const REGISTRY: [&str; 2] = ["npm_config_registry", "NPM_CONFIG_REGISTRY"];

/// A package to install as a server.
#[derive(Clone, Debug)]
pub struct NewPackage {
    pub server: String,
    pub package: McpPackage,
    /// Arguments of its program; `None` keeps those of the server that is there.
    pub arguments: Option<Vec<String>>,
}

impl McpServers {
    /// Installs a package, and returns the entry of its server. What an entry that is there grants stays.
    ///
    /// # Errors
    /// Returns a sentence if it cannot be installed, or has no program.
    pub async fn install(&self, new: NewPackage) -> Result<Value, String> {
        let sandbox = self.shared.sandbox.as_ref().ok_or("no program runs in this home")?;
        let (home, shared) = (self.shared.home.clone(), self.shared.clone());
        let NewPackage { server, mut package, arguments } = new;
        // What is installed already works until this one is complete.
        let staged = format!("{STAGED}{}", package.version);
        let _installing = self.installing.lock().await;
        let (of_home, name, version) = (home.clone(), server.clone(), staged.clone());
        let folder = spawn_blocking(move || of_home.fresh_mcp_package(&name, &version));
        let folder = folder.await.map_err(|_| "the server is shutting down")?.map_err(|error| error.to_string())?;
        let registry = REGISTRY.into_iter().find_map(|name| (shared.variable)(name));
        let fetched = fetch(sandbox, &package, folder, registry).await;
        let read = spawn_blocking(move || {
            let found = fetched.and_then(|()| program(&home, &server, &staged, &package));
            if let Err(error) = home.tidy_mcp_package(&server, &staged) {
                tracing::warn!(%error, "the cache of an installation stays");
            }
            let put = || home.put_mcp_package(&server, (&staged, &package.version)).map_err(|error| error.to_string());
            match found.and_then(|found| put().map(|()| found)) {
                Ok(Program { path, lock }) => {
                    package.lock = lock;
                    Ok(entry(&home, &path, NewPackage { server, package, arguments }))
                }
                Err(why) => {
                    // What is left of it is overwritten by the next try.
                    let _ = home.remove_mcp_package(&server, &staged);
                    Err(why)
                }
            }
        });
        read.await.map_err(|_| "the server is shutting down")?
    }
}

async fn fetch(
    sandbox: &Sandbox,
    package: &McpPackage,
    folder: PathBuf,
    registry: Option<String>,
) -> Result<(), String> {
    let wanted = format!("{}@{}", package.name, package.version);
    let options = ["--ignore-scripts", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error"];
    let argv = ["npm", "install"].into_iter().chain(options).chain(["--", &wanted]).map(str::to_owned).collect();
    let mut env = vec![("npm_config_update_notifier".to_owned(), "false".to_owned())];
    env.push(("npm_config_cache".to_owned(), folder.join(PACKAGE_CACHE).display().to_string()));
    env.extend(registry.map(|registry| ("npm_config_registry".to_owned(), registry)));
    let job = Job {
        argv,
        cwd: folder,
        readable: Vec::new(),
        env,
        wall: INSTALL_TIMEOUT,
        output_cap: OUTPUT,
        memory: MEMORY,
        network: Network::Proxied,
        capture: None,
        owner: FolderOwner::Commands,
    };
    let done = sandbox.run(job, CancellationToken::new()).await.map_err(|error| format!("npm: {error}"))?;
    match done.exit {
        Exit::Code(0) => Ok(()),
        Exit::TimedOut => Err(format!("npm did not install it within {} s", INSTALL_TIMEOUT.as_secs())),
        _ => {
            let text = visible(done.stderr.text().trim());
            Err(format!("npm did not install it: {}", text.chars().take(SHOWN).collect::<String>()))
        }
    }
}

/// What was installed.
struct Program {
    /// Path of the program in the folder of the package.
    path: String,
    /// Hash of the lock file.
    lock: String,
}

/// Looks at what was installed.
fn program(home: &Home, server: &str, staged: &str, package: &McpPackage) -> Result<Program, String> {
    let of = (server, staged);
    let lock = home.mcp_package_file(of, LOCK).ok_or("npm has left no lock file")?;
    let inside = format!("node_modules/{}", package.name);
    let manifest =
        home.mcp_package_file(of, &format!("{inside}/package.json")).ok_or("npm has installed no package")?;
    let manifest: Value =
        serde_json::from_slice(&manifest).map_err(|_| "the package.json of the package is no JSON")?;
    if manifest["version"] != package.version.as_str() || manifest["name"] != package.name.as_str() {
        return Err("npm has installed another package or version".to_owned());
    }
    let path =
        bin(&manifest, package).ok_or("the package has no program of its own name, and not exactly one other")?;
    let path = format!("{inside}/{}", path.trim_start_matches("./"));
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) || home.mcp_package_file(of, &path).is_none() {
        return Err(format!("the program of the package, {}, is not in it", visible(&path)));
    }
    Ok(Program { path, lock: sha256(&lock) })
}

/// Returns the program of a package: the one that has its name, or the only one.
fn bin<'m>(manifest: &'m Value, package: &McpPackage) -> Option<&'m str> {
    match &manifest["bin"] {
        Value::String(path) => Some(path),
        Value::Object(programs) => {
            let own = package.name.rsplit('/').next().and_then(|name| programs.get(name));
            own.or_else(|| programs.values().next().filter(|_| programs.len() == 1))?.as_str()
        }
        _ => None,
    }
}

fn entry(home: &Home, program: &str, NewPackage { server, package, arguments }: NewPackage) -> Value {
    let before = home.mcp_entry(&server).unwrap_or_default();
    let own = before["miniclaw"]["package"].is_object();
    let kept = before["args"].as_array().filter(|_| own).into_iter().flatten().skip(1);
    let kept = arguments.unwrap_or_else(|| kept.filter_map(Value::as_str).map(str::to_owned).collect());
    let path = home.mcp_package(&server, &package.version).join(program).display().to_string();
    let mut entry = if own { before } else { json!({}) };
    entry["command"] = json!("node");
    entry["args"] = std::iter::once(path).chain(kept).collect();
    entry["miniclaw"]["package"] = json!(package);
    entry
}

/// Returns the folder of an entry's package, if its lock file is the one that a person has confirmed.
///
/// # Errors
/// Returns a sentence if it is another one.
pub fn unchanged(home: &Home, server: &str, package: &McpPackage) -> Result<PathBuf, String> {
    let lock = home.mcp_package_file((server, &package.version), LOCK);
    match lock.is_some_and(|lock| sha256(&lock) == package.lock) {
        true => Ok(home.mcp_package(server, &package.version)),
        false => Err(format!(
            "its package {}@{} is not installed as it was confirmed; install it again",
            package.name, package.version
        )),
    }
}

/// Returns the package that was confirmed last, from the text of an entry.
pub fn confirmed_package(text: &str) -> Option<McpPackage> {
    let entry: Value = serde_json::from_str(text).ok()?;
    serde_json::from_value(entry["miniclaw"]["package"].clone()).ok()
}

/// Returns the package and the name of its server.
///
/// # Errors
/// Returns a sentence if one of them cannot be used.
pub fn new_package(text: &str, server: Option<String>) -> Result<(McpPackage, String), BadMcpEntry> {
    let package = McpPackage::parse(text)?;
    let server = server.or_else(|| package.server_name());
    let server = server.ok_or_else(|| BadMcpEntry("name the server; its package's name cannot be used".to_owned()))?;
    crate::domain::mcp::check_name(&server)?;
    Ok((package, server))
}
