//! Provides the embedders. They are loaded or connected on first use: weights take 66 or 90 MB, and connecting to a
//! service takes a network request. Vectors of texts and of their pieces share one loaded model.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use miniclaw_embed::{E5Small, UniversalSentenceEncoder};
use tokio::runtime::Handle;

use crate::config::{E5_FILE, EmbeddingSource, LocalModel, Rerank, USE_FILES};
use crate::domain::{EmbedError, Embedder, TokenEmbedder};
use crate::provider::Embeddings;
use crate::store;

fn load_use(models: &Path) -> Result<Arc<dyn Embedder>, EmbedError> {
    let read = |file| read(LocalModel::UseMultilingual, models, file);
    let [weights, vocabulary] = USE_FILES;
    Ok(Arc::new(UniversalSentenceEncoder::load(&read(weights)?, &read(vocabulary)?)?))
}

fn read(model: LocalModel, models: &Path, file: &str) -> Result<Vec<u8>, EmbedError> {
    if let Some(file) = model.missing(models) {
        return Err(EmbedError::Missing(file.display().to_string()));
    }
    let path = models.join(model.name()).join(file);
    store::read_model_file(&path, MOST).map_err(|error| EmbedError::Broken(format!("{}: {error}", path.display())))
}

fn load_e5(models: &Path) -> Result<Arc<E5Small>, EmbedError> {
    Ok(Arc::new(E5Small::load(&read(LocalModel::E5Small, models, E5_FILE)?)?))
}

/// Maximum bytes of a weights file: several times the actual size.
const MOST: u64 = 256 << 20;
/// Time after a failure before the next attempt.
const PAUSE: Duration = Duration::from_secs(60);

pub struct Embedders {
    source: EmbeddingSource,
    rerank: Rerank,
    runtime: Handle,
    vectors: Mutex<State<dyn Embedder>>,
    /// For vectors of texts, and for late interaction. Locked after `vectors`.
    e5: Mutex<State<E5Small>>,
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
    /// Returns the ready value, or creates it with `make`. A failure is returned again until [`PAUSE`] has passed.
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
    /// `runtime` runs the requests to a service.
    pub fn new(source: EmbeddingSource, runtime: Handle) -> Self {
        Self { source, rerank: Rerank::default(), runtime, vectors: Mutex::default(), e5: Mutex::default() }
    }

    /// Sets whether there is late interaction.
    pub fn with_rerank(self, rerank: Rerank) -> Self {
        Self { rerank, ..self }
    }

    pub fn source(&self) -> &EmbeddingSource {
        &self.source
    }

    /// Returns the embedder, after loading or connecting it on first use; `None` if none is configured or found.
    /// Blocks: on first use up to a second for weights, and 10 s for a service.
    ///
    /// # Errors
    /// Returns an error if the configured embedder cannot be used. The same error is returned for a minute, then the
    /// next call retries.
    pub fn get(&self) -> Result<Option<Arc<dyn Embedder>>, EmbedError> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner).get(|| self.make())
    }

    /// Returns the model for late interaction, after loading it on first use; `None` if it is off. Blocks: on first use
    /// up to a second.
    ///
    /// # Errors
    /// As [`Embedders::get`].
    pub fn tokens(&self) -> Result<Option<Arc<dyn TokenEmbedder>>, EmbedError> {
        let models = match (&self.rerank, self.source.local()) {
            (Rerank::E5Small(models), _) => models,
            // Not if weights that were added later are of another model than the one in use.
            (Rerank::Auto, Some((LocalModel::E5Small, models)))
                if self.get()?.is_some_and(|used| used.id() == E5Small::ID) =>
            {
                models
            }
            (Rerank::Auto | Rerank::None, _) => return Ok(None),
        };
        Ok(Some(self.e5(models)?))
    }

    fn e5(&self, models: &Path) -> Result<Arc<E5Small>, EmbedError> {
        let loaded = self.e5.lock().unwrap_or_else(PoisonError::into_inner).get(|| load_e5(models).map(Some))?;
        loaded.ok_or_else(|| EmbedError::Missing(LocalModel::E5Small.name().to_owned()))
    }

    fn make(&self) -> Result<Option<Arc<dyn Embedder>>, EmbedError> {
        if let EmbeddingSource::Service(endpoint) = &self.source {
            let service = Embeddings::connect((**endpoint).clone(), self.runtime.clone())?;
            return Ok(Some(Arc::new(service)));
        }
        let found = self.source.local();
        if let (EmbeddingSource::LocalIfThere(_), Some((model, _))) = (&self.source, found)
            && model != LocalModel::default()
        {
            let (used, better) = (model.name(), LocalModel::default());
            tracing::info!(used, "searches find more with {}: {}", better.name(), better.command());
        }
        Ok(match found {
            None => None,
            Some((LocalModel::E5Small, models)) => Some(self.e5(models)?),
            Some((LocalModel::UseMultilingual, models)) => Some(load_use(models)?),
        })
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
            price: None,
            reach: None,
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

    /// Writes files that are not valid weights.
    fn damaged(model: LocalModel, models: &Path) {
        let folder = models.join(model.name());
        std::fs::create_dir(&folder).unwrap();
        model.files().iter().for_each(|file| std::fs::write(folder.join(file), "x").unwrap());
    }

    #[test]
    fn weights_added_later_are_found() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let models = tempfile::tempdir().unwrap();
        let embedders =
            Embedders::new(EmbeddingSource::LocalIfThere(models.path().to_owned()), runtime.handle().clone());
        assert!(embedders.get().unwrap().is_none());
        damaged(LocalModel::default(), models.path());
        assert!(embedders.get().is_err(), "they are looked at");
    }

    #[test]
    fn late_interaction_follows_model_in_use() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let models = tempfile::tempdir().unwrap();
        let folder = models.path().to_owned();
        let tokens = |source: EmbeddingSource, rerank: Rerank| {
            let embedders = Embedders::new(source, runtime.handle().clone()).with_rerank(rerank);
            embedders.tokens().map(|tokens| tokens.is_some())
        };
        let if_there = || EmbeddingSource::LocalIfThere(folder.clone());
        let with_use = || EmbeddingSource::Local(LocalModel::UseMultilingual, folder.clone());
        damaged(LocalModel::UseMultilingual, &folder);
        assert_eq!(tokens(if_there(), Rerank::Auto), Ok(false), "an installation without the new weights");
        assert!(matches!(tokens(if_there(), Rerank::E5Small(folder.clone())), Err(EmbedError::Missing(_))));
        // That damaged weights are an error shows that they are read.
        damaged(LocalModel::E5Small, &folder);
        assert!(matches!(tokens(if_there(), Rerank::Auto), Err(EmbedError::Broken(_))));
        assert!(matches!(tokens(EmbeddingSource::None, Rerank::E5Small(folder.clone())), Err(EmbedError::Broken(_))));
        for (source, rerank) in [
            (if_there(), Rerank::None),
            (with_use(), Rerank::Auto),
            (EmbeddingSource::None, Rerank::Auto),
            (service("http://127.0.0.1:9/v1"), Rerank::Auto),
        ] {
            assert_eq!(tokens(source, rerank), Ok(false));
        }
    }

    #[test]
    fn service_connects_once_and_failure_is_cached() {
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
