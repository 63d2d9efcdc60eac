//! The only place that creates a run's events. Facts go to the session's owner and are on disk before the run
//! continues; previews are forwarded as they come.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use crate::domain::{
    Approval, ApprovalAnswer, CallApproval, Decision, Event, HandOff, Message, Reasoning, ReasoningItem,
    RecordedAnswer, RequestedCall, Role, Session, StatusKind, WorkId,
};

/// An event on its way to the task that owns the session.
#[derive(Debug)]
pub struct RecordedEvent {
    pub event: Event,
    pub kind: EventKind,
}

/// How the owner handles an event.
#[derive(Debug)]
pub enum EventKind {
    /// Journal it and wait for the disk, fold it, publish it, then answer.
    Fact(oneshot::Sender<Result<(), String>>),
    /// The answer to a question that is not asked any more. A fact, unless a person has answered.
    Withdrawal(oneshot::Sender<Result<(), String>>),
    /// Journal it without waiting for the disk, fold it, publish it. For marks, which mean nothing without the facts
    /// after them: a fact's wait for the disk covers everything that was journaled before it.
    Mark,
    /// Journal it without waiting, and fold it. Not published: previews have already shown it.
    Piece,
    /// Fold and publish it.
    Preview,
}

/// Sends what a run shows at once, also while its recorder is in use. Cheap to clone.
#[derive(Clone)]
pub struct Previews {
    work_id: WorkId,
    to: mpsc::Sender<RecordedEvent>,
}

impl Previews {
    pub fn work_id(&self) -> &WorkId {
        &self.work_id
    }

    pub async fn show(&self, event: Event) -> Result<(), NotRecorded> {
        self.to.send(RecordedEvent { event, kind: EventKind::Preview }).await.map_err(|_| gone())
    }

    /// Has the session's owner cancel a question, unless a person has answered it. The owner tells the run what became of it.
    pub async fn withdraw(&self, approval: &Approval) -> Result<(), NotRecorded> {
        let (done, answer) = oneshot::channel();
        let event = Event::ApprovalAnswered {
            work_id: self.work_id.clone(),
            approval_id: approval.id.clone(),
            call_id: approval.call_id.clone(),
            answer: ApprovalAnswer::no(Decision::Cancelled, None, &approval.hash),
        };
        self.to.send(RecordedEvent { event, kind: EventKind::Withdrawal(done) }).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?.map_err(NotRecorded)
    }
}

/// The run cannot continue: its facts cannot be stored, or the session has no owner any more.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotRecorded(pub String);

/// Text is journaled at least this often; this bounds how much of an answer a crash of the server loses.
const PIECE_EVERY: Duration = Duration::from_secs(1);
const PIECE_BYTES: usize = 4096;

/// What a session's owner tells the run.
#[derive(Debug)]
pub enum OwnerMessage {
    /// A person has answered a question. The event is already recorded.
    Answered(Event),
    /// A person wants to see what the call of this question would change, before they answer.
    Rehearse(String),
}

/// A run's channels to its session's owner: one for events, one for what people say.
pub type OwnerChannels = (mpsc::Sender<RecordedEvent>, mpsc::UnboundedReceiver<OwnerMessage>);

/// Records one work's events and keeps its own fold of the session, from which the next request is built.
pub struct Recorder {
    work_id: WorkId,
    to: mpsc::Sender<RecordedEvent>,
    session: Session,
    dialogue: u32,
    segment: Option<u32>,
    /// The current segment has tool calls, so more text begins a new one.
    segment_has_calls: bool,
    text: SegmentText,
    thinking: SegmentText,
    /// What people say about questions, from the session's owner.
    messages: mpsc::UnboundedReceiver<OwnerMessage>,
}

/// Text of the current segment: its length, and the part that is not journaled yet.
#[derive(Default)]
struct SegmentText {
    length: usize,
    pending: String,
    since: Option<Instant>,
}

impl SegmentText {
    fn push(&mut self, text: &str) -> usize {
        let at = self.length;
        self.length += text.len();
        self.pending.push_str(text);
        self.since.get_or_insert_with(Instant::now);
        at
    }

    fn is_due(&self) -> bool {
        self.pending.len() >= PIECE_BYTES || self.since.is_some_and(|since| since.elapsed() >= PIECE_EVERY)
    }

    fn take(&mut self) -> Option<(usize, String)> {
        self.since = None;
        let text = std::mem::take(&mut self.pending);
        (!text.is_empty()).then(|| (self.length - text.len(), text))
    }
}

impl Recorder {
    pub fn new(work_id: WorkId, session: Session, (to, messages): OwnerChannels) -> Self {
        Self {
            messages,
            work_id,
            to,
            session,
            dialogue: 0,
            segment: None,
            segment_has_calls: false,
            text: SegmentText::default(),
            thinking: SegmentText::default(),
        }
    }

    /// Creates a recorder for a work that began before this start of the server.
    pub fn resumed(work_id: WorkId, session: Session, ends: OwnerChannels) -> Self {
        let is_segment = |m: &&Arc<Message>| m.role == Role::Assistant && m.work_id.as_ref() == Some(&work_id);
        let segments = session.messages.iter().filter(is_segment).count() as u32;
        let dialogues = session.works.iter().find(|work| work.work_id == work_id).map_or(0, |work| work.dialogues);
        let new = Self::new(work_id.clone(), session, ends);
        // More text begins a new segment, so the length of the last one does not matter.
        Self { segment: segments.checked_sub(1), segment_has_calls: true, dialogue: dialogues.saturating_sub(1), ..new }
    }

    /// Creates a recorder for a work that had ended before its answer was complete. More text extends its last segment.
    pub fn continued(work_id: WorkId, session: Session, ends: OwnerChannels) -> Self {
        let last = session.messages.last().filter(|message| message.role == Role::Assistant);
        let lengths = last.filter(|message| message.tool_calls.is_empty()).map(|message| {
            let length = |text: &str| SegmentText { length: text.len(), ..SegmentText::default() };
            (length(&message.content), length(message.thinking.as_deref().unwrap_or_default()))
        });
        let resumed = Self::resumed(work_id, session, ends);
        match lengths {
            Some((text, thinking)) => Self { segment_has_calls: false, text, thinking, ..resumed },
            None => resumed,
        }
    }

    pub fn work_id(&self) -> &WorkId {
        &self.work_id
    }

    pub fn previews(&self) -> Previews {
        Previews { work_id: self.work_id.clone(), to: self.to.clone() }
    }

    /// Returns the session with everything recorded so far.
    pub fn session(&self) -> &Session {
        &self.session
    }

    pub async fn status(&self, status: StatusKind, message: impl Into<String>) -> Result<(), NotRecorded> {
        self.send_status(status, message.into(), None, None).await
    }

    pub async fn send_status(
        &self,
        status: StatusKind,
        message: String,
        progress: Option<f32>,
        retry_in_ms: Option<u64>,
    ) -> Result<(), NotRecorded> {
        let work_id = self.work_id.clone();
        self.preview(Event::Status { work_id, status, message, progress, retry_in_ms, writing: None }).await
    }

    pub async fn preview(&self, event: Event) -> Result<(), NotRecorded> {
        self.send(event, EventKind::Preview).await
    }

    /// Records a fact and waits until it is on disk. Text before it is journaled first.
    pub async fn fact(&mut self, event: Event) -> Result<(), NotRecorded> {
        self.flush().await?;
        self.session.apply(&event, crate::clock::now());
        let (done, answer) = oneshot::channel();
        self.send(event, EventKind::Fact(done)).await?;
        answer.await.map_err(|_| gone())?.map_err(NotRecorded)
    }

    /// Records a mark without waiting for the disk, because a fact follows before anything irreversible happens.
    pub async fn mark(&mut self, event: Event) -> Result<(), NotRecorded> {
        self.flush().await?;
        self.session.apply(&event, crate::clock::now());
        self.send(event, EventKind::Mark).await
    }

    pub async fn start_dialogue(&mut self, dialogue: u32) -> Result<(), NotRecorded> {
        self.dialogue = dialogue;
        let event = Event::DialogueStarted { work_id: self.work_id.clone(), dialogue };
        self.session.apply(&event, crate::clock::now());
        self.send(event, EventKind::Piece).await
    }

    pub async fn say(&mut self, text: String) -> Result<(), NotRecorded> {
        self.open_segment().await?;
        let at = self.text.push(&text);
        self.preview_text(Event::Text { work_id: self.work_id.clone(), at, text }).await
    }

    pub async fn think(&mut self, text: String) -> Result<(), NotRecorded> {
        self.open_segment().await?;
        let at = self.thinking.push(&text);
        self.preview_text(Event::Thinking { work_id: self.work_id.clone(), at, text }).await
    }

    /// Records in the current segment that a call starts.
    pub async fn start_call(&mut self, index: u32, call: &crate::provider::CallRequest) -> Result<(), NotRecorded> {
        self.begin_call((index, call), None).await
    }

    /// Records in the current segment that a call is handed to the program whose tool it is.
    pub async fn hand_off(
        &mut self,
        index: u32,
        call: &crate::provider::CallRequest,
        handed_off: HandOff,
    ) -> Result<(), NotRecorded> {
        self.begin_call((index, call), Some(handed_off)).await
    }

    async fn begin_call(
        &mut self,
        (index, call): (u32, &crate::provider::CallRequest),
        handed_off: Option<HandOff>,
    ) -> Result<(), NotRecorded> {
        if self.segment.is_none() {
            self.begin_segment().await?;
        }
        self.segment_has_calls = true;
        let arguments = serde_json::from_str(&call.arguments)
            .ok()
            .filter(serde_json::Value::is_object)
            .unwrap_or_else(|| serde_json::Value::String(call.arguments.clone()));
        self.fact(Event::ToolStarted {
            work_id: self.work_id.clone(),
            dialogue: self.dialogue,
            index,
            call_id: call.id.clone(),
            tool: call.name.clone(),
            arguments,
            handed_off,
        })
        .await
    }

    /// Records in the current segment what the model thought in this exchange, in the form of its provider.
    pub async fn reason(&mut self, origin: String, items: Vec<ReasoningItem>) -> Result<(), NotRecorded> {
        if self.segment.is_none() {
            self.begin_segment().await?;
        }
        let reasoning = Arc::new(Reasoning { dialogue: self.dialogue, origin, items });
        self.mark(Event::Reasoned { work_id: self.work_id.clone(), reasoning }).await
    }

    /// Records the calls that the model requested in this exchange.
    pub async fn request(&mut self, calls: Vec<RequestedCall>) -> Result<(), NotRecorded> {
        self.mark(Event::CallsRequested { work_id: self.work_id.clone(), dialogue: self.dialogue, calls }).await
    }

    /// Records in the current segment that a call waits for a person.
    pub async fn ask(&mut self, index: u32, approval: Approval) -> Result<(), NotRecorded> {
        if self.segment.is_none() {
            self.begin_segment().await?;
        }
        self.segment_has_calls = true;
        let (work_id, dialogue) = (self.work_id.clone(), self.dialogue);
        self.fact(Event::ApprovalAsked { work_id, dialogue, index, approval: Arc::new(approval) }).await
    }

    /// Returns the answer to a question, if it is known.
    pub fn answer_to(&self, approval_id: &str) -> Option<RecordedAnswer> {
        self.session.approval(&self.work_id, approval_id).and_then(CallApproval::answered).cloned()
    }

    /// Waits for what people say about the questions. `None` if they will say nothing more.
    pub async fn told(&mut self) -> Option<OwnerMessage> {
        let message = self.messages.recv().await?;
        if let OwnerMessage::Answered(event) = &message {
            self.session.apply(event, crate::clock::now());
        }
        Some(message)
    }

    /// Returns the number of exchanges with the model so far.
    pub fn dialogues(&self) -> u32 {
        self.dialogue + 1
    }

    /// Journals the text since the last piece.
    pub async fn flush(&mut self) -> Result<(), NotRecorded> {
        if let Some((at, text)) = self.thinking.take() {
            self.send(Event::Thinking { work_id: self.work_id.clone(), at, text }, EventKind::Piece).await?;
        }
        if let Some((at, text)) = self.text.take() {
            self.send(Event::Text { work_id: self.work_id.clone(), at, text }, EventKind::Piece).await?;
        }
        Ok(())
    }

    async fn preview_text(&mut self, event: Event) -> Result<(), NotRecorded> {
        self.session.apply(&event, crate::clock::now());
        self.preview(event).await?;
        if self.text.is_due() || self.thinking.is_due() {
            self.flush().await?;
        }
        Ok(())
    }

    async fn open_segment(&mut self) -> Result<(), NotRecorded> {
        if self.segment.is_some() && !self.segment_has_calls {
            return Ok(());
        }
        self.begin_segment().await
    }

    async fn begin_segment(&mut self) -> Result<(), NotRecorded> {
        self.flush().await?;
        let segment = self.segment.map_or(0, |before| before + 1);
        self.segment = Some(segment);
        self.segment_has_calls = false;
        self.text = SegmentText::default();
        self.thinking = SegmentText::default();
        self.mark(Event::SegmentStarted { work_id: self.work_id.clone(), dialogue: self.dialogue, segment }).await
    }

    async fn send(&self, event: Event, kind: EventKind) -> Result<(), NotRecorded> {
        self.to.send(RecordedEvent { event, kind }).await.map_err(|_| gone())
    }
}

fn gone() -> NotRecorded {
    NotRecorded("the session was closed while it ran".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::CallRequest;

    fn call(id: &str, arguments: &str) -> CallRequest {
        CallRequest { id: id.to_owned(), name: "read_file".to_owned(), arguments: arguments.to_owned() }
    }

    /// Returns what a run records, one line per event; facts are acknowledged as by the session's owner.
    async fn recorded(run: impl AsyncFnOnce(&mut Recorder)) -> Vec<String> {
        let (to, mut entries) = mpsc::channel(8);
        let work_id = WorkId::new("w");
        let mut session = Session::new("", 0.0);
        let (content, model) = ("hi".to_owned(), String::new());
        session.apply(
            &Event::WorkStarted {
                work_id: work_id.clone(),
                message_id: "m".to_owned(),
                content,
                attachments: Vec::new(),
                model,
                without_tools: false,
                client: None,
            },
            0.0,
        );
        let mut owned = session.clone();
        let mut recorder = Recorder::new(work_id, session, (to, mpsc::unbounded_channel().1));
        let owner = tokio::spawn(async move {
            let mut words = Vec::new();
            while let Some(RecordedEvent { event, kind }) = entries.recv().await {
                owned.apply(&event, 0.0);
                let kind = match kind {
                    EventKind::Fact(done) => done.send(Ok(())).map_or("nobody waits for", |()| "fact"),
                    EventKind::Withdrawal(done) => done.send(Ok(())).map_or("nobody waits for", |()| "withdrawal"),
                    EventKind::Mark => "mark",
                    EventKind::Piece => "piece",
                    EventKind::Preview => "preview",
                };
                let what = match event {
                    Event::Text { at, text, .. } => format!("text {text:?} at {at}"),
                    Event::Thinking { at, text, .. } => format!("thinking {text:?} at {at}"),
                    Event::SegmentStarted { segment, .. } => format!("segment {segment}"),
                    Event::ToolStarted { call_id, arguments, .. } => format!("call {call_id} {arguments}"),
                    other => format!("{other:?}"),
                };
                words.push(format!("{kind} {what}"));
            }
            (words, owned)
        });
        run(&mut recorder).await;
        let folded = recorder.session().clone();
        drop(recorder);
        let (words, owned) = owner.await.unwrap();
        let texts = |session: &Session| -> Vec<_> {
            session.messages.iter().map(|m| (m.content.clone(), m.thinking.clone(), m.tool_calls.len())).collect()
        };
        assert_eq!(texts(&owned), texts(&folded), "the owner's fold is the run's");
        words
    }

    #[tokio::test]
    async fn text_is_journaled_before_the_next_fact() {
        let words = recorded(async |recorder| {
            recorder.think("hm".to_owned()).await.unwrap();
            recorder.say("企".to_owned()).await.unwrap();
            recorder.say("鹅".to_owned()).await.unwrap();
            recorder.start_call(0, &call("c", r#"{"path":"a"}"#)).await.unwrap();
            recorder.say("more".to_owned()).await.unwrap();
            recorder.flush().await.unwrap();
            recorder.flush().await.unwrap();
        })
        .await;
        let expected = [
            "mark segment 0",
            r#"preview thinking "hm" at 0"#,
            r#"preview text "企" at 0"#,
            r#"preview text "鹅" at 3"#,
            r#"piece thinking "hm" at 0"#,
            r#"piece text "企鹅" at 0"#,
            r#"fact call c {"path":"a"}"#,
            "mark segment 1",
            r#"preview text "more" at 0"#,
            r#"piece text "more" at 0"#,
        ];
        assert_eq!(words, expected);
    }

    #[tokio::test]
    async fn long_text_is_journaled_in_joinable_pieces() {
        let words = recorded(async |recorder| {
            for _ in 0..3 {
                recorder.say("x".repeat(PIECE_BYTES / 2)).await.unwrap();
            }
            recorder.flush().await.unwrap();
        })
        .await;
        let pieces: Vec<_> = words.iter().filter(|word| word.starts_with("piece")).collect();
        assert!(pieces[0].ends_with("at 0") && pieces[1].ends_with(&format!("at {PIECE_BYTES}")), "{}", pieces.len());
        assert_eq!(pieces.len(), 2);
    }

    #[tokio::test]
    async fn calls_get_a_segment_and_invalid_arguments_stay_text() {
        let words = recorded(async |recorder| {
            recorder.start_call(0, &call("a", "{oops")).await.unwrap();
            recorder.start_call(1, &call("b", "[1]")).await.unwrap();
        })
        .await;
        assert_eq!(words, ["mark segment 0", r#"fact call a "{oops""#, r#"fact call b "[1]""#]);
    }

    #[tokio::test]
    async fn run_learns_that_its_session_is_gone() {
        let (to, entries) = mpsc::channel(1);
        drop(entries);
        let ends = (to, mpsc::unbounded_channel().1);
        let mut recorder = Recorder::new(WorkId::new("w"), Session::new("", 0.0), ends);
        assert!(recorder.say("x".to_owned()).await.is_err());
    }
}
