//! What admins see of the use of people: totals, never contents.

use serde_json::{Value, json};

use crate::people::{Person, admin, ask, get, joined, world};
use crate::people_limits::said;
use crate::world::{Server, eventually};

async fn totals(server: &Server<'_>, admin: &Person, person: &Person) -> Value {
    let data = get(server, admin, "/api/admin/usage").await.ok()["data"].clone();
    data["items"].as_array().unwrap().iter().find(|item| item["id"] == person.id.as_str()).unwrap().clone()
}

#[tokio::test]
async fn admin_sees_totals_of_people_and_no_contents() {
    let world = world("prices: {mock: {input: 1000, output: 2000, currency: EUR}}").await;
    let server = world.serve().await;
    let ada = admin(&server).await;
    let bob = joined(&server, &ada, "Bob").await;
    ask(&server, &bob, ("POST", "/api/sessions"), json!({"title": "A secret plan"})).await.ok();
    ask(&server, &bob, ("POST", "/api/projects"), json!({"name": "Hidden project"})).await.ok();
    assert_eq!(said(&server, &bob, "b").await["stop_reason"], "done");
    let own = get(&server, &bob, "/api/stats/tokens").await.ok()["data"].clone();
    let his = totals(&server, &ada, &bob).await;
    for period in ["day", "week", "month"] {
        for field in ["prompt_tokens", "completion_tokens", "total_tokens", "costs", "unpriced_tokens", "works"] {
            assert_eq!(his[period][field], own[field], "{period} {field}");
        }
    }
    assert!(his["day"]["total_tokens"].as_u64().unwrap() > 0, "{his}");
    assert!(his["last_login_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!((&his["conversations"], &his["projects"]), (&json!(2), &json!(1)));
    assert_eq!(totals(&server, &ada, &ada).await["day"]["total_tokens"], 0, "each their own");
    eventually("the home is measured", async || !totals(&server, &ada, &bob).await["home"].is_null()).await;
    let home = totals(&server, &ada, &bob).await["home"].clone();
    assert!(home["bytes"].as_u64().unwrap() > 0 && home["is_partial"] == false, "{home}");

    let csv = get(&server, &ada, "/api/admin/usage.csv").await;
    assert!(csv.head.header("content-type").unwrap().starts_with("text/csv"));
    let text = csv.text();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert!(lines.len() == 3 && lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
    let at =
        |name: &str| lines[0].iter().position(|column| *column == name).unwrap_or_else(|| panic!("{name}: {text}"));
    let row = lines.iter().find(|line| line[0] == bob.id).unwrap();
    assert_eq!(row[at("username")], "Bob");
    assert_eq!(row[at("month_total_tokens")], own["total_tokens"].to_string());
    let cost: f64 = row[at("day_cost_EUR")].parse().unwrap();
    assert_eq!(json!(cost), own["costs"][0]["amount"]);

    let shown = get(&server, &ada, "/api/admin/usage").await.text() + &text;
    for content in ["secret", "Hidden", "Fine."] {
        assert!(!shown.contains(content), "{shown}");
    }
    for path in ["/api/admin/usage", "/api/admin/usage.csv"] {
        assert_eq!(get(&server, &bob, path).await.status(), 403, "{path}");
        assert_eq!(server.get(path).await.status(), 401, "{path}");
    }
    // What is read is what is there: the log of a home that nobody has open.
    drop(server);
    let server = world.serve().await;
    assert_eq!(totals(&server, &ada, &bob).await["month"], his["month"]);
}
