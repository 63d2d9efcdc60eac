//! What is wrong with an answer to an approval, as an error of the API.

use axum::http::StatusCode;

use super::error::ApiError;
use crate::domain::ErrorParams;
use crate::engine::approvals::AnswerRefused;

impl From<AnswerRefused> for ApiError {
    fn from(refused: AnswerRefused) -> Self {
        let message = refused.to_string();
        match refused {
            AnswerRefused::Unknown => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            AnswerRefused::Already(_) => Self::new(StatusCode::CONFLICT, "already_answered", message),
            AnswerRefused::Expired => Self::new(StatusCode::CONFLICT, "expired", message),
            AnswerRefused::HashDiffers => Self::new(StatusCode::CONFLICT, "hash_differs", message),
            AnswerRefused::NoHost => Self::new(StatusCode::CONFLICT, "no_host", message),
            AnswerRefused::SecretsNeverAlways => Self::new(StatusCode::CONFLICT, "secrets_never_always", message),
            AnswerRefused::NeverAlways => Self::new(StatusCode::CONFLICT, "never_always", message),
            AnswerRefused::Unrehearsable(unrehearsable) => {
                let params = ErrorParams::from([("obstacle".to_owned(), unrehearsable.code.to_owned())]);
                Self { params, ..Self::new(StatusCode::CONFLICT, "unrehearsable", message) }
            }
            AnswerRefused::BadArguments(_) => Self::bad_request("bad_arguments", message),
            AnswerRefused::FormNeeded => Self::new(StatusCode::CONFLICT, "form_needed", message),
            AnswerRefused::NoForm => Self::new(StatusCode::CONFLICT, "no_form", message),
            AnswerRefused::FormNeverAlways => Self::new(StatusCode::CONFLICT, "form_never_always", message),
            AnswerRefused::BadFields(problems) => {
                let first = problems.first();
                let params = first.map(|first| {
                    ErrorParams::from([
                        ("field".to_owned(), first.field.chars().take(100).collect()),
                        ("problem".to_owned(), first.code.to_owned()),
                    ])
                });
                Self { params: params.unwrap_or_default(), ..Self::bad_request("bad_fields", message) }
            }
        }
    }
}
