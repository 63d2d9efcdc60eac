//! The schema of the database: numbered migrations in the binary, and the table `schema` that says which were applied.
//!
//! A server never migrates. `miniclaw db migrate` does, one transaction for each migration, under a lock of the database.

use sha2::{Digest, Sha256};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, GenericClient, Transaction};

use super::error::DatabaseError;
use super::link::Value;

/// A step of the schema. Its text never changes after it was released.
struct Migration {
    version: u32,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: [Migration; 6] = [
    Migration { version: 1, name: "homes", sql: include_str!("migrations/0001_homes.sql") },
    Migration { version: 2, name: "commits", sql: include_str!("migrations/0002_commits.sql") },
    Migration { version: 3, name: "servers", sql: include_str!("migrations/0003_servers.sql") },
    Migration { version: 4, name: "people", sql: include_str!("migrations/0004_people.sql") },
    Migration { version: 5, name: "accounts", sql: include_str!("migrations/0005_accounts.sql") },
    Migration { version: 6, name: "libraries", sql: include_str!("migrations/0006_libraries.sql") },
];

/// The lock of the database that a migration holds: one number for all databases of this program.
const LOCK: i64 = 0x6d69_6e69_636c_6177;
/// Maximum time that a migration waits for another one.
const LOCK_TIMEOUT: &str = "SET LOCAL lock_timeout = '30s'";

const MAKE_TABLE: &str = "CREATE TABLE \"schema\" (version integer PRIMARY KEY, name text NOT NULL, sha256 bytea NOT NULL, \
                          applied_at timestamptz NOT NULL DEFAULT now())";

/// Which tables a database has, of those that this program can go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// It has no tables.
    Empty,
    /// It has those of this version, which may be older than that of this program.
    Version(u32),
}

/// A migration that was just applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedMigration {
    pub version: u32,
    pub name: &'static str,
}

/// Returns the version of the schema that this program needs.
pub fn latest_version() -> u32 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

impl SchemaState {
    /// # Errors
    /// Returns [`DatabaseError::Older`] if the tables have to be migrated first.
    pub fn require_latest(self) -> Result<(), DatabaseError> {
        let found = match self {
            Self::Empty => 0,
            Self::Version(found) => found,
        };
        if found < latest_version() {
            return Err(DatabaseError::Older { found, needed: latest_version() });
        }
        Ok(())
    }
}

/// Looks at the tables of the database and changes nothing.
///
/// # Errors
/// Returns an error if they are not those of this program, or of a newer one.
pub(super) async fn state(client: &impl GenericClient) -> Result<SchemaState, DatabaseError> {
    let reading = || DatabaseError::doing("reading the schema");
    let schema = client.query_typed_one("SELECT current_schema()::text", &[]).await.map_err(reading())?;
    if schema.get::<_, Option<String>>(0).is_none() {
        return Err(DatabaseError::NoSchema);
    }
    // Those of extensions belong to nobody who could be in the way.
    let tables = client
        .query_typed(
            "SELECT relname::text FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = \
             current_schema()) AND relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT EXISTS (SELECT FROM pg_depend WHERE classid \
             = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e') ORDER BY relname",
            &[],
        )
        .await
        .map_err(reading())?;
    let tables: Vec<String> = tables.iter().map(|row| row.get(0)).collect();
    if tables.is_empty() {
        return Ok(SchemaState::Empty);
    }
    if !is_ours(client).await? {
        return Err(DatabaseError::ForeignTables { tables });
    }
    let applied =
        client.query_typed("SELECT version, sha256 FROM \"schema\" ORDER BY version", &[]).await.map_err(reading())?;
    let mut last = 0;
    for row in &applied {
        let version = u32::try_from(row.get::<_, i32>(0)).unwrap_or(u32::MAX);
        match MIGRATIONS.iter().find(|known| known.version == version) {
            None => return Err(DatabaseError::Newer { found: version, known: latest_version() }),
            Some(known) if row.get::<_, &[u8]>(1) != known.sha256() => return Err(DatabaseError::Changed { version }),
            Some(_) => last = version,
        }
    }
    Ok(SchemaState::Version(last))
}

/// Whether the table `schema` is the one of this program.
async fn is_ours(client: &impl GenericClient) -> Result<bool, DatabaseError> {
    let columns = client
        .query_typed_one(
            "SELECT coalesce(array_agg(attname::text || ' ' || format_type(atttypid, atttypmod) ORDER BY attnum), '{}') FROM \
             pg_attribute WHERE attrelid = to_regclass(quote_ident(current_schema()) || '.\"schema\"') AND attnum > 0 AND NOT \
             attisdropped",
            &[],
        )
        .await
        .map_err(DatabaseError::doing("reading the schema"))?;
    let columns: Vec<String> = columns.get(0);
    Ok(columns == ["version integer", "name text", "sha256 bytea", "applied_at timestamp with time zone"])
}

/// Applies the migrations that are missing. Each is applied whole or not at all.
///
/// # Errors
/// Returns an error if the tables cannot be migrated, or if a migration fails; those before it stay applied.
pub(super) async fn migrate(client: &mut Client) -> Result<Vec<AppliedMigration>, DatabaseError> {
    let mut applied = Vec::new();
    while let Some(migration) = migrate_once(client).await? {
        applied.push(migration);
    }
    Ok(applied)
}

/// Applies the next migration; `None` if there is none.
async fn migrate_once(client: &mut Client) -> Result<Option<AppliedMigration>, DatabaseError> {
    let locking = || DatabaseError::doing("waiting for another migration");
    let transaction = client.transaction().await.map_err(locking())?;
    transaction.batch_execute(LOCK_TIMEOUT).await.map_err(locking())?;
    // Held to the end of the transaction, so that a pooler between the two cannot separate them.
    transaction.execute_typed("SELECT pg_advisory_xact_lock($1)", &[(&LOCK, Type::INT8)]).await.map_err(locking())?;
    let found = match state(&transaction).await? {
        SchemaState::Empty => {
            transaction.batch_execute(MAKE_TABLE).await.map_err(DatabaseError::doing("making the table schema"))?;
            0
        }
        SchemaState::Version(version) => version,
    };
    let Some(next) = MIGRATIONS.iter().find(|migration| migration.version > found) else { return Ok(None) };
    apply(&transaction, next).await?;
    transaction.commit().await.map_err(DatabaseError::doing("storing a migration"))?;
    Ok(Some(AppliedMigration { version: next.version, name: next.name }))
}

async fn apply(transaction: &Transaction<'_>, migration: &Migration) -> Result<(), DatabaseError> {
    transaction.batch_execute(migration.sql).await.map_err(DatabaseError::doing("migrating the tables"))?;
    let version = i32::try_from(migration.version).expect("migrations are few");
    let sha256 = migration.sha256().to_vec();
    let values: [Value<'_>; 3] = [(&version, Type::INT4), (&migration.name, Type::TEXT), (&sha256, Type::BYTEA)];
    let noted =
        transaction.execute_typed("INSERT INTO \"schema\" (version, name, sha256) VALUES ($1, $2, $3)", &values).await;
    noted.map(drop).map_err(DatabaseError::doing("noting a migration"))
}

impl Migration {
    fn sha256(&self) -> [u8; 32] {
        Sha256::digest(self.sql).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_from_one() {
        let versions: Vec<u32> = MIGRATIONS.iter().map(|migration| migration.version).collect();
        assert_eq!(versions, (1..=latest_version()).collect::<Vec<_>>());
        assert!(MIGRATIONS.iter().all(|migration| !migration.sql.trim().is_empty()));
    }

    #[test]
    fn older_tables_name_the_command() {
        assert!(SchemaState::Version(latest_version()).require_latest().is_ok());
        let error = SchemaState::Empty.require_latest().unwrap_err();
        assert_eq!(error.code(), "database_not_migrated");
        assert!(error.to_string().contains("miniclaw db migrate"), "{error}");
    }
}
