"""Clients that are too slow are dropped, and those that wait for the server are not. TEST_NO_DB TEST_WAITS

The server allows a client 60 s, and more for a long answer, so this file takes some minutes, in which it does nothing."""

import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import threading
import time
import traceback

from harness import Skip, main, test
from server_fixture import PATIENCE, serving
from stream_client import live, until


ESTABLISHED = "01"  # in /proc/net/tcp


def is_connected(server, client):
    """Whether the server's end of the client's connection is open."""
    ends = f"0100007F:{server.port:04X} 0100007F:{client.getsockname()[1]:04X} {ESTABLISHED} "
    with open("/proc/net/tcp") as f:
        return any(ends in line for line in f)


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
        with contextlib.closing(socket.socket()) as c:
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.connect(("127.0.0.1", s.port))
            c.sendall(head(s, "GET /v1/executions HTTP/1.1"))
            assert c.recv(12) == b"HTTP/1.1 200"
            start = time.monotonic()
            while is_connected(s, c):  # 4.5 MB may take 200 s; this client would need an hour
                assert time.monotonic() - start < PATIENCE + 100, "it was not dropped"
                c.recv(1000)
                time.sleep(1)
            assert time.monotonic() - start > 30
        s.submit(function="g")


CLONE_NEWNET, CANNOT = 0x40000000, 77


def run_in_own_network(function):
    """Runs the function in a process whose network has nothing but a loopback device."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("iptables"):
        raise Skip("needs root, ip and iptables")
    pid = os.fork()
    if not pid:
        try:
            if ctypes.CDLL(None).unshare(CLONE_NEWNET) or subprocess.run(["ip", "link", "set", "lo", "up"]).returncode:
                os._exit(CANNOT)
            if subprocess.run(["iptables", "-L", "-n"], capture_output=True).returncode:
                os._exit(CANNOT)
            function()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == CANNOT:
        raise Skip("a network of its own can't be made here")
    assert status == 0, status


def drop_packets(port):
    for side in ("--sport", "--dport"):
        subprocess.run(["iptables", "-A", "INPUT", "-p", "tcp", side, str(port), "-j", "DROP"], check=True)


def lose_clients():
    with serving() as s:
        run = s.submit(function="f")
        keeper = live(s)
        lost = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(2)]
        for c, sent in zip(lost, (head(s, "GET /v1/stream HTTP/1.1"), head(s, f"GET /v1/executions/{run} HTTP/1.1", "Prefer: wait=300"))):
            c.sendall(sent)
        assert lost[0].recv(12) == b"HTTP/1.1 200"
        assert all(is_connected(s, c) for c in lost)
        for c in lost:
            drop_packets(c.getsockname()[1])
        until(lambda: not any(is_connected(s, c) for c in lost))
        s.submit(function="g")
        assert keeper.message()
        keeper.close()


@test
def clients_that_vanish_without_a_word_are_noticed():
    run_in_own_network(lose_clients)


main()
