//! The body of a request.

use std::fmt;
use std::marker::PhantomData;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request};
use axum::http::Method;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};

/// A JSON object, read into `T`. A POST without a body has sent an object without fields; what replaces something always has a
/// body. An array is refused, although serde would read its elements as the fields of a struct.
pub(super) struct JsonBody<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = JsonRejection;

    async fn from_request(request: Request, state: &S) -> Result<Self, JsonRejection> {
        let read = match *request.method() {
            Method::POST => {
                let (parts, body) = request.into_parts();
                // The layers around a body hide that it is empty.
                let bytes = Bytes::from_request(Request::from_parts(parts.clone(), body), state).await?;
                match bytes.is_empty() {
                    true => Json::from_bytes(b"{}"),
                    false => Json::from_request(Request::from_parts(parts, Body::from(bytes)), state).await,
                }
            }
            _ => Json::from_request(request, state).await,
        };
        read.map(|Json(Object(content))| Self(content))
    }
}

struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Named {
        name: Option<String>,
    }

    #[tokio::test]
    async fn what_replaces_something_has_a_body() {
        let request = Request::put("/").header("content-type", "application/json").body(Body::empty()).unwrap();
        assert!(JsonBody::<Named>::from_request(request, &()).await.is_err());
    }

    async fn read(kind: Option<&str>, body: &'static str) -> Result<Option<String>, String> {
        let mut request = Request::post("/");
        if let Some(kind) = kind {
            request = request.header("content-type", kind);
        }
        let request = request.body(Body::from(body)).unwrap();
        let read = JsonBody::<Named>::from_request(request, &()).await;
        read.map(|JsonBody(named)| named.name).map_err(|rejection| rejection.body_text())
    }

    #[tokio::test]
    async fn only_objects_are_read_and_no_body_is_an_empty_one() {
        let json = Some("application/json");
        assert_eq!(read(json, r#"{"name": "x"}"#).await, Ok(Some("x".to_owned())));
        assert_eq!((read(None, "").await, read(json, "").await), (Ok(None), Ok(None)));
        for (kind, body) in [(json, r#"["x"]"#), (json, "\"x\""), (json, "null"), (None, "{}")] {
            let refused = read(kind, body).await.unwrap_err();
            assert!(!body.starts_with('[') || refused.contains("a JSON object"), "{refused}");
        }
    }
}
