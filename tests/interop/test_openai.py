"""The OpenAI API of this server, used with OpenAI's SDKs for Python and JavaScript and with `llm`, as docs/openai.md says."""

import base64
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import openai
import pytest
from programs import Home, environment, scripted_provider

TITLE = {"match": "Give this conversation a title", "repeat": True, "steps": [{"text": "T"}, {"finish": "stop"}]}
USAGE = {"usage": {"prompt_tokens": 9, "completion_tokens": 4}}
ANSWER = {"repeat": True, "steps": [{"thinking": "Hm."}, {"text": "Hello, "}, {"text": "企鹅."}, USAGE, {"finish": "stop"}]}
LOOK = {"match": "look", "steps": [{"tool_call": {"id": "c1", "name": "look", "arguments": {"at": "it"}}}, {"finish": "tool_calls"}]}
EDIT = {"match": "penguin", "repeat": True, "steps": [{"text": "note.txt\n```\nA penguin.\n```\n"}, {"finish": "stop"}]}
SLOW = {"match": "slowly", "steps": [{"tokens": {"count": 400, "per_second": 20, "text": "t{n} "}}, {"finish": "stop"}]}
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


class Server(Home):
    """A home with a model that sees pictures."""

    def __init__(self, folder, provider):
        super().__init__(
            folder,
            "find_local_models: false\nvision_models: [mock]\n"
            f"models: [{{id: mock, api_url: '{provider}/v1', api_key: x, model: mock}}]\n",
        )
        self.address = f"{self.url}/v1"

    def client(self, key=None):
        return openai.OpenAI(api_key=key or self.token, base_url=self.address, max_retries=0)


@pytest.fixture
def home(tmp_path):
    with scripted_provider(tmp_path, [TITLE, LOOK, EDIT, SLOW, ANSWER]) as provider:
        yield Server(tmp_path, provider)


@pytest.fixture
def server(home):
    with home.serve():
        yield home


def test_chat_streams_and_stays_one_session(server):
    client = server.client()
    assert [model.id for model in client.models.list()] == ["miniclaw", "miniclaw/mock", "raw/mock"]
    said = [{"role": "user", "content": "hi"}]
    first = client.chat.completions.create(model="miniclaw", messages=said)
    assert first.choices[0].message.content == "Hello, 企鹅."
    assert (first.usage.total_tokens, first.choices[0].finish_reason) == (13, "stop")
    said += [first.choices[0].message.to_dict(), {"role": "user", "content": "more"}]
    options = {"include_usage": True}
    with client.chat.completions.stream(model="miniclaw", messages=said, stream_options=options) as stream:
        last = stream.get_final_completion()
    assert last.choices[0].message.content == "Hello, 企鹅." and last.usage.completion_tokens == 4
    assert len(server.sessions()) == 1


def test_picture_and_format_are_taken(server):
    url = f"data:image/gif;base64,{GIF}"
    assert base64.b64decode(GIF)
    content = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": url}}]
    schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}
    answer = server.client().chat.completions.with_raw_response.create(
        model="miniclaw", messages=[{"role": "user", "content": content}], response_format=schema, seed=1
    )
    assert answer.headers["x-miniclaw-ignored"] == "seed"
    assert answer.parse().choices[0].message.role == "assistant"


def test_errors_are_typed(server):
    said = [{"role": "user", "content": "hi"}]
    create = server.client().chat.completions.create
    with pytest.raises(openai.NotFoundError) as missing:
        create(model="gpt-9", messages=said)
    assert (missing.value.code, missing.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.BadRequestError) as refused:
        create(model="miniclaw", messages=said, n=2)
    assert refused.value.param == "n"
    with pytest.raises(openai.AuthenticationError):
        server.client("wrong").models.list()


def test_tools_are_handed_off(server):
    client = server.client()
    tools = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
    said = [{"role": "user", "content": "look at it"}]
    with client.chat.completions.stream(model="miniclaw", messages=said, tools=tools) as stream:
        first = stream.get_final_completion().choices[0]
    call = first.message.tool_calls[0]
    assert (first.finish_reason, call.function.name, json.loads(call.function.arguments)) == ("tool_calls", "look", {"at": "it"})
    said += [first.message.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": "a cat"}]
    last = client.chat.completions.create(model="miniclaw", messages=said, tools=tools)
    assert last.choices[0].message.content == "Hello, 企鹅." and len(server.sessions()) == 1


def test_responses_stream_and_follow_each_other(server):
    client = server.client()
    first = client.responses.create(model="miniclaw", input="hi")
    assert first.output_text == "Hello, 企鹅." and [item.type for item in first.output] == ["reasoning", "message"]
    with client.responses.stream(model="miniclaw", input="more", previous_response_id=first.id) as stream:
        kinds = [event.type for event in stream]
        last = stream.get_final_response()
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
    assert last.output_text == first.output_text and len(server.sessions()) == 1
    assert client.responses.retrieve(last.id).output_text == last.output_text
    assert client.responses.input_items.list(last.id).data[0].content[0].text == "more"


def test_background_response_is_followed_over_a_kill(home):
    with home.serve() as process:
        client = home.client()
        begun = client.responses.create(model="miniclaw", input="count slowly", background=True)
        text, number = "", None
        for event in client.responses.retrieve(begun.id, stream=True):
            if event.type == "response.output_text.delta":
                text, number = text + event.delta, event.sequence_number
                if len(text) > 40:
                    break
        # What was told is journaled within a second.
        time.sleep(1.5)
        process.kill()
        process.wait()
    with home.serve():
        client = home.client()
        for event in client.responses.retrieve(begun.id, stream=True, starting_after=number):
            text += event.delta if event.type == "response.output_text.delta" else ""
        stored = client.responses.retrieve(begun.id)
    assert stored.status in ("failed", "incomplete", "cancelled") and stored.output_text == text


def test_node_sdk(server):
    modules = os.environ.get("INTEROP_NODE_MODULES")
    if not modules:
        pytest.skip("INTEROP_NODE_MODULES is not set")
    script = Path(__file__).with_name("openai_sdk.mjs")
    copied = Path(modules).parent / script.name
    copied.write_text(script.read_text())
    env = environment(OPENAI_API_KEY=server.token, OPENAI_BASE_URL=server.address)
    ran = subprocess.run(["node", str(copied)], capture_output=True, text=True, timeout=60, env=env)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told == {
        "models": 3,
        "text": "Hello, 企鹅.",
        "streamed": "Hello, 企鹅.",
        "call": "look",
        "after": "Hello, 企鹅.",
        "response": "Hello, 企鹅.",
        "missing": [404, "model_not_found"],
    }


def test_llm(server, tmp_path):
    folder = tmp_path / "llm"
    folder.mkdir()
    model = f"- model_id: claw\n  model_name: miniclaw\n  api_base: {server.address}\n  api_key_name: claw\n"
    (folder / "extra-openai-models.yaml").write_text(model)
    (folder / "keys.json").write_text(json.dumps({"claw": server.token}))
    env = environment(LLM_USER_PATH=str(folder))
    program = str(Path(sys.executable).parent / "llm")

    def ask(*arguments):
        ran = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, env=env)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    assert ask("-m", "claw", "hi") == "Hello, 企鹅."
    assert ask("-c", "--no-stream", "more") == "Hello, 企鹅."
    assert len(server.sessions()) == 1


def test_aider_edits_a_file_through_the_model_alone(server, tmp_path):
    program = os.environ.get("INTEROP_AIDER")
    if not program:
        pytest.skip("INTEROP_AIDER is not set")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "note.txt").write_text("Nothing yet.\n")
    env = environment(OPENAI_API_KEY=server.token, OPENAI_API_BASE=server.address, HOME=str(tmp_path), LITELLM_LOCAL_MODEL_COST_MAP="True")
    quiet = ["--no-git", "--yes-always", "--no-check-update", "--analytics-disable", "--no-show-model-warnings", "--no-pretty"]
    asked = ["--model", "openai/raw/mock", "--edit-format", "whole", "--message", "Write about a penguin.", "note.txt"]
    ran = subprocess.run([program, *quiet, *asked], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    assert (folder / "note.txt").read_text() == "A penguin.\n", ran.stdout + ran.stderr
    assert server.sessions() == [], "a model alone leaves no session"
