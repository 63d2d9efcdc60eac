//! Converts PDF to Markdown, one section per page.

use std::fmt::Write;

use super::{TEXT_LIMIT, Unreadable};

pub fn markdown(bytes: &[u8]) -> Result<String, Unreadable> {
    let pages = pdf_extract::extract_text_from_mem_by_pages(bytes).map_err(|error| reason(&error.to_string()))?;
    let mut text = String::new();
    for (number, page) in pages.iter().enumerate().filter(|(_, page)| !page.trim().is_empty()) {
        if text.len() + page.len() > TEXT_LIMIT {
            return Err(Unreadable::TextLimit);
        }
        let _ = write!(text, "## Page {}\n\n{}\n\n", number + 1, page.trim());
    }
    if text.is_empty() { Err(Unreadable::NoText) } else { Ok(text) }
}

/// Classifies an error by its message, because the library has many errors for encrypted files and they differ between its
/// versions, while the words in their messages do not.
fn reason(error: &str) -> Unreadable {
    let error = error.to_ascii_lowercase();
    let is_locked = ["password", "decrypt", "encrypt"].iter().any(|word| error.contains(word));
    if is_locked { Unreadable::Encrypted } else { Unreadable::Damaged }
}
