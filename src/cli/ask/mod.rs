//! `miniclaw ask`: one question, for scripts. The answer goes to standard output, everything else to standard error, and the
//! exit code says how it ended. It is a client of the running server, or of one that it starts for the time of the answer.

mod answer;
pub mod client;
pub mod host;
pub mod mcp_messages;
mod question;
mod schema;

use std::cell::Cell;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use serde_json::json;
use url::Url;

use self::answer::{AnswerEnd, Output};
use self::client::Client;
use self::host::Host;
use self::question::Question;
use self::schema::AnswerSchema;
use super::serve::stop_signal;
use super::{home_dir, log_to_stderr};
use crate::clock;

/// The answer was cut off: by a limit, by its length, by the provider's refusal, or by somebody who stopped it.
const ENDED_EARLY: u8 = 3;
/// The answer does not match the schema.
const NO_MATCH: u8 = 4;
/// As of `timeout(1)`.
const TIMED_OUT: u8 = 124;
/// As of a shell, after Ctrl-C.
const INTERRUPTED: u8 = 130;
/// How often the model is told what is wrong with its JSON.
const CORRECTIONS: usize = 2;

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 answered · 1 failed · 2 bad arguments · 3 the answer was cut off · 4 the answer does not \
    match the schema · 78 bad configuration · 124 --timeout is over · 130 interrupted"
)]
pub struct AskArguments {
    /// The question. If it is absent or `-`, standard input is the question; otherwise a file or pipe there is attached to it.
    question: Option<String>,
    /// Go on with this session; an unknown id begins one. If absent, a new session begins.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Answer with one JSON value that matches the JSON Schema in this file.
    #[arg(long, value_name = "FILE")]
    json_schema: Option<PathBuf>,
    /// What runs without a person: `never` denies each call that needs approval; `sandboxed` also runs commands in the
    /// sandbox that have no network, and denies the others.
    #[arg(long, value_enum, default_value_t = Approve::Never)]
    approve: Approve,
    /// Stop the answer after this time.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// The home: that of the running server, or of one that runs for the time of the answer.
    #[arg(long, env = "MINICLAW_HOME")]
    home: Option<PathBuf>,
    /// The address of a running server instead of a home. MINICLAW_TOKEN is its token, or an access token of yours.
    #[arg(long, value_name = "URL", conflicts_with = "home")]
    server: Option<Url>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Approve {
    Never,
    Sandboxed,
}

/// Runs the command.
pub fn run(arguments: &AskArguments) -> anyhow::Result<ExitCode> {
    let schema = arguments.json_schema.as_deref().map(AnswerSchema::read).transpose()?;
    let question = Question::read(arguments.question.as_deref())?;
    log_to_stderr("error");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let asked = runtime.block_on(async {
        let host = match &arguments.server {
            Some(url) => Host::at(url)?,
            None => Host::of_home(&home_dir(arguments.home.clone())).await?,
        };
        let asked = Asking { client: &host.client, arguments, schema, is_named: Cell::new(false) }
            .until_stopped(question)
            .await;
        host.stop().await;
        asked
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    asked
}

/// One question and what belongs to it.
struct Asking<'a> {
    client: &'a Client,
    arguments: &'a AskArguments,
    schema: Option<AnswerSchema>,
    /// Whether the person knows the new session.
    is_named: Cell<bool>,
}

impl Asking<'_> {
    /// Asks until there is an answer, the person stops it or its time is over.
    async fn until_stopped(&self, question: Question) -> anyhow::Result<ExitCode> {
        let session = self.arguments.session.clone().unwrap_or_else(clock::new_id);
        let limit = self.arguments.timeout.map_or(Duration::MAX, Duration::from_secs);
        let stopped = stop_signal()?;
        tokio::select! {
            done = self.ask(&session, question) => done,
            () = stopped => self.stop(&session, INTERRUPTED, "interrupted").await,
            () = tokio::time::sleep(limit) => self.stop(&session, TIMED_OUT, "the time is over; the answer was stopped").await,
        }
    }

    async fn stop(&self, session: &str, code: u8, why: &str) -> anyhow::Result<ExitCode> {
        // It may have ended just now.
        let _ = self.client.post(&format!("api/sessions/{session}/interrupt"), json!({})).await;
        eprintln!("miniclaw: {why}");
        Ok(ExitCode::from(code))
    }

    async fn ask(&self, session: &str, mut question: Question) -> anyhow::Result<ExitCode> {
        let Some(schema) = &self.schema else {
            let (_, end) = self.answer(session, &question, Output::to_stdout()).await?;
            return exit_code(&end);
        };
        question.text = schema.asked_for(&question.text);
        for tries_left in (0..=CORRECTIONS).rev() {
            let (text, end) = self.answer(session, &question, Output::kept()).await?;
            if !matches!(end, AnswerEnd::Done) {
                return exit_code(&end);
            }
            match schema.value_in(&text) {
                Ok(value) => {
                    say!("{value}");
                    return Ok(ExitCode::SUCCESS);
                }
                Err(wrong) if tries_left > 0 => question = Question::correcting(&wrong),
                Err(wrong) => {
                    eprintln!("miniclaw: the answer does not match the schema: {wrong}");
                    eprintln!("{}", crate::domain::visible::visible(&text));
                }
            }
        }
        Ok(ExitCode::from(NO_MATCH))
    }

    async fn answer(&self, session: &str, question: &Question, output: Output) -> anyhow::Result<(String, AnswerEnd)> {
        let mut request = question.request(session);
        if self.arguments.approve == Approve::Sandboxed {
            // For the work of this message alone, so that nothing is left of it, however this process ends.
            request["permission_mode"] = json!("sandboxed");
            request["confirm_loosening"] = json!(true);
        }
        let frames = self.client.chat(request).await.context("the question was not taken")?;
        if self.arguments.session.is_none() && !self.is_named.replace(true) {
            eprintln!("miniclaw: session {session}");
        }
        answer::follow(self.client, session, frames, output).await
    }
}

fn exit_code(end: &AnswerEnd) -> anyhow::Result<ExitCode> {
    match end {
        AnswerEnd::Done => Ok(ExitCode::SUCCESS),
        AnswerEnd::Early { reason } => {
            eprintln!("miniclaw: the answer was cut off: {reason}");
            Ok(ExitCode::from(ENDED_EARLY))
        }
        AnswerEnd::Failed { error } => Err(anyhow!("{error}")),
    }
}
