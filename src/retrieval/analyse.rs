//! The analyser: it turns the text of documents and of questions into the same terms.
//!
//! - Characters are normalised (NFKC) and lower-cased; English words are stemmed.
//! - Scripts without spaces between words become overlapping pairs of characters: 数据库 → 数据, 据库. A run of one
//!   character is that character. Pairs work better for search than dictionary segmentation and need no dictionary.
//! - Numbers are kept. `snake_case` and `camelCase` are kept whole and also split into their parts.

use icu_normalizer::ComposingNormalizerBorrowed;
use rust_stemmers::{Algorithm, Stemmer};

use super::stop_words;

/// Maximum bytes of a word. Longer words are truncated: they are encoded data that nobody searches for in full.
const MAX_WORD_BYTES: usize = 64;

pub struct Analyser {
    stemmer: Stemmer,
}

/// An analysed question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// The terms in order, with repetitions.
    pub terms: Vec<QueryTerm>,
    /// Words that were dropped.
    pub ignored: Vec<String>,
    /// The fallback if the index contains none of the terms.
    pub characters: Vec<QueryTerm>,
}

/// A search term of a question.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QueryTerm {
    /// A word, or a pair of characters.
    Term(String),
    /// A single character; matches every occurrence of it.
    Character(char),
}

impl QueryTerm {
    /// Returns the term as it is displayed.
    pub fn label(&self) -> String {
        match self {
            QueryTerm::Term(term) => term.clone(),
            QueryTerm::Character(c) => c.to_string(),
        }
    }
}

impl Default for Analyser {
    fn default() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English) }
    }
}

enum Token<'a> {
    /// A term, and its word in lower case before stemming.
    Word { term: &'a str, plain: &'a str },
    /// A run of one character.
    Single(char),
    /// Two neighbouring characters of a run.
    Pair(&'a str),
}

impl Token<'_> {
    /// Returns whether the token is not a stop word.
    fn is_content_word(&self) -> bool {
        match self {
            Token::Word { plain, .. } => !stop_words::is_english(plain),
            Token::Single(c) => !stop_words::is_particle(*c),
            Token::Pair(pair) => !stop_words::is_chinese(pair),
        }
    }
}

impl Analyser {
    /// Calls `each` for every term of `text`, in order and with repetitions.
    pub fn terms(&self, text: &str, mut each: impl FnMut(&str)) {
        self.walk(text, &mut |token| match token {
            Token::Word { term, .. } => each(term),
            Token::Single(c) => each(c.encode_utf8(&mut [0; 4])),
            Token::Pair(pair) => each(pair),
        });
    }

    /// Calls `each` for the characters of `text` in scripts without spaces, with repetitions. Characters are less specific than
    /// pairs, but 猫叫什么 has no pair in common with 小猫.
    pub fn characters(&self, text: &str, each: impl FnMut(char)) {
        let text = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
        text.chars().filter(|&c| Class::of(c) == Class::Unspaced).for_each(each);
    }

    /// Analyses a question and drops its stop words, unless it has no other words.
    pub fn query(&self, text: &str) -> Query {
        let mut all = Vec::new();
        let mut content = Vec::new();
        let mut ignored = Vec::new();
        self.walk(text, &mut |token| {
            let term = match token {
                Token::Word { term, .. } | Token::Pair(term) => QueryTerm::Term(term.to_owned()),
                Token::Single(c) => QueryTerm::Character(c),
            };
            match (token.is_content_word(), &token) {
                (true, _) => content.push(term.clone()),
                (false, Token::Word { plain, .. }) => ignored.push((*plain).to_owned()),
                (false, _) => ignored.push(term.label()),
            }
            all.push(term);
        });
        let mut characters = Vec::new();
        self.characters(text, |c| {
            if !stop_words::is_particle(c) {
                characters.push(QueryTerm::Character(c));
            }
        });
        ignored.dedup();
        match content.is_empty() {
            true => Query { terms: all, ignored: Vec::new(), characters },
            false => Query { terms: content, ignored, characters },
        }
    }

    /// Returns whether `text` contains anything to search for: a word that is not a stop word or particle.
    pub fn has_content_words(&self, text: &str) -> bool {
        let mut found = false;
        self.walk(text, &mut |token| found |= token.is_content_word());
        found
    }

    fn walk(&self, text: &str, each: &mut dyn FnMut(Token)) {
        let text = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
        let mut rest = text.as_ref();
        while let Some(first) = rest.chars().next() {
            let class = Class::of(first);
            let end = match class {
                Class::Word => word_end(rest),
                Class::Unspaced => rest.find(|c| Class::of(c) != Class::Unspaced).unwrap_or(rest.len()),
                Class::Gap => first.len_utf8(),
            };
            let (run, after) = rest.split_at(end);
            match class {
                Class::Word => self.word(run, each),
                Class::Unspaced => pairs(run, each),
                Class::Gap => {}
            }
            rest = after;
        }
    }

    fn word(&self, word: &str, each: &mut dyn FnMut(Token)) {
        let word = word.trim_matches('_');
        let word = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
        if word.bytes().all(|b| b.is_ascii_lowercase()) {
            return self.plain_word(word, each);
        }
        let lower: String = word.to_lowercase().chars().filter(|c| !matches!(c, '\'' | '’')).collect();
        self.plain_word(&lower, each);
        let parts = parts(word);
        if parts.len() > 1 {
            for part in parts {
                self.plain_word(&part.to_lowercase(), each);
            }
        }
    }

    fn plain_word(&self, word: &str, each: &mut dyn FnMut(Token)) {
        let plain = &word[..word.floor_char_boundary(MAX_WORD_BYTES)];
        if plain.is_empty() {
            return;
        }
        if plain.bytes().all(|b| b.is_ascii_lowercase()) {
            each(Token::Word { term: &self.stemmer.stem(plain), plain });
        } else {
            each(Token::Word { term: plain, plain });
        }
    }
}

/// Returns whether `c` is part of a word of a script with spaces between words.
pub fn is_letter(c: char) -> bool {
    Class::of(c) == Class::Word
}

/// The kind of script that most of a text is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritingSystem {
    Spaced,
    Unspaced,
    /// Both, or neither.
    Mixed,
}

impl WritingSystem {
    pub fn of(text: &str) -> Self {
        let (mut words, mut characters) = (0u32, 0u32);
        let mut in_word = false;
        for c in text.chars() {
            let class = Class::of(c);
            words += u32::from(class == Class::Word && !in_word && c.is_alphabetic());
            characters += u32::from(class == Class::Unspaced);
            in_word = class == Class::Word;
        }
        // Unspaced characters: at least half of the total, or less than a fifth.
        match (words, characters) {
            (0, 0) => WritingSystem::Mixed,
            _ if characters >= words => WritingSystem::Unspaced,
            _ if characters * 4 < words => WritingSystem::Spaced,
            _ => WritingSystem::Mixed,
        }
    }

    /// Returns whether texts in these two systems can hardly share words.
    pub fn is_foreign_to(self, other: WritingSystem) -> bool {
        matches!(
            (self, other),
            (WritingSystem::Spaced, WritingSystem::Unspaced) | (WritingSystem::Unspaced, WritingSystem::Spaced)
        )
    }
}

/// Returns whether a question contains an identifier from code, which must match literally because no model knows its meaning.
pub fn holds_identifier(question: &str) -> bool {
    if question.matches('`').count() > 1 || question.contains("::") || question.contains("->") {
        return true;
    }
    let words = question.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '(' | ')')));
    words.into_iter().any(|word| {
        let bytes = word.trim_start_matches('(').as_bytes();
        let inside = |at: usize| at > 0 && at + 1 < bytes.len();
        let joined = (0..bytes.len()).any(|at| bytes[at] == b'_' && inside(at));
        let hump = bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        let call = word.ends_with("()") && word.len() > 2;
        let coded = bytes.first().is_some_and(u8::is_ascii_alphabetic)
            && bytes.windows(2).any(|pair| pair[0].is_ascii_digit() && pair[1].is_ascii_lowercase());
        joined || hump || call || coded
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    /// A script that is written without spaces between words.
    Unspaced,
    Gap,
}

impl Class {
    fn of(c: char) -> Self {
        match c {
            '_' => Class::Word,
            c if c.is_ascii() => {
                if c.is_ascii_alphanumeric() {
                    Class::Word
                } else {
                    Class::Gap
                }
            }
            // Han with extensions and 々〇, kana, Hangul; Thai, Lao, Khmer and Burmese with their vowel signs.
            '\u{4e00}'..='\u{9fff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3041}'..='\u{309f}'
            | '\u{30a1}'..='\u{30fa}'
            | '\u{30fc}'..='\u{30ff}'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{e01}'..='\u{e4e}'
            | '\u{e81}'..='\u{ecd}'
            | '\u{1000}'..='\u{103f}'
            | '\u{1780}'..='\u{17d3}' => Class::Unspaced,
            c if c.is_alphanumeric() => Class::Word,
            // Combining marks, which modify the letter before them.
            '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}' => Class::Word,
            _ => Class::Gap,
        }
    }
}

/// Returns the end of a word; an apostrophe between letters is part of it.
fn word_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let joins =
            at > 0 && matches!(c, '\'' | '’') && chars.peek().is_some_and(|&(_, next)| Class::of(next) == Class::Word);
        if Class::of(c) != Class::Word && !joins {
            return at;
        }
    }
    text.len()
}

fn pairs(run: &str, each: &mut dyn FnMut(Token)) {
    let mut start = 0;
    let mut previous: Option<char> = None;
    for (at, c) in run.char_indices() {
        if let Some(before) = previous {
            each(Token::Pair(&run[start..at + c.len_utf8()]));
            start += before.len_utf8();
        }
        previous = Some(c);
    }
    if let (0, Some(only)) = (start, previous) {
        each(Token::Single(only));
    }
}

/// Splits an identifier into its parts: `HTTPServer_name2` → HTTP, Server, name2.
fn parts(word: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let chars: Vec<(usize, char)> = word.char_indices().collect();
    for (i, &(at, c)) in chars.iter().enumerate() {
        if matches!(c, '_' | '\'' | '’') {
            parts.push(&word[start..at]);
            start = at + c.len_utf8();
            continue;
        }
        let Some(&(_, before)) = i.checked_sub(1).and_then(|i| chars.get(i)) else { continue };
        let rises = c.is_uppercase() && before.is_lowercase();
        let next_falls = chars.get(i + 1).is_some_and(|(_, next)| next.is_lowercase());
        if rises || (c.is_uppercase() && before.is_uppercase() && next_falls) {
            parts.push(&word[start..at]);
            start = at;
        }
    }
    parts.push(&word[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn terms(text: &str) -> Vec<String> {
        let mut terms = Vec::new();
        Analyser::default().terms(text, |term| terms.push(term.to_owned()));
        terms
    }

    fn query(text: &str) -> Vec<String> {
        Analyser::default().query(text).terms.iter().map(QueryTerm::label).collect()
    }

    #[test]
    fn english_words_are_stemmed() {
        assert_eq!(terms("Running RUNS documents, Caroline's"), ["run", "run", "document", "carolin"]);
        assert_eq!(
            terms("don't O’Brien 7pm 2023-05-07"),
            ["dont", "don", "t", "obrien", "o", "brien", "7pm", "2023", "05", "07"]
        );
    }

    #[test]
    fn scripts_without_spaces_become_bigrams() {
        assert_eq!(terms("我的猫。猫, 数据库v2的"), ["我的", "的猫", "猫", "数据", "据库", "v2", "的"]);
        assert_eq!(terms("カタカナ한국어"), ["カタ", "タカ", "カナ", "ナ한", "한국", "국어"]);
    }

    #[test]
    fn identifiers_are_indexed_whole_and_split() {
        assert_eq!(terms("load_session_for"), ["load_session_for", "load", "session", "for"]);
        assert_eq!(terms("HTTPServer"), ["httpserver", "http", "server"]);
        assert_eq!(terms("EMBEDDING_MODEL _x_ __"), ["embedding_model", "embed", "model", "x"]);
        assert_eq!(terms("gpt4 cl100k_base"), ["gpt4", "cl100k_base", "cl100k", "base"]);
    }

    #[test]
    fn character_forms_are_normalised() {
        assert_eq!(terms("ＡＢＣ１２３ ﬁne Ⅷ ｶﾅ"), ["abc123", "fine", "viii", "カナ"]);
        assert_eq!(terms("Straße ΟΔΟΣ École"), ["straße", "οδος", "école"]);
    }

    #[test]
    fn query_keeps_only_significant_terms() {
        assert_eq!(query("What is the name of Caroline's dog?"), ["name", "carolin", "dog"]);
        assert_eq!(query("请问什么是数据库？"), ["问什", "是数", "数据", "据库"]);
        assert_eq!(query("who are you"), ["who", "are", "you"]);
        assert_eq!(Analyser::default().query("What is a cat?").ignored, ["what", "is", "a"]);
        assert_eq!(Analyser::default().query("我的猫").characters, [QueryTerm::Character('猫')]);
        assert_eq!(query("猫"), ["猫"]);
        assert_eq!(Analyser::default().query("猫").terms, [QueryTerm::Character('猫')]);
        assert!(query(" ?!，").is_empty());
    }

    #[test]
    fn code_identifiers_are_recognised() {
        for question in [
            "where is EMBEDDING_MODEL read?",
            "what does loadSession do",
            "call serve() twice",
            "std::fs or a->b",
            "the `home` folder",
            "encode A1z26 text",
        ] {
            assert!(holds_identifier(question), "{question}");
        }
        for question in [
            "When did Caroline go at 7pm on 2023-05-07?",
            "US or EU, and (some) more_",
            "什么是 RAG 模式？",
            "it's 3rd",
            "",
        ] {
            assert!(!holds_identifier(question), "{question}");
        }
    }

    #[test]
    fn texts_in_different_scripts_are_foreign() {
        let (zh, en) =
            (WritingSystem::of("我的上司是哪个学校毕业的？"), WritingSystem::of("Which school did my boss go to?"));
        assert_eq!((zh, en), (WritingSystem::Unspaced, WritingSystem::Spaced));
        assert!(zh.is_foreign_to(en) && en.is_foreign_to(zh) && !zh.is_foreign_to(zh));
        let mixed = WritingSystem::of("把 DEEPSEEK API KEY 放入文件");
        assert_eq!(WritingSystem::of("a b c d 中文"), WritingSystem::Mixed);
        assert!(!mixed.is_foreign_to(zh) && !WritingSystem::of("123 ?!").is_foreign_to(en));
    }

    proptest! {
        #[test]
        fn terms_are_short_and_never_empty(text in prop_oneof![any::<String>(), "[a-zA-Z_'’猫Ａ９ ]{0,200}"]) {
            for term in terms(&text) {
                prop_assert!(!term.is_empty() && term.len() <= MAX_WORD_BYTES + 8);
                prop_assert!(!term.contains(char::is_whitespace), "the index takes terms apart at blanks");
            }
        }

        #[test]
        fn query_terms_are_a_subset_of_text_terms(text in "[a-z猫的什么_ '0-9A-Z]{0,60}") {
            let terms = terms(&text);
            prop_assert!(query(&text).iter().all(|term| terms.contains(term)));
        }
    }
}
