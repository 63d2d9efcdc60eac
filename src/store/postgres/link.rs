//! The way to a home that this server owns: connections, and what every write compares.
//!
//! A write is refused if another server owns the home, and if the database has gone back: if it lacks something that it had
//! confirmed to this server. A write whose connection is lost is tried again until [`PATIENCE`] is over.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::connections::{Connections, Lease};
use super::error::DatabaseError;
use super::rows::{FactDurability, HomeDatabase};

/// Maximum time that a write waits for a database that does not answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Maximum time of one write.
const WRITE_LIMIT: Duration = Duration::from_secs(20);
/// Pause before a write is tried again; it doubles up to [`MAX_PAUSE`].
const PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// A commit of its own, which waits for the disk and the standbys, and changes no table.
const CONFIRM: &str = "SELECT pg_logical_emit_message(true, 'miniclaw', 'confirm')::text";
const STATE: &str = "SELECT fence, owner, last_no, files_commit FROM homes WHERE home_id = $1";

/// A value of a statement with its type, so that a statement is one message, which a pooler passes on as it is.
pub(super) type Value<'v> = (&'v (dyn ToSql + Sync), Type);

/// Who owns a home, and what the database has confirmed to have.
pub(super) struct HomeLink {
    pub database: HomeDatabase,
    pub owned: OwnedRow,
    /// Cancelled once this server does not have the home any more: nothing is written then.
    pub lost: CancellationToken,
    /// Set once the database was found to lack something.
    went_back: AtomicBool,
    /// The highest number of a change that no crash of the database can lose.
    synced_no: AtomicI64,
    /// The highest number of a change.
    last_no: AtomicI64,
    /// The commits of files of which one must be the last in the database.
    commits: Mutex<Vec<Option<Uuid>>>,
    /// Whether a crash of the database has lost facts that it was allowed to lose.
    has_lost_facts: AtomicBool,
    /// How many connections had been made when it was last looked whether the home is what it was.
    looked_at: AtomicU64,
}

/// The row of a home as this server claimed it.
pub(super) struct OwnedRow {
    pub home: Uuid,
    pub owner: Uuid,
    pub fence: i64,
}

/// What the database has confirmed of a home.
#[derive(Clone, Copy, Debug)]
pub(super) struct Confirmed {
    pub last_no: i64,
    pub files_commit: Option<Uuid>,
}

/// The row of a home as it is.
pub(super) struct HomeState {
    fence: i64,
    owner: Option<Uuid>,
    last_no: i64,
    pub files_commit: Option<Uuid>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    First,
    /// The outcome of the one before is unknown.
    Repeated,
}

/// Something that is written with a connection, once.
pub(super) trait Write: Sync {
    /// Maximum time of one attempt.
    const LIMIT: Duration = WRITE_LIMIT;

    fn once(
        &self,
        link: &HomeLink,
        client: &mut Client,
        attempt: Attempt,
    ) -> impl Future<Output = Result<(), DatabaseError>> + Send;
}

impl HomeLink {
    pub fn new(database: HomeDatabase, owned: OwnedRow, confirmed: Confirmed) -> Self {
        Self {
            database,
            owned,
            lost: CancellationToken::new(),
            went_back: AtomicBool::new(false),
            synced_no: AtomicI64::new(confirmed.last_no),
            last_no: AtomicI64::new(confirmed.last_no),
            commits: Mutex::new(vec![confirmed.files_commit]),
            has_lost_facts: AtomicBool::new(false),
            looked_at: AtomicU64::new(u64::MAX),
        }
    }

    /// The values with which each write begins: the home, the fence, the owner, and the lowest last number.
    pub fn identity<'v>(&'v self, least: &'v i64) -> [Value<'v>; 4] {
        let OwnedRow { home, owner, fence } = &self.owned;
        [(home, Type::UUID), (fence, Type::INT8), (owner, Type::UUID), (least, Type::INT8)]
    }

    /// Returns the number that the database must have reached.
    pub fn least_no(&self) -> i64 {
        self.synced_no.load(Ordering::SeqCst)
    }

    /// Notes that a change is stored.
    pub fn confirm(&self, number: i64, durability: FactDurability) {
        self.last_no.fetch_max(number, Ordering::SeqCst);
        if durability == FactDurability::Synced {
            self.synced_no.fetch_max(number, Ordering::SeqCst);
        }
    }

    /// Says which commits of files may be the last one.
    pub fn expect_commits(&self, commits: &[Option<Uuid>]) {
        *self.commits.lock().unwrap_or_else(PoisonError::into_inner) = commits.to_vec();
    }

    fn commits(&self) -> Vec<Option<Uuid>> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a crash of the database has lost facts since this was asked last. They are in the journals of the copy.
    pub fn take_lost_facts(&self) -> bool {
        self.has_lost_facts.swap(false, Ordering::SeqCst)
    }

    /// # Errors
    /// Returns [`DatabaseError::Fenced`] or [`DatabaseError::WentBack`] if nothing may be written.
    pub fn require_valid(&self) -> Result<(), DatabaseError> {
        if self.lost.is_cancelled() {
            return Err(DatabaseError::Fenced);
        }
        if self.went_back.load(Ordering::SeqCst) {
            return Err(DatabaseError::WentBack);
        }
        Ok(())
    }

    /// Writes, and tries again as long as the database does not answer.
    ///
    /// # Errors
    /// Returns [`DatabaseError::Fenced`] if another server owns the home, and [`DatabaseError::WentBack`] if the database lacks
    /// something. If the database does not answer for [`PATIENCE`], it is unknown whether it was written.
    pub async fn write<W: Write>(&self, write: &W) -> Result<(), DatabaseError> {
        let since = Instant::now();
        let written = match self.require_valid() {
            Err(error) => Err(error),
            Ok(()) => tokio::select! {
                biased;
                () = self.lost.cancelled() => Err(DatabaseError::Fenced),
                written = self.write_patiently(write) => written,
            },
        };
        self.database.connections.counters().written(&written, since.elapsed());
        match &written {
            Err(DatabaseError::Fenced) => self.lost.cancel(),
            Err(error @ DatabaseError::WentBack) if !self.went_back.swap(true, Ordering::SeqCst) => {
                tracing::error!("{error}");
            }
            _ => {}
        }
        written
    }

    async fn write_patiently<W: Write>(&self, write: &W) -> Result<(), DatabaseError> {
        let since = Instant::now();
        let (mut attempt, mut pause) = (Attempt::First, PAUSE);
        loop {
            let tried = tokio::time::timeout(W::LIMIT, self.try_write(write, attempt)).await;
            let error = match tried {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => error,
                Err(_) => DatabaseError::Interrupted { reason: "it did not answer in time".to_owned() },
            };
            // While another server becomes the primary, the one before may be read-only.
            if !error.is_transient() && !matches!(error, DatabaseError::ReadOnly) {
                return Err(error);
            }
            if since.elapsed() >= PATIENCE {
                return Err(error);
            }
            tracing::warn!(%error, "the database does not answer; trying again");
            attempt = Attempt::Repeated;
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(MAX_PAUSE);
        }
    }

    async fn try_write(&self, write: &impl Write, attempt: Attempt) -> Result<(), DatabaseError> {
        let mut client = self.lease().await?;
        let mut doubt = Doubt { connections: &self.database.connections, is_open: true };
        let mut written = write.once(self, &mut client, attempt).await;
        if written.is_ok() && attempt == Attempt::Repeated {
            written = confirm_earlier_commits(&client).await;
        }
        doubt.is_open = written.as_ref().is_err_and(DatabaseError::is_transient);
        // One that was lost may still have an answer under way.
        if !written.as_ref().is_err_and(DatabaseError::is_transient) {
            client.give_back();
        }
        written
    }

    /// Returns a connection, after a look at whether the home is what it was if it may be one that was made after a crash.
    ///
    /// # Errors
    /// Returns why there is no connection, or [`DatabaseError::Fenced`] or [`DatabaseError::WentBack`].
    pub async fn lease(&self) -> Result<Lease, DatabaseError> {
        let client = self.database.connections.lease(&self.database.address).await?;
        let made = self.database.connections.made();
        if self.looked_at.load(Ordering::SeqCst) == made {
            return Ok(client);
        }
        let last_no = self.last_no.load(Ordering::SeqCst);
        let state = self.require_own(&client).await?;
        // Those that were confirmed in the meantime count from then on.
        if state.last_no < last_no {
            self.last_no.store(state.last_no, Ordering::SeqCst);
            self.has_lost_facts.store(true, Ordering::SeqCst);
        }
        self.looked_at.store(made, Ordering::SeqCst);
        Ok(client)
    }

    /// Returns the row of the home.
    ///
    /// # Errors
    /// Returns [`DatabaseError::Fenced`] or [`DatabaseError::WentBack`] if the home is not this server's, or not as it was.
    pub async fn require_own(&self, client: &Client) -> Result<HomeState, DatabaseError> {
        loop {
            let (least, before) = (self.least_no(), self.commits());
            let state = self.state(client).await?;
            let after = self.commits();
            let is_last = before.contains(&state.files_commit) || after.contains(&state.files_commit);
            match (state.last_no < least, is_last) {
                (false, true) => return Ok(state),
                // Files were stored while the answer was under way.
                (false, false) if before != after => {}
                _ => return Err(DatabaseError::WentBack),
            }
        }
    }

    async fn state(&self, client: &Client) -> Result<HomeState, DatabaseError> {
        let found = client.query_typed_opt(STATE, &[(&self.owned.home, Type::UUID)]).await;
        let found = found.map_err(DatabaseError::doing("looking at the home"))?;
        let Some(row) = found else { return Err(DatabaseError::WentBack) };
        let state = HomeState { fence: row.get(0), owner: row.get(1), last_no: row.get(2), files_commit: row.get(3) };
        if state.fence < self.owned.fence {
            return Err(DatabaseError::WentBack);
        }
        if state.fence > self.owned.fence || state.owner != Some(self.owned.owner) {
            return Err(DatabaseError::Fenced);
        }
        Ok(state)
    }

    /// Returns why a write that compared the home changed nothing.
    pub async fn refusal(&self, client: &Client) -> DatabaseError {
        match self.require_own(client).await {
            Err(error) => error,
            Ok(_) => DatabaseError::Interrupted { reason: "the home was changed at the same time".to_owned() },
        }
    }
}

/// An attempt to write. Its outcome is not known if it is given up or its connection is lost.
struct Doubt<'a> {
    connections: &'a Connections,
    is_open: bool,
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.connections.counters().doubted();
        }
    }
}

/// Waits until what was found to be stored is on the disk and the standbys: the attempt that stored it may have been cancelled while it
/// waited for them.
async fn confirm_earlier_commits(client: &Client) -> Result<(), DatabaseError> {
    let confirmed = client.query_typed_one(CONFIRM, &[]).await;
    confirmed.map(drop).map_err(DatabaseError::doing("confirming what is stored"))
}
