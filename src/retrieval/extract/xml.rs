//! Reads the XML of office documents as a flat stream of events: elements by their local names, and text.
//!
//! Entities that a document declares itself are never expanded (a few bytes could expand to gigabytes), and the nesting of
//! elements is limited; nothing here recurses.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::Unreadable;

/// Maximum depth of nested elements: deeper than in any document that a program writes.
const DEEPEST: usize = 512;

/// One step through a document.
pub enum Step<'e> {
    Open(Element<'e>),
    Close(&'e str),
    Text(&'e str),
}

/// An element that opens.
pub struct Element<'e> {
    /// The name without its namespace prefix.
    pub name: &'e str,
    start: &'e BytesStart<'e>,
}

impl Element<'_> {
    /// Returns the value of an attribute by its local name.
    pub fn attribute(&self, name: &str) -> Option<String> {
        let mut attributes = self.start.attributes();
        let mut attributes = attributes.with_checks(false).flatten();
        let found = attributes.find(|attribute| attribute.key.local_name().as_ref() == name)?;
        found.normalized_value(XmlVersion::default()).ok().map(|value| value.into_owned())
    }
}

/// Calls `each` for every step of a document. An empty element is reported as an open and a close.
///
/// # Errors
/// Returns the error of `each`, [`Unreadable::Damaged`] if the bytes are not XML, or [`Unreadable::TooDeep`].
pub fn walk(bytes: &[u8], mut each: impl FnMut(Step) -> Result<(), Unreadable>) -> Result<(), Unreadable> {
    let text = std::str::from_utf8(bytes).map_err(|_| Unreadable::Damaged)?;
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut depth = 0;
    loop {
        match reader.read_event().map_err(|_| Unreadable::Damaged)? {
            Event::Start(start) => {
                depth += 1;
                if depth > DEEPEST {
                    return Err(Unreadable::TooDeep);
                }
                each(Step::Open(Element { name: start.local_name().as_ref(), start: &start }))?;
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                each(Step::Close(end.local_name().as_ref()))?;
            }
            Event::Text(text) => each(Step::Text(&text))?,
            Event::CData(text) => each(Step::Text(&text))?,
            Event::GeneralRef(entity) => {
                let known = match entity.resolve_char_ref() {
                    Ok(Some(character)) => Some(character),
                    Ok(None) => named(&entity),
                    Err(_) => None,
                };
                if let Some(character) = known {
                    each(Step::Text(character.encode_utf8(&mut [0; 4])))?;
                }
            }
            Event::Eof => return Ok(()),
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// Returns the character of one of XML's five predefined entities.
fn named(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => None,
    }
}
