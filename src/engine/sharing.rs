//! What the homes of a server do for each other where people share projects: they tell of changes, and end what a role no longer
//! allows. Who may do what is decided by the store at each access ([`crate::store::SharedProjects`]), not here.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};

use super::{Engine, EngineError, Notice, TenantRegistry, blocking};
use crate::domain::{AccountId, HomeId, Place, ProjectId, ProjectRole, Root};
use crate::store::{Home, SharedProjects};

/// The projects that the people of a server share.
pub struct Sharing {
    pub projects: Arc<SharedProjects>,
    tenants: Weak<TenantRegistry>,
}

impl Sharing {
    pub fn new(projects: Arc<SharedProjects>, tenants: Weak<TenantRegistry>) -> Arc<Self> {
        Arc::new(Self { projects, tenants })
    }

    /// Lets everybody in memory notice that roles or projects have changed. Returns when what is no longer allowed has ended.
    pub async fn changed(&self) {
        let Some(tenants) = self.tenants.upgrade() else { return };
        let all = tenants.in_memory();
        let told = all.iter().map(async |engine| {
            if let Err(error) = engine.roles_changed().await {
                tracing::error!(%error, "what a role no longer allows may still go on");
            }
        });
        futures_util::future::join_all(told).await;
    }

    /// Tells the others of a shared project what this tenant is told.
    fn relay(self: &Arc<Self>, from: &HomeId, notice: &Notice) {
        let project = match notice {
            Notice::FileChanged { path, .. } | Notice::FolderChanged { path } => match Place::parse_folder(path) {
                Ok(place) => match place.root() {
                    Root::Project(id) if *id != ProjectId::scratch() => Some(id.clone()),
                    _ => return,
                },
                Err(_) => return,
            },
            Notice::ProjectsChanged => None,
            _ => return,
        };
        let (sharing, from, notice) = (self.clone(), from.clone(), notice.clone());
        tokio::task::spawn_blocking(move || {
            let Some(tenants) = sharing.tenants.upgrade() else { return };
            let all = tenants.in_memory();
            let Some(own) = all.iter().find(|engine| is_of(engine, &from)) else { return };
            for other in all.iter().filter(|engine| !is_of(engine, &from)) {
                let (home, hub) = (&other.tenant().home, &other.tenant().hub);
                let is_concerned = match &project {
                    Some(id) => have_both(&own.tenant().home, home, (id, &from, other)),
                    None => home.shared_projects().iter().any(|(_, _, owner)| Some(owner) == from.person()),
                };
                if is_concerned {
                    hub.relayed(notice.clone());
                }
            }
        });
    }

    /// Follows a tenant that was just opened.
    pub(super) fn follow(self: &Arc<Self>, engine: &Arc<Engine>, id: &HomeId) {
        let tenant = engine.tenant();
        let _ = tenant.sharing.set((self.clone(), id.clone()));
        let (sharing, from) = (Arc::downgrade(self), id.clone());
        tenant.hub.relay_to(Box::new(move |notice| {
            if let Some(sharing) = sharing.upgrade() {
                sharing.relay(&from, notice);
            }
        }));
    }
}

fn is_of(engine: &Engine, id: &HomeId) -> bool {
    engine.tenant().sharing.get().is_some_and(|(_, known)| known == id)
}

/// Whether both homes have the same project: one of them shares it with the other, or somebody shares it with both.
fn have_both(own: &Home, other: &Home, (id, from, engine): (&ProjectId, &HomeId, &Engine)) -> bool {
    let owner_of = |home: &Home, home_id: &HomeId| -> Option<AccountId> {
        let (_, owner) = home.role_in(id)?;
        owner.or_else(|| home_id.person().cloned())
    };
    let Some((_, other_id)) = engine.tenant().sharing.get() else { return false };
    let owner = owner_of(own, from);
    owner.is_some() && owner == owner_of(other, other_id)
}

impl Engine {
    /// Ends what the roles of this person no longer allow, and tells their pages.
    async fn roles_changed(&self) -> Result<(), EngineError> {
        let home = self.tenant.home.clone();
        let now = blocking(move || Ok(home.shared_roles())).await?;
        let before = {
            let mut known = self.tenant.shared_roles.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *known, now.clone())
        };
        let ids = before.keys().chain(now.keys());
        let changed: Vec<&ProjectId> = ids.filter(|id| before.get(id) != now.get(id)).collect();
        for id in &changed {
            // Made for the former role.
            self.tenant.tool_sources.project_deleted(id);
            if now.get(id) < before.get(id) {
                self.end_work_in(id).await;
            }
            if !now.contains_key(*id) {
                let (libraries, gone) = (self.tenant.project_libraries.clone(), (*id).clone());
                blocking(move || {
                    libraries.project_deleted(&gone);
                    Ok(())
                })
                .await?;
            }
        }
        if !changed.is_empty() {
            self.tenant.hub.relayed(Notice::ProjectsChanged);
        }
        Ok(())
    }

    /// Stops the runs and background commands in a project.
    async fn end_work_in(&self, id: &ProjectId) {
        for session in self.tenant.runs.list() {
            if self.view(&session).await.is_ok_and(|view| view.session.project_id.as_ref() == Some(id)) {
                // It may have ended by itself.
                let _ = self.interrupt(&session).await;
            }
        }
        self.tenant.jobs.stop_in(&Root::Project(id.clone())).await;
    }

    /// Lets the members of a project notice that its owner has changed it.
    pub(super) async fn own_projects_changed(&self) {
        if let Some((sharing, _)) = self.tenant.sharing.get() {
            sharing.changed().await;
        }
    }
}

/// What a tenant knows of the roles of its person.
pub(super) type KnownRoles = std::sync::Mutex<BTreeMap<ProjectId, ProjectRole>>;
