//! The two eras of MCP. Since 2026-07-28 there is no handshake, and each request says its revision; before, a connection began
//! with `initialize`.
//!
//! A program is asked for `server/discover` first. Whatever else it answers, and if it is silent or dies, a new process gets
//! `initialize`: programs of the older era may be unusable after a request that they do not know. The era that worked is
//! remembered, so that a program is normally started once.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, RequestError, RequestLimits};
use super::elicitation;
use super::link::Link;
use super::message::client_info;
use crate::tools::LiveOutput;

/// How long a program of an unknown era has for `server/discover`.
const PROBE: Duration = Duration::from_secs(2);
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

/// Asks whether the server is of the modern era.
///
/// # Errors
/// Returns why it is not: a sentence, for the case that it is not of the older era either.
pub async fn discover(link: &Link, within: Duration) -> Result<(), String> {
    let asked = || ask(link, ("server/discover", json!({})), within);
    let answered = match asked().await {
        // A server that refuses a revision and names the same one wants it to be chosen from its list.
        Err(RequestError::Refused(error)) if error.code == UNSUPPORTED && names_modern(&error.data["supported"]) => {
            asked().await
        }
        answered => answered,
    };
    match answered {
        Ok(result) if names_modern(&result["supportedVersions"]) => {
            link.note_capabilities(&result["capabilities"]);
            Ok(())
        }
        Ok(_) => Err("it does not speak 2026-07-28".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn names_modern(versions: &Value) -> bool {
    versions.as_array().is_some_and(|versions| versions.iter().any(|version| version == MODERN))
}

/// Begins a connection of the older era.
///
/// # Errors
/// Returns a sentence if the server refuses, is silent, or speaks a revision that is not known.
pub async fn initialize(link: &Link) -> Result<(), String> {
    let capabilities = elicitation::capability();
    let params =
        json!({"protocolVersion": Era::Legacy.revision(), "capabilities": capabilities, "clientInfo": client_info()});
    let result = ask(link, ("initialize", params), START).await.map_err(|error| error.to_string())?;
    let version = result["protocolVersion"].as_str().unwrap_or_default();
    if !LEGACY.contains(&version) {
        let version: String = version.chars().take(20).collect();
        return Err(format!("it speaks the revision {version:?}, which is not known here"));
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
    let mut reasons = Vec::new();
    let order = match remembered {
        Some(Era::Legacy) => [Era::Legacy, Era::Modern],
        Some(Era::Modern) | None => [Era::Modern, Era::Legacy],
    };
    for era in order {
        let link = Link::Program(start(era).await?);
        let answered = match era {
            Era::Modern if remembered == Some(Era::Modern) => discover(&link, START).await,
            Era::Modern => discover(&link, PROBE).await,
            Era::Legacy => initialize(&link).await,
        };
        match answered {
            Ok(()) => return Ok(link),
            Err(why) => {
                link.closed().await;
                reasons.push(match &link {
                    // What the program wrote says more than that it did not answer.
                    Link::Program(connection) => connection.ended().filter(|_| era == Era::Legacy).unwrap_or(why),
                    Link::Remote(_) => why,
                });
            }
        }
    }
    let last = if order[1] == Era::Legacy { reasons.pop() } else { reasons.into_iter().next() };
    Err(last.unwrap_or_default())
}
