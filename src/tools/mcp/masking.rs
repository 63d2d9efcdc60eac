//! What is hidden in what a server says: the values of variables that it got, and the tokens that it is used with.

use serde_json::Value;

use super::connection::RequestError;
use super::server::Server;
use crate::domain::Mask;
use crate::tools::LiveOutput;

impl Server {
    /// Returns what is hidden in what the server says: values of variables, and tokens.
    pub(super) fn mask(&self) -> Mask {
        let of_sign_in = self.sign_in().map(|sign_in| sign_in.mask()).unwrap_or_default();
        self.variables_mask().and(&of_sign_in)
    }

    /// Returns an output in which these are hidden, also tokens that the server is used with only later.
    pub(super) fn hiding(&self, live: &LiveOutput) -> LiveOutput {
        let (variables, sign_in) = (self.variables_mask(), self.sign_in().cloned());
        live.hiding(move |text| {
            let of_sign_in = sign_in.as_ref().map(|sign_in| sign_in.mask()).unwrap_or_default();
            variables.and(&of_sign_in).text(text).into_owned()
        })
    }
}

/// Hides values of variables in what a server says, also in the names of fields and in numbers.
pub fn hide(value: &mut Value, hidden: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = hidden(text),
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, hidden)),
        Value::Object(fields) => {
            let named = std::mem::take(fields).into_iter().map(|(name, mut field)| {
                hide(&mut field, hidden);
                (hidden(&name), field)
            });
            *fields = named.collect();
        }
        Value::Number(number) => {
            let text = number.to_string();
            let shown = hidden(&text);
            if shown != text {
                *value = Value::String(shown);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// Hides values of variables in the result of a call. The server gets its texts back as they were, or not at all.
pub fn hide_result(result: &mut Value, hidden: &impl Fn(&str) -> String) {
    let texts = |result: &Value| ["requestState", "taskId"].map(|field| result[field].as_str().map(str::to_owned));
    let names = |result: &Value| -> Option<Vec<String>> {
        Some(result["inputRequests"].as_object()?.keys().cloned().collect())
    };
    let (before, names_before) = (texts(result), names(result));
    hide(result, hidden);
    for (field, (before, after)) in ["requestState", "taskId"].iter().zip(before.into_iter().zip(texts(result))) {
        if before != after {
            result[field] = Value::Bool(false);
        }
    }
    if names_before != names(result) {
        result["inputRequests"] = Value::Bool(false);
    }
}

/// Hides values of variables in why a request has no result.
pub fn hidden_error(error: RequestError, hidden: &impl Fn(&str) -> String) -> RequestError {
    match error {
        RequestError::Lost(why) => RequestError::Lost(hidden(&why)),
        RequestError::SignIn(why) => RequestError::SignIn(hidden(&why)),
        RequestError::Refused(mut error) => {
            error.message = hidden(&error.message);
            hide(&mut error.data, hidden);
            RequestError::Refused(error)
        }
        RequestError::TimedOut(_) | RequestError::Cancelled => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_hidden_in_every_part_of_a_message() {
        let mut said = json!({"canary": ["a canary", {"x": 4711, "y": 12}], "ok": true});
        hide(&mut said, &|text: &str| text.replace("canary", "[hidden]").replace("4711", "[hidden]"));
        assert_eq!(said, json!({"[hidden]": ["a [hidden]", {"x": "[hidden]", "y": 12}], "ok": true}));
    }

    #[test]
    fn texts_for_the_server_are_kept_whole_or_not_at_all() {
        let hidden = |text: &str| text.replace("canary", "[hidden]");
        let of = |word: &str| json!({"requestState": word, "taskId": word, "inputRequests": {word: {}}});
        let (mut whole, mut cut) = (of("plain"), of("a canary"));
        hide_result(&mut whole, &hidden);
        hide_result(&mut cut, &hidden);
        assert_eq!(whole, of("plain"));
        assert_eq!(cut, json!({"requestState": false, "taskId": false, "inputRequests": false}));
    }
}
