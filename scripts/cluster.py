#!/usr/bin/env python3
"""Runs a cluster on this machine until Ctrl-C: PostgreSQL, three servers and HAProxy in front of them.

It is for trying a cluster, not for work: everything is in a folder that is deleted at the end, unless --folder names one. The
model is that of the environment (OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL, ...), as for `make run`. docs/cluster.md says more.
"""

import argparse
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

# The user that runs PostgreSQL for root, which it refuses.
NOBODY = 65534
# How long a server may take to hand its home over.
DRAIN_SECONDS = 40

HAPROXY = """
global
    maxconn 2000
defaults
    mode http
    timeout connect 5s
    timeout check 5s
    timeout client 90s
    timeout server 90s
    timeout tunnel 1h
    retries 2
    option redispatch
    retry-on conn-failure
frontend page
    bind 127.0.0.1:{port}
    http-request del-header X-Forwarded-For
    http-request set-header X-Forwarded-Proto http
    option forwardfor
    # Servers answer to a name without a port only behind a proxy, and theirs are others than this one.
    http-request replace-header Host ^(localhost|127\\.0\\.0\\.1):{port}$ localhost
    http-request replace-header Origin ^http://(localhost|127\\.0\\.0\\.1):{port}$ http://localhost
    default_backend servers
backend servers
    balance roundrobin
    option httpchk
    http-check send meth GET uri /health ver HTTP/1.1 hdr Host localhost
    http-check expect status 200
    default-server check inter 2s fall 3 rise 1 on-marked-down shutdown-sessions
{servers}
"""

CONFIG = """find_local_models: false
host_names: [localhost]
trusted_proxies: [127.0.0.1]
store:
  postgres: ${DATABASE_URL}
  cache: cache
  address: "http://127.0.0.1:%d"
  cluster_secret: ${CLUSTER_SECRET}
"""


class Failure(Exception):
    """What a person can read."""


class Cluster:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        # In the order of their start; they are stopped in the other one.
        self.running = []

    def start(self, name, command, stop=signal.SIGTERM, **how):
        log = (self.folder / f"{name}.log").open("ab")
        # In a group of its own: Ctrl-C is for this program, which stops the others in their order.
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, **how)
        log.close()
        self.running.append((name, process, stop))

    def stop(self):
        while self.running:
            name, process, how = self.running.pop()
            if process.poll() is None:
                process.send_signal(how)
            try:
                process.wait(DRAIN_SECONDS)
            except subprocess.TimeoutExpired:
                print(f"{name} does not stop; it is killed", file=sys.stderr)
                process.kill()
                process.wait()

    def ended(self):
        """Returns what has ended by itself, with the last lines it wrote."""
        for name, process, _ in self.running:
            if process.poll() is not None:
                lines = (self.folder / f"{name}.log").read_text(errors="replace").splitlines()[-15:]
                return f"{name} ended with {process.returncode}:\n" + "\n".join(lines)
        return None

    def wait_for(self, what, is_there):
        until = time.monotonic() + 60
        while not is_there():
            ended = self.ended()
            if ended:
                raise Failure(ended)
            if time.monotonic() > until:
                raise Failure(f"{what} does not answer; the logs are in {self.folder}")
            time.sleep(0.1)

    def database(self):
        """Starts PostgreSQL and returns its address."""
        found = Path(self.options.postgres).absolute()
        if not (found / "postgres").is_file():
            raise Failure(f"there is no PostgreSQL in {found}; run scripts/install-tools.sh cluster")
        is_root = os.geteuid() == 0
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if is_root else {}
        home = self.folder / "postgres"
        if is_root:
            # That user may not get through the folders above the programs.
            shutil.copytree(found.parent, self.folder / "programs", symlinks=True)
            found = self.folder / "programs" / found.name
            self.folder.chmod(0o711)
        home.mkdir(exist_ok=True)
        if is_root:
            os.chown(home, NOBODY, NOBODY)
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
        how = {"cwd": "/", "env": environment, **user}
        password = secrets.token_hex(16)
        data = home / "data"
        if data.exists():
            raise Failure(f"{self.folder} has been used before; name an empty folder")
        secret = home / "password"
        secret.touch(0o600)
        secret.write_text(password)
        if is_root:
            os.chown(secret, NOBODY, NOBODY)
        made = subprocess.run(
            [found / "initdb", "--username=miniclaw", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", f"--pwfile={secret}", "-D", data],
            capture_output=True, text=True, check=False, **how,
        )
        secret.unlink()
        if made.returncode != 0:
            raise Failure(f"initdb: {made.stderr}")
        port = free_port()
        listen = ["-c", "listen_addresses=127.0.0.1", "-p", str(port), "-k", str(home)]
        self.start("postgres", [found / "postgres", "-D", data, *listen], signal.SIGINT, **how)
        return f"postgres://miniclaw:{password}@127.0.0.1:{port}/postgres?sslmode=disable"

    def run(self):
        binary = Path(self.options.binary).resolve()
        if not binary.is_file():
            raise Failure(f"there is no {binary}; run make build")
        environment = {**os.environ, "DATABASE_URL": self.database(), "CLUSTER_SECRET": secrets.token_hex(32)}
        ports = [free_port() for _ in range(self.options.servers)]
        homes = [self.folder / name for name in names(len(ports))]
        for home, port in zip(homes, ports):
            home.mkdir()
            (home / "config.yml").write_text(CONFIG % port)
        self.wait_for("PostgreSQL", lambda: migrated(binary, homes[0], environment))
        for home, port in zip(homes, ports):
            self.start(home.name, [binary, "serve", "--home", home, "--port", str(port)], env=environment)
        for port in ports:
            self.wait_for(f"the server at port {port}", lambda port=port: is_healthy(port, "localhost"))
        lines = (f"    server {home.name} 127.0.0.1:{port}" for home, port in zip(homes, ports))
        configuration = self.folder / "haproxy.cfg"
        configuration.write_text(HAPROXY.format(port=self.options.port, servers="\n".join(lines)))
        self.start("haproxy", ["haproxy", "-db", "-f", configuration])
        self.wait_for("HAProxy", lambda: is_healthy(self.options.port, f"localhost:{self.options.port}"))
        print(f"Open http://localhost:{self.options.port}; Ctrl-C ends everything. Logs are in {self.folder}.")
        for (name, process, _), port in zip(self.running[1:], ports):
            print(f"  {name}: process {process.pid}, port {port}")
        sys.stdout.flush()
        told = set()
        while True:
            time.sleep(1)
            for name, process, _ in self.running:
                if process.poll() is not None and name not in told:
                    told.add(name)
                    print(f"{name} has ended with {process.returncode}; the others go on", flush=True)


def names(count):
    return [f"server-{chr(ord('a') + at)}" for at in range(count)]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def migrated(binary, home, environment):
    command = [binary, "db", "migrate", "--home", home]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0


def is_healthy(port, host):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/health", headers={"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=2) as answer:
            return answer.status == 200
    except (OSError, urllib.error.URLError):
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--binary", default="target/release/miniclaw", help="the program")
    parser.add_argument("--postgres", default="target/tools/postgres/bin", help="the folder of PostgreSQL's programs")
    parser.add_argument("--servers", type=int, default=3, choices=range(1, 10), metavar="1-9")
    parser.add_argument("--port", type=int, default=8080, help="the port of HAProxy")
    parser.add_argument("--folder", type=Path, help="an empty folder that is kept")
    options = parser.parse_args()
    # Also where whoever started this has it ignore Ctrl-C.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.default_int_handler)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="miniclaw-cluster-"))
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(options, folder.resolve())
    try:
        cluster.run()
    except KeyboardInterrupt:
        print("\nstopping")
        return 0
    except Failure as failure:
        print(f"cluster: {failure}", file=sys.stderr)
        return 1
    finally:
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, signal.SIG_IGN)
        cluster.stop()
        if options.folder is None:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
