//! The frames that clients send: `{type, data, id}`.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::chat::approvals::checked_reason;
use crate::api::chat::attachments::Attached;
use crate::api::error::ApiError;
use crate::engine::approvals::ApprovalResponse;

/// Maximum bytes of a frame. A longer one is refused, and the connection stays.
pub const MAX_FRAME: usize = 1 << 20;
/// Maximum bytes of a frame's id, which is sent back with the reply.
const MAX_ID: usize = 200;

/// What a client asks for.
pub enum Inbound {
    UserMessage(UserMessage),
    ApprovalResponse(GivenAnswer),
    Interrupt,
    ClearSession,
    Hello(Hello),
}

#[derive(Deserialize)]
pub struct UserMessage {
    #[serde(default)]
    pub content: String,
    /// Paths of files that become part of the prompt: of the session's project, or of the home.
    #[serde(default)]
    pub files: Vec<String>,
    #[serde(default)]
    pub attachments: Vec<Attached>,
    /// Idempotency key, as of `POST /api/sessions/{id}/messages`.
    pub key: Option<String>,
}

/// Proves who the client is, where it can set no header.
#[derive(Default, Deserialize)]
pub struct Hello {
    /// The page's secret, needed only to answer approvals.
    pub secret: Option<String>,
    /// The server's token, or a token of an account.
    pub token: Option<String>,
}

/// A person's answer to the question `request_id`.
pub struct GivenAnswer {
    pub request_id: String,
    pub hash: Option<String>,
    pub response: ApprovalResponse,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovalAnswer {
    request_id: String,
    hash: Option<String>,
    approved: bool,
    modified_input: Option<Value>,
    deny_reason: Option<String>,
    #[serde(default)]
    always: bool,
}

#[derive(Deserialize)]
struct Envelope {
    r#type: String,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    id: Value,
}

/// A frame, or why it is refused, with the client's id of it.
pub struct Parsed {
    pub frame: Result<Inbound, ApiError>,
    /// A string or a number; null if the client gave none.
    pub id: Value,
}

/// Parses a text frame.
pub fn parse(text: &str) -> Parsed {
    if text.len() > MAX_FRAME {
        return Parsed { frame: Err(too_large()), id: Value::Null };
    }
    let envelope: Envelope = match serde_json::from_str(text) {
        Ok(envelope) => envelope,
        Err(error) => {
            let message = format!("a frame is a JSON object {{type, data, id}}: {error}");
            return Parsed { frame: Err(ApiError::bad_request("bad_frame", message)), id: Value::Null };
        }
    };
    let id = match envelope.id {
        Value::String(id) if id.len() <= MAX_ID => Value::String(id),
        Value::Number(id) => Value::Number(id),
        Value::Null => Value::Null,
        _ => {
            let message = format!("the id of a frame is a number, or a text of at most {MAX_ID} bytes");
            return Parsed { frame: Err(ApiError::bad_request("bad_frame", message)), id: Value::Null };
        }
    };
    Parsed { frame: of_type(&envelope.r#type, envelope.data), id }
}

pub fn too_large() -> ApiError {
    let message = format!("a frame has at most {MAX_FRAME} bytes; send large files to /api/sessions/{{id}}/messages");
    ApiError::bad_request("too_large", message)
}

fn of_type(name: &str, data: Value) -> Result<Inbound, ApiError> {
    match name {
        "USER_MESSAGE" => Ok(Inbound::UserMessage(fields(name, data)?)),
        "APPROVAL_RESPONSE" => Ok(Inbound::ApprovalResponse(answer(fields(name, data)?)?)),
        "INTERRUPT" => Ok(Inbound::Interrupt),
        "CLEAR_SESSION" => Ok(Inbound::ClearSession),
        "HELLO" => Ok(Inbound::Hello(fields(name, data)?)),
        other => {
            let known = "USER_MESSAGE, APPROVAL_RESPONSE, INTERRUPT, CLEAR_SESSION and HELLO";
            let other: String = other.chars().take(64).collect();
            Err(ApiError::bad_request("unknown_type", format!("there is no type {other:?}; the types are {known}")))
        }
    }
}

fn fields<T: DeserializeOwned>(name: &str, data: Value) -> Result<T, ApiError> {
    let data = if data.is_null() { Value::Object(serde_json::Map::new()) } else { data };
    serde_json::from_value(data)
        .map_err(|error| ApiError::bad_request("bad_data", format!("the data of {name} is not valid: {error}")))
}

fn answer(given: ApprovalAnswer) -> Result<GivenAnswer, ApiError> {
    let ApprovalAnswer { request_id, hash, approved, modified_input, deny_reason, always } = given;
    let refused = |message| Err(ApiError::bad_request("bad_arguments", message));
    let response = match (approved, modified_input, always) {
        (true, input, false) => ApprovalResponse::Approve(input),
        (true, None, true) => ApprovalResponse::Always,
        (true, Some(_), true) => {
            return refused("changed input can't be always allowed; send modified_input without always");
        }
        (false, None, false) => ApprovalResponse::Deny(checked_reason(deny_reason)?),
        (false, _, _) => return refused("modified_input and always go with approved: true only"),
    };
    Ok(GivenAnswer { request_id, hash, response })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn code(frame: Value) -> &'static str {
        parse(&frame.to_string()).frame.err().map_or("", |error| error.code)
    }

    fn response(data: Value) -> Result<ApprovalResponse, &'static str> {
        let frame = json!({"type": "APPROVAL_RESPONSE", "data": data});
        match parse(&frame.to_string()).frame {
            Ok(Inbound::ApprovalResponse(given)) => Ok(given.response),
            Ok(_) => Err("another type"),
            Err(error) => Err(error.code),
        }
    }

    #[test]
    fn answers_are_those_of_the_page() {
        let with = |more: Value| {
            let mut data = json!({"request_id": "a.b"});
            data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            response(data)
        };
        assert_eq!(with(json!({"approved": true})), Ok(ApprovalResponse::Approve(None)));
        let changed = json!({"command": "ls"});
        assert_eq!(
            with(json!({"approved": true, "modified_input": changed})),
            Ok(ApprovalResponse::Approve(Some(changed)))
        );
        assert_eq!(with(json!({"approved": true, "always": true})), Ok(ApprovalResponse::Always));
        let denied = ApprovalResponse::Deny(Some("no".to_owned()));
        assert_eq!(with(json!({"approved": false, "deny_reason": " no "})), Ok(denied));
        for bad in [
            json!({"approved": true, "always": true, "modified_input": {}}),
            json!({"approved": false, "always": true}),
            json!({"approved": false, "modified_input": {}}),
        ] {
            assert_eq!(with(bad), Err("bad_arguments"));
        }
        assert_eq!(with(json!({})), Err("bad_data"));
        assert_eq!(with(json!({"approved": true, "allways": true})), Err("bad_data"));
        assert_eq!(with(json!({"approved": false, "deny_reason": "x".repeat(2_001)})), Err("too_long"));
    }

    #[test]
    fn bad_frames_have_codes_and_keep_their_id() {
        assert_eq!(code(json!([])), "bad_frame");
        assert_eq!(code(json!({"data": {}})), "bad_frame");
        assert_eq!(code(json!({"type": "PING"})), "unknown_type");
        assert_eq!(code(json!({"type": "USER_MESSAGE", "data": {"content": 1}})), "bad_data");
        assert_eq!(code(json!({"type": "INTERRUPT", "id": {}})), "bad_frame");
        assert_eq!(code(json!({"type": "INTERRUPT", "id": "x".repeat(201)})), "bad_frame");
        let parsed = parse(&json!({"type": "NOPE", "id": 7}).to_string());
        assert_eq!((parsed.id, parsed.frame.is_err()), (json!(7), true));
        assert_eq!(parse(&"x".repeat(MAX_FRAME + 1)).frame.err().unwrap().code, "too_large");
        assert!(parse(r#"{"type":"CLEAR_SESSION"}"#).frame.is_ok());
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in ".{0,200}") {
            let _ = parse(&text);
        }

        #[test]
        fn any_data_is_parsed_or_refused(
            kind in "(USER_MESSAGE|APPROVAL_RESPONSE|HELLO|INTERRUPT|CLEAR_SESSION|X)",
            data in r#"(null|\{\}|\[\]|"x"|\{"(content|files|request_id|approved|secret|key)":(1|"a"|\[\]|null|true)\})"#,
        ) {
            let _ = parse(&format!(r#"{{"type":"{kind}","data":{data}}}"#));
        }
    }
}
