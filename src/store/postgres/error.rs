//! Why a database cannot be used: one variant, with a code, for each thing that somebody can do about it.

use std::error::Error;
use std::path::PathBuf;

use tokio_postgres::error::SqlState;

use super::tls::TlsUnusable;

/// Maximum number of tables that a sentence names.
const NAMED: usize = 5;

/// Why a database cannot be used. No sentence contains a password.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("PostgreSQL at {at} cannot be reached: {reason}. Check that it runs and that the address is right")]
    Unreachable { at: String, reason: String },
    #[error("no encrypted connection to PostgreSQL at {at}: {reason}. Check sslmode and sslrootcert of the address")]
    Encryption { at: String, reason: String },
    #[error("PostgreSQL refused the sign-in as {at}: {reason}. Check user and password of the address")]
    LoginRefused { at: String, reason: String },
    #[error("there is no database {at}; make it with CREATE DATABASE, or correct the address")]
    NoDatabase { at: String },
    #[error("PostgreSQL {version} is too old; version {} or newer is needed", super::connection::OLDEST_VERSION)]
    TooOld { version: String },
    #[error(
        "the database does not accept changes: it is a standby, or read-only. Name the primary in the address, or wait \
         until the failover is complete"
    )]
    ReadOnly,
    #[error(
        "the schema of the search path does not exist; make it with CREATE SCHEMA, or correct search_path of the user"
    )]
    NoSchema,
    #[error(
        "the database contains tables of something else ({}); use a database of its own",
        named(.tables)
    )]
    ForeignTables { tables: Vec<String> },
    #[error(
        "the tables of the database have version {found} and this miniclaw needs {needed}; run `miniclaw db migrate`"
    )]
    Older { found: u32, needed: u32 },
    #[error(
        "a newer miniclaw made the tables of the database, and this one cannot use them: they have version {found} and this miniclaw \
         knows {known}. Update miniclaw"
    )]
    Newer { found: u32, known: u32 },
    #[error(
        "version {version} of the tables was not made by this miniclaw: its definition is another one. Use the miniclaw that \
         made them, or a new database"
    )]
    Changed { version: u32 },
    #[error(
        "PostgreSQL confirms changes before they are on a disk ({setting}), so a crash could lose what was said to be stored. \
         Switch it on, or write accept_loss: true to `store` in config.yml"
    )]
    NotDurable { setting: String },
    #[error(
        "the user of the database may not do this: {reason}. The user must own the database, or be granted CREATE on its schema"
    )]
    NotAllowed { reason: String },
    #[error("another `miniclaw db migrate` is under way; try again when it has ended")]
    MigrationUnderWay,
    #[error(
        "the tables were not migrated, because something uses them for long, such as an export or a backup; try again when it has ended"
    )]
    TablesInUse,
    #[error("the connection to PostgreSQL was lost: {reason}. Nothing is confirmed until it is back; try again then")]
    Interrupted { reason: String },
    /// This start of the server does not own the home any more.
    #[error(
        "another server has taken this home over, and nothing was stored; stop one of the two, or make both members of a cluster"
    )]
    Fenced,
    #[error("another server of the cluster owns this home; ask again in a moment")]
    OwnedElsewhere,
    #[error(
        "servers of a cluster use this database, and this one would take the home from them and lose it again. Write \
         `address` and `cluster_secret` to `store` in config.yml, or stop the others; if they have just been killed, wait ten seconds"
    )]
    UsedByCluster,
    /// The database lacks something that it had confirmed to this server.
    #[error(
        "the database has gone back behind this server: it lacks changes that it had confirmed, because it was restored from a \
         backup, or a standby without them took over. Nothing is stored any more, and the copy on this machine has everything. To go \
         on with what the database has, start the server again: what only the copy has is moved to storage/quarantine/. To go on \
         with the copy, stop the server, empty the database, and run `miniclaw db migrate` and `miniclaw import`"
    )]
    WentBack,
    #[error(
        "the other servers of this cluster serve other people: auth_mode in config.yml and MINICLAW_JWT_SECRET must be the same on all. \
         Correct them here, or stop the others; a server that was just stopped counts for ten more seconds"
    )]
    OtherPeople,
    #[error(
        "the other servers of this cluster have another secret: store.cluster_secret in config.yml must be the same on all. Correct it \
         here, or stop the others; a server that was just stopped counts for ten more seconds"
    )]
    OtherSecret,
    #[error("a newer miniclaw wrote the home in the database; update miniclaw")]
    NewerHome,
    #[error(
        "an import into the database was interrupted, so a part of the home is missing there. Run `miniclaw import` again: it goes on \
         where it was"
    )]
    ImportIncomplete,
    #[error("the database already contains a home; use an empty database, or remove that home first")]
    NotEmpty,
    #[error(
        "{} is a home of its own, and `store` in config.yml would replace its files by those of the database. Store it with \
         `miniclaw import`, or name an empty folder", folder.display()
    )]
    CacheIsHome { folder: PathBuf },
    #[error(
        "the files of this home were deleted under the running server; start it again, and the database brings them back"
    )]
    CacheGone,
    #[error(
        "the database has no pgvector, which compares meanings: install it beside PostgreSQL and run `CREATE EXTENSION vector` in the \
         database as a superuser"
    )]
    NoVectors,
    #[error(
        "the database has pgvector {found}, and 0.8 is needed: install a newer one and run `ALTER EXTENSION vector UPDATE` in the database"
    )]
    OldVectors { found: String },
    #[error(
        "pgvector indexes vectors of at most {most} numbers, and those of this embedding model have {found}; choose another model"
    )]
    LongVectors { found: u32, most: u32 },
    #[error("the database has damaged data ({what}); restore it from a backup")]
    Damaged { what: String },
    /// A row with the same key is stored already, perhaps by an attempt whose answer was lost.
    #[error("the database already has this")]
    AlreadyThere,
    #[error("PostgreSQL failed while {doing}: {reason}")]
    Failed { doing: &'static str, reason: String },
}

impl DatabaseError {
    /// Returns the code, by which programs tell these errors apart.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } => "database_unreachable",
            Self::Encryption { .. } => "database_not_encrypted",
            Self::LoginRefused { .. } => "database_login_refused",
            Self::NoDatabase { .. } => "database_missing",
            Self::TooOld { .. } => "database_too_old",
            Self::ReadOnly => "database_read_only",
            Self::NoSchema => "database_without_schema",
            Self::ForeignTables { .. } => "database_of_something_else",
            Self::Older { .. } => "database_not_migrated",
            Self::Newer { .. } => "database_newer",
            Self::Changed { .. } => "database_changed",
            Self::NotDurable { .. } => "database_not_durable",
            Self::NotAllowed { .. } => "database_not_allowed",
            Self::MigrationUnderWay => "database_migrating",
            Self::TablesInUse => "database_in_use",
            Self::Interrupted { .. } => "database_interrupted",
            Self::Fenced => "fenced",
            Self::OwnedElsewhere => "home_moving",
            Self::UsedByCluster => "database_in_cluster",
            Self::WentBack => "database_went_back",
            Self::OtherPeople => "cluster_of_others",
            Self::OtherSecret => "cluster_secret_differs",
            Self::NewerHome => "database_home_newer",
            Self::ImportIncomplete => "database_import_incomplete",
            Self::NotEmpty => "database_not_empty",
            Self::CacheIsHome { .. } => "cache_is_a_home",
            Self::CacheGone => "cache_gone",
            Self::NoVectors => "database_without_pgvector",
            Self::OldVectors { .. } => "database_old_pgvector",
            Self::LongVectors { .. } => "database_long_vectors",
            Self::Damaged { .. } => "database_damaged",
            Self::AlreadyThere | Self::Failed { .. } => "database_failed",
        }
    }

    /// Classifies an error of connecting to `at`.
    pub(super) fn connecting(at: String, error: &tokio_postgres::Error) -> Self {
        let reason = reason(error);
        match error.code() {
            Some(code) if is_login(code) => Self::LoginRefused { at, reason },
            Some(code) if *code == SqlState::INVALID_CATALOG_NAME => Self::NoDatabase { at },
            Some(_) => Self::Unreachable { at, reason },
            // Every host that answered is a standby.
            None if is_standby(error) => Self::ReadOnly,
            // The library has no other sign of what failed.
            None => match error.to_string().as_str() {
                "error performing TLS handshake" => Self::Encryption { at, reason },
                "authentication error" | "invalid configuration" => Self::LoginRefused { at, reason },
                _ => Self::Unreachable { at, reason },
            },
        }
    }

    /// Returns a function for `map_err` that classifies an error of a statement by what was being done.
    pub(super) fn doing(doing: &'static str) -> impl FnOnce(tokio_postgres::Error) -> Self {
        move |error| {
            let reason = reason(&error);
            match error.code() {
                Some(code) if *code == SqlState::UNIQUE_VIOLATION => Self::AlreadyThere,
                Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => Self::ReadOnly,
                Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => Self::NotAllowed { reason },
                Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE => Self::MigrationUnderWay,
                Some(code) if !is_passing(code) => Self::Failed { doing, reason },
                _ => Self::Interrupted { reason },
            }
        }
    }

    /// Whether the same may succeed a little later.
    pub(super) fn is_transient(&self) -> bool {
        matches!(self, Self::Interrupted { .. } | Self::Unreachable { .. })
    }

    pub(super) fn tls(at: String, error: &TlsUnusable) -> Self {
        Self::Encryption { at, reason: error.to_string() }
    }
}

/// Whether an error of the server passes by itself: it starts, stops, is full, or two transactions were in each other's way.
fn is_passing(code: &SqlState) -> bool {
    ["08", "40", "53", "57P"].iter().any(|class| code.code().starts_with(class))
}

fn is_standby(error: &tokio_postgres::Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    source.is_some_and(|source| source.kind() == std::io::ErrorKind::PermissionDenied)
}

fn is_login(code: &SqlState) -> bool {
    [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION].contains(code)
}

/// Returns what the server or the library says, without the details in which a server can repeat values.
fn reason(error: &tokio_postgres::Error) -> String {
    if let Some(of_server) = error.as_db_error() {
        return of_server.message().to_owned();
    }
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

fn named(tables: &[String]) -> String {
    let first = tables.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match tables.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
