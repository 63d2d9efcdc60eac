//! The projects that people of one server share: who is invited, who is a member, and what each may do there.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::account::AccountId;
use super::account_fields::folded;
use super::ids::ProjectId;
use super::linking::FolderIdentity;

/// Maximum number of members and invitations of a project.
pub const MAX_MEMBERS: usize = 100;

/// What a person may do in a project that somebody shares with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberRole {
    /// Reads files, searches, and has conversations that only read.
    Viewer,
    /// Also changes files, uses git and runs commands.
    Editor,
}

/// What a person may do in a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProjectRole {
    Viewer,
    Editor,
    /// Also renames, deletes and shares it.
    Owner,
}

impl From<MemberRole> for ProjectRole {
    fn from(role: MemberRole) -> Self {
        match role {
            MemberRole::Viewer => Self::Viewer,
            MemberRole::Editor => Self::Editor,
        }
    }
}

/// Why a member of a project may not do something in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoleRefused {
    #[error("you may only read this project; ask its owner to make you an editor")]
    ReadOnly,
    #[error("only the owner of this project can do this")]
    OwnerOnly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// The person has not accepted. Also if nobody has the user name: that is not told.
    Invited,
    Member,
}

/// A person who is invited to a project, or its member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectMember {
    /// The user name as the owner wrote it.
    pub username: String,
    /// Absent if nobody had the user name when the owner wrote it. Such an invitation reaches nobody, also later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountId>,
    pub role: MemberRole,
    pub state: MemberState,
    /// Unix seconds of the invitation, or of its acceptance.
    pub since: f64,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// A project that is shared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharedProject {
    pub id: ProjectId,
    pub owner: AccountId,
    #[serde(default)]
    pub members: Vec<ProjectMember>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// All shared projects: the content of `project-members.json`. A write keeps fields that this version does not know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemberBook {
    pub projects: Vec<SharedProject>,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// Whom an owner invites.
#[derive(Clone, Debug)]
pub struct Invitee {
    /// As the owner wrote it.
    pub username: String,
    pub account: Option<AccountId>,
    pub role: MemberRole,
}

/// Why the members of a project cannot be changed like this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MembersRefused {
    #[error("the project belongs to you already")]
    OwnName,
    #[error("a project has at most {MAX_MEMBERS} members and invitations; remove one first")]
    TooMany,
    #[error("the project has no member and no invitation of this name")]
    NoMember,
    #[error("there is no such invitation; it may have been taken back")]
    NoInvitation,
    #[error(
        "projects cannot be shared on a server whose homes are in a database (`store` in config.yml); each person works in projects of their own"
    )]
    InDatabase,
    #[error("project-members.json is damaged; correct it, and restart the server")]
    Damaged,
    #[error("project-members.json was changed by another program; restart the server to use it")]
    ChangedOnDisk,
}

impl MemberBook {
    /// Checks what a person who edits the file could get wrong.
    ///
    /// # Errors
    /// Returns a sentence that says which project is wrong.
    pub fn check(&self) -> Result<(), String> {
        for (at, project) in self.projects.iter().enumerate() {
            if self.projects[..at].iter().any(|other| other.id == project.id) {
                return Err(format!("the project {} is there twice", project.id));
            }
            let mut accounts: Vec<&AccountId> = project
                .members
                .iter()
                .filter(|member| member.state == MemberState::Member)
                .filter_map(|m| m.account.as_ref())
                .collect();
            accounts.push(&project.owner);
            accounts.sort();
            if accounts.windows(2).any(|pair| pair[0] == pair[1]) {
                return Err(format!("a person is there twice in the project {}", project.id));
            }
            if project.members.iter().any(|member| member.state == MemberState::Member && member.account.is_none()) {
                return Err(format!("a member of the project {} has no account", project.id));
            }
        }
        Ok(())
    }

    pub fn project(&self, id: &ProjectId) -> Option<&SharedProject> {
        self.projects.iter().find(|project| project.id == *id)
    }

    fn of_owner(&mut self, id: &ProjectId, owner: &AccountId) -> Option<&mut SharedProject> {
        self.projects.iter_mut().find(|project| project.id == *id && project.owner == *owner)
    }

    /// Invites a person, or changes the role of one who is invited or a member. `named` returns the account of a member.
    /// Returns the entry.
    ///
    /// # Errors
    /// Returns [`MembersRefused::TooMany`], and [`MembersRefused::NoMember`] if the id is that of a project of somebody else.
    pub fn invite(
        &mut self,
        (id, owner): (&ProjectId, &AccountId),
        Invitee { username, account, role }: Invitee,
        now: f64,
    ) -> Result<ProjectMember, MembersRefused> {
        match self.project(id) {
            Some(project) if project.owner != *owner => return Err(MembersRefused::NoMember),
            Some(_) => {}
            None => {
                let (members, unknown) = (Vec::new(), Map::new());
                self.projects.push(SharedProject { id: id.clone(), owner: owner.clone(), members, unknown });
            }
        }
        let project = self.of_owner(id, owner).ok_or(MembersRefused::NoMember)?;
        let is_member = |member: &ProjectMember| {
            member.state == MemberState::Member && account.is_some() && member.account == account
        };
        let is_invited = |member: &ProjectMember| {
            member.state == MemberState::Invited && folded(&member.username) == folded(&username)
        };
        let at = project.members.iter().position(is_member).or_else(|| project.members.iter().position(is_invited));
        if let Some(known) = at.and_then(|at| project.members.get_mut(at)) {
            known.role = role;
            if known.state == MemberState::Invited {
                known.account = account;
            }
            return Ok(known.clone());
        }
        if project.members.len() >= MAX_MEMBERS {
            return Err(MembersRefused::TooMany);
        }
        let state = MemberState::Invited;
        let invited = ProjectMember { username, account, role, state, since: now, unknown: Map::new() };
        project.members.push(invited.clone());
        Ok(invited)
    }

    /// Makes a person who is invited a member.
    ///
    /// # Errors
    /// Returns [`MembersRefused::NoInvitation`].
    pub fn accept(&mut self, id: &ProjectId, account: &AccountId, now: f64) -> Result<(), MembersRefused> {
        let project = self.projects.iter_mut().find(|project| project.id == *id);
        let project = project.ok_or(MembersRefused::NoInvitation)?;
        let is_theirs = |member: &ProjectMember| member.account.as_ref() == Some(account);
        let invited =
            project.members.iter().rev().find(|member| is_theirs(member) && member.state == MemberState::Invited);
        let invited = invited.cloned().ok_or(MembersRefused::NoInvitation)?;
        project.members.retain(|member| !is_theirs(member));
        project.members.push(ProjectMember { state: MemberState::Member, since: now, ..invited });
        Ok(())
    }

    /// Removes the entries of a project that `is_meant`, and the project with its last one.
    ///
    /// # Errors
    /// Returns [`MembersRefused::NoMember`] if there is none.
    pub fn remove(&mut self, id: &ProjectId, is_meant: impl Fn(&ProjectMember) -> bool) -> Result<(), MembersRefused> {
        let project = self.projects.iter_mut().find(|project| project.id == *id).ok_or(MembersRefused::NoMember)?;
        let before = project.members.len();
        project.members.retain(|member| !is_meant(member));
        if project.members.len() == before {
            return Err(MembersRefused::NoMember);
        }
        self.projects
            .retain(|project| !(project.id == *id && project.members.is_empty() && project.unknown.is_empty()));
        Ok(())
    }
}

/// To whom the files of a folder belong in which commands work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FolderOwner {
    /// To the user of the commands, who gets the whole folder.
    Commands,
    /// To whom they belong: a person has linked the folder, and commands do not start in another one that has its path now.
    Kept(FolderIdentity),
    /// To the user of the person who shares the folder.
    Sharer { uid: u32, is_read_only: bool },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> AccountId {
        AccountId::parse(text).unwrap()
    }

    fn invitee(username: &str, account: Option<&str>, role: MemberRole) -> Invitee {
        Invitee { username: username.to_owned(), account: account.map(id), role }
    }

    #[test]
    fn invitation_is_accepted_by_the_invited_person_only() {
        let (mut book, tea) = (MemberBook::default(), ProjectId::parse("tea").unwrap());
        let of = (&tea, &id("ann"));
        book.invite(of, invitee("Bob", Some("bob"), MemberRole::Viewer), 1.0).unwrap();
        book.invite(of, invitee("nobody", None, MemberRole::Editor), 1.0).unwrap();
        assert_eq!(book.accept(&tea, &id("carol"), 2.0), Err(MembersRefused::NoInvitation));
        book.accept(&tea, &id("bob"), 2.0).unwrap();
        assert_eq!(book.accept(&tea, &id("bob"), 3.0), Err(MembersRefused::NoInvitation));
        let changed = book.invite(of, invitee("bob", Some("bob"), MemberRole::Editor), 4.0).unwrap();
        assert_eq!((changed.state, changed.role, changed.since), (MemberState::Member, MemberRole::Editor, 2.0));
        let foreign = book.invite((&tea, &id("carol")), invitee("x", None, MemberRole::Viewer), 5.0);
        assert_eq!(foreign.err(), Some(MembersRefused::NoMember));
        assert_eq!(book.projects[0].members.len(), 2);
        assert!(book.check().is_ok());
        for name in ["bob", "nobody"] {
            book.remove(&tea, |member| folded(&member.username) == name).unwrap();
        }
        assert!(book.projects.is_empty());
    }

    #[test]
    fn entries_of_a_project_are_bounded() {
        let (mut book, tea) = (MemberBook::default(), ProjectId::parse("tea").unwrap());
        let mut add = |number: usize| {
            book.invite((&tea, &id("ann")), invitee(&format!("n{number}"), None, MemberRole::Viewer), 1.0).map(drop)
        };
        assert!((0..MAX_MEMBERS).all(|number| add(number).is_ok()));
        assert_eq!(add(MAX_MEMBERS), Err(MembersRefused::TooMany));
        assert_eq!(add(0), Ok(()));
    }
}
