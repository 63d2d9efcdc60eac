//! Provides the embedder. It is loaded or connected when it is first needed: its weights take 66 or 90 MB, and a service
//! is a request over the network.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use miniclaw_embed::{E5Small, UniversalSentenceEncoder};
use tokio::runtime::Handle;

use crate::config::{E5_FILE, EmbeddingSource, LocalModel, USE_FILES};
use crate::domain::{EmbedError, Embedder, TokenEmbedder};
use crate::provider::Embeddings;
use crate::store;

/// Reads the weights of a model below this folder of models.
fn load(model: LocalModel, models: &Path) -> Result<Arc<dyn Embedder>, EmbedError> {
    Ok(match model {
        LocalModel::UseMultilingual => {
            let [weights, vocabulary] = USE_FILES;
            Arc::new(UniversalSentenceEncoder::load(&read(model, models, weights)?, &read(model, models, vocabulary)?)?)
        }
        LocalModel::E5Small => e5(models)?,
    })
}

fn read(model: LocalModel, models: &Path, file: &str) -> Result<Vec<u8>, EmbedError> {
    if let Some(file) = model.missing(models) {
        return Err(EmbedError::Missing(file.display().to_string()));
    }
    let path = models.join(model.name()).join(file);
    store::weights(&path, MOST).map_err(|error| EmbedError::Broken(format!("{}: {error}", path.display())))
}

fn e5(models: &Path) -> Result<Arc<E5Small>, EmbedError> {
    Ok(Arc::new(E5Small::load(&read(LocalModel::E5Small, models, E5_FILE)?)?))
}

/// Most bytes of such a file: several times what they have.
const MOST: u64 = 256 << 20;
/// How long a failure counts before it is tried again.
const PAUSE: Duration = Duration::from_secs(60);

pub struct Embedders {
    source: EmbeddingSource,
    /// Where the model of late interaction is looked for.
    rerank: Option<PathBuf>,
    runtime: Handle,
    vectors: Mutex<State<dyn Embedder>>,
    tokens: Mutex<State<dyn TokenEmbedder>>,
}

struct State<T: ?Sized> {
    ready: Option<Arc<T>>,
    failed: Option<(Instant, EmbedError)>,
}

impl<T: ?Sized> Default for State<T> {
    fn default() -> Self {
        Self { ready: None, failed: None }
    }
}

impl<T: ?Sized> State<T> {
    /// What is ready, or what `make` makes; a failure counts for a while.
    fn get(&mut self, make: impl FnOnce() -> Result<Option<Arc<T>>, EmbedError>) -> Result<Option<Arc<T>>, EmbedError> {
        if let Some(ready) = &self.ready {
            return Ok(Some(ready.clone()));
        }
        if let Some((at, error)) = &self.failed
            && at.elapsed() < PAUSE
        {
            return Err(error.clone());
        }
        let made = make();
        self.failed = made.as_ref().err().map(|error| (Instant::now(), error.clone()));
        self.ready = made?;
        Ok(self.ready.clone())
    }
}

impl Embedders {
    /// `runtime` is where requests to a service run.
    pub fn new(source: EmbeddingSource, runtime: Handle) -> Self {
        Self { source, rerank: None, runtime, vectors: Mutex::default(), tokens: Mutex::default() }
    }

    /// With late interaction by multilingual-e5-small, which is looked for below this folder of models.
    pub fn with_rerank(self, models: Option<PathBuf>) -> Self {
        Self { rerank: models, ..self }
    }

    pub fn source(&self) -> &EmbeddingSource {
        &self.source
    }

    /// The embedder, loaded or connected if it is not yet; `None` where there is none. Blocks, the first time up to a
    /// second for weights and 10 s for a service.
    ///
    /// # Errors
    /// When there should be one and it cannot be used; the same for a minute, then it is tried again.
    pub fn get(&self) -> Result<Option<Arc<dyn Embedder>>, EmbedError> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner).get(|| self.make())
    }

    /// The model of late interaction, loaded if it is not yet; `None` where none is wanted. Blocks, the first time up to a
    /// second.
    ///
    /// # Errors
    /// As [`Embedders::get`].
    pub fn tokens(&self) -> Result<Option<Arc<dyn TokenEmbedder>>, EmbedError> {
        let Some(models) = &self.rerank else { return Ok(None) };
        let load = || Ok(Some(e5(models)? as Arc<dyn TokenEmbedder>));
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).get(load)
    }

    fn make(&self) -> Result<Option<Arc<dyn Embedder>>, EmbedError> {
        match &self.source {
            EmbeddingSource::None => Ok(None),
            EmbeddingSource::Local(model, models) => load(*model, models).map(Some),
            EmbeddingSource::LocalIfThere(models) if LocalModel::default().missing(models).is_some() => Ok(None),
            EmbeddingSource::LocalIfThere(models) => load(LocalModel::default(), models).map(Some),
            EmbeddingSource::Service(endpoint) => {
                let service = Embeddings::connect((**endpoint).clone(), self.runtime.clone())?;
                Ok(Some(Arc::new(service)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{Endpoint, Profile, ProfileKind};

    fn service(url: &str) -> EmbeddingSource {
        EmbeddingSource::Service(Box::new(Endpoint {
            profile: Profile::new(ProfileKind::Other, "m"),
            base_url: url::Url::parse(url).unwrap(),
            api_key: None,
            model: "m".to_owned(),
            label: "Test".to_owned(),
            context_window: 0,
        }))
    }

    fn get(
        source: EmbeddingSource,
        runtime: &tokio::runtime::Runtime,
    ) -> Result<Option<Arc<dyn Embedder>>, EmbedError> {
        Embedders::new(source, runtime.handle().clone()).get()
    }

    #[test]
    fn missing_weights_fail_only_when_configured() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let models = tempfile::tempdir().unwrap();
        let folder = models.path().to_owned();
        assert!(get(EmbeddingSource::None, &runtime).unwrap().is_none());
        assert!(get(EmbeddingSource::LocalIfThere(folder.clone()), &runtime).unwrap().is_none());
        for model in LocalModel::ALL {
            let source = EmbeddingSource::Local(model, folder.clone());
            let error = get(source.clone(), &runtime).err().unwrap().to_string();
            assert!(error.contains(model.files()[0]) && error.contains(model.command()), "{error}");
            damaged(model, &folder);
            let error = get(source, &runtime).err().unwrap();
            assert!(matches!(error, EmbedError::Broken(_)), "{error}");
        }
        let error = get(EmbeddingSource::LocalIfThere(folder), &runtime).err().unwrap();
        assert!(matches!(error, EmbedError::Broken(_)), "{error}");
    }

    /// Puts files there that are none of the model.
    fn damaged(model: LocalModel, models: &Path) {
        let folder = models.join(model.name());
        std::fs::create_dir(&folder).unwrap();
        model.files().iter().for_each(|file| std::fs::write(folder.join(file), "x").unwrap());
    }

    #[test]
    fn weights_that_come_later_are_found() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let models = tempfile::tempdir().unwrap();
        let embedders =
            Embedders::new(EmbeddingSource::LocalIfThere(models.path().to_owned()), runtime.handle().clone());
        assert!(embedders.get().unwrap().is_none());
        damaged(LocalModel::default(), models.path());
        assert!(embedders.get().is_err(), "they are looked at");
    }

    #[test]
    fn a_service_is_connected_once_and_a_failure_is_remembered() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let serve = |status: u16| {
            let asked = asked.clone();
            let answer = move || {
                asked.fetch_add(1, Ordering::Relaxed);
                let body = r#"{"data":[{"embedding":[3.0,4.0]}]}"#;
                async move { (axum::http::StatusCode::from_u16(status).unwrap(), body) }
            };
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(answer)).await });
                format!("http://{address}/v1")
            })
        };
        let embedders = Embedders::new(service(&serve(200)), runtime.handle().clone());
        assert_eq!(asked.load(Ordering::Relaxed), 0, "nothing is asked before it is needed");
        let embedder = embedders.get().unwrap().unwrap();
        assert!(Arc::ptr_eq(&embedder, &embedders.get().unwrap().unwrap()));
        assert_eq!((embedder.dimension(), asked.load(Ordering::Relaxed)), (2, 1));

        let embedders = Embedders::new(service(&serve(401)), runtime.handle().clone());
        let errors = [embedders.get().err().unwrap(), embedders.get().err().unwrap()];
        assert!(matches!(&errors[0], EmbedError::Refused(_)) && errors[0] == errors[1], "{errors:?}");
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }
}
