//! Models as clients see them.

use serde::Serialize;

/// The current model and its state.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ModelStatus {
    /// Name of the provider: `deepseek`, `openai`, `ollama`, `local`, …; `none` if there is no model.
    pub provider: String,
    /// Id of the model that is sent to the provider; empty if there is no model.
    pub model: String,
    /// Display name.
    pub label: String,
    pub state: ModelState,
    /// Progress from 0 to 1 while `starting` or `reading`; null if unknown or in other states.
    pub progress: Option<f32>,
    /// A sentence that says why the model is in this state and what to do; null if there is nothing to say.
    pub detail: Option<String>,
    /// Whether it is the embedded demo model: small, slow, often wrong.
    pub small: bool,
    pub context_window: u32,
    /// Whether the model sees pictures, according to the configuration (`vision`, `vision_models`) or its server.
    pub vision: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelState {
    /// No provider is configured or found, and there is no embedded model.
    None,
    /// The embedded model is chosen, but its weights or its program are missing.
    Missing,
    /// The embedded model is loading its weights.
    Starting,
    /// The embedded model is processing the prompt that all sessions share.
    Reading,
    Ready,
    Failed,
}

/// A model that can be chosen.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ModelCandidate {
    /// Id for choosing the model: `provider/model`, followed by `@address` if two would be equal.
    pub id: String,
    /// The `model` of a conversation that uses it: its id in config.yml, or the name that its provider knows.
    pub name: String,
    pub provider: String,
    pub model: String,
    pub label: String,
    /// Where the model was configured or found: `.env`, `config.yml`, …
    pub from: String,
    pub context_window: u32,
    /// Whether thinking can be switched on and off.
    pub thinking: bool,
    /// Whether the model sees pictures.
    pub vision: bool,
}
