//! Retrieval tests as files: `tests.jsonl`, beside the documents, lists questions and where to find their answers.

use serde::{Deserialize, Serialize};

use crate::domain::{Hit, Place};

/// A question with its expected answer: at least one of `file`, `heading` and `text`. A hit must match all that are present.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TestCase {
    /// Line of tests.jsonl, 1-based.
    #[serde(default)]
    pub line: u32,
    pub query: String,
    /// Path below the folder, e.g. `setup-and-keys.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Part of the hit's heading path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// Part of the hit's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A line that is not a valid test.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
#[schema(as = Problem)]
pub struct InvalidTestLine {
    pub line: u32,
    pub message: String,
    /// `not_a_test`, `no_query` or `nothing_expected`, for a client that translates the message.
    pub code: &'static str,
    /// The parser's error for a line that is `not_a_test`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Parses each line separately, so that an invalid line does not hide the others. Skips blank lines and lines that begin
/// with `//`.
pub fn parse(text: &str) -> (Vec<TestCase>, Vec<InvalidTestLine>) {
    let (mut cases, mut problems) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line_number = number as u32 + 1;
        if line.trim().is_empty() || line.trim_start().starts_with("//") {
            continue;
        }
        match case(line) {
            Ok(case) => cases.push(TestCase { line: line_number, ..case }),
            Err(bad) => problems.push(bad.at_line(line_number)),
        }
    }
    (cases, problems)
}

/// Why a line is not a valid test.
#[derive(Debug, thiserror::Error)]
enum BadCase {
    #[error("{0}. A test looks like {{\"query\": \"…\", \"file\": \"notes.md\", \"heading\": \"…\"}}.")]
    NotATest(#[from] serde_json::Error),
    #[error("The query is empty.")]
    NoQuery,
    #[error("There is no file, heading or text, so the test can't fail.")]
    NothingExpected,
}

impl BadCase {
    fn at_line(&self, line: u32) -> InvalidTestLine {
        let (code, reason) = match self {
            Self::NotATest(error) => ("not_a_test", Some(error.to_string())),
            Self::NoQuery => ("no_query", None),
            Self::NothingExpected => ("nothing_expected", None),
        };
        InvalidTestLine { line, message: self.to_string(), code, reason }
    }
}

fn case(line: &str) -> Result<TestCase, BadCase> {
    let case: TestCase = serde_json::from_str(line)?;
    if case.query.trim().is_empty() {
        return Err(BadCase::NoQuery);
    }
    if case.file.is_none() && case.heading.is_none() && case.text.is_none() {
        return Err(BadCase::NothingExpected);
    }
    Ok(case)
}

impl TestCase {
    pub fn is_answered_by(&self, hit: &Hit) -> bool {
        let place = Place::parse(&hit.source);
        let below = place.as_ref().map_or(hit.source.as_str(), Place::path);
        let heading = hit.heading.as_deref().unwrap_or_default();
        self.file.as_deref().is_none_or(|file| file == below || file == hit.source)
            && self.heading.as_deref().is_none_or(|wanted| heading.contains(wanted))
            && self.text.as_deref().is_none_or(|wanted| hit.text.contains(wanted))
    }

    /// Returns the expected answer in one line.
    pub fn expected(&self) -> String {
        let text = self.text.as_ref().map(|text| format!("“{text}”"));
        [self.file.clone(), self.heading.clone(), text].into_iter().flatten().collect::<Vec<_>>().join(" › ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hit(source: &str, heading: &str, text: &str) -> Hit {
        Hit {
            text: text.to_owned(),
            score: 1.0,
            confidence: Some(0.9),
            weak: false,
            source: source.to_owned(),
            heading: Some(heading.to_owned()),
            lines: None,
            range: (0, 0),
            how: None,
        }
    }

    #[test]
    fn invalid_line_is_named_and_others_are_read() {
        let (cases, problems) = parse(
            "{\"query\": \"a\", \"file\": \"b.md\"}\n\n// a remark\n{\"query\": \"a\"}\n{\"query\": \" \", \"file\": \"b\"}\nnonsense\n\
             {\"query\": \"a\", \"flie\": \"b.md\"}\n{\"query\": \"c\", \"heading\": \"D\"}\n",
        );
        assert_eq!(cases.iter().map(|case| case.line).collect::<Vec<_>>(), [1, 8]);
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [4, 5, 6, 7]);
        assert!(problems[3].message.contains("flie") && problems[3].code == "not_a_test", "{problems:?}");
    }

    #[test]
    fn all_expectations_of_a_case_must_hold() {
        let (cases, _) = parse("{\"query\": \"q\", \"file\": \"a/b.md\", \"heading\": \"Keys\", \"text\": \".env\"}");
        let case = &cases[0];
        assert!(case.is_answered_by(&hit("knowledge/a/b.md", "Setup › Keys", "put it into .env")));
        assert!(!case.is_answered_by(&hit("knowledge/b.md", "Setup › Keys", "put it into .env")));
        assert!(!case.is_answered_by(&hit("knowledge/a/b.md", "Setup", "put it into .env")));
        assert!(!case.is_answered_by(&hit("knowledge/a/b.md", "Setup › Keys", "elsewhere")));
        assert_eq!(case.expected(), "a/b.md › Keys › “.env”");
    }

    proptest! {
        #[test]
        fn every_line_is_test_problem_or_skipped(
            text in "(\\PC{0,20}\n|\\{\"query\": \"[a-z ]{0,4}\"(, \"(file|text|x)\": (\"a\"|3))?\\}\n|//x\n|\n){0,8}",
        ) {
            let (cases, problems) = parse(&text);
            let meant = text.lines().filter(|l| !l.trim().is_empty() && !l.trim_start().starts_with("//")).count();
            prop_assert_eq!(cases.len() + problems.len(), meant);
            let last = text.lines().count() as u32;
            prop_assert!(cases.iter().map(|case| case.line).chain(problems.iter().map(|p| p.line)).all(|l| (1..=last).contains(&l)));
        }
    }
}
