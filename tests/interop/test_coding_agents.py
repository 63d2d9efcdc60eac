"""Coding agents for the terminal use the server as docs/connect.md says: with their own tools, and as MCP clients."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from programs import Home, environment, scripted_provider, streaming

MODULES = Path(os.environ["INTEROP_NODE_MODULES"])
# Longest time of a program, in seconds.
PATIENCE = 180

TITLE = {"match": "Give this conversation a title", "repeat": True, "steps": [{"text": "T"}, {"finish": "stop"}]}
USAGE = {"usage": {"prompt_tokens": 9, "completion_tokens": 4}}
ANSWER = {"repeat": True, "steps": [{"text": "Hello, "}, {"text": "企鹅."}, USAGE, {"finish": "stop"}]}


def calls(match, name, arguments):
    """A reply with one call, to the first request that has this text."""
    call = {"tool_call": {"id": f"call-{name}", "name": name, "arguments": arguments}}
    return {"match": match, "steps": [call, {"finish": "tool_calls"}]}


class Agents:
    """A home with its server, a folder to work in, and the programs."""

    def __init__(self, folder, home):
        self.home, self.work, self.own = home, folder / "work", folder / "own"
        self.work.mkdir()
        self.own.mkdir()
        subprocess.run(["git", "init", "-q", str(self.work)], check=True)

    def run(self, program, *arguments, **more):
        """Runs a program in the folder, with a home of its own, and returns what it wrote."""
        env = environment(MINICLAW_API_TOKEN=self.home.token, NO_PROXY="127.0.0.1", **more) | {"HOME": str(self.own)}
        done = subprocess.run(
            [str(MODULES / program), *arguments],
            cwd=self.work,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, f"{program}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        return done.stdout


@pytest.fixture
def agents(tmp_path):
    shell = {"cmd": "echo penguin > note.txt"}
    replies = [
        TITLE,
        calls("make the file", "exec_command", shell),
        calls("birdwatching", "miniclaw_ask", {"message": "Which bird?"}),
        ANSWER,
    ]
    with scripted_provider(tmp_path, replies) as provider:
        models = f"models: [{{id: mock, api_url: '{provider}/v1', api_key: x, model: mock}}]\n"
        home = Home(tmp_path, f"find_local_models: false\n{models}")
        with home.serve():
            yield Agents(tmp_path, home)


@pytest.mark.parametrize("model", ["miniclaw", "raw/mock"])
def test_codex_runs_its_shell_and_stays_one_session(agents, model):
    settings = agents.own / "codex"
    settings.mkdir()
    (settings / "config.toml").write_text(
        f'model = "{model}"\nmodel_provider = "miniclaw"\n[model_providers.miniclaw]\nname = "miniclaw"\n'
        f'base_url = "{agents.home.url}/v1"\nenv_key = "MINICLAW_API_TOKEN"\nwire_api = "responses"\n'
    )
    flags = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]

    def codex(*arguments):
        return agents.run(".bin/codex", "exec", *flags, *arguments, CODEX_HOME=str(settings))

    assert "Hello, 企鹅." in codex("make the file")
    assert (agents.work / "note.txt").read_text() == "penguin\n"
    for more in ["and then?", "and at last?"]:
        assert "Hello, 企鹅." in codex("resume", "--last", more)
    sessions = agents.home.sessions()
    if model != "miniclaw":
        assert sessions == []
        return
    asked = [message["content"] for message in sessions[0]["messages"] if message["role"] == "user"]
    assert len(sessions) == 1 and asked[-2:] == ["and then?", "and at last?"]


def test_continue_talks_to_the_agent(agents):
    model = {"name": "miniclaw", "provider": "openai", "model": "miniclaw", "apiBase": f"{agents.home.url}/v1"}
    model |= {"apiKey": agents.home.token, "roles": ["chat"]}
    config = {"name": "test", "version": "1.0.0", "schema": "v1", "models": [model]}
    # JSON is YAML too.
    (agents.own / "config.yaml").write_text(json.dumps(config))
    flags = ["--config", str(agents.own / "config.yaml"), "-p"]
    answer = agents.run(".bin/cn", *flags, "hi there", CONTINUE_TELEMETRY_ENABLED="0")
    assert "Hello, 企鹅." in answer and len(agents.home.sessions()) == 1


def opencode(agents, model, *arguments):
    options = {"baseURL": f"{agents.home.url}/v1", "apiKey": agents.home.token}
    models = {"miniclaw": {}, "raw/mock": {}}
    server = {"type": "remote", "url": f"{agents.home.url}/mcp", "headers": {"Authorization": f"Bearer {agents.home.token}"}}
    config = {
        "provider": {"miniclaw": {"npm": "@ai-sdk/openai-compatible", "options": options, "models": models}},
        "small_model": "miniclaw/raw/mock",
        "mcp": {"miniclaw": server} if model == "raw/mock" else {},
        "autoupdate": False,
    }
    (agents.work / "opencode.json").write_text(json.dumps(config))
    return agents.run("opencode-linux-x64/bin/opencode", "run", "--model", f"miniclaw/{model}", *arguments)


def test_opencode_talks_to_the_agent(agents):
    assert "Hello, 企鹅." in opencode(agents, "miniclaw", "hi there")
    assert "Hello, 企鹅." in opencode(agents, "miniclaw", "--continue", "and then?")
    assert len(agents.home.sessions()) == 1


def test_opencode_asks_the_agent_over_mcp(agents):
    assert "Hello, 企鹅." in opencode(agents, "raw/mock", "--title", "Birds", "begin the birdwatching")
    asked = [session["messages"][0]["content"] for session in agents.home.sessions()]
    assert asked == ["Which bird?"]


def messages_stream(request):
    """Answers as the Messages API does: with a call of `ask` for a text that wants it, then with that call's result."""
    blocks = [block for message in request["messages"] for block in blocks_of(message)]
    results = [block for block in blocks if block["type"] == "tool_result"]
    wants = any("birdwatching" in block.get("text", "") for block in blocks)
    block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": "Fine."}, "end_turn"
    if results:
        delta["text"] = f"It said: {json.dumps(results[0]['content'], ensure_ascii=False)}"
    elif wants and any(tool["name"] == "mcp__miniclaw__ask" for tool in request.get("tools", [])):
        block = {"type": "tool_use", "id": "toolu_1", "name": "mcp__miniclaw__ask", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps({"message": "Which bird?"})}
        reason = "tool_use"
    usage = {"input_tokens": 9, "output_tokens": 4}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {it['type']}\ndata: {json.dumps(it)}\n\n" for it in events).encode()


def blocks_of(message):
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def test_claude_code_asks_the_agent_over_mcp(agents):
    headers = {"Authorization": f"Bearer {agents.home.token}"}
    server = {"type": "http", "url": f"{agents.home.url}/mcp", "headers": headers}
    (agents.own / "mcp.json").write_text(json.dumps({"mcpServers": {"miniclaw": server}}))
    flags = ["--mcp-config", str(agents.own / "mcp.json"), "--strict-mcp-config", "--allowedTools", "mcp__miniclaw__ask"]
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    with streaming(messages_stream) as address:
        provider = {"ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "sk-ant-none"}
        said = agents.run(".bin/claude", "-p", "begin the birdwatching", *flags, **provider, **quiet)
    assert "It said:" in said and "企鹅" in said
    asked = [session["messages"][0]["content"] for session in agents.home.sessions()]
    assert asked == ["Which bird?"]
