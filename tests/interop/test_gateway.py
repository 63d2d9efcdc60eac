"""miniclaw asks models through LiteLLM, a gateway made by others, in each API and in front of each API."""

import json

import anthropic
import pytest
from programs import KEY, litellm, miniclaw, request, scripted_provider

# The model behind the gateway: the name that LiteLLM asks for, and the API in which it does so. (`openai/…` would be
# asked in the Responses API for requests in Anthropic's form.)
BEHIND = {"chat": "hosted_vllm/scripted", "messages": "anthropic/claude-sonnet-4-5"}
APIS = ["openai", "anthropic", "responses"]
ANSWERS = [
    {"match": "title", "repeat": True, "steps": [{"text": "A name"}, {"finish": "stop"}]},
    {
        "steps": [
            {"usage": {"prompt_tokens": 90, "completion_tokens": 5}},
            {"thinking": "Hm."},
            {"signature": "c2VhbA=="},
            {"text": "Let me look."},
            {"tool_call": {"id": "call_1", "name": "read_file", "arguments": {"path": "knowledge/a.md"}}},
            {"finish": "tool_calls"},
        ]
    },
    {"steps": [{"text": "It says alpha."}, {"finish": "stop"}]},
    {"steps": [{"text": "Still alpha."}, {"finish": "stop"}]},
]


def config(gateway, api):
    model = {"id": "behind", "api_url": f"{gateway}/v1", "api": api, "api_key": "${GATEWAY_KEY}"}
    return json.dumps({"default_model": "behind", "models": [model | {"model": "behind-the-gateway"}]})


def said(server, text):
    """Sends a message and returns the events of its answer."""
    answer = request(f"{server}/api/chat", {"message": text, "session_id": "s"})
    frames = [block.split("\n") for block in answer.split("\n\n") if block.startswith(("id:", "event:", "data:"))]
    return [dict(line.split(": ", 1) for line in frame if ": " in line) for frame in frames]


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("api", APIS)
def test_conversation_with_a_call_goes_through(tmp_path, api, behind):
    with scripted_provider(tmp_path, ANSWERS) as provider:
        base = f"{provider}/v1" if behind == "chat" else provider
        parameters = {"model": BEHIND[behind], "api_base": base, "api_key": "sk-behind"}
        models = [{"model_name": "behind-the-gateway", "litellm_params": parameters}]
        with litellm(tmp_path, models) as gateway, miniclaw(tmp_path, config(gateway, api)) as server:
            (tmp_path / "home/knowledge/a.md").write_text("alpha\n")
            first = said(server, "What does a.md say?")
            assert not [frame for frame in first if frame.get("event") == "error"], first
            said(server, "And now?")
            history = request(f"{server}/api/sessions/s/history")
            assert "It says alpha." in history and "Still alpha." in history
            asked = json.loads(request(f"{provider}/requests"))
            # The result of the call came back to the model, and the second question continues the same conversation.
            with_result = [body for body in asked if "alpha" in json.dumps(body)]
            assert len(with_result) >= 2, [list(body) for body in asked]
            tokens = json.loads(request(f"{server}/api/stats/tokens?period=daily"))["data"]
            assert tokens["prompt_tokens"] > 0 and tokens["completion_tokens"] > 0


def test_requests_have_the_types_of_the_vendors_sdk(tmp_path):
    """Anthropic's SDK accepts each body that miniclaw sends, by the types of its parameters."""
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from pydantic import TypeAdapter

    accepted = TypeAdapter(MessageCreateParamsStreaming)
    with scripted_provider(tmp_path, ANSWERS) as provider:
        with miniclaw(tmp_path, config(provider, "anthropic")) as server:
            (tmp_path / "home/knowledge/a.md").write_text("alpha\n")
            said(server, "What does a.md say?")
            said(server, "And now?")
        bodies = json.loads(request(f"{provider}/requests"))
    assert len(bodies) >= 3
    for body in bodies:
        accepted.validate_python(body)
    assert '"signature": "c2VhbA=="' in json.dumps(bodies), "the signed thought goes back"
    assert anthropic.__version__
