//! The skills as they were last read, and the list of them for the model.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Tenant;
use super::notice::Notice;
use crate::domain::visible::visible;
use crate::domain::{Place, Root, Taint};
use crate::skills::{Skill, SkillMessage, snapshot};
use crate::store::{Home, SkillFiles, StoreError, Unlisted, UnlistedReason, Untrusted};

#[derive(Default)]
pub struct Skills {
    known: Mutex<Known>,
    /// Held while the folder is read and the list is written, so that an earlier reading never replaces a later one.
    reading: Mutex<()>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    skills: Vec<Skill>,
    files: Arc<SkillFiles>,
    /// What SKILLS_SNAPSHOT.md holds.
    snapshot: String,
}

impl Known {
    /// A skill that the list tells the model of although nobody has trusted it as it is.
    fn listed_untrusted(&self) -> Option<&Place> {
        let listed = self.skills.iter().map(|skill| &skill.location);
        listed.into_iter().find(|location| self.files.untrusted.iter().any(|file| file.path == **location))
    }
}

impl Skills {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn list(&self) -> Vec<Skill> {
        self.known().skills.clone()
    }

    /// The files in skills/ that nobody has trusted as they are.
    pub fn untrusted(&self) -> Vec<Untrusted> {
        self.known().files.untrusted.clone()
    }

    /// Reads every SKILL.md and writes SKILLS_SNAPSHOT.md where it differs. `true` when the list changed.
    ///
    /// # Errors
    /// When the folder cannot be read, or the snapshot cannot be written.
    pub fn scan(&self, home: &Home) -> Result<bool, StoreError> {
        let _one_reader = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        self.read(home, home.skill_files()?)
    }

    /// The same where something has changed since the last reading; little work where nothing has.
    ///
    /// # Errors
    /// As [`Skills::scan`].
    pub fn refresh(&self, home: &Home) -> Result<bool, StoreError> {
        let _one_reader = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let files = home.skill_files()?;
        let (is_same, snapshot) = {
            let known = self.known();
            (known.files == files, known.snapshot.clone())
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
                    broken(path, SkillMessage::new("unreadable", &text).about("reason", &text))
                }
            });
        }
        files.unlisted.iter().for_each(|unlisted| refuse(&mut skills, unlisted));
        files.untrusted.iter().filter(|file| file.path.is_hidden()).for_each(|file| note_hidden(&mut skills, file));
        let fresh = Known { snapshot: snapshot(&skills), skills, files };
        home.write_skills_snapshot(&fresh.snapshot)?;
        let mut known = self.known();
        let shown = |known: &Known| (known.skills.clone(), known.files.untrusted.clone());
        let changed = shown(&known) != shown(&fresh);
        *known = fresh;
        Ok(changed)
    }
}

/// A skill with something in its folder that cannot be told apart from other versions of it is not used.
fn refuse(skills: &mut Vec<Skill>, unlisted: &Unlisted) {
    let path = &unlisted.path;
    let shown = visible(path);
    let text = format!("nobody can trust all of its files: {shown}: {}", unlisted.why.sentence());
    let code = match unlisted.why {
        UnlistedReason::TooDeep => "unlisted_too_deep",
        UnlistedReason::TooMany => "unlisted_too_many",
        UnlistedReason::Name => "unlisted_name",
        UnlistedReason::Closed => "unlisted_closed",
    };
    let message = SkillMessage::new(code, text).about("path", shown);
    if let Some(skill) = around(skills, path) {
        skill.fail(message);
    } else if let Some(folder) = path.split('/').nth(1)
        && let Ok(location) = Place::parse(&format!("{}/{folder}/SKILL.md", Root::Skills))
    {
        skills.push(broken(&location, message));
    }
}

/// A skill whose file says nothing that can be used.
fn broken(location: &Place, why: SkillMessage) -> Skill {
    let mut skill = Skill::unread(location);
    skill.fail(why);
    skill
}

fn note_hidden(skills: &mut [Skill], file: &Untrusted) {
    if let Some(skill) = around(skills, file.path.as_str()) {
        let text = format!(
            "its folder has hidden files, which commands can read and nobody has trusted as they are ({}): take them out, \
             or trust them with `miniclaw skills trust`",
            file.path
        );
        skill.note(SkillMessage::new("hidden", text).about("path", &file.path));
    }
}

/// The skill in whose folder a path lies.
fn around<'s>(skills: &'s mut [Skill], path: &str) -> Option<&'s mut Skill> {
    let inside = |skill: &Skill| {
        let folder = skill.location.parent();
        path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    skills.iter_mut().filter(|skill| inside(skill)).max_by_key(|skill| skill.location.as_str().len())
}

/// Brings the list of skills up to date before a request is made with it. The skill whose description that request holds
/// although nobody has trusted it as it is; none where all are trusted.
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
