//! Text as a person must see it before they allow it: nothing hidden, nothing reordered, nothing left out.

/// Every character that does not show, or that changes how others show, as `\u202e`; line breaks stay.
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

/// Controls, format characters (bidirectional marks, zero-width joiners, tags), fillers, and blanks that are not the
/// plain one. The wide blank of Chinese text is left: it shows.
pub fn is_hidden(char: char) -> bool {
    char.is_control()
        || (char.is_whitespace() && !matches!(char, ' ' | '\u{3000}'))
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}'
            | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}' | '\u{f0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_would_not_show_is_spelled_out() {
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

    #[test]
    fn nothing_is_cut_however_long_it_is() {
        let text = format!("{}end", "x".repeat(200_000));
        assert_eq!(visible(&text), text);
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left_and_what_shows_is_kept(text in any::<String>()) {
            let seen = visible(&text);
            prop_assert!(seen.chars().all(|char| char == '\n' || !is_hidden(char)), "{seen:?}");
            let shows: String = text.chars().filter(|char| !is_hidden(*char)).collect();
            let mut rest = seen.chars();
            prop_assert!(shows.chars().all(|char| rest.any(|shown| shown == char)), "{seen:?}");
        }
    }
}
