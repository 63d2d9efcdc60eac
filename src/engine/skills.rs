//! The skills as last read, and the list of them for the model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::notice::Notice;
use super::{EngineError, Tenant, blocking};
use crate::domain::visible::visible;
use crate::domain::{BadPath, Place, Root, Session, Taint};
use crate::skills::{Skill, SkillMessage, snapshot};
use crate::store::{Home, SkillFiles, StoreError, Unlisted, UnlistedReason, Untrusted};

#[derive(Default)]
pub struct Skills {
    known: Mutex<SkillState>,
    /// Held while the folder is read and the list is written, so that an older scan never replaces a newer one.
    reading: Mutex<()>,
    /// The files of projects that waited for trust at the last request of a session that is bound to the project.
    waiting: Mutex<BTreeMap<Root, Vec<Untrusted>>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct SkillState {
    skills: Vec<Skill>,
    files: Arc<SkillFiles>,
    /// Locations of disabled skills.
    disabled: BTreeSet<String>,
    /// Content of SKILLS_SNAPSHOT.md.
    snapshot: String,
}

impl SkillState {
    /// Returns a listed skill whose current version is not trusted, if there is one.
    fn listed_untrusted(&self) -> Option<&Place> {
        let listed = self.skills.iter().filter(|skill| !skill.disabled).map(|skill| &skill.location);
        listed.into_iter().find(|location| self.files.untrusted.iter().any(|file| file.path == **location))
    }
}

impl Skills {
    fn known(&self) -> MutexGuard<'_, SkillState> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn list(&self) -> Vec<Skill> {
        self.known().skills.clone()
    }

    /// Returns the files in skills/ whose current version is not trusted.
    pub fn untrusted(&self) -> Vec<Untrusted> {
        self.known().files.untrusted.clone()
    }

    /// Looks at what a project tells the agent. Returns whether other files of it wait for trust than at the last look.
    fn look_at_project(&self, home: &Home, root: Root) -> bool {
        let now = home.waiting_instructions(&root);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let before = waiting.insert(root, now.clone()).unwrap_or_default();
        before != now
    }

    /// Reads every SKILL.md and updates SKILLS_SNAPSHOT.md if it differs. Returns whether the list changed.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read or the snapshot cannot be written.
    pub fn scan(&self, home: &Home) -> Result<bool, StoreError> {
        let _one_reader = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        self.read(home, home.skill_files()?)
    }

    /// Like [`Skills::scan`], but cheap if no file and no setting has changed since the last scan.
    ///
    /// # Errors
    /// As [`Skills::scan`].
    pub fn refresh(&self, home: &Home) -> Result<bool, StoreError> {
        let _one_reader = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let (files, disabled) = (home.skill_files()?, home.disabled_skills());
        let (is_same, snapshot) = {
            let known = self.known();
            (known.files == files && known.disabled == disabled, known.snapshot.clone())
        };
        if !is_same || files.is_settling() {
            return self.read(home, files);
        }
        home.write_skills_snapshot(&snapshot).map(|()| false)
    }

    fn read(&self, home: &Home, files: Arc<SkillFiles>) -> Result<bool, StoreError> {
        let mut skills = Vec::new();
        let paths = files.files.iter().map(|file| &file.path).filter(|path| !path.is_hidden());
        for path in paths.filter(|path| path.file_name() == "SKILL.md") {
            skills.push(match home.read_bytes(path) {
                Ok(bytes) => Skill::parse(path, &bytes),
                Err(error) => {
                    let text = error.to_string();
                    broken(path, SkillMessage::new("unreadable", &text).param("reason", &text))
                }
            });
        }
        files.unlisted.iter().for_each(|unlisted| refuse(&mut skills, unlisted));
        files.untrusted.iter().filter(|file| file.path.is_hidden()).for_each(|file| note_hidden(&mut skills, file));
        let disabled = home.disabled_skills();
        for skill in &mut skills {
            skill.disabled = disabled.contains(skill.location.as_str());
        }
        let fresh = SkillState { snapshot: snapshot(&skills), skills, files, disabled };
        home.write_skills_snapshot(&fresh.snapshot)?;
        let mut known = self.known();
        let shown = |known: &SkillState| (known.skills.clone(), known.files.untrusted.clone());
        let changed = shown(&known) != shown(&fresh);
        *known = fresh;
        Ok(changed)
    }
}

/// Marks a skill as failed whose folder contains an entry that cannot be listed: the versions of that entry cannot be
/// told apart, so nobody can trust it.
fn refuse(skills: &mut Vec<Skill>, unlisted: &Unlisted) {
    let shown = visible(&unlisted.path());
    let text = format!("Not all of its files can be trusted. {shown}: {}", unlisted.why.sentence());
    let code = match unlisted.why {
        UnlistedReason::TooDeep => "unlisted_too_deep",
        UnlistedReason::TooMany => "unlisted_too_many",
        UnlistedReason::Name => "unlisted_name",
        UnlistedReason::Closed => "unlisted_closed",
    };
    let message = SkillMessage::new(code, text).param("path", shown);
    if let Some(skill) = around(skills, &unlisted.folder) {
        skill.fail(message);
    } else if let Ok(location) = skill_folder(unlisted).and_then(|folder| folder.child("SKILL.md")) {
        skills.push(broken(&location, message));
    }
}

/// Returns the folder of skills/ that the entry is in, or the entry itself if it is directly in skills/.
fn skill_folder(unlisted: &Unlisted) -> Result<Place, BadPath> {
    let name = unlisted.folder.path().split('/').next().filter(|name| !name.is_empty());
    Place::of_root(Root::Skills).child(name.unwrap_or(&unlisted.name))
}

/// Returns a skill whose file has no usable content.
fn broken(location: &Place, why: SkillMessage) -> Skill {
    let mut skill = Skill::unread(location);
    skill.fail(why);
    skill
}

fn note_hidden(skills: &mut [Skill], file: &Untrusted) {
    if let Some(skill) = around(skills, &file.path.containing()) {
        let text = format!(
            "The folder has hidden files that commands can read and that aren't trusted ({}). Remove them, or trust them \
             with `miniclaw skills trust`.",
            file.path
        );
        skill.note(SkillMessage::new("hidden", text).param("path", &file.path));
    }
}

/// Returns the innermost skill whose folder is this one or contains it.
fn around<'s>(skills: &'s mut [Skill], folder: &Place) -> Option<&'s mut Skill> {
    let inside = |skill: &Skill| {
        let own = skill.location.containing();
        *folder == own || folder.is_below(&own)
    };
    skills.iter_mut().filter(|skill| inside(skill)).max_by_key(|skill| skill.location.as_str().len())
}

impl Tenant {
    /// Returns the files whose current version counts only once a person trusts it: those of the skills, and the
    /// instructions of the projects.
    ///
    /// # Errors
    /// Returns an error if the server is shutting down.
    pub async fn untrusted_files(&self) -> Result<Vec<Untrusted>, EngineError> {
        let (mut all, home) = (self.skills.untrusted(), self.home.clone());
        let of_projects = move || {
            let roots = home.project_ids().into_iter().map(Root::Project);
            Ok(roots.flat_map(|root| home.waiting_instructions(&root)).collect::<Vec<_>>())
        };
        all.extend(blocking(of_projects).await?);
        Ok(all)
    }

    /// Notifies clients before a request of a session if other instructions of its project wait for a person than before.
    pub async fn look_at_instructions(&self, session: &Session) {
        let Some(root) = session.project_id.clone().map(Root::Project) else { return };
        let (skills, home) = (self.skills.clone(), self.home.clone());
        if blocking(move || Ok(skills.look_at_project(&home, root))).await.unwrap_or(false) {
            self.hub.notice(Notice::SkillsChanged);
        }
    }

    /// Disables a skill, so that the model is not offered it, or enables it again.
    ///
    /// # Errors
    /// Returns [`StoreError::NotFound`] if there is no skill at this location.
    pub async fn enable_skill(&self, location: Place, enabled: bool) -> Result<(), EngineError> {
        if !self.skills.known().skills.iter().any(|skill| skill.location == location) {
            return Err(StoreError::NotFound { what: format!("skill {location}") }.into());
        }
        self.tree.enable_skill(self.claim, location, enabled).await?;
        let (skills, home) = (self.skills.clone(), self.home.clone());
        if blocking(move || skills.scan(&home)).await? {
            self.hub.notice(Notice::SkillsChanged);
            self.models.prefix_changed().await;
        }
        Ok(())
    }
}

/// Updates the list of skills before a request is made with it. Returns an untrusted skill whose description the
/// request contains; `None` if all are trusted.
pub fn refresh_before_request(tenant: &Tenant) -> Option<Taint> {
    match tenant.skills.refresh(&tenant.home) {
        Ok(true) => tenant.hub.notice(Notice::SkillsChanged),
        Ok(false) => {}
        Err(error) => {
            tracing::warn!(%error, "the list of skills could not be brought up to date");
            return Some(Taint::Skill(format!("{}/", Root::Skills)));
        }
    }
    tenant.skills.known().listed_untrusted().map(|path| Taint::Skill(path.to_string()))
}
