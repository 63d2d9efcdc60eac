//! Deferred tools through the whole loop: found, called, decided on and recorded as the tools that they are.

use serde_json::{Value, json};

use crate::script::{call, calls, says, script};
use crate::world::{ASKING, World};

const ON: &str = "tools: {calculator: true, weather: true, web_search: true}\n";

fn uses(id: &str, name: &str, arguments: Value) -> Value {
    call(id, "use_tool", json!({"name": name, "arguments": arguments}))
}

/// Returns the results that the last request contains.
fn results(world: &World) -> Vec<String> {
    let messages = world.asked().pop().expect("a request")["messages"].take();
    let tools = messages.as_array().unwrap().iter().filter(|message| message["role"] == "tool").cloned();
    tools.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn found_tool_is_called_and_recorded_under_its_name() {
    let replies = [
        calls([call("a", "find_tools", json!({"query": "calculate units"}))]),
        calls([uses("b", "calculator", json!({"expression": "2^64 + 0.5"}))]),
        calls([call("c", "calculator", json!({"expression": "1 + 1"}))]),
        says(["Yes."]),
    ];
    let world = World::new(script(replies)).await;
    world.write("config.yml", format!("find_local_models: false\n{ON}"));
    let server = world.serve().await;
    server.chat("s", "go").await;
    server.settled("s").await;
    let results = results(&world);
    assert!(results[0].starts_with(r#"{"name":"calculator""#) && results[0].contains("expression"), "{}", results[0]);
    assert_eq!(results[1..], ["= 18446744073709551616.5", "= 2"]);
    let session = world.session("s");
    let recorded: Vec<&Value> =
        session["messages"].as_array().unwrap().iter().flat_map(|m| m["tool_calls"].as_array()).flatten().collect();
    let names: Vec<&str> = recorded.iter().map(|call| call["tool"].as_str().unwrap()).collect();
    assert_eq!(names, ["find_tools", "calculator", "calculator"]);
    assert_eq!(recorded[1]["arguments"], json!({"expression": "2^64 + 0.5"}));
    assert_eq!(recorded[1]["result"]["operationCode"], json!(["2^64 + 0.5"]));
    let operations = server.get("/api/sessions/s/operations").await.ok().to_string();
    assert!(operations.contains("calculator") && !operations.contains("use_tool"), "{operations}");
}

#[tokio::test]
async fn policy_and_question_are_those_of_the_inner_tool() {
    let replies = [calls([uses("a", "weather", json!({"place": "Oslo"}))]), says(["Yes."])];
    let world = World::new(script(replies)).await;
    world.write("config.yml", format!("{ASKING}{ON}"));
    let server = world.serve().await;
    let stream = server.open_chat("s", "go").await;
    let asked = server.waiting(1).await.remove(0);
    assert_eq!((&asked["tool"], &asked["effect"]), (&json!("weather"), &json!("network")), "{asked}");
    assert_eq!(asked["arguments"], json!({"place": "Oslo"}));
    assert_eq!(asked["shown"]["command"], "weather: Oslo");
    server.decide(&asked, "deny").await;
    stream.rest().await;
    assert!(results(&world)[0].contains("denied by the user"), "{:?}", results(&world));
}

#[tokio::test]
async fn denied_or_unfit_inner_call_does_not_run() {
    let replies = [
        calls([uses("a", "calculator", json!({"expression": "1"})), uses("b", "weather", json!({"place": 7}))]),
        calls([
            uses("c", "terminal", json!({"command": "touch made"})),
            uses("d", "web_search", json!({"query": "x"})),
        ]),
        says(["Yes."]),
    ];
    let world = World::new(script(replies)).await;
    let rules = "approvals: {effects: {network: deny}, tools: {calculator: deny, terminal: deny}}\n";
    world.write("config.yml", format!("find_local_models: false\n{ON}{rules}"));
    let server = world.serve().await;
    server.chat("s", "go").await;
    server.settled("s").await;
    let results = results(&world);
    for (result, sign) in results.iter().zip([
        "the configuration (approvals) denies calculator",
        "wrong arguments for weather: \"place\" must be a string",
        "the configuration (approvals) denies terminal",
        "the configuration (approvals) denies web_search",
    ]) {
        assert!(result.contains(sign), "{result}");
    }
    assert!(!world.path("scratch/made").exists());
}

#[tokio::test]
async fn tools_are_listed_and_switched() {
    let world = World::new(script([says(["Yes."]), says(["Yes."])])).await;
    let server = world.serve().await;
    let listed = server.get("/api/tools").await.ok();
    assert_eq!(listed["code"], 0);
    let tool = |listed: &Value, name: &str| {
        let tools = listed["data"]["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let calculator = tool(&listed, "calculator");
    assert_eq!((&calculator["category"], &calculator["enabled"]), (&json!("data"), &json!(false)));
    assert_eq!(calculator["schema"]["required"], json!(["expression"]));
    assert_eq!(tool(&listed, "terminal")["enabled"], true);
    assert_eq!(listed["data"]["total"], listed["data"]["tools"].as_array().unwrap().len());
    for missing in ["find_tools", "use_tool"] {
        assert!(!listed.to_string().contains(&format!("\"name\":\"{missing}\"")), "{missing}");
    }
    server
        .as_page("PATCH", "/api/settings", json!({"set": {"tools.terminal": false, "tools.calculator": true}}))
        .await
        .ok();
    let listed = server.get("/api/tools").await.ok();
    assert_eq!(
        (&tool(&listed, "calculator")["enabled"], &tool(&listed, "terminal")["enabled"]),
        (&json!(true), &json!(false))
    );
    server.chat("s", "go").await;
    let offered = world.asked().pop().unwrap()["tools"].to_string();
    assert!(offered.contains("find_tools") && !offered.contains("\"terminal\""), "{offered}");
}

#[tokio::test]
async fn every_tool_of_a_home_has_a_switch() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let settings = server.get("/api/settings").await.ok().to_string();
    for tool in server.get("/api/tools").await.ok()["data"]["tools"].as_array().unwrap() {
        let key = format!("\"tools.{}\"", tool["name"].as_str().unwrap());
        assert!(settings.contains(&key) && !tool["category"].is_null(), "{key}");
    }
}
