//! The schema of the database: numbered migrations in the binary, and the table `schema` that says which were applied.
//!
//! A server never migrates. `miniclaw db migrate` does, one transaction for each migration, under a lock of the database.
//!
//! Servers are updated one after the other, so those of the version before work with newer tables for a while. Each migration says
//! in the table `schema` which versions still can (expand, deploy, contract; docs/cluster.md). One that expands the tables adds
//! what no statement of the version before touches: a table, a function, or a column that is nullable or has a default. What such a
//! version needs is removed by a later migration, which is applied when no server of it runs any more.

use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, GenericClient, Transaction};

use super::error::DatabaseError;
use super::link::Value;

/// A step of the schema. Its text never changes after it was released.
struct Migration {
    version: u32,
    name: &'static str,
    /// The lowest version of the tables whose programs work with these, too. It is `version` unless the migration only expands.
    works_from: u32,
    sql: &'static str,
}

const MIGRATIONS: [Migration; 8] = [
    Migration { version: 1, name: "homes", works_from: 1, sql: include_str!("migrations/0001_homes.sql") },
    Migration { version: 2, name: "commits", works_from: 2, sql: include_str!("migrations/0002_commits.sql") },
    Migration { version: 3, name: "servers", works_from: 3, sql: include_str!("migrations/0003_servers.sql") },
    Migration { version: 4, name: "people", works_from: 4, sql: include_str!("migrations/0004_people.sql") },
    Migration { version: 5, name: "accounts", works_from: 5, sql: include_str!("migrations/0005_accounts.sql") },
    Migration { version: 6, name: "libraries", works_from: 6, sql: include_str!("migrations/0006_libraries.sql") },
    Migration { version: 7, name: "appends", works_from: 6, sql: include_str!("migrations/0007_appends.sql") },
    Migration { version: 8, name: "secrets", works_from: 6, sql: include_str!("migrations/0008_secrets.sql") },
];

/// The lock of the database that a migration holds: one number for all databases of this program.
const LOCK: i64 = 0x6d69_6e69_636c_6177;
/// Maximum time that a migration waits for another one.
const LOCK_TIMEOUT: &str = "SET LOCAL lock_timeout = '30s'";
/// Maximum time that it waits for tables that are in use. Everybody else who wants them waits behind it.
const TABLES_TIMEOUT: &str = "SET LOCAL lock_timeout = '1s'";
/// How often it is tried again while something uses the tables, and the pause before that.
const TABLES_TRIES: u32 = 10;
const TABLES_PAUSE: Duration = Duration::from_secs(2);

const MAKE_TABLE: &str = "CREATE TABLE \"schema\" (version integer PRIMARY KEY, name text NOT NULL, sha256 bytea NOT NULL, \
                          applied_at timestamptz NOT NULL DEFAULT now())";
/// Those of extensions belong to nobody who could be in the way.
const TABLES: &str = "SELECT relname::text FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = \
                      current_schema()) AND relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT EXISTS (SELECT FROM pg_depend WHERE \
                      classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e') ORDER BY relname";
/// The columns of the table `schema`, with their types; none if there is no such table.
const COLUMNS: &str = "SELECT coalesce(array_agg(attname::text || ' ' || format_type(atttypid, atttypmod) ORDER BY attnum), '{}') \
                       FROM pg_attribute WHERE attrelid = to_regclass(quote_ident(current_schema()) || '.\"schema\"') AND attnum > \
                       0 AND NOT attisdropped";
/// Programs before this column know the first four only, and refuse any table with more.
const ADD_WORKS_FROM: &str = "ALTER TABLE \"schema\" ADD COLUMN IF NOT EXISTS works_from integer";
/// The table may be from before it had this column.
const APPLIED: &str = "SELECT version, sha256, (to_jsonb(applied) ->> 'works_from')::integer FROM \"schema\" AS applied ORDER BY \
                       version";
const NOTE: &str = "INSERT INTO \"schema\" (version, name, sha256, works_from) VALUES ($1, $2, $3, $4)";

/// Which tables a database has, of those that this program can go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// It has no tables.
    Empty,
    /// It has those of this version, which may be older than that of this program, or newer if this program works with them.
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
    /// Returns the version; 0 if there are no tables.
    pub fn version(self) -> u32 {
        match self {
            Self::Empty => 0,
            Self::Version(version) => version,
        }
    }

    /// Whether a newer program made the tables.
    pub fn is_newer(self) -> bool {
        self.version() > latest_version()
    }

    /// # Errors
    /// Returns [`DatabaseError::Older`] if the tables have to be migrated first.
    pub fn require_migrated(self) -> Result<(), DatabaseError> {
        let found = self.version();
        if found < latest_version() {
            return Err(DatabaseError::Older { found, needed: latest_version() });
        }
        Ok(())
    }
}

/// Looks at the tables of the database and changes nothing.
///
/// # Errors
/// Returns an error if they are not those of this program, or are of a newer one and do not say that this one works with them.
pub(super) async fn state(client: &impl GenericClient) -> Result<SchemaState, DatabaseError> {
    let reading = || DatabaseError::doing("reading the schema");
    let schema = client.query_typed_one("SELECT current_schema()::text", &[]);
    let (tables, columns) = (client.query_typed(TABLES, &[]), client.query_typed_one(COLUMNS, &[]));
    let (schema, tables, columns) = tokio::try_join!(schema, tables, columns).map_err(reading())?;
    if schema.get::<_, Option<String>>(0).is_none() {
        return Err(DatabaseError::NoSchema);
    }
    let tables: Vec<String> = tables.iter().map(|row| row.get(0)).collect();
    if tables.is_empty() {
        return Ok(SchemaState::Empty);
    }
    if !is_ours(&columns.get::<_, Vec<String>>(0)) {
        return Err(DatabaseError::ForeignTables { tables });
    }
    let applied = client.query_typed(APPLIED, &[]).await.map_err(reading())?;
    let applied: Vec<Applied> = applied.iter().map(Applied::of).collect();
    version_of(&applied).map(SchemaState::Version)
}

/// A row of the table `schema`.
struct Applied {
    version: u32,
    sha256: Vec<u8>,
    works_from: u32,
}

impl Applied {
    fn of(row: &tokio_postgres::Row) -> Self {
        let number = |number: i32| u32::try_from(number).unwrap_or(u32::MAX);
        let version = number(row.get(0));
        Self { version, sha256: row.get(1), works_from: row.get::<_, Option<i32>>(2).map_or(version, number) }
    }
}

/// Returns the version of the tables after these migrations, in their order.
fn version_of(applied: &[Applied]) -> Result<u32, DatabaseError> {
    let known = latest_version();
    let found = applied.last().map_or(0, |last| last.version);
    for Applied { version, sha256, works_from } in applied {
        match MIGRATIONS.iter().find(|known| known.version == *version) {
            None if *version <= known || *works_from > known => return Err(DatabaseError::Newer { found, known }),
            Some(known) if *sha256 != known.sha256() => return Err(DatabaseError::Changed { version: *version }),
            None | Some(_) => {}
        }
    }
    Ok(found)
}

/// Whether the table `schema`, with these columns, is the one of this program. A newer one may have more.
fn is_ours(columns: &[String]) -> bool {
    let own = ["version integer", "name text", "sha256 bytea", "applied_at timestamp with time zone"];
    columns.len() >= own.len() && columns.iter().zip(own).all(|(column, own)| column == own)
}

/// Applies the migrations that are missing. Each is applied whole or not at all.
///
/// # Errors
/// Returns an error if the tables cannot be migrated, or if a migration fails; those before it stay applied.
pub(super) async fn migrate(client: &mut Client) -> Result<Vec<AppliedMigration>, DatabaseError> {
    let (mut applied, mut tries) = (Vec::new(), 1);
    loop {
        match migrate_once(client).await {
            Ok(Some(migration)) => applied.push(migration),
            Ok(None) => return Ok(applied),
            // Whoever waited behind this goes first.
            Err(DatabaseError::TablesInUse) if tries < TABLES_TRIES => {
                tries += 1;
                tokio::time::sleep(TABLES_PAUSE).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Applies the next migration; `None` if there is none.
async fn migrate_once(client: &mut Client) -> Result<Option<AppliedMigration>, DatabaseError> {
    let locking = || DatabaseError::doing("waiting for another migration");
    let transaction = client.transaction().await.map_err(locking())?;
    transaction.batch_execute(LOCK_TIMEOUT).await.map_err(locking())?;
    // Held to the end of the transaction, so that a pooler between the two cannot separate them.
    transaction.execute_typed("SELECT pg_advisory_xact_lock($1)", &[(&LOCK, Type::INT8)]).await.map_err(locking())?;
    let found = state(&transaction).await?;
    if found == SchemaState::Empty {
        transaction.batch_execute(MAKE_TABLE).await.map_err(DatabaseError::doing("making the table schema"))?;
    }
    let Some(next) = MIGRATIONS.iter().find(|migration| migration.version > found.version()) else { return Ok(None) };
    transaction.batch_execute(TABLES_TIMEOUT).await.map_err(locking())?;
    apply(&transaction, next).await?;
    transaction.commit().await.map_err(DatabaseError::doing("storing a migration"))?;
    Ok(Some(AppliedMigration { version: next.version, name: next.name }))
}

async fn apply(transaction: &Transaction<'_>, migration: &Migration) -> Result<(), DatabaseError> {
    transaction.batch_execute(migration.sql).await.map_err(migrating("migrating the tables"))?;
    // Last, because servers that connect read the table and wait from now on.
    transaction.batch_execute(ADD_WORKS_FROM).await.map_err(migrating("making the table schema"))?;
    let number = |version| i32::try_from(version).expect("migrations are few");
    let (version, works_from) = (number(migration.version), number(migration.works_from));
    let sha256 = migration.sha256().to_vec();
    let values: [Value<'_>; 4] =
        [(&version, Type::INT4), (&migration.name, Type::TEXT), (&sha256, Type::BYTEA), (&works_from, Type::INT4)];
    transaction.execute_typed(NOTE, &values).await.map(drop).map_err(DatabaseError::doing("noting a migration"))
}

fn migrating(doing: &'static str) -> impl FnOnce(tokio_postgres::Error) -> DatabaseError {
    move |error| match DatabaseError::doing(doing)(error) {
        DatabaseError::MigrationUnderWay => DatabaseError::TablesInUse,
        error => error,
    }
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
        assert!(MIGRATIONS.iter().all(|migration| (1..=migration.version).contains(&migration.works_from)));
    }

    /// Returns the rows of this program and those of a newer one.
    fn applied(newer: &[(u32, u32)]) -> Vec<Applied> {
        let row = |version, works_from, sha256: &[u8]| Applied { version, sha256: sha256.to_vec(), works_from };
        let known = MIGRATIONS.iter().map(|known| row(known.version, known.works_from, &known.sha256()));
        known.chain(newer.iter().map(|(version, works_from)| row(*version, *works_from, b"unknown"))).collect()
    }

    #[test]
    fn newer_tables_are_used_if_all_their_steps_say_so() {
        let known = latest_version();
        let version = |newer: &[(u32, u32)]| version_of(&applied(newer)).map_err(|error| error.code());
        assert_eq!(version(&[]), Ok(known));
        assert_eq!(version(&[(known + 1, known)]), Ok(known + 1));
        assert_eq!(version(&[(known + 1, 1), (known + 2, known)]), Ok(known + 2));
        let refused = Err("database_newer");
        assert_eq!(version(&[(known + 1, known + 1)]), refused);
        assert_eq!(
            version(&[(known + 1, known + 1), (known + 2, known)]),
            refused,
            "the first step took something away"
        );
        assert_eq!(version(&[(known + 1, known), (known + 2, known + 1)]), refused);
        let mut changed = applied(&[(known + 1, known)]);
        changed[0].sha256.clear();
        assert_eq!(version_of(&changed).unwrap_err().code(), "database_changed");
    }

    #[test]
    fn older_tables_name_the_command() {
        assert!(SchemaState::Version(latest_version()).require_migrated().is_ok());
        let error = SchemaState::Empty.require_migrated().unwrap_err();
        assert_eq!(error.code(), "database_not_migrated");
        assert!(error.to_string().contains("miniclaw db migrate"), "{error}");
    }
}
