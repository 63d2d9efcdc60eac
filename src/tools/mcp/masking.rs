//! What is hidden in what a server says: the values of variables that it got, and the tokens that it is used with.

use serde_json::Value;

use super::server::Server;
use crate::domain::Mask;

pub struct Masks([Mask; 2]);

impl Masks {
    pub fn text(&self, text: &str) -> String {
        let [first, second] = &self.0;
        second.text(&first.text(text)).into_owned()
    }
}

impl Server {
    /// Returns what is hidden in what the server says: values of variables, and tokens.
    pub(super) fn mask(&self) -> Masks {
        let of_sign_in = self.sign_in().map(|sign_in| sign_in.mask()).unwrap_or_default();
        Masks([self.variables_mask(), of_sign_in])
    }
}

/// Hides what must not be shown in all texts of a value.
pub fn hide(value: &mut Value, hidden: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = hidden(text),
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, hidden)),
        Value::Object(fields) => fields.values_mut().for_each(|field| hide(field, hidden)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
