use super::*;
use serde_json::json;

fn parsed(value: Value) -> Result<ChatRequest, ApiError> {
    parse(value.to_string().as_bytes())
}

fn sentence(value: Value) -> String {
    parsed(value).expect_err("must be refused").to_string()
}

#[test]
fn defaults_match_readme() {
    let r = parsed(json!({"messages": [{"role": "user", "content": "hi"}], "frequency_penalty": 1, "x": {}})).unwrap();
    assert_eq!(r.sampling, Sampling { temperature: 0.3, top_p: 0.95, seed: 0x5eed, repeat_penalty: 1.05 });
    assert_eq!(r.max_tokens, 1024);
    assert_eq!(r.delivery, Delivery::Single);
    assert_eq!(r.format, Format::Free);
    assert_eq!(r.tool_choice, ToolChoice::None);
}

#[test]
fn content_accepts_parts_and_null() {
    let r = parsed(json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "text"}]}))
    .unwrap();
    assert_eq!(r.messages[0].text, "ab");
    assert_eq!(r.messages[1].calls[0].name, "read");
    assert_eq!(r.messages[2].tool_call_id, "c1");
}

#[test]
fn image_error_names_the_field() {
    let s = sentence(json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}));
    assert!(s.contains("image_url"), "{s}");
}

#[test]
fn tool_choice_requires_an_offered_tool() {
    let tools =
        json!([{"type": "function", "function": {"name": "a"}}, {"type": "function", "function": {"name": "b"}}]);
    let m = json!([{"role": "user", "content": "x"}]);
    let choice = |c: Value| parsed(json!({"messages": m, "tools": tools, "tool_choice": c})).map(|r| r.tool_choice);
    assert_eq!(choice(Value::Null), Ok(ToolChoice::Auto));
    assert_eq!(choice(json!("required")), Ok(ToolChoice::Required));
    assert_eq!(choice(json!({"type": "function", "function": {"name": "b"}})), Ok(ToolChoice::Only(1)));
    assert!(choice(json!({"type": "function", "function": {"name": "c"}})).is_err());
    assert!(choice(json!("perhaps")).is_err());
}

#[test]
fn invalid_value_error_names_the_field() {
    let m = json!([{"role": "user", "content": "x"}]);
    assert!(sentence(json!({"messages": m, "temperature": 9})).contains("temperature"));
    assert!(sentence(json!({"messages": m, "max_tokens": 0})).contains("max_tokens"));
    assert!(sentence(json!({"messages": []})).contains("messages"));
    assert!(sentence(json!({"messages": [{"role": "narrator", "content": "x"}]})).contains("narrator"));
    assert!(sentence(json!({"messages": m, "response_format": {"type": "json_schema"}})).contains("schema"));
    let twice = json!([{"function": {"name": "a"}}, {"function": {"name": "a"}}]);
    assert!(sentence(json!({"messages": m, "tools": twice})).contains("two tools"));
    let spaced = json!([{"function": {"name": "a b"}}]);
    assert!(sentence(json!({"messages": m, "tools": spaced})).contains("a b"));
}

#[test]
fn stream_options_enable_extra_chunks() {
    let r = parsed(json!({"messages": [{"role": "user", "content": "x"}], "stream": true,
        "stream_options": {"include_usage": true}, "return_progress": true, "stop": "END"}))
    .unwrap();
    assert_eq!(r.delivery, Delivery::Stream { usage: true, progress: true });
    assert_eq!(r.stop, vec!["END"]);
}

#[test]
fn prefix_requires_system_message() {
    let ok = json!({"messages": [{"role": "system", "content": "You are M."}]}).to_string();
    assert_eq!(parse_prefix(ok.as_bytes()).unwrap().0, "You are M.");
    let no = json!({"messages": [{"role": "user", "content": "x"}]}).to_string();
    assert!(parse_prefix(no.as_bytes()).is_err());
}
