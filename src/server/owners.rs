//! Answers the question of forwarding: which server of the cluster has a home.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::api::{Destination, FailedHop, HopFailure, Owner, Owners};
use crate::cluster::{Cluster, OtherOwner};
use crate::domain::HomeId;
use crate::engine::takeover::{Freshness, Whereabouts};
use crate::engine::{EngineError, TenantRegistry};
use crate::store::{DatabaseError, StoreError};

/// The homes of this server and those of the others.
pub(super) struct ClusterOwners {
    pub tenants: Arc<TenantRegistry>,
    pub cluster: Arc<Cluster>,
}

impl Owners for ClusterOwners {
    fn of<'a>(&'a self, home: &'a HomeId) -> BoxFuture<'a, Destination> {
        async { destination(self.tenants.whereabouts(home, Freshness::Recent).await) }.boxed()
    }

    fn after<'a>(&'a self, home: &'a HomeId, failed: &'a FailedHop) -> BoxFuture<'a, Destination> {
        async {
            if failed.why == HopFailure::Unreachable
                && let Err(error) = self.tenants.owner_is_silent().await
            {
                tracing::warn!(%error, "could not look whether another server has ended");
            }
            match destination(self.tenants.whereabouts(home, Freshness::Now).await) {
                // It still has the home by the database, and does not answer.
                Destination::Server(owner) if failed.why == HopFailure::Unreachable && is_same(&owner, failed) => {
                    Destination::Nobody
                }
                destination => destination,
            }
        }
        .boxed()
    }

    fn shared_time(&self) -> Duration {
        self.cluster.shared_time()
    }
}

/// Whether trying again in a second is of no use.
fn is_lasting(error: &EngineError) -> bool {
    use DatabaseError::{Damaged, ImportIncomplete, NewerHome};
    matches!(error, EngineError::Store(StoreError::Database(NewerHome | Damaged { .. } | ImportIncomplete)))
}

fn is_same(owner: &Owner, failed: &FailedHop) -> bool {
    owner.address == failed.owner.address && owner.fence == failed.owner.fence
}

fn destination(found: Result<Whereabouts, EngineError>) -> Destination {
    match found {
        Ok(Whereabouts::Here) => Destination::Here,
        Ok(Whereabouts::Elsewhere(OtherOwner { row, lost })) => {
            let fence = u64::try_from(row.fence).unwrap_or_default();
            Destination::Server(Owner { address: row.address.into(), fence, lost })
        }
        Err(EngineError::HomeMoving) => Destination::Nobody,
        Err(error) if is_lasting(&error) => {
            tracing::error!(%error, "a home cannot be opened");
            Destination::Refused(error.into())
        }
        Err(error) => {
            tracing::warn!(%error, "it is not known which server has the home");
            Destination::Nobody
        }
    }
}
