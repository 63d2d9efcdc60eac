"""The vendors' own SDKs read the recorded streams of the tests, and what the scripted provider sends."""

import anthropic
import openai
import pytest
from programs import KEY, recorded, scripted_provider

QUESTION = [{"role": "user", "content": "What is in a.md?"}]
READ = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
REPLY = {
    "steps": [
        {"usage": {"prompt_tokens": 90, "completion_tokens": 5, "cached_tokens": 60}},
        {"thinking": "Hm, 想一想."},
        {"signature": "c2ln"},
        {"text": "Let me look 📄."},
        {"tool_call": {"id": "call_1", "name": "read_file", "arguments": {"path": "a.md"}}},
        {"finish": "tool_calls"},
    ]
}


def message_of(address):
    client = anthropic.Anthropic(api_key=KEY, base_url=address, max_retries=0)
    tools = [{"name": "read_file", "description": "Reads a file.", "input_schema": READ}]
    thinking = {"type": "enabled", "budget_tokens": 2000}
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 4000, "messages": QUESTION}
    with client.messages.stream(**asked, tools=tools, thinking=thinking) as stream:
        return stream.get_final_message()


def response_of(address):
    client = openai.OpenAI(api_key=KEY, base_url=f"{address}/v1", max_retries=0)
    tools = [{"type": "function", "name": "read_file", "parameters": READ, "strict": False}]
    with client.responses.stream(model="gpt-5.4", input=QUESTION, tools=tools, store=False) as stream:
        return stream.get_final_response()


def completion_of(address):
    client = openai.OpenAI(api_key=KEY, base_url=f"{address}/v1", max_retries=0)
    tools = [{"type": "function", "function": {"name": "read_file", "parameters": READ}}]
    asked = {"model": "scripted", "messages": QUESTION, "tools": tools}
    with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        return stream.get_final_completion()


def test_anthropic_reads_the_recorded_stream():
    with recorded("anthropic.sse") as address:
        message = message_of(address)
    kinds = [block.type for block in message.content]
    assert kinds[:3] == ["thinking", "redacted_thinking", "text"] and "tool_use" in kinds
    assert message.content[0].signature and message.content[0].thinking == "天气 first: two places."
    assert message.stop_reason == "tool_use"
    assert message.usage.cache_read_input_tokens == 2048


def test_openai_reads_the_recorded_responses_stream():
    with recorded("responses.sse") as address:
        response = response_of(address)
    kinds = [item.type for item in response.output]
    assert kinds[:2] == ["reasoning", "message"] and "function_call" in kinds
    assert response.status == "completed" and response.usage.total_tokens > 0


@pytest.mark.parametrize("name", ["openai.sse", "deepseek.sse", "ollama.sse", "openrouter.sse"])
def test_openai_reads_the_recorded_chat_streams(name):
    with recorded(name) as address:
        completion = completion_of(address)
    message = completion.choices[0].message
    assert message.content or message.tool_calls
    assert completion.choices[0].finish_reason in ("stop", "tool_calls", "length")


def test_anthropic_reads_the_scripted_provider(tmp_path):
    with scripted_provider(tmp_path, [REPLY]) as address:
        message = message_of(address)
    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    thought, text, call = message.content
    assert (thought.thinking, thought.signature) == ("Hm, 想一想.", "c2ln")
    assert text.text == "Let me look 📄." and call.input == {"path": "a.md"}
    assert (message.stop_reason, message.usage.cache_read_input_tokens) == ("tool_use", 60)


def test_openai_reads_the_scripted_responses(tmp_path):
    with scripted_provider(tmp_path, [REPLY]) as address:
        response = response_of(address)
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]
    assert response.output_text == "Let me look 📄."
    assert response.usage.input_tokens_details.cached_tokens == 60


def test_openai_reads_the_scripted_chat(tmp_path):
    with scripted_provider(tmp_path, [REPLY]) as address:
        completion = completion_of(address)
    message = completion.choices[0].message
    assert message.content == "Let me look 📄."
    assert message.tool_calls[0].function.arguments == '{"path":"a.md"}'
    assert completion.usage.prompt_tokens == 90
