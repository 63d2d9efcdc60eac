//! A connection to a database, and what is required of the database before anything is kept in it.

use std::time::Duration;

use tokio_postgres::types::Type;

use super::address::DatabaseAddress;
use super::claim::IMPORTING;
use super::client::DatabaseClient;
use super::error::DatabaseError;
use super::schema::{self, AppliedMigration, SchemaState};
use super::tls;

/// The first major version that can be used.
pub(super) const OLDEST_VERSION: i32 = 15;
/// Maximum time of one answer while a home is claimed or read.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);
/// Maximum time of looking at a database.
const LOOK_LIMIT: Duration = Duration::from_secs(30);

/// Whether a database may lose, in a crash, changes that it has confirmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossPolicy {
    #[default]
    Refuse,
    /// `accept_loss: true` in config.yml.
    Accept,
}

/// A connection to a database. Closed when it is dropped.
pub struct Database {
    at: String,
    client: DatabaseClient,
}

/// What a database is, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseInfo {
    /// As the server names it: `18.4`.
    pub version: String,
    /// Why it may lose confirmed changes, if it may.
    pub not_durable: Option<String>,
}

impl Database {
    /// # Errors
    /// Returns why there is no connection.
    pub async fn connect(address: &DatabaseAddress) -> Result<Self, DatabaseError> {
        let at = address.to_string();
        let connector = tls::connector(address.encryption()).map_err(|error| DatabaseError::tls(at.clone(), &error))?;
        let limit = address.connect_limit();
        let connected = tokio::time::timeout(limit, address.config().connect(connector.clone())).await;
        let (client, connection) = match connected {
            Ok(Ok(connected)) => connected,
            Ok(Err(error)) => return Err(DatabaseError::connecting(at, &error)),
            Err(_) => {
                let reason = format!("it did not answer within {} seconds", limit.as_secs());
                return Err(DatabaseError::Unreachable { at, reason });
            }
        };
        let task = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the database ended");
            }
        });
        Ok(Self { at, client: DatabaseClient::new(client, task, connector) })
    }

    /// Returns a connection to `address` that was made before.
    pub(super) fn of(address: &DatabaseAddress, client: DatabaseClient) -> Self {
        Self { at: address.to_string(), client }
    }

    /// Looks at what was connected to and changes nothing.
    ///
    /// # Errors
    /// Returns an error if the database is too old, accepts no changes, or may lose confirmed ones against the policy.
    pub async fn inspect(&self, policy: LossPolicy) -> Result<DatabaseInfo, DatabaseError> {
        let info = self.limited(self.look()).await?;
        match (&info.not_durable, policy) {
            (Some(setting), LossPolicy::Refuse) => Err(DatabaseError::NotDurable { setting: setting.clone() }),
            _ => Ok(info),
        }
    }

    /// Returns which tables the database has.
    ///
    /// # Errors
    /// Returns an error if they are not those of this program, or are of a newer one and this one cannot use them.
    pub async fn schema(&self) -> Result<SchemaState, DatabaseError> {
        self.limited(schema::state(&*self.client)).await
    }

    /// # Errors
    /// Returns [`DatabaseError::ImportIncomplete`] if an import was interrupted, or is under way.
    pub async fn require_complete_homes(&self) -> Result<(), DatabaseError> {
        let find = "SELECT EXISTS (SELECT FROM homes WHERE format = $1)";
        let found = async {
            let found = self.client.query_typed_one(find, &[(&IMPORTING, Type::INT4)]).await;
            Ok(found.map_err(DatabaseError::doing("looking at the homes"))?.get(0))
        };
        match self.limited(found).await? {
            true => Err(DatabaseError::ImportIncomplete),
            false => Ok(()),
        }
    }

    /// Applies the migrations that are missing and returns them. Looks at the database first.
    ///
    /// # Errors
    /// Returns the errors of [`Database::inspect`], and an error if the tables cannot be migrated.
    pub async fn migrate(&mut self, policy: LossPolicy) -> Result<Vec<AppliedMigration>, DatabaseError> {
        self.inspect(policy).await?;
        schema::migrate(&mut self.client).await
    }

    pub(super) fn into_client(self) -> DatabaseClient {
        self.client
    }

    async fn look(&self) -> Result<DatabaseInfo, DatabaseError> {
        let row = self
            .client
            .query_typed_one(
                "SELECT current_setting('server_version'), current_setting('server_version_num')::int, pg_is_in_recovery() OR \
                 current_setting('transaction_read_only')::bool, current_setting('synchronous_commit'), \
                 current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_standby_names') <> ''",
                &[],
            )
            .await
            .map_err(DatabaseError::doing("looking at the database"))?;
        let version: String = row.get(0);
        if is_too_old(row.get(1)) {
            return Err(DatabaseError::TooOld { version });
        }
        if row.get(2) {
            return Err(DatabaseError::ReadOnly);
        }
        let settings = [(3, "synchronous_commit"), (4, "fsync"), (5, "full_page_writes")];
        let off = settings.into_iter().find(|(column, _)| row.get::<_, &str>(*column) == "off");
        let is_local = row.get::<_, bool>(6) && row.get::<_, &str>(3) == "local";
        let not_durable = match off {
            Some((_, name)) => Some(format!("{name} is off")),
            // It says that commits wait for standbys, and they do not.
            None => is_local.then(|| "synchronous_commit is local, so no commit waits for a standby".to_owned()),
        };
        Ok(DatabaseInfo { version, not_durable })
    }

    async fn limited<T>(&self, work: impl Future<Output = Result<T, DatabaseError>>) -> Result<T, DatabaseError> {
        tokio::time::timeout(LOOK_LIMIT, work).await.unwrap_or_else(|_| {
            let reason = format!("it did not answer within {} seconds", LOOK_LIMIT.as_secs());
            Err(DatabaseError::Unreachable { at: self.at.clone(), reason })
        })
    }
}

/// Waits for an answer of the database, but not for ever: the connection may be gone without a word.
///
/// # Errors
/// Returns [`DatabaseError::Interrupted`] if it does not come in time; the connection must not be used any more.
pub(super) async fn answered<T>(
    answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    doing: &'static str,
) -> Result<T, DatabaseError> {
    match tokio::time::timeout(ANSWER_LIMIT, answer).await {
        Ok(answer) => answer.map_err(DatabaseError::doing(doing)),
        Err(_) => {
            let reason = format!("it did not answer within {} seconds", ANSWER_LIMIT.as_secs());
            Err(DatabaseError::Interrupted { reason })
        }
    }
}

/// `number` is the version as PostgreSQL numbers it: 150004 is 15.4.
fn is_too_old(number: i32) -> bool {
    number / 10_000 < OLDEST_VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_before_fifteen_are_too_old() {
        assert!(is_too_old(140_013) && is_too_old(90_624));
        assert!(!is_too_old(150_000) && !is_too_old(180_004));
        let error = DatabaseError::TooOld { version: "14.13".to_owned() };
        assert_eq!(error.to_string(), "PostgreSQL 14.13 is too old; version 15 or newer is needed");
    }
}
