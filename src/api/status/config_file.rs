//! The settings of config.yml that a person can change from the page.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::body::JsonBody;
use crate::api::error::{ApiError, ErrorBody};
use crate::api::security::audit::AuditNote;
use crate::api::security::requester::Requester;
use crate::config::settings::{Confirmed, Setting, SettingKind, SettingSource, TakesEffect};
use crate::engine::Tenant;
use crate::engine::server_settings::{ServerSettings, SettingValue, SettingsChange};

#[derive(Serialize, utoipa::ToSchema)]
pub struct Settings {
    settings: Vec<SettingInfo>,
    /// Name of the file in the home.
    config_file: String,
    /// What is wrong with the file, as English sentences. While it is not valid, the last valid configuration is in force.
    warnings: Vec<String>,
    /// The folder of the home.
    home: String,
}

#[derive(Serialize, utoipa::ToSchema)]
pub struct SettingInfo {
    /// The path of the key in config.yml: `approvals.effects.write`.
    key: String,
    /// The value that the configuration has: a number, boolean, text or list; null if another setting decides.
    #[schema(value_type = Value)]
    value: Value,
    /// The value without an entry; null if another setting or the model decides.
    #[schema(value_type = Value)]
    default: Value,
    source: SettingOrigin,
    kind: SettingType,
    /// For numbers.
    minimum: Option<f64>,
    maximum: Option<f64>,
    /// Whether a number must be whole.
    whole: bool,
    /// For choices. Rules of approvals go from the safest to the least safe.
    choices: Option<Vec<String>>,
    /// Whether a change takes effect only after a restart.
    restart_needed: bool,
    /// The values that make the server less safe than it is now and must be confirmed; `*` for every new entry or
    /// address. Null if none does.
    loosens: Option<Vec<String>>,
}

#[derive(Serialize, utoipa::ToSchema)]
pub enum SettingOrigin {
    #[serde(rename = "default")]
    Default,
    #[serde(rename = "config.yml")]
    File,
    #[serde(rename = "environment")]
    Environment,
    #[serde(rename = "command line")]
    CommandLine,
}

#[derive(Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SettingType {
    Number,
    Boolean,
    Text,
    Choice,
    List,
}

#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsPatch {
    /// New values by key; null removes the entry, so that the default applies.
    #[schema(value_type = HashMap<String, Value>)]
    set: Map<String, Value>,
    /// Whether the person has confirmed that the server becomes less safe.
    #[serde(default)]
    confirm_loosening: bool,
}

/// Maximum number of settings that an entry of the audit log names.
const MAX_NOTED: usize = 20;

/// Returns the settings of config.yml.
#[utoipa::path(get, path = "/api/settings", tag = "settings",
    responses((status = 200, body = Settings), (status = 403, body = ErrorBody)))]
pub async fn settings(requester: Requester) -> Result<Json<Settings>, ApiError> {
    let server = requester.server().await?;
    let settings = server.server_settings().await?;
    Ok(Json(shown(&server, settings)))
}

/// Changes settings in config.yml, whose comments and form stay as they are, and applies them.
///
/// Requires the page's secret.
#[utoipa::path(patch, path = "/api/settings", tag = "settings", request_body = SettingsPatch,
    params(("X-Miniclaw-Secret" = String, Header)),
    responses((status = 200, body = Settings), (status = 400, description = "unknown_setting, bad_setting, sandbox_off", body = ErrorBody),
              (status = 403, body = ErrorBody),
              (status = 409, description = "confirm_loosening, config_invalid, config_not_editable, environment_wins, needs_token", body = ErrorBody)))]
pub async fn change_settings(
    requester: Requester,
    note: AuditNote,
    request: Result<JsonBody<SettingsPatch>, JsonRejection>,
) -> Result<Json<Settings>, ApiError> {
    requester.require_page()?;
    let server = requester.changeable_server().await?;
    let JsonBody(SettingsPatch { set, confirm_loosening }) = request?;
    note.detail(
        "keys",
        Some(set.keys().filter(|key| Setting::of_key(key).is_ok()).take(MAX_NOTED).map(String::as_str).collect()),
    );
    let confirmed = if confirm_loosening { Confirmed::Yes } else { Confirmed::No };
    let settings = server.change_settings(SettingsChange { set, confirmed }).await?;
    Ok(Json(shown(&server, settings)))
}

fn shown(server: &Tenant, ServerSettings { settings, warnings }: ServerSettings) -> Settings {
    Settings {
        settings: settings.into_iter().map(SettingInfo::from).collect(),
        config_file: "config.yml".to_owned(),
        warnings,
        home: server.home.path().display().to_string(),
    }
}

impl From<SettingValue> for SettingInfo {
    fn from(SettingValue { setting, value, default, source, loosening }: SettingValue) -> Self {
        let (kind, range, choices) = match setting.kind {
            SettingKind::Whole { minimum, maximum } => {
                (SettingType::Number, Some((f64::from(minimum), f64::from(maximum))), None)
            }
            SettingKind::Number { minimum, maximum } => (SettingType::Number, Some((minimum, maximum)), None),
            SettingKind::Boolean => (SettingType::Boolean, None, None),
            SettingKind::Text => (SettingType::Text, None, None),
            SettingKind::Choice(choices) => (SettingType::Choice, None, Some(choices)),
            SettingKind::List => (SettingType::List, None, None),
        };
        Self {
            key: setting.key.to_owned(),
            value,
            default,
            source: match source {
                SettingSource::Default => SettingOrigin::Default,
                SettingSource::File => SettingOrigin::File,
                SettingSource::Environment => SettingOrigin::Environment,
                SettingSource::CommandLine => SettingOrigin::CommandLine,
            },
            kind,
            minimum: range.map(|(minimum, _)| minimum),
            maximum: range.map(|(_, maximum)| maximum),
            whole: matches!(setting.kind, SettingKind::Whole { .. }),
            choices: choices.map(|choices| choices.iter().map(ToString::to_string).collect()),
            restart_needed: setting.effect == TakesEffect::AfterRestart,
            loosens: (!loosening.is_empty()).then(|| loosening.iter().map(ToString::to_string).collect()),
        }
    }
}
