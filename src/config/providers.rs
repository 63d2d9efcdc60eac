//! Providers as people see them: one for each address with its key, with the models that are known of it. They come from
//! `providers` in config.yml, from its `models`, and from the environment.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::{ConfigError, ConfiguredEndpoint, Environment, bad, endpoint, substitute, url};
use crate::domain::Price;
use crate::provider::{Api, Endpoint, Parameters, ProfileKind, Thinking};

/// A provider of `providers` in config.yml.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    id: String,
    name: Option<String>,
    base_url: String,
    /// The form of requests, if the address does not tell it.
    api: Option<Api>,
    /// The key, or `${NAME}` for that of a variable.
    api_key: Option<SecretString>,
    #[serde(default)]
    models: Vec<ModelSettings>,
}

/// What a person has set for one model of a provider.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelSettings {
    /// The name that is sent to the provider.
    pub name: String,
    pub label: Option<String>,
    /// Whether it can be chosen; absent means yes.
    pub enabled: Option<bool>,
    pub vision: Option<bool>,
    pub context_window: Option<u32>,
    pub temperature: Option<f32>,
    pub top_p: Option<f32>,
    pub max_tokens: Option<u32>,
    /// Whether it thinks; absent leaves it to the model.
    pub thinking: Option<bool>,
    pub price: Option<Price>,
}

/// A provider.
#[derive(Clone, Debug)]
pub struct Provider {
    pub id: String,
    pub name: String,
    pub kind: ProfileKind,
    pub base_url: Url,
    /// The form of requests, if a person has said so.
    pub api: Option<Api>,
    /// Sent to this address and nowhere else.
    pub api_key: Option<SecretString>,
    pub place: ProviderPlace,
    /// The variable that holds the key, and where it is set.
    pub variable: Option<(String, &'static str)>,
    pub models: Vec<ProviderModel>,
}

/// Where a provider is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderPlace {
    /// Variables of the process.
    Environment,
    /// Variables of `.env`.
    EnvFile,
    /// `models` in config.yml.
    Models,
    /// This item of `providers` in config.yml.
    Providers(usize),
}

/// A model of a provider, with what a person has set for it.
#[derive(Clone, Debug)]
pub struct ProviderModel {
    pub settings: ModelSettings,
    pub endpoint: Endpoint,
}

/// Maximum length of an id.
const MAX_ID: usize = 40;

/// Whether a text can be the id of a provider.
pub fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=MAX_ID).contains(&text.len()) && text.chars().all(plain)
}

/// Reads `providers`. An address is used as it is written: it may not name variables, which would send their values.
/// A variable of a key that is not set makes the provider unusable, which is only a warning.
pub(super) fn listed(
    entries: &[Entry],
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Vec<Provider>, ConfigError> {
    let mut providers: Vec<Provider> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let wrong = |reason: String| bad("config.yml", format!("providers[{index}]: {reason}"));
        if !is_id(&entry.id) {
            return Err(wrong(format!("id: 1 to {MAX_ID} lower-case letters, digits and hyphens")));
        }
        if providers.iter().any(|provider| provider.id == entry.id) {
            return Err(wrong(format!("there are two with the id {}", entry.id)));
        }
        if entry.base_url.contains("${") {
            return Err(wrong("base_url: it may not contain variables".to_owned()));
        }
        let base_url = url(&entry.base_url).map_err(|reason| wrong(format!("base_url {reason}")))?;
        let told = entry.api_key.as_ref().map(|key| key.expose_secret().trim());
        let key = match told.map(|key| substitute(key, environment)).transpose() {
            Ok(key) => key.filter(|key| !key.is_empty()).map(SecretString::from),
            Err(name) => {
                let id = &entry.id;
                warnings.push(format!("provider {id}: the variable {name} is not set, so its models are left out"));
                None
            }
        };
        let name = told.and_then(|key| key.strip_prefix("${")?.strip_suffix('}'));
        let variable = name.map(|name| (name.to_owned(), environment.get(name).map_or(".env", |(_, from)| from)));
        let kind = ProfileKind::from_url(&base_url);
        let name = entry.name.clone().unwrap_or_else(|| name_of(kind, &base_url));
        let models = entry.models.iter().map(|settings| {
            let plain = endpoint(base_url.clone(), &settings.name, key.clone()).with_api(entry.api);
            let endpoint = with_settings(plain, settings);
            ProviderModel { settings: settings.clone(), endpoint }
        });
        providers.push(Provider {
            id: entry.id.clone(),
            name,
            kind,
            models: models.collect(),
            api: entry.api,
            base_url,
            api_key: key,
            place: ProviderPlace::Providers(index),
            variable,
        });
    }
    Ok(providers)
}

impl Provider {
    /// Whether its key is to come from a variable that is not set.
    fn lacks_key(&self) -> bool {
        self.variable.is_some() && self.api_key.is_none()
    }

    /// Returns the models that can be chosen.
    pub(super) fn endpoints(&self) -> Vec<ConfiguredEndpoint> {
        let enabled = self.models.iter().filter(|model| model.settings.enabled != Some(false) && !self.lacks_key());
        let configured = |model: &ProviderModel| ConfiguredEndpoint {
            id: None,
            endpoint: model.endpoint.clone(),
            from: "config.yml".to_owned(),
        };
        enabled.map(configured).collect()
    }
}

/// Returns the endpoint of a model with what a person has set for it.
fn with_settings(mut endpoint: Endpoint, settings: &ModelSettings) -> Endpoint {
    if let Some(label) = &settings.label {
        endpoint.label.clone_from(label);
    }
    if let Some(window) = settings.context_window {
        endpoint.context_window = window;
    }
    endpoint.price.clone_from(&settings.price);
    let profile = &mut endpoint.profile;
    profile.vision = settings.vision.unwrap_or_default();
    profile.parameters =
        Parameters { temperature: settings.temperature, top_p: settings.top_p, max_tokens: settings.max_tokens };
    profile.thinking = match settings.thinking {
        Some(true) => Thinking::On,
        Some(false) => Thinking::Off,
        None => Thinking::Auto,
    };
    endpoint
}

/// Groups the models that have no entry of their own among `providers` by their address and key.
pub(super) fn grouped(
    endpoints: &[ConfiguredEndpoint],
    taken: &[Provider],
    environment: &Environment,
) -> Vec<Provider> {
    let mut providers: Vec<Provider> = Vec::new();
    let key = |key: &Option<SecretString>| key.as_ref().map(|key| key.expose_secret().to_owned());
    for ConfiguredEndpoint { endpoint, from, .. } in endpoints {
        let place = match from.as_str() {
            "environment" => ProviderPlace::Environment,
            ".env" => ProviderPlace::EnvFile,
            _ => ProviderPlace::Models,
        };
        let model = ProviderModel {
            settings: ModelSettings { name: endpoint.model.clone(), ..ModelSettings::default() },
            endpoint: endpoint.clone(),
        };
        let known = providers.iter_mut().find(|provider| {
            provider.place == place
                && provider.base_url == endpoint.base_url
                && provider.api == Some(endpoint.profile.api)
                && key(&provider.api_key) == key(&endpoint.api_key)
        });
        if let Some(known) = known {
            known.models.push(model);
            continue;
        }
        let kind = endpoint.profile.kind;
        let variable = match place {
            ProviderPlace::Environment | ProviderPlace::EnvFile if endpoint.api_key.is_some() => {
                let name = if kind == ProfileKind::DeepSeek { "DEEPSEEK_API_KEY" } else { "OPENAI_API_KEY" };
                environment.get(name).map(|(_, from)| (name.to_owned(), from))
            }
            _ => None,
        };
        let used = |id: &str| taken.iter().chain(&providers).any(|provider| provider.id == id);
        let id = free_id(kind, used);
        providers.push(Provider {
            id,
            name: name_of(kind, &endpoint.base_url),
            kind,
            base_url: endpoint.base_url.clone(),
            api: Some(endpoint.profile.api),
            api_key: endpoint.api_key.clone(),
            place,
            variable,
            models: vec![model],
        });
    }
    providers
}

/// Returns an id that is not used: the kind, and a number if there is more than one.
pub fn free_id(kind: ProfileKind, used: impl Fn(&str) -> bool) -> String {
    let plain = kind.word().to_owned();
    if !used(&plain) {
        return plain;
    }
    (2..).map(|number| format!("{plain}-{number}")).find(|id| !used(id)).unwrap_or(plain)
}

/// Returns the display name of a provider: that of its kind, or its address if it is of no known kind.
pub fn name_of(kind: ProfileKind, base_url: &Url) -> String {
    match kind {
        ProfileKind::Other => base_url.host_str().unwrap_or_default().to_owned(),
        kind => kind.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::load;
    use super::*;

    const FILE: &str = "providers:\n  - id: mine\n    name: My own\n    base_url: http://h/v1\n    api_key: ${KEY}\n    models:\n      \
                        - {name: a, temperature: 0.5, context_window: 9}\n      - {name: b, enabled: false}\n";

    #[test]
    fn provider_offers_its_enabled_models() {
        let config = load(&[("config.yml", FILE)], &[("KEY", "k")]).unwrap();
        let provider = &config.providers[0];
        assert_eq!((provider.id.as_str(), provider.name.as_str(), provider.models.len()), ("mine", "My own", 2));
        assert_eq!(provider.variable, Some(("KEY".to_owned(), "environment")));
        assert_eq!(config.endpoints.len(), 1);
        let endpoint = &config.endpoints[0].endpoint;
        assert_eq!((endpoint.model.as_str(), endpoint.context_window), ("a", 9));
        assert_eq!(endpoint.profile.parameters.temperature, Some(0.5));
    }

    #[test]
    fn provider_without_its_key_is_listed_but_not_used() {
        let config = load(&[("config.yml", FILE)], &[]).unwrap();
        assert!(config.endpoints.is_empty() && config.providers[0].api_key.is_none());
        assert!(config.warnings[0].contains("KEY"), "{:?}", config.warnings);
    }

    #[test]
    fn address_names_no_variable_and_id_is_unique() {
        for (file, words) in [
            ("providers: [{id: a, base_url: 'http://${KEY}/v1'}]\n", "variables"),
            ("providers: [{id: A b, base_url: 'http://h'}]\n", "id"),
            ("providers: [{id: a, base_url: 'ftp://h'}]\n", "base_url"),
            ("providers: [{id: a, base_url: 'http://h'}, {id: a, base_url: 'http://i'}]\n", "two"),
            ("providers: [{id: a, base_url: 'http://h', key: x}]\n", "key"),
        ] {
            let error = load(&[("config.yml", file)], &[("KEY", "k")]).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn models_and_variables_are_providers_too() {
        let file = "models:\n  - {id: a, api_url: 'http://h/v1'}\n  - {id: b, api_url: 'http://h/v1'}\n  - {id: c, api_url: 'http://i/v1'}\n";
        let config = load(&[("config.yml", file)], &[("DEEPSEEK_API_KEY", "d")]).unwrap();
        let shown: Vec<_> = config.providers.iter().map(|one| (one.id.as_str(), one.place, one.models.len())).collect();
        assert_eq!(
            shown,
            [
                ("deepseek", ProviderPlace::Environment, 1),
                ("other", ProviderPlace::Models, 2),
                ("other-2", ProviderPlace::Models, 1)
            ]
        );
        assert_eq!(config.providers[0].variable, Some(("DEEPSEEK_API_KEY".to_owned(), "environment")));
    }
}
