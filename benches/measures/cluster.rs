//! Homes in a database, and several servers on it: what a commit, a question, a hop, a claim and a takeover cost.

use std::fs;
use std::io::{self, Error};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use miniclaw::domain::{AccountId, Event, Fact, HomeId, SessionId, WorkId};
use miniclaw::store::{
    CacheUse, Claimant, DatabaseAddress, Durability, Home, HomeDatabase, LossPolicy, OwnedHome, Replica, SessionWriter,
};
use secrecy::SecretString;
use serde_json::json;
use tokio::time::sleep;
use tokio_postgres::Client;
use url::Url;

use super::streams::{Question, Streams, phased_model};
use super::turn::{self, OF_SERVER};
use super::{Bench, fast_model, people, takeovers, titled_session};
use crate::kit::http::Connection;
use crate::kit::numbers::{Samples, ms};
use crate::kit::postgres::{Postgres, free_port};
use crate::kit::report::Report;
use crate::kit::seed;
use crate::kit::server::{Member, Server, configure_more, program, starter_home};

const SECRET: &str = "bench-4f1c8e5d2a7b9036c4d8e1f2a5b7";
/// Homes that store facts at the same time.
const HOMES: usize = 16;
const BATCH: usize = 20;
/// What a home has that is claimed.
const SESSIONS: usize = 50;
const FILES: usize = 1_000;
const FILE: usize = 20 << 10;
/// Streams through a hop.
const STREAMS: usize = 20;
/// Streams of which the cost of a token is measured.
const WRITERS: usize = 100;
/// How long it is waited for a home.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("Homes in PostgreSQL on this machine, and several servers");
    let Some(postgres) = Postgres::start().await? else {
        println!("  skipped: there is no PostgreSQL (scripts/install-tools.sh postgres)");
        return Ok(());
    };
    let answers = fast_model(1).await?;
    let place = Place { folder: bench.folder("cluster"), url: postgres.url(), lines: "" };
    place.home("first", &answers.base_url)?.run(&["db", "migrate"])?;
    let of_people = postgres.database("people").await?;
    let of_people = Place { folder: bench.folder("cluster-people"), url: of_people, lines: "auth_mode: multi\n" };
    people::measure_in_database(&of_people.home("first", &answers.base_url)?, report).await?;
    facts(bench, (&postgres, &place), report).await?;
    questions(bench, &place, report).await?;
    hops(bench, &place, report).await?;
    claims(bench, &place, report).await?;
    tokens(bench, (&postgres, &place), report).await?;
    takeovers::measure(bench, (&postgres, &place), report).await?;
    report.show();
    Ok(())
}

/// Where the members' folders are, and their database.
pub(super) struct Place {
    folder: PathBuf,
    url: String,
    /// More lines of their config.yml.
    lines: &'static str,
}

impl Place {
    /// Makes a member's folder, or configures it anew.
    pub(super) fn home(&self, name: &str, model: &Url) -> io::Result<Folder> {
        let (path, port) = (self.folder.join(name), free_port()?);
        fs::create_dir_all(&path)?;
        let cluster = format!("address: 'http://127.0.0.1:{port}', cluster_secret: '{SECRET}'");
        let lines = format!("store: {{postgres: '${{DATABASE_URL}}', {cluster}}}\n{}", self.lines);
        configure_more(&path, model, &lines)?;
        Ok(Folder { path, port, url: self.url.clone() })
    }
}

/// The folder of a member that may run or not.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    port: u16,
    /// The address of its database.
    pub(super) url: String,
}

impl Folder {
    pub(super) fn start(&self) -> io::Result<Server> {
        Server::start_member(&self.path, Member { port: self.port, database: &self.url })
    }

    pub(super) fn run(&self, arguments: &[&str]) -> io::Result<()> {
        let mut command = program();
        command.args(arguments).arg("--home").arg(&self.path).env("DATABASE_URL", &self.url).stdout(Stdio::null());
        let output = command.stderr(Stdio::piped()).output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(Error::other(format!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr)))),
        }
    }

    /// Moves the copy to an empty folder. Were it deleted, a new one would be measured with ext4's search for inodes that were not
    /// in use a moment ago, which takes longer than all the rest.
    fn move_copy(&self, to: &Path) -> io::Result<()> {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_name() != "config.yml" {
                fs::rename(entry.path(), to.join(entry.file_name()))?;
            }
        }
        Ok(())
    }
}

/// Commits of the bare database beside facts through the store.
async fn facts(bench: &Bench, (postgres, place): (&Postgres, &Place), report: &mut Report) -> io::Result<()> {
    let n = bench.times(400);
    let client = postgres.connect().await?;
    client.batch_execute("CREATE TABLE bench_commits (body text)").await.map_err(Error::other)?;
    let (mut bare, body) = (Samples::default(), "x".repeat(400));
    for _ in 0..n {
        let began = Instant::now();
        let insert = "INSERT INTO bench_commits VALUES ($1)";
        client.execute_typed(insert, &[(&body, tokio_postgres::types::Type::TEXT)]).await.map_err(Error::other)?;
        bare.push_ms(began.elapsed());
    }
    client.batch_execute("DROP TABLE bench_commits").await.map_err(Error::other)?;
    let address = DatabaseAddress::parse(&SecretString::from(place.url.clone())).map_err(Error::other)?;
    let database = HomeDatabase::new(address, LossPolicy::Refuse);
    let mut homes = Vec::new();
    for number in 0..HOMES {
        homes.push(Writer::open(&database, (&place.folder, number)).await?);
    }
    let mut own = Samples::default();
    for _ in 0..n {
        let began = Instant::now();
        homes[0].append(1).await?;
        own.push_ms(began.elapsed());
    }
    let note = format!("n = {n}; an insert of the bare database takes {:.2}, ± {:.2}", bare.p50(), own.spread());
    report.figure("a fact committed, p50", own.p50(), "ms").at_most(bare.p50() + 0.5).note(note);
    let note = format!("the bare database's {:.2}", bare.p99());
    report.figure("the same, p99", own.p99(), "ms").at_most(bare.p99() + 3.0).note(note);
    for (size, target, name) in [(1, 4_000.0, "one by one"), (BATCH, 30_000.0, "in batches of 20")] {
        let rounds = bench.times(if size == 1 { 200 } else { 60 });
        let began = Instant::now();
        let mut tasks = Vec::new();
        for mut home in homes.drain(..) {
            tasks.push(tokio::spawn(async move {
                for _ in 0..rounds {
                    home.append(size).await?;
                }
                io::Result::Ok(home)
            }));
        }
        for task in tasks {
            homes.push(task.await.map_err(Error::other)??);
        }
        let each_second = (HOMES * rounds * size) as f64 / began.elapsed().as_secs_f64();
        let note = format!("{HOMES} homes at once, with the journals of their copies");
        report.figure(format!("facts a second, {name}"), each_second, "").at_least(target).note(note);
    }
    for home in homes {
        home.owned.log.release(home.owned.claim).await.map_err(Error::other)?;
    }
    Ok(())
}

/// A home with a session to which facts are appended.
struct Writer {
    owned: OwnedHome,
    writer: SessionWriter,
    seq: u64,
}

impl Writer {
    async fn open(database: &HomeDatabase, (folder, number): (&Path, usize)) -> io::Result<Self> {
        let account = AccountId::parse(&format!("bench{number}"));
        let id = HomeId::Person(account.ok_or_else(|| Error::other("no account"))?);
        let folder = folder.join(format!("facts-{number}"));
        fs::create_dir_all(&folder)?;
        let opened = Replica::open((database, &id), &folder, CacheUse::Serve, Claimant::start()).await;
        let home = Home::open(&folder).map_err(Error::other)?;
        home.keep_in(opened.map_err(Error::other)?);
        let owned = OwnedHome::claim(home).await.map_err(Error::other)?.0;
        let writer = owned.log.writer(owned.claim, &SessionId::parse("bench").map_err(Error::other)?);
        Ok(Self { owned, writer, seq: 0 })
    }

    async fn append(&mut self, count: usize) -> io::Result<()> {
        let text = "ten tokens of text, as they come in ".repeat(8);
        let facts: Vec<Fact> = (0..count as u64)
            .map(|at| {
                let event = Event::Text { work_id: WorkId::new("w"), at: 0, text: text.clone() };
                Fact { seq: self.seq + at + 1, at: 1.7e9, event }
            })
            .collect();
        self.seq += count as u64;
        self.writer.append(&facts, Durability::Synced).await.map_err(Error::other)
    }
}

/// From the question to the first token: of a home in files, of one in the database, and over another server.
async fn questions(bench: &Bench, place: &Place, report: &mut Report) -> io::Result<()> {
    let model = fast_model(1).await?;
    let files = bench.folder("cluster-files");
    starter_home(&files, &model.base_url)?;
    let of_files = Server::start(&files)?;
    let n = bench.times(200);
    let in_files = first_tokens(&mut of_files.connect().await?, n).await?;
    drop(of_files);
    let (one, other) = (place.home("first", &model.base_url)?, place.home("second", &model.base_url)?);
    let (owner, other) = (one.start()?, other.start()?);
    let mut straight = owner.connect().await?;
    opened(&mut straight).await?;
    let own = first_tokens(&mut straight, n).await?;
    let note = format!("n = {n}, p95 {:.2}; of a home in files {:.2}", own.p95(), in_files.p50());
    report.figure("question to first token, p50", own.p50(), "ms").at_most(8.0).note(note);
    let hop = first_tokens(&mut other.connect().await?, n).await?;
    report.figure("the same over another server, p50", hop.p50(), "ms").note(format!("p95 {:.2}", hop.p95()));
    Ok(())
}

async fn first_tokens(connection: &mut Connection, n: usize) -> io::Result<Samples> {
    let (mut times, mut id) = (Samples::default(), String::new());
    for turn in 0..n + 5 {
        if turn % 10 == 0 {
            id = titled_session(connection).await?;
        }
        let body = json!({"message": "Say one word.", "session_id": id}).to_string();
        let timing = turn::ask(connection, "/api/chat", &body, OF_SERVER).await?;
        if turn >= 5 {
            times.push_ms(timing.first);
        }
    }
    Ok(times)
}

/// What passing through another server adds to a request and to a token.
async fn hops(bench: &Bench, place: &Place, report: &mut Report) -> io::Result<()> {
    let seconds = if bench.quick { 2 } else { 6 };
    let mut lateness = Vec::new();
    let mut requests = [Samples::default(), Samples::default()];
    for through in [false, true] {
        // Its gates stay open once they were opened.
        let model = phased_model(seconds).await?;
        let (one, other) = (place.home("first", &model.base_url)?, place.home("second", &model.base_url)?);
        let (owner, other) = (one.start()?, other.start()?);
        let mut straight = owner.connect().await?;
        opened(&mut straight).await?;
        let mut hop = other.connect().await?;
        opened(&mut hop).await?;
        for _ in 0..bench.times(500) {
            for (connection, samples) in [&mut straight, &mut hop].into_iter().zip(&mut requests) {
                let began = Instant::now();
                connection.get("/api/approvals").await?.json()?;
                samples.push_ms(began.elapsed());
            }
        }
        let mut questions = Vec::new();
        for stream in 0..STREAMS {
            questions.push(Question::in_session(&titled_session(&mut straight).await?, stream));
        }
        let address = if through { other.address } else { owner.address };
        lateness.push(Streams::of_server(address, questions).follow(&model, seconds).await?);
    }
    let [straight, hop] = requests;
    let note = format!("{:.2} instead of {:.2}, n = {}", hop.p50(), straight.p50(), hop.len());
    report.figure("a hop adds to a request, p50", hop.p50() - straight.p50(), "ms").at_most(1.0).note(note);
    let added = lateness[1].p50() - lateness[0].p50();
    let note = format!(
        "{STREAMS} streams, {} tokens; p99 {:.1} and {:.1} without",
        lateness[1].len(),
        lateness[1].p99(),
        lateness[0].p99()
    );
    report.figure("a hop adds to a streamed token, p50", added, "ms").at_most(0.3).note(note);
    report.figure("a token's delay through a hop, p99", lateness[1].p99(), "ms").at_most(20.0);
    Ok(())
}

/// What a token costs more than in a home in files: processor time of the server, and rows of the database.
async fn tokens(bench: &Bench, (postgres, place): (&Postgres, &Place), report: &mut Report) -> io::Result<()> {
    let seconds = if bench.quick { 2 } else { 12 };
    let database = postgres.connect().await?;
    let (mut costs, mut rows) = (Vec::new(), 0.0);
    for in_database in [false, true] {
        let model = phased_model(seconds).await?;
        let server = if in_database {
            place.home("first", &model.base_url)?.start()?
        } else {
            let files = bench.folder("cluster-tokens");
            starter_home(&files, &model.base_url)?;
            Server::start(&files)?
        };
        let mut connection = server.connect().await?;
        opened(&mut connection).await?;
        let mut questions = Vec::new();
        for stream in 0..WRITERS {
            questions.push(Question::in_session(&titled_session(&mut connection).await?, stream));
        }
        let (before, stored) = (server.cpu()?, changes(&database).await?);
        let lateness = Streams::of_server(server.address, questions).follow(&model, seconds).await?;
        costs.push(ms(server.cpu()? - before) * 1e3 / lateness.len() as f64);
        rows = (changes(&database).await? - stored) / WRITERS as f64;
    }
    let note = format!("{:.0} instead of {:.0}; {WRITERS} streams of {seconds} s", costs[1], costs[0]);
    report
        .figure("processor time that a token costs more than in files", costs[1] - costs[0], "µs")
        .at_most(2.0)
        .note(note);
    let of_question = rows_of_a_question(bench, (&database, place)).await?;
    let note = format!("{rows:.1} of an answer of {seconds} s, {of_question:.1} of one of a word");
    report
        .figure("rows that a second of an answer costs", (rows - of_question) / f64::from(seconds), "")
        .at_most(1.0)
        .note(note);
    Ok(())
}

async fn rows_of_a_question(bench: &Bench, (database, place): (&Client, &Place)) -> io::Result<f64> {
    let model = fast_model(1).await?;
    let server = place.home("first", &model.base_url)?.start()?;
    let mut connection = server.connect().await?;
    opened(&mut connection).await?;
    let (before, n) = (changes(database).await?, bench.times(50));
    for _ in 0..n {
        let id = titled_session(&mut connection).await?;
        let body = json!({"message": "Say one word.", "session_id": id}).to_string();
        turn::ask(&mut connection, "/api/chat", &body, OF_SERVER).await?;
    }
    Ok((changes(database).await? - before) / n as f64)
}

/// Returns how many facts and changes of files the database has taken.
async fn changes(database: &Client) -> io::Result<f64> {
    let counted = database.query_one("SELECT sum(last_no)::float8 FROM homes", &[]).await.map_err(Error::other)?;
    counted.try_get::<_, Option<f64>>(0).map(Option::unwrap_or_default).map_err(Error::other)
}

/// Waits until a server has joined the cluster.
async fn ready(connection: &mut Connection) -> io::Result<()> {
    let began = Instant::now();
    while connection.get("/ready").await?.status != 200 {
        if began.elapsed() > PATIENCE {
            return Err(Error::other("the server does not get ready"));
        }
        sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

/// Waits until a server answers for the home, and returns how long that took.
pub(super) async fn opened(connection: &mut Connection) -> io::Result<Duration> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let answer = connection.get("/api/sessions").await?;
        if answer.status == 200 {
            return Ok(began.elapsed());
        }
        sleep(Duration::from_millis(2)).await;
    }
    Err(Error::other("no server has the home"))
}

/// The first answer of a server that is asked for a home that nobody has.
async fn claims(bench: &Bench, place: &Place, report: &mut Report) -> io::Result<()> {
    let model = fast_model(1).await?;
    let folder = place.home("first", &model.base_url)?;
    for number in 0..SESSIONS {
        seed::write(&folder.path, &format!("seed-{number}"), &seed::session("bench", 20))?;
    }
    let knowledge = folder.path.join("knowledge/bench");
    fs::create_dir_all(&knowledge)?;
    for number in 0..FILES {
        let line = format!("note {number}: penguins do not fly, and this line is there to fill the file.\n");
        fs::write(knowledge.join(format!("{number}.md")), line.repeat(FILE / line.len()))?;
    }
    // Stores what was written while no server had the home.
    let server = folder.start()?;
    opened(&mut server.connect().await?).await?;
    drop(server);
    for (name, target, is_cold) in [("warm", 30.0, false), ("cold", 500.0, true)] {
        let (mut times, n) = (Samples::default(), bench.times(10));
        for round in 0..n {
            if is_cold {
                folder.move_copy(&place.folder.join(format!("copy-{round}")))?;
            }
            let server = folder.start()?;
            let mut connection = server.connect().await?;
            ready(&mut connection).await?;
            times.push_ms(opened(&mut connection).await?);
        }
        let note =
            format!("n = {n}, p95 {:.0}; {SESSIONS} sessions, {FILES} files, {} MB", times.p95(), (FILES * FILE) >> 20);
        report.figure(format!("first answer of a {name} home, p50"), times.p50(), "ms").at_most(target).note(note);
    }
    fs::remove_dir_all(knowledge)
}
