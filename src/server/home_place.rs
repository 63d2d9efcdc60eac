//! Where the home of a server is: in a folder, in a database of its own, or in one that several servers share.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::RootCertStore;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::StartRefused;
use super::owners::ClusterOwners;
use crate::api::Forwarder;
use crate::cluster::{Cluster, watch_own_address};
use crate::config::{ClusterConfig, DatabaseConfig};
use crate::domain::HomeId;
use crate::engine::people::{People, PeopleUnusable, cluster_fingerprint, shared_setup_code};
use crate::engine::{Homes, KeptHomes, Served, TenantRegistry, starter};
use crate::store::{
    AccountsUnusable, CacheUse, Claimant, ClusterMarks, Home, HomeDatabase, Replica, ServerContact, StoreError,
    is_unused,
};

/// Where the home is.
pub(super) enum HomePlace {
    Folder(Home),
    /// With the folder of the copy.
    Database(Box<DatabaseConfig>, PathBuf),
}

/// The home, or the cluster that it is in.
#[derive(Clone)]
pub(super) enum OpenedPlace {
    Home(Home),
    /// With the database of the home, and what has claimed it.
    Database(Home, Box<HomeDatabase>, Claimant),
    Cluster(Membership),
}

/// This server in its cluster.
#[derive(Clone)]
pub(super) struct Membership {
    cluster: Arc<Cluster>,
    config: ClusterConfig,
    /// Those of the other servers.
    authorities: RootCertStore,
}

impl HomePlace {
    /// # Errors
    /// Returns an error if the home is in a folder that cannot be opened.
    pub fn of(database: Option<DatabaseConfig>, folder: PathBuf) -> anyhow::Result<Self> {
        Ok(match database {
            None => Self::Folder(Home::open(&folder)?),
            Some(database) => Self::Database(Box::new(database), folder),
        })
    }

    /// Claims a home in a database, or joins the cluster, which claims it when it is asked for.
    /// `sign_ins` is what the key of sign-ins is known by, if several people use the server.
    ///
    /// # Errors
    /// Returns an error if the home or the database cannot be used.
    pub async fn open(self, sign_ins: Option<Vec<u8>>) -> anyhow::Result<OpenedPlace> {
        let (database, folder) = match self {
            Self::Folder(home) => return Ok(OpenedPlace::Home(home)),
            Self::Database(database, folder) => (*database, folder),
        };
        if let Some(config) = database.cluster.clone() {
            if sign_ins.is_some() {
                Home::close_folder(&folder)?;
            }
            let marks = ClusterMarks { sign_ins, secret: cluster_fingerprint(&config.secret) };
            let authorities = config.trusted().map_err(StartRefused::Authorities)?;
            let joined = Cluster::join(&database, (&config, marks), &folder).await.map_err(refused)?;
            let cluster = Arc::new(joined);
            let prepared = cluster.clone();
            tokio::spawn(async move {
                if let Err(error) = prepared.prepare().await {
                    tracing::debug!(%error, "no connection to the database could be made in advance");
                }
            });
            return Ok(OpenedPlace::Cluster(Membership { cluster, config, authorities }));
        }
        let (database, claimant) = (database.homes(), Claimant::start());
        let opened = Replica::open((&database, &HomeId::Server), &folder, CacheUse::Serve, claimant).await;
        let replica = opened.map_err(refused)?;
        if is_unused(&folder) {
            starter::fill(&folder)?;
        }
        let home = Home::open(&folder)?;
        home.keep_in(replica);
        home.store_regularly();
        Ok(OpenedPlace::Database(home, Box::new(database), claimant))
    }
}

impl OpenedPlace {
    /// Returns the homes of the tenants.
    ///
    /// # Errors
    /// Returns an error if the folder of several people's homes cannot be used.
    pub fn homes(&self, is_multi: bool) -> anyhow::Result<Homes> {
        Ok(match self {
            Self::Cluster(membership) => {
                let served = if is_multi { Served::Several } else { Served::OnePerson };
                Homes::Cluster(membership.cluster.clone(), served)
            }
            Self::Home(home) | Self::Database(home, ..) if is_multi => {
                if let Err(error) = home.close_to_strangers() {
                    tracing::warn!(%error, "other users of this machine can enter the home");
                }
                Homes::Each { people: home.people_folder()?, server: home.clone(), kept: self.kept().map(Box::new) }
            }
            Self::Home(home) | Self::Database(home, ..) => Homes::Single(home.clone()),
        })
    }

    /// Returns the database of the homes of people, if they are in one.
    fn kept(&self) -> Option<KeptHomes> {
        let Self::Database(home, database, claimant) = self else { return None };
        Some(KeptHomes::new((**database).clone(), *claimant, home.taken_over()?))
    }

    /// Returns what the servers of the cluster know each other by; `None` if there is no cluster.
    pub fn cluster_secret(&self) -> Option<&SecretString> {
        match self {
            Self::Cluster(membership) => Some(&membership.config.secret),
            Self::Home(_) | Self::Database(..) => None,
        }
    }

    /// Notes how the commands of the person who runs the server reach it.
    ///
    /// # Errors
    /// Returns an error if that cannot be written.
    pub fn note_server(&self, contact: ServerContact) -> anyhow::Result<()> {
        match self {
            Self::Home(home) | Self::Database(home, ..) => home.note_server(contact)?,
            Self::Cluster(membership) => membership.cluster.set_contact(contact)?,
        }
        Ok(())
    }

    /// Returns a token that is cancelled once this server must end, because another one has taken its home.
    pub fn taken_over(&self) -> CancellationToken {
        match self {
            Self::Home(home) | Self::Database(home, ..) => home.taken_over().unwrap_or_default(),
            Self::Cluster(_) => CancellationToken::new(),
        }
    }

    /// Returns this server in its cluster; `None` if there is no cluster.
    pub fn cluster(&self) -> Option<&Arc<Cluster>> {
        match self {
            Self::Cluster(membership) => Some(&membership.cluster),
            Self::Home(_) | Self::Database(..) => None,
        }
    }

    /// Returns what passes requests on to the servers that have their homes; `None` if there is no cluster.
    pub fn forwarder(
        &self,
        tenants: &Arc<TenantRegistry>,
        stopping: &CancellationToken,
        sockets: &TaskTracker,
    ) -> Option<Arc<Forwarder>> {
        let Self::Cluster(Membership { cluster, config, authorities }) = self else { return None };
        let owners = ClusterOwners { tenants: tenants.clone(), cluster: cluster.clone() };
        let forwarder = Forwarder::new(Arc::new(owners), &config.secret, authorities.clone(), stopping.clone());
        Some(Arc::new(forwarder.counted_by(tenants.runtime().metrics.clone()).among(sockets.clone())))
    }

    /// Says in the log if the others cannot reach this server of a cluster.
    pub fn watch_address(&self) {
        if let Self::Cluster(membership) = self {
            tokio::spawn(watch_own_address(membership.config.address.clone()));
        }
    }

    /// Takes no home any more: this server ends soon.
    pub fn begin_draining(&self) {
        if let Some(cluster) = self.cluster() {
            cluster.begin_draining();
        }
    }

    /// Tells the other servers of the cluster that this one has ended.
    pub async fn leave(&self) {
        if let Self::Cluster(membership) = self {
            membership.cluster.leave().await;
        }
    }
}

impl Membership {
    /// Returns the people of the cluster.
    ///
    /// # Errors
    /// Returns an error if the accounts cannot be used.
    pub async fn people(&self, tenants: &Arc<TenantRegistry>) -> Result<Arc<People>, StartRefused> {
        let code = shared_setup_code(&self.config.secret);
        let opened = People::of_cluster(tenants.clone(), self.cluster.clone(), code).await;
        opened.map_err(|error| match error {
            PeopleUnusable::Accounts(AccountsUnusable::Store(StoreError::Database(error))) => {
                StartRefused::Database(Box::new(error))
            }
            error => StartRefused::People(error),
        })
    }
}

fn refused(error: StoreError) -> anyhow::Error {
    match error {
        StoreError::Database(error) => StartRefused::Database(Box::new(error)).into(),
        error => error.into(),
    }
}
