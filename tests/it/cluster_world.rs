//! A cluster of real servers, with proxies before the database and before each server, and the checker of all faults.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use miniclaw::provider::scripted::Script;
use serde_json::{Value, json};
use tokio_postgres::NoTls;

use crate::fault_proxy::FaultProxy;
use crate::http::{Answer, Incoming, lasting_port, open_if_there};
use crate::people::Person;
use crate::postgres::{TestDatabase, postgres};
use crate::postgres_home::{exported, run, text_of, wipe};
use crate::world::{Server, World, eventually};

/// What the servers know each other by. It must appear in no log.
const SECRET: &str = "cluster-canary-81d5f0a2c39b4e67d0";
/// Longer than any takeover.
const LONG: Duration = Duration::from_secs(60);
/// Records every fact in the order of its commit: the server deletes facts that are in a session's file.
const WATCH: &str = "CREATE SCHEMA watch; CREATE TABLE watch.facts (at bigserial, home_id uuid, session_id text, seq bigint, home_no bigint, fence bigint);
    CREATE FUNCTION watch.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO watch.facts (home_id, session_id, seq, home_no, fence) VALUES (NEW.home_id, NEW.session_id, NEW.seq, NEW.home_no, NEW.fence); RETURN NULL; END $$;
    CREATE TRIGGER note AFTER INSERT ON facts FOR EACH ROW EXECUTE FUNCTION watch.note();";

pub struct Member {
    pub world: World,
    /// Before the database, for this server.
    pub database: FaultProxy,
    /// Where the others reach this server.
    pub address: SocketAddr,
    /// Before this server, for the others, in a cluster whose servers can be cut from each other.
    pub peers: Option<FaultProxy>,
}

/// How servers reach each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Network {
    Direct,
    /// Through proxies. They listen after a server has crashed, so its death is noticed late.
    Proxied,
}

pub struct Cluster {
    pub database: TestDatabase,
    pub members: Vec<Member>,
    /// A folder that no server owns.
    outside: tempfile::TempDir,
}

impl Cluster {
    /// Returns a cluster of servers that have not started; `None` if there is no database here. `script` is told of a file for the
    /// effects of calls, which no server owns: a line for each.
    pub async fn new(
        count: usize,
        (config, network): (&str, Network),
        script: impl FnOnce(&Path) -> Script,
    ) -> Option<Self> {
        let database = postgres().await?.database().await;
        Some(Self::on(database, count, (config, network), script).await)
    }

    /// Does the same in this database.
    pub async fn on(
        database: TestDatabase,
        count: usize,
        (config, network): (&str, Network),
        script: impl FnOnce(&Path) -> Script,
    ) -> Self {
        let outside = tempfile::tempdir().unwrap();
        let mut members: Vec<Member> = Vec::new();
        let mut script = Some(script(&outside.path().join("effects")));
        for _ in 0..count {
            let own = script.take().unwrap_or_else(|| crate::script::script([]));
            let model = members.first().map(|first| first.world.provider.base_url.to_string());
            members.push(member(World::new(own).await, (&database, config, network), model).await);
        }
        let first = &members[0].world;
        run(first, &["db", "migrate", "--home", first.home().to_str().unwrap()]).await;
        database.execute(WATCH).await;
        Self { database, members, outside }
    }

    /// Sets a variable of the environment for all servers that are started from now on.
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        let with = |member: Member| Member { world: member.world.with_env(name, value), ..member };
        self.members = self.members.into_iter().map(with).collect();
        self
    }

    /// Starts a server. Its commands may write anywhere, so that they can have effects outside of the home.
    pub async fn serve(&self, at: usize) -> Server<'_> {
        self.members[at].world.serve_with(&["--sandbox", "off"]).await
    }

    /// Returns the calls that had an effect, in order.
    pub fn effects(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.outside.path().join("effects")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the path of a file beside that of the effects.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.outside.path().join(name)
    }

    /// Whether a server was so late, on a busy machine, that it had to give its homes up.
    pub fn was_late(&self) -> bool {
        self.members.iter().any(|member| member.world.log().contains("did not hear from this server for eight seconds"))
    }

    /// Returns the number of the server that owns the home by the database and lives.
    pub async fn owner(&self) -> Option<usize> {
        let sql = "SELECT address FROM servers JOIN homes ON owner = server_id WHERE NOT dead";
        let address = self.ask(sql).await.into_iter().next()?;
        self.members.iter().position(|member| address == format!("http://{}", member.address))
    }

    /// Returns how often the home was claimed.
    pub async fn fence(&self) -> u64 {
        self.ask("SELECT max(fence)::text FROM homes").await[0].parse().unwrap()
    }

    /// Returns the first column of the rows, which is text.
    pub async fn ask(&self, sql: &str) -> Vec<String> {
        let (client, connection) =
            tokio_postgres::connect(&self.database.url("?sslmode=disable"), NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let rows = client.query(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        let rows = rows.iter().map(|row| row.get(0)).collect();
        drop(client);
        let _ = connection.await;
        rows
    }

    /// Checks what must hold after any fault. All works of the client have ended, and its servers may run.
    pub async fn check(&self, client: &Client, name: &str) {
        self.check_all(&[client], name).await;
    }

    /// Like [`Cluster::check`], for the clients of several conversations. Returns all works of these.
    pub async fn check_all(&self, clients: &[&Client], name: &str) -> Vec<Value> {
        let falls = "SELECT home_no::text FROM (SELECT home_no, fence < lag(fence) OVER (PARTITION BY home_id ORDER BY home_no) AS falls FROM watch.facts) AS all_facts WHERE falls";
        assert_eq!(self.ask(falls).await, Vec::<String>::new(), "a stale server wrote these");
        let effects = self.effects();
        let once: BTreeSet<_> = effects.iter().collect();
        assert_eq!(once.len(), effects.len(), "a call ran twice: {effects:?}");
        let home = exported(&self.members[0].world, name).await;
        let mut works = Vec::new();
        for client in clients {
            let path = format!("{}sessions/{}.json", client.home, client.session);
            works.extend(client.check(text_of(&home, &path).unwrap_or_else(|| panic!("there is no {path}"))));
        }
        for member in &self.members {
            assert!(!member.world.log().contains(SECRET), "the secret of the cluster is in a log");
        }
        works
    }
}

async fn member(
    world: World,
    (database, config, network): (&TestDatabase, &str, Network),
    model: Option<String>,
) -> Member {
    let to_database = FaultProxy::to(([127, 0, 0, 1], database.port).into()).await;
    let port = lasting_port();
    let own = ([127, 0, 0, 1], port).into();
    let peers = match network {
        Network::Direct => None,
        Network::Proxied => Some(FaultProxy::to(own).await),
    };
    let address = peers.as_ref().map_or(own, |peers| peers.address);
    let through = format!(":{}/", to_database.address.port());
    let url = database.url("?sslmode=disable").replace(&format!(":{}/", database.port), &through);
    let world = world.with_env("DATABASE_URL", &url).with_env("CLUSTER_SECRET", SECRET);
    let world = model.iter().fold(world, |world, model| world.with_env("OPENAI_BASE_URL", model));
    wipe(&world);
    let cluster = format!("address: 'http://{address}', cluster_secret: '${{CLUSTER_SECRET}}'");
    let store = format!("store: {{postgres: '${{DATABASE_URL}}', {cluster}}}\n");
    world.write("config.yml", format!("{config}port: {port}\n{store}"));
    Member { world, database: to_database, address, peers }
}

/// What a client asks: a server, or an address at which one of them answers or none.
pub trait Door {
    fn address(&self) -> SocketAddr;

    /// Returns the bytes of a request.
    fn bytes(&self, request: (&str, &str), headers: &[(&str, &str)], body: &[u8]) -> Vec<u8>;

    /// Whether the client shall try again.
    fn is_temporary(&self, answer: &Answer) -> bool {
        is_temporary(answer)
    }
}

impl Door for Server<'_> {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn bytes(&self, (method, path): (&str, &str), headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        self.request(method, path, headers, body)
    }
}

/// A client that goes on with whichever server answers, as a page does, and folds every frame that it gets.
#[derive(Clone)]
pub struct Client {
    session: String,
    /// The folder of the person's home in an export: empty, or with a slash at its end.
    home: String,
    /// The value of the header `Authorization`, for one of several people.
    authorization: Option<String>,
    /// The keys of the messages that a server has acknowledged.
    pub acknowledged: Vec<String>,
    /// The texts of each work, by the parts of its answer.
    texts: BTreeMap<String, Vec<String>>,
    work: String,
    after: Option<String>,
}

impl Default for Client {
    fn default() -> Self {
        Self::of("s")
    }
}

impl Client {
    /// Returns a client of this session.
    pub fn of(session: &str) -> Self {
        Self {
            session: session.to_owned(),
            home: String::new(),
            authorization: None,
            acknowledged: Vec::new(),
            texts: BTreeMap::new(),
            work: String::new(),
            after: None,
        }
    }

    /// Returns the same for one of several people.
    pub fn signed_in(self, person: &Person) -> Self {
        let home = format!("people/{}/", person.id);
        Self { home, authorization: Some(format!("Bearer {}", person.token)), ..self }
    }

    /// Checks the file of the session against what this client was told. Returns its works.
    fn check(&self, file: &str) -> Vec<Value> {
        let file: Value = serde_json::from_str(file).unwrap();
        let messages = file["messages"].as_array().unwrap();
        let of_role = |role: &'static str| messages.iter().filter(move |message| message["role"] == role);
        let keys: Vec<_> = of_role("user").map(|message| message["id"].as_str().unwrap()).collect();
        assert_eq!(keys, self.acknowledged, "every acknowledged message, once, in order");
        let works = file["works"].as_array().unwrap();
        assert!(works.iter().all(|work| work["outcome"]["stop_reason"].is_string()), "a work has no end: {works:#?}");
        for message in messages {
            let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
            let ids: BTreeSet<_> = calls.iter().map(|call| call["id"].to_string()).collect();
            assert_eq!(ids.len(), calls.len(), "{message}");
            assert!(calls.iter().all(|call| call["status"] != "running"), "{message}");
        }
        for (work, seen) in &self.texts {
            let of_work = of_role("assistant").filter(|message| message["work_id"] == work.as_str());
            let texts: Vec<_> = of_work.filter_map(|message| message["content"].as_str()).collect();
            let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
            let seen: Vec<_> = seen.iter().filter(|text| !text.is_empty()).collect();
            assert_eq!(texts, seen, "what a client read is what is stored");
        }
        works.clone()
    }

    /// Returns the answer of a server that is there.
    async fn ask(
        &self,
        door: &impl Door,
        request: (&str, &str),
        (headers, body): (&[(&str, &str)], &[u8]),
    ) -> Option<Incoming> {
        let signed_in = self.authorization.iter().map(|value| ("Authorization", value.as_str()));
        let headers: Vec<_> = headers.iter().copied().chain(signed_in).collect();
        open_if_there(door.address(), &door.bytes(request, &headers, body)).await.ok()
    }

    /// Returns the history, if a server answers with all of it.
    pub async fn history(&self, door: &impl Door) -> Option<Value> {
        let path = format!("/api/sessions/{}/history", self.session);
        let answer = self.ask(door, ("GET", &path), (&[], b"")).await?.whole().await;
        if answer.status() == 200 { serde_json::from_slice(&answer.body).ok() } else { None }
    }

    /// Sends a message until a server acknowledges it, and returns the acknowledgement.
    pub async fn say(&mut self, servers: &[&impl Door], text: &str) -> Value {
        let key = format!("{}-{}", self.session, self.acknowledged.len());
        let path = format!("/api/sessions/{}/messages", self.session);
        let body = json!({"message": text, "idempotency_key": key}).to_string();
        let headers = [("Content-Type", "application/json"), ("Idempotency-Key", key.as_str())];
        let mut said = Value::Null;
        let mut tries = 0;
        eventually("a server acknowledges the message", async || {
            let server = servers[tries % servers.len()];
            tries += 1;
            let Some(answer) = self.ask(server, ("POST", &path), (&headers, body.as_bytes())).await else {
                return false;
            };
            let answer = answer.whole().await;
            if answer.status() != 202 {
                assert!(server.is_temporary(&answer), "{}: {}", answer.status(), answer.text());
                return false;
            }
            // An answer that was cut off says nothing: the key makes the same message of both.
            let Ok(answer) = serde_json::from_slice(&answer.body) else { return false };
            said = answer;
            true
        })
        .await;
        self.acknowledged.push(key);
        if self.after.is_none() {
            self.after = said["after"].as_str().map(str::to_owned);
        }
        said
    }

    /// Reads up to `frames` frames of the work under way from one server.
    pub async fn read(&mut self, server: &impl Door, frames: u64) {
        let Some(mut stream) = self.stream(server).await else { return };
        for _ in 0..frames {
            let Some(frame) = stream.next().await else { return };
            if !self.fold(server, &frame.event, (&frame.data, frame.id)).await {
                return;
            }
        }
    }

    /// Reads on until the last message is answered, from whichever server has something to tell.
    pub async fn read_to_the_end(&mut self, servers: &[&impl Door]) -> Duration {
        let since = Instant::now();
        let mut is_over = false;
        for at in 0.. {
            assert!(since.elapsed() < LONG, "the answer is not complete");
            let server = servers[at % servers.len()];
            let mut is_whole = false;
            if let Some(mut stream) = self.stream(server).await {
                is_whole = true;
                while let Some(frame) = stream.next().await {
                    if !self.fold(server, &frame.event, (&frame.data, frame.id)).await {
                        is_whole = false;
                        break;
                    }
                }
            }
            // A stream can be cut off or refused while the answer is completed: only one that was opened after that has the rest.
            if is_over && is_whole {
                return since.elapsed();
            }
            // A server that does not run says nothing about that.
            if let Some(history) = self.history(server).await {
                is_over = history["running"].is_null() && self.is_at(&history);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        unreachable!("the loop ends by itself")
    }

    /// Whether the history has the last message that was acknowledged.
    fn is_at(&self, history: &Value) -> bool {
        let messages = history["messages"].as_array().cloned().unwrap_or_default();
        let last = messages.iter().rfind(|message| message["role"] == "user");
        last.is_some_and(|last| last["id"].as_str() == self.acknowledged.last().map(String::as_str))
    }

    /// Follows the session from where it has read, if the server has it.
    pub async fn stream(&self, server: &impl Door) -> Option<Incoming> {
        let after = self.after.as_deref().unwrap_or_default();
        let path = format!("/api/sessions/{}/events?until=settled&after={after}", self.session);
        let stream = self.ask(server, ("GET", &path), (&[], b"")).await?;
        if stream.head.status == 200 {
            return Some(stream);
        }
        let answer = stream.whole().await;
        assert!(answer.status() == 503 || server.is_temporary(&answer), "{}: {}", answer.status(), answer.text());
        None
    }

    /// Takes a frame in. Returns false if the stream has to be opened again.
    async fn fold(&mut self, server: &impl Door, event: &str, (data, id): (&Value, Option<String>)) -> bool {
        if event == "gap" {
            self.reload(server).await;
            return false;
        }
        if id.is_some() {
            self.after = id;
        }
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        match event {
            "user_message" => {
                self.work = text("work_id");
                self.texts.insert(self.work.clone(), vec![String::new()]);
            }
            "token" => self.part().push_str(&text("content")),
            "new_response" => self.texts.entry(self.work.clone()).or_default().push(String::new()),
            _ => {}
        }
        true
    }

    fn part(&mut self) -> &mut String {
        let parts = self.texts.entry(self.work.clone()).or_default();
        if parts.is_empty() {
            parts.push(String::new());
        }
        parts.last_mut().expect("filled just above")
    }

    /// Reads everything again, as after a gap.
    async fn reload(&mut self, server: &impl Door) {
        let Some(history) = self.history(server).await else { return };
        self.texts.clear();
        for message in history["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant") {
            let work = message["work_id"].as_str().unwrap_or_default().to_owned();
            let text = message["content"].as_str().unwrap_or_default().to_owned();
            self.texts.entry(work.clone()).or_default().push(text);
            self.work = work;
        }
        if let Some(running) = history["running"]["work_id"].as_str() {
            running.clone_into(&mut self.work);
        }
        self.after = history["last_event_id"].as_str().map(str::to_owned);
    }
}

/// Whether the tests shall take their time: `make cluster-faults`.
pub fn is_long() -> bool {
    std::env::var_os("MINICLAW_KILLS").is_some()
}

/// Returns a number that the environment sets, or one for the long or the short form of a test.
pub fn number(name: &str, (short, long): (u64, u64)) -> u64 {
    let set = std::env::var(name).ok().and_then(|number| number.parse().ok());
    set.unwrap_or(if is_long() { long } else { short })
}

/// Whether a refusal says that the client shall try again.
pub fn is_temporary(answer: &Answer) -> bool {
    answer.status() == 503 && answer.head.header("retry-after").is_some()
}
