//! Hides the values of secrets in the output of commands, however the output is cut into pieces.
//!
//! A value is hidden as it is and as programs write it: in lower case (hosts), in base64, in hexadecimal, percent-encoded, as
//! a string of JSON, and line by line, also where a program breaks a long line. What a command does to a value beyond that is not recognised: a person sees the command
//! before they give it a secret.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

use super::secret::{MIN_VALUE, SecretName};

/// What is hidden. Cheap to clone.
#[derive(Clone, Default)]
pub struct Mask(Arc<Forms>);

/// The forms of all values, the longest first.
#[derive(Default)]
struct Forms {
    forms: Vec<Form>,
    /// A bit for each pair of bytes that a form begins with, so that most places are passed over at once.
    pairs: Vec<u64>,
}

/// One form of a value, and what replaces it.
#[derive(Clone)]
struct Form {
    bytes: Vec<u8>,
    shown: Arc<str>,
}

/// Hides values in a stream. Bytes that may be the beginning of a value wait for those after them.
#[derive(Default)]
pub struct MaskedStream {
    mask: Mask,
    waiting: Vec<u8>,
}

impl std::fmt::Debug for Mask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Mask").field(&self.0.forms.len()).finish()
    }
}

impl Mask {
    /// Creates a mask for these secrets.
    pub fn new<'s>(secrets: impl IntoIterator<Item = (&'s SecretName, &'s str)>) -> Self {
        let mut forms: Vec<Form> = Vec::new();
        for (name, value) in secrets {
            let shown: Arc<str> = format!("[secret {name}]").into();
            for bytes in forms_of(value) {
                if bytes.len() >= MIN_VALUE && !forms.iter().any(|form| form.bytes == bytes) {
                    forms.push(Form { bytes, shown: shown.clone() });
                }
            }
        }
        Self::of_forms(forms)
    }

    /// Returns a mask that hides what either of them hides.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let mut forms = self.0.forms.clone();
        forms
            .extend(other.0.forms.iter().filter(|form| !self.0.forms.iter().any(|it| it.bytes == form.bytes)).cloned());
        Self::of_forms(forms)
    }

    fn of_forms(mut forms: Vec<Form>) -> Self {
        // The longest form at a place is hidden.
        forms.sort_by(|a, b| b.bytes.len().cmp(&a.bytes.len()).then_with(|| a.bytes.cmp(&b.bytes)));
        let mut pairs = vec![0; 1 << 10];
        for form in &forms {
            let pair = pair_of([form.bytes[0], form.bytes[1]]);
            pairs[pair >> 6] |= 1 << (pair & 63);
        }
        Self(Arc::new(Forms { forms, pairs }))
    }

    pub fn is_empty(&self) -> bool {
        self.0.forms.is_empty()
    }

    pub fn stream(&self) -> MaskedStream {
        MaskedStream { mask: self.clone(), waiting: Vec::new() }
    }

    /// Hides the values in a text.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let bytes = text.as_bytes();
        if !(0..bytes.len()).any(|at| self.form_at(&bytes[at..]).is_some()) {
            return Cow::Borrowed(text);
        }
        let mut stream = self.stream();
        let mut hidden = stream.push(bytes);
        hidden.extend(stream.end());
        Cow::Owned(String::from_utf8_lossy(&hidden).into_owned())
    }

    /// Returns the longest form that these bytes begin with, and how many of them are it.
    fn form_at(&self, bytes: &[u8]) -> Option<(&Form, usize)> {
        let is_possible = bytes.len() >= MIN_VALUE && self.may_begin(bytes);
        self.0.forms.iter().filter(|_| is_possible).find_map(|form| match form.start_of(bytes) {
            Start::Whole(length) => Some((form, length)),
            Start::Part | Start::Other => None,
        })
    }

    /// Returns whether these bytes are the beginning of a longer form.
    fn begins_form(&self, bytes: &[u8]) -> bool {
        self.may_begin(bytes) && self.0.forms.iter().any(|form| matches!(form.start_of(bytes), Start::Part))
    }

    /// Returns whether a form can begin here, by its first two bytes.
    fn may_begin(&self, bytes: &[u8]) -> bool {
        if self.is_empty() {
            return false;
        }
        let [first, second, ..] = bytes else { return true };
        if matches!(second, b'\r' | b'\n') {
            return true;
        }
        let pair = pair_of([*first, *second]);
        self.0.pairs[pair >> 6] & 1 << (pair & 63) != 0
    }
}

/// How bytes begin, compared with a form.
enum Start {
    Other,
    /// They are a part of the form, and end before it does.
    Part,
    /// With the whole form, which is so many of them.
    Whole(usize),
}

impl Form {
    /// Compares the form with the beginning of these bytes. A line break between two of its bytes counts for nothing, because
    /// programs break long lines.
    fn start_of(&self, bytes: &[u8]) -> Start {
        let mut at = 0;
        for (number, wanted) in self.bytes.iter().enumerate() {
            for line_break in [b'\r', b'\n'] {
                if number > 0 && *wanted != line_break && bytes.get(at) == Some(&line_break) {
                    at += 1;
                }
            }
            match bytes.get(at) {
                None => return Start::Part,
                Some(byte) if byte == wanted => at += 1,
                Some(_) => return Start::Other,
            }
        }
        Start::Whole(at)
    }
}

/// Returns two bytes as a number.
fn pair_of([first, second]: [u8; 2]) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

impl MaskedStream {
    /// Takes bytes of the stream, and returns those that can be shown.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        if self.mask.is_empty() {
            return bytes.to_vec();
        }
        self.waiting.extend_from_slice(bytes);
        self.take(false)
    }

    /// Returns the rest at the end of the stream.
    pub fn end(&mut self) -> Vec<u8> {
        self.take(true)
    }

    fn take(&mut self, is_end: bool) -> Vec<u8> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut at = 0;
        let mut shown = Vec::with_capacity(waiting.len());
        while at < waiting.len() {
            let rest = &waiting[at..];
            if !is_end && self.mask.begins_form(rest) {
                break;
            }
            match self.mask.form_at(rest) {
                Some((form, length)) => {
                    shown.extend_from_slice(form.shown.as_bytes());
                    at += length;
                }
                None => {
                    shown.push(rest[0]);
                    at += 1;
                }
            }
        }
        self.waiting = waiting[at..].to_vec();
        shown
    }
}

/// Returns a value as programs write it.
fn forms_of(value: &str) -> Vec<Vec<u8>> {
    let mut forms = vec![value.as_bytes().to_vec(), value.to_lowercase().into_bytes()];
    if value.contains('\n') {
        forms.extend(value.lines().map(|line| line.trim().as_bytes().to_vec()));
        forms.push(value.replace('\n', "\r\n").into_bytes());
        forms.push(value.replace('\n', " ").into_bytes());
    }
    let json = serde_json::Value::from(value).to_string();
    forms.push(json.trim_matches('"').as_bytes().to_vec());
    let hexadecimal = base16ct::lower::encode_string(value.as_bytes());
    forms.push(hexadecimal.to_uppercase().into_bytes());
    forms.push(hexadecimal.into_bytes());
    for kept in [b"-._~".as_slice(), b"-._~!'()*", b"-._~/", b"*-._"] {
        let encoded = percent_encoded(value, kept);
        forms.push(encoded.replace("%20", "+").into_bytes());
        forms.push(lower_escapes(&encoded).into_bytes());
        forms.push(encoded.into_bytes());
    }
    for offset in 0..3 {
        forms.extend(base64_core(value.as_bytes(), offset));
        forms.extend(base64_ends(value, offset));
    }
    forms
}

/// Returns base64, in both alphabets and with and without padding, from the first letter that depends only on the value to the
/// end, if the value begins `offset` bytes after a group of three and nothing follows it, or a line break.
fn base64_ends(value: &str, offset: usize) -> Vec<Vec<u8>> {
    let before = (offset * 8).div_ceil(6);
    let mut forms = Vec::new();
    for end in ["", "\n"] {
        let bytes = [&[0; 3][..offset], value.as_bytes(), end.as_bytes()].concat();
        for encoded in [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)] {
            let form = &encoded[before..];
            forms.push(form.as_bytes().to_vec());
            forms.push(form.trim_end_matches('=').as_bytes().to_vec());
        }
    }
    forms
}

fn percent_encoded(value: &str, kept: &[u8]) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || kept.contains(&byte);
    value
        .bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Writes the digits behind each `%` in lower case.
fn lower_escapes(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (digits, rest) = part.split_at(part.len().min(2));
        format!("{text}%{}{rest}", digits.to_lowercase())
    })
}

/// Returns the letters of base64, in both alphabets, that depend only on the value, if it begins `offset` bytes after a group
/// of three.
fn base64_core(value: &[u8], offset: usize) -> Vec<Vec<u8>> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = |at: usize| value.iter().skip(at / 8).take(2).fold(0_u16, |all, byte| all << 8 | u16::from(*byte));
    // Its first whole letter begins at this bit of the value.
    let start = (6 - (offset * 8) % 6) % 6;
    let letters = (value.len() * 8 - start) / 6;
    let letter = |number: usize| {
        let at = start + 6 * number;
        let pair = if at / 8 + 1 < value.len() { bits(at) } else { bits(at) << 8 };
        LETTERS[usize::from(pair >> (10 - at % 8) & 63)]
    };
    let standard: Vec<u8> = (0..letters).map(letter).collect();
    let url = standard.iter().map(|letter| match letter {
        b'+' => b'-',
        b'/' => b'_',
        letter => *letter,
    });
    vec![url.collect(), standard]
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use proptest::prelude::*;

    fn name(text: &str) -> SecretName {
        SecretName::parse(text).unwrap()
    }

    fn contains(bytes: &[u8], value: &[u8]) -> bool {
        bytes.windows(value.len()).any(|window| window == value)
    }

    #[test]
    fn forms_of_a_value_are_hidden() {
        let value = "s3cr&t/Va lue+\"ä9";
        let mask = Mask::new([(&name("TOKEN"), value)]);
        let percent = "s3cr%26t%2FVa%20lue%2B%22%C3%A49";
        for written in [
            value.to_owned(),
            value.to_lowercase(),
            serde_json::to_string(value).unwrap(),
            percent.to_owned(),
            percent.replace("%20", "+"),
            lower_escapes(percent),
            base16ct::lower::encode_string(value.as_bytes()),
        ] {
            let hidden = mask.text(&written).into_owned();
            assert!(hidden.contains("[secret TOKEN]") && hidden.len() < 20, "{written}: {hidden}");
        }
        assert_eq!(mask.text("nothing here"), "nothing here");
        assert_eq!(Mask::default().text("x"), "x");
        assert!(!format!("{mask:?}").contains("s3cr"));
    }

    #[test]
    fn form_that_a_program_breaks_into_lines_is_hidden() {
        let value: String = (0..93).map(|at| char::from(b'a' + at % 26)).collect();
        let mask = Mask::new([(&name("TOKEN"), value.as_str())]);
        let encoded = STANDARD.encode(format!("u:{value}"));
        for (width, line_break) in [(76, "\n"), (64, "\n"), (60, "\r\n")] {
            let lines: Vec<&str> =
                encoded.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).unwrap()).collect();
            let hidden = mask.text(&lines.join(line_break)).into_owned();
            assert!(hidden.contains("[secret TOKEN]") && hidden.len() < 30, "{width}: {hidden}");
        }
    }

    #[test]
    fn lines_of_a_value_are_hidden_one_by_one() {
        let mask = Mask::new([(&name("KEY"), "-----BEGIN KEY-----\nAbCdEfGhIj\nxy\n-----END KEY-----")]);
        assert_eq!(mask.text("1: AbCdEfGhIj\n2: xy"), "1: [secret KEY]\n2: xy");
    }

    #[test]
    fn beginning_of_a_value_waits_and_is_shown_at_the_end() {
        let mut stream = Mask::new([(&name("A"), "password1")]).stream();
        assert_eq!(stream.push(b"x pass"), b"x ");
        assert_eq!(stream.push(b"ing"), b"passing");
        assert_eq!(stream.push(b"password"), b"");
        assert_eq!(stream.end(), b"password");
    }

    proptest! {
        #[test]
        fn value_is_hidden_at_any_place_and_cut(
            value in "[ -~]{8,24}", before in "[ -~]{0,12}", after in "[ -~]{0,12}",
            cuts in proptest::collection::vec(0..200_usize, 0..8)
        ) {
            let mask_text = "[secret TOKEN]";
            prop_assume!(!mask_text.contains(&value) && value.trim() == value);
            let mask = Mask::new([(&name("TOKEN"), value.as_str())]);
            let whole = format!("{before}{value}{after}").into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % (whole.len() + 1)).collect();
            cuts.extend([0, whole.len()]);
            cuts.sort_unstable();
            let mut stream = mask.stream();
            let mut shown: Vec<u8> = cuts.windows(2).flat_map(|pair| stream.push(&whole[pair[0]..pair[1]])).collect();
            shown.extend(stream.end());
            prop_assert!(!contains(&shown, value.as_bytes()), "{}", String::from_utf8_lossy(&shown));
            let mut at_once = mask.stream();
            let mut expected = at_once.push(&whole);
            expected.extend(at_once.end());
            prop_assert_eq!(shown, expected, "the cuts make no difference");
        }

        #[test]
        fn end_of_base64_is_hidden_too(value in "[!-~]{8,40}", before in "[a-z]{0,2}", end in "\n?") {
            let mask = Mask::new([(&name("TOKEN"), value.as_str())]);
            let text = format!("{before}{value}{end}");
            for encoded in [STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                let shown = mask.text(&encoded).into_owned();
                prop_assert!(shown.ends_with("[secret TOKEN]"), "{} of {}", shown, text);
            }
        }

        #[test]
        fn base64_is_hidden_whatever_stands_around_it(
            value in "[ -~äö茶]{8,20}", before in "[ -~]{0,5}", after in "[ -~]{0,5}"
        ) {
            let mask = Mask::new([(&name("TOKEN"), value.as_str())]);
            let whole = format!("{before}{value}{after}");
            for encoded in [STANDARD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
                prop_assert!(mask.text(&encoded).contains("[secret TOKEN]"), "{encoded}");
            }
        }

        #[test]
        fn what_is_no_secret_stays(text in "\\PC{0,200}") {
            let mask = Mask::new([(&name("TOKEN"), "\u{1f512}no-such-value")]);
            prop_assert_eq!(mask.text(&text), text.as_str());
        }
    }
}
