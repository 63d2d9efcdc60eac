use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::*;
use crate::domain::{ClientRequest, Event, StoppedBy};

const KEY: &str = "token 1";

fn turn(questions: &[&str], answers: &[&str]) -> ClientTurn {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    ClientTurn { key: KEY.to_owned(), base: None, questions: owned(questions), answers: owned(answers) }
}

/// Has a work answer the last message of a turn.
fn answer(session: &mut Session, turn: &ClientTurn, (text, outcome): (&str, Option<Outcome>)) -> WorkId {
    let number = session.works.len() + session.branches.iter().map(|branch| branch.works.len()).sum::<usize>();
    let work_id = WorkId::new(format!("w{number}"));
    let client = ClientRequest { key: turn.key.clone(), chain: turn.head(), ..ClientRequest::default() };
    let begun = Event::WorkStarted {
        work_id: work_id.clone(),
        message_id: format!("m{number}"),
        content: turn.questions.last().unwrap().clone(),
        attachments: Vec::new(),
        model: String::new(),
        without_tools: false,
        client: Some(Arc::new(client)),
    };
    let segment = Event::SegmentStarted { work_id: work_id.clone(), dialogue: 0, segment: 0 };
    let said = Event::Text { work_id: work_id.clone(), at: 0, text: text.to_owned() };
    let ended = outcome.map(|outcome| Event::WorkFinished { work_id: work_id.clone(), outcome, content: "".into() });
    [begun, segment, said].into_iter().chain(ended).for_each(|event| session.apply(&event, 100.0));
    work_id
}

fn done(text: &str) -> (&str, Option<Outcome>) {
    (text, Some(Outcome::Done))
}

fn stopped(text: &str) -> (&str, Option<Outcome>) {
    (text, Some(Outcome::Interrupted { detail: String::new(), by: StoppedBy::Person }))
}

fn session(turns: &[(&str, &str)]) -> Session {
    let mut session = Session::new("", 0.0);
    let (mut questions, mut answers) = (Vec::new(), Vec::new());
    for (question, text) in turns {
        questions.push(*question);
        answer(&mut session, &turn(&questions, &answers), done(text));
        answers.push(*text);
    }
    session
}

fn next() -> Option<ChainPlace> {
    Some(ChainPlace::Next(NextPlace::default()))
}

fn rewinds(from: &str) -> Option<ChainPlace> {
    Some(ChainPlace::Next(NextPlace { rewind: Some(from.to_owned()), restore: None }))
}

#[test]
fn conversation_goes_on_at_its_end() {
    let session = session(&[("a", "1"), ("b", "2")]);
    assert_eq!(turn(&["a", "b", "c"], &["1", "2"]).place(&session, 0.0), next());
    assert_eq!(turn(&["a", "b", "c"], &[" 1\n", "> ⚙ bash: ls\n2"]).place(&session, 0.0), next());
    assert_eq!(turn(&["a", "x"], &["1"]).place(&session, 0.0), rewinds("m1"));
    assert_eq!(turn(&["a", "b"], &["1"]).place(&session, 0.0), rewinds("m1"), "answered again");
}

#[test]
fn own_message_of_the_person_is_not_put_aside() {
    let mut session = session(&[("a", "1")]);
    let own = ClientTurn { key: "page".to_owned(), ..turn(&["mine"], &[]) };
    answer(&mut session, &own, done("yours"));
    assert_eq!(turn(&["a", "b"], &["1"]).place(&session, 0.0), next());
    answer(&mut session, &turn(&["a", "b"], &["1"]), done("2"));
    assert_eq!(turn(&["a", "b", "c"], &["1", "2"]).place(&session, 0.0), next());
}

#[test]
fn other_conversation_is_not_continued() {
    let session = session(&[("a", "1"), ("b", "2")]);
    for other in [
        turn(&["a", "b", "c"], &["1", "3"]),
        turn(&["a", "b", "c"], &["0", "2"]),
        turn(&["x", "b", "c"], &["1", "2"]),
        turn(&["b", "c"], &["2"]),
        turn(&["a"], &[]),
    ] {
        assert_eq!(other.place(&session, 0.0), None, "{other:?}");
    }
    let of_other = ClientTurn { key: "token 2".to_owned(), ..turn(&["a", "b", "c"], &["1", "2"]) };
    assert_eq!(of_other.place(&session, 0.0), None);
}

#[test]
fn what_follows_a_named_work_needs_no_history() {
    let mut session = session(&[("a", "1"), ("b", "2")]);
    let after = |work: usize| session.works[work].client.as_ref().unwrap().chain.clone();
    let (first, last) = (after(0), after(1));
    let next_of = |base: &String| ClientTurn { base: Some(base.clone()), ..turn(&["c"], &[]) };
    assert_eq!(next_of(&last).place(&session, 0.0), next());
    assert_eq!(next_of(&first).place(&session, 0.0), rewinds("m1"));
    answer(&mut session, &next_of(&last), done("3"));
    assert_eq!(turn(&["a", "b", "c", "d"], &["1", "2", "3"]).place(&session, 0.0), next());
}

#[test]
fn stopped_answer_fits_as_far_as_it_was_received() {
    let mut session = session(&[("a", "1")]);
    answer(&mut session, &turn(&["a", "b"], &["1"]), stopped("one two three"));
    for received in ["one two", "one two three", ""] {
        assert_eq!(turn(&["a", "b", "c"], &["1", received]).place(&session, 0.0), next(), "{received}");
    }
    assert_eq!(turn(&["a", "b", "c"], &["1", "two"]).place(&session, 0.0), None);
}

#[test]
fn repeated_request_means_the_work_under_way() {
    let mut session = session(&[("a", "1")]);
    let running = answer(&mut session, &turn(&["a", "b"], &["1"]), ("half", None));
    assert_eq!(turn(&["a", "b"], &["1"]).place(&session, 200.0), Some(ChainPlace::Repeats(running)));
    assert_eq!(turn(&["a", "b"], &["1"]).place(&session, 900.0), None, "after ten minutes it is another one");
    assert_eq!(turn(&["a", "x"], &["1"]).place(&session, 200.0), None, "what runs is not put aside");
}

#[test]
fn messages_of_the_page_stay() {
    let mut session = session(&[("a", "1")]);
    let page = Event::WorkStarted {
        work_id: WorkId::new("page"),
        message_id: "p".to_owned(),
        content: "from the page".to_owned(),
        attachments: Vec::new(),
        model: String::new(),
        without_tools: false,
        client: None,
    };
    session.apply(&page, 1.0);
    let ended = Event::WorkFinished { work_id: WorkId::new("page"), outcome: Outcome::Done, content: "".into() };
    session.apply(&ended, 1.0);
    assert_eq!(turn(&["a", "b"], &["1"]).place(&session, 0.0), next());
    answer(&mut session, &turn(&["a", "b"], &["1"]), done("2"));
    assert_eq!(turn(&["a", "b", "c"], &["1", "2"]).place(&session, 0.0), next());
}

/// What one of several devices has of a chat: the person's messages and the answers to them.
#[derive(Clone, Default, Debug)]
struct Device {
    questions: Vec<String>,
    answers: Vec<String>,
}

#[derive(Clone, Debug)]
enum Act {
    Ask {
        device: usize,
        word: u8,
    },
    /// Edits an earlier message, or has it answered again.
    Edit {
        device: usize,
        at: usize,
        word: Option<u8>,
    },
    /// Takes over the chat of another device.
    Copy {
        device: usize,
        from: usize,
    },
    /// Begins a new chat.
    Begin {
        device: usize,
        word: u8,
    },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let device = || 0..3_usize;
    // Few words, so that chats begin in the same way and are edited into each other.
    let word = || 0..3_u8;
    let act = prop_oneof![
        4 => (device(), word()).prop_map(|(device, word)| Act::Ask { device, word }),
        2 => (device(), 0..4_usize, proptest::option::of(word())).prop_map(|(device, at, word)| Act::Edit { device, at, word }),
        1 => (device(), device()).prop_map(|(device, from)| Act::Copy { device, from }),
        1 => (device(), word()).prop_map(|(device, word)| Act::Begin { device, word }),
    ];
    proptest::collection::vec(act, 1..30)
}

/// What `Engine::client_turn` does with a session that fits best.
fn send(sessions: &mut Vec<Session>, device: &mut Device, (question, text): (String, &str)) -> bool {
    device.questions.push(question);
    let turn = ClientTurn { questions: device.questions.clone(), answers: device.answers.clone(), ..turn(&[], &[]) };
    let places = sessions.iter().enumerate().filter_map(|(at, session)| Some((at, turn.place(session, 1e9)?)));
    let best = places.min_by_key(|(_, place)| place.rank());
    let is_found = best.is_some();
    let at = match best {
        Some((at, ChainPlace::Next(NextPlace { restore, rewind }))) => {
            let session = &mut sessions[at];
            for (from, to) in
                restore.map(|it| (it.from, Some(it.to))).into_iter().chain(rewind.map(|from| (from, None)))
            {
                session.apply(&Event::Branched { from, to }, 1.0);
            }
            at
        }
        Some((_, ChainPlace::Repeats(_))) => panic!("nothing is under way"),
        None => {
            let mut new = Session::new("", 0.0);
            for (at, question) in device.questions.iter().enumerate().take(device.answers.len()) {
                new.messages.push(Arc::new(Message::new(Role::User, question.clone())));
                new.messages.push(Arc::new(Message::new(Role::Assistant, device.answers[at].clone())));
            }
            sessions.push(new);
            sessions.len() - 1
        }
    };
    answer(&mut sessions[at], &turn, done(text));
    device.answers.push(text.to_owned());
    // The session says exactly what the device has: nothing of another chat is in it, and nothing is missing.
    let ours: Vec<&str> = sessions[at].messages.iter().map(|message| message.content.as_str()).collect();
    let theirs: Vec<&str> = device.questions.iter().zip(&device.answers).flat_map(|(q, a)| [q.as_str(), a]).collect();
    assert_eq!(ours, theirs);
    is_found
}

/// How many messages had something before them, and how many of these were put where that stands.
#[derive(Clone, Copy, Default, Debug)]
struct Found {
    continued: usize,
    found: usize,
}

/// Lets three devices act, and checks after each message that no session holds anything of another chat.
fn run(acts: Vec<Act>, texts: Vec<u8>) -> Found {
    let mut sessions = Vec::new();
    let mut devices: Vec<Device> = vec![Device::default(); 3];
    let mut count = Found::default();
    for (act, text) in acts.into_iter().zip(texts) {
        // Answers are often the same, too.
        let text = format!("answer {text}");
        let (at, question) = match act {
            Act::Copy { device, from } => {
                devices[device] = devices[from].clone();
                continue;
            }
            Act::Ask { device, word } => (device, format!("word {word}")),
            Act::Begin { device, word } => {
                devices[device] = Device::default();
                (device, format!("word {word}"))
            }
            Act::Edit { device, at, word } => {
                let held = &mut devices[device];
                let Some(old) = held.questions.get(at).cloned() else { continue };
                held.questions.truncate(at);
                held.answers.truncate(at);
                (device, word.map_or(old, |word| format!("edited {word}")))
            }
        };
        let is_continued = !devices[at].questions.is_empty();
        let is_found = send(&mut sessions, &mut devices[at], (question, &text));
        count.continued += usize::from(is_continued);
        count.found += usize::from(is_continued && is_found);
    }
    count
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn no_two_chats_are_ever_mixed(acts in acts(), texts in proptest::collection::vec(0..3_u8, 30)) {
        run(acts, texts);
    }
}

/// Only a nested branch, or one of an adopted history, is not found again. A short chat can consist of little else, so the
/// share counts over many, which are the same in each run.
#[test]
fn nearly_every_chat_is_found_again() {
    let mut runner = TestRunner::deterministic();
    let chats = (acts(), proptest::collection::vec(0..3_u8, 30));
    let (mut continued, mut found) = (0, 0);
    for _ in 0..500 {
        let (acts, texts) = chats.new_tree(&mut runner).unwrap().current();
        let count = run(acts, texts);
        continued += count.continued;
        found += count.found;
    }
    assert!(continued > 2000 && found * 100 >= continued * 99, "{found} of {continued}");
}
