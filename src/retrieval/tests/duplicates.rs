//! Tests of files that repeat themselves.

use super::*;

/// Sentences without the words of the questions, about 300 tokens.
fn prose(name: &str) -> String {
    (0..25).map(|n| format!("The {name} part goes on with its sentence {n} of many. ")).collect()
}

/// About 300 tokens, more than a window has, with what the questions ask for in the middle.
fn report(year: &str) -> String {
    let before: String = (0..16).map(|n| format!("Line {n} of the report tells of ordinary business. ")).collect();
    let after: String = (0..16).map(|n| format!("Remark {n} adds what the auditors had to say. ")).collect();
    format!("{before}The proceeds of the notes of {year} were used to buy back preferred shares. {after}")
}

const OTHER: &str = "The proceeds of the land were paid to its owners.";
const QUESTION: &str = "What were the proceeds used for?";

fn duplicates(hit: &Hit) -> u32 {
    hit.how.as_ref().unwrap().duplicates
}

fn searched(text: &str, k: usize) -> Vec<Hit> {
    hits(&index(&[("knowledge/a.md", text)]), QUESTION, k)
}

#[test]
fn repeated_text_is_one_hit_the_first_in_the_file() {
    let (report, [a, b, c, d]) = (report("2021"), ["first", "second", "third", "fourth"].map(prose));
    let text = format!("{a}\n\n{report}\n\n{b}\n\n{OTHER}\n\n{c}\n\n{report}\n\n{d}\n\n{report}\n");
    let found = searched(&text, 3);
    let asked = |hit: &&Hit| hit.text.contains("proceeds of the notes");
    assert_eq!(found.iter().filter(asked).count(), 1, "{found:#?}");
    let second = text.find("The second").unwrap();
    assert!(
        duplicates(&found[0]) == 2 && (prose("first").len() - 60..second).contains(&found[0].range.0),
        "{found:#?}"
    );
    assert!(found[1].text.contains(OTHER) && duplicates(&found[1]) == 0, "{found:#?}");
    for k in 1..3 {
        assert_eq!(searched(&text, k)[0].range, found[0].range, "whatever the number of hits");
    }
}

#[test]
fn first_passage_is_cited_also_if_a_later_one_scores_higher() {
    let sentences = |words: &str, count: usize| format!("{words} tells of ordinary business. ").repeat(count);
    let report = format!("{}The proceeds were used well. {}", sentences("It", 20), sentences("He", 20));
    let (a, b, c) = (prose("first"), prose("second"), prose("third"));
    let text = format!("{a}\n\n{report}\n\n{b}\n\nProceeds! {report}Proceeds! {c}\n");
    let found = searched(&text, 2);
    let times = |hit: &Hit| hit.how.as_ref().unwrap().lexical.as_ref().unwrap().terms[0].times;
    assert_eq!((times(&found[0]), duplicates(&found[0])), (3, 1), "{found:#?}");
    assert!(found[0].range.1 < text.find("The second").unwrap() + 60, "{found:#?}");
}

#[test]
fn text_with_another_number_is_no_duplicate() {
    let (a, b) = (prose("first"), prose("second"));
    let found = searched(&format!("{a}\n\n{}\n\n{b}\n\n{}\n", report("2021"), report("2022")), 2);
    for year in ["2021", "2022"] {
        assert!(found.iter().any(|hit| hit.text.contains(year)), "{year}: {found:#?}");
    }
    assert!(found.iter().all(|hit| duplicates(hit) == 0), "{found:#?}");
}

#[test]
fn same_text_in_another_section_or_file_is_no_duplicate() {
    let report = report("2021");
    let more = prose("other");
    let sections = format!("# Bonds\n\n## Paris\n\n{report}{more}\n\n## Rome\n\n{report}{more}\n");
    let headings: Vec<Option<String>> = searched(&sections, 2).into_iter().map(|hit| hit.heading).collect();
    assert_eq!(headings, [Some("Bonds › Paris".to_owned()), Some("Bonds › Rome".to_owned())]);
    let files = index(&[("knowledge/a.md", report.as_str()), ("knowledge/b.md", &report)]);
    let found = hits(&files, QUESTION, 3);
    assert_eq!(found.iter().map(|hit| hit.source.as_str()).collect::<Vec<_>>(), ["knowledge/a.md", "knowledge/b.md"]);
}

#[test]
fn file_of_equal_lines_has_one_hit() {
    let found = searched(&"- The proceeds were used.\n".repeat(3_000), 5);
    assert_eq!(found.len(), 1, "{:#?}", found.iter().map(|hit| (hit.range, duplicates(hit))).collect::<Vec<_>>());
    assert!(duplicates(&found[0]) > 10);
}
