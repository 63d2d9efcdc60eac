//! Whether the database answers and this server owns the home, asked at most once a second whoever wants to know.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use super::client::DatabaseClient;
use super::connection::Database;
use super::error::DatabaseError;
use super::home_rows::HomeRows;

/// How long an answer counts.
const AGE: Duration = Duration::from_secs(1);
/// Maximum time that the database has to answer.
const LIMIT: Duration = Duration::from_secs(2);

/// What was found last, and the connection for the next look: writes that wait for the database do not hold it up.
#[derive(Default)]
pub struct OwnershipCheck(Mutex<Last>);

#[derive(Default)]
struct Last {
    client: Option<DatabaseClient>,
    found: Option<(Instant, Option<&'static str>)>,
}

impl OwnershipCheck {
    /// Returns the code of why the home cannot be written now; `None` if it can.
    pub async fn problem(&self, rows: &HomeRows) -> Option<&'static str> {
        let mut last = self.0.lock().await;
        if let Some((at, code)) = last.found
            && at.elapsed() < AGE
        {
            return code;
        }
        let asked = tokio::time::timeout(LIMIT, asked(&mut last.client, rows)).await;
        let code = match asked {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.code()),
            Err(_) => Some("database_unreachable"),
        };
        if code.is_some() {
            last.client = None;
        }
        last.found = Some((Instant::now(), code));
        code
    }
}

async fn asked(client: &mut Option<DatabaseClient>, rows: &HomeRows) -> Result<(), DatabaseError> {
    let client = match client {
        Some(client) if !client.is_closed() => client,
        client => client.insert(Database::connect(rows.address()).await?.into_client()),
    };
    rows.require_own(client).await
}
