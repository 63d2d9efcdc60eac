//! Sessions that a person put away: out of the list and not deleted. What is said in one brings it back.

use super::{Engine, EngineError, Notice, blocking};
use crate::domain::SessionId;

impl Engine {
    /// Puts a session away; answers all that are.
    pub async fn put_away(&self, id: &SessionId) -> Result<Vec<String>, EngineError> {
        // Only what there is can be put away.
        self.view(id).await?;
        let (home, away) = (self.services.home.clone(), id.clone());
        let all = blocking(move || home.put_session_away(&away).map(|()| home.put_away())).await?;
        self.services.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
        Ok(all)
    }

    /// Puts a session back into the list, if it is not there; answers all that are put away still.
    pub async fn put_back(&self, id: &SessionId) -> Result<Vec<String>, EngineError> {
        let (home, back) = (self.services.home.clone(), id.clone());
        let (was_away, all) = blocking(move || {
            let was_away = home.put_away().iter().any(|known| known == back.as_str());
            if was_away {
                home.put_session_back(&back)?;
            }
            Ok((was_away, home.put_away()))
        })
        .await?;
        if was_away {
            self.services.hub.notice(Notice::SessionsChanged { session_id: id.to_string() });
        }
        Ok(all)
    }
}
