//! The keys of providers in `.env`, each under a name that no other key has: so a crash between the writing of `.env` and of
//! config.yml never sends a key to another address.

use secrecy::SecretString;

use super::{EngineError, Tenant};
use crate::config::is_set_by_process;
use crate::store::Variable;

impl Tenant {
    /// Stores a key in `.env` under a new name, which it returns.
    pub(super) async fn store_key(&self, id: &str, key: SecretString) -> Result<String, EngineError> {
        let base = key_variable(id);
        let taken = self.runtime.env_names().await?;
        let is_free = |name: &String| !taken.contains(name) && !is_set_by_process(name);
        let name = std::iter::once(base.clone()).chain((2..).map(|number| format!("{base}_{number}"))).find(is_free);
        let name = name.unwrap_or(base);
        self.tree.set_variables(self.claim, vec![Variable { name: name.clone().into(), value: Some(key) }]).await?;
        Ok(name)
    }

    /// Removes keys of this provider that config.yml does not name, also those that a crash left. It does no harm if that
    /// fails.
    pub(super) async fn drop_unused_keys(&self, id: &str) {
        if let Err(error) = self.try_dropping_keys(id).await {
            tracing::warn!(%error, "keys that are not used any more could not be removed from .env");
        }
    }

    async fn try_dropping_keys(&self, id: &str) -> Result<(), EngineError> {
        let text = self.runtime.read_config().await?.unwrap_or_default();
        let is_own = |name: &str| {
            let number = name.strip_prefix(&key_variable(id)).map(|rest| rest.strip_prefix('_').unwrap_or(rest));
            number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
        };
        let names = self.runtime.env_names().await?.into_iter();
        let unused = names.filter(|name| is_own(name) && !text.contains(&format!("${{{name}}}")));
        let variables: Vec<Variable> = unused.map(|name| Variable { name: name.into(), value: None }).collect();
        if variables.is_empty() {
            return Ok(());
        }
        Ok(self.tree.set_variables(self.claim, variables).await?)
    }
}

/// Returns the name of the variable that holds the first key of a provider.
fn key_variable(id: &str) -> String {
    format!("{KEY_PREFIX}{}", id.to_uppercase().replace('-', "_"))
}

/// The beginning of the names of variables that hold keys entered in the page.
const KEY_PREFIX: &str = "MINICLAW_KEY_";
