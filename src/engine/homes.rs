//! Where the homes of the tenants are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{EngineError, TenantId, blocking, starter};
use crate::cluster::Cluster;
use crate::domain::AccountId;
use crate::store::{CacheUse, Claimant, Home, HomeDatabase, HomeKey, Replica, StoreError, is_unused};

/// Where the homes of the tenants are.
pub enum Homes {
    /// One home, the owner's.
    Single(Home),
    /// One home, the owner's, in a database that several servers share. It is opened when this server has claimed it.
    Cluster(Arc<Cluster>),
    /// The home of the server, which is the owner's and nobody's data, and a folder with a home for each tenant, created
    /// from the starter files when the tenant is first opened.
    Each {
        server: Home,
        people: PathBuf,
        /// Set if the homes are in a database.
        kept: Option<KeptHomes>,
    },
}

/// A database with the homes of people, of which this server has copies.
pub struct KeptHomes {
    database: HomeDatabase,
    claimant: Claimant,
    /// Cancelled once another server has taken one of them.
    pub(super) superseded: CancellationToken,
}

impl KeptHomes {
    /// `claimant` has claimed the home of the server.
    pub fn new(database: HomeDatabase, claimant: Claimant, superseded: CancellationToken) -> Self {
        Self { database, claimant, superseded }
    }

    /// Claims the home of a person and opens its copy in this folder.
    pub(super) async fn home(&self, id: &TenantId, folder: PathBuf) -> Result<Home, EngineError> {
        let account = AccountId::parse(&id.0).ok_or_else(|| EngineError::NoTenant(id.clone()))?;
        let replica =
            Replica::open((&self.database, &HomeKey::Person(account)), &folder, CacheUse::Serve, self.claimant).await?;
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
