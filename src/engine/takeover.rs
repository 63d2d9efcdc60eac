//! The homes of a cluster on this server: claimed when somebody asks for them or when their works would stand still, and dropped
//! as soon as another server may have them.

use std::collections::HashSet;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use super::homes::{Homes, opened_for_person, opened_for_server};
use super::metrics::ClusterFigures;
use super::registry::{OpenTenant, SlotState};
use super::{EngineError, TenantRegistry, blocking};
use crate::clock;
use crate::cluster::{ClaimedCopy, Cluster, OtherOwner, Standing};
use crate::domain::HomeId;
use crate::store::{ClusterOverview, DatabaseError, Home, StoreError};

/// Time between two looks for homes whose owner has ended, with up to a half of it more or less, so that not all servers look at
/// the same time.
const LOOK: Duration = Duration::from_secs(2);
/// Maximum number of homes that are being taken over at the same time.
const TAKEN_AT_ONCE: usize = 20;

/// Where the home of a tenant is.
#[derive(Clone, Debug)]
pub enum Whereabouts {
    /// This server has it.
    Here,
    Elsewhere(OtherOwner),
}

/// Whether a look at who owns a home may be a second old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    Recent,
    Now,
}

impl TenantRegistry {
    /// Returns which server has a home. This one claims it if no other that lives has it.
    ///
    /// # Errors
    /// Returns [`EngineError::HomeMoving`] if that is not decided yet, or if this server has lost the database.
    pub async fn whereabouts(
        self: &Arc<Self>,
        id: &HomeId,
        mut freshness: Freshness,
    ) -> Result<Whereabouts, EngineError> {
        let Some(cluster) = self.homes.cluster().filter(|_| self.homes.serve(id)) else {
            return Ok(Whereabouts::Here);
        };
        if cluster.standing() == Standing::Fenced {
            return Err(EngineError::HomeMoving);
        }
        if self.has(id) {
            return Ok(Whereabouts::Here);
        }
        // It may be claimed by another one in between.
        for _ in 0..2 {
            let other = match freshness {
                Freshness::Recent => cluster.other_owner(id).await,
                Freshness::Now => cluster.look_up_owner(id).await,
            };
            if let Some(owner) = other.map_err(unanswered)? {
                return Ok(Whereabouts::Elsewhere(owner));
            }
            match self.open(id).await {
                Ok(_) => return Ok(Whereabouts::Here),
                Err(EngineError::Store(StoreError::Database(DatabaseError::OwnedElsewhere))) => {
                    freshness = Freshness::Now;
                }
                Err(error) => return Err(error),
            }
        }
        Err(EngineError::HomeMoving)
    }

    /// Looks whether the server that has a home has ended, as it does not answer.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn owner_is_silent(&self) -> Result<(), EngineError> {
        match self.homes.cluster() {
            Some(cluster) => cluster.declare_dead().await.map_err(unanswered),
            None => Ok(()),
        }
    }

    /// Returns the servers and homes of the cluster, and the id of this server in it; `None` if it is in none.
    ///
    /// # Errors
    /// Returns an error if the database does not answer.
    pub async fn cluster_overview(&self, homes: u32) -> Result<Option<(Uuid, ClusterOverview)>, EngineError> {
        match self.homes.cluster() {
            Some(cluster) => cluster.overview(homes).await.map(Some).map_err(unanswered),
            None => Ok(None),
        }
    }

    /// Sets which people may use their homes. The works of the others rest.
    pub fn set_active(&self, people: impl Iterator<Item = HomeId>) {
        *self.active.write().unwrap_or_else(PoisonError::into_inner) = people.collect();
    }

    /// Whether works of a tenant may go on here.
    fn may_work(&self, id: &HomeId) -> bool {
        *id == HomeId::Server || self.active.read().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    /// Whether nothing of a tenant may run in this cluster: its person was disabled, and the server that was told has answered.
    pub(super) fn rests(&self, id: &HomeId) -> bool {
        self.is_in_cluster() && !self.may_work(id)
    }

    /// Whether other servers can have the homes.
    pub fn is_in_cluster(&self) -> bool {
        self.homes.cluster().is_some()
    }

    /// Whether this server is in a cluster and does not have the home of a tenant at this moment.
    pub fn is_elsewhere(&self, id: &HomeId) -> bool {
        if self.homes.cluster().is_none() {
            return false;
        }
        let slot = self.slots().get(id).cloned();
        let Some(slot) = slot else { return true };
        // Whoever holds the lock opens it, or lets it go.
        slot.state.try_lock().is_ok_and(|state| state.opened.is_none() || !self.may_use(&state))
    }

    /// Whether the home of a tenant is open here.
    fn has(&self, id: &HomeId) -> bool {
        let slot = self.slots().get(id).cloned();
        let state = slot.as_ref().and_then(|slot| slot.state.try_lock().ok());
        state.is_some_and(|state| state.opened.is_some() && self.may_use(&state))
    }

    /// Returns the code of why this member can store nothing now. A home whose database has gone back stays where it is: who had it
    /// taken over would decide that the database counts.
    pub(super) fn cluster_problem(&self, cluster: &Cluster) -> Option<&'static str> {
        if cluster.standing() == Standing::Fenced {
            return Some("database_unreachable");
        }
        let has_gone_back = self.in_memory().iter().any(|engine| engine.tenant().home.has_gone_back());
        has_gone_back.then_some("database_went_back")
    }

    /// Whether what is open may be used: no other server may have the home.
    pub(super) fn may_use(&self, state: &SlotState) -> bool {
        match (self.homes.cluster(), &state.home, state.member) {
            (Some(cluster), Some(home), Some(member)) => {
                cluster.standing() == Standing::Member(member) && !is_lost(home)
            }
            _ => true,
        }
    }

    /// Claims a home and opens its copy.
    pub(super) async fn claim(&self, cluster: &Cluster, id: &HomeId, state: &mut SlotState) -> Result<(), EngineError> {
        let ClaimedCopy { folder, replica, member } = cluster.claim(id).await.map_err(|error| match error {
            StoreError::Fenced => EngineError::HomeMoving,
            error => error.into(),
        })?;
        let contact = cluster.contact().filter(|_| *id == HomeId::Server);
        let opened = match id {
            HomeId::Server => opened_for_server,
            HomeId::Person(_) => opened_for_person,
        };
        let home = blocking(move || {
            let home = opened(&folder)?;
            if let Some(contact) = contact {
                home.note_server(contact)?;
            }
            Ok(home)
        });
        let home = match home.await {
            Ok(home) => home,
            Err(error) => {
                replica.give_back().await;
                if let EngineError::Store(error) = &error {
                    cluster.note_unopened(id, error);
                }
                return Err(error);
            }
        };
        home.keep_in(replica);
        home.store_regularly();
        (state.home, state.member) = (Some(home), Some(member));
        Ok(())
    }

    /// Drops the tenant as soon as another server may have its home.
    pub(super) fn follow_loss(self: &Arc<Self>, state: &SlotState, id: &HomeId) {
        let Some(moved) = state.home.as_ref().and_then(Home::moved) else { return };
        let (registry, id) = (Arc::downgrade(self), id.clone());
        tokio::spawn(async move {
            moved.cancelled().await;
            let Some(slot) = registry.upgrade().and_then(|registry| registry.slots().get(&id).cloned()) else { return };
            let mut state = slot.state.lock().await;
            if state.home.as_ref().is_some_and(is_lost) {
                state.drop_lost().await;
            }
        });
    }

    /// Follows a home in a database that this server has for itself: whoever takes it has taken all of them.
    pub(super) fn follow_succession(self: &Arc<Self>, state: &SlotState, id: &HomeId) {
        let Homes::Each { kept: Some(_), .. } = &self.homes else { return };
        let Some(taken) = state.home.as_ref().and_then(Home::taken_over) else { return };
        let (registry, id) = (Arc::downgrade(self), id.clone());
        tokio::spawn(async move {
            taken.cancelled().await;
            let Some(registry) = registry.upgrade() else { return };
            let slot = registry.slots().get(&id).cloned();
            let Some(slot) = slot else { return };
            // One that was given up is in no slot any more.
            let is_taken = |home: &Home| home.taken_over().is_some_and(|taken| taken.is_cancelled());
            if slot.state.lock().await.home.as_ref().is_some_and(is_taken)
                && let Homes::Each { kept: Some(kept), .. } = &registry.homes
            {
                kept.superseded.cancel();
            }
        });
    }

    /// Takes over what other servers leave behind, and drops what this one loses, as long as the registry is there.
    pub fn follow_cluster(self: &Arc<Self>) {
        let Some(cluster) = self.homes.cluster() else { return };
        let (registry, mut standing) = (Arc::downgrade(self), cluster.follow_standing());
        // Apart from what waits for the database.
        tokio::spawn(async move {
            while standing.changed().await.is_ok() {
                let Some(registry) = registry.upgrade() else { return };
                registry.give_up_lost_homes();
            }
        });
        let registry = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause()).await;
                let Some(registry) = registry.upgrade() else { return };
                let Some(cluster) = registry.homes.cluster() else { return };
                registry.give_up_lost_homes();
                if let Standing::Member(_) = cluster.standing() {
                    registry.take_over(cluster).await;
                }
            }
        });
    }

    /// Gives up each home that another server may have, without storing anything more.
    fn give_up_lost_homes(&self) {
        let slots: Vec<_> = self.slots().values().cloned().collect();
        for slot in slots {
            // One that is being opened is looked at again.
            if let Ok(state) = slot.state.try_lock()
                && !self.may_use(&state)
                && let Some(home) = &state.home
            {
                home.give_up();
            }
        }
    }

    async fn take_over(self: &Arc<Self>, cluster: &Cluster) {
        cluster.set_works(self.in_memory().iter().map(|engine| engine.tenant().runs.list().len()).sum());
        let looked = async {
            cluster.declare_dead().await?;
            // What passes through to an owner that has lost the home ends.
            cluster.look_up_known_owners().await?;
            if self.runtime().metrics.is_some() {
                cluster.count_living().await?;
            }
            cluster.orphans(&self.open_homes()).await
        };
        match looked.await {
            Ok(orphans) => {
                let orphans = orphans.into_iter().filter(|id| self.may_work(id));
                orphans.for_each(|id| self.begin_takeover(id));
            }
            Err(error) => tracing::warn!(%error, "could not look whether other servers have ended"),
        }
    }

    /// Returns the state of the cluster as this server sees it; `None` if it is in none.
    pub(super) fn cluster_figures(&self) -> Option<ClusterFigures> {
        let cluster = self.homes.cluster()?;
        Some(ClusterFigures { homes: self.open_homes().len(), servers: cluster.living() })
    }

    /// Returns the homes that are open here.
    fn open_homes(&self) -> Vec<HomeId> {
        let known: Vec<HomeId> = self.slots().keys().cloned().collect();
        known.into_iter().filter(|id| self.has(id)).collect()
    }

    /// Takes a home over in a task of its own, because a large one takes long, unless that is under way or enough others are.
    fn begin_takeover(self: &Arc<Self>, id: HomeId) {
        let mut under_way = self.takeovers();
        if under_way.len() >= TAKEN_AT_ONCE || !under_way.insert(id.clone()) {
            return;
        }
        let registry = self.clone();
        tokio::spawn(async move {
            registry.take_over_home(&id).await;
            registry.takeovers().remove(&id);
        });
    }

    /// Returns the homes that are being taken over.
    fn takeovers(&self) -> MutexGuard<'_, HashSet<HomeId>> {
        self.takeovers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take_over_home(self: &Arc<Self>, id: &HomeId) {
        match self.open(id).await {
            Ok(_) => tracing::warn!(home = %id, "took over a home with works under way"),
            // Another server was faster.
            Err(EngineError::Store(StoreError::Database(DatabaseError::OwnedElsewhere))) => {}
            Err(error) => tracing::error!(home = %id, %error, "a home with works under way could not be taken over"),
        }
    }
}

impl SlotState {
    /// Drops what another server may have by now: its commands end, and nothing more is stored.
    pub(super) async fn drop_lost(&mut self) {
        let Some(home) = self.home.take() else { return };
        home.give_up();
        if let Some(OpenTenant { engine, .. }) = self.opened.take() {
            engine.shut_down().await;
        }
        home.unlock();
        self.member = None;
        tracing::warn!("dropped a home that another server may have");
    }

    /// Gives up a home that was claimed and could not be opened.
    pub(super) async fn release_unopened(&mut self) {
        let Some(home) = self.home.take() else { return };
        if let Err(error) = home.release_claim().await {
            tracing::warn!(%error, "a home that could not be opened is not given up");
        }
        home.give_up();
        home.unlock();
        self.member = None;
    }
}

fn is_lost(home: &Home) -> bool {
    home.moved().is_some_and(|moved| moved.is_cancelled())
}

fn unanswered(error: DatabaseError) -> EngineError {
    EngineError::Store(error.into())
}

/// Returns the time to the next look, another one each time.
fn pause() -> Duration {
    let random = clock::new_secret().bytes().next_back().unwrap_or_default();
    LOOK.mul_f64(0.5 + f64::from(random % 16) / 16.0)
}
