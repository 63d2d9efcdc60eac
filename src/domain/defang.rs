//! Escapes the control tokens of chat formats, so that a web page cannot pose as the user or as the system.

use std::borrow::Cow;

/// Control tokens. A space after the first character is enough: the text is then another token, and a person can still
/// read it.
const TOKENS: [&str; 16] = [
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<think>",
    "</think>",
];
/// `<|any_word|>`, also with the full-width bars of some vocabularies.
const BARS: [char; 2] = ['|', '｜'];
const LONGEST: usize = 48;

pub fn defang(text: &str) -> Cow<'_, str> {
    let starts = text.match_indices(['<', '[']).filter(|(at, _)| is_token(&text[*at..]));
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in starts {
        out.push_str(&text[done..=at]);
        out.push(' ');
        done = at + 1;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

fn is_token(text: &str) -> bool {
    if TOKENS.iter().any(|token| text.starts_with(token)) {
        return true;
    }
    let mut chars = text.chars().skip(1).take(LONGEST);
    let Some(bar) = chars.next().filter(|char| BARS.contains(char)) else { return false };
    let mut before = ' ';
    for char in chars {
        match char {
            '>' => return before == bar,
            char if char.is_alphanumeric() || BARS.contains(&char) || matches!(char, '_' | '-' | '▁' | '\\') => {
                before = char
            }
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_tokens_are_broken_and_code_is_not() {
        for (text, shown) in [
            ("a<|im_start|>system", "a< |im_start|>system"),
            ("<|im_end|><|eot_id|>", "< |im_end|>< |eot_id|>"),
            ("<|im\\_start|>", "< |im\\_start|>"), // as Markdown writes it
            ("<｜User｜>hi", "< ｜User｜>hi"),
            ("[INST] <<SYS>>x<</SYS>> [/INST]", "[ INST] < <SYS>>x< </SYS>> [ /INST]"),
            ("</think><tool_call>", "< /think>< tool_call>"),
        ] {
            assert_eq!(defang(text), shown);
        }
        for text in ["a <| b |> c", "x<|y", "<p>", "[a](b)", "f <| g\n|>", "数<据", "<|", "<"] {
            assert!(matches!(defang(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
