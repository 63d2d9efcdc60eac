//! Whether the commands of a home run, and as whom.

use super::runtime::Runtime;
use crate::domain::UidRange;
use crate::sandbox::{PersonObstacle, Sandbox};
use crate::store::Home;

/// Whose home it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeOwner {
    /// The one person who uses the server.
    OnePerson,
    /// Nobody: several people use the server, and this is its own home.
    Server,
    /// One of several people, with the user of the system that their commands run as.
    Person { uid: Option<u32> },
}

/// What runs the commands of a home.
pub struct CommandAccess {
    /// Absent if no command may run.
    pub sandbox: Option<Sandbox>,
    /// The user of the system that a person's commands run as, or why there are none; absent if one person uses the server.
    pub person: Option<Result<u32, PersonObstacle>>,
}

impl CommandAccess {
    /// Determines what runs the commands of a home. Blocks.
    pub fn of(runtime: &Runtime, home: &Home, owner: HomeOwner) -> Self {
        let sandbox = &runtime.sandbox;
        let is_exposed = sandbox.is_readable_by_every_job(home.path());
        let uid = match owner {
            HomeOwner::OnePerson => {
                return Self { sandbox: (!is_exposed).then(|| sandbox.clone()), person: None };
            }
            HomeOwner::Server => None,
            HomeOwner::Person { uid } => uid,
        };
        // A person keeps their user when the range changes, so it is the user that has to be free.
        let ids = uid.map_or(runtime.config().people.uids, UidRange::of_one);
        let checked = match sandbox.person_obstacle(ids) {
            Some(obstacle) => Err(obstacle),
            None if is_exposed => Err(PersonObstacle::ExposedHome),
            None => uid.ok_or(PersonObstacle::NoUid),
        };
        Self { sandbox: checked.as_ref().ok().map(|uid| sandbox.of_person(*uid)), person: Some(checked) }
    }

    /// Returns the sandbox of the helpers that work on files of this home: those of several people are kept apart, too.
    pub fn of_helpers(&self, runtime: &Runtime) -> Sandbox {
        self.sandbox.clone().unwrap_or_else(|| runtime.sandbox.clone())
    }

    /// Returns a sentence for a person if nobody's commands can run here.
    pub fn problem(&self) -> Option<String> {
        let obstacle = self.person.as_ref()?.as_ref().err()?;
        Some(format!(
            "Commands (terminal, bash, python_repl) are left out: {}.",
            obstacle.to_string().trim_end_matches('.')
        ))
    }
}
