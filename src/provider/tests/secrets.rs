//! Tests that the key goes to one host, in one header, and appears nowhere else.

use std::sync::{Arc, Mutex};

use axum::http::{HeaderMap, StatusCode, Uri};

use super::*;

/// Starts a server that records the path and headers of each request, and answers with `status` and `location`.
async fn recorder(status: u16, location: Option<&str>) -> (Url, Arc<Mutex<Vec<(String, HeaderMap)>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let record = seen.clone();
    let location = location.unwrap_or_default().to_owned();
    let handler = move |uri: Uri, headers: HeaderMap| {
        record.lock().unwrap().push((uri.to_string(), headers));
        let location = location.clone();
        async move { (StatusCode::from_u16(status).unwrap(), [("location", location)], "{}") }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/v1", listener.local_addr().unwrap())).unwrap();
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(handler)).await });
    (url, seen)
}

#[tokio::test]
async fn key_is_sent_as_bearer_token_only_when_set() {
    let (url, seen) = recorder(400, None).await;
    let _ = run(&Client::new(endpoint(ProfileKind::Other, &url)).unwrap()).await;
    let none = Endpoint { api_key: Some(SecretString::from(" ")), ..endpoint(ProfileKind::Other, &url) };
    let _ = run(&Client::new(none).unwrap()).await;
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].0, "/v1/chat/completions");
    assert_eq!(seen[0].1["authorization"], format!("Bearer {CANARY}"));
    assert_eq!(seen[1].1.get("authorization"), None);
}

#[tokio::test]
async fn redirect_is_reported_and_not_followed() {
    for status in [301, 302, 307, 308] {
        let (other, seen) = recorder(200, None).await;
        let mut to = other.join("/v1/chat/completions?key=secret").unwrap();
        to.set_username("user").unwrap();
        let (url, _) = recorder(status, Some(to.as_str())).await;
        let (_, error) = run(&Client::new(endpoint(ProfileKind::Other, &url)).unwrap()).await;
        let shown = format!("{other}/chat/completions");
        assert_eq!(
            error.unwrap().to_string(),
            format!(
                "Can't reach Test at {url}: it redirects to {shown}, and API keys are never sent to another \
                 address. If that address is correct, use it as base_url."
            )
        );
        assert_eq!(seen.lock().unwrap().len(), 0, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn key_is_in_no_message_or_debug_output() {
    let said = json!({"message": format!("Incorrect API key provided: {CANARY}."), "code": 400}).to_string();
    let raw = |status: u16, bytes: String| json!([{"status": status}, {"bytes": bytes}]);
    let replies = [
        raw(401, format!("{{\"error\":{said}}}")),
        raw(400, format!("plain {CANARY}")),
        raw(500, format!("{{\"error\":{said}}}")),
        raw(422, format!("{{\"detail\":\"{CANARY}\"}}")),
        raw(402, format!("{{\"error\":{said}}}")),
        raw(404, format!("{{\"error\":{{\"message\":\"model not found {CANARY}\"}}}}")),
        json!([{"text": "a"}, {"bytes": format!("data: {{\"error\":{said}}}\n\n")}]),
        json!([{"status": 307}, {"headers": {"location": format!("http://{CANARY}@127.0.0.1:1/x?k={CANARY}#{CANARY}")}}]),
    ];
    for reply in replies {
        let script = json!({"replies": [{"repeat": true, "steps": reply}]});
        let server = start(Script::from_value(&script).unwrap()).await.unwrap();
        // People put keys into addresses too.
        let mut url = server.base_url.clone();
        url.set_username("me").unwrap();
        url.set_password(Some(CANARY)).unwrap();
        url.set_query(Some(&format!("key={CANARY}")));
        let client = Client::new(endpoint(ProfileKind::Other, &url)).unwrap();
        let (chunks, error) = run(&client).await;
        let error = error.unwrap();
        for text in [
            error.to_string(),
            format!("{error:?}"),
            format!("{chunks:?}"),
            format!("{:?} {client:?} {:?}", client.endpoint(), client.endpoint().base_url.host_str()),
            client.body(&ask("hi")).to_string(),
        ] {
            assert!(!text.contains(CANARY), "{text}");
        }
    }
}

#[test]
fn unsendable_key_error_names_setting() {
    let url = Url::parse("https://api.deepseek.com").unwrap();
    let broken =
        Endpoint { api_key: Some(SecretString::from(format!("{CANARY}\nx"))), ..endpoint(ProfileKind::DeepSeek, &url) };
    let error = Client::new(broken).unwrap_err();
    assert_eq!(error.code(), "auth");
    assert!(error.to_string().contains("DEEPSEEK_API_KEY") && !format!("{error:?}{error}").contains(CANARY));
    let odd = endpoint(ProfileKind::Other, &Url::parse("ftp://x/v1").unwrap());
    assert_eq!(
        Client::new(odd).unwrap_err().to_string(),
        "Can't reach Test at ftp://x/v1: it must begin with https:// or http://. Correct base_url in the settings."
    );
}
