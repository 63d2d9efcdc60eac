//! What a model thought, in the sealed form in which its provider wants it back.
//!
//! A provider signs or encrypts the thoughts of a model, so that they can be sent back with the conversation and were
//! not changed in between. Only the model that thought them understands them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The thoughts of one exchange with a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// 0-based number of the exchange inside the work.
    #[serde(default)]
    pub dialogue: u32,
    /// The provider's address and the model, as `Endpoint::origin` returns them.
    pub origin: String,
    /// In the order in which they came.
    pub items: Vec<ReasoningItem>,
}

/// One thought, and where it was in the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasoningItem {
    /// Number of bytes of the exchange's text before it.
    #[serde(default, rename = "at", skip_serializing_if = "super::is_zero")]
    pub text_before: usize,
    /// Number of the exchange's calls before it.
    #[serde(default, rename = "calls", skip_serializing_if = "super::is_zero")]
    pub calls_before: usize,
    /// Exactly what the provider sent.
    pub item: Value,
}

impl Reasoning {
    /// Returns it for an answer in which this many bytes of text come before the exchange's own.
    pub fn moved_by(&self, bytes: usize) -> Self {
        let mut moved = self.clone();
        moved.items.iter_mut().for_each(|item| item.text_before = item.text_before.saturating_add(bytes));
        moved
    }
}

/// Deserializes a list of thoughts; what cannot be read is left out, because the conversation is complete without it.
pub fn lenient<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<std::sync::Arc<Reasoning>>, D::Error> {
    let items = Vec::<Value>::deserialize(from)?;
    Ok(items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).map(std::sync::Arc::new).collect())
}
