//! The usage of models: what it costs, by day, model and project, its log, and the limits of the server.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::crash::{AcknowledgedState, Rng, watch, works};
use crate::http::Answer;
use crate::script::{always, call, calls, says, script, steps};
use crate::world::{CONFIG, Server, World};

const TOKENS: &str = "/api/stats/tokens";
const LOG: &str = "sessions/usage.jsonl";

/// Returns the data of a response that succeeded.
fn data(answer: &Answer) -> Value {
    let body = answer.ok();
    assert_eq!(body["code"], 0, "{body}");
    body["data"].clone()
}

async fn stats(server: &Server<'_>, query: &str) -> Value {
    data(&server.get(&format!("{TOKENS}{query}")).await)
}

/// Returns a reply whose provider counts these tokens.
fn counted(usage: Value) -> Value {
    steps([json!({"text": "Yes."}), json!({"usage": usage}), json!({"finish": "stop"})])
}

fn usage(prompt: u64, completion: u64) -> Value {
    json!({"prompt_tokens": prompt, "completion_tokens": completion})
}

async fn said(server: &Server<'_>, session: &str, text: &str) -> Value {
    let frames = server.chat(session, text).await;
    server.settled(session).await;
    frames.iter().find(|frame| frame.is("done") || frame.is("error")).unwrap().data.clone()
}

#[tokio::test]
async fn usage_is_per_day_and_model_and_branches_count_once() {
    // 23:30 UTC on 2026-11-21, which is already 2026-11-22 on the reader's clock.
    let late = 1_795_303_800.0;
    let work = |id: &str, at: f64, model: &str, input: u64, cached: u64| {
        let usage = json!({"input_tokens": input, "output_tokens": 10, "cached_tokens": cached});
        json!({"work_id": id, "created_at": at, "model": model, "dialogues": 1, "usage": usage, "finished_at": at,
            "outcome": {"stop_reason": "done"}})
    };
    let file = |works: Vec<Value>| {
        json!({"title": "Old", "created_at": 1.0, "updated_at": 1.0, "messages": [], "works": works}).to_string()
    };
    let (first, second) = (work("w1", late, "big", 1000, 600), work("w2", late - 86_400.0, "small", 50, 0));
    let world = World::new(script([always(says(["Yes."]))]))
        .await
        .with_file("sessions/one.json", &file(vec![first.clone(), second]))
        .with_file("sessions/branch.json", &file(vec![first]));
    let server = world.serve().await;
    let range = "?from=2026-11-01&to=2026-11-22";
    let report = stats(&server, range).await;
    let item = |date: &str, model: &str, prompt: u64, cached: u64| {
        json!({"date": date, "model": model, "works": 1, "prompt_tokens": prompt, "completion_tokens": 10,
            "total_tokens": prompt + 10, "cached_tokens": cached, "thinking_tokens": 0, "costs": [],
            "estimated_tokens": 0, "unpriced_tokens": prompt + 10})
    };
    let items = [item("2026-11-20", "small", 50, 0), item("2026-11-21", "big", 1000, 600)];
    assert_eq!(report["items"], json!(items));
    let totals = ["prompt_tokens", "completion_tokens", "total_tokens"].map(|name| report[name].as_u64().unwrap());
    assert_eq!(totals, [1050, 20, 1070]);
    assert_eq!((&report["period"], &report["time_zone"]), (&json!("daily"), &json!("UTC")));

    let dates = |report: &Value| -> Vec<String> {
        let items = report["items"].as_array().unwrap().iter();
        items.map(|item| item["date"].as_str().unwrap().to_owned()).collect()
    };
    let ahead = stats(&server, &format!("{range}&offset_minutes=60")).await;
    assert_eq!(
        (dates(&ahead), &ahead["time_zone"]),
        (vec!["2026-11-21".into(), "2026-11-22".into()], &json!("UTC+01:00"))
    );
    let weekly = stats(&server, &format!("{range}&period=weekly")).await;
    assert_eq!(dates(&weekly), ["2026-11-16", "2026-11-16"]);
    let monthly = stats(&server, &format!("{range}&period=monthly&by=project")).await;
    assert_eq!(dates(&monthly), ["2026-11-01", "2026-11-01"]);
    assert_eq!(monthly["items"][0]["project_id"], Value::Null);
    assert!(monthly["items"][0].as_object().unwrap().contains_key("project_id"));

    for (query, reason) in [
        ("?period=yearly", "bad_period"),
        ("?period=", "bad_period"),
        ("?by=person", "bad_by"),
        ("?from=2026-13-01", "bad_day"),
        ("?from=2026-02-01&to=2026-01-01", "bad_day"),
        ("?offset_minutes=1441", "bad_offset"),
        ("?offset_minutes=-2147483648", "bad_offset"),
    ] {
        for path in [TOKENS.to_owned(), format!("{TOKENS}.csv")] {
            let answer = server.get(&format!("{path}{query}")).await;
            assert_eq!((answer.status(), &answer.json()["code"]), (400, &json!(400)), "{path}{query}");
            assert_eq!(answer.json()["reason"], reason, "{path}{query}");
        }
    }

    server.chat("new", "hi").await;
    server.settled("new").await;
    let list = server.get("/api/sessions").await.ok();
    let tokens = |id: &str| {
        list["sessions"].as_array().unwrap().iter().find(|session| session["id"] == id).unwrap()["tokens"].clone()
    };
    assert_eq!((tokens("new"), tokens("one"), tokens("branch")), (json!(2), json!(1070), json!(1010)));
    assert_eq!(stats(&server, "?from=2026-11-01").await["works"], 3);

    let asked = server.get("/api/sessions/new/history").await.ok()["messages"][0]["id"].clone();
    server.post("/api/sessions/new/rewind", json!({"message_id": asked})).await.ok();
    server.chat("new", "hello").await;
    server.settled("new").await;
    let list = server.get("/api/sessions").await.ok();
    assert_eq!(list["sessions"][0]["tokens"], 4, "the branch that was put aside counts: {list}");
    assert_eq!(stats(&server, "?from=2026-11-01").await["works"], 4);
}

#[tokio::test]
async fn known_prices_are_added_up_and_unknown_ones_are_not_0() {
    let details = json!({"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400},
        "completion_tokens_details": {"reasoning_tokens": 30}});
    let mut told = usage(50, 50);
    told["cost"] = json!(0.25);
    let world = World::new(script([counted(details), counted(told), counted(usage(7, 3))])).await;
    let priced = format!("{CONFIG}prices: {{mock: {{input: 1, cached_input: 0.1, output: 10, currency: EUR}}}}\n");
    world.write("config.yml", &priced);
    let server = world.serve().await;
    said(&server, "a", "one").await;
    let report = stats(&server, "").await;
    assert_eq!(report["costs"], json!([{"amount": 0.00164, "currency": "EUR"}]));
    assert_eq!(
        (&report["unpriced_tokens"], &report["thinking_tokens"], &report["cached_tokens"]),
        (&json!(0), &json!(30), &json!(400))
    );
    server.terminate().await;

    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    said(&server, "a", "two").await;
    said(&server, "b", "three").await;
    let report = stats(&server, "").await;
    // The provider says what the second one cost; nobody says it of the third.
    assert_eq!(report["costs"], json!([{"amount": 0.00164, "currency": "EUR"}, {"amount": 0.25, "currency": "USD"}]));
    assert_eq!((&report["works"], &report["unpriced_tokens"]), (&json!(3), &json!(10)));

    let csv = server.get(&format!("{TOKENS}.csv")).await;
    assert_eq!(csv.head.header("content-type"), Some("text/csv; charset=utf-8"));
    assert!(csv.head.header("content-disposition").unwrap().contains("tokens-daily-"));
    let text = csv.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "date,model,project_id,works,prompt_tokens,cached_tokens,completion_tokens,thinking_tokens,total_tokens,\
         estimated_tokens,unpriced_tokens,cost_EUR,cost_USD"
    );
    let day = report["items"][0]["date"].as_str().unwrap();
    assert_eq!(lines[1..], [format!("{day},mock,,3,1057,400,153,30,1210,0,10,0.00164,0.25")]);
}

#[tokio::test]
async fn works_count_in_the_project_they_began_in() {
    let world = World::new(script([always(counted(usage(5, 5)))])).await;
    let server = world.serve().await;
    said(&server, "a", "one").await;
    server.put("/api/sessions/a/project", json!({"project_id": "scratch"})).await.ok();
    said(&server, "a", "two").await;
    server.put("/api/sessions/a/project", json!({"project_id": null})).await.ok();
    let items = stats(&server, "?by=project").await["items"].clone();
    let projects: Vec<_> = items.as_array().unwrap().iter().map(|item| (&item["project_id"], &item["works"])).collect();
    assert_eq!(projects, [(&Value::Null, &json!(1)), (&json!("scratch"), &json!(1))]);
    assert_eq!(stats(&server, "").await["items"].as_array().unwrap().len(), 1);
}

/// Returns the tokens of each ended work in a session's file.
fn ended_works(session: &Value) -> BTreeMap<String, u64> {
    let works = session["works"].as_array().into_iter().flatten().filter(|work| !work["finished_at"].is_null());
    let tokens = |work: &Value, name: &str| work["usage"][name].as_u64().unwrap_or_default();
    works
        .map(|work| {
            let used = tokens(work, "input_tokens") + tokens(work, "output_tokens");
            (work["work_id"].as_str().unwrap().to_owned(), used)
        })
        .collect()
}

#[tokio::test]
async fn kill_neither_loses_nor_doubles_a_work() {
    let kills = 12;
    let world = World::new(works(2 * kills)).await;
    let mut rng = Rng(20_261_126);
    for round in 0..kills {
        let server = world.serve().await;
        let message = json!({"message": format!("message {round}.")});
        let started = server.post("/api/sessions/s/messages", message).await.ok();
        watch(&server, &started, rng.below(60), &mut AcknowledgedState::default()).await;
        // Dropping the server kills it.
    }
    let server = world.serve().await;
    server.settled("s").await;
    let report = stats(&server, "").await;
    let works = ended_works(&world.session("s"));
    assert!(works.len() > 3, "{works:?}");
    assert_eq!(
        (report["works"].as_u64(), report["total_tokens"].as_u64()),
        (Some(works.len() as u64), Some(works.values().sum()))
    );
    server.terminate().await;
    let log = world.read(LOG);
    assert_eq!(log.lines().count(), works.len(), "one line a work: {log}");

    // The same answers without the log, with the beginning of a line, and with a damaged line.
    for damage in [None, Some(log[..log.len() - 9].to_owned()), Some(log.replacen('{', "!", 1))] {
        match damage {
            Some(text) => world.write(LOG, text),
            None => std::fs::remove_file(world.path(LOG)).unwrap(),
        }
        let server = world.serve().await;
        assert_eq!(stats(&server, "").await, report);
        server.terminate().await;
        assert_eq!(world.read(LOG).lines().count(), works.len());
    }
}

#[tokio::test]
async fn deleted_conversations_still_count() {
    let world = World::new(script([always(counted(usage(5, 5)))])).await;
    let server = world.serve().await;
    said(&server, "a", "one").await;
    server.delete("/api/sessions/a").await.ok();
    let report = stats(&server, "").await;
    assert_eq!(report["total_tokens"], 10);
    server.terminate().await;
    std::fs::remove_file(world.path(LOG)).unwrap();
    assert_eq!(stats(&world.serve().await, "").await, report);
}

#[tokio::test]
async fn request_above_a_limit_is_refused_before_it_is_sent() {
    let read = calls([call("c", "read_file", json!({"path": "workspace/SOUL.md"}))]);
    let mut read = read["steps"].as_array().unwrap().clone();
    read.insert(0, json!({"usage": usage(400_000, 100_000)}));
    let world = World::new(script([steps(read), always(says(["Yes."]))])).await;
    world.write(
        "config.yml",
        format!("{CONFIG}limits: {{day: {{tokens: 500000}}, month: {{cost: 1, currency: EUR}}}}\n"),
    );
    let server = world.serve().await;
    // The first exchange fits and uses the limit up, so the second one of the same work is refused.
    let end = said(&server, "a", "one").await;
    assert_eq!((&end["code"], &end["retryable"]), (&json!("usage_limit"), &json!(true)), "{end}");
    let about = &end["about"];
    assert_eq!((&about["key"], &about["used"]), (&json!("day.tokens"), &json!("500000")));
    assert!(end["error"].as_str().unwrap().contains("limits.day.tokens"), "{end}");
    let end = said(&server, "b", "another conversation").await;
    assert_eq!(end["code"], "usage_limit");
    assert_eq!(world.asked().len(), 1);
    let limits = stats(&server, "").await["limits"].clone();
    assert_eq!(
        limits,
        json!([
            {"period": "day", "tokens": 500_000, "used_tokens": 500_000, "cost": null, "used_cost": null,
             "set_by": "server"},
            {"period": "month", "tokens": null, "used_tokens": 500_000, "cost": {"amount": 1.0, "currency": "EUR"},
             "used_cost": {"amount": 0.0, "currency": "EUR"}, "set_by": "server"},
        ])
    );
    server.terminate().await;

    // A limit holds after a restart and without the log, and ends when the admin raises it.
    std::fs::remove_file(world.path(LOG)).unwrap();
    let server = world.serve().await;
    assert_eq!(said(&server, "c", "again").await["code"], "usage_limit");
    server.terminate().await;
    world.write("config.yml", format!("{CONFIG}limits: {{day: {{tokens: 1000000}}}}\n"));
    let server = world.serve().await;
    assert_eq!(said(&server, "d", "again").await["stop_reason"], "done");
}

#[tokio::test]
async fn own_limit_asks_before_an_answer_goes_on() {
    let world = World::new(script([counted(usage(300_000, 100_000)), always(says(["Yes."]))])).await;
    let server = world.serve().await;
    let set = async |limits: Value| server.put("/api/stats/limits", json!({"limits": limits})).await;
    let own = json!({"day": {"tokens": 402_000}, "month": {"cost": 5, "currency": "EUR"}});
    let limits = data(&set(own).await)["limits"].clone();
    assert_eq!((&limits[0]["set_by"], &limits[0]["tokens"]), (&json!("person"), &json!(402_000)));
    assert_eq!(limits[1]["cost"], json!({"amount": 5.0, "currency": "EUR"}));
    for bad in [json!([]), json!({"day": []}), json!({"day": {"tokens": -1}}), json!({"day": {"cost": -1}}), json!(5)] {
        let refused = set(bad.clone()).await;
        assert!((400..=422).contains(&refused.status()), "{bad}: {}", refused.text());
    }
    assert_eq!(said(&server, "a", "one").await["stop_reason"], "done");
    let asked = said(&server, "a", "two").await;
    assert_eq!((&asked["code"], &asked["about"]["key"]), (&json!("own_usage_limit"), &json!("own.day.tokens")));
    assert!(asked["error"].as_str().unwrap().contains("Nothing was sent"), "{asked}");
    assert_eq!(world.asked().len(), 1);

    // The question outlives the server. Trying again asks again; going on sends the request.
    server.terminate().await;
    let server = world.serve().await;
    for (query, end) in [("", json!("own_usage_limit")), ("?beyond_own_limit=true", json!(null))] {
        server.post(&format!("/api/sessions/a/continue{query}"), json!({})).await.ok();
        server.settled("a").await;
        let session = world.session("a");
        assert_eq!(session["works"][1]["outcome"]["code"], end, "{query}: {session}");
    }
    assert_eq!(world.asked().len(), 2);
    // It was for that answer alone.
    assert_eq!(said(&server, "a", "three").await["code"], "own_usage_limit");
    data(&server.put("/api/stats/limits", json!({"limits": null})).await);
    assert_eq!(said(&server, "a", "four").await["stop_reason"], "done");
}

#[tokio::test]
async fn stopped_response_is_estimated_and_uses_up_the_limit() {
    let held = steps([json!({"thinking": "Let me see."}), json!({"text": "One two three."}), json!({"gate": "never"})]);
    let world = World::new(script([held, always(says(["Yes."]))])).await;
    let config = format!("{CONFIG}prices: {{mock: {{input: 1, output: 2, currency: EUR}}}}\n");
    world.write("config.yml", format!("{config}limits: {{day: {{tokens: 10000}}}}\n"));
    let server = world.serve().await;
    let mut stream = server.open_chat("a", "hi").await;
    stream.until("token").await;
    server.post("/api/sessions/a/interrupt", json!({})).await.ok();
    let frames = stream.rest().await;
    assert_eq!(frames.iter().find(|frame| frame.is("done")).unwrap().data["stop_reason"], "interrupted");
    server.settled("a").await;
    let report = stats(&server, "").await;
    let number = |name: &str| report[name].as_u64().unwrap();
    assert!(number("prompt_tokens") > 500, "the whole prompt counts: {report}");
    assert_eq!((number("completion_tokens"), number("unpriced_tokens")), (7, 0), "{report}");
    assert_eq!((number("estimated_tokens"), number("works")), (number("total_tokens"), 1));
    assert!(report["costs"][0]["amount"].as_f64().unwrap() > 0.0);
    assert_eq!(report["limits"][0]["used_tokens"], report["total_tokens"]);
    let works = world.session("a")["works"].clone();
    assert_eq!(works[0]["usage"]["estimated_tokens"], report["total_tokens"]);

    // An answer that the provider counts itself is not estimated.
    said(&server, "b", "hi").await;
    let counted = stats(&server, "").await;
    let both = (&counted["estimated_tokens"], &counted["works"]);
    assert_eq!(both, (&report["estimated_tokens"], &json!(2)), "{counted}");
}

#[tokio::test]
async fn usage_of_imported_conversations_uses_up_no_limit() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
    let work = json!({"work_id": "w", "created_at": now, "model": "m", "finished_at": now, "dialogues": 1,
        "usage": {"input_tokens": u64::MAX, "output_tokens": 0}, "outcome": {"stop_reason": "done"}});
    let file = json!({"title": "Theirs", "created_at": 1.0, "updated_at": 1.0, "messages": [], "works": [work]});
    let world = World::new(script([always(says(["Yes."]))])).await;
    world.write("config.yml", format!("{CONFIG}limits: {{day: {{tokens: 100000}}}}\n"));
    // Files that are there at the first start of a home are its own.
    world.serve().await.terminate().await;
    world.write("sessions/s.json", file.to_string());
    let server = world.serve().await;
    let end = said(&server, "s", "one").await;
    assert_eq!(end["stop_reason"], "done", "{end}");
    assert_eq!(stats(&server, "").await["limits"][0]["used_tokens"], 2);
}
