//! Several people on one server: signing in, what an idle person takes, and a conversation of each at the same time.

use std::fs;
use std::io::{self, Error};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::sleep;

use super::cluster::Folder;
use super::streams::{Question, Streams, phased_model, straight};
use super::{Bench, titled_session};
use crate::kit::http::Connection;
use crate::kit::numbers::{Samples, ms};
use crate::kit::report::Report;
use crate::kit::server::{Server, configure_more, program};

const PEOPLE: usize = 50;
/// Number of sign-ins at once.
const AT_ONCE: usize = 200;
const SECONDS: u32 = 12;
const JWT_SECRET: &str = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";
const PASSWORD: &str = "correct horse battery";

pub async fn measure(bench: &Bench, report: &mut Report) -> io::Result<()> {
    report.section("50 people on one server");
    let seconds = if bench.quick { 4 } else { SECONDS };
    let baseline = straight(PEOPLE, seconds).await?;
    let home = bench.folder("people");
    let model = phased_model(seconds).await?;
    if !program().arg("init").arg(&home).stdout(std::process::Stdio::null()).status()?.success() {
        return Err(Error::other("init failed"));
    }
    configure_more(&home, &model.base_url, "auth_mode: multi\n")?;
    register_all(Server::start_for_people(&home, JWT_SECRET)?).await?;

    // A server that has just started has opened nobody's home.
    let server = Server::start_for_people(&home, JWT_SECRET)?;
    let (mut tokens, mut times) = (Vec::new(), Samples::default());
    let mut connection = server.connect().await?;
    for person in 0..PEOPLE {
        let began = Instant::now();
        tokens.push(signed_in(&mut connection, person).await?);
        times.push_ms(began.elapsed());
    }
    let note = format!("n = {}, p95 {:.0}", times.len(), times.p95());
    report.figure("signing in, p50", times.p50(), "ms").at_most(150.0).note(note);

    let (questions, memory) = idle(&server, &tokens).await?;
    report.figure("resident for a person who is signed in and idle", memory.all, "MB").at_most(4.0).note(memory.note());

    let all = tokio::spawn(sign_ins_at_once(server.address));
    let streams = Streams::of_server(server.address, questions);
    let lateness = streams.follow(&model, seconds).await?;
    let took = all.await.map_err(Error::other)??;
    let note = format!("{} tokens; straight from the model {:.1}", lateness.len(), baseline.p99());
    let figure = "a token's delay beyond its schedule while 200 sign in, p99";
    report.figure(figure, lateness.p99(), "ms").at_most(20.0).note(note);
    report.figure("the same, p50", lateness.p50(), "ms");
    report.figure("200 sign-ins at once, until the last is done", ms(took), "ms");
    report.show();
    Ok(())
}

/// Measures what a person takes who is signed in and idle, and whose home is in a database.
pub(super) async fn measure_in_database(member: &Folder, report: &mut Report) -> io::Result<()> {
    fs::write(member.path.join(".env"), format!("MINICLAW_JWT_SECRET={JWT_SECRET}\n"))?;
    member.run(&["db", "migrate"])?;
    register_all(member.start()?).await?;
    let server = member.start()?;
    let (mut tokens, mut connection) = (Vec::new(), server.connect().await?);
    for person in 0..PEOPLE {
        tokens.push(signed_in(&mut connection, person).await?);
    }
    let (_, memory) = idle(&server, &tokens).await?;
    report.figure("resident for a person who is signed in and idle", memory.all, "MB").at_most(4.0).note(memory.note());
    Ok(())
}

/// Megabytes of one person.
struct Memory {
    all: f64,
    /// Of it, what is not file pages.
    own: f64,
}

impl Memory {
    fn note(&self) -> String {
        format!("of it {:.2} not file pages; one empty conversation each", self.own)
    }
}

/// Opens the home of everybody, with a conversation. Returns the questions for these, and what a person takes.
async fn idle(server: &Server, tokens: &[String]) -> io::Result<(Vec<Question>, Memory)> {
    let before = server.memory()?;
    let mut questions = Vec::new();
    for (person, token) in tokens.iter().enumerate() {
        let mut connection = server.connect().await?.signed_in(token);
        connection.get("/api/conversations").await?.json()?;
        let id = titled_session(&mut connection).await?;
        questions.push(Question { token: Some(token.clone()), ..Question::in_session(&id, person) });
    }
    let after = server.memory()?;
    let each = |before: f64, after: f64| (after - before) / PEOPLE as f64;
    Ok((questions, Memory { all: each(before.0, after.0), own: each(before.1, after.1) }))
}

/// Registers everybody by invitation: only some may register by themselves from one address.
async fn register_all(mut server: Server) -> io::Result<()> {
    let setup_code = server.setup_code()?;
    let mut connection = server.connect().await?;
    let account = |person| json!({"username": name(person), "password": PASSWORD});
    let mut first = account(0);
    first["setup_code"] = json!(setup_code);
    connection.post("/api/auth/register", &first).await?.json()?;
    let token = signed_in(&mut connection, 0).await?;
    let mut admin = server.connect().await?.signed_in(&token);
    for person in 1..PEOPLE {
        let invitation = admin.post("/api/admin/invitations", &json!({})).await?.json()?;
        let mut account = account(person);
        account["invitation"] = invitation["data"]["code"].clone();
        connection.post("/api/auth/register", &account).await?.json()?;
    }
    Ok(())
}

fn name(person: usize) -> String {
    format!("person{person}")
}

async fn signed_in(connection: &mut Connection, person: usize) -> io::Result<String> {
    let answer = connection.post("/api/auth/login", &json!({"username": name(person), "password": PASSWORD})).await?;
    let token = answer.json()?["data"]["token"].as_str().map(str::to_owned);
    token.ok_or_else(|| Error::other("a sign-in without a token"))
}

/// Signs in many times at once, soon after the streams have begun, and returns how long that took.
async fn sign_ins_at_once(server: SocketAddr) -> io::Result<Duration> {
    sleep(Duration::from_secs(4)).await;
    let began = Instant::now();
    let mut tasks = Vec::new();
    for number in 0..AT_ONCE {
        let mut connection = Connection::open(server).await?;
        tasks.push(tokio::spawn(async move { signed_in(&mut connection, number % PEOPLE).await }));
    }
    for task in tasks {
        task.await.map_err(Error::other)??;
    }
    Ok(began.elapsed())
}
