//! A form that an MCP server asks for, during works that programs began: each is told where the person answers, none can
//! answer itself, and the work goes on with what the person fills in.

use serde_json::{Value, json};

use crate::acp_editor::Editor;
use crate::mcp::results;
use crate::mcp_client::{McpClient, NEW, OLD};
use crate::mcp_elicitation::with_server;
use crate::openai_client::{Program, Streamed, messages};
use crate::script::{call, calls, says, script};
use crate::socket_client::Socket;
use crate::world::{Server, World};

const TOOL: &str = "mcp__pets__book";

async fn booking() -> World {
    World::new(script([calls([call("a", TOOL, json!({}))]), says(["Booked."])])).await
}

fn content() -> Value {
    json!({"name": "Ada Canary", "seats": 2, "extras": ["food"], "insured": false})
}

/// Fills the form in, as the person does on the page.
async fn fill(server: &Server<'_>) {
    let asked = server.waiting(1).await.remove(0);
    let body = json!({"decision": "approve", "hash": asked["hash"], "content": content()});
    server.answer(asked["id"].as_str().unwrap(), body).await.ok();
}

/// The server of the tool got what the person filled in.
fn assert_filled(world: &World) {
    let answered: Value = serde_json::from_str(&results(world)[0]).unwrap();
    assert_eq!(answered["a"], json!({"action": "accept", "content": content()}));
}

/// Returns the address of the conversation in which the form waits.
async fn page(server: &Server<'_>) -> String {
    let asked = server.waiting(1).await.remove(0);
    format!("http://{}/s/{}", server.address, asked["session_id"].as_str().unwrap())
}

#[tokio::test]
async fn form_during_a_chat_completion_is_filled_on_the_page() {
    let world = booking().await;
    let server = with_server(&world, "modern", "book").await;
    let program = Program::new(&server).await;
    let open = program.open(&json!({"model": "miniclaw", "messages": messages(&["go"])})).await;
    let page = page(&server).await;
    let asked = server.waiting(1).await.remove(0);
    let path = format!("/api/approvals/{}", asked["id"].as_str().unwrap());
    let refused =
        program.post(&path, json!({"decision": "approve", "hash": asked["hash"], "content": content()})).await;
    assert_eq!(refused.refused(), (403, "ask_token".to_owned()));
    fill(&server).await;
    let streamed = Streamed::parse(&open.body_text().await);
    assert!(streamed.thoughts.contains(&page) && streamed.thoughts.contains(TOOL), "{streamed:?}");
    assert!(!streamed.thoughts.contains("travels"), "the form is for the person: {streamed:?}");
    assert_eq!(streamed.text, "Booked.");
    assert_filled(&world);
}

#[tokio::test]
async fn form_during_a_response_is_filled_on_the_page() {
    let world = booking().await;
    let server = with_server(&world, "legacy", "book").await;
    let program = Program::new(&server).await;
    let body = json!({"model": "miniclaw", "input": "go", "stream": true}).to_string();
    let request = server.request("POST", "/v1/responses", &program.headers(&[]), body.as_bytes());
    let open = crate::http::open(server.address, &request).await;
    let page = page(&server).await;
    fill(&server).await;
    let text = open.body_text().await;
    assert!(text.contains(&page) && text.contains("Booked.") && text.contains("response.completed"), "{text}");
    assert_filled(&world);
}

#[tokio::test]
async fn form_during_an_mcp_ask_is_filled_on_the_page() {
    for version in [NEW, OLD] {
        let world = booking().await;
        let server = with_server(&world, "modern", "book").await;
        let mut client = McpClient::new(&server, version).await;
        client.capabilities = json!({"elicitation": {"form": {}, "url": {}}});
        // Who can open pages is told at once, and repeats the request to wait.
        let asked = if version == NEW { json!({"message": "go"}) } else { json!({"message": "go", "wait": 0}) };
        let told = client.call("ask", asked.clone()).await;
        let page = page(&server).await;
        assert!(told.to_string().contains(&page), "{told}");
        assert!(!told.to_string().contains("travels"), "the form is for the person: {told}");
        let params = json!({"name": "ask", "arguments": asked, "_meta": {"progressToken": 1},
                            "requestState": told["requestState"],
                            "inputResponses": {"approval": {"action": "accept", "content": content()}}});
        let waits = if version == NEW { Some(client.open("tools/call", params).await) } else { None };
        assert_eq!(server.waiting(1).await.len(), 1, "what the client says is no answer");
        fill(&server).await;
        let answer = match waits {
            Some(waits) => waits.body_text().await,
            // The same request again gets the answer, also when it has ended.
            None => client.call("ask", asked).await.to_string(),
        };
        assert!(answer.contains("Booked."), "{answer}");
        assert_filled(&world);
        assert_eq!(server.get("/api/sessions").await.ok()["sessions"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn form_is_not_answered_over_the_socket_without_the_page() {
    let world = booking().await;
    let server = with_server(&world, "modern", "book").await;
    let mut socket = Socket::open(&server, "?session_id=s").await;
    socket.send(json!({"type": "USER_MESSAGE", "data": {"content": "go"}})).await;
    let question = socket.until("APPROVAL_REQUEST").await.pop().unwrap()["data"].clone();
    assert_eq!(question["shown"]["elicitation"]["server"], "pets", "{question}");
    let approve = json!({"request_id": question["request_id"], "approved": true});
    assert_eq!(socket.asked("APPROVAL_RESPONSE", approve.clone()).await["data"]["code"], "no_secret");
    // Whoever has the page's secret still has to fill the form in.
    let hello = json!({"secret": server.secret().await});
    assert_eq!(socket.asked("HELLO", hello).await["data"]["may_answer"], true);
    assert_eq!(socket.asked("APPROVAL_RESPONSE", approve).await["data"]["code"], "form_needed");
    fill(&server).await;
    let result = socket.until("RESULT").await.pop().unwrap();
    assert_eq!((&result["data"]["stop_reason"], &result["data"]["content"]), (&json!("done"), &json!("Booked.")));
    assert_filled(&world);
}

#[tokio::test]
async fn form_in_an_editor_is_filled_on_the_page() {
    let world = booking().await;
    let server = with_server(&world, "modern", "book").await;
    let folder = tempfile::tempdir().unwrap();
    let mut editor = Editor::greeted(&world).await;
    let session = editor.session(folder.path()).await;
    let prompt = editor.prompt(&session, "go");
    let question = editor.until("session/request_permission").await;
    editor.choose(&question, "home");
    // The call itself is asked about in the editor, as every one there.
    let question = editor.until("session/request_permission").await;
    editor.choose(&question, "once");
    let question = editor.until("session/request_permission").await;
    let options = question["params"]["options"].as_array().unwrap();
    let kinds: Vec<&str> = options.iter().map(|option| option["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["reject_once"], "{question}");
    let page = page(&server).await;
    assert!(question["params"]["toolCall"].to_string().contains(&page), "{question}");
    // An editor that answers what it was not offered has answered nothing.
    editor.choose(&question, "once");
    assert_eq!(server.waiting(1).await.len(), 1);
    fill(&server).await;
    assert_eq!(editor.answer(prompt).await["result"]["stopReason"], "end_turn");
    assert_eq!(editor.text("agent_message_chunk"), "Booked.");
    assert_filled(&world);
    editor.quit().await;
}
