//! The members of the projects that people share. Only the owner of a project invites, and only the invited person accepts.
//! Whether somebody has a user name is not told: an invitation of a name that nobody has looks the same.

use std::sync::Arc;

use tokio::sync::{Mutex, OnceCell, watch};

use super::{People, PeopleError};
use crate::clock;
use crate::domain::account_fields::{Username, folded};
use crate::domain::members::Invitee;
use crate::domain::{
    AccountId, MemberBook, MemberRole, MemberState, MembersRefused, ProjectId, ProjectMember, ProjectRole,
};
use crate::engine::{EngineError, blocking};
use crate::store::{SharedState, StoreError, StoredMembers};

/// The shared projects as they are on disk.
pub(super) struct Members {
    book: watch::Sender<Arc<MemberBook>>,
    /// The hash of the file, or nothing more is written because it is damaged. Held while it is written.
    stored: Mutex<Result<Option<String>, MembersRefused>>,
    /// Whether commands can work in the folder of somebody else; looked at when a project is first shared.
    /// Why commands cannot work in the folder of somebody else, once it has been tried.
    no_exchange: OnceCell<Option<String>>,
}

impl Members {
    pub fn new(StoredMembers { book, etag, is_damaged }: StoredMembers) -> Self {
        let stored = if is_damaged { Err(MembersRefused::Damaged) } else { Ok(etag) };
        Self { book: watch::Sender::new(Arc::new(book)), stored: Mutex::new(stored), no_exchange: OnceCell::new() }
    }

    /// Returns those of a server on which nobody shares projects.
    pub fn none() -> Self {
        Self::new(StoredMembers { book: MemberBook::default(), etag: None, is_damaged: false })
    }

    fn book(&self) -> Arc<MemberBook> {
        self.book.borrow().clone()
    }
}

/// The people of a project, as one of them sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectPeople {
    pub role: ProjectRole,
    /// User name.
    pub owner: String,
    pub members: Vec<ShownMember>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ShownMember {
    /// Of an invitation as the owner wrote it, of a member as it is now.
    pub username: String,
    pub role: MemberRole,
    pub state: MemberState,
    /// Unix seconds.
    pub since: f64,
}

/// A project that somebody wants to share with a person.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectInvitation {
    pub project: ProjectId,
    pub name: String,
    /// User name.
    pub owner: String,
    pub role: MemberRole,
    /// Unix seconds.
    pub since: f64,
}

impl People {
    /// Returns the members of a project of this owner.
    pub fn members_of(
        &self,
        id: &ProjectId,
        owner: &AccountId,
        role: ProjectRole,
    ) -> Result<ProjectPeople, PeopleError> {
        let book = self.members.book();
        let project = book.project(id).filter(|project| project.owner == *owner);
        let members = project.into_iter().flat_map(|project| &project.members).map(|member| self.shown(member));
        Ok(ProjectPeople { role, owner: self.account(owner)?.username, members: members.collect() })
    }

    /// Invites a person to a project of this owner, or changes the role of one who is invited or a member.
    ///
    /// # Errors
    /// Returns `bad_username`, [`MembersRefused::OwnName`], [`MembersRefused::TooMany`] and [`MembersRefused::InDatabase`].
    pub async fn invite_member(
        self: &Arc<Self>,
        (id, owner): (&ProjectId, &AccountId),
        username: &str,
        role: MemberRole,
    ) -> Result<ShownMember, PeopleError> {
        self.require_sharing()?;
        let username = Username::parse(username)?.as_str().to_owned();
        let account = self.book().named(&username).map(|account| account.id.clone());
        if account.as_ref() == Some(owner) {
            return Err(MembersRefused::OwnName.into());
        }
        let (id, owner) = (id.clone(), owner.clone());
        let made = self
            .edit_members(move |book| book.invite((&id, &owner), Invitee { username, account, role }, clock::now()))
            .await?;
        Ok(self.shown(&made))
    }

    /// Removes a member of a project, or an invitation to it. `by` is the owner, or the member.
    ///
    /// # Errors
    /// Returns [`MembersRefused::NoMember`] if there is none of this name, or if a member removes somebody else.
    pub async fn remove_member(
        self: &Arc<Self>,
        (id, owner): (&ProjectId, &AccountId),
        username: &str,
        by: &AccountId,
    ) -> Result<(), PeopleError> {
        let named = self.book().named(username).map(|account| account.id.clone());
        if by != owner && named.as_ref() != Some(by) {
            return Err(MembersRefused::NoMember.into());
        }
        let (id, key) = (id.clone(), folded(username));
        self.edit_members(move |book| {
            book.remove(&id, |member| match member.state {
                MemberState::Member => named.is_some() && member.account == named,
                MemberState::Invited => folded(&member.username) == key,
            })
        })
        .await
    }

    /// Returns the invitations of a person, oldest first. Those to projects that are gone are left out.
    pub async fn project_invitations(&self, account: &AccountId) -> Result<Vec<ProjectInvitation>, PeopleError> {
        let Some(sharing) = self.tenants.sharing() else { return Ok(Vec::new()) };
        let (shared, book, account) = (sharing.projects.clone(), self.members.book(), account.clone());
        let found = blocking(move || {
            let mut found = Vec::new();
            for project in &book.projects {
                let theirs = |member: &&ProjectMember| {
                    member.state == MemberState::Invited && member.account.as_ref() == Some(&account)
                };
                let Some(invited) = project.members.iter().rfind(theirs) else { continue };
                let Some(listed) = shared.project_of(&project.owner, &project.id) else { continue };
                found.push((project.id.clone(), listed.name, project.owner.clone(), (invited.role, invited.since)));
            }
            Ok(found)
        })
        .await?;
        let mut invitations = Vec::new();
        for (project, name, owner, (role, since)) in found {
            invitations.push(ProjectInvitation { project, name, owner: self.account(&owner)?.username, role, since });
        }
        invitations.sort_by(|a, b| a.since.total_cmp(&b.since));
        Ok(invitations)
    }

    /// Makes an invited person a member.
    ///
    /// # Errors
    /// Returns [`MembersRefused::NoInvitation`] if they are not invited, or the project is gone, and [`MembersRefused::InDatabase`].
    pub async fn accept_project(self: &Arc<Self>, id: &ProjectId, account: &AccountId) -> Result<(), PeopleError> {
        self.require_sharing()?;
        if !self.project_invitations(account).await?.iter().any(|invitation| invitation.project == *id) {
            return Err(MembersRefused::NoInvitation.into());
        }
        let (id, account) = (id.clone(), account.clone());
        self.edit_members(move |book| book.accept(&id, &account, clock::now())).await
    }

    /// Declines an invitation.
    ///
    /// # Errors
    /// Returns [`MembersRefused::NoInvitation`].
    pub async fn decline_project(self: &Arc<Self>, id: &ProjectId, account: &AccountId) -> Result<(), PeopleError> {
        let (id, account) = (id.clone(), account.clone());
        self.edit_members(move |book| {
            let declined = book.remove(&id, |member| {
                member.state == MemberState::Invited && member.account.as_ref() == Some(&account)
            });
            declined.map_err(|_| MembersRefused::NoInvitation)
        })
        .await
    }

    /// A write to the folder of a project is stored in the database with the home that it is in, whoever makes it; a member has another
    /// home.
    fn require_sharing(&self) -> Result<(), MembersRefused> {
        if self.tenants.sharing().is_some() { Ok(()) } else { Err(MembersRefused::InDatabase) }
    }

    fn shown(&self, member: &ProjectMember) -> ShownMember {
        let now = member.account.as_ref().filter(|_| member.state == MemberState::Member);
        let now = now.and_then(|id| self.account(id).ok()).map(|account| account.username);
        ShownMember {
            username: now.unwrap_or_else(|| member.username.clone()),
            role: member.role,
            state: member.state,
            since: member.since,
        }
    }

    /// Changes who is a member: on disk first, then for everybody. Returns when what is no longer allowed has ended. Goes on even
    /// if the requester disconnects.
    async fn edit_members<T: Send + 'static>(
        self: &Arc<Self>,
        change: impl FnOnce(&mut MemberBook) -> Result<T, MembersRefused> + Send + 'static,
    ) -> Result<T, PeopleError> {
        let people = self.clone();
        let edited = tokio::spawn(async move {
            let mut stored = people.members.stored.lock().await;
            let old = stored.clone()?;
            let mut book = MemberBook::clone(&people.members.book());
            let made = change(&mut book)?;
            let server = people.server().await?;
            let saved = server.tree.save_members(server.claim, old, &book).await;
            let etag = saved.map_err(|error| match error {
                StoreError::Conflict { .. } => PeopleError::from(MembersRefused::ChangedOnDisk),
                error => EngineError::from(error).into(),
            })?;
            *stored = Ok(Some(etag));
            people.members.book.send_replace(Arc::new(book));
            people.look_at_exchange().await;
            people.set_shares();
            if let Some(sharing) = people.tenants.sharing() {
                sharing.changed().await;
            }
            Ok(made)
        });
        edited.await.map_err(|_| EngineError::Internal("the change of a project's members was cut off"))?
    }

    /// Lets members use the projects that are shared with them.
    pub(super) fn set_shares(&self) {
        let Some(sharing) = self.tenants.sharing() else { return };
        let accounts = self.book();
        let uids = accounts.accounts.iter().filter_map(|account| Some((account.id.clone(), account.uid?)));
        let untried = || Some("this server has no users of the system for the commands of people".to_owned());
        let no_exchange = self.members.no_exchange.get().cloned().unwrap_or_else(untried);
        sharing.projects.set(SharedState::new(&self.members.book(), uids, no_exchange));
    }

    /// Finds out, once, whether commands can work in the folder of somebody else on this machine.
    pub(super) async fn look_at_exchange(&self) {
        let Some(uids) = self.uids.filter(|_| !self.members.book().projects.is_empty()) else { return };
        let Ok(server) = self.server().await else { return };
        let (sandbox, folder) = (server.runtime.sandbox.clone(), server.home.path().join("storage"));
        let look = async || {
            let why = sandbox.exchange_obstacle(&folder, [uids.first(), uids.last()]).await?;
            tracing::warn!("members have no commands in projects of others: {why}");
            Some(without_paths(&why))
        };
        self.members.no_exchange.get_or_init(look).await;
    }
}

/// Returns the first line of a reason as people who do not administer the server may read it: without paths of the machine.
fn without_paths(why: &str) -> String {
    let word = |word: &str| {
        let is_path = word.trim_start_matches(['"', '\'', '`', '(']).starts_with('/');
        if is_path { "…".to_owned() } else { word.to_owned() }
    };
    let line = why.trim().lines().next().unwrap_or_default();
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

impl From<MembersRefused> for PeopleError {
    fn from(refused: MembersRefused) -> Self {
        Self::Members(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_for_people_has_no_paths() {
        let why = "making a mount in /srv/home/storage/exchange-1: not permitted (\"/proc\")\n/bin/sh: line 1";
        assert_eq!(without_paths(why), "making a mount in … not permitted …");
        assert_eq!(without_paths("\nfiles would belong to the user 7"), "files would belong to the user 7");
    }
}
