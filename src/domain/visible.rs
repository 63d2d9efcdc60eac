//! Text as a person must see it before they allow it: nothing hidden, nothing reordered, nothing omitted.

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Escapes every character that is invisible, or that changes how others are displayed, as `\u202e`; keeps line breaks.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' => out.push('\n'),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            char if is_hidden(char) && u32::from(char) > 0xffff => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(char)));
            }
            char if is_hidden(char) => out.push_str(&format!("\\u{:04x}", u32::from(char))),
            char => out.push(char),
        }
    }
    out
}

/// Returns whether a character may be invisible, or may change how others are displayed, according to the Unicode data:
/// controls, format characters (bidirectional marks, joiners, tags), default ignorable ones (fillers, variation
/// selectors), private use and unassigned ones, and spaces other than the ASCII space. The ideographic space of Chinese
/// text is exempt: it is visible.
pub fn is_hidden(char: char) -> bool {
    use GeneralCategory as Category;
    if matches!(char, ' '..='~') {
        return false;
    }
    match CodePointMapData::<GeneralCategory>::new().get(char) {
        Category::Control
        | Category::Format
        | Category::LineSeparator
        | Category::ParagraphSeparator
        | Category::PrivateUse
        | Category::Unassigned => true,
        Category::SpaceSeparator => char != '\u{3000}',
        _ => CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(char) || is_blank(char),
    }
}

/// Returns whether a character is drawn as nothing although its properties say otherwise: the empty Braille pattern,
/// the other half of the Egyptian hieroglyph format controls (of which only the first are in the category Format), the
/// filler of Khitan script and the null notehead.
fn is_blank(char: char) -> bool {
    matches!(char, '\u{2800}' | '\u{13430}'..='\u{1345f}' | '\u{16fe4}' | '\u{1d159}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn invisible_characters_are_spelled_out() {
        for (text, seen) in [
            ("ls -la 企鹅 é 🐧", "ls -la 企鹅 é 🐧"),
            ("a\nb", "a\nb"),
            ("a\rb\tc", "a\\rb\\tc"),
            ("ls \u{202e}txt.sh\u{202c}", "ls \\u202etxt.sh\\u202c"),
            ("a\u{200b}b\u{200d}c\u{feff}", "a\\u200bb\\u200dc\\ufeff"),
            ("\u{2066}x\u{2069}", "\\u2066x\\u2069"),
            ("\u{1b}[2K\u{7}\0", "\\u001b[2K\\u0007\\u0000"),
            ("\u{9b}31m\u{85}", "\\u009b31m\\u0085"),
            ("a\u{a0}b\u{2003}c\u{2028}d\u{2029}", "a\\u00a0b\\u2003c\\u2028d\\u2029"),
            ("宽\u{3000}空", "宽\u{3000}空"),
            ("x\u{e0041}\u{ad}\u{3164}", "x\\u{e0041}\\u00ad\\u3164"),
        ] {
            assert_eq!(visible(text), seen, "{text:?}");
        }
    }

    /// Returns the code points of a regex class, whose data comes from another library.
    fn class(name: &str) -> Vec<char> {
        let parsed = regex_syntax::Parser::new().parse(&format!(r"\p{{{name}}}")).unwrap();
        let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(class)) = parsed.kind() else {
            panic!("{name} is no class")
        };
        class.ranges().iter().flat_map(|range| range.start()..=range.end()).collect()
    }

    #[test]
    fn every_ignorable_and_format_character_is_escaped() {
        for name in ["Default_Ignorable_Code_Point", "Cf", "Cc", "Co", "Z"] {
            for char in class(name) {
                let shows = matches!(char, ' ' | '\n' | '\u{3000}');
                assert_eq!(visible(&char.to_string()) == char.to_string(), shows, "{name} {char:?}");
            }
        }
        for char in '\u{13430}'..='\u{1345f}' {
            assert_eq!(visible(&char.to_string()), format!("\\u{{{:x}}}", u32::from(char)));
        }
    }

    #[test]
    fn other_assigned_characters_are_unchanged() {
        let ignorable: std::collections::HashSet<char> = class("Default_Ignorable_Code_Point").into_iter().collect();
        let mut shown = 0;
        for name in ["L", "M", "N", "P", "S"] {
            for char in class(name).into_iter().filter(|char| !ignorable.contains(char) && !is_blank(*char)) {
                assert!(!is_hidden(char), "{name} {char:?} {:x}", u32::from(char));
                shown += 1;
            }
        }
        assert!(shown > 150_000, "{shown}");
    }

    #[test]
    fn long_text_is_never_cut() {
        let text = format!("{}end", "x".repeat(200_000));
        assert_eq!(visible(&text), text);
    }

    proptest! {
        #[test]
        fn hidden_characters_go_and_visible_ones_stay(text in any::<String>()) {
            let seen = visible(&text);
            prop_assert!(seen.chars().all(|char| char == '\n' || !is_hidden(char)), "{seen:?}");
            let shows: String = text.chars().filter(|char| !is_hidden(*char)).collect();
            let mut rest = seen.chars();
            prop_assert!(shows.chars().all(|char| rest.any(|shown| shown == char)), "{seen:?}");
        }
    }
}
