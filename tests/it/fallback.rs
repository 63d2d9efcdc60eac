//! Another model answers if the chosen one fails (`fallback_model`).

use serde_json::{Value, json};

use crate::http::Frame;
use crate::script::{call, calls, says, script, steps};
use crate::world::{CONFIG, World};

/// Configures the scripted provider twice: as the first model and as the fallback.
fn configured(world: &World, fallback: &str) {
    let address = world.provider.base_url.as_str();
    let models = format!(
        "fallback_model: {fallback}\nmodels:\n  - {{id: spare, api_url: '{address}', api_key: x, model: spare-mock, \
         context_window: 9000}}\n"
    );
    world.write("config.yml", format!("{CONFIG}{models}"));
}

/// Returns the error of an account without money, for which a retry does not help.
fn out_of_quota() -> Value {
    let words = json!({"error": {"code": "insufficient_quota", "message": "You exceeded your current quota."}});
    steps([json!({"status": 429}), json!({"bytes": words.to_string()})])
}

fn asked(world: &World) -> Vec<Value> {
    world.asked().iter().map(|body| body["model"].clone()).collect()
}

fn last(frames: &[Frame]) -> &Frame {
    frames.iter().find(|frame| frame.is("done") || frame.is("error")).expect("an end")
}

#[tokio::test]
async fn fallback_lasts_for_the_rest_of_the_work() {
    let look = calls([call("c", "read_file", json!({"path": "workspace/SOUL.md"}))]);
    let world = World::new(script([out_of_quota(), look, says(["From the spare."]), says(["From the first."])])).await;
    configured(&world, "spare");
    let server = world.serve().await;
    let frames = server.chat("s", "one").await;
    assert_eq!(last(&frames).data["content"], "From the spare.");
    let changed = frames.iter().find(|frame| frame.is("model")).expect("the change is told");
    assert_eq!((&changed.data["model"], &changed.data["instead_of"]), (&json!("spare-mock"), &json!("mock")));
    let told = frames.iter().find(|frame| frame.is("status")).expect("and why");
    let message = told.data["message"].as_str().unwrap();
    assert!(message.contains("quota") && message.ends_with("Switching to spare-mock."), "{message}");
    assert_eq!(asked(&world), ["mock", "spare-mock", "spare-mock"]);
    let history = server.settled("s").await;
    assert_eq!(
        (&history["works"][0]["model"], &history["works"][0]["instead_of"]),
        (&json!("spare-mock"), &json!("mock"))
    );
    assert_eq!(world.session("s")["works"][0]["instead_of"], "mock", "it is kept");
    // The kept requests show what was sent to which model.
    let kept = server.get("/api/sessions/s/requests").await.ok();
    let models: Vec<_> = kept["requests"].as_array().unwrap().iter().map(|one| one["model"].clone()).collect();
    assert_eq!(models, ["mock", "spare-mock", "spare-mock"], "{kept}");
    let frames = server.chat("s", "two").await;
    assert_eq!(last(&frames).data["content"], "From the first.");
    assert_eq!(asked(&world).last().unwrap(), "mock");
}

#[tokio::test]
async fn failed_fallback_reports_its_own_error() {
    let world = World::new(script([out_of_quota(), out_of_quota(), says(["Now."])])).await;
    configured(&world, "spare");
    let server = world.serve().await;
    let frames = server.chat("s", "one").await;
    assert_eq!((last(&frames).event.as_str(), &last(&frames).data["code"]), ("error", &json!("quota")));
    assert_eq!(asked(&world), ["mock", "spare-mock"]);
    assert_eq!(last(&server.chat("s", "two").await).data["content"], "Now.", "the session goes on");
}

#[tokio::test]
async fn local_model_never_falls_back_to_remote() {
    let world = World::new(script([out_of_quota()])).await;
    let elsewhere = "models:\n  - {id: far, api_url: 'https://models.invalid/v1', api_key: x}\nfallback_model: far\n";
    world.write("config.yml", format!("{CONFIG}{elsewhere}"));
    let server = world.serve().await;
    let frames = server.chat("s", "one").await;
    assert_eq!(last(&frames).data["code"], "quota", "the error of the first: nobody else was asked");
    assert!(!frames.iter().any(|frame| frame.is("model")), "{frames:#?}");
}

#[tokio::test]
async fn permanent_errors_do_not_fall_back() {
    let wrong_key = steps([json!({"status": 401}), json!({"bytes": "{}"})]);
    let broken = json!({"steps": [{"text": "Half an "}, {"close": true}]});
    for (reply, fallback) in [(wrong_key, "spare"), (broken, "spare"), (out_of_quota(), "nobody")] {
        let world = World::new(script([reply])).await;
        configured(&world, fallback);
        let server = world.serve().await;
        let frames = server.chat("s", "one").await;
        assert!(last(&frames).is("error"), "{frames:#?}");
        assert_eq!(asked(&world), ["mock"]);
    }
}
