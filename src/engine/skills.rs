//! The skills as they were last read, and what the model is told of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::notice::Notice;
use super::{Engine, EngineError, blocking};
use crate::domain::HomePath;
use crate::skills::{Skill, snapshot};
use crate::store::{Expect, Home, PINNED, SNAPSHOT, StoreError, Untrusted};

#[derive(Default)]
pub struct Skills(Mutex<Known>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    skills: Vec<Skill>,
    untrusted: Vec<Untrusted>,
}

impl Skills {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn list(&self) -> Vec<Skill> {
        self.known().skills.clone()
    }

    /// The files in skills/ that nobody has trusted as they are.
    pub fn untrusted(&self) -> Vec<Untrusted> {
        self.known().untrusted.clone()
    }

    /// Reads every SKILL.md and writes SKILLS_SNAPSHOT.md where it differs. `true` when the list changed.
    ///
    /// # Errors
    /// When the folder cannot be read, or the snapshot cannot be written.
    pub fn scan(&self, home: &Home) -> Result<bool, StoreError> {
        let files = home.list(PINNED)?;
        let (mut skills, mut listed) = (Vec::new(), Vec::new());
        for file in files.iter().filter(|file| file.path.file_name() == "SKILL.md") {
            let (skill, is_trusted) = match home.read_bytes(&file.path) {
                Ok(bytes) => (Skill::parse(&file.path, &bytes), home.trusts(&file.path, &bytes)),
                Err(error) => (Skill { error: Some(error.to_string()), ..Skill::parse(&file.path, b"") }, true),
            };
            let text = || home.trusted_last(&file.path).and_then(|(_, text)| text);
            listed.extend(match is_trusted {
                true => Some(skill.clone()),
                false => Skill::untrusted(&file.path, text().as_deref()),
            });
            skills.push(skill);
        }
        let snapshot = snapshot(&listed);
        let path = HomePath::parse(SNAPSHOT).map_err(|_| StoreError::NotFound { what: SNAPSHOT.to_owned() })?;
        let current = home.read_text(&path).map(|text| text.content);
        if current.ok().as_deref() != Some(snapshot.as_str()) {
            home.save_text(&path, &snapshot, &Expect::Anything)?;
        }
        let fresh = Known { skills, untrusted: home.untrusted()? };
        let mut known = self.known();
        let changed = *known != fresh;
        *known = fresh;
        Ok(changed)
    }
}

/// Reads the skills again at once, because a person has trusted something; everybody is told where that changed something.
///
/// # Errors
/// As [`Skills::scan`].
pub async fn look_again(engine: &Engine, skills: &Arc<Skills>) -> Result<(), EngineError> {
    let (reading, home) = (skills.clone(), engine.services().home.clone());
    if blocking(move || reading.scan(&home)).await? {
        engine.services().hub.notice(Notice::SkillsChanged);
        engine.services().models.prefix_changed().await;
    }
    Ok(())
}
