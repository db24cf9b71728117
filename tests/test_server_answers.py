"""Answers are bounded: one by its size, and all that clients are slow to take by what they hold in memory. TEST_LONG"""

import os
import socket

from harness import main, test
from server_fixture import PATIENCE, serving
from stream_client import until

TREE_MAX, LIST_MAX = 100000, 1000
INPUT = 900000  # bytes


def resident_mb(server):
    with open(f"/proc/{server.process.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) >> 10


def start_reading(server, path):
    """A client that reads the status of an answer, and then nothing."""
    c = socket.socket()
    c.settimeout(PATIENCE)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    c.connect(("127.0.0.1", server.port))
    c.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode())
    return c, int(c.recv(12)[9:])


@test
def large_answers_that_nobody_takes_are_bounded_and_leave_small_answers_and_writes_alone():
    with serving() as s:
        for _ in range(4):
            run = s.post("/v1/executions", [{"function": "f", "input": "x" * INPUT}] * 5).expect(201).json[0]["id"]
        path = "/v1/executions?limit=20"
        size = len(s.get(path).expect(200).body)
        most = (192 << 20) // size
        clients = [start_reading(s, path) for _ in range(most + 6)]
        statuses = [status for _, status in clients]
        assert set(statuses) == {200, 503} and statuses.count(200) == most, (most, statuses)
        refused = s.get(path).expect(503)
        assert int(refused.headers["Retry-After"]) > 0 and "too many large answers" in refused.json["detail"]
        assert resident_mb(s) < 500 or os.environ.get("PAWL_TEST_SERVER_BUILD"), resident_mb(s)
        s.get("/v1/queues").expect(200)  # a quarter is left to small answers
        s.get("/readyz", token=None).expect(200)
        s.post(f"/v1/executions/{run}/cancel").expect(200)
        s.submit(function="g")
        for c, _ in clients:
            c.close()
        until(lambda: s.get(path).status == 200)


@test
def tree_that_is_too_large_for_one_answer_is_refused_and_can_be_read_by_pages():
    with serving() as s:
        top = s.submit(function="f")
        jobs = [{"function": "f", "parent": top}] * LIST_MAX
        for _ in range(TREE_MAX // LIST_MAX - 1):
            s.post("/v1/executions", jobs).expect(201)
        s.post("/v1/executions", jobs[:-1]).expect(201)
        assert len(s.get(f"/v1/executions/{top}/nodes").expect(200).json["items"]) == TREE_MAX
        s.submit(function="f", parent=top)
        for path in ("tree", "nodes", "tree?at=2100-01-01T00:00:00Z"):
            problem = s.get(f"/v1/executions/{top}/{path}").expect(422).json
            assert problem["type"] == "urn:pawl:problem:not-processable" and "/children" in problem["detail"], problem
        page = s.get(f"/v1/executions/{top}/children?limit={LIST_MAX}").expect(200)
        assert len(page.json["items"]) == LIST_MAX and page.json["next"] and page.headers["Link"]
        s.get("/v1/executions/999999999/tree").expect(404)


@test
def page_with_more_bytes_than_an_answer_may_have_is_refused_and_smaller_ones_are_read():
    with serving() as s:
        jobs = [{"function": "f", "input": "x" * INPUT}] * 8
        for _ in range(19):
            s.post("/v1/executions", jobs).expect(201)
        problem = s.get("/v1/executions?limit=1000").expect(422).json
        assert "128 MB" in problem["detail"] and "limit" in problem["detail"], problem
        assert len(s.get("/v1/executions?limit=100").expect(200).json["items"]) == 100


main()
