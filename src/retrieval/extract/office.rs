//! Converts OpenDocument texts (OASIS OpenDocument 1.3) and PowerPoint presentations (ECMA-376, part 1) to Markdown.

use std::collections::HashMap;

use super::Unreadable;
use super::blocks::{Block, Blocks};
use super::docx::paragraphs;
use super::xml::{Element, Step, walk};
use super::zip::Archive;

/// Comments, deleted text, and the reference marks of notes.
const SKIPPED: [&str; 3] = ["annotation", "tracked-changes", "note-citation"];
/// Maximum number of spaces that one element expands to.
const BLANKS: usize = 64;

pub fn odt(bytes: &[u8]) -> Result<String, Unreadable> {
    let mut archive = Archive::open(bytes)?;
    let manifest = archive.read("META-INF/manifest.xml")?.unwrap_or_default();
    let mut encrypted = false;
    walk(&manifest, |step| {
        encrypted |= matches!(step, Step::Open(element) if element.name == "encryption-data");
        Ok(())
    })?;
    if encrypted {
        return Err(Unreadable::Encrypted);
    }
    let content = archive.read("content.xml")?.ok_or(Unreadable::Damaged)?;
    let mut blocks = Blocks::default();
    let mut texts: Vec<(Block, String)> = Vec::new();
    let (mut items, mut skipped) = (0usize, 0usize);
    walk(&content, |step| {
        match step {
            Step::Open(_) if skipped > 0 => skipped += 1,
            Step::Close(_) if skipped > 0 => skipped -= 1,
            Step::Open(element) => match element.name {
                name if SKIPPED.contains(&name) => skipped = 1,
                "h" => texts.push((Block::Heading(level(&element)), String::new())),
                "p" if items > 0 => texts.push((Block::Item, String::new())),
                "p" => texts.push((Block::Paragraph, String::new())),
                "list-item" => items += 1,
                "table" => blocks.open_table(),
                "s" => {
                    let count = element.attribute("c").and_then(|count| count.parse().ok()).unwrap_or(1usize);
                    say(&mut texts, &" ".repeat(count.min(BLANKS)));
                }
                "tab" => say(&mut texts, "\t"),
                "line-break" => say(&mut texts, "\n"),
                _ => {}
            },
            Step::Close("h" | "p") => {
                if let Some((block, text)) = texts.pop() {
                    blocks.add(block, &text)?;
                }
            }
            Step::Close("list-item") => items = items.saturating_sub(1),
            Step::Close("table-cell") => blocks.close_cell(),
            Step::Close("table-row") => blocks.close_row()?,
            Step::Close("table") => blocks.close_table()?,
            Step::Close(_) => {}
            Step::Text(text) if skipped == 0 => say(&mut texts, text),
            Step::Text(_) => {}
        }
        Ok(())
    })?;
    blocks.finish()
}

fn level(element: &Element) -> u8 {
    element.attribute("outline-level").and_then(|level| level.parse().ok()).unwrap_or(1)
}

/// Appends text to the open paragraph or heading. Text outside of them is only layout of the XML.
fn say(texts: &mut [(Block, String)], text: &str) {
    if let Some((_, open)) = texts.last_mut() {
        open.push_str(text);
    }
}

/// Returns the slides as Markdown, one section per slide, in the order of their numbers.
pub fn pptx(bytes: &[u8]) -> Result<String, Unreadable> {
    let mut archive = Archive::open(bytes)?;
    let number = |name: &str| name.strip_prefix("ppt/slides/slide")?.strip_suffix(".xml")?.parse::<u32>().ok();
    let mut slides: Vec<(u32, String)> = archive.names().filter_map(|name| Some((number(&name)?, name))).collect();
    slides.sort_unstable();
    if slides.is_empty() {
        return Err(Unreadable::Damaged);
    }
    let mut text = String::new();
    for (number, name) in slides {
        let mut blocks = Blocks::default();
        paragraphs(&archive.read(&name)?.ok_or(Unreadable::Damaged)?, &HashMap::new(), &mut blocks)?;
        match blocks.finish() {
            Ok(slide) => text.push_str(&format!("## Slide {number}\n\n{slide}\n\n")),
            Err(Unreadable::NoText) => {}
            Err(other) => return Err(other),
        }
        if text.len() > super::TEXT_LIMIT {
            return Err(Unreadable::TextLimit);
        }
    }
    if text.is_empty() { Err(Unreadable::NoText) } else { Ok(text) }
}
