//! The program that the conformance tests of MCP start as a client: `mcp_probe ADDRESS`. It uses the server at the address as
//! miniclaw does, with a home that it throws away, and does what a person would: it confirms the server, trusts its tools, signs
//! in by following the address of the authorization server on this machine, and sends forms as they are filled in.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use miniclaw::clock;
use miniclaw::domain::elicitation::{FieldKind, Wanted};
use miniclaw::domain::{Elicitation, ElicitationAction, ElicitationAnswer, Session, SessionId};
use miniclaw::store::{Home, OwnedHome, TrustedBy};
use miniclaw::tools::mcp::{McpParts, McpServers, PinState, ServerView, SignInAnswer, SignInState, ToolView};
use miniclaw::tools::{Elicited, EndRun, LiveQuestion, LiveQuestions, RunOptions, ToolContext};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

const SERVER: &str = "probed";
const CALLBACK: &str = "http://127.0.0.1:1/oauth/callback";
/// The document with which the tests expect a client to name itself.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// How often the person signs in.
const SIGN_INS: usize = 3;
/// How often a call is repeated with an answer.
const ROUNDS: usize = 10;

struct Probe {
    owned: OwnedHome,
    servers: McpServers,
    sign_ins: usize,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let address = std::env::args().nth(1).context("the address of the server is missing")?;
    let given: Value =
        std::env::var("MCP_CONFORMANCE_CONTEXT").ok().map_or(Ok(Value::Null), |text| serde_json::from_str(&text))?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let folder = tempfile::tempdir()?;
    let mut probe = Probe::start(folder.path(), entry(&address, &given)).await?;
    probe.connect().await?;
    let tools = probe.tools().await?;
    for (tool, arguments) in calls(&tools, &given) {
        probe.call(&tool, arguments).await?;
    }
    if scenario == "http-standard-headers" {
        probe.use_offers().await?;
    }
    probe.servers.stop_all().await;
    Ok(())
}

/// Returns the entry of `mcp.json` for the server.
fn entry(address: &str, given: &Value) -> Value {
    let oauth = match given["client_id"].as_str() {
        Some(_) => {
            json!({"client_id": given["client_id"], "client_secret": given["client_secret"], "issuer": given["issuer"]})
        }
        None => json!({"client_id": CLIENT_DOCUMENT}),
    };
    json!({"type": "http", "url": address, "oauth": oauth})
}

/// Returns the calls to make: those that the test names, else one of each tool that can be used.
fn calls(tools: &[ToolView], given: &Value) -> Vec<(String, Value)> {
    match given["toolCalls"].as_array() {
        Some(calls) => {
            let named = calls
                .iter()
                .map(|call| (call["name"].as_str().unwrap_or_default().to_owned(), call["arguments"].clone()));
            named.collect()
        }
        None => {
            let first = tools.first().map(|tool| tool.definition["inputSchema"].clone()).unwrap_or_default();
            let call = |tool: &ToolView| (tool.name.clone(), arguments(&tool.definition["inputSchema"], &first));
            tools.iter().map(call).collect()
        }
    }
}

/// Returns arguments that fit a plain schema. An object is the schema of the first tool, as the client has it: a test compares
/// that.
fn arguments(schema: &Value, first: &Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("number" | "integer") => json!(2),
        Some("boolean") => json!(true),
        Some("object") => first.clone(),
        _ => json!("x"),
    };
    Value::Object(required.map(|name| (name.to_owned(), value(name))).collect())
}

impl Probe {
    async fn start(folder: &std::path::Path, entry: Value) -> anyhow::Result<Self> {
        let (owned, _) = OwnedHome::claim(Home::open(folder)?).await?;
        owned.tree.set_mcp_entries(owned.claim, vec![(SERVER.to_owned(), entry)]).await?;
        let servers = McpServers::new(McpParts {
            home: owned.home.clone(),
            sandbox: None,
            variable: Box::new(|_| None),
            allow_hosts: Vec::new(),
            may_reach_loopback: true,
            own_port: 1,
            keep_pictures: Arc::new(|_, _| Box::pin(std::future::ready(Ok(())))),
            generation: Default::default(),
            sign_ins: Default::default(),
        });
        let current = servers.current(SERVER).await.context("the entry cannot be used")?;
        owned.tree.trust_mcp_entry(owned.claim, (SERVER.to_owned(), current.confirmed), TrustedBy::Person).await?;
        servers.reload().await;
        Ok(Self { owned, servers, sign_ins: 0 })
    }

    async fn view(&self) -> anyhow::Result<ServerView> {
        let (views, _) = self.servers.view().await;
        views.into_iter().next().context("there is no server")
    }

    /// Starts to use the server, and signs in if it wants that.
    async fn connect(&mut self) -> anyhow::Result<()> {
        while let Err(why) = self.servers.reconnect(SERVER).await {
            if !self.signs_in().await? {
                return Err(anyhow!(why));
            }
        }
        Ok(())
    }

    /// Signs in if the server wants that; returns whether it did.
    async fn signs_in(&mut self) -> anyhow::Result<bool> {
        let wants = [SignInState::Needed, SignInState::Expired, SignInState::MoreScopes];
        let state = self.view().await?.sign_in;
        if self.sign_ins >= SIGN_INS || !state.is_some_and(|state| wants.contains(&state)) {
            return Ok(false);
        }
        self.sign_ins += 1;
        let begun = self.servers.begin_sign_in(SERVER, CALLBACK).await.map_err(|why| anyhow!(why))?;
        let browser = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
        let answer = browser.get(&begun.authorization_url).send().await?;
        let back = answer.headers().get("location").context("the authorization server leads nowhere")?.to_str()?;
        let back = url::Url::parse(back)?;
        let part =
            |wanted: &str| back.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value.into_owned());
        let answer = SignInAnswer {
            state: part("state").unwrap_or_default(),
            code: part("code"),
            error: part("error"),
            iss: part("iss"),
        };
        self.servers.finish_sign_in(answer).await.map_err(|why| anyhow!("{why:?}"))?;
        Ok(true)
    }

    /// Trusts all tools that can be used, and returns them.
    async fn tools(&self) -> anyhow::Result<Vec<ToolView>> {
        let mut tools = self.view().await?.tools;
        tools.retain(|tool| tool.state != PinState::Unusable);
        let mut texts = Vec::new();
        for tool in &tools {
            let (_, text) = self.servers.definition(SERVER, &tool.name).await.context("a tool is gone")?;
            texts.push((tool.name.clone(), text));
        }
        self.owned.tree.trust_mcp_tools(self.owned.claim, (SERVER.to_owned(), texts), TrustedBy::Person).await?;
        self.servers.reload().await;
        Ok(tools)
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> anyhow::Result<()> {
        loop {
            self.called(tool, &arguments).await?;
            if !self.signs_in().await? {
                return Ok(());
            }
            self.connect().await?;
        }
    }

    /// Calls a tool as the model does, or, with arguments that do not fit its schema, as a person does.
    async fn called(&self, tool: &str, arguments: &Value) -> anyhow::Result<()> {
        let offered = self.servers.tools().await;
        let (session, conversation) = (SessionId::parse("probe")?, Session::new("", clock::now()));
        let name = format!("mcp__{SERVER}__{tool}");
        let context = ToolContext::new(&session, "call_1", &conversation);
        let tools = offered.always.with(offered.auto);
        let Ok(checked) = tools.prepare(&name, &arguments.to_string(), context).await else {
            let answer = self.servers.call((SERVER, tool), arguments).await.map_err(|why| anyhow!(why))?;
            eprintln!("{tool}: {}", answer.text);
            return Ok(());
        };
        let mut elicited = None;
        for _ in 0..ROUNDS {
            let (to, questions) = mpsc::channel(4);
            let person = tokio::spawn(answer_all(questions));
            let options = RunOptions {
                elicited: elicited.as_ref(),
                questions: LiveQuestions::new(to, "call_1"),
                ..RunOptions::default()
            };
            let ended = checked.call.run(options).await;
            person.abort();
            match ended {
                Ok(answer) => {
                    eprintln!("{tool}: {}", answer.text);
                    return Ok(());
                }
                Err(EndRun::InputRequired(asked)) => {
                    let answer = filled_in(&asked);
                    elicited = Some(Elicited { asked: *asked, answer });
                }
                Err(_) => return Err(anyhow!("the call of {tool} ended without an answer")),
            }
        }
        Err(anyhow!("{tool} asks without an end"))
    }

    /// Lists and reads what the server has besides tools.
    async fn use_offers(&self) -> anyhow::Result<()> {
        for resource in self.servers.resources(SERVER).await.map_err(|why| anyhow!(why))? {
            // An empty one is no text.
            let _ = self.servers.read_resource(SERVER, &resource.uri).await;
        }
        for prompt in self.servers.prompts(SERVER).await.map_err(|why| anyhow!(why))? {
            let _ = self.servers.prompt_text(SERVER, (&prompt.name, &prompt.sha256), &Map::new()).await;
        }
        Ok(())
    }
}

async fn answer_all(mut questions: mpsc::Receiver<LiveQuestion>) {
    while let Some(LiveQuestion { asked, answer, .. }) = questions.recv().await {
        let _ = answer.send(filled_in(&asked));
    }
}

/// Returns the answer of a person who changes nothing in a form, as the page fills it in.
fn filled_in(asked: &Elicitation) -> ElicitationAnswer {
    let mut answer = ElicitationAnswer::of(ElicitationAction::Accept);
    let Wanted::Form { fields } = &asked.wanted else { return answer };
    for field in fields {
        let value = match &field.kind {
            FieldKind::Text { default: Some(text), .. } | FieldKind::Choice { default: Some(text), .. } => json!(text),
            FieldKind::Number { default: Some(number), whole: true, .. } => json!(*number as i64),
            FieldKind::Number { default: Some(number), .. } => json!(number),
            FieldKind::Boolean { default } => json!(default),
            FieldKind::Choices { default, .. } if !default.is_empty() => json!(default),
            FieldKind::Text { .. }
            | FieldKind::Number { .. }
            | FieldKind::Choice { .. }
            | FieldKind::Choices { .. } => continue,
        };
        answer.content.insert(field.name.clone(), value);
    }
    answer
}
