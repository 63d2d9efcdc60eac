//! Tests of the search in conversations with input that is large, cut, or from a clock that goes back.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::{explained, found, library, message, query, recall, write};
use crate::library::IndexStorage;
use crate::store::Home;

/// How long the search in a large conversation may take, its indexing included: many times what it takes on an idle machine.
const BOUND: Duration = Duration::from_secs(120);

#[test]
fn hundred_thousand_messages_are_searched() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    // Every second message is of another day.
    let messages: Vec<Value> = (0..100_000)
        .map(|number| {
            let text = if number == 77_777 { "The spare key is under the blue pot." } else { "Nothing." };
            let at = 1_683_554_160.0 + 86_400.0 * f64::from(number % 2);
            json!({"role": "user", "id": format!("n{number}"), "content": text, "created_at": at})
        })
        .collect();
    write(folder.path(), "long", &json!({"messages": messages}));
    let library = library(&home, IndexStorage::OnDisk);
    let started = Instant::now();
    let passages = recall(&library, "spare key pot");
    let built = started.elapsed();
    let quotes = &passages[0].quotes;
    assert!(quotes.iter().any(|quote| quote.message_id == "n77777"), "{quotes:?}");
    recall(&library, "spare key pot");
    println!("100,000 messages: built in {built:?}, searched again in {:?}", started.elapsed() - built);
    assert!(started.elapsed() < BOUND, "{built:?}, {:?}", started.elapsed());
}

#[test]
fn message_of_five_megabytes_is_searched() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let lines = "It rained again in the harbour, all day long. ".repeat((5 << 20) / 46);
    let text = format!("{lines}The spare wheel is in the shed.");
    write(folder.path(), "large", &json!({"messages": [message("n0", &text)]}));
    let library = library(&home, IndexStorage::OnDisk);
    let started = Instant::now();
    let passages = recall(&library, "spare wheel shed");
    println!("5 MB: {:?}", started.elapsed());
    assert!(passages[0].quotes[0].text.ends_with("The spare wheel is in the shed."));
    assert!(passages.iter().flat_map(|passage| &passage.quotes).all(|quote| quote.text.len() < 10_000));
    assert!(started.elapsed() < BOUND, "{:?}", started.elapsed());
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_file()).collect()
}

#[test]
fn index_with_any_file_cut_answers_as_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    for number in 0..20 {
        let text = format!("Penguin number {number} swims.");
        write(folder.path(), &format!("s{number}"), &json!({"messages": [message("q1", &text)]}));
    }
    let expected = explained(&library(&home, IndexStorage::InMemory), "penguin 7");
    let index = folder.path().join("storage/retrieval/conversations");
    let answers = || explained(&library(&home, IndexStorage::OnDisk), "penguin 7");
    assert_eq!(answers(), expected);
    let names: Vec<_> = files_in(&index).iter().map(|path| path.extension().map(ToOwned::to_owned)).collect();
    assert!(names.len() > 5, "{names:?}");
    for at in 0..names.len() {
        for keep in [2, 10] {
            // Files have other names after a rebuild, and as many.
            let mut files = files_in(&index);
            files.sort_by_key(|path| path.extension().map(ToOwned::to_owned));
            let Some(path) = files.get(at) else { continue };
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / keep]).unwrap();
            assert_eq!(answers(), expected, "{} cut to a part of {keep}", path.display());
        }
    }
}

#[test]
fn clock_that_goes_back_hides_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    let session = |word: &str| {
        let said = |id: &str, text: &str, at: f64| json!({"role": "user", "id": id, "content": text, "created_at": at});
        let later = said("q1", &format!("Penguins {word}."), 1_783_554_160.0);
        json!({"messages": [later, said("q2", "Oolong.", 1_683_554_160.0), said("q3", "Tea.", -5.0)]})
    };
    let path = folder.path().join("sessions/s.json");
    let future = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
    let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
    // As long as each other, with the same or an earlier time.
    for (word, time) in [("swim", future), ("walk", past), ("rest", past), ("wait", SystemTime::UNIX_EPOCH)] {
        write(folder.path(), "s", &session(word));
        fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        assert_eq!(found(&library, "penguins"), [("s:q1".to_owned(), format!("Penguins {word}."))]);
        let rebuilt = super::library(&home, IndexStorage::InMemory);
        for query in ["penguins", "oolong", "tea"] {
            assert_eq!(explained(&library, query), explained(&rebuilt, query), "{query} after {word}");
        }
    }
}

#[test]
fn found_passage_of_a_file_that_breaks_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path()).unwrap();
    let library = library(&home, IndexStorage::OnDisk);
    let session = json!({"messages": [message("q1", "Penguins swim.")]});
    write(folder.path(), "s", &session);
    let [passage] = &recall(&library, "penguins")[..] else { panic!("one is found") };
    let path = folder.path().join("sessions/s.json");
    for broken in ["", "{", r#"{"messages": [{"role": "user", "content": "Penguins sw"#, r#"{"format": 99}"#, "[]"] {
        fs::write(&path, broken).unwrap();
        assert!(!library.still_says(passage), "{broken}");
        assert_eq!(library.recall(&query("penguins")).unwrap().passages.len(), 0, "{broken}");
        assert_eq!(fs::read_to_string(&path).unwrap(), broken, "a search changes nothing");
    }
    write(folder.path(), "s", &session);
    assert!(library.still_says(passage));
    assert_eq!(found(&library, "penguins").len(), 1);
}
