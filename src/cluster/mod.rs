//! A cluster: several servers on one database, of which each home has one owner at a time.
//!
//! A server is a member as long as its beats reach the database. Whoever cannot say that it lives stops by itself before anybody
//! else may take its homes. Homes are claimed by whoever is asked for them, never from a server that lives.

mod membership;
mod probe;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::config::{ClusterConfig, DatabaseConfig};
use crate::domain::HomeId;
use crate::store::{
    CacheUse, Claimant, ClusterAccounts, ClusterMarks, ClusterOverview, ClusterRows, DatabaseError, DatabaseFigures,
    HomeDatabase, HomeOwnerRow, Replica, ServerContact, StoreError, note_member,
};

use membership::Membership;
pub use membership::Standing;
pub use probe::watch_own_address;

/// How long it is not looked up again who owns a home. A server that is asked for a home that is no longer its own says so.
const OWNER_LIFE: Duration = Duration::from_secs(1);
/// How long a server does not try again to claim a home whose copy it could not make.
const OTHERS_FIRST: Duration = Duration::from_secs(10);
/// Maximum number of homes without an owner that are looked at at once; works of people who may not work rest among them.
const MAX_ORPHANS: u32 = 1000;
/// Homes whose owners are looked up in one statement.
const OWNERS_AT_ONCE: usize = 1000;

/// This server as a member of its cluster.
pub struct Cluster {
    database: HomeDatabase,
    /// The folder of the copy of the server's own home.
    folder: PathBuf,
    membership: Membership,
    /// What is looked up; connected by the first use.
    rows: tokio::sync::Mutex<Option<Connected>>,
    /// The same, for the accounts, which must not wait for anything else.
    account_rows: tokio::sync::Mutex<Option<Connected>>,
    owners: Mutex<HashMap<HomeId, KnownOwner>>,
    /// Homes whose owners are waited for: whoever looks next looks for all of them.
    wanted: Mutex<HashSet<HomeId>>,
    /// The number of servers that live, as this one saw last.
    living: AtomicUsize,
    /// Homes whose copies could not be made here, and when that was.
    unopened: Mutex<HashMap<HomeId, Instant>>,
    /// Held while it is looked up who owns a home.
    looking: tokio::sync::Mutex<()>,
    /// How the commands of the person who runs the server reach it.
    contact: OnceLock<ServerContact>,
    /// Keeps other servers out of the folder.
    lock: File,
}

struct Connected {
    id: Uuid,
    rows: ClusterRows,
}

/// Who owned a home when that was looked up last.
struct KnownOwner {
    owner: Option<OtherOwner>,
    looked_at: Instant,
}

/// Another server that owns a home.
#[derive(Clone, Debug)]
pub struct OtherOwner {
    pub row: HomeOwnerRow,
    /// Cancelled when it is known to own the home no more.
    pub lost: CancellationToken,
}

/// The copy of a home that this server has just claimed.
pub struct ClaimedCopy {
    pub folder: PathBuf,
    pub replica: Replica,
    /// The member that claimed it.
    pub member: Uuid,
}

impl Cluster {
    /// Joins the cluster. Servers that ran in the same folder, and have ended, are declared dead.
    ///
    /// # Errors
    /// Returns an error if the database cannot be used, or if a server runs in this folder.
    pub async fn join(
        database: &DatabaseConfig,
        (cluster, marks): (&ClusterConfig, ClusterMarks),
        folder: &Path,
    ) -> Result<Self, StoreError> {
        let looked = folder.to_owned();
        let taken = tokio::task::spawn_blocking(move || Replica::take_folder(&looked));
        let (lock, ended) = taken.await.map_err(|_| StoreError::ShutDown)??;
        let membership = Membership::join(database, cluster, marks).await?;
        let cluster = Self {
            database: database.homes(),
            folder: folder.to_owned(),
            membership,
            rows: tokio::sync::Mutex::default(),
            account_rows: tokio::sync::Mutex::default(),
            owners: Mutex::default(),
            wanted: Mutex::default(),
            living: AtomicUsize::new(0),
            unopened: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
            contact: OnceLock::new(),
            lock,
        };
        if !ended.is_empty() {
            let declared =
                cluster.with_rows(move |rows| async move { rows.declare_gone(&ended).await }.boxed()).await?;
            if declared > 0 {
                tracing::info!("the server that ran here before has ended without a word");
            }
        }
        Ok(cluster)
    }

    /// Makes the connections that the first request needs, before it comes.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn prepare(&self) -> Result<(), DatabaseError> {
        tokio::try_join!(self.count_living(), self.database.prepare()).map(drop)
    }

    /// Sets how the commands of the person who runs the server reach it, whoever has the home.
    ///
    /// # Errors
    /// Returns an error if that cannot be written.
    pub fn set_contact(&self, contact: ServerContact) -> Result<(), StoreError> {
        note_member(&self.lock, contact.clone())?;
        // Said once, at the start.
        let _ = self.contact.set(contact);
        Ok(())
    }

    /// Returns how commands reach this server, once that is known.
    pub fn contact(&self) -> Option<ServerContact> {
        self.contact.get().cloned()
    }

    /// Returns whether this server may do anything now.
    pub fn standing(&self) -> Standing {
        self.membership.standing()
    }

    /// Returns what follows changes of the standing.
    pub fn follow_standing(&self) -> watch::Receiver<Standing> {
        self.membership.follow()
    }

    /// Gives up the homes, although the database hears from this server; or becomes a member again.
    pub fn set_silent(&self, is_silent: bool) {
        self.membership.set_silent(is_silent);
    }

    /// Says how many works are under way here.
    pub fn set_works(&self, works: usize) {
        self.membership.set_works(works);
    }

    /// Returns the other server that owns a home; `None` if no server that lives does, or this one.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn other_owner(&self, home: &HomeId) -> Result<Option<OtherOwner>, DatabaseError> {
        if let Some(known) = self.known(home) {
            return Ok(known);
        }
        self.look_up_owner(home).await
    }

    /// Like [`Cluster::other_owner`], and not from memory.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn look_up_owner(&self, home: &HomeId) -> Result<Option<OtherOwner>, DatabaseError> {
        let asked_at = Instant::now();
        self.wanted().insert(home.clone());
        let _one_at_a_time = self.looking.lock().await;
        // Whoever waited mostly has the answer of the one before.
        if let Some(known) = self.known_since(home, asked_at) {
            return Ok(known);
        }
        if self.standing() == Standing::Fenced {
            let reason = "this server has lost the database".to_owned();
            return Err(DatabaseError::Interrupted { reason });
        }
        let mut wanted = std::mem::take(&mut *self.wanted());
        wanted.remove(home);
        let homes: Vec<HomeId> = std::iter::once(home.clone()).chain(wanted).take(OWNERS_AT_ONCE).collect();
        let mut owners = self.look_up(&homes).await?;
        Ok(owners.swap_remove(0))
    }

    /// Returns the other servers that own these homes, in their order.
    async fn look_up(&self, homes: &[HomeId]) -> Result<Vec<Option<OtherOwner>>, DatabaseError> {
        let ids: Vec<Uuid> = homes.iter().map(HomeId::uuid).collect();
        let since = Instant::now();
        let rows = self.with_rows(|rows| async move { rows.owners_of(&ids).await }.boxed()).await?;
        let mut rows: HashMap<Uuid, HomeOwnerRow> = rows.into_iter().collect();
        Ok(homes.iter().map(|home| self.note_owner(home, rows.remove(&home.uuid()), since)).collect())
    }

    /// Looks up again who owns the homes that others had, so that what passes through to those who have lost them ends.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn look_up_known_owners(&self) -> Result<(), DatabaseError> {
        let known: Vec<HomeId> = {
            let mut owners = self.owners();
            owners.retain(|_, known| known.owner.is_some());
            owners.keys().cloned().collect()
        };
        for some in known.chunks(OWNERS_AT_ONCE) {
            self.look_up(some).await?;
        }
        Ok(())
    }

    /// `looked_at` is when the question began to which the row is the answer.
    fn note_owner(&self, home: &HomeId, row: Option<HomeOwnerRow>, looked_at: Instant) -> Option<OtherOwner> {
        let row = row.filter(|row| self.standing() != Standing::Member(row.server_id));
        let mut owners = self.owners();
        let before = owners.remove(home).and_then(|known| known.owner);
        let owner = match (row, before) {
            (Some(row), Some(before)) if before.row == row => Some(before),
            (row, before) => {
                before.iter().for_each(|before| before.lost.cancel());
                row.map(|row| OtherOwner { row, lost: CancellationToken::new() })
            }
        };
        owners.insert(home.clone(), KnownOwner { owner: owner.clone(), looked_at });
        owner
    }

    fn owners(&self) -> MutexGuard<'_, HashMap<HomeId, KnownOwner>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wanted(&self) -> MutexGuard<'_, HashSet<HomeId>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self, home: &HomeId) -> Option<Option<OtherOwner>> {
        let owners = self.owners();
        owners.get(home).filter(|known| known.looked_at.elapsed() < OWNER_LIFE).map(|known| known.owner.clone())
    }

    fn known_since(&self, home: &HomeId, since: Instant) -> Option<Option<OtherOwner>> {
        self.owners().get(home).filter(|known| known.looked_at >= since).map(|known| known.owner.clone())
    }

    /// Returns the time since 1970 by the clock of the database, which all servers share.
    pub fn shared_time(&self) -> Duration {
        self.membership.shared_time()
    }

    /// Claims a home and makes its folder the copy.
    ///
    /// # Errors
    /// Returns [`DatabaseError::OwnedElsewhere`] if a server that lives owns it, and other errors if the database or the folder
    /// cannot be used.
    pub async fn claim(&self, home: &HomeId) -> Result<ClaimedCopy, StoreError> {
        let member = match self.standing() {
            Standing::Member(member) if !self.membership.is_draining() => member,
            Standing::Member(_) | Standing::Fenced => return Err(StoreError::Fenced),
        };
        if self.unopened().get(home).is_some_and(|at| at.elapsed() < OTHERS_FIRST) {
            return Err(StoreError::Fenced);
        }
        let folder = home.folder(&self.folder);
        let opened = Replica::open((&self.database, home), &folder, CacheUse::Serve, Claimant::Member(member)).await;
        let replica = match opened {
            Ok(replica) => replica,
            Err(error) => {
                self.note_unopened(home, &error);
                return Err(error);
            }
        };
        tracing::info!(server = %member, home = %home, "claimed a home");
        Ok(ClaimedCopy { folder, replica, member })
    }

    /// Lets the others have a home first for a while, if its copy could not be made because of this machine.
    pub fn note_unopened(&self, home: &HomeId, error: &StoreError) {
        if !matches!(error, StoreError::Database(_) | StoreError::ShutDown | StoreError::Fenced) {
            self.unopened().insert(home.clone(), Instant::now());
        }
    }

    fn unopened(&self) -> MutexGuard<'_, HashMap<HomeId, Instant>> {
        self.unopened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Declares servers dead that have ended or whose time is over.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn declare_dead(&self) -> Result<(), DatabaseError> {
        for server in self.with_rows(|rows| rows.late().boxed()).await? {
            let id = server.id;
            // Its process may have ended: nobody listens at its address, and its connection to the database is gone.
            let declared = server.is_over && self.with_rows(|rows| rows.declare_over(id).boxed()).await?
                || probe::refuses(&server.address).await
                    && self.with_rows(|rows| rows.declare_crashed(id).boxed()).await?;
            if declared {
                tracing::warn!(server = %server.id, address = %server.address, "declared a server dead");
            }
        }
        Ok(())
    }

    /// Counts the servers that live.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn count_living(&self) -> Result<(), DatabaseError> {
        let living = self.with_rows(|rows| rows.count_living().boxed()).await?;
        self.living.store(living, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the number of servers that live, with this one, as it was counted last; 0 while this one has lost the database.
    pub fn living(&self) -> usize {
        match self.standing() {
            Standing::Member(_) => self.living.load(Ordering::Relaxed),
            Standing::Fenced => 0,
        }
    }

    /// Returns what this process has done with the database of the homes.
    pub fn database_figures(&self) -> DatabaseFigures {
        self.database.connections.figures()
    }

    /// Returns homes that have works under way and no server that lives, without those that are open here.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn orphans(&self, open: &[HomeId]) -> Result<Vec<HomeId>, DatabaseError> {
        let open: Vec<Uuid> = open.iter().map(HomeId::uuid).collect();
        self.with_rows(|rows| async move { rows.orphans(MAX_ORPHANS, &open).await }.boxed()).await
    }

    /// Returns the accounts unless they are those with this number.
    ///
    /// # Errors
    /// Returns an error if the database does not answer, or if they are damaged or missing.
    pub async fn accounts(&self, known: i64) -> Result<Option<ClusterAccounts>, DatabaseError> {
        let rows = &self.account_rows;
        self.with(rows, |rows| async move { ClusterAccounts::newer(rows, known).await }.boxed()).await
    }

    /// Says that this server knows the accounts with this number.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn know_accounts(&self, number: i64) -> Result<(), DatabaseError> {
        self.with(&self.account_rows, |rows| async move { rows.know_accounts(number).await }.boxed()).await
    }

    /// Returns the number of the accounts as they are stored; 0 if there are none.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn accounts_number(&self) -> Result<i64, DatabaseError> {
        self.with(&self.account_rows, |rows| rows.accounts_number().boxed()).await
    }

    /// Whether all servers that live know the accounts with this number.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn accounts_are_known(&self, number: i64) -> Result<bool, DatabaseError> {
        self.with(&self.account_rows, |rows| async move { rows.accounts_are_known(number).await }.boxed()).await
    }

    /// Returns the servers and homes of the cluster, and the id of this server in it.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn overview(&self, homes: u32) -> Result<(Uuid, ClusterOverview), DatabaseError> {
        let overview = self.with_rows(move |rows| rows.overview(homes).boxed()).await?;
        Ok((self.membership.id(), overview))
    }

    /// Says that this server takes no home any more, and those that it has are given up soon.
    pub fn begin_draining(&self) {
        self.membership.begin_draining();
    }

    /// Leaves the cluster: the others need not wait.
    pub async fn leave(&self) {
        self.membership.leave().await;
    }

    async fn with_rows<T>(
        &self,
        ask: impl for<'r> FnOnce(&'r ClusterRows) -> BoxFuture<'r, Result<T, DatabaseError>>,
    ) -> Result<T, DatabaseError> {
        self.with(&self.rows, ask).await
    }

    async fn with<T>(
        &self,
        slot: &tokio::sync::Mutex<Option<Connected>>,
        ask: impl for<'r> FnOnce(&'r ClusterRows) -> BoxFuture<'r, Result<T, DatabaseError>>,
    ) -> Result<T, DatabaseError> {
        let id = self.membership.id();
        let mut slot = slot.lock().await;
        if slot.as_ref().is_none_or(|connected| connected.id != id) {
            *slot = None;
            *slot = Some(Connected { id, rows: ClusterRows::connect(&self.database.address, id).await? });
        }
        let connected = slot.as_ref().expect("filled just above");
        let answer = ask(&connected.rows).await;
        if answer.is_err() {
            *slot = None;
        }
        answer
    }
}
