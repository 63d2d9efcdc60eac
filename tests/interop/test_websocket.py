"""The live socket, used with the client `websockets` as docs/websocket.md says."""

import json
import re

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from programs import miniclaw, request, scripted_provider

TITLE = {"match": "Give this conversation a title", "repeat": True, "steps": [{"text": "T"}, {"finish": "stop"}]}
COMMAND = {"tool_call": {"id": "c1", "name": "terminal", "arguments": {"command": "echo ran"}}}
ANSWER = {"repeat": True, "steps": [{"text": "Hello, "}, {"text": "企鹅."}, {"finish": "stop"}]}


@pytest.fixture
def server(tmp_path):
    replies = [TITLE, {"match": "run it", "steps": [COMMAND, {"finish": "tool_calls"}]}, ANSWER]
    with scripted_provider(tmp_path, replies) as provider:
        config = (
            "find_local_models: false\napprovals: {effects: {execute: ask}}\n"
            f"models: [{{id: mock, api_url: '{provider}/v1', api_key: x, model: mock}}]\n"
        )
        with miniclaw(tmp_path, config) as address:
            yield address


def opened(address, query="", **options):
    return connect(f"{address.replace('http', 'ws', 1)}/ws{query}", **options)


def until(client, kind):
    frames = []
    while not frames or frames[-1]["type"] != kind:
        frames.append(json.loads(client.recv(timeout=30)))
    return frames


def send(client, kind, **data):
    client.send(json.dumps({"type": kind, "data": data}))


def text(frames):
    return "".join(frame["data"]["delta"] for frame in frames if frame["type"] == "ASSISTANT_TEXT")


def test_answer_is_streamed_and_resumed(server):
    with opened(server, "?session_id=s") as client:
        assert until(client, "HISTORY")[0]["data"]["messages"] == []
        send(client, "USER_MESSAGE", content="hi")
        frames = until(client, "RESULT")
        assert text(frames) == "Hello, 企鹅." == frames[-1]["data"]["content"]
        ids = [frame["id"] for frame in frames if "id" in frame]
    with opened(server, f"?session_id=s&after={ids[0]}") as client:
        rest = [frame for frame in until(client, "RESULT") if "id" in frame]
        assert [frame["id"] for frame in rest] == ids[1:]
        client.ping().wait(10)


def test_question_is_answered_with_the_secret_of_the_page(server):
    page = request(server + "/")
    secret = re.search(r'name="miniclaw-secret" content="(\w+)"', page).group(1)
    with opened(server, "?session_id=q") as client:
        send(client, "USER_MESSAGE", content="run it")
        question = until(client, "APPROVAL_REQUEST")[-1]["data"]
        send(client, "APPROVAL_RESPONSE", request_id=question["request_id"], approved=True)
        assert until(client, "ERROR")[-1]["data"]["code"] == "no_secret"
        send(client, "HELLO", secret=secret)
        send(client, "APPROVAL_RESPONSE", request_id=question["request_id"], approved=True)
        results = [frame["data"] for frame in until(client, "RESULT") if frame["type"] == "TOOL_RESULT"]
        assert "ran" in results[0]["output"]


def test_other_sites_and_bad_frames_are_refused(server):
    with pytest.raises(InvalidStatus) as refused:
        opened(server, origin="https://evil.example")
    assert refused.value.response.status_code == 403
    with opened(server, "?session_id=b") as client:
        client.send(b"\x00")
        assert until(client, "ERROR")[-1]["data"]["code"] == "bad_frame"
        client.send("x" * (1 << 20) + "y")
        assert until(client, "ERROR")[-1]["data"]["code"] == "too_large"
        send(client, "INTERRUPT")
        assert until(client, "STATUS")[-1]["data"] == {"type": "interrupted", "interrupted": False, "reply_to": None}
        # The server may close before it has all of it.
        with pytest.raises(ConnectionClosed):
            client.send("x" * (3 << 20))
            while True:
                client.recv(timeout=30)
