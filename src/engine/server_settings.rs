//! Changes config.yml from the page, and follows changes that a person makes to the file.
//!
//! The file is the only place where settings are kept. It is written only if it is valid before and after the change, and
//! only if nobody else has changed it since it was read.

use std::sync::{Arc, PoisonError};

use serde_json::{Map, Value};

use super::command_access::HomeOwner;
use super::provider_changes::ProviderRefused;
use super::runtime::Runtime;
use super::{EngineError, Tenant, blocking};
use crate::config::edit::{CannotEdit, Edit, edited};
use crate::config::settings::{Confirmed, FileState, SETTINGS, Setting, SettingError, SettingSource, edits};
use crate::config::{Config, ConfigError, Environment, process_variables};
use crate::store::{BrowserCookie, StoreError, config_text, is_link};

/// What is known of config.yml and `.env` as they are on disk.
#[derive(Default)]
pub(super) struct ConfigFile {
    /// The texts that were last read; `None` before the first time.
    seen: Option<[Option<String>; 2]>,
    /// Why they cannot be used; the last valid configuration stays in force.
    problem: Option<String>,
}

/// Why settings were not changed.
#[derive(Debug, thiserror::Error)]
pub enum SettingsRefused {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("config.yml or .env is not valid, so it is not changed from here; correct it first: {0}")]
    Invalid(ConfigError),
    #[error("this would make config.yml unusable: {0}")]
    MakesInvalid(ConfigError),
    #[error(transparent)]
    CannotEdit(#[from] CannotEdit),
    #[error("config.yml is a symbolic link: edit the file that it points to, or replace the link by a file")]
    IsLink,
    #[error(
        "{0} is set in the environment or on the command line this server was started with, and that wins over config.yml"
    )]
    Overridden(&'static str),
    #[error("the provider {0} is not in config.yml any more")]
    ProviderGone(String),
    #[error("the address of {0} was changed meanwhile; nothing was written, try again")]
    ProviderChanged(String),
    #[error(
        "other machines could reach this server; set MINICLAW_TOKEN in .env and restart it before it listens on this address"
    )]
    NeedsToken,
    #[error(
        "other machines could reach this server, and passwords would be sent to it without encryption; set tls_cert and \
         tls_key, or trusted_proxies, in config.yml and restart it before it listens on this address"
    )]
    NeedsTls,
}

/// A setting with its value.
pub struct SettingValue {
    pub setting: &'static Setting,
    pub value: Value,
    /// The value that applies if config.yml has none.
    pub default: Value,
    pub source: SettingSource,
    /// The values that a person has to confirm; `*` for every new one.
    pub loosening: Vec<&'static str>,
}

/// All settings as config.yml has them, and what is wrong with it.
pub struct ServerSettings {
    pub settings: Vec<SettingValue>,
    pub warnings: Vec<String>,
}

/// A person's change of settings: null stands for the default.
pub struct SettingsChange {
    pub set: Map<String, Value>,
    pub confirmed: Confirmed,
}

/// How often a change is made again because the file was changed in between.
const TRIES: usize = 5;

impl Runtime {
    /// Reads config.yml and `.env` if they have changed since they were read last, and applies them if they are valid.
    ///
    /// # Errors
    /// Returns an error if the files cannot be read.
    pub async fn follow_config(self: &Arc<Self>) -> Result<(), EngineError> {
        let _one_at_a_time = self.connecting.lock().await;
        self.read_config().await.map(drop)
    }

    /// As [`Runtime::follow_config`], under the lock. Returns the text of config.yml, which is valid unless there is a
    /// problem.
    pub(super) async fn read_config(self: &Arc<Self>) -> Result<Option<String>, EngineError> {
        let home = self.home.clone();
        let (texts, config) = blocking(move || {
            let text = |name| {
                config_text(&home, name).map_err(|source| StoreError::Io { doing: format!("reading {name}"), source })
            };
            Ok(([text("config.yml")?, text(".env")?], Config::of_process(&home)))
        })
        .await?;
        let file = texts[0].clone();
        {
            let mut known = self.config_file.write().unwrap_or_else(PoisonError::into_inner);
            if known.seen.as_ref() == Some(&texts) {
                return Ok(file);
            }
            known.problem = config.as_ref().err().map(ToString::to_string);
            known.seen = Some(texts);
        }
        match config {
            Ok(config) => self.apply(config),
            Err(error) => {
                tracing::warn!(%error, "the configuration was changed and is not valid; the last valid one stays in force")
            }
        }
        Ok(file)
    }

    /// Returns the names of all variables of `.env`.
    pub(super) async fn env_names(&self) -> Result<Vec<String>, EngineError> {
        let home = self.home.clone();
        let environment = blocking(move || Ok(Environment::load(&home, std::iter::empty()))).await?;
        Ok(environment.map_err(SettingsRefused::Invalid)?.names())
    }

    /// Returns why config.yml or `.env` cannot be used, if they cannot.
    pub(super) fn config_problem(&self) -> Option<String> {
        self.config_file.read().unwrap_or_else(PoisonError::into_inner).problem.clone()
    }
}

impl Tenant {
    /// Remembers that a browser has signed out.
    ///
    /// # Errors
    /// Returns an error if that cannot be written; the browser is then still signed in.
    pub async fn sign_out(&self, cookie: BrowserCookie) -> Result<(), EngineError> {
        Ok(self.tree.sign_out(self.claim, cookie).await?)
    }

    /// Returns all settings of config.yml.
    ///
    /// # Errors
    /// Returns [`ProviderRefused::NotHere`] if this is not the server's own home, and an error if the file cannot be read.
    pub async fn server_settings(&self) -> Result<ServerSettings, EngineError> {
        self.require_own_home()?;
        let text = {
            let _one_at_a_time = self.runtime.connecting.lock().await;
            self.runtime.read_config().await?
        };
        let config = self.runtime.config();
        let values = text.as_deref().and_then(|text| crate::config::edit::values(text).ok()).unwrap_or_default();
        let settings = SETTINGS.iter().map(|setting| {
            let (value, source) = match (config.overrides.get(setting.key), setting.in_file(&values)) {
                (Some((value, source)), _) => (value.clone(), *source),
                (None, Some(value)) => (value.clone(), SettingSource::File),
                (None, None) => (setting.default_value(&values), SettingSource::Default),
            };
            SettingValue {
                setting,
                value,
                default: setting.default_value(&values),
                source,
                loosening: setting.loosening_values(&values),
            }
        });
        let warnings = self.runtime.config_problem().into_iter().chain(config.warnings.iter().cloned());
        Ok(ServerSettings { settings: settings.collect(), warnings: warnings.collect() })
    }

    /// Changes settings in config.yml and applies them. Continues even if the requester disconnects.
    ///
    /// # Errors
    /// Returns [`SettingsRefused`], and nothing is written then.
    pub async fn change_settings(self: &Arc<Self>, change: SettingsChange) -> Result<ServerSettings, EngineError> {
        self.require_own_config()?;
        let tenant = self.clone();
        let changed = tokio::spawn(async move {
            let _one_at_a_time = tenant.runtime.connecting.lock().await;
            tenant.refuse_overridden(&change)?;
            tenant.edit_config(|file| Ok(edits(file, &change.set, change.confirmed)?)).await
        });
        changed.await.map_err(|_| EngineError::Internal("the change of settings was cut off"))??;
        self.server_settings().await
    }

    pub(super) fn require_own_home(&self) -> Result<(), EngineError> {
        match self.owner {
            HomeOwner::OnePerson | HomeOwner::Server => Ok(()),
            HomeOwner::Person { .. } => Err(ProviderRefused::NotHere.into()),
        }
    }

    /// What is written to config.yml and `.env` of one server of a cluster would be gone with the next server that has the home. A home
    /// in a database can be in another folder than these files.
    pub(super) fn require_own_config(&self) -> Result<(), EngineError> {
        self.require_own_home()?;
        let config = self.runtime.config();
        if config.database.as_ref().is_some_and(|database| database.cluster.is_some()) {
            return Err(ProviderRefused::OnAllServers.into());
        }
        if self.home.path() == self.runtime.home { Ok(()) } else { Err(ProviderRefused::NotHere.into()) }
    }

    fn refuse_overridden(&self, change: &SettingsChange) -> Result<(), SettingsRefused> {
        let config = self.runtime.config();
        let overridden = |(key, _): (&String, &Value)| {
            let (name, _) = config.overrides.get_key_value(key.as_str())?;
            let variable = Setting::of_key(name).ok().and_then(|setting| setting.variable);
            Some(SettingsRefused::Overridden(variable.unwrap_or(name)))
        };
        if let Some(refused) = change.set.iter().find_map(overridden) {
            return Err(refused);
        }
        let opens = change
            .set
            .get("host")
            .is_some_and(|host| Setting::of_key("host").is_ok_and(|setting| setting.loosens(&Value::Null, Some(host))));
        let people = &config.people;
        let is_protected = match people.is_multi() {
            true => people.insecure_http || !people.trusted_proxies.is_empty() || config.tls.is_set(),
            false => config.token.is_some(),
        };
        match (opens, is_protected, people.is_multi()) {
            (true, false, false) => Err(SettingsRefused::NeedsToken),
            (true, false, true) => Err(SettingsRefused::NeedsTls),
            _ => Ok(()),
        }
    }

    /// Makes the edits that `plan` derives from the values of config.yml, and applies the result. The caller holds the
    /// lock on the configuration.
    ///
    /// # Errors
    /// Returns [`SettingsRefused`] if the file is or would become invalid; nothing is written then.
    pub(super) async fn edit_config(
        &self,
        plan: impl Fn(&Value) -> Result<Vec<Edit>, SettingsRefused>,
    ) -> Result<(), EngineError> {
        for _ in 0..TRIES {
            let home = self.runtime.home.clone();
            let (old, environment, linked) = blocking(move || {
                let old = config_text(&home, "config.yml");
                Ok((
                    old.map_err(|source| StoreError::Io { doing: "reading config.yml".to_owned(), source })?,
                    Environment::load(&home, process_variables()),
                    is_link(&home, "config.yml"),
                ))
            })
            .await?;
            if linked {
                return Err(SettingsRefused::IsLink.into());
            }
            let environment = environment.map_err(SettingsRefused::Invalid)?;
            let state = FileState::of(old.clone().unwrap_or_default(), &environment);
            let (values, _) = state.parsed.map_err(SettingsRefused::Invalid)?;
            let new = edited(&state.text, &plan(&values)?).map_err(SettingsRefused::from)?;
            if new == state.text {
                return Ok(());
            }
            Config::parse(Some(&new), &environment).map_err(SettingsRefused::MakesInvalid)?;
            match self.tree.save_config(self.claim, old.as_deref(), &new).await {
                // Whoever was faster has written a file of their own, which is read next.
                Err(StoreError::Conflict { .. } | StoreError::Exists { .. }) => {}
                saved => {
                    saved?;
                    self.runtime.read_config().await?;
                    return Ok(());
                }
            }
        }
        Err(StoreError::Conflict { path: "config.yml".to_owned(), etag: None }.into())
    }
}
