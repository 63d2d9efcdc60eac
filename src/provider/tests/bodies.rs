//! Tests of the request body for each provider.

use super::*;
use crate::domain::picture::Media;
use crate::domain::{Effect, ToolSpec};

fn client(kind: ProfileKind, model: &str, thinking: Thinking) -> Client {
    let url = Url::parse(kind.default_base_url().unwrap_or("http://127.0.0.1:9/v1")).unwrap();
    let profile = Profile { thinking, ..Profile::new(kind, model) };
    Client::new(Endpoint { profile, model: model.into(), ..endpoint(kind, &url) }).unwrap()
}

/// Three exchanges: one with calls, one without, and a last message that is not answered yet.
fn conversation() -> ModelRequest {
    let call = |id: &str, arguments: &str| CallRequest {
        id: id.into(),
        name: "read_file".into(),
        arguments: arguments.into(),
    };
    let assistant = |content: &str, thinking: &str, calls| ChatMessage::Assistant {
        content: content.into(),
        thinking: (!thinking.is_empty()).then(|| thinking.into()),
        reasoning: None,
        calls,
    };
    let tool = |call_id: &str, content: &str| ChatMessage::Tool { call_id: call_id.into(), content: content.into() };
    ModelRequest {
        messages: vec![
            ChatMessage::System("Be kind.".into()),
            ChatMessage::User("Read.".into()),
            assistant("", "two files", vec![call("c1", "{\"path\": \"a\"}"), call("c2", "{\"path\": \"b")]),
            tool("c1", "A"),
            tool("c2", "not JSON"),
            assistant("", "", vec![call("c3", "")]),
            tool("c3", "C"),
            assistant("Read.", "enough", vec![]),
            ChatMessage::User("Thanks.".into()),
            assistant("", "stopped here", vec![]),
            assistant("Welcome.", "polite", vec![]),
            ChatMessage::User("Bye.".into()),
        ],
        tools: Arc::from([ToolSpec {
            name: "read_file".into(),
            description: "Reads.".into(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
            effect: Effect::Read,
        }]),
        temperature: Some(0.7),
        max_tokens: Some(1_000_000_000),
        form: Default::default(),
    }
}

/// Returns the messages of `conversation` as JSON, with its thoughts under `field` if that is set.
fn messages(field: Option<&str>) -> Value {
    let mut messages = json!([
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Read."},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\": \"a\"}"}},
            {"id": "c2", "type": "function", "function": {
                "name": "read_file", "arguments": "{\"invalid_arguments\":\"{\\\"path\\\": \\\"b\"}"
            }},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "A"},
        {"role": "tool", "tool_call_id": "c2", "content": "not JSON"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c3", "type": "function", "function": {"name": "read_file", "arguments": "{}"}},
        ]},
        {"role": "tool", "tool_call_id": "c3", "content": "C"},
        {"role": "assistant", "content": "Read."},
        {"role": "user", "content": "Thanks."},
        {"role": "assistant", "content": "Welcome."},
        {"role": "user", "content": "Bye."},
    ]);
    if let Some(field) = field {
        messages[2][field] = json!("two files");
        messages[5][field] = json!("");
        messages[7][field] = json!("enough");
    }
    messages
}

/// Returns the whole body: the common part, extended with `fields`.
fn expected(model: &str, echo: Option<&str>, fields: Value) -> Value {
    let mut body = json!({
        "model": model,
        "messages": messages(echo),
        "tools": [{"type": "function", "function": {
            "name": "read_file", "description": "Reads.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
        }}],
        "stream": true,
    });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

#[test]
fn every_profile_sends_supported_fields() {
    use ProfileKind as K;
    use Thinking::{Auto, Off, On};
    let usage = || json!({"include_usage": true});
    let most = 1_000_000_000;
    for (kind, model, thinking, echo, fields) in [
        (
            K::DeepSeek,
            "deepseek-v4-flash",
            Auto,
            Some("reasoning_content"),
            json!({"stream_options": usage(), "max_tokens": 384_000}),
        ),
        (
            K::DeepSeek,
            "deepseek-v4-pro",
            Off,
            Some("reasoning_content"),
            json!({"stream_options": usage(), "max_tokens": 384_000, "temperature": 0.7, "thinking": {"type": "disabled"}}),
        ),
        (
            K::DeepSeek,
            "deepseek-reasoner",
            On,
            Some("reasoning_content"),
            json!({"stream_options": usage(), "max_tokens": 65_536}),
        ),
        (
            K::DeepSeek,
            "deepseek-chat",
            Auto,
            Some("reasoning_content"),
            json!({"stream_options": usage(), "max_tokens": 8_192, "temperature": 0.7}),
        ),
        (
            K::OpenAi,
            "gpt-4.1",
            On,
            None,
            json!({"stream_options": usage(), "max_completion_tokens": 32_768, "temperature": 0.7}),
        ),
        (
            K::OpenAi,
            "gpt-5.5",
            Off,
            None,
            json!({"stream_options": usage(), "max_completion_tokens": 128_000, "reasoning_effort": "none"}),
        ),
        (
            K::OpenAi,
            "gpt-5.6-terra",
            On,
            None,
            json!({"stream_options": usage(), "max_completion_tokens": 128_000, "reasoning_effort": "none"}),
        ),
        (
            K::OpenAi,
            "gpt-5",
            On,
            None,
            json!({"stream_options": usage(), "max_completion_tokens": 128_000, "reasoning_effort": "medium"}),
        ),
        (
            K::OpenAi,
            "o4-mini",
            On,
            None,
            json!({"stream_options": usage(), "max_completion_tokens": 100_000, "reasoning_effort": "medium"}),
        ),
        (
            K::Glm,
            "glm-4.7",
            On,
            Some("reasoning_content"),
            json!({"max_tokens": 131_072, "temperature": 0.7, "thinking": {"type": "enabled"}, "tool_stream": true}),
        ),
        (K::Glm, "glm-4-plus", On, None, json!({"max_tokens": 4_095, "temperature": 0.7})),
        (
            K::Moonshot,
            "kimi-k2.6",
            Off,
            Some("reasoning_content"),
            json!({"stream_options": usage(), "max_completion_tokens": most, "thinking": {"type": "disabled"}}),
        ),
        (
            K::Moonshot,
            "moonshot-v1-8k",
            Auto,
            None,
            json!({"stream_options": usage(), "max_completion_tokens": most, "temperature": 0.7}),
        ),
        (
            K::Qwen,
            "qwen-plus",
            On,
            None,
            json!({"stream_options": usage(), "max_tokens": 32_768, "temperature": 0.7, "enable_thinking": true,
                "parallel_tool_calls": true}),
        ),
        (
            K::OpenRouter,
            "moonshotai/kimi-k2.6",
            Off,
            Some("reasoning"),
            json!({"stream_options": usage(), "max_tokens": most, "temperature": 0.7, "reasoning": {"enabled": false}}),
        ),
        (
            K::Ollama,
            "qwen3:8b",
            Off,
            None,
            json!({"stream_options": usage(), "max_tokens": most, "temperature": 0.7, "reasoning_effort": "none"}),
        ),
        (
            K::LmStudio,
            "qwen3-8b",
            Off,
            None,
            json!({"stream_options": usage(), "max_tokens": most, "temperature": 0.7}),
        ),
        (
            K::LlamaCpp,
            "any",
            On,
            Some("reasoning_content"),
            json!({"stream_options": usage(), "max_tokens": most, "temperature": 0.7, "return_progress": true,
                "parallel_tool_calls": true, "chat_template_kwargs": {"enable_thinking": true}}),
        ),
        (
            K::Vllm,
            "any",
            Off,
            None,
            json!({"stream_options": usage(), "max_tokens": most, "temperature": 0.7,
                "chat_template_kwargs": {"enable_thinking": false}}),
        ),
        (
            K::Local,
            "any",
            Auto,
            None,
            json!({"stream_options": usage(), "max_tokens": most, "temperature": 0.7, "return_progress": true}),
        ),
        (K::Other, "any", On, None, json!({"stream_options": usage(), "max_tokens": most, "temperature": 0.7})),
    ] {
        let body = client(kind, model, thinking).body(&conversation());
        assert_eq!(body, expected(model, echo, fields), "{kind:?} {model} {thinking:?}");
    }
}

#[test]
fn mistral_models_get_an_answer_between_result_and_user() {
    let roles = |model: &str| {
        let mut request = conversation();
        request.messages.truncate(5);
        request.messages.push(ChatMessage::User("Well?".into()));
        let body = client(ProfileKind::Other, model, Thinking::Auto).body(&request);
        let messages = body["messages"].as_array().unwrap().iter();
        messages.map(|message| message["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let lenient = ["system", "user", "assistant", "tool", "tool", "user"];
    assert_eq!(roles("any"), lenient);
    assert_eq!(roles("mistralai/Pixtral-12B-2409"), [&lenient[..5], &["assistant", "user"]].concat());
}

#[test]
fn pictures_of_tools_belong_to_the_exchange_that_read_them() {
    let mut request = conversation();
    let picture = Picture { media_type: Media::Gif, hash: "aa".into(), bytes: 11, width: 3, height: 2 };
    let pictures =
        vec![RequestPicture { label: "[picture 1: a]".into(), picture, url: "data:image/gif;base64,AA".into() }];
    let sender = PictureSender::Tools;
    request.messages.insert(7, ChatMessage::Pictured { sender, content: "Read.".into(), pictures });
    let body = client(ProfileKind::DeepSeek, "deepseek-v4-flash", Thinking::Auto).body(&request);
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/gif;base64,AA"}});
    assert_eq!(body["messages"][7], json!({"role": "user", "content": [{"type": "text", "text": "Read."}, image]}));
    assert_eq!(body["messages"][8]["reasoning_content"], "enough", "the exchange goes on");
}

#[test]
fn unset_options_are_not_sent() {
    assert_eq!(
        client(ProfileKind::Other, "m", Thinking::Auto).body(&ask("hi")),
        json!({
            "model": "m", "messages": [{"role": "user", "content": "hi"}],
            "stream": true, "stream_options": {"include_usage": true},
        })
    );
}

#[test]
fn requested_limits_are_clamped() {
    let wish = ModelRequest { temperature: Some(1.7), max_tokens: Some(0), ..ask("hi") };
    let body = client(ProfileKind::Glm, "glm-4.7", Thinking::Auto).body(&wish);
    assert_eq!((&body["temperature"], &body["max_tokens"]), (&json!(1.0), &json!(1)));
}

#[test]
fn equal_requests_serialise_equally() {
    // Providers cache prompts by their bytes.
    let client = client(ProfileKind::DeepSeek, "deepseek-v4-flash", Thinking::Auto);
    assert_eq!(client.body(&conversation()).to_string(), client.body(&conversation()).to_string());
}
