//! Connects a provider: tests its key, stores it in the `.env` of the server's home, and uses it at once.

use std::sync::Arc;

use secrecy::SecretString;

use super::model_status::ModelStatus;
use super::{EngineError, Tenant, blocking};
use crate::config::{Config, ConfigError, is_set_by_process};
use crate::provider::{Endpoint, ProfileKind, ProviderError, list_models};
use crate::store::Variable;

/// Why a provider was not connected.
#[derive(Debug, thiserror::Error)]
pub enum ConnectRefused {
    #[error(
        "{0} is set in the environment this server was started with, and that wins over .env. Start it without that \
         variable, or change it there."
    )]
    EnvironmentWins(&'static str),
    #[error("it is in .env now, but {0}")]
    NotUsable(ConfigError),
    #[error(
        "it is in .env now, but config.yml chooses another model (default_model); change it there and start the server \
         again"
    )]
    AnotherIsChosen,
    #[error("the providers are those of the whole server, and are connected in its own home")]
    NotHere,
}

/// The environment variables of one provider.
struct ProviderVariables {
    key: &'static str,
    address: &'static str,
    model: &'static str,
}

const DEEPSEEK: ProviderVariables =
    ProviderVariables { key: "DEEPSEEK_API_KEY", address: "DEEPSEEK_BASE_URL", model: "DEEPSEEK_MODEL" };
const OPENAI: ProviderVariables =
    ProviderVariables { key: "OPENAI_API_KEY", address: "OPENAI_BASE_URL", model: "OPENAI_MODEL" };

impl ProviderVariables {
    fn of(endpoint: &Endpoint) -> Self {
        if endpoint.profile.kind == ProfileKind::DeepSeek && endpoint.api_key.is_some() { DEEPSEEK } else { OPENAI }
    }

    /// Returns the variables that decide which model is used, once these are set.
    fn deciding(&self) -> [&'static str; 4] {
        [self.key, self.address, self.model, DEEPSEEK.key]
    }

    fn set_to(&self, endpoint: &Endpoint) -> Vec<Variable> {
        let set = |name: &'static str, value: &str| Variable {
            name: name.into(),
            value: Some(SecretString::from(value.to_owned())),
        };
        let mut variables = vec![
            Variable { name: self.key.into(), value: endpoint.api_key.clone() },
            set(self.address, endpoint.base_url.as_str()),
            set(self.model, &endpoint.model),
        ];
        if self.key != DEEPSEEK.key {
            // A DeepSeek key in `.env` would take precedence.
            variables.push(Variable { name: DEEPSEEK.key.into(), value: None });
        }
        variables
    }
}

/// Tests an address and a key. Returns the names of the provider's models.
///
/// # Errors
/// Returns the provider's refusal.
pub async fn test(endpoint: Endpoint) -> Result<Vec<String>, ProviderError> {
    list_models(endpoint).await
}

impl Tenant {
    /// Tests a provider, stores its address, key and model in `.env`, and makes it the default model of the server.
    /// Continues even if the requester disconnects.
    ///
    /// # Errors
    /// Returns [`ConnectRefused::NotHere`] if this is not the server's own home, and
    /// [`ConnectRefused::EnvironmentWins`] if `.env` would have no effect; nothing is written then, nor if the provider
    /// refuses. The other refusals say why it is stored but not used.
    pub async fn connect_provider(self: &Arc<Self>, endpoint: Endpoint) -> Result<ModelStatus, EngineError> {
        self.require_own_home()?;
        let variables = ProviderVariables::of(&endpoint);
        if let Some(name) = variables.deciding().into_iter().find(|name| is_set_by_process(name)) {
            return Err(ConnectRefused::EnvironmentWins(name).into());
        }
        test(endpoint.clone()).await?;
        let tenant = self.clone();
        let stored = tokio::spawn(async move { tenant.store_provider(&variables, &endpoint).await });
        stored.await.map_err(|_| EngineError::Internal("the connecting of a provider was cut off"))??;
        Ok(self.models.status())
    }

    async fn store_provider(&self, variables: &ProviderVariables, endpoint: &Endpoint) -> Result<(), EngineError> {
        let _one_at_a_time = self.runtime.connecting.lock().await;
        self.tree.set_variables(self.claim, variables.set_to(endpoint)).await?;
        let home = self.home.clone();
        let config = blocking(move || Ok(Config::of_process(home.path()))).await?;
        let config = config.map_err(ConnectRefused::NotUsable)?;
        let first = config.endpoints.first().map(|first| (&first.endpoint.model, &first.endpoint.base_url));
        if first != Some((&endpoint.model, &endpoint.base_url)) || config.wanted.is_some() {
            return Err(ConnectRefused::AnotherIsChosen.into());
        }
        self.runtime.apply(config);
        Ok(())
    }
}
