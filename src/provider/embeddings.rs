//! Computes vectors with a service that has the OpenAI embeddings API.
//!
//! Texts are sent in batches; an answer is valid only if it contains one finite vector for each text, all with the
//! dimension of the first answer. Texts are truncated to [`MAX_CHARACTERS`] characters.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use base64::Engine;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::Endpoint;
use super::classify::break_cause;
use super::client::{EMBEDDINGS, Shared, shown_address};
use super::error::{ConnectionFailure, ProviderError, TimeoutPhase};
use super::retry::Retries;
use super::turn::{MAX_RESPONSE_BYTES, error_from_response};
use crate::domain::{EmbedError, Embedder, EmbeddingInput};

/// Maximum characters sent of a text: within the 8,192 tokens that services read.
const MAX_CHARACTERS: usize = 4_000;
/// Maximum texts of a request, lowered if a service accepts fewer, and maximum bytes of their texts.
const MAX_BATCH: usize = 64;
const MAX_BATCH_BYTES: usize = 96 << 10;
/// Timeout for the vector of a question, including retries: a person waits for it, and the lexical retriever finds much
/// without it.
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long questions skip a service after a failure.
const PAUSE: Duration = Duration::from_secs(60);
/// Sent in place of a text without a visible character, which services refuse.
const BLANK: &str = ".";
/// Text whose vector shows the dimension.
const PROBE: &str = "dimension";

/// A connected embedding service.
pub struct Embeddings {
    service: Arc<Service>,
    runtime: Handle,
    id: String,
    dimension: usize,
}

impl Embeddings {
    /// Requests one vector to learn the dimension. Blocks; `runtime` must be driven by other threads.
    ///
    /// # Errors
    /// Returns an error if the service cannot be reached, refuses the request, or sends an invalid answer.
    pub fn connect(endpoint: Endpoint, runtime: Handle) -> Result<Self, EmbedError> {
        let id = id(&endpoint);
        let service = Arc::new(Service::new(endpoint).map_err(to_embed_error)?);
        let vectors = wait(&runtime, service.clone(), (EmbeddingInput::Query, vec![PROBE.to_owned()]))?;
        let dimension = vectors.first().map_or(0, Vec::len);
        Ok(Self { service, runtime, id, dimension })
    }
}

impl Embedder for Embeddings {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    /// Always true: services do not say which languages their models were made for.
    fn knows(&self, _text: &str) -> bool {
        true
    }

    /// Lies between the weights of the measured models, because services differ.
    fn weight(&self) -> f64 {
        0.35
    }

    /// Answers a question within 10 s, if necessary with an error. For a minute after an error, questions fail at once
    /// with the same error.
    fn embed(&self, side: EmbeddingInput, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts = texts.iter().map(|text| sendable(text)).collect();
        wait(&self.runtime, self.service.clone(), (side, texts))
    }
}

/// Runs the exchange on the runtime and blocks until it is done. Spawns a task instead of using `block_on`: when the
/// runtime stops, the task is dropped and this function returns.
fn wait(
    runtime: &Handle,
    service: Arc<Service>,
    ask: (EmbeddingInput, Vec<String>),
) -> Result<Vec<Vec<f32>>, EmbedError> {
    let (done, answer) = tokio::sync::oneshot::channel();
    runtime.spawn(async move {
        // Fails only if the calling thread no longer waits.
        let _ = done.send(service.embed(ask.0, &ask.1).await);
    });
    match answer.blocking_recv() {
        Ok(vectors) => vectors.map_err(to_embed_error),
        Err(_) => Err(EmbedError::Unavailable("The server is stopping.".to_owned())),
    }
}

/// The state of a service that the runtime's tasks share.
pub(super) struct Service {
    shared: Shared,
    /// What the service was found to need: vectors as arrays of numbers, and a maximum number of texts per request.
    arrays: AtomicBool,
    max_batch: AtomicUsize,
    dimension: OnceLock<usize>,
    /// The last question's error, until a request succeeds.
    last_failure: Mutex<Option<(Instant, ProviderError)>>,
}

impl Service {
    pub fn new(endpoint: Endpoint) -> Result<Self, ProviderError> {
        Ok(Self {
            shared: Shared::new(endpoint, EMBEDDINGS)?,
            arrays: AtomicBool::new(false),
            max_batch: AtomicUsize::new(MAX_BATCH),
            dimension: OnceLock::new(),
            last_failure: Mutex::default(),
        })
    }

    pub async fn embed(&self, side: EmbeddingInput, texts: &[String]) -> Result<Vec<Vec<f32>>, ProviderError> {
        let result = match side {
            EmbeddingInput::Passage => self.batches(texts, None).await,
            EmbeddingInput::Query => self.question(texts).await,
        };
        if result.is_ok() {
            *self.failure() = None;
        }
        result
    }

    async fn question(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ProviderError> {
        if let Some((at, error)) = self.failure().as_ref()
            && at.elapsed() < PAUSE
        {
            return Err(error.clone());
        }
        let deadline = Instant::now() + QUERY_TIMEOUT;
        let result = timeout_at(deadline, self.batches(texts, Some(deadline))).await;
        let result = result.unwrap_or_else(|_| Err(self.timeout_error(TimeoutPhase::FirstByte, QUERY_TIMEOUT)));
        if let Err(error) = &result {
            *self.failure() = Some((Instant::now(), error.clone()));
        }
        result
    }

    async fn batches(&self, texts: &[String], deadline: Option<Instant>) -> Result<Vec<Vec<f32>>, ProviderError> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fit = rest.iter().take(self.max_batch.load(Ordering::Relaxed)).take_while(|text| {
                bytes += text.len();
                bytes <= MAX_BATCH_BYTES
            });
            let (batch, others) = rest.split_at(fit.count().max(1));
            match self.batch(batch, deadline).await {
                Ok(more) => {
                    vectors.extend(more);
                    rest = others;
                }
                // Services accept at most 10, 25, 32 or 2048 texts, and word the error in many ways.
                Err(error) if batch.len() > 1 && refuses_form(&error) => {
                    self.max_batch.store((batch.len() / 8).max(1), Ordering::Relaxed);
                }
                // Base64 takes a fifth of the bytes, but not every service supports it.
                Err(error) if !self.arrays.load(Ordering::Relaxed) && refuses_form(&error) => {
                    self.arrays.store(true, Ordering::Relaxed);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(vectors)
    }

    /// Sends one request, and retries it where that may help.
    async fn batch(&self, texts: &[String], deadline: Option<Instant>) -> Result<Vec<Vec<f32>>, ProviderError> {
        let mut body = json!({"model": self.shared.endpoint.model, "input": texts});
        if !self.arrays.load(Ordering::Relaxed) {
            body["encoding_format"] = Value::from("base64");
        }
        let body = Bytes::from(body.to_string());
        let mut retries = Retries::default();
        loop {
            let answer = self.exchange(body.clone()).await;
            let error = match answer.and_then(|answer| self.read(&answer, texts.len())) {
                Ok(vectors) => return Ok(vectors),
                Err(error) => error,
            };
            let in_time = |wait: &Duration| deadline.is_none_or(|deadline| Instant::now() + *wait < deadline);
            let Some(wait) = retries.after(&error).filter(in_time) else { return Err(error) };
            sleep(wait).await;
        }
    }

    async fn exchange(&self, body: Bytes) -> Result<Vec<u8>, ProviderError> {
        let (error_context, profile) = (&self.shared.error_context, &self.shared.endpoint.profile);
        let mut response = match timeout(profile.first_byte, self.shared.post(body)).await {
            Ok(response) => response?,
            Err(_) => return Err(self.timeout_error(TimeoutPhase::FirstByte, profile.first_byte)),
        };
        if !response.status().is_success() {
            return Err(error_from_response(&self.shared, response).await);
        }
        let mut answer = Vec::new();
        loop {
            match timeout(profile.idle, response.chunk()).await {
                Ok(Ok(Some(piece))) if answer.len() + piece.len() <= MAX_RESPONSE_BYTES => {
                    answer.extend_from_slice(&piece)
                }
                Ok(Ok(Some(_))) => return Err(error_context.bad_stream("an answer of more than 16 MiB")),
                Ok(Ok(None)) => return Ok(answer),
                Ok(Err(error)) => return Err(error_context.interrupted(break_cause(&error))),
                Err(_) => return Err(self.timeout_error(TimeoutPhase::Idle, profile.idle)),
            }
        }
    }

    /// Returns the vectors of an answer in the order of the texts, each normalized to length 1.
    fn read(&self, answer: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, ProviderError> {
        let error_context = &self.shared.error_context;
        let answer: EmbeddingsResponse = match serde_json::from_slice(answer) {
            Ok(answer) => answer,
            Err(error) if error.is_eof() => return Err(error_context.interrupted("the answer was cut off")),
            Err(_) if answer.trim_ascii_start().starts_with(b"<") => {
                return Err(error_context.unreachable(ConnectionFailure::NotAnApi));
            }
            Err(error) => {
                let document: Value = serde_json::from_slice(answer).unwrap_or_default();
                return Err(match document.get("error") {
                    Some(error) => error_context.stream_error(error),
                    None => error_context.bad_stream(format!("no embeddings: {error}")),
                });
            }
        };
        if answer.data.len() != texts {
            return Err(error_context.bad_stream(format!("{} vectors for {texts} texts", answer.data.len())));
        }
        let mut vectors = vec![Vec::new(); texts];
        for (place, item) in answer.data.into_iter().enumerate() {
            let vector = item.embedding.floats().map_err(|why| error_context.bad_stream(why))?;
            let dimension = *self.dimension.get_or_init(|| vector.len());
            if vector.len() != dimension {
                let found = vector.len();
                return Err(
                    error_context.bad_stream(format!("{found} numbers in a vector where there were {dimension}"))
                );
            }
            match vectors.get_mut(item.index.unwrap_or(place)) {
                Some(own) if own.is_empty() => *own = vector,
                Some(_) | None => return Err(error_context.bad_stream("vectors that are not one for each text")),
            }
        }
        Ok(vectors)
    }

    fn timeout_error(&self, phase: TimeoutPhase, waited: Duration) -> ProviderError {
        ProviderError::Timeout { provider: self.shared.error_context.provider.clone(), phase, waited }
    }

    fn failure(&self) -> std::sync::MutexGuard<'_, Option<(Instant, ProviderError)>> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Deserialize)]
struct EmbeddingsResponse {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vector,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Vector {
    /// Little-endian 32-bit floats.
    Base64(String),
    Numbers(Vec<f32>),
}

impl Vector {
    /// Returns the vector normalized to length 1; the error says why it is invalid.
    fn floats(self) -> Result<Vec<f32>, &'static str> {
        let mut floats = match self {
            Self::Numbers(numbers) => numbers,
            Self::Base64(text) => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(text);
                let bytes = bytes.map_err(|_| "a vector that is no base64")?;
                let (floats, odd) = bytes.as_chunks();
                if !odd.is_empty() {
                    return Err("a vector that is cut off");
                }
                floats.iter().map(|float| f32::from_le_bytes(*float)).collect()
            }
        };
        let square: f64 = floats.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
        if floats.iter().any(|value| !value.is_finite()) {
            return Err("a vector with what is no number");
        }
        if square <= 0.0 {
            return Err("a vector without length");
        }
        let scale = 1.0 / square.sqrt();
        floats.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
        Ok(floats)
    }
}

/// Whether the service refused the form of the request, so that another form may be accepted.
fn refuses_form(error: &ProviderError) -> bool {
    matches!(error, ProviderError::Refused { status: 400 | 413 | 422, .. } | ProviderError::ContextOverflow { .. })
}

fn to_embed_error(error: ProviderError) -> EmbedError {
    if let ProviderError::ContextOverflow { .. } = error {
        let sentence = format!("The embedding model does not read texts of {MAX_CHARACTERS} characters.");
        return EmbedError::Refused(sentence);
    }
    if error.retryable() { EmbedError::Unavailable(error.to_string()) } else { EmbedError::Refused(error.to_string()) }
}

fn sendable(text: &str) -> String {
    let text = text.trim();
    let end = text.char_indices().nth(MAX_CHARACTERS).map_or(text.len(), |(end, _)| end);
    if text.chars().all(|c| c.is_whitespace() || c.is_control()) { BLANK.to_owned() } else { text[..end].to_owned() }
}

/// Returns the model's name with a hash of its address: another server may use the name for another model.
fn id(endpoint: &Endpoint) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let model = endpoint.model.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let name: String = model.chars().take(60).map(plain).collect();
    let place = format!("{} {}", shown_address(&endpoint.base_url), endpoint.model);
    let mark: String = base16ct::lower::encode_string(&Sha256::digest(place)[..4]);
    format!("{name}-{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{Profile, ProfileKind};
    use url::Url;

    fn named(url: &str, model: &str) -> String {
        id(&Endpoint {
            profile: Profile::new(ProfileKind::Other, model),
            base_url: Url::parse(url).unwrap(),
            api_key: None,
            model: model.to_owned(),
            label: String::new(),
            price: None,
            reach: None,
            context_window: 0,
        })
    }

    #[test]
    fn embedder_id_is_file_name_unique_per_model_and_server() {
        let id = named("http://h/v1", "../BAAI/bge m3");
        assert!(id.starts_with("BAAI-bge-m3-") && !id.contains('/'), "{id}");
        assert_eq!(named("http://h/v1", "m"), named("http://user:key@h/v1/?key=x", "m"), "without credentials");
        assert_ne!(named("http://h/v1", "m"), named("http://other/v1", "m"));
        assert_ne!(named("http://h/v1", "a/b"), named("http://h/v1", "a-b"));
        assert!(named("http://h/v1", &format!("m{}", "长".repeat(500))).len() < 80);
    }

    #[test]
    fn texts_are_truncated_and_never_blank() {
        assert_eq!(sendable("  a\n"), "a");
        assert_eq!(sendable(" \u{3000}\u{0}"), BLANK);
        assert_eq!(sendable(""), BLANK);
        assert_eq!(sendable(&"é".repeat(1 << 20)).chars().count(), MAX_CHARACTERS);
    }
}
