//! Elicitation: an MCP server asks a person for input while it carries out a call.
//!
//! Everything that a server says here is text from outside. A form has simple fields only, and none for a secret; an address
//! is shown whole and opened by the person. What a server asks for beyond that is refused, with the reason.

mod form;
mod secret_words;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use super::visible::{is_hidden, visible};

pub use form::{ChoiceOption, FieldKind, FieldProblem, FormField, TextFormat};

/// Maximum characters of what a server says with its request.
const MAX_MESSAGE: usize = 2_000;
/// Maximum characters of an address.
const MAX_URL: usize = 2_000;
/// Maximum bytes of what a server gets back unread.
pub const MAX_STATE: usize = 64 << 10;
/// Maximum number of requests in one result of a server.
pub const MAX_REQUESTS: usize = 4;
/// How often a server may ask during one call.
pub const MAX_ROUNDS: u32 = 10;

/// What a person is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Elicitation {
    /// Name of the server that asks.
    pub server: String,
    /// What it says. Invisible characters are escaped.
    pub message: String,
    #[serde(flatten)]
    pub wanted: Wanted,
    /// With what the call is repeated. Absent if the server waits for the answer: then the question ends with its connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumption: Option<Box<Resumption>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum Wanted {
    Form {
        fields: Vec<FormField>,
    },
    /// The person opens an address and says when they are done.
    Url {
        /// http or https, in ASCII.
        url: String,
        /// Its host, with the port unless that is the default.
        host: String,
    },
}

/// With what a call is repeated once a person has answered. A server gets it back as it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Resumption {
    /// SHA-256 of the server's entry, so that an answer reaches only the server that asked.
    pub entry: String,
    /// Opaque text of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The task that the call has become, by the server's name: it goes on instead of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The server's name of this request; absent if it wants no answer but the call once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Responses to earlier requests of the same result, by their names.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub given: Map<String, Value>,
    /// Requests of the same result that a person is asked about next: name and parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<LaterRequest>,
    /// How often the server has asked during this call.
    pub round: u32,
}

/// A request that waits for the answer to another one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LaterRequest {
    pub key: String,
    pub params: Value,
}

/// What a person did with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ElicitationAction {
    Accept,
    Decline,
    /// They dismissed it without a choice.
    Cancel,
}

/// A person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ElicitationAnswer {
    pub action: ElicitationAction,
    /// The values of a form, by the names of its fields.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub content: Map<String, Value>,
}

/// An answer as it is kept with its call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RecordedElicitation {
    /// Id of the question.
    pub id: String,
    pub server: String,
    pub message: String,
    #[serde(flatten)]
    pub answer: ElicitationAnswer,
}

impl ElicitationAnswer {
    /// Returns an answer without values.
    pub fn of(action: ElicitationAction) -> Self {
        Self { action, content: Map::new() }
    }

    /// Returns what the server gets.
    pub fn response(&self, wanted: &Wanted) -> Value {
        match (self.action, wanted) {
            (ElicitationAction::Accept, Wanted::Form { .. }) => {
                serde_json::json!({"action": self.action, "content": self.content})
            }
            _ => serde_json::json!({"action": self.action}),
        }
    }
}

impl Elicitation {
    /// Reads the parameters of `elicitation/create`.
    ///
    /// # Errors
    /// Returns why a person is not asked: a part of a sentence about what the server asks for.
    pub fn read(server: &str, params: &Value, resumption: Option<Resumption>) -> Result<Self, String> {
        let message = params["message"].as_str().unwrap_or_default();
        if message.chars().count() > MAX_MESSAGE {
            return Err(format!("its message has more than {MAX_MESSAGE} characters"));
        }
        let wanted = match params["mode"].as_str() {
            None | Some("form") => Wanted::Form { fields: form::read(&params["requestedSchema"], message)? },
            Some("url") => address(params["url"].as_str().unwrap_or_default())?,
            Some(_) => return Err("it asks in a way that is not known here".to_owned()),
        };
        Ok(Self { server: server.to_owned(), message: visible(message), wanted, resumption: resumption.map(Box::new) })
    }

    /// Checks the values of a form.
    ///
    /// # Errors
    /// Returns the first problem of each field that has one.
    pub fn check(&self, content: &Map<String, Value>) -> Result<(), Vec<FieldProblem>> {
        match &self.wanted {
            Wanted::Form { fields } => form::check(fields, content),
            Wanted::Url { .. } if content.is_empty() => Ok(()),
            Wanted::Url { .. } => Err(content.keys().map(|name| FieldProblem::new(name, "unknown")).collect()),
        }
    }
}

fn address(text: &str) -> Result<Wanted, String> {
    if text.chars().count() > MAX_URL {
        return Err(format!("its address has more than {MAX_URL} characters"));
    }
    if text.chars().any(is_hidden) {
        return Err("its address has invisible characters".to_owned());
    }
    let url = Url::parse(text).map_err(|_| "it asks to open something that is no address".to_owned())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("it asks to open an address that begins with {}:", visible(url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // What stands before the @ looks like the host.
        return Err("its address has a user name, which could be taken for the host".to_owned());
    }
    let host = url.host_str().unwrap_or_default();
    let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    Ok(Wanted::Url { url: url.to_string(), host })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn opened(url: &str) -> Result<Wanted, String> {
        let asked = Elicitation::read("pets", &json!({"mode": "url", "message": "Sign in", "url": url}), None);
        asked.map(|asked| asked.wanted)
    }

    #[test]
    fn only_a_plain_web_address_is_shown() {
        let found = opened("https://bücher.example:8443/a?b=%E2%80%AE").unwrap();
        let url = "https://xn--bcher-kva.example:8443/a?b=%E2%80%AE".to_owned();
        assert_eq!(found, Wanted::Url { url, host: "xn--bcher-kva.example:8443".to_owned() });
        for (url, why) in [
            ("javascript:alert(1)", "javascript:"),
            ("data:text/html,x", "data:"),
            ("file:///etc/passwd", "file:"),
            ("https://bank.example@evil.example/", "user name"),
            ("https://evil.example/\u{202e}moc", "invisible"),
            ("nothing", "no address"),
            ("", "no address"),
        ] {
            let refused = opened(url).unwrap_err();
            assert!(refused.contains(why), "{url}: {refused}");
        }
        assert!(opened(&format!("https://x.example/{}", "a".repeat(2_000))).is_err());
    }

    #[test]
    fn question_is_the_same_after_it_was_stored() {
        let params = json!({"message": "Who\u{200b}?", "requestedSchema": {
            "type": "object", "properties": {"name": {"type": "string"}}}});
        let resumption = Resumption { state: Some("opaque".to_owned()), round: 1, ..Resumption::default() };
        let asked = Elicitation::read("pets", &params, Some(resumption)).unwrap();
        assert_eq!(asked.message, "Who\\u200b?");
        let text = serde_json::to_string(&asked).unwrap();
        assert_eq!(serde_json::from_str::<Elicitation>(&text).unwrap(), asked);
    }

    #[test]
    fn server_gets_values_only_of_a_form_that_was_sent() {
        let form = Wanted::Form { fields: Vec::new() };
        let url = Wanted::Url { url: "https://x.example/".to_owned(), host: "x.example".to_owned() };
        let mut answer = ElicitationAnswer::of(ElicitationAction::Accept);
        answer.content.insert("name".to_owned(), json!("Ada"));
        assert_eq!(answer.response(&form), json!({"action": "accept", "content": {"name": "Ada"}}));
        assert_eq!(answer.response(&url), json!({"action": "accept"}));
        let declined = ElicitationAnswer { action: ElicitationAction::Decline, ..answer };
        assert_eq!(declined.response(&form), json!({"action": "decline"}));
    }
}
