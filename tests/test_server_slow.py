"""Clients that are too slow are dropped, and those that wait for the server are not. TEST_NO_DB TEST_WAITS

The server allows a client 60 s, and more for a long answer, so this file takes some minutes, in which it does nothing."""

import contextlib
import os
import socket
import threading
import time

from harness import main, test
from server_fixture import PATIENCE, serving
from stream_client import live


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def head(server, line, *headers):
    lines = (line, "Host: localhost", f"Authorization: Bearer {server.token}", *headers)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Slow:
    """A client that sends something, and then, if `drip` is given, one of its bytes a second."""

    def __init__(self, server, sent, drip=b""):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", server.port))
        self.socket.sendall(sent)
        self.start = time.monotonic()
        self.seconds = None  # until the server closed the connection
        self.drip = drip
        self.thread = threading.Thread(target=self.live)
        self.thread.start()

    def live(self):
        end = self.start + PATIENCE
        with contextlib.suppress(OSError):
            for i in range(len(self.drip)):
                self.socket.sendall(self.drip[i : i + 1])
                time.sleep(1)
        self.socket.settimeout(max(1, end - time.monotonic()))
        try:
            while self.socket.recv(4096):
                time.sleep(0.05)  # about 80 kB a second
        except TimeoutError:
            return
        except OSError:
            pass
        self.seconds = time.monotonic() - self.start


@test
def client_that_is_too_slow_is_dropped():
    with serving() as s:
        run = s.submit(function="f")
        stream = live(s)
        wait = Slow(s, head(s, f"GET /v1/executions/{run} HTTP/1.1", "Prefer: wait=70", "Connection: close"))
        slow = {
            "says nothing": Slow(s, b""),
            "sends half of a head": Slow(s, b"GET /v1/que"),
            "sends half of a body": Slow(s, head(s, "POST /v1/executions HTTP/1.1", "Content-Length: 100") + b'{"func'),
            "sends half of a chunk": Slow(s, head(s, "POST /v1/executions HTTP/1.1", "Transfer-Encoding: chunked") + b"20\r\n{"),
            "sends its head byte by byte": Slow(s, b"GET / HTTP/1.1\r\n", b"X-Note: " + b"a" * 200),
            "sends its body byte by byte": Slow(s, head(s, "POST /v1/executions HTTP/1.1", "Content-Length: 200"), b" " * 200),
            "says no more after an answer": Slow(s, head(s, "GET /healthz HTTP/1.1")),
        }
        for name, client in slow.items():
            client.thread.join(PATIENCE + 30)
            assert client.seconds, f"a client that {name} was not dropped"
            assert client.seconds > 30, (name, client.seconds)
        wait.thread.join(PATIENCE + 30)
        assert wait.seconds > 65, "a client that waits for the server was dropped"
        s.submit(function="g")
        assert stream.numbers(2)
        stream.close()


@test
def client_that_takes_its_answer_too_slowly_is_dropped():
    with serving() as s:
        s.post("/v1/executions", [{"function": "f", "input": "x" * 900000}] * 5).expect(201)
        before = descriptors(s)
        with contextlib.closing(socket.socket()) as c:
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.connect(("127.0.0.1", s.port))
            c.sendall(head(s, "GET /v1/executions HTTP/1.1"))
            assert c.recv(12) == b"HTTP/1.1 200"
            start = time.monotonic()
            while descriptors(s) > before:  # 4.5 MB may take 200 s; this client would need an hour
                assert time.monotonic() - start < PATIENCE + 100, "it was not dropped"
                c.recv(1000)
                time.sleep(1)
            assert time.monotonic() - start > 30
        s.submit(function="g")


main()
