"""Real MCP servers in the sandbox, as docs/mcp.md says: those of npm with one writable folder each, and one made with the
Python SDK."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import MINICLAW, environment

SERVERS = Path(os.environ["INTEROP_NODE_MODULES"]) / "@modelcontextprotocol"
SDK = """
from mcp.server import MCPServer

server = MCPServer("sums")

@server.tool()
def add(a: int, b: int) -> int:
    \"\"\"Adds two numbers.\"\"\"
    return a + b

server.run("stdio")
"""


class Home:
    def __init__(self, folder):
        self.folder = folder / "home"
        subprocess.run([MINICLAW, "init", str(self.folder)], check=True, capture_output=True, env=environment())
        (self.folder / "config.yml").write_text("find_local_models: false\nembedding: {provider: none}\n")

    def mcp(self, *arguments, text=""):
        command = [MINICLAW, "mcp", "--home", str(self.folder), *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment(), timeout=180)
        return done.returncode, done.stdout + done.stderr

    def add(self, name, entry):
        """Adds a server, confirms it and trusts all its tools."""
        code, text = self.mcp("add", text=json.dumps({"mcpServers": {name: entry}}))
        assert code == 0 and f"{name} (unconfirmed)" in text, text
        code, text = self.mcp("trust", name)
        assert code == 0 and f"{name} (running)" in text, text
        code, text = self.mcp("trust", name, "--all-tools")
        assert code == 0, text
        return text

    def call(self, name, tool, **arguments):
        return self.mcp("call", name, tool, json.dumps(arguments))


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


def node(package, *arguments, **grants):
    program = SERVERS / package / "dist/index.js"
    return {"command": "/usr/bin/node", "args": [str(program), *arguments], "miniclaw": {"read": [str(SERVERS.parent)], **grants}}


def test_memory_keeps_what_it_is_told(home):
    path = home.folder / "scratch/mcp/memory/graph.jsonl"
    entry = node("server-memory", write=["scratch/mcp/memory"]) | {"env": {"MEMORY_FILE_PATH": str(path)}}
    assert "create_entities" in home.add("memory", entry)
    entity = {"name": "Tea", "entityType": "drink", "observations": ["It is hot."]}
    code, text = home.call("memory", "create_entities", entities=[entity])
    assert code == 0, text
    code, text = home.call("memory", "read_graph")
    assert code == 0 and "It is hot." in text, text
    assert "Tea" in path.read_text()


def test_filesystem_sees_only_its_folder(home):
    folder = home.folder / "scratch/files"
    (home.folder / "memory/MEMORY.md").write_text("I like tea.")
    # Its own check allows memory/, too: the sandbox does not.
    allowed = [str(folder), str(home.folder / "memory")]
    home.add("files", node("server-filesystem", *allowed, write=["scratch/files"]))
    code, text = home.call("files", "write_file", path=str(folder / "a.txt"), content="hello")
    assert code == 0 and (folder / "a.txt").read_text() == "hello", text
    for path in ("memory/MEMORY.md", "config.yml", "mcp.json", "session-key.json"):
        code, text = home.call("files", "read_text_file", path=str(home.folder / path))
        assert code == 1 and "like tea" not in text and "mcpServers" not in text, (path, text)


def test_everything_is_listed_and_called(home):
    listed = home.add("everything", node("server-everything", "stdio"))
    assert "echo" in listed and "unusable" not in listed, listed
    code, text = home.call("everything", "echo", message="hello")
    assert code == 0 and "hello" in text, text
    code, text = home.call("everything", "get-tiny-image")
    assert code == 0 and "image image/png" in text, text


def test_server_of_the_python_sdk_is_called(home, tmp_path):
    program = tmp_path / "sums.py"
    program.write_text(SDK)
    prefixes = sorted({sys.prefix, sys.base_prefix})
    entry = {"command": sys.executable, "args": [str(program)], "miniclaw": {"read": [str(program), *prefixes]}}
    listed = home.add("sums", entry)
    assert "Adds two numbers." in listed, listed
    code, text = home.call("sums", "add", a=2, b=3)
    assert code == 0 and "5" in text, text
