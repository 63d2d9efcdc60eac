//! The tenants that are in memory. A tenant is opened on demand and closed after an idle time; the owner of a
//! single-person server stays open.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;
use uuid::Uuid;

use super::command_access::HomeOwner;
use super::homes::{Homes, Served, opened_for_person};
use super::metrics::{IndexSize, Snapshot};
use super::runtime::Runtime;
use super::sharing::Sharing;
use super::tenant::{Tenant, TenantHome};
use super::{Engine, EngineError, blocking};
use crate::agent::AdminLimits;
use crate::domain::{HomeId, Root, UsageLimits};
use crate::store::{DatabaseFigures, Home, SharedProjects};

/// Idle time after which a tenant is closed.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// Maximum number of homes that are being opened at the same time.
const OPENED_AT_ONCE: usize = 16;

pub struct TenantRegistry {
    runtime: Arc<Runtime>,
    pub(super) homes: Homes,
    /// One slot for each tenant that was requested. The lock is never held across I/O.
    slots: Mutex<HashMap<HomeId, Arc<Slot>>>,
    /// The users of the system that people's commands run as. Whoever is missing has no commands.
    command_users: RwLock<HashMap<HomeId, u32>>,
    /// The people who may use their homes, on a server of several.
    pub(super) active: RwLock<HashSet<HomeId>>,
    /// The projects that people share; absent on a server of one person, and if the homes are in a database.
    sharing: Option<Arc<Sharing>>,
    /// The homes that are being taken over from servers of a cluster that have ended.
    pub(super) takeovers: Mutex<HashSet<HomeId>>,
    /// How many more homes may be opened at the same time: one in a database needs a connection meanwhile.
    openings: Semaphore,
    /// The limits that admins have set for single people.
    limits: Mutex<HashMap<HomeId, Arc<AdminLimits>>>,
}

/// The slot of one tenant. Its lock is held while the tenant is opened or closed, so that a home has one owner at a
/// time.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) state: tokio::sync::Mutex<SlotState>,
}

#[derive(Default)]
pub(super) struct SlotState {
    /// Opened once and kept, so that no other process can take the home of a closed tenant.
    pub(super) home: Option<Home>,
    pub(super) opened: Option<OpenTenant>,
    /// The member of the cluster that claimed the home.
    pub(super) member: Option<Uuid>,
}

pub(super) struct OpenTenant {
    pub(super) engine: Arc<Engine>,
    used_at: Instant,
}

impl SlotState {
    /// Lets go of a home in a database that was given up when its engine was shut down. It is claimed again for its next use.
    fn drop_released(&mut self) {
        if let Some(home) = self.home.take_if(|home| home.is_in_database()) {
            home.give_up();
            home.unlock();
            self.member = None;
        }
    }

    /// Returns the open tenant and updates the time of its last use.
    fn used(&mut self) -> Option<Arc<Engine>> {
        let opened = self.opened.as_mut()?;
        opened.used_at = Instant::now();
        Some(opened.engine.clone())
    }
}

impl TenantRegistry {
    pub fn new(runtime: Arc<Runtime>, homes: Homes) -> Arc<Self> {
        Arc::new_cyclic(|tenants| {
            let shared = match &homes {
                // Without it, nobody is a member of a project. In a database, a home has only files of its own.
                Homes::Single(_) | Homes::Cluster(..) | Homes::Each { kept: Some(_), .. } => None,
                Homes::Each { people, .. } => SharedProjects::new(people)
                    .inspect_err(|error| tracing::error!(%error, "projects cannot be shared"))
                    .ok(),
            };
            let sharing = shared.map(|shared| Sharing::new(shared, tenants.clone()));
            Self {
                runtime,
                homes,
                slots: Mutex::default(),
                command_users: RwLock::default(),
                active: RwLock::default(),
                takeovers: Mutex::default(),
                openings: Semaphore::new(OPENED_AT_ONCE),
                sharing,
                limits: Mutex::default(),
            }
        })
    }

    /// Returns the projects that people share; `None` on a server of one person, and if the homes are in a database.
    pub fn sharing(&self) -> Option<&Arc<Sharing>> {
        self.sharing.as_ref()
    }

    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    pub(super) fn slots(&self) -> MutexGuard<'_, HashMap<HomeId, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the tenant's engine, opening the tenant if it is not in memory. Concurrent requests wait for the same
    /// opening, and never for that of another tenant.
    ///
    /// # Errors
    /// Returns [`EngineError::NoHome`] if this server has no home for it, and another error if its home cannot be
    /// used.
    pub async fn open(self: &Arc<Self>, id: &HomeId) -> Result<Arc<Engine>, EngineError> {
        if !self.homes.serve(id) {
            return Err(EngineError::NoHome(id.clone()));
        }
        let slot = self.slots().entry(id.clone()).or_default().clone();
        if let Ok(mut state) = slot.state.try_lock()
            && self.may_use(&state)
            && let Some(engine) = state.used()
        {
            return Ok(engine);
        }
        let (registry, id) = (self.clone(), id.clone());
        // In a separate task: a client that disconnects must not stop an opening half-way.
        let opening = tokio::spawn(async move {
            let mut state = slot.state.lock().await;
            if registry.may_use(&state) {
                if let Some(engine) = state.used() {
                    return Ok(engine);
                }
            } else {
                state.drop_lost().await;
            }
            if registry.rests(&id) {
                return Err(EngineError::HomeMoving);
            }
            // Never closed.
            let _turn = registry.openings.acquire().await;
            if let (Some(cluster), None) = (registry.homes.cluster(), &state.home) {
                registry.claim(cluster, &id, &mut state).await?;
            }
            let home = match &state.home {
                Some(home) => home.clone(),
                None => state.home.insert(registry.home(&id).await?).clone(),
            };
            let home = TenantHome { home, owner: registry.owner_of(&id), limits: registry.limits_of(&id) };
            let opened = Tenant::open(registry.runtime.clone(), home).await;
            let engine = match (opened, &registry.homes) {
                (Err(error), Homes::Cluster(..)) => {
                    // Another server, or a later try, may be able to open it.
                    state.release_unopened().await;
                    return Err(error);
                }
                (opened, _) => opened?,
            };
            if registry.rests(&id) {
                engine.end().await;
                engine.release().await;
                state.drop_released();
                return Err(EngineError::HomeMoving);
            }
            if let Some(sharing) = registry.sharing() {
                sharing.follow(&engine, &id);
            }
            registry.follow_loss(&state, &id);
            registry.follow_succession(&state, &id);
            state.opened = Some(OpenTenant { engine: engine.clone(), used_at: Instant::now() });
            Ok(engine)
        });
        opening.await.map_err(|_| EngineError::Internal("the opening of a home was cut off"))?
    }

    /// Sets the users of the system that people's commands run as. Counts for tenants that are opened from now on.
    pub fn set_command_users(&self, users: impl Iterator<Item = (HomeId, u32)>) {
        *self.command_users.write().unwrap_or_else(PoisonError::into_inner) = users.collect();
    }

    /// Sets the limits of people, or with `None` those of the server. Counts from the next request to a model on.
    pub fn set_limits(&self, limits: impl Iterator<Item = (HomeId, Option<UsageLimits>)>) {
        limits.for_each(|(id, limits)| self.limits_of(&id).set(limits));
    }

    fn limits_of(&self, id: &HomeId) -> Arc<AdminLimits> {
        let mut known = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(id.clone()).or_default().clone()
    }

    fn owner_of(&self, id: &HomeId) -> HomeOwner {
        match &self.homes {
            Homes::Single(_) | Homes::Cluster(_, Served::OnePerson) => HomeOwner::OnePerson,
            Homes::Each { .. } | Homes::Cluster(_, Served::Several) if *id == HomeId::Server => HomeOwner::Server,
            Homes::Each { .. } | Homes::Cluster(_, Served::Several) => {
                let users = self.command_users.read().unwrap_or_else(PoisonError::into_inner);
                HomeOwner::Person { uid: users.get(id).copied() }
            }
        }
    }

    async fn home(&self, id: &HomeId) -> Result<Home, EngineError> {
        let (account, people, kept) = match (&self.homes, id) {
            (Homes::Single(home) | Homes::Each { server: home, .. }, HomeId::Server) => return Ok(home.clone()),
            (Homes::Single(_), HomeId::Person(_)) => return Err(EngineError::NoHome(id.clone())),
            (Homes::Cluster(..), _) => return Err(EngineError::HomeMoving),
            (Homes::Each { people, kept, .. }, HomeId::Person(account)) => (account.clone(), people, kept),
        };
        let folder = people.join(account.as_str());
        if let Some(kept) = kept {
            return kept.home(id, folder).await;
        }
        let shared = self.sharing().map(|sharing| sharing.projects.clone());
        blocking(move || {
            let home = opened_for_person(&folder)?;
            if let Some(shared) = shared {
                home.share(account, shared);
            }
            Ok(home)
        })
        .await
    }

    /// Whether a file of a tenant in memory could not be parsed and was quarantined since the start.
    pub fn has_quarantined(&self) -> bool {
        self.in_memory().iter().any(|engine| !engine.tenant().home.quarantined().is_empty())
    }

    /// Returns the code of why the database behind the home cannot be used now; `None` if it can, or if there is none. In a cluster,
    /// the database counts as unreachable as long as this server cannot say there that it lives.
    pub async fn database_problem(&self) -> Option<&'static str> {
        match &self.homes {
            Homes::Single(home) => home.database_problem().await,
            Homes::Cluster(cluster, _) => self.cluster_problem(cluster),
            Homes::Each { server, .. } => server.database_problem().await,
        }
    }

    fn database_figures(&self) -> Option<DatabaseFigures> {
        match &self.homes {
            Homes::Single(home) | Homes::Each { server: home, .. } => home.database_figures(),
            Homes::Cluster(cluster, _) => Some(cluster.database_figures()),
        }
    }

    /// Returns the state of the server, for monitoring. It waits for nothing that holds a home or an index, and not for the database.
    ///
    /// # Errors
    /// Returns an error if the server is stopping.
    pub async fn snapshot(&self) -> Result<Snapshot, EngineError> {
        let engines = self.in_memory();
        let mut now = Snapshot {
            homes: engines.len(),
            database: self.database_figures(),
            cluster: self.cluster_figures(),
            ..Snapshot::default()
        };
        for engine in &engines {
            let tenant = engine.tenant();
            now.works += tenant.runs.list().len();
            now.sessions += engine.live_sessions().await;
            now.approvals += tenant.approvals.list().len();
        }
        now.indexes = blocking(move || {
            let mut sizes = [Root::Memory, Root::Knowledge].map(|root| IndexSize::of(&root));
            for tenant in engines.iter().map(|engine| engine.tenant()) {
                for (size, library) in sizes.iter_mut().zip([&tenant.memory, &tenant.knowledge]) {
                    let of_library = library.size();
                    size.files += of_library.files;
                    size.bytes += of_library.bytes;
                }
            }
            Ok(sizes)
        })
        .await?;
        Ok(now)
    }

    /// Returns the tenants that are in memory.
    pub(super) fn in_memory(&self) -> Vec<Arc<Engine>> {
        let slots: Vec<Arc<Slot>> = self.slots().values().cloned().collect();
        let engines = slots.iter().filter_map(|slot| Some(slot.state.try_lock().ok()?.opened.as_ref()?.engine.clone()));
        engines.collect()
    }

    /// Closes idle tenants periodically until the registry is dropped.
    pub fn sweep_regularly(self: &Arc<Self>) {
        if matches!(self.homes, Homes::Single(_) | Homes::Cluster(_, Served::OnePerson)) {
            return;
        }
        let registry = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(IDLE / 10).await;
                let Some(registry) = registry.upgrade() else { break };
                registry.sweep().await;
            }
        });
    }

    /// Closes the tenants that have been idle for [`IDLE`]. A tenant is in use while a caller holds its engine, a
    /// session is in memory, or a client follows its events.
    async fn sweep(&self) {
        let slots: Vec<(HomeId, Arc<Slot>)> =
            self.slots().iter().map(|(id, slot)| (id.clone(), slot.clone())).collect();
        for (id, slot) in slots {
            // A tenant that is being opened is in use.
            let Ok(mut state) = slot.state.try_lock() else { continue };
            let is_over = |opened: &mut OpenTenant| {
                opened.used_at.elapsed() >= IDLE && Arc::strong_count(&opened.engine) == 1 && opened.engine.is_idle()
            };
            if let Some(OpenTenant { engine, .. }) = state.opened.take_if(is_over) {
                engine.shut_down().await;
                state.drop_released();
                tracing::debug!(home = %id, "let go");
            }
        }
    }

    /// Ends all runs of a tenant and closes it. It is opened again when it is used next.
    pub async fn close(&self, id: &HomeId) {
        self.close_telling(id, || {}).await;
    }

    /// Like [`TenantRegistry::close`]; `ended` is called when nothing runs any more. Writing the home to disk can take minutes after that.
    pub async fn close_telling(&self, id: &HomeId, ended: impl FnOnce()) {
        let slot = self.slots().get(id).cloned();
        let Some(slot) = slot else { return ended() };
        let mut state = slot.state.lock().await;
        let Some(OpenTenant { engine, .. }) = state.opened.take() else { return ended() };
        engine.end().await;
        ended();
        engine.release().await;
        state.drop_released();
    }

    /// Stops all runs of all tenants and writes everything to disk, then stops what the process shares.
    pub async fn shut_down(&self) {
        let slots: Vec<Arc<Slot>> = self.slots().values().cloned().collect();
        let closing = slots.iter().map(|slot| async {
            // The engine stays in its slot: it refuses later requests, and the home is not opened again.
            let engine = slot.state.lock().await.opened.as_ref().map(|opened| opened.engine.clone());
            if let Some(engine) = engine {
                engine.shut_down().await;
            }
        });
        futures_util::future::join_all(closing).await;
        self.runtime.models.stop().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Environment};
    use crate::domain::{AccountId, Place, SessionId};
    use crate::engine::documents::{SavedBy, SavedText};
    use crate::engine::provider_changes::{NewProvider, ProviderRefused};
    use crate::store::Expect;

    async fn registry(folder: &std::path::Path) -> Arc<TenantRegistry> {
        std::fs::write(folder.join("config.yml"), "embedding: {provider: none}\nfind_local_models: false\n").unwrap();
        let environment = Environment::load(folder, std::iter::empty()).unwrap();
        let config = Config::load(folder, &environment).unwrap();
        let runtime = Runtime::start(config, folder, 0).await.unwrap();
        let server = Home::open(folder).unwrap();
        TenantRegistry::new(runtime, Homes::Each { people: server.people_folder().unwrap(), server, kept: None })
    }

    fn id(text: &str) -> HomeId {
        HomeId::Person(AccountId::parse(text).unwrap())
    }

    #[tokio::test]
    async fn tenants_share_nothing_but_the_runtime() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry(folder.path()).await;
        let (ann, bob) = (registry.open(&id("ann")).await.unwrap(), registry.open(&id("bob")).await.unwrap());
        let again = registry.open(&id("ann")).await.unwrap();
        assert!(Arc::ptr_eq(&ann, &again) && !Arc::ptr_eq(&ann, &bob));
        assert!(Arc::ptr_eq(&ann.tenant().runtime, &bob.tenant().runtime));

        let session = SessionId::parse(&ann.create("Hers", None).await.unwrap().id).unwrap();
        let note = Place::parse("memory/hers.md").unwrap();
        let saved = SavedText { text: "Hers alone.".into(), expect: Expect::Absent, by: SavedBy::Page };
        ann.tenant().documents.save(&note, saved).await.unwrap();
        assert_eq!(ann.list().await.unwrap().len(), 1);
        assert!(bob.list().await.unwrap().is_empty());
        assert!(matches!(bob.view(&session).await, Err(EngineError::NoSession(_))));
        assert!(bob.tenant().home.read_bytes(&note).is_err());
        assert!(bob.tenant().hub.last() < ann.tenant().hub.last(), "she was told, he was not");
        registry.shut_down().await;
    }

    #[tokio::test]
    async fn only_the_servers_own_home_connects_providers() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry(folder.path()).await;
        let ann = registry.open(&id("ann")).await.unwrap();
        let url: url::Url = "http://127.0.0.1:1/v1".parse().unwrap();
        let new =
            NewProvider { base_url: url, api: None, name: None, api_key: Some("sk-ann".into()), default_model: None };
        let refused = ann.tenant().add_provider(new).await;
        assert!(matches!(refused, Err(EngineError::ProviderRefused(ProviderRefused::NotHere))), "{refused:?}");
        assert!(registry.runtime().models.candidates().is_empty());
        assert!(!ann.tenant().home.path().join(".env").exists());
        registry.shut_down().await;
    }

    #[tokio::test(start_paused = true)]
    async fn idle_tenant_closes_and_reopens() {
        let folder = tempfile::tempdir().unwrap();
        let registry = registry(folder.path()).await;
        let ann = registry.open(&id("ann")).await.unwrap();
        ann.create("Kept", None).await.unwrap();
        let first = ann.tenant().hub.boot().to_owned();
        tokio::time::advance(IDLE).await;
        registry.sweep().await;
        assert_eq!(registry.in_memory().len(), 1, "somebody holds her");
        drop(ann);
        registry.open(&id("ann")).await.unwrap();
        registry.sweep().await;
        assert_eq!(registry.in_memory().len(), 1, "she was used just now");
        tokio::time::advance(IDLE).await;
        while !registry.in_memory().is_empty() {
            registry.sweep().await;
            tokio::task::yield_now().await;
        }
        let again = registry.open(&id("ann")).await.unwrap();
        assert_eq!(again.list().await.unwrap().len(), 1);
        assert_ne!(again.tenant().hub.boot(), first, "it is another opening");
        registry.shut_down().await;
    }
}
