//! What happens when the owner is another server than was known, or does not answer.

use super::*;

#[tokio::test]
async fn request_passes_through_once() {
    let (first, mut owner) = cluster().await;
    owner.known.set(Destination::Server(first.owner()));
    assert_eq!(get_code(&first, "/api/echo").await, (503, "home_moving".to_owned()));
    assert_eq!(first.known.failed(), [HopFailure::NotOwner]);

    let mut third = Server::start(SECRET).await;
    first.known.then(Destination::Server(third.owner()));
    let request = request(Method::POST, first.url("/api/echo")).body(Body::from("{}")).unwrap();
    assert_eq!(sent(&client(), request).await.status(), StatusCode::IM_A_TEAPOT, "the newer owner answers");
    assert_eq!(third.arrival().await, "echo");
    assert!(owner.arrived.try_recv().is_err(), "no handler of the former owner ran");
}

#[tokio::test]
async fn request_is_answered_here_once_the_home_is() {
    let (mut first, owner) = cluster().await;
    owner.known.set(Destination::Nobody);
    first.known.then(Destination::Here);
    let request = request(Method::POST, first.url("/api/echo")).body(Body::from("123")).unwrap();
    let answer = sent(&client(), request).await;
    let told: Value = serde_json::from_slice(&to_bytes(answer.into_body(), 1 << 20).await.unwrap()).unwrap();
    assert_eq!((&told["bytes"], &told["is_forwarded"]), (&json!(3), &json!(false)));
    assert_eq!(first.arrival().await, "echo");
}

#[tokio::test]
async fn unreachable_owner_is_asked_for_again() {
    let (first, owner) = cluster().await;
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    first.known.set(Destination::Server(owner_at(gone)));
    let posted = request(Method::POST, first.url("/api/echo")).body(Body::from("{}")).unwrap();
    let answer = sent(&client(), posted).await;
    assert_eq!(answer.headers()[header::RETRY_AFTER], "1");
    assert_eq!(code(answer).await, (503, "home_moving".to_owned()));
    assert_eq!(first.known.failed(), [HopFailure::Unreachable]);
    // Nothing was sent, so any request that is kept is sent again.
    first.known.then(Destination::Server(owner.owner()));
    let posted = request(Method::POST, first.url("/api/echo")).body(Body::from("{}")).unwrap();
    assert_eq!(sent(&client(), posted).await.status(), StatusCode::IM_A_TEAPOT);
    // A stream is not kept.
    first.known.then(Destination::Server(owner.owner()));
    let pieces = futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from("x"))]);
    let posted = request(Method::POST, first.url("/api/echo")).body(Body::from_stream(pieces)).unwrap();
    assert_eq!(code(sent(&client(), posted).await).await, (503, "home_moving".to_owned()));
}

#[tokio::test]
async fn lost_answer_is_asked_for_again_if_that_is_safe() {
    let (first, mut owner) = cluster().await;
    let tried = async |method: Method, path: &str, key: Option<&str>, owner: &mut Server| {
        first.known.after.lock().unwrap().clear();
        first.known.then(Destination::Server(owner.owner()));
        let builder = request(method, first.url(path));
        let builder = key.into_iter().fold(builder, |builder, key| builder.header("idempotency-key", key));
        let told = code(sent(&client(), builder.body(Body::from("{}")).unwrap()).await).await;
        let mut times = 0;
        while owner.arrived.try_recv().is_ok() {
            times += 1;
        }
        (told.0, told.1, times)
    };
    let lost = (502, "answer_lost".to_owned(), 1);
    assert_eq!(tried(Method::POST, "/v1/lost", None, &mut owner).await, lost);
    let again = (503, "home_moving".to_owned(), 2);
    assert_eq!(tried(Method::POST, "/v1/lost", Some("k"), &mut owner).await, again);
    assert_eq!(tried(Method::GET, "/v1/lost", None, &mut owner).await, again);
}

#[tokio::test]
async fn home_that_nobody_has_is_moving() {
    let (first, _owner) = cluster().await;
    first.known.set(Destination::Nobody);
    assert_eq!(get_code(&first, "/api/echo").await, (503, "home_moving".to_owned()));
    first.known.set(Destination::Server(Owner { address: "ftp://127.0.0.1".into(), ..owner_at(first.address) }));
    assert_eq!(get_code(&first, "/api/echo").await, (503, "home_moving".to_owned()), "an address of no server");
}
