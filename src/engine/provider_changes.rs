//! Adds, changes and removes providers and what a person has set for their models.

use std::sync::Arc;

use secrecy::SecretString;
use serde_json::{Map, Value, json};
use url::Url;

use super::provider_list::{ListedPlace, ListedProvider, endpoint_of};
use super::server_settings::SettingsRefused;
use super::{EngineError, Tenant};
use crate::config::edit::{Edit, Step, at};
use crate::config::providers::{ProviderPlace, free_id, name_of};
use crate::provider::{Api, Endpoint, ProfileKind, ProviderError, list_models};

/// Why a provider or model was not changed.
#[derive(Debug, thiserror::Error)]
pub enum ProviderRefused {
    #[error("there is no provider {0}")]
    Unknown(String),
    #[error("there is no model {0}")]
    UnknownModel(String),
    #[error("the provider at {0} is already there")]
    Exists(String),
    #[error(
        "{0} is configured in the environment, in .env, in `models` of config.yml, or was found on this machine; change it there"
    )]
    NotEditable(String),
    #[error("the key belongs to the old address; enter the key of the new one")]
    KeyNeeded,
    #[error(
        "the providers and settings are those of the whole server; they are in its config.yml and .env, and are changed there"
    )]
    NotHere,
    #[error(
        "the servers of a cluster each have the same config.yml and .env; change them on all servers, and restart those whose change \
         needs it"
    )]
    OnAllServers,
}

/// A provider to add.
#[derive(Debug)]
pub struct NewProvider {
    pub base_url: Url,
    /// The form of requests; `None` for what the address tells.
    pub api: Option<Api>,
    pub name: Option<String>,
    pub api_key: Option<SecretString>,
    /// The name of its model that becomes the default.
    pub default_model: Option<String>,
}

/// What to change of a provider.
#[derive(Debug, Default)]
pub struct ProviderChange {
    pub name: Option<String>,
    pub base_url: Option<Url>,
    /// The form of requests; `Some(None)` for what the address tells.
    pub api: Option<Option<Api>>,
    pub api_key: KeyChange,
}

/// What happens to a key.
#[derive(Debug, Default)]
pub enum KeyChange {
    #[default]
    Keep,
    Remove,
    Set(SecretString),
}

/// What to change for a model: null removes a value.
#[derive(Debug, Default)]
pub struct ModelChange {
    pub favorite: Option<bool>,
    pub enabled: Option<bool>,
    pub parameters: Map<String, Value>,
}

/// How many models of a new provider can be chosen at first; the others can be enabled.
const FIRST_ENABLED: usize = 20;

/// Parts of the names of models that do not chat.
const NO_CHAT: [&str; 13] = [
    "embed",
    "whisper",
    "tts",
    "dall-e",
    "moderation",
    "realtime",
    "audio",
    "transcribe",
    "image",
    "sora",
    "babbage",
    "davinci",
    "rerank",
];

impl Tenant {
    /// Tests a provider, stores it and lists its models. Returns its id. Continues even if the requester disconnects.
    ///
    /// # Errors
    /// Returns the provider's refusal, or [`ProviderRefused::Exists`]; nothing is written then.
    pub async fn add_provider(self: &Arc<Self>, new: NewProvider) -> Result<String, EngineError> {
        self.require_own_config()?;
        self.refuse_known(&new.base_url)?;
        let names = models_of(&new.base_url, new.api_key.clone(), new.api).await?;
        let tenant = self.clone();
        let added = tokio::spawn(async move { tenant.store_new(new, names).await });
        added.await.map_err(|_| EngineError::Internal("the adding of a provider was cut off"))?
    }

    async fn store_new(&self, new: NewProvider, names: Vec<String>) -> Result<String, EngineError> {
        let NewProvider { base_url, api, name, api_key, default_model } = new;
        let _one_at_a_time = self.runtime.connecting.lock().await;
        self.refuse_known(&base_url)?;
        let known = self.providers()?.providers;
        let kind = ProfileKind::from_url(&base_url);
        let id = free_id(kind, |id| known.iter().any(|provider| provider.id == id));
        let mut entry = json!({
            "id": id,
            "name": name.unwrap_or_else(|| name_of(kind, &base_url)),
            "base_url": base_url.as_str().trim_end_matches('/'),
        });
        if let Some(api) = api {
            entry["api"] = json!(api);
        }
        if let Some(key) = api_key.clone() {
            entry["api_key"] = json!(format!("${{{}}}", self.store_key(&id, key).await?));
        }
        entry["models"] = json!(first_models(&names, default_model.as_deref()));
        let added = self
            .edit_config(|file| {
                let index = file.get("providers").and_then(Value::as_array).map_or(0, Vec::len);
                let path = vec![Step::Key("providers".to_owned()), Step::Item(index)];
                Ok(vec![Edit { path, value: Some(entry.clone()) }])
            })
            .await;
        self.drop_unused_keys(&id).await;
        added?;
        self.answered(&endpoint_of(&base_url, api_key.clone(), "").with_api(api), names);
        if let Some(model) = default_model {
            let model = self.runtime.models.id_of(&endpoint_of(&base_url, api_key, &model).with_api(api));
            self.edit_config(|_| Ok(vec![Edit::of_key("default_model", model.clone().map(Value::from))])).await?;
        }
        Ok(id)
    }

    fn refuse_known(&self, base_url: &Url) -> Result<(), EngineError> {
        let shown = base_url.as_str().trim_end_matches('/').to_owned();
        let same = |one: &ListedProvider| one.base_url == shown && matches!(one.place, ListedPlace::Configured(_));
        if self.providers()?.providers.iter().any(same) { Err(ProviderRefused::Exists(shown).into()) } else { Ok(()) }
    }

    /// Tests what a provider would be, and changes it.
    ///
    /// # Errors
    /// Returns the provider's refusal or [`ProviderRefused`]; nothing is written then.
    pub async fn change_provider(self: &Arc<Self>, id: &str, change: ProviderChange) -> Result<(), EngineError> {
        self.require_own_config()?;
        let (base_url, old_key) = self.editable(id)?;
        let new_url = change.base_url.clone().unwrap_or_else(|| base_url.clone());
        let key = match &change.api_key {
            KeyChange::Set(key) => Some(key.clone()),
            KeyChange::Remove => None,
            KeyChange::Keep if old_key.is_some() && new_url.origin() != base_url.origin() => {
                return Err(ProviderRefused::KeyNeeded.into());
            }
            KeyChange::Keep => old_key,
        };
        let mut answered = None;
        if change.base_url.is_some() || change.api.is_some() || !matches!(change.api_key, KeyChange::Keep) {
            let api = change.api.unwrap_or_else(|| self.api_of(id));
            let endpoint = endpoint_of(&new_url, key, "").with_api(api);
            answered = Some((list_models(endpoint.clone()).await?, endpoint));
        }
        let (tenant, id) = (self.clone(), id.to_owned());
        let changed = tokio::spawn(async move {
            tenant.store_change(&id, &base_url, change).await?;
            answered.into_iter().for_each(|(names, endpoint)| tenant.answered(&endpoint, names));
            Ok(())
        });
        changed.await.map_err(|_| EngineError::Internal("the change of a provider was cut off"))?
    }

    /// Changes the provider if it is still at the address at which the change was tested: otherwise a key might go to
    /// another one.
    async fn store_change(&self, id: &str, tested: &Url, change: ProviderChange) -> Result<(), EngineError> {
        let _one_at_a_time = self.runtime.connecting.lock().await;
        let mut fields: Vec<(&str, Option<Value>)> = Vec::new();
        fields.extend(change.name.map(|name| ("name", Some(json!(name)))));
        fields.extend(change.base_url.map(|url| ("base_url", Some(json!(url.as_str().trim_end_matches('/'))))));
        fields.extend(change.api.map(|api| ("api", api.map(|api| json!(api)))));
        match change.api_key {
            KeyChange::Keep => {}
            KeyChange::Remove => fields.push(("api_key", None)),
            KeyChange::Set(key) => {
                let name = self.store_key(id, key).await?;
                fields.push(("api_key", Some(json!(format!("${{{name}}}")))));
            }
        }
        let changed = self
            .edit_config(|file| {
                let index = item(file, id)?;
                let now = at(file, &field(index, "base_url")).and_then(Value::as_str);
                if now.and_then(|now| Url::parse(now).ok()).as_ref() != Some(tested) {
                    return Err(SettingsRefused::ProviderChanged(id.to_owned()));
                }
                let edit =
                    |(name, value): &(&str, Option<Value>)| Edit { path: field(index, name), value: value.clone() };
                Ok(fields.iter().map(edit).collect())
            })
            .await;
        self.drop_unused_keys(id).await;
        changed
    }

    /// Removes a provider and its key. Sessions that have chosen a model of it say that it is no longer available.
    ///
    /// # Errors
    /// Returns [`ProviderRefused`] if it is not one that can be changed here.
    pub async fn remove_provider(self: &Arc<Self>, id: &str) -> Result<(), EngineError> {
        self.require_own_config()?;
        self.editable(id)?;
        let (tenant, id) = (self.clone(), id.to_owned());
        let removed = tokio::spawn(async move {
            let _one_at_a_time = tenant.runtime.connecting.lock().await;
            tenant
                .edit_config(|file| {
                    let path = vec![Step::Key("providers".to_owned()), Step::Item(item(file, &id)?)];
                    Ok(vec![Edit { path, value: None }])
                })
                .await?;
            tenant.drop_unused_keys(&id).await;
            Ok(())
        });
        removed.await.map_err(|_| EngineError::Internal("the removal of a provider was cut off"))?
    }

    /// Asks a provider for its models again. Its state says whether it answered.
    ///
    /// # Errors
    /// Returns [`ProviderRefused::Unknown`].
    pub async fn check_provider(&self, id: &str) -> Result<(), EngineError> {
        self.require_own_home()?;
        let config = self.runtime.config();
        let configured = config.providers.iter().find(|provider| provider.id == id);
        let (base_url, key) = match configured {
            Some(provider) => (provider.base_url.clone(), provider.api_key.clone()),
            None => {
                let listed = self.providers()?.providers.into_iter().find(|provider| provider.id == id);
                let listed = listed.ok_or_else(|| ProviderRefused::Unknown(id.to_owned()))?;
                let Ok(base_url) = Url::parse(&listed.base_url) else { return Ok(()) };
                (base_url, None)
            }
        };
        let endpoint = endpoint_of(&base_url, key, "").with_api(self.api_of(id));
        match list_models(endpoint.clone()).await {
            Ok(names) => self.answered(&endpoint, names),
            // The refusal is what the state shows.
            refused => self.runtime.models.health(&endpoint).record(&refused),
        }
        Ok(())
    }

    /// Searches for Ollama and LM Studio on this machine again, unless `find_local_models` is off.
    ///
    /// # Errors
    /// Returns [`ProviderRefused::NotHere`] if this is not the server's own home.
    pub async fn find_providers(&self) -> Result<(), EngineError> {
        self.require_own_home()?;
        self.runtime.add_found_models().await;
        Ok(())
    }

    /// Changes what a person has set for a model.
    ///
    /// # Errors
    /// Returns [`ProviderRefused`], or why a value cannot be set.
    pub async fn change_model(&self, id: &str, change: ModelChange) -> Result<(), EngineError> {
        let list = self.providers()?;
        let found = list.providers.iter().find_map(|provider| {
            let model = provider.models.iter().find(|model| model.id == id)?;
            Some((provider, model.settings.name.clone()))
        });
        let (provider, name) = found.ok_or_else(|| ProviderRefused::UnknownModel(id.to_owned()))?;
        let is_own = matches!(provider.place, ListedPlace::Configured(ProviderPlace::Providers(_)));
        let changes_model = change.enabled.is_some() || !change.parameters.is_empty();
        if changes_model && !is_own {
            return Err(ProviderRefused::NotEditable(provider.id.clone()).into());
        }
        let _one_at_a_time = self.runtime.connecting.lock().await;
        self.edit_config(|file| {
            let mut edits = Vec::new();
            edits.extend(change.favorite.map(|favorite| favorites(file, id, favorite)));
            if changes_model {
                let index = item(file, &provider.id)?;
                let models = at(file, &field(index, "models")).and_then(Value::as_array);
                let place = models.and_then(|models| models.iter().position(|model| model["name"] == name.as_str()));
                let place = place.unwrap_or_else(|| {
                    let path = [field(index, "models"), vec![Step::Item(models.map_or(0, Vec::len))]].concat();
                    edits.push(Edit { path, value: Some(json!({"name": name})) });
                    models.map_or(0, Vec::len)
                });
                let own =
                    |key: &str| [field(index, "models"), vec![Step::Item(place), Step::Key(key.to_owned())]].concat();
                // Enabled is what a listed model is unless it says otherwise.
                let disabled = change.enabled.map(|enabled| (!enabled).then(|| json!(false)));
                edits.extend(disabled.map(|value| Edit { path: own("enabled"), value }));
                for (key, value) in &change.parameters {
                    let value = (!value.is_null()).then(|| value.clone());
                    edits.push(Edit { path: own(key), value });
                }
            }
            Ok(edits)
        })
        .await
    }

    /// Chooses the default or the fallback model, by its id.
    ///
    /// # Errors
    /// Returns [`ProviderRefused::UnknownModel`] if it cannot be chosen.
    pub async fn choose_model(&self, key: &'static str, id: Option<String>) -> Result<(), EngineError> {
        self.require_own_config()?;
        let candidates = self.models.candidates();
        let embedded = self.runtime.models.embedded().map(|embedded| embedded.id);
        if let Some(id) = &id
            && !candidates.iter().any(|candidate| candidate.id == *id)
        {
            return Err(ProviderRefused::UnknownModel(id.clone()).into());
        }
        let word = match id {
            Some(id) if Some(&id) == embedded.as_ref() => Some(super::models::EMBEDDED.to_owned()),
            other => other,
        };
        let _one_at_a_time = self.runtime.connecting.lock().await;
        self.edit_config(|_| Ok(vec![Edit::of_key(key, word.clone().map(Value::from))])).await
    }

    /// Records that a provider answered, and which models it named.
    fn answered(&self, endpoint: &Endpoint, names: Vec<String>) {
        self.runtime.models.health(endpoint).record(&Ok::<_, ProviderError>(()));
        self.runtime.models.set_named(endpoint, names);
    }

    /// Returns the API that config.yml names for a provider.
    fn api_of(&self, id: &str) -> Option<Api> {
        self.runtime.config().providers.iter().find(|provider| provider.id == id)?.api
    }

    /// Returns address and key of a provider that can be changed here.
    fn editable(&self, id: &str) -> Result<(Url, Option<SecretString>), ProviderRefused> {
        let config = self.runtime.config();
        match config.providers.iter().find(|provider| provider.id == id) {
            Some(provider) if matches!(provider.place, ProviderPlace::Providers(_)) => {
                Ok((provider.base_url.clone(), provider.api_key.clone()))
            }
            Some(_) => Err(ProviderRefused::NotEditable(id.to_owned())),
            None => match self.providers().ok().filter(|list| list.providers.iter().any(|one| one.id == id)) {
                Some(_) => Err(ProviderRefused::NotEditable(id.to_owned())),
                None => Err(ProviderRefused::Unknown(id.to_owned())),
            },
        }
    }
}

/// Tests an address and a key. Returns the names of the provider's models.
///
/// # Errors
/// Returns the provider's refusal.
pub async fn models_of(
    base_url: &Url,
    api_key: Option<SecretString>,
    api: Option<Api>,
) -> Result<Vec<String>, ProviderError> {
    list_models(endpoint_of(base_url, api_key, "").with_api(api)).await
}

/// Returns the entries of the models of a new provider that can be chosen at first.
fn first_models(names: &[String], default_model: Option<&str>) -> Vec<Value> {
    let chats = |name: &&str| is_chat_model(name) && Some(*name) != default_model;
    let others = names.iter().map(String::as_str).filter(chats);
    default_model.into_iter().chain(others).take(FIRST_ENABLED).map(|name| json!({"name": name})).collect()
}

/// Returns the models of a new provider that can be chosen at first.
pub(super) fn first_names(names: &[String]) -> Vec<String> {
    names.iter().filter(|name| is_chat_model(name)).take(FIRST_ENABLED).cloned().collect()
}

fn is_chat_model(name: &str) -> bool {
    !NO_CHAT.iter().any(|part| name.to_lowercase().contains(part))
}

/// Returns the place of a provider in the file.
fn item(file: &Value, id: &str) -> Result<usize, SettingsRefused> {
    let providers = file.get("providers").and_then(Value::as_array);
    let place = providers.and_then(|providers| providers.iter().position(|provider| provider["id"] == id));
    place.ok_or_else(|| SettingsRefused::ProviderGone(id.to_owned()))
}

fn field(index: usize, name: &str) -> Vec<Step> {
    vec![Step::Key("providers".to_owned()), Step::Item(index), Step::Key(name.to_owned())]
}

/// Returns the edit that makes a model a favorite, or no longer one.
fn favorites(file: &Value, id: &str, favorite: bool) -> Edit {
    let listed = file.get("favorite_models").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut favorites: Vec<Value> = listed.into_iter().filter(|known| *known != id).collect();
    if favorite {
        favorites.push(json!(id));
    }
    Edit::of_key("favorite_models", (!favorites.is_empty()).then_some(Value::Array(favorites)))
}
