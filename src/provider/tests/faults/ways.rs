//! Tests of servers that cannot be reached: nothing listens, the name is unknown, the protocol is wrong.

use super::*;

#[tokio::test(start_paused = true)]
async fn refused_connection_names_address() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = Url::parse(&format!("http://{free}/v1")).unwrap();
    let client = Client::new(endpoint(ProfileKind::Ollama, &url)).unwrap();
    let (chunks, error, took) = timed(&client).await;
    assert_eq!(waits(&chunks).len(), 3);
    assert!(near(took.as_secs_f64(), 13.0), "{took:?}");
    assert_eq!(
        error.unwrap().to_string(),
        format!("Can't reach Test at {url}: connection refused. Start the server, or correct base_url.")
    );
}

/// A resolver that fails for the first `unknown` lookups, and then returns `found`.
struct Names {
    unknown: std::sync::atomic::AtomicUsize,
    found: std::net::SocketAddr,
}

impl reqwest::dns::Resolve for Names {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        use std::sync::atomic::Ordering::SeqCst;
        assert_eq!(name.as_str(), "models.test");
        let known = self.unknown.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err();
        let found = self.found;
        Box::pin(async move {
            match known {
                true => Ok(Box::new(std::iter::once(found)) as reqwest::dns::Addrs),
                false => Err("failed to lookup address information: Name or service not known".into()),
            }
        })
    }
}

#[tokio::test(start_paused = true)]
async fn unresolved_name_is_retried_and_reported() {
    let (server, _) = scripted([ok("yes")]).await;
    let found = *server.base_url.socket_addrs(|| None).unwrap().first().unwrap();
    let mut url = server.base_url.clone();
    url.set_host(Some("models.test")).unwrap();
    let client = |unknown: usize| {
        let names = Names { unknown: unknown.into(), found };
        Client::resolving(endpoint(ProfileKind::Other, &url), std::sync::Arc::new(names))
    };
    let (chunks, error, took) = timed(&client(usize::MAX)).await;
    assert_eq!(waits(&chunks).len(), 3);
    assert!(near(took.as_secs_f64(), 13.0), "{took:?}");
    assert_eq!(
        error.unwrap().to_string(),
        format!("Can't reach Test at {url}: host name not found. Check base_url and the network connection.")
    );
    assert_eq!(server.requests().len(), 0);
    let (chunks, error, _) = timed(&client(2)).await;
    assert_eq!((error, waits(&chunks).len()), (None, 2));
    assert_eq!(gist(chunks)[0], text("yes"));
}

#[tokio::test(start_paused = true)]
async fn https_on_plain_port_is_named() {
    let (server, _) = scripted([]).await;
    let mut url = server.base_url.clone();
    url.set_scheme("https").unwrap();
    let client = Client::new(endpoint(ProfileKind::Other, &url)).unwrap();
    let (_, error, _) = timed(&client).await;
    assert!(matches!(error, Some(ProviderError::Unreachable { trouble: ConnectionFailure::Tls(_), .. })), "{error:?}");
}
