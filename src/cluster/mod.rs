//! A cluster: several servers on one database, of which each home has one owner at a time.
//!
//! A server is a member as long as its beats reach the database. Whoever cannot say that it lives stops by itself before anybody
//! else may take its homes. Homes are claimed by whoever is asked for them, never from a server that lives.

mod membership;
mod probe;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::config::{ClusterConfig, DatabaseConfig};
use crate::store::{
    CacheUse, Claimant, ClusterOverview, ClusterRows, DatabaseError, HomeKey, HomeOwnerRow, Replica, ServerContact,
    StoreError,
};

use membership::Membership;
pub use membership::Standing;

/// How long it is not looked up again who owns a home. A server that is asked for a home that is no longer its own says so.
const OWNER_LIFE: Duration = Duration::from_secs(1);
/// Maximum number of homes that are taken over in one look.
const MAX_ORPHANS: u32 = 20;

/// This server as a member of its cluster.
pub struct Cluster {
    database: DatabaseConfig,
    /// The folder of the copy of the server's own home.
    folder: PathBuf,
    membership: Membership,
    /// What is looked up; connected by the first use.
    rows: tokio::sync::Mutex<Option<Connected>>,
    owner: Mutex<Option<KnownOwner>>,
    /// How the commands of the person who runs the server reach it.
    contact: OnceLock<ServerContact>,
}

struct Connected {
    id: Uuid,
    rows: ClusterRows,
}

/// Who owned the own home when that was looked up last.
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
    pub async fn join(database: DatabaseConfig, cluster: &ClusterConfig, folder: &Path) -> Result<Self, StoreError> {
        let looked = folder.to_owned();
        let ended = tokio::task::spawn_blocking(move || Replica::ended_owners(&looked));
        let ended = ended.await.map_err(|_| StoreError::ShutDown)??;
        let membership = Membership::join(&database, cluster).await?;
        let cluster = Self {
            database,
            folder: folder.to_owned(),
            membership,
            rows: tokio::sync::Mutex::default(),
            owner: Mutex::default(),
            contact: OnceLock::new(),
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

    /// Sets how the commands of the person who runs the server reach it.
    pub fn set_contact(&self, contact: ServerContact) {
        // Said once, at the start.
        let _ = self.contact.set(contact);
    }

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

    /// Says how many works are under way here.
    pub fn set_works(&self, works: usize) {
        self.membership.set_works(works);
    }

    /// Returns the other server that owns the own home; `None` if no server that lives does, or this one.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn other_owner(&self) -> Result<Option<OtherOwner>, DatabaseError> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        self.look_up_owner().await
    }

    /// Like [`Cluster::other_owner`], and not from memory.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn look_up_owner(&self) -> Result<Option<OtherOwner>, DatabaseError> {
        let row = self.with_rows(|rows| rows.owner_of(HomeKey::Server.id()).boxed()).await?;
        let row = row.filter(|row| self.standing() != Standing::Member(row.server_id));
        let mut slot = self.owner();
        let before = slot.take().and_then(|known| known.owner);
        let owner = match (row, before) {
            (Some(row), Some(before)) if before.row == row => Some(before),
            (row, before) => {
                before.iter().for_each(|before| before.lost.cancel());
                row.map(|row| OtherOwner { row, lost: CancellationToken::new() })
            }
        };
        *slot = Some(KnownOwner { owner: owner.clone(), looked_at: Instant::now() });
        Ok(owner)
    }

    fn owner(&self) -> MutexGuard<'_, Option<KnownOwner>> {
        self.owner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> Option<Option<OtherOwner>> {
        let slot = self.owner();
        slot.as_ref().filter(|known| known.looked_at.elapsed() < OWNER_LIFE).map(|known| known.owner.clone())
    }

    /// Returns the time since 1970 by the clock of the database, which all servers share.
    pub fn shared_time(&self) -> Duration {
        self.membership.shared_time()
    }

    /// Claims the own home and makes the folder its copy.
    ///
    /// # Errors
    /// Returns [`DatabaseError::OwnedElsewhere`] if a server that lives owns it, and other errors if the database or the folder
    /// cannot be used.
    pub async fn claim(&self) -> Result<ClaimedCopy, StoreError> {
        let member = match self.standing() {
            Standing::Member(member) if !self.membership.is_draining() => member,
            Standing::Member(_) | Standing::Fenced => return Err(StoreError::Fenced),
        };
        let home = (&self.database.homes(), &HomeKey::Server);
        let opened = Replica::open(home, &self.folder, CacheUse::Serve, Claimant::Member(member)).await;
        let replica = opened?;
        tracing::info!(server = %member, "claimed the home");
        Ok(ClaimedCopy { folder: self.folder.clone(), replica, member })
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

    /// Whether the own home has works under way and no server that lives.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn is_orphaned(&self) -> Result<bool, DatabaseError> {
        Ok(self.with_rows(|rows| rows.orphans(MAX_ORPHANS).boxed()).await?.contains(&HomeKey::Server.id()))
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
        let id = self.membership.id();
        let mut slot = self.rows.lock().await;
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
