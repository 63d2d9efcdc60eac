//! Where vectors for search come from.

use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::{ConfigError, Environment, OPENAI_URL, bad, endpoint, models_dir, substitute, url};
use crate::provider::Endpoint;

/// The source of vectors.
#[derive(Clone, Debug)]
pub enum EmbeddingSource {
    /// No vectors: search uses words only.
    None,
    /// A local model, with its weights below this folder of models.
    Local(LocalModel, PathBuf),
    /// The first of [`LocalModel::ALL`] whose weights exist, else none.
    LocalIfThere(PathBuf),
    Service(Box<Endpoint>),
}

impl EmbeddingSource {
    /// Returns whether texts leave this machine to be embedded.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Service(endpoint) if !endpoint.is_local())
    }

    /// Returns the local model that it means now, with the folder of models; `None` if it means none.
    pub fn local(&self) -> Option<(LocalModel, &Path)> {
        match self {
            Self::Local(model, models) => Some((*model, models)),
            Self::LocalIfThere(models) => LocalModel::first_in(models).map(|model| (model, models.as_path())),
            Self::None | Self::Service(_) => None,
        }
    }
}

/// Whether and where the model for late interaction is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Rerank {
    /// Late interaction is on if vectors come from multilingual-e5-small.
    #[default]
    Auto,
    None,
    /// With multilingual-e5-small from this folder of models, wherever vectors come from.
    E5Small(PathBuf),
}

/// An embedding model that runs in the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalModel {
    #[default]
    E5Small,
    /// Smaller and faster, without late interaction.
    UseMultilingual,
}

impl LocalModel {
    /// All of them, the preferred ones first.
    pub const ALL: [Self; 2] = [Self::E5Small, Self::UseMultilingual];

    /// Returns the first one whose weights are below `models`.
    pub fn first_in(models: &Path) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.missing(models).is_none())
    }

    /// Returns its name in config.yml, which is also the name of its folder in the folder of models.
    pub fn name(self) -> &'static str {
        match self {
            Self::UseMultilingual => "use-multilingual-v3",
            Self::E5Small => "multilingual-e5-small",
        }
    }

    /// Returns the names of its files in that folder.
    pub fn files(self) -> &'static [&'static str] {
        match self {
            Self::UseMultilingual => &USE_FILES,
            Self::E5Small => &[E5_FILE],
        }
    }

    /// Returns the command that downloads its weights.
    pub fn command(self) -> &'static str {
        match self {
            Self::E5Small => "make embedder",
            Self::UseMultilingual => "make embedder-use",
        }
    }

    /// Returns the first of its files that is missing.
    pub fn missing(self, models: &Path) -> Option<PathBuf> {
        self.files().iter().map(|file| models.join(self.name()).join(file)).find(|file| !file.is_file())
    }
}

/// Weights and vocabulary of the Universal Sentence Encoder.
pub const USE_FILES: [&str; 2] = ["weights.npz", "sp.model"];
pub const E5_FILE: &str = "e5-small-q4.bin";

const MODEL: &str = "text-embedding-3-small";

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Entry {
    provider: Option<Provider>,
    model: Option<String>,
    api_url: Option<String>,
    api_key: Option<SecretString>,
    rerank: Option<RerankChoice>,
    /// Whether conversations are sent to a service beyond this machine.
    pub(super) conversations: bool,
}

/// The model for late interaction, as config.yml names it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RerankChoice {
    Auto,
    #[serde(alias = "off")]
    None,
    MultilingualE5Small,
}

pub(super) fn rerank(file: &Entry, environment: &Environment) -> Rerank {
    match file.rerank {
        None | Some(RerankChoice::Auto) => Rerank::Auto,
        Some(RerankChoice::None) => Rerank::None,
        Some(RerankChoice::MultilingualE5Small) => Rerank::E5Small(models_dir(environment)),
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Provider {
    Local,
    OpenAi,
    None,
}

/// Returns the source that config.yml names; else a service if EMBEDDING_MODEL and OpenAI's address or key are set;
/// else the local model. A variable that is not set makes the service unusable, which is only a warning.
pub(super) fn source(file: &Entry, environment: &Environment) -> Result<Result<EmbeddingSource, String>, ConfigError> {
    let models: PathBuf = models_dir(environment);
    let asked_for = file.model.is_some() || file.api_url.is_some() || file.api_key.is_some();
    match file.provider {
        Some(Provider::None) => Ok(Ok(EmbeddingSource::None)),
        Some(Provider::Local) => Ok(Ok(EmbeddingSource::Local(local(file.model.as_deref())?, models))),
        Some(Provider::OpenAi) => service(file, environment),
        None if asked_for || set_in_environment(environment) => service(file, environment),
        None => Ok(Ok(EmbeddingSource::LocalIfThere(models))),
    }
}

fn local(model: Option<&str>) -> Result<LocalModel, ConfigError> {
    let Some(name) = model else { return Ok(LocalModel::default()) };
    LocalModel::ALL.into_iter().find(|model| model.name() == name).ok_or_else(|| {
        let known = LocalModel::ALL.map(LocalModel::name).join(" and ");
        bad("config.yml", format!("embedding.model: {name} does not run here; {known} do"))
    })
}

/// Returns whether the environment configures a service. A self-hosted server may need no key; its address alone is
/// then enough, as for chat.
fn set_in_environment(environment: &Environment) -> bool {
    let own = environment.value("OPENAI_BASE_URL").is_some_and(|url| url.trim_end_matches('/') != OPENAI_URL);
    environment.value("EMBEDDING_MODEL").is_some() && (own || environment.value("OPENAI_API_KEY").is_some())
}

fn service(file: &Entry, environment: &Environment) -> Result<Result<EmbeddingSource, String>, ConfigError> {
    let unset = |name: String| format!("embedding: the variable {name} is not set, so search goes by words only");
    let address = match &file.api_url {
        Some(address) => match substitute(address, environment) {
            Ok(address) => address,
            Err(name) => return Ok(Err(unset(name))),
        },
        None => environment.value("OPENAI_BASE_URL").unwrap_or(OPENAI_URL).to_owned(),
    };
    let key = match file.api_key.as_ref().map(|key| substitute(key.expose_secret(), environment)).transpose() {
        Ok(key) => key,
        Err(name) => return Ok(Err(unset(name))),
    };
    // The key from the environment is not sent to an address from config.yml.
    let known = || environment.value("OPENAI_API_KEY").filter(|_| file.api_url.is_none()).map(str::to_owned);
    let key = key.or_else(known).filter(|key| !key.is_empty());
    let place = if file.api_url.is_some() { "config.yml" } else { "OPENAI_BASE_URL" };
    let address = url(&address).map_err(|reason| bad(place, format!("the address for embeddings {reason}")))?;
    let model = file.model.as_deref().or_else(|| environment.value("EMBEDDING_MODEL")).unwrap_or(MODEL);
    Ok(Ok(EmbeddingSource::Service(Box::new(endpoint(address, model, key.map(SecretString::from))))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::load;

    /// Describes the source: its kind and, for a service, its address, model and key.
    fn shown(file: &str, process: &[(&str, &str)]) -> String {
        let process = [process, &[("MINICLAW_MODELS", "/m")]].concat();
        match load(&[("config.yml", file)], &process).unwrap().embedding {
            EmbeddingSource::None => "none".to_owned(),
            EmbeddingSource::Local(model, models) => format!("{} below {}", model.name(), models.display()),
            EmbeddingSource::LocalIfThere(models) => format!("local if there {}", models.display()),
            EmbeddingSource::Service(endpoint) => {
                let key = endpoint.api_key.as_ref().map_or("none", |key| key.expose_secret());
                format!("{} {} key {key}", endpoint.base_url, endpoint.model)
            }
        }
    }

    #[test]
    fn configured_embedder_is_used() {
        let key = ("OPENAI_API_KEY", "k");
        assert_eq!(shown("embedding: {provider: none}", &[key, ("EMBEDDING_MODEL", "e")]), "none");
        assert_eq!(
            shown("embedding: {provider: local}", &[key, ("EMBEDDING_MODEL", "e")]),
            "multilingual-e5-small below /m"
        );
        for name in ["use-multilingual-v3", "multilingual-e5-small"] {
            let file = format!("embedding: {{provider: local, model: {name}}}");
            assert_eq!(shown(&file, &[]), format!("{name} below /m"));
        }
        let openai = "https://api.openai.com/v1 text-embedding-3-small key k";
        assert_eq!(shown("embedding: {provider: openai}", &[key]), openai);
        let own = "embedding: {api_url: 'http://h:${PORT}/v1', model: bge, api_key: 'x${KEY}'}";
        assert_eq!(shown(own, &[key, ("PORT", "9"), ("KEY", "y")]), "http://h:9/v1 bge key xy");
        let foreign = "embedding: {provider: openai, api_url: 'http://h/v1', model: bge}";
        assert_eq!(shown(foreign, &[key]), "http://h/v1 bge key none", "the key goes to its own host only");
    }

    #[test]
    fn embedding_service_variables_precede_local_model() {
        let (model, key) = (("EMBEDDING_MODEL", "e"), ("OPENAI_API_KEY", "k"));
        assert_eq!(shown("", &[model, key]), "https://api.openai.com/v1 e key k");
        assert_eq!(shown("", &[model, key, ("OPENAI_BASE_URL", "http://h/v1")]), "http://h/v1 e key k");
        assert_eq!(shown("", &[model, ("OPENAI_BASE_URL", "http://h/v1")]), "http://h/v1 e key none");
        for process in [&[][..], &[model], &[key], &[model, ("OPENAI_BASE_URL", "https://api.openai.com/v1/")]] {
            assert_eq!(shown("", process), "local if there /m", "{process:?}");
        }
    }

    #[test]
    fn late_interaction_follows_model_unless_configured() {
        let rerank = |file| load(&[("config.yml", file)], &[("MINICLAW_MODELS", "/m")]).map(|config| config.rerank);
        assert_eq!(rerank("embedding: {rerank: multilingual-e5-small}").unwrap(), Rerank::E5Small("/m".into()));
        assert_eq!([rerank("").unwrap(), rerank("embedding: {rerank: auto}").unwrap()], [Rerank::Auto, Rerank::Auto]);
        for file in ["embedding: {rerank: none}", "embedding: {rerank: off}"] {
            assert_eq!(rerank(file).unwrap(), Rerank::None);
        }
        assert!(rerank("embedding: {rerank: e5}").is_err());
        assert_eq!(shown("embedding: {rerank: multilingual-e5-small}", &[]), "local if there /m");
    }

    #[test]
    fn unset_variable_warns_and_wrong_value_fails() {
        let config = load(&[("config.yml", "embedding: {api_key: '${NOT_SET}'}")], &[]).unwrap();
        assert!(matches!(config.embedding, EmbeddingSource::None) && config.warnings[0].contains("NOT_SET"));
        for (file, words) in [
            ("embedding: {provider: other}", "embedding.provider"),
            ("embedding: {provider: local, model: e5}", "multilingual-e5-small"),
            ("embedding: {modle: x}", "modle"),
            ("embedding: {api_url: 'ftp://h'}", "must begin with http"),
        ] {
            let error = load(&[("config.yml", file)], &[]).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn best_model_that_is_there_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let models = folder.path();
        let source = EmbeddingSource::LocalIfThere(models.to_owned());
        let meant = || source.local().map(|(model, _)| model);
        assert_eq!(meant(), None);
        for model in LocalModel::ALL.into_iter().rev() {
            std::fs::create_dir(models.join(model.name())).unwrap();
            model.files().iter().for_each(|file| std::fs::write(models.join(model.name()).join(file), "x").unwrap());
            assert_eq!(meant(), Some(model), "those that are preferred come last here");
        }
        assert_eq!(meant(), Some(LocalModel::E5Small));
    }
}
