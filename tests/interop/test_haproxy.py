"""packaging/haproxy.cfg in front of two servers, each with a home of its own: what it passes on, and to whom."""

import http.client
import json
import shutil
import socket
import ssl
import subprocess
from contextlib import ExitStack, contextmanager

import pytest
from websockets.sync.client import connect

from programs import MINICLAW, ROOT, environment, free_port, request, running, scripted_provider

NAME, TOKEN = "agent.example.org", "0123456789-interop"
HAPROXY = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin")
OTHERWISE = {"repeat": True, "steps": [{"text": "A name"}, {"finish": "stop"}]}


def gated(word, gate):
    """A reply whose first half comes at once, and whose second half when the gate is opened."""
    return {"match": word, "steps": [{"text": "first half"}, {"gate": gate}, {"text": "second half"}, {"finish": "stop"}]}


class Site:
    """HAProxy on a free port, and what a test needs to ask it and its servers."""

    def __init__(self, folder, provider):
        self.folder, self.provider = folder, provider
        self.port, self.ports = free_port(), {name: free_port() for name in "ab"}
        self.trusted = ssl.create_default_context(cafile=folder / "cert.pem")

    def ask(self, path, body=None, **headers):
        """Returns the answer, to be read."""
        client = http.client.HTTPSConnection(NAME, self.port, timeout=60, context=self.trusted)
        client.sock = self.trusted.wrap_socket(socket.create_connection(("127.0.0.1", self.port), 60), server_hostname=NAME)
        sent = {"Host": NAME, "Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"} | headers
        client.request("GET" if body is None else "POST", path, body and json.dumps(body), sent)
        return client.getresponse()

    def server_of(self, number):
        """Returns which server, by its start, answers a browser with this cookie."""
        answer = self.ask("/api/status", Cookie=f"miniclaw_session_8002=browser{number}")
        return json.loads(answer.read())["boot_id"]

    def admin(self, command):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.folder / "admin.sock"))
            client.sendall(f"{command}\n".encode())
            return client.makefile().read()

    def busy_servers(self):
        """Returns the names of the servers that HAProxy waits for (the fifth column: sessions under way)."""
        rows = [row.split(",") for row in self.admin("show stat").splitlines()]
        return [row[1] for row in rows if row[0] == "miniclaw" and row[1] in self.ports and row[4] != "0"]


@contextmanager
def served(folder, name, site):
    home = folder / name
    home.mkdir()
    (home / "config.yml").write_text(
        f"host_names: [{NAME}]\ntrusted_proxies: [127.0.0.1]\nfind_local_models: false\n"
        f"models: [{{id: mock, api_url: '{site.provider}/v1', api_key: x, model: mock}}]\n"
    )
    command = [MINICLAW, "serve", "--home", str(home), "--port", str(site.ports[name])]
    env = environment(MINICLAW_TOKEN=TOKEN, MINICLAW_MODELS=str(folder / "no-models"))
    with running(command, lambda text: "listening" in text, folder / f"{name}.log", env=env):
        yield


def configuration(folder, site):
    """Returns the file of packaging/ with this test's places. Fails if it has other places than it had."""
    text = (ROOT / "packaging/haproxy.cfg").read_text()
    servers = "\n".join(f"    server {name} 127.0.0.1:{port}" for name, port in site.ports.items())
    for here, there in [
        ("    bind :443", f"    bind 127.0.0.1:{site.port}"),
        ("    bind :80\n", ""),
        ("/etc/haproxy/certs/", str(folder / "pair.pem")),
        ("/run/haproxy/admin.sock", str(folder / "admin.sock")),
        ("    server a 127.0.0.1:8002", servers),
    ]:
        assert here in text, here
        text = text.replace(here, there)
    file = folder / "haproxy.cfg"
    file.write_text(text)
    return file


@pytest.fixture
def site(tmp_path):
    if HAPROXY is None:
        pytest.skip("haproxy is not installed (scripts/install-tools.sh cluster)")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
    subprocess.run([*command, *names, "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    (tmp_path / "pair.pem").write_text(certificate.read_text() + key.read_text())
    with ExitStack() as stack:
        replies = [gated("slowly", "open"), gated("drained", "open"), OTHERWISE]
        site = Site(tmp_path, stack.enter_context(scripted_provider(tmp_path, replies)))
        for name in site.ports:
            stack.enter_context(served(tmp_path, name, site))
        file = configuration(tmp_path, site)
        checked = subprocess.run([HAPROXY, "-c", "-f", file], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert checked.returncode == 0 and "WARNING" not in checked.stdout, checked.stdout

        def both_are_up(_log):
            try:
                return site.admin("show stat").count(",UP,") >= 2 and site.ask("/health").status == 200
            except OSError:
                return False

        stack.enter_context(running([HAPROXY, "-db", "-f", file], both_are_up, tmp_path / "haproxy.log"))
        yield site


def read_until(answer, word):
    """Returns what came until the word was there."""
    text = b""
    while word not in text:
        piece = answer.read1(65536)
        assert piece, text[-500:]
        text += piece
    return text


def test_stream_passes_piece_by_piece(site):
    answer = site.ask("/api/chat", {"message": "slowly"})
    # The provider holds the second half back, so the first one can only have come on its own.
    assert b"second half" not in read_until(answer, b"first half")
    request(f"{site.provider}/gates/open", method="POST")
    read_until(answer, b"second half")


def test_websocket_passes(site):
    raw = socket.create_connection(("127.0.0.1", site.port), 60)
    with connect(f"wss://{NAME}/ws", sock=raw, ssl=site.trusted, additional_headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        assert json.loads(client.recv(timeout=30))["type"] == "HISTORY"
        assert client.ping().wait(10)


def test_forged_client_addresses_do_not_count(site):
    cookie = {"Cookie": "miniclaw_session_8002=guesser"}
    guess = lambda number: site.ask("/api/status", Authorization="Bearer wrong", **cookie, **{"X-Forwarded-For": f"6.6.6.{number}"})
    assert [guess(number).status for number in range(22)] == [401] * 20 + [429] * 2
    # Negative control: the server itself believes this proxy, so addresses that it passed on would have counted apart.
    sent = f"GET /api/status HTTP/1.1\r\nHost: {NAME}\r\nX-Forwarded-For: 6.6.6.6\r\nConnection: close\r\n\r\n".encode()
    for port in site.ports.values():
        with socket.create_connection(("127.0.0.1", port), 60) as client:
            client.sendall(sent)
            assert b" 401 " in client.recv(64)


def test_drained_server_finishes_its_streams(site):
    homes = [site.server_of(number) for number in range(21)]
    assert len(set(homes)) == 2 and homes == [site.server_of(number) for number in range(21)]
    first = homes[0]
    answer = site.ask("/api/chat", {"message": "drained"}, Cookie="miniclaw_session_8002=browser0")
    read_until(answer, b"first half")
    [busy] = site.busy_servers()
    site.admin(f"set server miniclaw/{busy} state drain")
    assert {site.server_of(number) for number in range(21)} == set(homes) - {first}
    request(f"{site.provider}/gates/open", method="POST")
    read_until(answer, b"second half")

