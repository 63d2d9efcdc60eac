//! Word documents (Office Open XML): headings, paragraphs, lists, tables, footnotes and endnotes. Omits everything a reader of
//! the document does not see: deleted and hidden text, field codes, older formatting. Source: ECMA-376, part 1.

use std::collections::HashMap;

use super::Unreadable;
use super::blocks::{Block, Blocks};
use super::xml::{Element, Step, walk};
use super::zip::Archive;

/// Elements that repeat text for older programs, contain text that was moved elsewhere, or describe earlier formatting.
const SKIPPED: [&str; 8] =
    ["Fallback", "moveFrom", "pPrChange", "rPrChange", "tblPrChange", "trPrChange", "tcPrChange", "sectPrChange"];
/// Maximum length of a chain of styles that are based on each other; a longer chain is a cycle.
const LONGEST_CHAIN: usize = 16;

pub fn markdown(bytes: &[u8]) -> Result<String, Unreadable> {
    let mut archive = Archive::open(bytes)?;
    let body = main_part(&archive).ok_or(Unreadable::Damaged)?;
    let styles = match archive.read("word/styles.xml")? {
        // A document with damaged styles is still readable.
        Some(xml) => headings(&xml).unwrap_or_default(),
        None => HashMap::new(),
    };
    let mut blocks = Blocks::default();
    let body = archive.read(&body)?.ok_or(Unreadable::Damaged)?;
    paragraphs(&body, &styles, &mut blocks)?;
    for notes in ["word/footnotes.xml", "word/endnotes.xml"] {
        if let Some(xml) = archive.read(notes)? {
            paragraphs(&xml, &styles, &mut blocks)?;
        }
    }
    blocks.finish()
}

/// Returns the name of the main part, which some programs number.
fn main_part(archive: &Archive) -> Option<String> {
    let is_main = |name: &String| {
        let number = name.strip_prefix("word/document").and_then(|rest| rest.strip_suffix(".xml"));
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    archive.names().filter(is_main).min()
}

#[derive(Default)]
struct Style {
    heading: Option<u8>,
    based_on: Option<String>,
}

/// Returns the level of each heading style by its id, which differs between languages.
fn headings(xml: &[u8]) -> Result<HashMap<String, u8>, Unreadable> {
    let mut styles: HashMap<String, Style> = HashMap::new();
    let mut current: Option<(String, Style)> = None;
    walk(xml, |step| {
        match step {
            Step::Open(element) if element.name == "style" => {
                current = element.attribute("styleId").map(|id| (id, Style::default()));
            }
            Step::Open(element) => {
                if let Some((_, style)) = &mut current {
                    match element.name {
                        "name" => style.heading = style.heading.or(element.attribute("val").as_deref().and_then(named)),
                        "outlineLvl" => style.heading = outline_level(&element).or(style.heading),
                        "basedOn" => style.based_on = element.attribute("val"),
                        _ => {}
                    }
                }
            }
            Step::Close("style") => styles.extend(current.take()),
            Step::Close(_) | Step::Text(_) => {}
        }
        Ok(())
    })?;
    let level = |id: &String| {
        let chain = std::iter::successors(styles.get(id), |style| styles.get(style.based_on.as_ref()?));
        chain.take(LONGEST_CHAIN).find_map(|style| style.heading)
    };
    Ok(styles.keys().filter_map(|id| Some((id.clone(), level(id)?))).collect())
}

/// Returns the heading level of a built-in style. Word uses the English names of its built-in styles in every language.
fn named(name: &str) -> Option<u8> {
    let name = name.to_ascii_lowercase();
    match name.strip_prefix("heading ") {
        Some(number) => number.parse().ok().filter(|level| (1..=9).contains(level)),
        None => (name == "title").then_some(1),
    }
}

/// Returns the heading level of an outline level. Outline levels are 0-based; level 9 is body text.
fn outline_level(element: &Element) -> Option<u8> {
    let level: u8 = element.attribute("val")?.parse().ok()?;
    (level < 9).then_some(level + 1)
}

/// The part of a paragraph read so far. Paragraphs can nest: a text box is inside a paragraph.
#[derive(Default)]
struct Paragraph {
    text: String,
    block: Block,
}

/// The state of the walk.
#[derive(Default)]
struct TextPosition {
    paragraphs: Vec<Paragraph>,
    /// Number of open elements within a skipped one, itself included.
    skipped: usize,
    in_run: bool,
    in_text: bool,
    in_properties: bool,
    hidden: bool,
}

/// Adds the paragraphs of a part to `blocks`. Also works for PowerPoint slides, which use the same element names.
pub fn paragraphs(xml: &[u8], styles: &HashMap<String, u8>, blocks: &mut Blocks) -> Result<(), Unreadable> {
    let mut place = TextPosition::default();
    walk(xml, |step| match step {
        Step::Open(_) if place.skipped > 0 => {
            place.skipped += 1;
            Ok(())
        }
        Step::Close(_) if place.skipped > 0 => {
            place.skipped -= 1;
            Ok(())
        }
        Step::Open(element) => {
            place.open(&element, styles, blocks);
            Ok(())
        }
        Step::Close(name) => place.close(name, blocks),
        Step::Text(text) => {
            if place.in_text && !place.hidden && place.skipped == 0 {
                place.say(text);
            }
            Ok(())
        }
    })?;
    // Paragraphs that were never closed.
    place.paragraphs.drain(..).try_for_each(|paragraph| blocks.add(paragraph.block, &paragraph.text))
}

impl TextPosition {
    fn open(&mut self, element: &Element, styles: &HashMap<String, u8>, blocks: &mut Blocks) {
        match element.name {
            name if SKIPPED.contains(&name) => self.skipped = 1,
            "p" => self.paragraphs.push(Paragraph::default()),
            "pPr" => self.in_properties = true,
            "pStyle" => {
                let level = element.attribute("val").and_then(|id| styles.get(&id).copied());
                self.heading(level);
            }
            "outlineLvl" => self.heading(outline_level(element)),
            "numPr" => {
                if let Some(paragraph) = self.paragraphs.last_mut().filter(|one| one.block == Block::Paragraph) {
                    paragraph.block = Block::Item;
                }
            }
            "r" => (self.in_run, self.hidden) = (true, false),
            "vanish" if self.in_run => {
                self.hidden = !matches!(element.attribute("val").as_deref(), Some("0" | "false" | "off"));
            }
            "t" => self.in_text = true,
            "tab" if !self.in_properties => self.say("\t"),
            "br" | "cr" if !self.in_properties => self.say("\n"),
            "noBreakHyphen" => self.say("-"),
            "tbl" => blocks.open_table(),
            _ => {}
        }
    }

    fn close(&mut self, name: &str, blocks: &mut Blocks) -> Result<(), Unreadable> {
        match name {
            "p" => match self.paragraphs.pop() {
                Some(paragraph) => return blocks.add(paragraph.block, &paragraph.text),
                None => return Ok(()),
            },
            "pPr" => self.in_properties = false,
            "r" => (self.in_run, self.hidden) = (false, false),
            "t" => self.in_text = false,
            "tc" => blocks.close_cell(),
            "tr" => return blocks.close_row(),
            "tbl" => return blocks.close_table(),
            _ => {}
        }
        Ok(())
    }

    fn heading(&mut self, level: Option<u8>) {
        if let (Some(paragraph), Some(level)) = (self.paragraphs.last_mut(), level) {
            paragraph.block = Block::Heading(level);
        }
    }

    fn say(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.text.push_str(text);
        }
    }
}
