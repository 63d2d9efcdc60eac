"""Real MCP servers in the sandbox, as docs/mcp.md says: those of npm with one writable folder each, and one made with the
Python SDK."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import MINICLAW, environment, free_port, running

SERVERS = Path(os.environ["INTEROP_NODE_MODULES"]) / "@modelcontextprotocol"
# Servers in Python, those that need an SDK before its version 2, and what their interpreter reads.
PYTHON_SERVERS, OLDER_SERVERS = Path(os.environ["INTEROP_SERVERS"]), Path(os.environ["INTEROP_OLDER_SERVERS"])
PYTHON = sorted({sys.prefix, sys.base_prefix})
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
        code, text = self.mcp("trust", name, "--yes")
        assert code == 0 and f"{name} (running)" in text, text
        code, text = self.mcp("trust", name, "--all-tools", "--yes")
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


def python(program, *arguments, folder=PYTHON_SERVERS, **grants):
    command = str(folder / "bin" / program)
    return {"command": command, "args": list(arguments), "miniclaw": {"read": [*PYTHON, str(folder)], **grants}}


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
    entry = {"command": sys.executable, "args": [str(program)], "miniclaw": {"read": [str(program), *PYTHON]}}
    listed = home.add("sums", entry)
    assert "Adds two numbers." in listed, listed
    code, text = home.call("sums", "add", a=2, b=3)
    assert code == 0 and "5" in text, text


def test_thoughts_are_counted(home):
    home.add("thinking", node("server-sequential-thinking"))
    thought = {"thought": "Tea first.", "thoughtNumber": 1, "totalThoughts": 2, "nextThoughtNeeded": True}
    code, text = home.call("thinking", "sequentialthinking", **thought)
    assert code == 0 and '"thoughtNumber": 1' in text, text


def test_git_commits_in_its_repository_only(home):
    repository, other = home.folder / "scratch/repository", home.folder / "workspaces/other"
    for folder in (repository, other):
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        (folder / "a.txt").write_text("hello")
    variables = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com"}
    variables |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in variables.items()}
    home.add("git", python("mcp-server-git", write=["scratch/repository"]) | {"env": variables})
    code, text = home.call("git", "git_add", repo_path=str(repository), files=["a.txt"])
    assert code == 0, text
    code, text = home.call("git", "git_commit", repo_path=str(repository), message="Say hello")
    assert code == 0, text
    # Git asks for this because commands, like servers, run as another user here.
    log = ["git", "-c", "safe.directory=*", "-C", str(repository), "log", "--format=%an %s"]
    logged = subprocess.run(log, capture_output=True, text=True)
    assert logged.stdout == "A Say hello\n", logged.stderr
    code, text = home.call("git", "git_status", repo_path=str(other))
    assert code == 1 and "a.txt" not in text, text


def test_database_is_written_in_its_folder(home):
    file = home.folder / "scratch/database/tea.db"
    file.parent.mkdir(parents=True)
    server = python("mcp-server-sqlite", "--db-path", str(file), folder=OLDER_SERVERS, write=["scratch/database"])
    home.add("database", server)
    for tool, query in [
        ("create_table", "CREATE TABLE tea (name TEXT)"),
        ("write_query", "INSERT INTO tea VALUES ('Assam')"),
        ("read_query", "SELECT name FROM tea"),
    ]:
        code, text = home.call("database", tool, query=query)
        assert code == 0, text
    assert "Assam" in text, text


def test_time_is_converted(home):
    home.add("time", python("mcp-server-time", "--local-timezone", "UTC"))
    times = {"source_timezone": "UTC", "target_timezone": "Asia/Shanghai", "time": "08:00"}
    code, text = home.call("time", "convert_time", **times)
    assert code == 0 and "T16:00" in text, text


def test_pages_of_other_hosts_are_not_fetched(home):
    home.add("fetch", python("mcp-server-fetch", "--ignore-robots-txt", network=["docs.example.com"]))
    code, text = home.call("fetch", "fetch", url="https://other.example.com/")
    assert code == 1 and "fetch" in text, text
    assert "other.example.com" in text, text


def test_browser_is_driven_outside_of_the_sandbox(home, tmp_path):
    # A browser needs more than the sandbox allows, so a person starts it as a server of its own.
    port = free_port()
    program = SERVERS.parent / "@playwright/mcp/cli.js"
    options = ["--headless", "--isolated", "--no-sandbox", "--browser", "chromium", "--executable-path", "/usr/bin/chromium"]
    command = ["/usr/bin/node", str(program), "--port", str(port), *options]
    with running(command, lambda log: "Listening" in log, tmp_path / "browser.log", env=environment(), cwd=tmp_path):
        home.add("browser", {"type": "http", "url": f"http://localhost:{port}/mcp"})
        code, text = home.call("browser", "browser_navigate", url="data:text/html,<title>Tea</title>")
        assert code == 0 and "Page Title: Tea" in text, text
