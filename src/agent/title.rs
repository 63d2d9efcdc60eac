//! Generates a title for a session after its first exchange.

use crate::provider::{ChatMessage, Client, ModelRequest, ProfileKind};

/// The document's limits: 10 Chinese characters, or 6 words.
const MAX_CJK: usize = 10;
const MAX_WORDS: usize = 6;
/// Maximum characters that the model reads of the question, and of the answer.
const EXCERPT: usize = 400;

/// Asks the model for a title; falls back to the beginning of the question. Never empty unless the question is.
pub async fn make(client: &Client, question: &str, answer: &str) -> String {
    let told = client.complete(&request(client, question, answer)).await.ok();
    let told = told.map(|text| tidy(&text)).filter(|title| !title.is_empty());
    told.unwrap_or_else(|| tidy(question))
}

fn request(client: &Client, question: &str, answer: &str) -> ModelRequest {
    // Weak models write the title in the language in which the limit is stated.
    let limit = if question.chars().any(is_cjk) {
        format!("in Chinese (or the question's own language), at most {MAX_CJK} characters")
    } else {
        format!("in the language of the question, at most {MAX_WORDS} words")
    };
    let mut ask = format!(
        "Give this conversation a title: {limit}. Answer with the title only.\n\nQuestion: {}",
        excerpt(question)
    );
    // The embedded model reads slowly, and the next question waits for it.
    let is_slow = client.endpoint().profile.kind == ProfileKind::Local;
    if !is_slow {
        ask.push_str(&format!("\n\nAnswer: {}", excerpt(answer)));
    }
    let max_tokens = if is_slow { 24 } else { 512 };
    ask.push_str("\n\nTitle:");
    let messages = vec![ChatMessage::User(ask)];
    ModelRequest { messages, temperature: Some(0.3), max_tokens: Some(max_tokens), ..ModelRequest::default() }
}

fn excerpt(text: &str) -> String {
    text.chars().take(EXCERPT).collect()
}

/// Returns one line without quotes, Markdown marks or a leading "Title:", within the limits.
pub fn tidy(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.trim_start_matches(['#', '*', '-', ' ']);
    let line = ["Title:", "title:", "标题：", "标题:"].iter().find_map(|head| line.strip_prefix(head)).unwrap_or(line);
    let quotes: &[char] = &['"', '\'', '“', '”', '‘', '’', '「', '」', '《', '》', '`', '*', ' '];
    let line = line.trim_matches(quotes).trim_end_matches(['.', '。', '!', '！']);
    if line.chars().any(is_cjk) {
        // Latin words inside a Chinese title count as one character each.
        let mut out = String::new();
        let mut length = 0;
        let mut in_word = false;
        for c in line.chars() {
            let word = c.is_alphanumeric() && !is_cjk(c);
            let goes_on = word && in_word;
            if !goes_on && !c.is_whitespace() {
                length += 1;
            }
            if length > MAX_CJK {
                break;
            }
            in_word = word;
            out.push(c);
        }
        return out.trim_end().to_owned();
    }
    let words: Vec<&str> = line.split_whitespace().take(MAX_WORDS).collect();
    words.join(" ").chars().take(80).collect()
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_stay_within_limits() {
        assert_eq!(
            tidy("\n**Title: \"Weather in Beijing today and tomorrow morning\"**"),
            "Weather in Beijing today and tomorrow"
        );
        assert_eq!(tidy("《红烧肉需要哪些调料和香料呢》"), "红烧肉需要哪些调料和");
        assert_eq!(tidy("读取CSV文件的Rust示例"), "读取CSV文件的Rust示例");
        assert_eq!(tidy("标题：天气。"), "天气");
        assert_eq!(tidy("  \n "), "");
    }
}
