"""Many clients, and clients that behave badly: 10,000 connections, half-open ones, more than the server has descriptors for,
and browsers that connect again for ever. TEST_LONG, TEST_THREADED"""

import contextlib
import os
import resource
import socket
import struct
import threading
import time

from harness import Skip, main, test
from server_fixture import PATIENCE, serving
from stream_client import Stream, live, until


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def threads(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def resident_kb(server):
    with open(f"/proc/{server.process.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def private_kb(server):
    with open(f"/proc/{server.process.pid}/smaps_rollup") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("Private_"))


def cpu_seconds(server):
    with open(f"/proc/{server.process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def raise_descriptor_limit(n):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < n and os.geteuid() == 0:
        with contextlib.suppress(ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
            return
    if hard < n:
        raise Skip(f"needs {n} descriptors; at most {hard} are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, n), hard))


def connect(server, data=b""):
    c = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
    if data:
        c.sendall(data)
    return c


def head(server, target, *headers):
    lines = (f"GET {target} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {server.token}", *headers)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@test
def ten_thousand_connections_of_all_kinds_leave_the_server_usable():
    raise_descriptor_limit(11000)
    with serving() as s:
        run = s.submit(function="f")
        keeper = live(s)
        before, count = descriptors(s), threads(s)
        kinds = (
            b"",  # says nothing
            b"GET /v1/queues HT",  # half of a head
            f"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {s.token}\r\nContent-Length: 100\r\n\r\n{{".encode(),
            head(s, "/v1/stream?topics=runs"),
            head(s, f"/v1/executions/{run}", "Prefer: wait=300"),
            head(s, "/healthz"),  # answered, and kept open
        )
        clients = [connect(s, kinds[i % len(kinds)]) for i in range(10000)]
        until(lambda: descriptors(s) >= before + 10000)
        assert threads(s) == count
        for i in range(20):  # still usable
            s.submit(function="g")
            s.get(f"/v1/executions/{run}").expect(200)
        assert keeper.numbers(40)
        memory = resident_kb(s)
        assert memory < (400 << 10) or os.environ.get("PAWL_TEST_SERVER_BUILD"), memory
        s.post(f"/v1/executions/{run}/cancel").expect(200)
        answered = [c.recv(15) for c in clients[4::6]]  # those that wait
        assert set(answered) == {b"HTTP/1.1 200 OK"}, set(answered)
        for c in clients:
            c.close()
        until(lambda: descriptors(s) <= before + 20)
        s.submit(function="h")
        keeper.close()


@test
def idle_streams_hold_little_memory_before_and_after_long_messages():
    if os.environ.get("PAWL_TEST_SERVER_BUILD"):
        raise Skip("a sanitizer needs memory of its own")
    count, jobs = 800, 40
    raise_descriptor_limit(count + 200)
    with serving() as s:
        live(s).close()
        before = private_kb(s)
        streams = [connect(s, head(s, "/v1/stream?topics=events", "Last-Event-ID: 0")) for _ in range(count)]
        keeper = live(s)
        for c in streams:
            assert c.recv(15) == b"HTTP/1.1 200 OK"

        def each():
            return (private_kb(s) - before) / count

        until(lambda: each() < 10)  # libmicrohttpd alone takes 13 kB
        s.post("/v1/executions", [{"function": "f"}] * jobs).expect(201)
        keeper.numbers(jobs)
        last = f'"sequence_num":{keeper.id}'.encode()
        for c in streams:
            received = b""
            while last not in received:
                received = received[-100:] + c.recv(1 << 16)
        until(lambda: each() < 10)
        for c in [*streams, keeper]:
            c.close()


@test
def connections_that_end_without_a_word_leave_nothing_behind():
    with serving() as s:
        keeper = live(s)
        s.get("/v1/queues").expect(200)
        before = descriptors(s)
        run = s.submit(function="f")
        for round in range(10):
            clients = []
            for i in range(100):
                data = (head(s, "/v1/stream"), head(s, f"/v1/executions/{run}", "Prefer: wait=300"), head(s, "/v1/queues"), b"GET /")[i % 4]
                clients.append(connect(s, data))
            for c in clients:  # a reset instead of an orderly end
                c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                c.close()
        s.submit(function="g")
        assert keeper.numbers(2)
        until(lambda: descriptors(s) <= before + 8)
        keeper.close()


@test
def more_connections_than_descriptors_are_served_one_after_the_other():
    with serving() as s:
        keeper = live(s)
        s.get("/v1/queues").expect(200)
        s.submit(function="f")
        n = descriptors(s) + 60
        resource.prlimit(s.process.pid, resource.RLIMIT_NOFILE, (n, n))
        clients = [connect(s) for _ in range(300)]  # the kernel accepts them for the server
        time.sleep(1)
        start = cpu_seconds(s)
        time.sleep(2)
        assert cpu_seconds(s) - start < 1, "a server without descriptors must not spin"
        answers = []
        asking = [threading.Thread(target=lambda: answers.append(s.get("/healthz", token=None).status)) for _ in range(5)]
        for t in asking:
            t.start()
        for c in clients:
            c.close()
        for t in asking:
            t.join(PATIENCE)
        assert answers == [200] * 5, answers
        s.submit(function="g")
        assert keeper.message()
        keeper.close()


@test
def empty_output_that_is_read_again_and_again_keeps_no_memory():
    with serving() as s:
        run = s.submit(function="f")
        connection = s.connection()
        with contextlib.closing(connection):
            for i in range(1500):  # each answer is made in 64 kB
                connection.request("GET", f"/v1/executions/{run}/logs", headers={"Authorization": f"Bearer {s.token}"})
                answer = connection.getresponse()
                assert (answer.status, answer.read()) == (200, b""), answer.status
                if i == 100:
                    before = resident_kb(s)
        assert resident_kb(s) < before + (40 << 10) or os.environ.get("PAWL_TEST_SERVER_BUILD")


@test
def browsers_that_connect_again_for_ever_delay_nobody():
    with serving() as s:
        keeper, stop, wrong, rounds = live(s), threading.Event(), [], []
        s.submit(function="f")

        def browse(valid):
            last, n = None, 0
            while not stop.is_set():
                try:
                    if valid:
                        stream = Stream(s, last=last)
                        stream.message() if n % 3 == 0 and last is None else None
                        last = stream.id
                        stream.close()
                    else:
                        assert s.get("/v1/stream", token="garbage").status == 401
                    n += 1
                except Exception as e:
                    wrong.append(e)
                    return
            rounds.append(n)

        browsers = [threading.Thread(target=browse, args=(i % 2 == 0,)) for i in range(12)]
        for t in browsers:
            t.start()
        memory, slowest = [], 0
        for i in range(40):
            start = time.monotonic()
            s.submit(function="g")
            assert keeper.numbers(2)
            slowest = max(slowest, time.monotonic() - start)
            memory.append(resident_kb(s))
            time.sleep(0.1)
        stop.set()
        for t in browsers:
            t.join(PATIENCE)
        assert not wrong, wrong
        assert sum(rounds) > 100, rounds
        assert slowest < 30, slowest
        assert max(memory) < (200 << 10) or os.environ.get("PAWL_TEST_SERVER_BUILD"), memory  # what is leaked, ASan finds
        keeper.close()


main()
