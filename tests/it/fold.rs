//! Sessions as folds of events: after any events in any order a provider accepts the transcript, and repairs are idempotent.

use std::sync::Arc;

use miniclaw::domain::{
    Approval, ApprovalAnswer, Attachment, Binding, CallStatus, Chosen, Decision, Effect, Event, Fact, InterruptedWork,
    Message, Outcome, QueuedMessage, Reasoning, ReasoningItem, RequestedCall, Role, Scope, Session, SessionId, Shown,
    StoppedBy, Taint, Usage, WorkId,
};
use miniclaw::prompt::budget::Room;
use miniclaw::prompt::history::{History, VisionSupport};
use miniclaw::provider::{Api, ChatMessage, Client, Endpoint, ModelRequest, Profile, ProfileKind};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::transcript::problems;

/// Returns the errors that a strict provider would report for this session's next request, whole or shortened.
pub fn complaints(session: &Session) -> Vec<String> {
    [usize::MAX, 40, 0].into_iter().flat_map(|tokens| complaints_within(session, tokens)).collect()
}

fn complaints_within(session: &Session, tokens: usize) -> Vec<String> {
    let room = Room { at_least: 0, tokens: &|| tokens, count: &str::len };
    let mut messages = History::of(session, VisionSupport::Blind, room).messages;
    messages.push(ChatMessage::User("and now?".to_owned()));
    let request = ModelRequest { messages, ..ModelRequest::default() };
    let apis =
        [(Api::Chat, "mock"), (Api::Messages, "mock"), (Api::Messages, "claude-opus-5"), (Api::Responses, "mock")];
    apis.into_iter().flat_map(|(api, model)| problems(&client_of(api, model).body(&request))).collect()
}

fn client_of(api: Api, model: &str) -> Client {
    let base_url = url::Url::parse("http://127.0.0.1:1/v1").expect("a URL");
    let endpoint = Endpoint {
        profile: Profile::of_api(ProfileKind::Other, api, model),
        base_url,
        api_key: None,
        model: model.to_owned(),
        label: "mock".to_owned(),
        context_window: 32_768,
        price: None,
        reach: None,
    };
    Client::new(endpoint).expect("a client")
}

/// A thought of one of the models that the session's next request may be for, in the form of that model's API.
fn reasoning() -> impl Strategy<Value = Arc<Reasoning>> {
    let of = prop_oneof![
        Just(("/responses mock", json!({"type": "reasoning", "summary": [], "encrypted_content": "e"}))),
        Just(("/messages claude-opus-5", json!({"type": "thinking", "thinking": "", "signature": "s"}))),
    ];
    (0..4u32, of, 0..9usize, 0..3usize).prop_map(|(dialogue, (model, item), text_before, calls_before)| {
        let origin = format!("http://127.0.0.1:1{model}");
        Arc::new(Reasoning { dialogue, origin, items: vec![ReasoningItem { text_before, calls_before, item }] })
    })
}

fn work_id() -> impl Strategy<Value = WorkId> {
    (0..3u8).prop_map(|n| WorkId::new(format!("w{n}")))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z ]{1,8}", Just("企鹅🐧".to_owned()), Just(String::new())]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let detail = || "because".to_owned();
    prop_oneof![
        Just(Outcome::Done),
        Just(Outcome::Length),
        Just(Outcome::Refusal),
        Just(Outcome::Interrupted { detail: detail(), by: StoppedBy::Server }),
        Just(Outcome::Limit { detail: detail() }),
        Just(Outcome::Error {
            error: detail(),
            code: "x".to_owned(),
            retryable: true,
            params: std::collections::BTreeMap::new()
        }),
    ]
}

fn arguments() -> impl Strategy<Value = Value> {
    prop_oneof![Just(json!({"a": 1})), Just(json!({})), Just(json!("{broken")), Just(json!([1])), Just(Value::Null)]
}

fn status() -> impl Strategy<Value = CallStatus> {
    use CallStatus::{Cancelled, Denied, Done, Error, Interrupted, Running};
    prop_oneof![Just(Running), Just(Done), Just(Error), Just(Denied), Just(Cancelled), Just(Interrupted)]
}

fn call_id() -> impl Strategy<Value = String> {
    prop_oneof![Just("c0".to_owned()), Just("c1".to_owned()), Just("c0_1".to_owned()), Just(String::new())]
}

fn approval() -> impl Strategy<Value = Approval> {
    (0..3u8, work_id(), call_id(), arguments()).prop_map(|(id, work_id, call_id, arguments)| Approval {
        id: format!("a{id}"),
        call_id,
        arguments,
        ..shown_to(&work_id)
    })
}

fn shown_to(work_id: &WorkId) -> Approval {
    Approval {
        id: String::new(),
        session_id: SessionId::parse("s").expect("an id"),
        work_id: work_id.clone(),
        call_id: String::new(),
        tool: "terminal".to_owned(),
        effect: Effect::Execute,
        arguments: json!({}),
        shown: Shown::default(),
        reason: "it runs a program".to_owned(),
        because: None,
        rehearsal: None,
        hash: "h".to_owned(),
        asked_at: 1.0,
        expires_at: 2.0,
    }
}

fn answer() -> impl Strategy<Value = ApprovalAnswer> {
    use Decision::{Approved, Cancelled, Denied, Expired};
    let decision = prop_oneof![Just(Approved), Just(Denied), Just(Expired), Just(Cancelled)];
    (decision, proptest::option::of(arguments())).prop_map(|(decision, arguments)| ApprovalAnswer {
        decision,
        scope: Scope::Once,
        reason: None,
        arguments,
        hash: "h".to_owned(),
        elicited: None,
    })
}

fn attachment() -> impl Strategy<Value = Arc<Attachment>> {
    (any::<String>(), "[a-z<>/|\n]{0,8}")
        .prop_map(|(name, text)| Arc::new(Attachment::new(&name, None, text).expect("a file")))
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![4 => said(), 1 => asked()]
}

/// Events about approvals.
fn asked() -> impl Strategy<Value = Event> {
    prop_oneof![
        2 => (0..3u32, 0..3u32, approval()).prop_map(|(dialogue, index, approval)| Event::ApprovalAsked {
            work_id: approval.work_id.clone(), dialogue, index, approval: Arc::new(approval),
        }),
        2 => (work_id(), 0..3u8, call_id(), answer()).prop_map(|(work_id, id, call_id, answer)| Event::ApprovalAnswered {
            work_id, approval_id: format!("a{id}"), call_id, answer,
        }),
        1 => (work_id(), 0..3u32, vec((0..3u32, call_id()), 0..3)).prop_map(|(work_id, dialogue, calls)| {
            let calls = calls.into_iter().map(|(index, call_id)| RequestedCall {
                index, call_id, tool: "terminal".to_owned(), arguments: "{}".to_owned(),
            });
            Event::CallsRequested { work_id, dialogue, calls: calls.collect() }
        }),
        1 => any::<bool>().prop_map(|back| Event::Branched { from: "m".to_owned(), to: back.then(|| "m".to_owned()) }),
        2 => (0..6usize, work_id(), 0..2u32, any::<bool>()).prop_map(|(place, work_id, segment, is_question)| {
            Event::Deleted { place, message_id: if is_question { "m".to_owned() } else { format!("{work_id}.{segment}") } }
        }),
        1 => (call_id(), any::<bool>()).prop_map(|(call_id, undone)| Event::Undone { call_id, undone, path: "memory/x.md".to_owned() }),
        1 => (work_id(), any::<bool>(), vec(call_id(), 0..3)).prop_map(|(work_id, withdrawn, calls)| {
            Event::Withdrawn { work_id, withdrawn, calls, kept: vec!["memory/x.md".to_owned()] }
        }),
    ]
}

fn said() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => text().prop_map(|title| Event::Titled { title }),
        2 => (work_id(), "[a-z]{1,4}", vec(attachment(), 0..2)).prop_map(|(work_id, content, attachments)| Event::WorkStarted {
            work_id, content, attachments, message_id: "m".to_owned(), model: "mock".to_owned(), without_tools: false, client: None,
        }),
        1 => (work_id(), 0..4u32).prop_map(|(work_id, dialogue)| Event::DialogueStarted { work_id, dialogue }),
        3 => (work_id(), 0..3u32, 0..4u32)
            .prop_map(|(work_id, dialogue, segment)| Event::SegmentStarted { work_id, dialogue, segment }),
        3 => (work_id(), 0..12usize, text()).prop_map(|(work_id, at, text)| Event::Text { work_id, at, text }),
        1 => (work_id(), 0..12usize, text()).prop_map(|(work_id, at, text)| Event::Thinking { work_id, at, text }),
        2 => (work_id(), reasoning()).prop_map(|(work_id, reasoning)| Event::Reasoned { work_id, reasoning }),
        4 => (work_id(), 0..3u32, 0..3u32, call_id(), arguments()).prop_map(|(work_id, dialogue, index, call_id, arguments)| {
            Event::ToolStarted { work_id, dialogue, index, call_id, tool: "terminal".to_owned(), arguments, handed_off: None }
        }),
        4 => (work_id(), call_id(), status(), text()).prop_map(|(work_id, call_id, status, output)| Event::ToolFinished {
            work_id, call_id, status, taint: vec![Taint::Page(output.clone()), Taint::Output], output,
            tool: "terminal".to_owned(), result: json!({}), duration_ms: 1,
        }),
        1 => Just(Event::TaintCleared {}),
        1 => (0..3u8, work_id(), "[a-z]{1,4}", vec(attachment(), 0..2)).prop_map(|(id, work_id, content, attachments)| {
            let id = if id == 0 { "m".to_owned() } else { format!("q{id}") };
            Event::Queued { message: QueuedMessage { id, work_id, content, attachments, created_at: 1.0, without_tools: false, client: None } }
        }),
        1 => (0..3u8, work_id()).prop_map(|(id, work_id)| Event::Unqueued { message_id: format!("q{id}"), work_id }),
        2 => work_id().prop_map(|work_id| Event::WorkContinued { work_id, beyond_own_limit: false }),
        1 => (work_id(), 0..3usize).prop_map(|(work_id, servers_lost)| Event::WorkTakenOver { work_id, servers_lost }),
        1 => (work_id(), 0..3u32).prop_map(|(work_id, dialogue)| Event::DialogueFinished {
            request: None,
            work_id, dialogue, usage: Usage::default(), context_window: 8, left_out: 0,
        }),
        2 => (work_id(), outcome())
            .prop_map(|(work_id, outcome)| Event::WorkFinished { work_id, outcome, content: "".into() }),
        1 => (0..6usize, "[a-z]{0,4}").prop_map(|(count, summary)| Event::Compressed {
            count, summary, archive: "a.json".to_owned(), sha256: None, automatic: false }),
        1 => proptest::option::of(text()).prop_map(|model| Event::Chosen { chosen: Chosen { model, ..Chosen::default() } }),
        1 => (proptest::option::of(text()), any::<bool>()).prop_map(|(title, is_bound)| {
            let bound = is_bound.then_some(Binding { project_id: None });
            Event::Changed { title, chosen: Some(Chosen::default()), bound }
        }),
        1 => vec("[a-z]{1,8}", 0..4).prop_map(|texts| Event::Restored {
            foreign: false,
            archive: "a.json".to_owned(),
            messages: texts.into_iter().map(|text| Arc::new(Message::new(Role::User, text))).collect(),
        }),
    ]
}

fn facts(events: &[Event]) -> Vec<Fact> {
    events.iter().zip(1..).map(|(event, seq)| Fact { seq, at: seq as f64, event: event.clone() }).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn any_event_sequence_folds_to_valid_transcript(events in vec(event(), 0..40)) {
        let mut session = Session::new("", 0.0);
        for event in &events {
            session.apply(event, 1.0);
            prop_assert_eq!(complaints(&session), Vec::<String>::new(), "after {:?}", event);
        }
    }

    #[test]
    fn folding_a_fact_twice_is_idempotent(events in vec(event(), 0..30), from in 0..30usize) {
        let facts = facts(&events);
        let mut once = Session::new("", 0.0);
        facts.iter().for_each(|fact| once.apply_fact(fact));
        let mut twice = once.clone();
        facts.iter().skip(from).for_each(|fact| twice.apply_fact(fact));
        prop_assert_eq!(&twice, &once);
        let mut stuttering = Session::new("", 0.0);
        for fact in &facts {
            stuttering.apply_fact(fact);
            stuttering.apply_fact(fact);
        }
        prop_assert_eq!(stuttering, once);
    }

    #[test]
    fn repairs_close_started_calls_and_end_works(events in vec(event(), 0..40)) {
        let mut session = Session::new("", 0.0);
        events.iter().for_each(|event| session.apply(event, 1.0));
        let ended: Vec<bool> = session.works.iter().map(|work| work.finished_at.is_some()).collect();
        let ids: Vec<_> = session.works.iter().map(|work| work.work_id.clone()).collect();
        // Two works with the same id do not occur in a session that the server wrote.
        prop_assume!(ids.iter().enumerate().all(|(at, id)| !ids[..at].contains(id)));
        let waits = session.waiting().map(|work| work.work_id.clone());
        for event in session.repairs(InterruptedWork::Ends) {
            session.apply(&event, 2.0);
        }
        prop_assert_eq!(session.running().map(|work| work.work_id.clone()), waits.clone());
        prop_assert_eq!(session.repairs(InterruptedWork::Ends), Vec::new());
        prop_assert_eq!(complaints(&session), Vec::<String>::new());
        // Nobody answers the open approvals any more.
        if let Some(work_id) = waits {
            for event in session.closings(&work_id) {
                session.apply(&event, 3.0);
            }
            prop_assert!(session.waiting().is_none());
            prop_assert!(session.unanswered(&work_id).is_empty());
            session.apply(&Event::WorkFinished { work_id, outcome: Outcome::Done, content: "".into() }, 3.0);
        }
        prop_assert_eq!(session.repairs(InterruptedWork::Ends), Vec::new());
        for (work, ended) in session.works.iter().zip(ended) {
            prop_assert!(work.outcome.is_some());
            let calls = session.messages.iter().filter(|m| m.work_id.as_ref() == Some(&work.work_id)).flat_map(|m| &m.tool_calls);
            let open = calls.filter(|call| call.is_open()).count();
            prop_assert!(ended || open == 0, "{} open calls in {}", open, work.work_id);
        }
        prop_assert_eq!(complaints(&session), Vec::<String>::new());
    }

    #[test]
    fn crash_after_any_fact_leaves_usable_session(
        answers in vec(proptest::option::of(answer()), 3), upto in 0..20usize,
    ) {
        let work_id = WorkId::new("w");
        let mut events = vec![
            Event::WorkStarted { work_id: work_id.clone(), message_id: "m".into(), content: "hi".into(), attachments: Vec::new(), model: String::new(), without_tools: false, client: None },
            Event::SegmentStarted { work_id: work_id.clone(), dialogue: 0, segment: 0 },
        ];
        let question = |at: usize| Approval { id: format!("a{at}"), call_id: format!("c{at}"), ..shown_to(&work_id) };
        for at in 0..answers.len() {
            let (index, approval) = (at as u32, Arc::new(question(at)));
            events.push(Event::ApprovalAsked { work_id: work_id.clone(), dialogue: 0, index, approval });
        }
        for (at, answer) in answers.iter().enumerate() {
            let Some(answer) = answer else { break };
            let approval = question(at);
            events.push(Event::ApprovalAnswered {
                work_id: work_id.clone(), approval_id: approval.id, call_id: approval.call_id.clone(), answer: answer.clone(),
            });
            let (index, call_id, tool) = (at as u32, approval.call_id, "terminal".to_owned());
            if answer.decision == Decision::Approved {
                let arguments = json!({});
                let (tool, call_id) = (tool.clone(), call_id.clone());
                events.push(Event::ToolStarted { work_id: work_id.clone(), dialogue: 0, index, call_id, tool, arguments, handed_off: None });
            }
            let status = if answer.decision == Decision::Approved { CallStatus::Done } else { CallStatus::Denied };
            events.push(Event::ToolFinished {
                work_id: work_id.clone(), call_id, tool, status, output: "x".into(), result: json!({}), duration_ms: 1,
                taint: Vec::new(),
            });
        }
        let facts = facts(&events[..upto.clamp(1, events.len())]);
        let mut session = Session::new("", 0.0);
        facts.iter().for_each(|fact| session.apply_fact(fact));
        // As a restart reads the session: from a file, then repaired.
        let text = serde_json::to_string(&session).expect("a session is JSON");
        let mut session: Session = serde_json::from_str(&text).expect("and comes back");
        let begun = session.calls_of(&work_id).filter(|call| call.status == Some(CallStatus::Running)).count();
        session.repairs(InterruptedWork::Ends).iter().for_each(|event| session.apply(event, 9.0));
        prop_assert_eq!(complaints(&session), Vec::<String>::new());
        let interrupted = session.calls_of(&work_id).filter(|call| call.status == Some(CallStatus::Interrupted)).count();
        prop_assert_eq!(interrupted, begun, "what had begun is never begun again");
        prop_assert!(session.calls_of(&work_id).all(|call| !call.is_open() || call.waits()));
    }

    #[test]
    fn text_is_independent_of_chunking(
        text in "[a-c企🐧 ]{0,24}", cuts in vec(0..25usize, 0..8), joins in vec(any::<bool>(), 8),
    ) {
        let work_id = WorkId::new("w");
        let mut session = Session::new("", 0.0);
        session.apply(&Event::WorkStarted {
            work_id: work_id.clone(), message_id: "m".into(), content: "hi".into(), attachments: Vec::new(), model: String::new(), without_tools: false, client: None,
        }, 1.0);
        session.apply(&Event::SegmentStarted { work_id: work_id.clone(), dialogue: 0, segment: 0 }, 1.0);
        let mut places: Vec<usize> = cuts.into_iter().filter(|at| text.is_char_boundary(*at)).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let mut kept = 0;
        for (pair, join) in places.windows(2).zip(joins.into_iter().chain(std::iter::repeat(true))) {
            let piece = |at: usize| Event::Text { work_id: work_id.clone(), at, text: text[at..pair[1]].to_owned() };
            session.apply(&piece(pair[0]), 1.0);
            if !join {
                session.apply(&piece(kept), 1.0);
                kept = pair[1];
            }
        }
        prop_assert_eq!(&session.messages[1].content, &text);
    }
}
