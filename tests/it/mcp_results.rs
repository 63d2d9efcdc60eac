//! What a conversation gets of the results of MCP servers, besides text.

use serde_json::{Value, json};

use crate::mcp::results;
use crate::mcp_elicitation::with_server;
use crate::pictures::world;
use crate::script::{call, calls, says};
use crate::world::World;

async fn calling(tool: &str) -> World {
    world([calls([call("a", &format!("mcp__pets__{tool}"), json!({}))]), says(["Yes."])]).await
}

#[tokio::test]
async fn picture_of_a_result_reaches_a_model_that_sees() {
    let world = calling("picture").await;
    let server = with_server(&world, "modern", "picture").await;
    server.chat("s", "go").await;
    server.settled("s").await;
    let read = results(&world).remove(0);
    let lines: Vec<&str> = read.lines().collect();
    assert!(lines[1].starts_with("[image 1 × 1, image/png, 70 bytes, in scratch/mcp-results/pets-"), "{read}");
    assert_eq!(
        lines[2..],
        [
            "[image image/png, about 6 bytes, not shown: it is no PNG, JPEG, WebP or GIF picture]",
            "[audio audio/wav, about 6 bytes, not played]",
            "[link to the resource The first pet at https://pets.example/1, not followed]",
            "[resource pets://2]",
            "a small dog",
        ]
    );
    let messages = world.asked().pop().unwrap()["messages"].take();
    let parts = messages.as_array().unwrap().iter().filter_map(|message| message["content"].as_array()).flatten();
    let seen: Vec<&str> = parts.filter_map(|part| part["image_url"]["url"].as_str()).collect();
    assert!(seen.len() == 1 && seen[0].starts_with("data:image/png;base64,iVBORw0KGgo"), "{messages}");
    let path = lines[1].rsplit_once("in ").unwrap().1.trim_end_matches(']');
    assert_eq!(std::fs::read(world.path(path)).unwrap().len(), 70);
    let data = &world.session("s")["messages"][1]["tool_calls"][0]["result"]["data"];
    assert_eq!(data["pictures"][path]["picture"]["width"], 1, "{data}");
}

#[tokio::test]
async fn values_of_an_entry_are_hidden_wherever_they_are_said() {
    let world = calling("keys").await;
    let server = with_server(&world, "modern", "keys").await;
    let mut stream = server.open_chat("s", "go").await;
    let mut frames = stream.until("tool_output").await;
    std::fs::write(world.path("storage/mcp/pets/seen"), "x").unwrap();
    frames.extend(stream.rest().await);
    server.settled("s").await;
    let read: Value = serde_json::from_str(&results(&world)[0]).unwrap();
    assert_eq!(read, json!({"[secret PET]": 1, "number": "[secret NUMBER]"}), "names of fields and numbers too");
    let shown: Vec<String> = frames.iter().map(|frame| frame.data.to_string()).collect();
    assert!(shown.iter().any(|text| text.contains("with [secret PET]")), "progress is shown: {shown:?}");
    assert!(!shown.iter().any(|text| text.contains("cat-91c4") || text.contains("7391046285")));
    assert!(!world.session("s").to_string().contains("cat-91c4"));
}
