"""Starts the page's server as users do, in a process of its own, and sends it requests."""

import contextlib
import http.client
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENT = ("alphabeta:time=60", "mcts:sims=2000000,time=60")
"""Searches that think until they are stopped."""


class Server:
    def __init__(self, process, address):
        self.process, self.address = process, address
        self.port = int(address.split(":")[2].split("/")[0])

    def request(self, method, path, body=None, **headers):
        """The status, the headers and the body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, names)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def ask(self, name, **message):
        """The status and the JSON of an answer."""
        status, _, body = self.request(
            "POST", f"/api/{name}", json.dumps(message), Content_Type="application/json"
        )
        return status, json.loads(body)

    def lines(self, name, **message):
        """The answers that come line by line."""
        status, _, body = self.request(
            "POST", f"/api/{name}", json.dumps(message), Content_Type="application/json"
        )
        assert status == 200, body
        return [json.loads(line) for line in body.splitlines()]

    @property
    def memory(self):
        """Megabytes in use, by Linux's count."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) / 1024


@contextlib.contextmanager
def serving(*options):
    command = [sys.executable, "-u", "-m", "agents.play", "--web", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert "http://" in line, line
            yield Server(process, line.split(" is at ")[1].split()[0].split("#")[0])
        finally:
            process.terminate()
            process.wait(10)
