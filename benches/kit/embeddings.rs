//! An embeddings service that returns meaningless vectors at almost no cost, so that only the search is measured.

use std::io;

use axum::routing::post;
use axum::{Json, Router};
use base64::Engine;
use serde_json::{Value, json};

use super::texts::Rng;

/// Dimension of the vectors, as in the default model.
const DIMENSION: usize = 512;

/// Starts the service on a free port and returns its base URL.
pub async fn start() -> io::Result<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let router = Router::new().route("/v1/embeddings", post(embed));
    let router = router.layer(axum::extract::DefaultBodyLimit::max(16 << 20));
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok(format!("http://{address}/v1"))
}

async fn embed(Json(body): Json<Value>) -> Json<Value> {
    let texts = match &body["input"] {
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        one => vec![one.as_str().unwrap_or_default()],
    };
    let data = texts.iter().enumerate().map(|(index, text)| {
        let bytes: Vec<u8> = vector(text).iter().flat_map(|number| number.to_le_bytes()).collect();
        let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
        json!({"index": index, "object": "embedding", "embedding": encoded})
    });
    Json(json!({"object": "list", "model": "made", "data": data.collect::<Vec<_>>()}))
}

/// Returns a unit vector whose direction is pseudo-random and depends only on the text.
fn vector(text: &str) -> Vec<f32> {
    let seed = text.bytes().fold(0u64, |seed, byte| seed.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
    let mut rng = Rng::new(seed);
    // A sum of uniform numbers is approximately normal, and vectors of normal numbers have uniform directions.
    let numbers: Vec<f64> = (0..DIMENSION).map(|_| (0..4).map(|_| rng.share() - 0.5).sum()).collect();
    let length = numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
    numbers.iter().map(|x| (x / length) as f32).collect()
}
