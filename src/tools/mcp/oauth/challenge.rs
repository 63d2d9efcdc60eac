//! What a server says when it refuses a request for want of a sign-in: `WWW-Authenticate` (RFC 9110, RFC 9728).

use crate::tools::fetch_url::StreamAnswer;

/// Maximum characters of a header that is read.
const MAX_HEADER: usize = 4_096;
/// Maximum number of scopes, and characters of one.
const MAX_SCOPES: usize = 50;
const MAX_SCOPE: usize = 200;

/// The parameters of a challenge with the scheme `Bearer`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// Address of the metadata of the protected resource.
    pub resource_metadata: Option<String>,
    pub scopes: Vec<String>,
    pub error: Option<String>,
}

impl Challenge {
    pub fn of(answer: &StreamAnswer) -> Self {
        let found = answer.headers("www-authenticate").find_map(Self::parse);
        found.unwrap_or_default()
    }

    /// Returns the challenge of a header; `None` if it has none with the scheme `Bearer`.
    fn parse(header: &str) -> Option<Self> {
        let parameters = parameters(header.get(..header.len().min(MAX_HEADER))?)?;
        let of = |wanted: &str| {
            let found = parameters.iter().find(|parameter| parameter.name.eq_ignore_ascii_case(wanted));
            found.map(|parameter| parameter.value.clone())
        };
        let scopes = of("scope").map(|scope| scopes_of(&scope)).unwrap_or_default();
        Some(Self { resource_metadata: of("resource_metadata"), scopes, error: of("error") })
    }
}

/// Returns the scopes of a text, which separates them by spaces. What is no scope (RFC 6749, section 3.3) is left out.
pub fn scopes_of(text: &str) -> Vec<String> {
    let is_of_scope = |char: char| matches!(char, '\u{21}' | '\u{23}'..='\u{5b}' | '\u{5d}'..='\u{7e}');
    let is_scope = |scope: &&str| !scope.is_empty() && scope.len() <= MAX_SCOPE && scope.chars().all(is_of_scope);
    let mut scopes = Vec::new();
    for scope in text.split(' ').filter(is_scope).take(MAX_SCOPES) {
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

struct Parameter {
    name: String,
    value: String,
}

/// Returns the parameters of the first challenge with the scheme `Bearer`.
fn parameters(header: &str) -> Option<Vec<Parameter>> {
    let mut rest = header;
    let mut found: Option<Vec<Parameter>> = None;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let end = rest.find(|char: char| !is_of_token(char)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.is_empty() {
            return found;
        }
        let value = after.trim_start().strip_prefix('=').map(str::trim_start);
        match (value, &mut found) {
            // The scheme of the next challenge.
            (None, Some(_)) => return found,
            (None, None) => {
                found = word.eq_ignore_ascii_case("bearer").then(Vec::new);
                rest = after;
            }
            (Some(text), known) => {
                let (value, after) = value_of(text);
                rest = after;
                if let Some(known) = known {
                    known.push(Parameter { name: word.to_owned(), value });
                }
            }
        }
    }
}

fn is_of_token(char: char) -> bool {
    char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char)
}

/// Returns a value, quoted or not, and what follows it.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let (mut value, mut is_escaped) = (String::new(), false);
    for (at, char) in quoted.char_indices() {
        match char {
            '\\' if !is_escaped => is_escaped = true,
            '"' if !is_escaped => return (value, &quoted[at + 1..]),
            char => {
                value.push(char);
                is_escaped = false;
            }
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearer_challenge_is_found_among_others() {
        let of =
            |header: &str| Challenge::parse(header).map(|found| (found.resource_metadata, found.scopes, found.error));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            of(
                r#"Basic realm="a, Bearer b", Bearer error="insufficient_scope", scope="x:read  y x:read", resource_metadata="https://h/m""#
            ),
            Some((text("https://h/m"), vec!["x:read".to_owned(), "y".to_owned()], text("insufficient_scope")))
        );
        assert_eq!(of("bearer"), Some((None, Vec::new(), None)));
        assert_eq!(of("Bearer realm=x, error=invalid_token, Digest nonce=\"y\", scope=\"z\"").unwrap().1, [""; 0]);
        assert_eq!(of(r#"Bearer error = "a\"b""#).unwrap().2, text("a\"b"));
        for none in ["", "Basic realm=\"x\"", "Negotiate abc==", "\"", "=", ",,,"] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(of("Bearer scope=\"open").unwrap().1, ["open"]);
        assert_eq!(scopes_of("a \u{7f} b\"c d\\e f"), ["a", "f"]);
    }
}
