//! Properties of the readers of requests: whatever a program sends is read, or refused as its own fault.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::message::read_messages;
use super::parameters::Parameters;
use crate::api::error::ApiError;

const NAMES: &str = "role|content|type|text|image_url|url|detail|tool_calls|tool_call_id|id|call_id|function|name|arguments|\
                     parameters|input|output|summary|status|custom|format|n|strict|[a-z]{1,3}";
const WORDS: &str = "user|assistant|tool|system|developer|text|image_url|input_text|input_image|output_text|function|message|\
                     function_call|function_call_output|reasoning|custom|auto|none|required|json_schema|json_object|\\{\\}|\
                     \\{\"a\":1\\}|data:image/png;base64,QQ==|data:,|https://example.com/a.png|\\PC{0,8}";
const FIELDS: &str = "stream|stream_options|tools|tool_choice|response_format|text|temperature|top_p|max_tokens|\
                      max_completion_tokens|max_output_tokens|stop|n|seed|logprobs|modalities|reasoning|reasoning_effort|\
                      metadata|instructions|previous_response_id|conversation|store|background|include|truncation|user|functions";

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        WORDS.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((NAMES, inner), 0..5).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Returns bodies whose `listed` field is mostly an array of objects.
pub(super) fn any_request(listed: &'static str) -> impl Strategy<Value = Value> {
    let item = prop::collection::vec((NAMES, any_value()), 0..6)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()));
    let items = prop_oneof![4 => prop::collection::vec(item, 0..4).prop_map(Value::from), 1 => any_value()];
    let fields = prop::collection::vec((FIELDS, any_value()), 0..5);
    (items, fields).prop_map(move |(items, fields)| {
        let mut body: Map<String, Value> = fields.into_iter().collect();
        body.insert(listed.to_owned(), items);
        body.insert("model".to_owned(), json!("miniclaw"));
        Value::Object(body)
    })
}

/// Requires that a refused request is the program's own fault, and says something.
pub(super) fn is_own_fault(error: &ApiError) -> bool {
    error.status.is_client_error() && !error.message.is_empty()
}

fn read(body: Value) -> Result<(), ApiError> {
    let mut fields = Fields::of(body)?;
    let Some(messages) = fields.list("messages")? else { return Ok(()) };
    read_messages(messages)?;
    Parameters::of_chat(&mut fields).map(drop)
}

proptest! {
    #[test]
    fn any_chat_is_read_or_refused(body in any_request("messages")) {
        if let Err(error) = read(body) {
            prop_assert!(is_own_fault(&error), "{error:?}");
        }
    }
}
