//! Which embedder there is. It is loaded or connected when it is first needed: its weights take 66 MB, and a service is a
//! request over the network.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::domain::{EmbedError, Embedder};
use crate::provider::{Embeddings, Endpoint};
use crate::retrieval::embed::UseMultilingual;
use crate::store;

/// Where vectors come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Nowhere: search goes by words.
    None,
    /// The model that runs here, with its weights below this folder of models.
    Local(PathBuf),
    /// The same where the weights are there, else nowhere.
    LocalIfThere(PathBuf),
    Service(Box<Endpoint>),
}

/// The folder of the local model below that of all models, and its files.
pub const FOLDER: &str = "use-multilingual-v3";
const FILES: [&str; 2] = ["weights.npz", "sp.model"];
/// Most bytes of such a file: several times what they have.
const MOST: u64 = 256 << 20;
/// How long a failure counts before it is tried again.
const PAUSE: Duration = Duration::from_secs(60);

pub struct Embedders {
    source: Source,
    runtime: Handle,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ready: Option<Arc<dyn Embedder>>,
    failed: Option<(Instant, EmbedError)>,
}

impl Embedders {
    /// `runtime` is where requests to a service run.
    pub fn new(source: Source, runtime: Handle) -> Self {
        Self { source, runtime, state: Mutex::default() }
    }

    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The embedder, loaded or connected if it is not yet; `None` where there is none. Blocks, the first time up to a
    /// second for weights and 10 s for a service.
    ///
    /// # Errors
    /// When there should be one and it cannot be used; the same for a minute, then it is tried again.
    pub fn get(&self) -> Result<Option<Arc<dyn Embedder>>, EmbedError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = &state.ready {
            return Ok(Some(ready.clone()));
        }
        if let Some((at, error)) = &state.failed
            && at.elapsed() < PAUSE
        {
            return Err(error.clone());
        }
        let made = self.make();
        state.failed = made.as_ref().err().map(|error| (Instant::now(), error.clone()));
        state.ready = made?;
        Ok(state.ready.clone())
    }

    fn make(&self) -> Result<Option<Arc<dyn Embedder>>, EmbedError> {
        match &self.source {
            Source::None => Ok(None),
            Source::LocalIfThere(models) if missing(models).is_some() => Ok(None),
            Source::Local(models) | Source::LocalIfThere(models) => Ok(Some(Arc::new(load(models)?))),
            Source::Service(endpoint) => {
                let service = Embeddings::connect((**endpoint).clone(), self.runtime.clone())?;
                Ok(Some(Arc::new(service)))
            }
        }
    }
}

/// The first of the local model's files that is not there.
pub fn missing(models: &Path) -> Option<PathBuf> {
    FILES.iter().map(|file| models.join(FOLDER).join(file)).find(|file| !file.is_file())
}

fn load(models: &Path) -> Result<UseMultilingual, EmbedError> {
    if let Some(file) = missing(models) {
        return Err(EmbedError::Missing(file.display().to_string()));
    }
    let read = |file| {
        let path = models.join(FOLDER).join(file);
        store::weights(&path, MOST).map_err(|error| EmbedError::Broken(format!("{}: {error}", path.display())))
    };
    let [weights, vocabulary] = FILES;
    UseMultilingual::load(&read(weights)?, &read(vocabulary)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{Profile, ProfileKind};

    fn service(url: &str) -> Source {
        Source::Service(Box::new(Endpoint {
            profile: Profile::new(ProfileKind::Other, "m"),
            base_url: url::Url::parse(url).unwrap(),
            api_key: None,
            model: "m".to_owned(),
            label: "Test".to_owned(),
            context_window: 0,
        }))
    }

    fn get(source: Source, runtime: &tokio::runtime::Runtime) -> Result<Option<Arc<dyn Embedder>>, EmbedError> {
        Embedders::new(source, runtime.handle().clone()).get()
    }

    #[test]
    fn weights_that_are_not_there_are_an_error_only_where_they_were_asked_for() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let models = tempfile::tempdir().unwrap();
        let folder = models.path().to_owned();
        assert!(get(Source::None, &runtime).unwrap().is_none());
        assert!(get(Source::LocalIfThere(folder.clone()), &runtime).unwrap().is_none());
        let error = get(Source::Local(folder.clone()), &runtime).err().unwrap().to_string();
        assert!(error.contains("weights.npz") && error.contains("make embedder"), "{error}");

        std::fs::create_dir(folder.join(FOLDER)).unwrap();
        FILES.iter().for_each(|file| std::fs::write(folder.join(FOLDER).join(file), "x").unwrap());
        let error = get(Source::LocalIfThere(folder), &runtime).err().unwrap();
        assert!(matches!(error, EmbedError::Broken(_)), "{error}");
    }

    #[test]
    fn weights_that_come_later_are_found() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let models = tempfile::tempdir().unwrap();
        let embedders = Embedders::new(Source::LocalIfThere(models.path().to_owned()), runtime.handle().clone());
        assert!(embedders.get().unwrap().is_none());
        std::fs::create_dir(models.path().join(FOLDER)).unwrap();
        FILES.iter().for_each(|file| std::fs::write(models.path().join(FOLDER).join(file), "x").unwrap());
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
