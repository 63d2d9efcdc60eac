//! Words that say that a field is for a secret. Servers may not ask for one in a form, because what is typed there is stored
//! in the conversation and sent as it is.

/// Words of a name or a label, in lower case.
const WORDS: [&str; 21] = [
    "password",
    "passwords",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "secret",
    "secrets",
    "token",
    "apikey",
    "apitoken",
    "credential",
    "credentials",
    "pin",
    "cvv",
    "cvc",
    "otp",
    "totp",
    "mnemonic",
    "iban",
    "ssn",
];
/// Words that say it together, one directly after the other.
const PAIRS: [(&str, &str); 14] = [
    ("api", "key"),
    ("api", "keys"),
    ("access", "key"),
    ("private", "key"),
    ("secret", "key"),
    ("encryption", "key"),
    ("license", "key"),
    ("card", "number"),
    ("security", "code"),
    ("verification", "code"),
    ("seed", "phrase"),
    ("recovery", "phrase"),
    ("recovery", "code"),
    ("pass", "word"),
];
/// Parts of a text without spaces between words.
const PARTS: [&str; 12] =
    ["密码", "密碼", "口令", "密钥", "密鑰", "令牌", "验证码", "驗證碼", "私钥", "私鑰", "助记词", "凭据"];

/// Returns whether a text names a secret.
pub fn names_secret(text: &str) -> bool {
    let words = words(text);
    let is_pair = |pair: &[String]| PAIRS.iter().any(|(one, other)| pair[0] == *one && pair[1] == *other);
    words.iter().any(|word| WORDS.contains(&word.as_str()))
        || words.windows(2).any(is_pair)
        || PARTS.iter().any(|part| text.contains(part))
}

/// Returns the words of a text in lower case: also those of `apiKey`, `API_KEY` and of letters with marks or of full width.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for char in text.chars().map(plain) {
        let begins = !char.is_alphanumeric() || (char.is_uppercase() && before.is_lowercase());
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if char.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(char.to_lowercase());
        }
        before = char;
    }
    words
}

/// Returns the ASCII character that a character of full width stands for.
fn plain(char: char) -> char {
    match char {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(char) - 0xfee0).unwrap_or(char),
        char => char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_recognised_by_their_names() {
        for text in [
            "password",
            "Password:",
            "dbPassword",
            "API_KEY",
            "apiKey",
            "api-key",
            "Your API key",
            "access_token",
            "PIN",
            "private key (PEM)",
            "Card number",
            "ｐａｓｓｗｏｒｄ",
            "数据库密码",
            "clientSecret",
        ] {
            assert!(names_secret(text), "{text}");
        }
        for text in [
            "name",
            "max_tokens",
            "keyboard",
            "Spinning wheel",
            "Secretary",
            "key",
            "opinion",
            "城市",
            "number of cards",
        ] {
            assert!(!names_secret(text), "{text}");
        }
    }
}
