//! Tests of long conversations and of many, and a measurement that `make test` does not run.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{library, message, recall, write};
use crate::domain::SessionId;
use crate::library::IndexStorage;
use crate::store::Home;

#[test]
fn long_conversation_and_large_message_are_searched() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    let mut messages: Vec<Value> =
        (0..3_000).map(|number| message(&format!("n{number}"), "Nothing of note.")).collect();
    messages[1_500]["content"] = json!("The spare key is under the blue pot.");
    write(folder.path(), "long", &json!({"messages": messages}));
    let large = format!("{} The spare wheel is in the shed.", "Rain again. ".repeat(80_000));
    write(folder.path(), "large", &json!({"messages": [message("n0", &large)]}));
    let found = |query: &str| {
        let passage = recall(&library, query).swap_remove(0);
        let has = |text: &str| passage.quotes.iter().any(|quote| quote.text.contains(text));
        (passage.session.to_string(), has("blue pot"), has("in the shed"), passage.hit.text.len() < 10_000)
    };
    assert_eq!(found("spare key pot"), ("long".to_owned(), true, false, true));
    assert_eq!(found("spare wheel shed"), ("large".to_owned(), false, true, true));
}

#[test]
#[ignore = "a measurement: cargo test --release --lib -- --ignored --nocapture ten_thousand"]
fn ten_thousand_messages_by_words() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    for session in 0..1_000 {
        let text = |number: usize| {
            let words =
                (0..25).map(|word| format!("w{}", (session * 7919 + number * 104_729 + word * word * 31) % 5_000));
            words.collect::<Vec<_>>().join(" ")
        };
        let messages: Vec<Value> = (0..10).map(|number| message(&format!("n{number}"), &text(number))).collect();
        write(folder.path(), &format!("s{session}"), &json!({"title": format!("t{session}"), "messages": messages}));
    }
    let library = library(&home, IndexStorage::OnDisk);
    let started = Instant::now();
    assert!(!recall(&library, "w17").is_empty());
    let built = started.elapsed();
    let mut took: Vec<Duration> = (0..200)
        .map(|number| {
            let started = Instant::now();
            let query = format!("w{} w{} w{}", number * 13 % 5_000, number * 71 % 5_000, number * 331 % 5_000);
            recall(&library, &query);
            started.elapsed()
        })
        .collect();
    took.sort();
    println!("10,000 messages: built in {built:?}; a search takes {:?} (p50), {:?} (p95)", took[100], took[190]);
    assert!(took[100] < Duration::from_millis(20), "{:?}", took[100]);
}

#[test]
fn newest_four_megabytes_left_out_are_searched() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    let text = |number: usize| {
        let words = (0..120).map(|word| format!("w{}", (number * 104_729 + word * word * 31) % 5_000));
        words.collect::<Vec<_>>().join(" ")
    };
    let mut messages: Vec<Value> = (0..8_000).map(|number| message(&format!("n{number}"), &text(number))).collect();
    messages[7_900]["content"] = json!("The spare key is under the blue pot.");
    messages[10]["content"] = json!("The oldest key is in the cellar.");
    write(folder.path(), "long", &json!({"messages": messages}));
    let id = SessionId::parse("long").unwrap();
    let record = home.stored_conversation(&id).unwrap();
    let started = Instant::now();
    let passages = library.recall_in((&id, &record), ("spare key pot", 3)).unwrap();
    println!("4 MB of {:.1} MB: {:?}", 8_000.0 * text(1).len() as f64 / 1e6, started.elapsed());
    assert!(passages[0].quotes.iter().any(|quote| quote.message_id == "n7900"), "{passages:?}");
    let oldest = library.recall_in((&id, &record), ("oldest cellar", 3)).unwrap();
    assert!(oldest.iter().flat_map(|passage| &passage.quotes).all(|quote| quote.message_id != "n10"));
    assert!(!folder.path().join("storage/retrieval/conversations").exists(), "nothing of it is kept");
}
