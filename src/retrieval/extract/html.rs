//! Converts HTML to Markdown, and extracts the text of pages that are unsafe to parse.

use super::{Depth, Unreadable, measure};

/// Elements whose content is not text of the page.
const SKIPPED: [&str; 5] = ["script", "style", "noscript", "template", "svg"];

pub fn markdown(page: &str) -> Result<String, Unreadable> {
    let converted = match measure(page) {
        Depth::Normal => htmd::HtmlToMarkdown::builder().skip_tags(SKIPPED.into()).build().convert(page).ok(),
        Depth::Deep | Depth::Hostile => None,
    };
    let text = converted.unwrap_or_else(|| strip(page));
    if text.trim().is_empty() { Err(Unreadable::NoText) } else { Ok(text) }
}

/// Returns the text between the tags, for pages that are unsafe to parse.
pub fn strip(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let lower = rest.get(..8).unwrap_or(rest).to_ascii_lowercase();
        let end = ["script", "style"].iter().find(|name| lower.get(1..).is_some_and(|tag| tag.starts_with(**name)));
        let end = match end {
            Some(name) => rest.find(&format!("</{name}")).map_or(rest.len(), |at| at + 1),
            None => 1,
        };
        rest = rest[end..].find('>').map_or("", |close| &rest[end + close + 1..]);
        text.push(' ');
    }
    text.push_str(rest);
    tidy(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Removes trailing spaces from lines, collapses empty lines to one, and trims both ends.
pub fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.trim().lines() {
        let line = line.trim_end();
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 {
            out.push_str(line);
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    out
}
