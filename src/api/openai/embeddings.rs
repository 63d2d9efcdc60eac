//! `POST /v1/embeddings`: vectors of texts, from the model that searches use.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::chat::ignored_header;
use super::error::{OpenAiErrorBody, invalid, model_not_found, unsupported};
use super::fields::Fields;
use crate::api::body::JsonBody;
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::domain::{EmbedError, EmbeddingInput};
use crate::engine::embed_texts::{EmbeddedTexts, NotEmbedded};

const MAX_TEXTS: usize = 256;
/// Maximum bytes of all texts of a request together.
const MAX_BYTES: usize = 1 << 20;

/// Returns one vector for each text. The vectors are normalised: their product is the cosine.
#[utoipa::path(post, path = "/v1/embeddings", tag = "openai", request_body = Object,
    responses((status = 200, description = "a list of embeddings"), (status = 400, body = OpenAiErrorBody),
              (status = 404, body = OpenAiErrorBody), (status = 503, body = OpenAiErrorBody)))]
pub async fn create_embeddings(
    caller: Caller,
    request: Result<JsonBody<Value>, JsonRejection>,
) -> Result<Response, ApiError> {
    let JsonBody(body) = request?;
    let mut fields = Fields::of(body)?;
    let model = fields.text("model")?.ok_or_else(|| invalid("model", "name a model: embedding"))?;
    let texts = texts(fields.take("input"))?;
    if fields.take("dimensions").is_some() {
        return Err(unsupported("dimensions", "the vectors have as many numbers as the model gives"));
    }
    let is_base64 = match fields.text("encoding_format")?.as_deref() {
        None | Some("float") => false,
        Some("base64") => true,
        Some(_) => return Err(invalid("encoding_format", "it is float or base64")),
    };
    let side = match fields.text("input_type")?.as_deref() {
        None | Some("passage") => EmbeddingInput::Passage,
        Some("query") => EmbeddingInput::Query,
        Some(_) => return Err(invalid("input_type", "it is query or passage")),
    };
    fields.take("user");
    let tenant = caller.tenant();
    let tokens: usize = texts.iter().map(|text| tenant.runtime.tokens.count(text)).sum();
    let embedded = tenant.embed(&model, side, texts).await.map_err(|why| refused(&model, why))?;
    let EmbeddedTexts { model, vectors } = embedded;
    let data: Vec<Value> = vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| {
            let embedding = if is_base64 { base64_of(vector).into() } else { json!(vector) };
            json!({"object": "embedding", "index": index, "embedding": embedding})
        })
        .collect();
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    let body = json!({"object": "list", "data": data, "model": model, "usage": usage});
    Ok((ignored_header(&fields.ignored()), Json(body)).into_response())
}

fn texts(input: Option<Value>) -> Result<Vec<String>, ApiError> {
    let wrong =
        || invalid("input", format!("input is a text, or 1 to {MAX_TEXTS} texts of up to {MAX_BYTES} bytes together"));
    let texts = match input {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(items)) => {
            let texts = items.into_iter().map(|item| match item {
                Value::String(text) => Ok(text),
                _ => Err(wrong()),
            });
            texts.collect::<Result<_, _>>()?
        }
        _ => return Err(wrong()),
    };
    let bytes: usize = texts.iter().map(String::len).sum();
    let fits =
        (1..=MAX_TEXTS).contains(&texts.len()) && bytes <= MAX_BYTES && texts.iter().all(|text| !text.is_empty());
    if fits { Ok(texts) } else { Err(wrong()) }
}

/// Returns the numbers as 32-bit floats, least byte first, in base64.
fn base64_of(vector: &[f32]) -> String {
    STANDARD.encode(vector.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>())
}

fn refused(model: &str, why: NotEmbedded) -> ApiError {
    let message = why.to_string();
    match why {
        NotEmbedded::Unknown(_) => ApiError { message, ..model_not_found(model) },
        NotEmbedded::None | NotEmbedded::Embed(EmbedError::Missing(_)) => {
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "no_embedder", message)
        }
        NotEmbedded::Embed(_) => ApiError::new(StatusCode::BAD_GATEWAY, "embedding_failed", message),
        NotEmbedded::Engine(error) => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_is_bounded() {
        assert_eq!(texts(Some(json!("a"))).unwrap(), ["a"]);
        assert_eq!(texts(Some(json!(["a", "b"]))).unwrap().len(), 2);
        for wrong in [json!([]), json!([1, 2]), json!([["a"]]), json!(""), json!(["a", ""]), json!({})] {
            assert!(texts(Some(wrong)).is_err());
        }
        assert!(texts(None).is_err() && texts(Some(json!(vec!["a"; 257]))).is_err());
        assert!(texts(Some(json!("a".repeat(MAX_BYTES + 1)))).is_err());
    }

    #[test]
    fn base64_holds_floats_with_the_least_byte_first() {
        assert_eq!(STANDARD.decode(base64_of(&[1.0, -0.5])).unwrap(), [0, 0, 128, 63, 0, 0, 0, 191]);
    }
}
