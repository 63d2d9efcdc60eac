//! The two eras of MCP. Since 2026-07-28 there is no handshake, and each request says its revision; before, a connection began
//! with `initialize`.
//!
//! A program is asked for `server/discover` first. Whatever else it answers, and if it is silent or dies, a new process gets
//! `initialize`: programs of the older era may be unusable after a request that they do not know. One that was silent and then
//! refuses `initialize` only starts slowly, so a third process is asked with more patience. The era that worked is remembered, so that a program is
//! normally started once.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, RequestError, RequestLimits, STOPPED};
use super::elicitation;
use super::link::Link;
use super::message::client_info;
use crate::tools::LiveOutput;

/// How long a program of an unknown era has for `server/discover`.
const PROBE: Duration = Duration::from_secs(5);
/// How long a program has for its first answer, if it is known to give one.
const START: Duration = Duration::from_secs(60);
/// The code of the error that a server does not speak the revision of a request.
const UNSUPPORTED: i64 = -32022;
const MODERN: &str = "2026-07-28";
/// Revisions of the older era that this client speaks. The first one is asked for.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    Modern,
    Legacy,
}

impl Era {
    pub fn revision(self) -> &'static str {
        match self {
            Era::Modern => MODERN,
            Era::Legacy => LEGACY[0],
        }
    }
}

/// Why a server is not of an era.
pub struct OtherEra {
    /// A sentence, for the case that it is of no other one either.
    pub why: String,
    /// Whether it has answered; otherwise it was silent, or has ended.
    has_answered: bool,
}

impl OtherEra {
    fn answered(why: String) -> Self {
        Self { why, has_answered: true }
    }
}

impl From<RequestError> for OtherEra {
    fn from(error: RequestError) -> Self {
        Self { why: error.to_string(), has_answered: matches!(error, RequestError::Refused(_)) }
    }
}

/// Asks whether the server is of the modern era.
///
/// # Errors
/// Returns why it is not.
pub async fn discover(link: &Link, within: Duration) -> Result<(), OtherEra> {
    let asked = || ask(link, ("server/discover", json!({})), within);
    let answered = match asked().await {
        // A server that refuses a revision and names the same one wants it to be chosen from its list.
        Err(RequestError::Refused(error)) if error.code == UNSUPPORTED && names_modern(&error.data["supported"]) => {
            asked().await
        }
        answered => answered,
    };
    let result = answered?;
    if !names_modern(&result["supportedVersions"]) {
        return Err(OtherEra::answered("it does not speak 2026-07-28".to_owned()));
    }
    link.note_capabilities(&result["capabilities"]);
    Ok(())
}

fn names_modern(versions: &Value) -> bool {
    versions.as_array().is_some_and(|versions| versions.iter().any(|version| version == MODERN))
}

/// Begins a connection of the older era.
///
/// # Errors
/// Returns why it cannot: the server refuses, is silent, or speaks a revision that is not known.
pub async fn initialize(link: &Link) -> Result<(), OtherEra> {
    let capabilities = elicitation::capability();
    let params =
        json!({"protocolVersion": Era::Legacy.revision(), "capabilities": capabilities, "clientInfo": client_info()});
    let result = ask(link, ("initialize", params), START).await?;
    let version = result["protocolVersion"].as_str().unwrap_or_default();
    if !LEGACY.contains(&version) {
        let version: String = version.chars().take(20).collect();
        return Err(OtherEra::answered(format!("it speaks the revision {version:?}, which is not known here")));
    }
    link.note_capabilities(&result["capabilities"]);
    link.notify("notifications/initialized", json!({})).await;
    Ok(())
}

async fn ask(link: &Link, request: (&str, Value), within: Duration) -> Result<Value, RequestError> {
    let limits = RequestLimits { silence: within, total: within };
    link.request(request, &limits, (&CancellationToken::new(), &LiveOutput::default())).await
}

/// Starts a program and finds out its era.
///
/// # Errors
/// Returns a sentence if it does not start, or answers in neither era.
pub async fn connect<'a>(
    start: impl Fn(Era) -> BoxFuture<'a, Result<Connection, String>>,
    remembered: Option<Era>,
) -> Result<Link, String> {
    let mut tries = match remembered {
        Some(Era::Legacy) => vec![(Era::Legacy, START), (Era::Modern, PROBE)],
        Some(Era::Modern) => vec![(Era::Modern, START), (Era::Legacy, START)],
        None => vec![(Era::Modern, PROBE), (Era::Legacy, START)],
    };
    let mut refused: Vec<OtherEra> = Vec::new();
    while let Some(&(era, within)) = tries.get(refused.len()) {
        let link = Link::Program(start(era).await?);
        let answered = match era {
            Era::Modern => discover(&link, within).await,
            Era::Legacy => initialize(&link).await,
        };
        let Err(other) = answered else { return Ok(link) };
        link.closed().await;
        // What the program wrote says more than that it did not answer.
        let ended = match &link {
            Link::Program(connection) if era == Era::Legacy => connection.ended().filter(|ended| ended != STOPPED),
            Link::Program(_) | Link::Remote(_) => None,
        };
        if remembered.is_none()
            && era == Era::Legacy
            && other.has_answered
            && refused.last().is_some_and(|probe| !probe.has_answered)
        {
            tries.push((Era::Modern, START));
        }
        refused.push(OtherEra { why: ended.unwrap_or(other.why), ..other });
    }
    let last = if remembered == Some(Era::Legacy) { refused.into_iter().next() } else { refused.pop() };
    Err(last.map_or_else(String::new, |other| other.why))
}
