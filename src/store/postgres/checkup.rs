//! What a person should know of a database before they trust it with a home.

use std::time::{Duration, Instant};

use tokio_postgres::Client;

use super::connection::{Database, DatabaseInfo, LossPolicy};
use super::error::DatabaseError;
use super::schema::SchemaState;
use crate::clock;

/// How many commits are measured.
const COMMITS: usize = 9;
/// Maximum time of everything.
const LIMIT: Duration = Duration::from_secs(30);

/// The state of a database.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkup {
    pub info: DatabaseInfo,
    pub schema: SchemaState,
    /// `synchronous_standby_names`: the standbys that confirm a commit; empty if none has to.
    pub synchronous: String,
    /// How many standbys are connected.
    pub standbys: i64,
    /// By how many seconds the clock of the database is ahead of the one here.
    pub clock_ahead: f64,
    /// The version of pgvector that is installed in the database, and the one that could be.
    pub vector: Option<String>,
    pub available_vector: Option<String>,
    /// The median time of a commit.
    pub commit: Duration,
}

impl Database {
    /// Looks at everything that matters for a home. Writes one message to the log of the database, which measures a commit, and
    /// changes nothing.
    ///
    /// # Errors
    /// Returns why the database cannot be used.
    pub async fn checkup(self, policy: LossPolicy) -> Result<Checkup, DatabaseError> {
        let info = self.inspect(policy).await?;
        let schema = self.schema().await?;
        if schema.require_migrated().is_ok() {
            self.require_complete_homes().await?;
        }
        let client = self.into_client();
        let looked = tokio::time::timeout(LIMIT, looked(&client, (info, schema))).await;
        let late = || DatabaseError::Interrupted { reason: "it did not answer in time".to_owned() };
        looked.map_err(|_| late())?.map_err(DatabaseError::doing("looking at the database"))
    }
}

async fn looked(
    client: &Client,
    (info, schema): (DatabaseInfo, SchemaState),
) -> Result<Checkup, tokio_postgres::Error> {
    let look = "SELECT current_setting('synchronous_standby_names'), (SELECT count(*) FROM pg_stat_replication), \
                (SELECT installed_version FROM pg_available_extensions WHERE name = 'vector'), \
                (SELECT default_version FROM pg_available_extensions WHERE name = 'vector')";
    let row = client.query_typed_one(look, &[]).await?;
    let before = (Instant::now(), clock::now());
    let there: f64 = client.query_typed_one("SELECT extract(epoch FROM clock_timestamp())::float8", &[]).await?.get(0);
    let here = before.1 + before.0.elapsed().as_secs_f64() / 2.0;
    let mut commits = Vec::new();
    for _ in 0..COMMITS {
        let since = Instant::now();
        // A message in the write-ahead log is of no table, and its commit waits for the disk and the standbys.
        client.query_typed_one("SELECT pg_logical_emit_message(true, 'miniclaw', 'doctor')::text", &[]).await?;
        commits.push(since.elapsed());
    }
    commits.sort_unstable();
    Ok(Checkup {
        info,
        schema,
        synchronous: row.get(0),
        standbys: row.get(1),
        clock_ahead: there - here,
        vector: row.get(2),
        available_vector: row.get(3),
        commit: commits[COMMITS / 2],
    })
}
