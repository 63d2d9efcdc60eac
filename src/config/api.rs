//! `api` in config.yml: the OpenAI API of this server.

use serde::Deserialize;

/// The settings of the OpenAI API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApiConfig {
    /// Whether programs of this machine need no token. Has no effect on a server that needs a token from everybody.
    pub open: bool,
    pub steps: StepsShown,
}

/// Where programs read which steps the agent takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepsShown {
    /// Among the thoughts of the model.
    #[default]
    Reasoning,
    /// In the answer.
    Text,
    None,
}
