//! Tests that the index equals a freshly built one, whatever changes the files went through.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::retrieval::chunk_index::{IndexError, key};
use crate::retrieval::extract::Unreadable;

fn on_disk(folder: &std::path::Path) -> FolderIndex {
    FolderIndex::on_disk(folder, ChunkLimits::default()).unwrap()
}

#[test]
fn plan_reads_only_changed_files() {
    let mut index = index(&[("k/a.md", "apple"), ("k/b.md", "pear")]);
    assert!(index.plan(&[listed("k/a.md", "apple"), listed("k/b.md", "pear")]).is_empty());
    let plan = index.plan(&[listed("k/a.md", "changed"), listed("k/c.md", "new")]);
    let read: Vec<String> = plan.read.iter().map(|file| file.path.to_string()).collect();
    assert_eq!((read, plan.gone.len()), (vec!["k/a.md".to_owned(), "k/c.md".to_owned()], 1));
    let touched = Listed { stamp: FileStamp::of(5, (1, 1), (2, 2), (3, 3)), ..listed("k/a.md", "apple") };
    assert!(!index.put(&touched, Ok(b"apple".to_vec())).unwrap(), "the same content under a new stamp");
    assert!(index.plan(&[touched, listed("k/b.md", "pear")]).is_empty());
}

proptest! {
    #[test]
    fn plan_is_difference_of_folder_and_index(
        before in prop::collection::btree_map("k/[a-c./-]{0,2}[a-c]", "[xy]", 0..8),
        after in prop::collection::btree_map("k/[a-c./-]{0,2}[a-c]", "[xy]", 0..8),
    ) {
        let files = |of: &BTreeMap<String, String>| {
            let files: BTreeMap<RelPath, Listed> = of
                .iter()
                .filter(|(name, _)| RelPath::parse(name).is_ok())
                .map(|(name, text)| listed(name, text))
                .map(|file| (file.path.clone(), file))
                .collect();
            files
        };
        let (before, after) = (files(&before), files(&after));
        let mut index = FolderIndex::in_memory(ChunkLimits::default()).unwrap();
        for file in before.values() {
            index.put(file, Ok(b"text".to_vec())).unwrap();
        }
        let plan = index.plan(&after.values().cloned().collect::<Vec<_>>());
        let read: Vec<Listed> = after.values().filter(|file| before.get(&file.path) != Some(file)).cloned().collect();
        let gone: Vec<RelPath> = before.keys().filter(|path| !after.contains_key(path)).cloned().collect();
        prop_assert_eq!((plan.read, plan.gone), (read, gone));
    }
}

#[test]
fn edit_needs_few_new_vectors() {
    let section = |n: usize| format!("## S{n}\n\n{}\n\n", format!("text{n} stays the same. ").repeat(40));
    let text: String = (0..30).map(section).collect();
    let keys = |index: &FolderIndex| index.snapshot().unwrap().keys().map(|(_, key)| key).collect::<Vec<_>>();
    let before = index(&[("k/a.md", &text)]);
    let after = index(&[("k/a.md", &text.replacen("text7 stays", "text7 goes", 1))]);
    let known = keys(&before);
    assert!(known.len() >= 30);
    assert!(keys(&after).iter().filter(|key| !known.contains(key)).count() <= 2);
}

#[test]
fn edit_keeps_chunks_of_other_sections() {
    let section = |n: usize| format!("## S{n}\n\n{}\n\n", format!("text{n} stays the same. ").repeat(40));
    let text: String = (0..30).map(section).collect();
    let mut edited = index(&[("k/a.md", &text)]);
    let chunks = |index: &FolderIndex| index.snapshot().unwrap().keys().collect::<Vec<_>>();
    let before = chunks(&edited);
    put(&mut edited, "k/a.md", &text.replacen("text7 stays", "A longer text7 goes", 1));
    edited.commit().unwrap();
    let kept = chunks(&edited).iter().filter(|chunk| before.contains(chunk)).count();
    assert!(kept + 6 >= before.len() && kept < before.len(), "{kept} of {}", before.len());
}

#[test]
fn unreadable_file_is_listed_with_reason() {
    let mut index = index(&[("k/a.md", "apple")]);
    index.put(&listed("k/b.bin", ""), Ok(vec![0xff, 0xfe])).unwrap();
    index.put(&listed("k/c.md", ""), Err(Unreadable::FileLimit)).unwrap();
    index.commit().unwrap();
    let problems: Vec<(String, Option<Unreadable>)> =
        index.files().map(|file| (file.path.clone(), file.problem.clone())).collect();
    assert_eq!(problems[0], ("k/a.md".to_owned(), None));
    assert_eq!(problems[1].1, Some(Unreadable::NotUtf8));
    assert_eq!(problems[2].1, Some(Unreadable::FileLimit));
    assert_eq!(hits(&index, "apple", 3).len(), 1);
    assert!(index.put(&listed("k/c.md", "x"), Ok(b"pear".to_vec())).unwrap());
    index.commit().unwrap();
    assert_eq!(hits(&index, "pear", 3).len(), 1);
}

#[test]
fn index_survives_restart_and_rebuilds_identically() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = on_disk(folder.path());
    for (name, text) in [("k/a.md", "# A\n\napple pie"), ("k/b.md", "apple tree"), ("k/c.md", "apple")] {
        put(&mut first, name, text);
        first.commit().unwrap();
    }
    put(&mut first, "k/b.md", "apple tree and pear");
    first.remove(&RelPath::parse("k/c.md").unwrap()).unwrap();
    first.commit().unwrap();
    let found = hits(&first, "apple pear", 5);
    drop(first);

    let again = on_disk(folder.path());
    assert_eq!(again.files().count(), 2);
    assert_eq!(hits(&again, "apple pear", 5), found);
    drop(again);
    std::fs::remove_dir_all(folder.path()).unwrap();
    std::fs::create_dir(folder.path()).unwrap();
    let mut anew = on_disk(folder.path());
    put(&mut anew, "k/b.md", "apple tree and pear");
    put(&mut anew, "k/a.md", "# A\n\napple pie");
    anew.commit().unwrap();
    assert_eq!(hits(&anew, "apple pear", 5), found);
}

#[test]
fn uncommitted_chunks_vanish_in_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = on_disk(folder.path());
    put(&mut index, "k/a.md", "apple");
    index.commit().unwrap();
    put(&mut index, "k/a.md", "pear");
    put(&mut index, "k/b.md", "plum");
    drop(index);
    let index = on_disk(folder.path());
    assert_eq!(index.files().count(), 1);
    assert_eq!((hits(&index, "apple", 3).len(), hits(&index, "pear plum", 3).len()), (1, 0));
    assert_eq!(index.plan(&[listed("k/a.md", "pear")]).read.len(), 1);
}

#[test]
fn changed_settings_and_damage_are_detected() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = on_disk(folder.path());
    put(&mut index, "k/a.md", "apple");
    index.commit().unwrap();
    drop(index);
    let other = FolderIndex::on_disk(folder.path(), ChunkLimits { tokens: 100, overlap: 10 });
    assert!(matches!(other, Err(IndexError::Outdated)));
    std::fs::write(folder.path().join("meta.json"), "{").unwrap();
    assert!(matches!(FolderIndex::on_disk(folder.path(), ChunkLimits::default()), Err(IndexError::Index(_))));
}

#[test]
fn new_title_is_searchable_in_all_chunks() {
    let rest = "## One\n\nfirst text\n\n".to_owned() + &"filler words. ".repeat(100) + "\n\n## Two\n\nsecond text\n";
    let mut index = index(&[("k/a.md", &format!("# Apples\n\n{rest}"))]);
    put(&mut index, "k/a.md", &format!("# Pears\n\n{rest}"));
    index.commit().unwrap();
    assert!(hits(&index, "apples", 9).is_empty());
    assert!(hits(&index, "pears", 99).len() > 1);
}

#[test]
fn vector_key_is_its_input() {
    let index = index(&[("k/a.md", "# A\n\napple")]);
    let snapshot = index.snapshot().unwrap();
    let (address, found) = snapshot.keys().next().unwrap();
    assert_eq!(
        (found, snapshot.chunk(address).unwrap().indexed()),
        (key("A\n# A\n\napple"), "A\n# A\n\napple".to_owned())
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// Files of many small chunks, and edits that leave most of the chunks unchanged.
    #[test]
    fn line_edits_yield_the_index_of_a_fresh_start(
        lines in prop::collection::vec("(## [a-c]|- |)([a-f]{1,2} |猫|狗|\\. ){0,8}", 20..60),
        edits in prop::collection::vec((0usize..60, 0usize..4, prop::collection::vec("([a-f]{1,2} ?){0,6}|", 0..3)), 1..8),
        at_once in any::<bool>(),
        query in "[a-f]{1,2} (猫狗|[a-f])?",
    ) {
        let limits = ChunkLimits { tokens: 12, overlap: 3 };
        let mut edited = FolderIndex::in_memory(limits).unwrap();
        put(&mut edited, "k/b.md", "a b c");
        put(&mut edited, "k/a.md", &lines.join("\n"));
        edited.commit().unwrap();
        let mut lines = lines;
        for (at, gone, new) in edits {
            let at = at.min(lines.len());
            lines.splice(at..(at + gone).min(lines.len()), new);
            put(&mut edited, "k/a.md", &lines.join("\n"));
            if !at_once {
                edited.commit().unwrap();
            }
        }
        edited.commit().unwrap();
        let mut fresh = FolderIndex::in_memory(limits).unwrap();
        put(&mut fresh, "k/a.md", &lines.join("\n"));
        put(&mut fresh, "k/b.md", "a b c");
        fresh.commit().unwrap();
        let chunks = |index: &FolderIndex| index.snapshot().unwrap().chunks_of("k/a.md").unwrap();
        prop_assert_eq!(chunks(&edited), chunks(&fresh));
        prop_assert_eq!(hits(&edited, &query, 9), hits(&fresh, &query, 9));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn edits_yield_the_index_of_a_fresh_start(
        edits in prop::collection::vec((0usize..4, "(# |- |\n\n|[abc]{1,3} |猫|狗|。){0,40}"), 1..10),
        query in "[abc]{1,3} (猫狗|[abc])?",
    ) {
        let mut edited = index(&[]);
        let mut last = BTreeMap::new();
        for (name, text) in &edits {
            let name = format!("k/{name}.md");
            if text.is_empty() {
                edited.remove(&RelPath::parse(&name).unwrap()).unwrap();
                last.remove(&name);
            } else {
                put(&mut edited, &name, text);
                last.insert(name, text);
            }
            edited.commit().unwrap();
        }
        let mut fresh = index(&[]);
        for (name, text) in last.iter().rev() {
            put(&mut fresh, name, text);
        }
        fresh.commit().unwrap();
        prop_assert_eq!(hits(&edited, &query, 5), hits(&fresh, &query, 5));
        let text = |hit: &Hit| last[&hit.source][hit.range.0..hit.range.1].to_owned();
        for hit in hits(&fresh, &query, 5) {
            prop_assert_eq!(text(&hit), hit.text);
        }
    }
}
