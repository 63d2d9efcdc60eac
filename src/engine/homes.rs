//! Where the homes of the tenants are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{EngineError, blocking, starter};
use crate::cluster::Cluster;
use crate::domain::HomeId;
use crate::store::{CacheUse, Claimant, Home, HomeDatabase, Replica, StoreError, is_unused};

/// Where the homes of the tenants are.
pub enum Homes {
    /// One home, the owner's.
    Single(Home),
    /// Homes in a database that several servers share. Each is opened when this server has claimed it.
    Cluster(Arc<Cluster>, Served),
    /// The home of the server, which is the owner's and nobody's data, and a folder with a home for each tenant, created
    /// from the starter files when the tenant is first opened.
    Each {
        server: Home,
        people: PathBuf,
        /// Set if the homes are in a database.
        kept: Option<Box<KeptHomes>>,
    },
}

/// Whom the servers of a cluster serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// There is one home, the owner's.
    OnePerson,
    /// The owner's home is that of the server, and each person has one.
    Several,
}

/// A database with the homes of people, of which this server has copies.
pub struct KeptHomes {
    database: HomeDatabase,
    claimant: Claimant,
    /// Cancelled once another server has taken one of them.
    pub(super) superseded: CancellationToken,
}

impl Homes {
    /// Whether this is one of them.
    pub(super) fn serve(&self, id: &HomeId) -> bool {
        match self {
            Self::Single(_) | Self::Cluster(_, Served::OnePerson) => *id == HomeId::Server,
            Self::Cluster(_, Served::Several) | Self::Each { .. } => true,
        }
    }

    /// Returns the cluster that they are in.
    pub(super) fn cluster(&self) -> Option<&Arc<Cluster>> {
        match self {
            Self::Cluster(cluster, _) => Some(cluster),
            Self::Single(_) | Self::Each { .. } => None,
        }
    }
}

impl KeptHomes {
    /// `claimant` has claimed the home of the server.
    pub fn new(database: HomeDatabase, claimant: Claimant, superseded: CancellationToken) -> Self {
        Self { database, claimant, superseded }
    }

    /// Claims the home of a person and opens its copy in this folder.
    pub(super) async fn home(&self, id: &HomeId, folder: PathBuf) -> Result<Home, EngineError> {
        let replica = Replica::open((&self.database, id), &folder, CacheUse::Serve, self.claimant).await?;
        let home = blocking(move || {
            let home = opened_for_person(&folder)?;
            home.keep_in(replica);
            Ok(home)
        })
        .await?;
        home.store_regularly();
        Ok(home)
    }
}

/// Opens the home of a server, or of its only person, and makes it if there is none.
pub(super) fn opened_for_server(folder: &Path) -> Result<Home, StoreError> {
    if is_unused(folder) {
        let made = starter::fill(folder);
        made.map_err(|source| StoreError::Io { doing: format!("making {}", folder.display()), source })?;
    }
    Home::open(folder)
}

/// Opens the home of a person, and makes it if there is none.
pub(super) fn opened_for_person(folder: &Path) -> Result<Home, StoreError> {
    if is_unused(folder) {
        let doing = || format!("making {}", folder.display());
        starter::fill_person(folder).map_err(|source| StoreError::Io { doing: doing(), source })?;
    }
    let home = Home::open(folder)?;
    home.close_to_others()?;
    Ok(home)
}
