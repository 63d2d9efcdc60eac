//! `miniclaw mcp list|add|trust|login|logout|remove|call`: the MCP servers of a home, through the server that runs on it, or one that is
//! started for the command.

use std::io::{IsTerminal as _, Read as _, stdin};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Subcommand;
use serde_json::{Value, json};

use super::signing_in;
use crate::cli::ask::client::Client;
use crate::cli::ask::host::Host;
use crate::cli::home_dir;
use crate::domain::visible::visible;

/// How long an installation may take.
const INSTALL: Duration = Duration::from_secs(330);

#[derive(Subcommand)]
pub enum McpServersCommand {
    /// List the servers with their tools: trusted, new or changed.
    List,
    /// Add the servers of an `mcpServers` object, read from standard input, or one server by its command or its package.
    Add {
        /// The name of the server, or a package to install as one: npm:NAME@VERSION.
        name: Option<String>,
        /// The name of the server of a package; without it, the last part of that of the package.
        #[arg(long = "as", value_name = "SERVER", requires = "name")]
        server: Option<String>,
        /// Its command and arguments, after `--`; for a package, the arguments of its program.
        #[arg(last = true, requires = "name")]
        command: Vec<String>,
    },
    /// Confirm the entry of a server, or trust its tools, after showing them.
    Trust {
        name: String,
        /// The tools to trust, as `list` prints them. Without any, the entry is confirmed and the server started.
        tools: Vec<String>,
        /// Trust all tools that can be used.
        #[arg(long, conflicts_with = "tools")]
        all_tools: bool,
        /// Do not ask: whoever calls this has looked at what `list` prints.
        #[arg(long)]
        yes: bool,
    },
    /// Sign in to a remote server: prints the address to open in a browser, and waits until you have signed in there.
    Login { name: String },
    /// Sign out of a remote server: its tokens are removed.
    Logout { name: String },
    /// Remove a server, with what was trusted of it and the files of its program.
    Remove {
        name: String,
        /// Keep its package and the files of its program (storage/mcp-packages/NAME, storage/mcp/NAME).
        #[arg(long)]
        keep_files: bool,
    },
    /// Call a tool of a confirmed server and print the result.
    Call {
        name: String,
        tool: String,
        /// Its arguments, as a JSON object.
        #[arg(default_value = "{}")]
        arguments: String,
    },
}

/// Runs the command.
pub fn run(command: McpServersCommand, home: Option<PathBuf>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let host = Host::of_home(&home_dir(home)).await?;
        let done = done(&host.client, command).await;
        host.stop().await;
        done
    })
}

async fn done(client: &Client, command: McpServersCommand) -> anyhow::Result<ExitCode> {
    match command {
        McpServersCommand::List => {
            let listed = client.get("api/mcp").await?;
            if let Some(problem) = listed["problem"].as_str() {
                bail!("{problem}");
            }
            servers(&listed).iter().for_each(print_server);
        }
        McpServersCommand::Add { name: Some(package), server, command } if package.contains(':') => {
            let args = (!command.is_empty()).then_some(command);
            let wanted = json!({"package": package, "name": server, "args": args});
            let before = client.get("api/mcp").await?;
            let listed = client.post_within("api/mcp-packages", wanted, INSTALL).await?;
            let is_new = |server: &&Value| !servers(&before).contains(server);
            servers(&listed).iter().filter(is_new).for_each(print_server);
            eprintln!("look at it, and confirm it with `miniclaw mcp trust NAME`");
        }
        McpServersCommand::Add { server: Some(_), .. } => bail!("--as is for a package: npm:NAME@VERSION"),
        McpServersCommand::Add { name, command, .. } => {
            let added = match name {
                Some(name) => {
                    let (program, rest) = command.split_first().context("the command is missing")?;
                    json!({"mcpServers": {name: {"command": program, "args": rest}}})
                }
                None => pasted()?,
            };
            let names: Vec<String> =
                added["mcpServers"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
            let listed = client.post("api/mcp", added).await?;
            for server in servers(&listed).iter().filter(|server| names.iter().any(|name| server["name"] == **name)) {
                print_server(server);
            }
            eprintln!("look at it, and confirm it with `miniclaw mcp trust NAME`");
        }
        McpServersCommand::Trust { name, tools, all_tools, yes } => {
            let wanted = if all_tools { Wanted::AllTools } else { Wanted::of(tools) };
            return trust(client, &name, wanted, yes).await;
        }
        McpServersCommand::Login { name } => return signing_in::login(client, &name).await,
        McpServersCommand::Logout { name } => {
            let server = found(&client.delete(&format!("api/mcp/{name}/login")).await?, &name)?;
            print_server(&server);
        }
        McpServersCommand::Remove { name, keep_files } => {
            client.delete(&format!("api/mcp/{name}?keep_files={keep_files}")).await?;
        }
        McpServersCommand::Call { name, tool, arguments } => {
            let arguments: Value = serde_json::from_str(&arguments).context("the arguments are no JSON")?;
            let request = json!({"tool": tool, "arguments": arguments});
            let result = client.post(&format!("api/mcp/{name}/call"), request).await?;
            say!("{}", visible(result["text"].as_str().unwrap_or_default()));
            return Ok(if result["ok"] == true { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What a person trusts of a server.
enum Wanted {
    /// Its entry, so that it may be started.
    Entry,
    Tools(Vec<String>),
    AllTools,
}

impl Wanted {
    fn of(tools: Vec<String>) -> Self {
        if tools.is_empty() { Self::Entry } else { Self::Tools(tools) }
    }

    fn contains(&self, tool: &Value) -> bool {
        match self {
            Self::Entry => false,
            Self::Tools(names) => names.iter().any(|name| tool["name"] == **name),
            Self::AllTools => tool["state"] != "unusable",
        }
    }
}

/// Trusts exactly what is printed before the question.
async fn trust(client: &Client, name: &str, wanted: Wanted, is_confirmed: bool) -> anyhow::Result<ExitCode> {
    let mut server = found(&client.get("api/mcp").await?, name)?;
    let known = server["tools"].as_array().cloned().unwrap_or_default();
    if let Wanted::Tools(names) = &wanted
        && let Some(missing) = names.iter().find(|name| !known.iter().any(|tool| tool["name"] == ***name))
    {
        bail!("{name} has no tool {}", visible(missing));
    }
    let shown: Vec<Value> = known.into_iter().filter(|tool| wanted.contains(tool)).collect();
    let sent = match &wanted {
        Wanted::Entry => ("trust", json!({"sha256": server["sha256"]})),
        Wanted::Tools(_) | Wanted::AllTools => {
            let seen = |tool: &Value| json!({"name": tool["definition"]["name"], "sha256": tool["sha256"]});
            ("tools/trust", json!({"tools": shown.iter().map(seen).collect::<Vec<_>>()}))
        }
    };
    server["tools"] = Value::Array(shown);
    print_server(&server);
    if !is_confirmed && !confirmed()? {
        eprintln!("Nothing was changed.");
        return Ok(ExitCode::FAILURE);
    }
    let (path, body) = sent;
    let server = found(&client.post(&format!("api/mcp/{name}/{path}"), body).await?, name)?;
    print_server(&server);
    Ok(if server["status"] == "failed" { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Asks the person at the terminal.
fn confirmed() -> anyhow::Result<bool> {
    if !stdin().is_terminal() {
        bail!("look at this, and confirm it at a terminal or with --yes");
    }
    eprint!("Trust this? [y/N] ");
    let mut answer = String::new();
    stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Reads the object that people paste: `{"mcpServers": {…}}`, or what is inside.
fn pasted() -> anyhow::Result<Value> {
    let mut text = String::new();
    stdin().take(1 << 20).read_to_string(&mut text)?;
    let pasted: Value = serde_json::from_str(&text).context("standard input is no JSON")?;
    Ok(if pasted["mcpServers"].is_object() { pasted } else { json!({"mcpServers": pasted}) })
}

fn servers(listed: &Value) -> Vec<Value> {
    listed["servers"].as_array().cloned().unwrap_or_default()
}

pub(super) fn found(listed: &Value, name: &str) -> anyhow::Result<Value> {
    let found = servers(listed).into_iter().find(|server| server["name"] == *name);
    found.ok_or_else(|| anyhow!("there is no MCP server {}", visible(name)))
}

pub(super) fn print_server(server: &Value) {
    let text = |value: &Value| visible(value.as_str().unwrap_or_default());
    say!("{} ({})", text(&server["name"]), text(&server["status"]));
    say!("  entry {}", text(&server["entry"]));
    if !server["package"].is_null() {
        let package = &server["package"];
        let before = package["confirmed"].as_str().map(|before| format!(" instead of {}", visible(before)));
        say!("  package {} {}{}", text(&package["name"]), text(&package["version"]), before.unwrap_or_default());
    }
    if let Some(reason) = server["reason"].as_str() {
        say!("  {}", visible(reason));
    }
    for problem in server["problems"].as_array().into_iter().flatten() {
        say!("  {}", text(problem));
    }
    for tool in server["tools"].as_array().into_iter().flatten() {
        say!("  {:<20} {}", text(&tool["state"]), text(&tool["name"]));
        say!("    {}", visible(&tool["definition"].to_string()));
        if !tool["trusted"].is_null() {
            say!("    trusted: {}", visible(&tool["trusted"].to_string()));
        }
    }
}
