//! Estimates in one pass, without a parser, how deep the HTML converters would recurse on a page.

/// How a page may be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// At most [`NORMAL`] nested elements.
    Normal,
    /// Deeper than any hand-written page, or slow to serialise: safe only for a converter that neither recurses nor serialises.
    Deep,
    /// Crafted to break parsers.
    Hostile,
}

const NORMAL: usize = 256;
const DEEP: usize = 5_000;
/// Parsers reopen unclosed formatting elements in every following block, so n of them cost n² nodes.
const UNCLOSED_FORMATS: usize = 256;

/// Maximum length of a text times its escaped characters: the HTML serialiser rescans the whole text for each of them.
const ESCAPING: usize = 1_000_000_000;

const FORMATS: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];
/// Elements without an end tag, or whose end tag is optional and supplied by parsers.
const UNCOUNTED: [&str; 33] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr", "p",
    "li", "dt", "dd", "tr", "td", "th", "thead", "tbody", "tfoot", "colgroup", "caption", "option", "optgroup", "rt",
    "rp", "html", "head", "body",
];

pub fn measure(html: &str) -> Depth {
    let mut open: Vec<&str> = Vec::new();
    let mut formats = [0usize; FORMATS.len()];
    let mut deepest = 0;
    let mut slow = false;
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        slow |= is_slow(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end..]);
            continue;
        }
        let (closes, tag) = match rest.strip_prefix('/') {
            Some(tag) => (true, tag),
            None => (false, rest),
        };
        let end = tag.find(|char: char| !char.is_ascii_alphanumeric() && char != '-').unwrap_or(tag.len());
        let name = &tag[..end];
        if name.is_empty() || !name.starts_with(|char: char| char.is_ascii_alphabetic()) {
            continue;
        }
        if let Some(format) = FORMATS.iter().position(|format| name.eq_ignore_ascii_case(format)) {
            formats[format] = if closes { formats[format].saturating_sub(1) } else { formats[format] + 1 };
            if formats.iter().sum::<usize>() > UNCLOSED_FORMATS {
                return Depth::Hostile;
            }
            continue;
        }
        if UNCOUNTED.iter().any(|uncounted| name.eq_ignore_ascii_case(uncounted)) {
            continue;
        }
        if closes {
            // Ignores an end tag without a start tag, as parsers do.
            if let Some(at) = open.iter().rposition(|opened| opened.eq_ignore_ascii_case(name)) {
                open.truncate(at);
            }
            continue;
        }
        if let Some(raw) = ["script", "style", "textarea", "title"].iter().find(|raw| name.eq_ignore_ascii_case(raw)) {
            let end = find_end(tag, raw).unwrap_or(tag.len());
            // The text of scripts and styles is dropped and never serialised.
            slow |= matches!(*raw, "textarea" | "title") && is_slow(&tag[..end]);
            rest = &tag[end..];
            continue;
        }
        open.push(name);
        deepest = deepest.max(open.len());
        if deepest > DEEP {
            return Depth::Hostile;
        }
    }
    if slow || is_slow(rest) || deepest > NORMAL { Depth::Deep } else { Depth::Normal }
}

fn is_slow(text: &str) -> bool {
    // Ampersands, and the first byte of a non-breaking space in UTF-8.
    let escaped = text.bytes().filter(|byte| matches!(byte, b'&' | 0xC2)).count();
    text.len().saturating_mul(escaped) > ESCAPING
}

/// Returns the position of the first `</name`, ignoring case.
fn find_end(text: &str, name: &str) -> Option<usize> {
    text.match_indices("</").map(|(at, _)| at).find(|at| {
        text.as_bytes()
            .get(at + 2..at + 2 + name.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_depth_is_measured_exactly() {
        for (html, depth) in [
            ("<div>".repeat(100), Depth::Normal),
            ("<div>".repeat(300), Depth::Deep),
            ("<DIV x>".repeat(6_000), Depth::Hostile),
            ("<div></x>".repeat(300), Depth::Deep),
            ("<div></div>".repeat(6_000), Depth::Normal),
            ("<p>text <li>text<br><tr><td>".repeat(6_000), Depth::Normal),
            ("<b>".repeat(300), Depth::Hostile),
            ("<div><b id=1></div>".repeat(300), Depth::Hostile),
            ("<b>bold</b>".repeat(6_000), Depth::Normal),
            (format!("<script>{}</script>", "'<div>'".repeat(6_000)), Depth::Normal),
            (format!("<!--{}-->", "<div>".repeat(6_000)), Depth::Normal),
            ("deep &amp;".repeat(20_000), Depth::Deep),
            (format!("<a href='{}'>", "&".repeat(50_000)), Depth::Deep),
            ("deep &amp;".repeat(1_000), Depth::Normal),
            ("< div>1 < 2".repeat(6_000), Depth::Normal),
        ] {
            assert_eq!(measure(&html), depth, "{}", &html[..20]);
        }
    }
}
