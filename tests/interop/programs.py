"""Starts the programs of a test on free ports of the loopback interface, and ends them with it."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures/provider"
MINICLAW = os.environ["MINICLAW_BIN"]
KEY = "sk-interop"
# Longest time for a program to start and for a request, in seconds.
START, REQUEST = 180, 60


def environment(**more):
    """The environment of every program here: no key and no proxy of the person who runs the tests."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return kept | more


def request(url, body=None, method=None):
    """Sends JSON and returns the answer as text. Raises `HTTPError` for an answer that is an error."""
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(sent, timeout=REQUEST) as answer:
        return answer.read().decode()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextmanager
def running(command, ready, log, **options):
    """Runs a program until the block ends. `ready` says from its output and log whether it can be used."""
    with open(log, "w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options)
        try:
            deadline = time.monotonic() + START
            while not ready(Path(log).read_text()):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{command[0]} did not start:\n{Path(log).read_text()[-4000:]}")
                time.sleep(0.05)
            yield process
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def scripted_provider(folder, replies):
    """Runs `miniclaw mock-llm` and gives its address, without a path."""
    script = folder / "script.json"
    script.write_text(json.dumps({"replies": replies}, ensure_ascii=False))
    log = folder / "mock.log"
    command = [MINICLAW, "mock-llm", "--script", str(script)]
    with running(command, lambda text: "listening on" in text, log, env=environment()):
        yield re.search(r"listening on (http://\S+)", log.read_text()).group(1)


@contextmanager
def miniclaw(folder, config):
    """Runs a server with a home of its own and gives its address."""
    home = folder / "home"
    home.mkdir()
    (home / "config.yml").write_text(config)
    port = free_port()
    command = [MINICLAW, "serve", "--home", str(home), "--port", str(port)]
    env = environment(GATEWAY_KEY=KEY, MINICLAW_MODELS=str(folder / "no-models"))
    with running(command, lambda text: "listening" in text, folder / "miniclaw.log", env=env):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def litellm(folder, models):
    """Runs the gateway with these models and gives its address."""
    config = folder / "litellm.json"
    config.write_text(json.dumps({"model_list": models, "general_settings": {"master_key": KEY}}))
    port = free_port()
    program = shutil.which("litellm", path=str(Path(sys.executable).parent))
    command = [program, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    env = environment(LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_TELEMETRY="False", NO_PROXY="127.0.0.1")

    def ready(_log):
        try:
            return bool(request(f"http://127.0.0.1:{port}/health/liveliness"))
        except (urllib.error.URLError, ConnectionError):
            return False

    with running(command, ready, folder / "litellm.log", env=env, cwd=folder):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def recorded(name):
    """Answers every request with a recorded stream of tests/fixtures/provider; gives the address."""
    stream = (FIXTURES / name).read_bytes()
    with streaming(lambda _request: stream) as address:
        yield address


@contextmanager
def streaming(answer):
    """Answers every request with the stream that `answer` returns for its body; gives the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            stream = answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(stream)))
            self.end_headers()
            self.wfile.write(stream)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Home:
    """A home with a token for programs, and the servers that run on it one after the other."""

    def __init__(self, folder, config):
        self.home, self.folder, self.port = folder / "home", folder, free_port()
        self.home.mkdir(exist_ok=True)
        (self.home / "config.yml").write_text(config)
        made = [MINICLAW, "token", "--home", str(self.home), "add", "--scope", "ask"]
        self.token = subprocess.run(made, check=True, capture_output=True, text=True, env=environment()).stdout.strip()
        self.url = f"http://127.0.0.1:{self.port}"
        self.starts = 0

    @contextmanager
    def serve(self):
        command = [MINICLAW, "serve", "--home", str(self.home), "--port", str(self.port)]
        env = environment(MINICLAW_MODELS=str(self.folder / "no-models"))
        self.starts += 1
        log = self.folder / f"miniclaw-{self.starts}.log"
        with running(command, lambda text: "listening" in text, log, env=env) as process:
            yield process

    def sessions(self):
        return [json.loads(path.read_text()) for path in (self.home / "sessions").glob("*.json")]
