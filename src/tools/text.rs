//! Makes the output of programs readable.

use crate::domain::Shown;
use crate::domain::visible::visible;

/// Returns what is shown for a call that one line describes and that starts no process here.
pub fn line(command: &str) -> Shown {
    Shown { command: visible(command), ..Shown::default() }
}

/// Removes terminal escape sequences and control characters; a carriage return starts a new line.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => skip_escape(&mut chars),
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\n' | '\t' => out.push(char),
            char if char.is_control() => {}
            char => out.push(char),
        }
    }
    out
}

fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        // Colours, cursor: end with a letter or one of @[\]^_`{|}~.
        Some('[') => while chars.next_if(|char| !('@'..='~').contains(char) && !char.is_control()).is_some() {},
        // Titles, links: end with BEL or ESC \.
        Some(']') => while chars.next_if(|char| !char.is_control()).is_some() {},
        _ => return,
    }
    if chars.next() == Some('\u{1b}') {
        chars.next_if_eq(&'\\');
    }
}

/// Returns `text` without trailing line breaks and spaces; `None` if nothing is left.
pub fn trimmed(text: &str) -> Option<&str> {
    let text = text.trim_end_matches(['\n', ' ']);
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_control_characters_are_removed() {
        for (raw, shown) in [
            ("\u{1b}[1;31mred\u{1b}[0m!", "red!"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;u\u{1b}\\link", "alink"),
            ("10%\r20%\r\ndone\r\n", "10%\n20%\ndone\n"),
            ("a\0b\u{8}c\tд", "abc\tд"),
            ("\u{1b}", ""),
            ("\u{1b}[", ""),
        ] {
            assert_eq!(plain(raw), shown, "{raw:?}");
        }
    }
}
