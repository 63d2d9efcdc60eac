//! The fallback model, used when the chosen one does not answer.

use std::sync::Arc;

use super::{Models, NoProgress};
use crate::domain::Chosen;
use crate::engine::catalogue::place_of;
use crate::provider::{Client, Endpoint};

/// The name of the embedded model in the configuration.
pub const EMBEDDED: &str = "local";

impl Models {
    /// Returns the client to ask in place of `asked`, with the session's choice of thinking. `None` if no fallback is
    /// configured, it does not exist or start, or it is the same model. A model of a person's own provider never falls back
    /// to one of the server: they have chosen who gets the conversation. A local model never falls back to a remote one,
    /// because it may have been chosen so that no data leaves the machine.
    pub async fn fallback(self: &Arc<Self>, chosen: &Chosen, asked: &Client) -> Option<Arc<Client>> {
        if asked.endpoint().reach.is_some() {
            return None;
        }
        let wanted = self.catalogue.fallback()?;
        let remote = self.catalogue.remote();
        let endpoints: Vec<&Endpoint> = remote.iter().map(|model| model.client.endpoint()).collect();
        let found = place_of(&wanted, &endpoints).map(|place| remote[place].client.clone());
        let client = match (found, self.catalogue.local()) {
            (Some(client), _) => self.for_session(&client, chosen),
            (None, Some(local)) if wanted == EMBEDDED => self.start(local, &mut NoProgress).await.ok()?,
            (None, _) => {
                tracing::warn!(wanted, "fallback_model is none of the models there are");
                return None;
            }
        };
        let place = |client: &Client| (client.endpoint().base_url.clone(), client.endpoint().model.clone());
        let stays = !asked.endpoint().is_local() || client.endpoint().is_local();
        (stays && place(&client) != place(asked)).then_some(client)
    }
}
