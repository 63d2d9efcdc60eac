//! The providers and their models as a person sees them: where each is configured, whether it answers, what is known of
//! its models.

use secrecy::SecretString;
use url::Url;

use super::catalogue::whole_id;
use super::{EngineError, Tenant};
use crate::config::providers::{ModelSettings, Provider, ProviderPlace, free_id, name_of};
use crate::provider::{Api, Endpoint, Health, Profile, ProfileKind};

/// A provider with its state.
pub struct ListedProvider {
    pub id: String,
    pub name: String,
    pub kind: ProfileKind,
    /// Empty for the embedded model.
    pub base_url: String,
    /// The form of requests, if a person has said so.
    pub api: Option<Api>,
    pub place: ListedPlace,
    pub has_key: bool,
    /// The variable that holds the key, and where it is set.
    pub variable: Option<(String, &'static str)>,
    /// The result of the last request; `None` before the first one.
    pub health: Option<Health>,
    pub models: Vec<ListedModel>,
}

/// Where a provider comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedPlace {
    Configured(ProviderPlace),
    /// Found on this machine.
    Found,
    BuiltIn,
}

/// A model of a provider.
pub struct ListedModel {
    /// As in the list of models that can be chosen, if it can.
    pub id: String,
    pub settings: ModelSettings,
    pub window: KnownWindow,
    pub vision: Option<bool>,
    /// `None` if it is not known whether the model thinks.
    pub thinking: Option<KnownThinking>,
    pub is_enabled: bool,
    pub is_favorite: bool,
    pub is_default: bool,
    pub is_fallback: bool,
}

/// Whether a model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownThinking {
    Switchable,
    Always,
    Never,
}

/// The context window in tokens, and where it is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownWindow {
    Unknown,
    /// Named by the server of the model.
    Provider(u32),
    /// From the list of known models.
    Known(u32),
    /// Set in config.yml.
    Configured(u32),
}

/// All providers, and the models that have a role.
pub struct ProviderList {
    pub providers: Vec<ListedProvider>,
    pub default_model: Option<String>,
    pub fallback_model: Option<String>,
}

impl Tenant {
    /// Returns all providers.
    ///
    /// # Errors
    /// Returns an error if this is not the server's own home.
    pub fn providers(&self) -> Result<ProviderList, EngineError> {
        self.require_own_home()?;
        let config = self.runtime.config();
        let roles = Roles {
            default: self.models.default_id(),
            fallback_id: config.fallback.as_deref().and_then(|wanted| self.runtime.models.id_for(wanted)),
            fallback: config.fallback.clone(),
            favorites: config.favorites.clone(),
        };
        let mut providers: Vec<ListedProvider> =
            config.providers.iter().map(|provider| self.configured_provider(provider, &roles)).collect();
        self.add_found(&mut providers, &roles);
        self.add_embedded(&mut providers, &roles);
        let id_of = |has: fn(&ListedModel) -> bool| {
            providers
                .iter()
                .flat_map(|provider| &provider.models)
                .find(|model| has(model))
                .map(|model| model.id.clone())
        };
        let (default_model, fallback_model) = (id_of(|model| model.is_default), id_of(|model| model.is_fallback));
        Ok(ProviderList { providers, default_model, fallback_model })
    }

    fn configured_provider(&self, provider: &Provider, roles: &Roles) -> ListedProvider {
        let listed = provider.models.iter().map(|model| {
            let id = self.runtime.models.id_of(&model.endpoint);
            let is_enabled = id.is_some();
            let id = id.unwrap_or_else(|| whole_id(&model.endpoint));
            roles.model(id, &model.settings, &model.endpoint, is_enabled)
        });
        let mut models: Vec<ListedModel> = listed.collect();
        // What the provider named besides, when it was checked last, can be enabled.
        let asked = endpoint_of(&provider.base_url, provider.api_key.clone(), "").with_api(provider.api);
        for name in self.runtime.models.named_by(&asked) {
            if !provider.models.iter().any(|model| model.settings.name == name) {
                let endpoint = endpoint_of(&provider.base_url, None, &name).with_api(provider.api);
                let settings = ModelSettings { name, ..ModelSettings::default() };
                models.push(roles.model(whole_id(&endpoint), &settings, &endpoint, false));
            }
        }
        ListedProvider {
            id: provider.id.clone(),
            name: provider.name.clone(),
            kind: provider.kind,
            base_url: provider.base_url.as_str().trim_end_matches('/').to_owned(),
            api: provider.api,
            place: ListedPlace::Configured(provider.place),
            has_key: provider.api_key.is_some(),
            variable: provider.variable.clone(),
            health: self.runtime.models.health(&asked).last(),
            models,
        }
    }

    fn add_found(&self, providers: &mut Vec<ListedProvider>, roles: &Roles) {
        for (id, endpoint) in self.runtime.models.found() {
            let base_url = endpoint.base_url.as_str().trim_end_matches('/').to_owned();
            let settings = ModelSettings { name: endpoint.model.clone(), ..ModelSettings::default() };
            let model = roles.model(id, &settings, &endpoint, true);
            let same =
                |provider: &&mut ListedProvider| provider.place == ListedPlace::Found && provider.base_url == base_url;
            if let Some(known) = providers.iter_mut().find(same) {
                known.models.push(model);
                continue;
            }
            let kind = endpoint.profile.kind;
            providers.push(ListedProvider {
                id: free_id(kind, |id| providers.iter().any(|provider| provider.id == id)),
                name: name_of(kind, &endpoint.base_url),
                kind,
                base_url,
                api: None,
                place: ListedPlace::Found,
                has_key: false,
                variable: None,
                health: self.runtime.models.health(&endpoint).last(),
                models: vec![model],
            });
        }
    }

    fn add_embedded(&self, providers: &mut Vec<ListedProvider>, roles: &Roles) {
        let Some(embedded) = self.runtime.models.embedded() else { return };
        let is_known = roles.fallback.as_deref() == Some(super::models::EMBEDDED);
        providers.push(ListedProvider {
            id: free_id(ProfileKind::Local, |id| providers.iter().any(|provider| provider.id == id)),
            name: ProfileKind::Local.name().to_owned(),
            kind: ProfileKind::Local,
            base_url: String::new(),
            api: None,
            place: ListedPlace::BuiltIn,
            has_key: false,
            variable: None,
            health: None,
            models: vec![ListedModel {
                is_default: roles.default.as_ref() == Some(&embedded.id),
                is_favorite: roles.favorites.contains(&embedded.id),
                is_fallback: is_known || roles.fallback.as_ref() == Some(&embedded.id),
                settings: ModelSettings {
                    name: embedded.model,
                    label: Some(embedded.label),
                    ..ModelSettings::default()
                },
                window: KnownWindow::Configured(embedded.context_window),
                vision: Some(embedded.vision),
                thinking: Some(if embedded.thinking { KnownThinking::Switchable } else { KnownThinking::Never }),
                is_enabled: true,
                id: embedded.id,
            }],
        });
    }
}

/// Returns whether the model thinks, if that is known: of a server with any model, it is not.
fn thinking_of(endpoint: &Endpoint) -> Option<KnownThinking> {
    let profile = &endpoint.profile;
    let sampling =
        ["temperature", "top_p"].into_iter().any(|parameter| profile.unsupported_params.contains(&parameter));
    match profile.kind {
        _ if profile.can_switch_thinking() => Some(KnownThinking::Switchable),
        // Only models that always think refuse sampling parameters without having a switch.
        ProfileKind::DeepSeek | ProfileKind::OpenAi if sampling => Some(KnownThinking::Always),
        _ => None,
    }
}

/// Returns an endpoint with what is known of a model by its name; without a name, to ask for the list of models.
pub(super) fn endpoint_of(base_url: &Url, api_key: Option<SecretString>, name: &str) -> Endpoint {
    let profile = Profile::from_url(base_url, name);
    Endpoint {
        context_window: profile.context_window(name),
        profile,
        base_url: base_url.clone(),
        api_key,
        model: name.to_owned(),
        label: String::new(),
        price: None,
        reach: None,
    }
}

/// Which models have a role.
struct Roles {
    default: Option<String>,
    /// As it is configured, and the id of the model of a provider that it means.
    fallback: Option<String>,
    fallback_id: Option<String>,
    favorites: Vec<String>,
}

impl Roles {
    fn model(&self, id: String, settings: &ModelSettings, endpoint: &Endpoint, is_enabled: bool) -> ListedModel {
        let profile = &endpoint.profile;
        let window = match (settings.context_window, profile.known_window(&endpoint.model)) {
            (Some(window), _) => KnownWindow::Configured(window),
            (None, Some(known)) if known == endpoint.context_window => KnownWindow::Known(known),
            (None, _) if endpoint.context_window != profile.context_window(&endpoint.model) => match profile.kind {
                ProfileKind::Ollama | ProfileKind::LmStudio => KnownWindow::Provider(endpoint.context_window),
                _ => KnownWindow::Configured(endpoint.context_window),
            },
            (None, _) => KnownWindow::Unknown,
        };
        ListedModel {
            window,
            vision: settings.vision.or(profile.vision.then_some(true)),
            thinking: thinking_of(endpoint),
            is_enabled,
            // An id gets an address when another model of the same name appears.
            is_favorite: self.favorites.iter().any(|known| *known == id || *known == whole_id(endpoint)),
            is_default: self.default.as_ref() == Some(&id),
            is_fallback: self.fallback_id.as_ref() == Some(&id),
            settings: settings.clone(),
            id,
        }
    }
}
