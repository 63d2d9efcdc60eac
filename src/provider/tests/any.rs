//! Property tests with arbitrary streams, as some unknown provider might send them.

use proptest::prelude::*;

use super::*;
use crate::provider::assemble::{Assembler, ReadFlow};
use crate::provider::sse::Decoder;

/// JSON for a field of a chunk: mostly text, sometimes of another type.
fn any_json() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => "[a-z<>/ é]{0,8}".prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(json!([])),
        1 => Just(json!({"a": [1]})),
        1 => Just(json!(true)),
    ]
}

fn any_call() -> impl Strategy<Value = Value> {
    let part = || prop::option::of(any_json());
    (prop::option::of(0..4i64), part(), part(), part()).prop_map(|(index, id, name, arguments)| {
        let mut call = json!({"function": {}});
        for (field, value) in [("index", index.map(Value::from)), ("id", id)] {
            value.into_iter().for_each(|value| call[field] = value);
        }
        for (field, value) in [("name", name), ("arguments", arguments)] {
            value.into_iter().for_each(|value| call["function"][field] = value);
        }
        call
    })
}

fn any_event() -> impl Strategy<Value = String> {
    let delta = (any_json(), any_json(), prop::collection::vec(any_call(), 0..3)).prop_map(|(text, thought, calls)| {
        json!({"choices": [{"delta": {"content": text, "reasoning_content": thought, "tool_calls": calls}}]})
    });
    let finish = prop_oneof!["stop", "length", "tool_calls", "content_filter", "error", "[a-z]{0,5}"];
    let finish = finish.prop_map(|reason| json!({"choices": [{"delta": {}, "finish_reason": reason}]}));
    let usage = (any_json(), any::<i64>()).prop_map(|(prompt, completion)| {
        json!({"choices": [], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}})
    });
    let odd = (any_json(), any_json()).prop_map(|(choices, error)| json!({"choices": choices, "error": error}));
    let document = prop_oneof![6 => delta, 2 => finish, 1 => usage, 1 => odd];
    prop_oneof![
        12 => document.prop_map(|document| format!("data: {document}\n\n")),
        1 => Just("data: [DONE]\n\n".to_owned()),
        1 => "(data: |event: error\n|: )?\\PC{0,12}\n{1,2}",
    ]
}

/// An event of Anthropic's API, or something like one.
fn any_message_event() -> impl Strategy<Value = String> {
    let kinds = ["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use"];
    let block = (prop::sample::select(kinds.to_vec()), any_json(), any_json(), any_json()).prop_map(|(kind, a, b, c)| {
        json!({"type": kind, "text": a, "thinking": b, "signature": c, "data": a, "id": b, "name": c, "input": a})
    });
    let deltas = ["text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta"];
    let delta = (prop::sample::select(deltas.to_vec()), any_json(), any_json()).prop_map(|(kind, a, b)| {
        json!({"type": kind, "text": a, "thinking": b, "signature": a, "partial_json": b, "stop_reason": a})
    });
    let types =
        ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "ping"];
    let parts =
        (prop::sample::select(types.to_vec()), 0..4u64, prop_oneof![block, any_json()], prop_oneof![delta, any_json()]);
    let event = (parts, any_json()).prop_map(|((kind, index, block, delta), usage)| {
        let usage = json!({"input_tokens": usage, "output_tokens": 3});
        json!({"type": kind, "index": index, "content_block": block, "delta": delta, "usage": usage, "content": [block]})
    });
    let end = prop_oneof![Just("message_stop"), Just("message"), Just("error"), Just("[a-z]{0,4}")];
    let end = (end, any_json()).prop_map(|(kind, part)| json!({"type": kind, "error": part, "content": [part]}));
    prop_oneof![8 => event, 1 => end].prop_map(|event| format!("event: x\ndata: {event}\n\n"))
}

/// An event of the Responses API, or something like one.
fn any_response_event() -> impl Strategy<Value = String> {
    let types = [
        "created",
        "output_item.added",
        "output_item.done",
        "output_text.delta",
        "refusal.delta",
        "function_call_arguments.delta",
        "reasoning_summary_text.delta",
        "reasoning_summary_part.added",
        "completed",
        "incomplete",
        "failed",
    ];
    let items = ["message", "function_call", "reasoning", "other"];
    let item = (prop::sample::select(items.to_vec()), any_json(), any_json(), any_json()).prop_map(|(kind, a, b, c)| {
        json!({"type": kind, "call_id": a, "name": b, "arguments": c, "encrypted_content": a, "summary": [{"text": b}],
            "content": [{"text": c}]})
    });
    let parts = (prop::sample::select(types.to_vec()), 0..4u64, prop_oneof![item, any_json()], any_json(), any_json());
    parts.prop_map(|(kind, index, item, delta, other)| {
        let response = json!({"status": other, "error": other, "output": [item], "usage": {"input_tokens": other}});
        let event = json!({"type": format!("response.{kind}"), "output_index": index, "summary_index": index,
            "item": item, "delta": delta, "response": response});
        format!("data: {event}\n\n")
    })
}

/// A stream of one API, with events of others in it.
fn any_stream() -> impl Strategy<Value = (Api, Vec<String>)> {
    let of = |api, own: BoxedStrategy<String>| {
        let event = prop_oneof![9 => own, 1 => any_event(), 1 => any_message_event(), 1 => any_response_event()];
        (Just(api), prop::collection::vec(event, 0..12))
    };
    prop_oneof![
        of(Api::Chat, any_event().boxed()),
        of(Api::Messages, any_message_event().boxed()),
        of(Api::Responses, any_response_event().boxed()),
    ]
}

proptest! {
    #[test]
    fn any_stream_yields_ordered_answer_or_one_error(
        (api, events) in any_stream(),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
        thinks in any::<bool>(),
    ) {
        let base_url = Url::parse("http://127.0.0.1:9/v1").unwrap();
        let client = Client::new(endpoint(ProfileKind::Other, &base_url)).unwrap();
        let profile = Profile { think_tags: thinks, ..Profile::of_api(ProfileKind::Other, api, "m") };
        let mut assembler = Assembler::new(client.shared().error_context.clone(), &profile);
        let stream = events.concat().into_bytes();
        let end = if whole { stream.len() } else { cut.index(stream.len() + 1) };
        let (mut decoder, mut decoded) = (Decoder::default(), Vec::new());
        decoder.push(&stream[..end], &mut decoded);
        decoder.finish(&mut decoded);
        let mut chunks = Vec::new();
        let mut ended = None;
        for event in decoded {
            let flow = assembler.event(event);
            chunks.extend(assembler.take());
            match flow {
                Ok(ReadFlow::More) => {}
                Ok(ReadFlow::Done) => ended = Some(assembler.end(ReadFlow::Done)),
                Err(error) => ended = Some(Err(error)),
            }
            if ended.is_some() {
                break;
            }
        }
        let ended = ended.unwrap_or_else(|| assembler.end(ReadFlow::More));
        chunks.extend(assembler.take());
        let finishes = chunks.iter().filter(|chunk| matches!(chunk, StreamChunk::Finish(_))).count();
        prop_assert_eq!(finishes, usize::from(ended.is_ok()), "{:?} {:?}", ended, chunks);
        if ended.is_ok() {
            prop_assert!(matches!(chunks.last(), Some(StreamChunk::Finish(_))));
        }
        let (mut begun, mut ids) = (std::collections::HashSet::new(), std::collections::HashSet::new());
        for chunk in &chunks {
            match chunk {
                StreamChunk::ToolCallStart { index, id, name } => {
                    prop_assert!(begun.insert(*index) && ids.insert(id.clone()), "{:?}", chunks);
                    prop_assert!(!id.is_empty() && !name.is_empty(), "{:?}", chunks);
                }
                StreamChunk::ToolCallArguments { index, .. } => prop_assert!(begun.contains(index), "{:?}", chunks),
                _ => {}
            }
        }
        if let Err(error) = ended {
            prop_assert!(!error.to_string().is_empty() && !error.to_string().contains(CANARY));
        }
    }
}
