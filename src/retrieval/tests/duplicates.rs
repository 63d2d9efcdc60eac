//! Tests of files that repeat themselves.

use super::*;

/// Sentences without the words of the questions, about 300 tokens.
fn prose(name: &str) -> String {
    (0..25).map(|n| format!("The {name} part goes on with its sentence {n} of many. ")).collect()
}

/// About 340 tokens around what the questions ask for.
fn report(year: &str) -> String {
    let before: String = (0..16).map(|n| format!("Line {n} of the report tells of ordinary business. ")).collect();
    let after: String = (0..16).map(|n| format!("Remark {n} adds what the auditors had to say. ")).collect();
    format!("{before}The proceeds of the notes of {year} were used to buy back preferred shares. {after}")
}

const OTHER: &str = "The proceeds of the land were paid to its owners.";

fn duplicates(hit: &Hit) -> u32 {
    hit.how.as_ref().unwrap().duplicates
}

fn searched(text: &str) -> Vec<Hit> {
    hits(&index(&[("knowledge/a.md", text)]), "What were the proceeds used for?", 3)
}

#[test]
fn repeated_text_is_one_hit_the_first_in_the_file() {
    let (report, [a, b, c, d]) = (report("2021"), ["first", "second", "third", "fourth"].map(prose));
    let text = format!("{a}\n\n{report}\n\n{b}\n\n{OTHER}\n\n{c}\n\n{report}\n\n{d}\n\n{report}\n");
    let found = searched(&text);
    let asked = |hit: &&Hit| hit.text.contains("proceeds of the notes");
    assert_eq!(found.iter().filter(asked).count(), 1, "{found:#?}");
    assert_eq!((duplicates(&found[0]), found[0].range.0 < text.find("second").unwrap()), (2, true), "{found:#?}");
    assert!(found[1].text.contains(OTHER) && duplicates(&found[1]) == 0, "{found:#?}");
}

#[test]
fn text_that_differs_in_what_is_asked_for_is_no_duplicate() {
    let (a, b) = (prose("first"), prose("second"));
    let text = format!("{a}\n\n{}\n\n{b}\n\n{}\n", report("2021"), report("2022"));
    let index = index(&[("knowledge/a.md", &text)]);
    for year in ["2021", "2022"] {
        let found = hits(&index, &format!("What were the proceeds of {year} used for?"), 2);
        assert!(found[0].text.contains(year) && found.iter().all(|hit| duplicates(hit) == 0), "{year}: {found:#?}");
    }
}

#[test]
fn same_text_in_another_section_or_file_is_no_duplicate() {
    let report = report("2021");
    let sections = format!("# Bonds\n\n## Paris\n\n{report}\n\n## Rome\n\n{report}\n");
    let headings: Vec<Option<String>> = searched(&sections).into_iter().map(|hit| hit.heading).take(2).collect();
    assert_eq!(headings, [Some("Bonds › Paris".to_owned()), Some("Bonds › Rome".to_owned())]);
    let files = index(&[("knowledge/a.md", report.as_str()), ("knowledge/b.md", &report)]);
    let found = hits(&files, "What were the proceeds used for?", 3);
    assert_eq!(found.iter().map(|hit| hit.source.as_str()).collect::<Vec<_>>(), ["knowledge/a.md", "knowledge/b.md"]);
}
