//! What people type about their accounts: user names, email addresses, passwords.

use icu_casemap::CaseMapper;
use icu_normalizer::ComposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, Script};
use url::Url;

use super::account::AccountRefused;
use super::visible::is_hidden;

/// Maximum number of characters of a user name.
pub(super) const MAX_USERNAME: usize = 40;
/// Maximum bytes of an email address, as in SMTP.
pub(super) const MAX_EMAIL: usize = 254;
/// Maximum bytes of an avatar.
pub(super) const MAX_AVATAR: usize = 512;
/// Maximum number of characters of the name of an access token.
pub(super) const MAX_TOKEN_NAME: usize = 80;
/// Minimum number of characters and maximum number of bytes of a password.
pub(super) const PASSWORD: (usize, usize) = (8, 1024);

/// A user name in Unicode form NFKC: letters, digits, `.`, `_` and `-` of one script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Username(String);

impl Username {
    /// # Errors
    /// Returns [`AccountRefused::BadUsername`] if the name is empty or too long, or has other characters or mixes scripts.
    pub fn parse(text: &str) -> Result<Self, AccountRefused> {
        let name = ComposingNormalizerBorrowed::new_nfkc().normalize(text.trim()).into_owned();
        let kinds = CodePointMapData::<GeneralCategory>::new();
        let is_mark = |c| matches!(kinds.get(c), GeneralCategory::NonspacingMark | GeneralCategory::SpacingMark);
        let fits = |c: char| (c.is_alphanumeric() || is_mark(c) || matches!(c, '.' | '_' | '-')) && !is_hidden(c);
        let is_short = (1..=MAX_USERNAME).contains(&name.chars().count());
        let begins = name.chars().next().is_some_and(char::is_alphanumeric);
        if is_short && begins && name.chars().all(fits) && has_one_script(&name) {
            Ok(Self(name))
        } else {
            Err(AccountRefused::BadUsername)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the form in which two names are compared: without upper and lower case and compatibility characters.
    pub fn key(&self) -> String {
        folded(&self.0)
    }
}

/// Returns the form of a text in which user names and email addresses are compared.
pub fn folded(text: &str) -> String {
    let nfkc = ComposingNormalizerBorrowed::new_nfkc();
    let once = nfkc.normalize(text.trim());
    let cases = CaseMapper::new();
    let folded = cases.fold_string(&once).into_owned();
    // Folding can make text that is not normalised any more.
    nfkc.normalize(&cases.fold_string(&nfkc.normalize(&folded))).into_owned()
}

/// Whether all letters are of one script, or of those that are written together in East Asia, so that no letter can be
/// mistaken for one of another script.
fn has_one_script(name: &str) -> bool {
    let scripts = CodePointMapData::<Script>::new();
    let together = [Script::Latin, Script::Han, Script::Hiragana, Script::Katakana, Script::Hangul, Script::Bopomofo];
    let mut used: Vec<Script> = name.chars().map(|c| scripts.get(c)).collect();
    used.retain(|script| !matches!(*script, Script::Common | Script::Inherited));
    used.iter().all(|script| *script == used[0]) || used.iter().all(|script| together.contains(script))
}

/// Checks an email address roughly: nothing is sent to it.
///
/// # Errors
/// Returns [`AccountRefused::BadEmail`].
pub fn checked_email(text: &str) -> Result<String, AccountRefused> {
    let text = text.trim();
    let fits = text.len() <= MAX_EMAIL && !text.chars().any(|c| c.is_whitespace() || c.is_control());
    match text.split_once('@') {
        Some((name, host)) if fits && !name.is_empty() && !host.is_empty() && !host.contains('@') => {
            Ok(text.to_owned())
        }
        _ => Err(AccountRefused::BadEmail),
    }
}

/// # Errors
/// Returns [`AccountRefused::BadAvatar`] if the text is too long or has control characters, or is an address of another scheme
/// than `http` or `https`: a browser would run some of these.
pub fn checked_avatar(text: &str) -> Result<String, AccountRefused> {
    let text = text.trim();
    let is_safe = Url::parse(text).map_or(true, |address| matches!(address.scheme(), "http" | "https"));
    if is_safe && text.len() <= MAX_AVATAR && !text.chars().any(char::is_control) {
        return Ok(text.to_owned());
    }
    Err(AccountRefused::BadAvatar)
}

/// # Errors
/// Returns [`AccountRefused::BadTokenName`].
pub fn checked_token_name(text: &str) -> Result<String, AccountRefused> {
    let text = text.trim();
    let fits = (1..=MAX_TOKEN_NAME).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned()).ok_or(AccountRefused::BadTokenName)
}

/// Returns the password as it is hashed: in Unicode form NFC, because keyboards differ in what they send.
///
/// # Errors
/// Returns [`AccountRefused::BadPassword`] if it is too short or too long, or is the user's name.
pub fn checked_password(text: &str, username: &Username) -> Result<String, AccountRefused> {
    let (shortest, longest) = PASSWORD;
    let fits = text.chars().count() >= shortest && text.len() <= longest && folded(text) != username.key();
    fits.then(|| normalized_password(text)).ok_or(AccountRefused::BadPassword)
}

/// Returns the form of a password that is hashed.
pub fn normalized_password(text: &str) -> String {
    ComposingNormalizerBorrowed::new_nfc().normalize(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Option<String> {
        Username::parse(text).ok().map(|name| name.key())
    }

    #[test]
    fn names_that_look_the_same_are_the_same() {
        for twin in ["Ann", "ANN", "ann", " ann ", "Ａｎｎ", "ａｎｎ"] {
            assert_eq!(name(twin).as_deref(), Some("ann"), "{twin}");
        }
        assert_eq!(name("Straße"), name("STRASSE"));
        assert_eq!(name("Ωmega"), None, "two scripts");
        assert_eq!(name("ﬁn"), name("FIN"));
        assert_eq!(name("e\u{301}va"), name("ÉVA"));
        assert_eq!(name("ΣΟΦΟΣ"), name("σοφος"));
    }

    #[test]
    fn name_has_plain_characters_of_one_script() {
        for good in ["a", "李小龙", "ann-2_b.c", "José", "Андрей", "田中Taro", "2b"] {
            assert!(name(good).is_some(), "{good}");
        }
        let long = "x".repeat(MAX_USERNAME + 1);
        for bad in [
            "",
            " ",
            ".a",
            "a b",
            "a/b",
            "аnn",
            "a\u{200b}n",
            "\u{3164}",
            "a\u{0}",
            "a\nb",
            "😀",
            "a\u{202e}b",
            "a@b",
            &long,
        ] {
            assert_eq!(name(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn password_is_long_and_not_the_name() {
        let ann = Username::parse("annabella").unwrap();
        for bad in ["", "short", "ANNABELLA", &"x".repeat(PASSWORD.1 + 1)] {
            assert!(checked_password(bad, &ann).is_err(), "{bad}");
        }
        assert_eq!(checked_password("e\u{301}e\u{301}e\u{301}e\u{301}", &ann).unwrap(), "éééé");
        assert!(checked_email("a@b").is_ok());
        for bad in ["", "a", "@b", "a@", "a@b@c", "a b@c"] {
            assert!(checked_email(bad).is_err(), "{bad}");
        }
    }
}
