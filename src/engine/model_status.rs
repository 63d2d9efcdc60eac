//! A model as clients see it.

use serde::Serialize;

/// The model as the UI shows it.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ModelStatus {
    /// `deepseek`, `openai`, `ollama`, `local`, …
    pub provider: String,
    /// The model's id, as it is sent to the provider.
    pub model: String,
    /// A name for people.
    pub label: String,
    pub state: ModelState,
    /// 0 to 1 while starting or reading.
    pub progress: Option<f32>,
    /// A sentence: why it is in this state and what to do.
    pub detail: Option<String>,
    /// The embedded demo model: small, slow, often wrong.
    pub small: bool,
    pub context_window: u32,
    /// It sees pictures: a person says so (`vision`, `vision_models`), or its server does.
    pub vision: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelState {
    /// No provider is configured or found, and there is no embedded model.
    None,
    /// The embedded model is chosen, but its file or its program is not there.
    Missing,
    /// The embedded model is being loaded.
    Starting,
    /// The embedded model reads the prompt that all sessions share.
    Reading,
    Ready,
    Failed,
}

/// A model that could be chosen.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct ModelCandidate {
    /// What a session's file says when it was chosen: `provider/model`, and `@address` where two would be the same.
    pub id: String,
    pub provider: String,
    pub model: String,
    pub label: String,
    /// Where it was found: `.env`, `config.yml`, …
    pub from: String,
    pub context_window: u32,
    /// It can be told to think, or not to.
    pub thinking: bool,
    /// It sees pictures.
    pub vision: bool,
}
