//! Follows a work, or a model alone, as a response: an object, or a stream of events.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use serde_json::{Value, json};

use super::items::Items;
use super::object::{ResponseHead, ResponseState};
use crate::api::chat::sse;
use crate::api::error::ApiError;
use crate::api::openai::chat::lost;
use crate::api::openai::error::of_provider;
use crate::api::openai::open_questions::{OpenQuestion, OpenQuestions};
use crate::api::openai::progress::{Delta, Progress};
use crate::api::openai::raw::RawDeltas;
use crate::config::StepsShown;
use crate::domain::Usage;
use crate::domain::client_chain::WAITING_NOTICE;
use crate::engine::client_turns::WorkHold;

/// How long a request without a stream waits for a person before it says so.
const QUESTION_PATIENCE: Duration = Duration::from_secs(25);
const WAITING_HEADER: HeaderName = HeaderName::from_static("x-miniclaw-waiting");
/// Number of events before the items: `response.created` and `response.in_progress`.
const FIRST_ITEM: u64 = 2;

/// Where the items of a response come from.
pub enum DeltaSource {
    Work(Box<Progress>, Box<WorkHold>),
    Raw(Box<RawDeltas>),
}

/// A response that is followed to its end.
pub struct Following {
    source: DeltaSource,
    head: ResponseHead,
    items: Items,
    usage: Usage,
    /// Where a person answers questions.
    address: String,
    steps: StepsShown,
}

impl Following {
    /// `after`: the number of the last event that the program has.
    pub fn new(source: DeltaSource, head: ResponseHead, after: Option<u64>) -> Self {
        let id = head.id.trim_start_matches("resp_").to_owned();
        let items = Items::new(&id, FIRST_ITEM, after);
        Self { source, head, items, usage: Usage::default(), address: String::new(), steps: StepsShown::Reasoning }
    }

    pub fn shown(self, address: String, steps: StepsShown) -> Self {
        Self { address, steps, ..self }
    }

    /// Lets the work go on, whatever becomes of the request.
    fn release(&mut self) {
        if let DeltaSource::Work(_, hold) = &mut self.source {
            hold.release();
        }
    }

    async fn next(&mut self) -> Result<Option<Delta>, ApiError> {
        loop {
            let delta = match &mut self.source {
                DeltaSource::Work(progress, _) => progress.next().await,
                DeltaSource::Raw(deltas) => deltas.next().await.map_err(|error| of_provider(&error))?,
            };
            match delta {
                Some(Delta::Usage(usage)) => self.usage.add(usage),
                Some(Delta::Step(_)) if self.steps == StepsShown::None => {}
                delta => return Ok(delta),
            }
        }
    }

    /// Returns the state that a thing ends the response with.
    fn ended(&mut self, delta: Result<Option<&Delta>, ApiError>) -> Option<ResponseState> {
        let state = match delta {
            Ok(Some(Delta::HandedOff)) => {
                self.release();
                ResponseState::Completed
            }
            Ok(Some(Delta::Ended(outcome))) => {
                if let DeltaSource::Work(_, hold) = &mut self.source {
                    hold.end();
                }
                ResponseState::Ended(outcome.clone())
            }
            Ok(Some(_)) => return None,
            Ok(None) => {
                self.release();
                ResponseState::Failed(lost())
            }
            Err(error) => ResponseState::Failed(error),
        };
        Some(state)
    }

    /// Returns the response as it is now, without waiting for more.
    pub fn now(mut self) -> Value {
        self.release();
        let pending = match &mut self.source {
            DeltaSource::Work(progress, _) => progress.pending(),
            DeltaSource::Raw(_) => Vec::new(),
        };
        for delta in pending {
            if let Delta::Usage(usage) = delta {
                self.usage.add(usage);
                continue;
            }
            self.items.add(&delta);
            if let Some(state) = self.ended(Ok(Some(&delta))) {
                return self.head.object(&state, self.items.all(), Some(self.usage));
            }
        }
        self.head.object(&ResponseState::InProgress, self.items.all(), None)
    }

    /// Waits for the whole response. One whose work waits for a person for too long says so.
    ///
    /// # Errors
    /// Returns the error of a model alone.
    pub async fn whole(mut self, mut headers: HeaderMap) -> Result<Response, ApiError> {
        let mut questions = OpenQuestions::new(QUESTION_PATIENCE);
        loop {
            let next = tokio::select! {
                biased;
                next = self.next() => next,
                OpenQuestion { approval_id, tool, .. } = questions.expired() => {
                    self.release();
                    headers.extend(HeaderValue::from_str(&approval_id).ok().map(|id| (WAITING_HEADER, id)));
                    let notice = format!("{WAITING_NOTICE}: {tool}. Answer it at {}]", self.address);
                    self.items.add(&Delta::Text(notice));
                    let object = self.head.object(&ResponseState::InProgress, self.items.all(), Some(self.usage));
                    return Ok((headers, Json(object)).into_response());
                }
            };
            if let (Err(error), DeltaSource::Raw(_)) = (&next, &self.source) {
                return Err(error.clone());
            }
            if let Ok(Some(delta)) = &next {
                self.items.add(delta);
                questions.follow(delta);
            }
            let ended = match &next {
                Ok(delta) => self.ended(Ok(delta.as_ref())),
                Err(error) => self.ended(Err(error.clone())),
            };
            if let Some(state) = ended {
                let object = self.head.object(&state, self.items.all(), Some(self.usage));
                return Ok((headers, Json(object)).into_response());
            }
        }
    }

    /// Streams the events of the response.
    pub fn stream(self) -> impl Stream<Item = Bytes> + Send + 'static {
        let begun = self.head.object(&ResponseState::InProgress, Vec::new(), None);
        let first = [(0, "response.created"), (1, "response.in_progress")];
        let first = first.into_iter().filter(|(number, _)| !self.items.is_told(*number));
        let first: Vec<Bytes> =
            first.map(|(number, kind)| encoded(kind, number, json!({"response": begun.clone()}))).collect();
        let rest = stream::unfold(Some(Box::new(self)), |following| async move {
            let mut following = following?;
            let (bytes, is_over) = following.next_bytes().await;
            Some((bytes, (!is_over).then_some(following)))
        });
        futures_util::StreamExt::chain(stream::iter(first), rest)
    }

    /// Returns the next events, and whether they are the last.
    async fn next_bytes(&mut self) -> (Bytes, bool) {
        let next = self.next().await;
        let mut bytes = Vec::new();
        if let Ok(Some(delta)) = &next {
            for event in self.items.add(delta) {
                bytes.extend_from_slice(&encoded(event.kind, event.number, event.fields));
            }
            if let Delta::Asked { approval_id, tool } = delta {
                let fields = json!({"approval_id": approval_id, "tool": tool, "url": self.address});
                bytes.extend_from_slice(&encoded("miniclaw.waiting", self.items.next_number(), fields));
            }
        }
        let ended = match &next {
            Ok(delta) => self.ended(Ok(delta.as_ref())),
            Err(error) => self.ended(Err(error.clone())),
        };
        let Some(state) = ended else { return (bytes.into(), false) };
        let number = self.items.next_number();
        if !self.items.is_told(number) {
            let object = self.head.object(&state, self.items.all(), Some(self.usage));
            bytes.extend_from_slice(&encoded(state.last_event(), number, json!({"response": object})));
        }
        (bytes.into(), true)
    }
}

fn encoded(kind: &str, number: u64, mut fields: Value) -> Bytes {
    fields["type"] = kind.into();
    fields["sequence_number"] = number.into();
    sse::event(kind, None, &fields).into()
}
