"""Reading, submitting and operating do not hold each other up."""
# TEST_LONG

import http.client
import json
import os
import signal
import socket
import threading
import time

from harness import main, test
from server_fixture import PATIENCE, serving

LIMIT = 1000  # executions of a large page, and jobs of one request


class Loop(threading.Thread):
    """Reads in a loop with its token; counts the requests that were answered."""

    def __init__(self, server, token, path):
        super().__init__(daemon=True)
        self.server, self.token, self.path = server, token, path
        self.answered, self.refused, self.waited, self.stopped = 0, 0, 0.0, False
        self.start()

    def run(self):
        while not self.stopped:
            start = time.monotonic()
            answer = self.server.get(self.path, token=self.token)
            self.waited = time.monotonic() - start
            if answer.status == 503:
                self.refused += 1
            else:
                answer.expect(200)
                self.answered += 1


def fill(server):
    for _ in range(2):
        server.post("/v1/executions", [{"function": "nobody", "queue": "q"}] * LIMIT).expect(201)


@test
def token_that_reads_in_a_loop_waits_while_other_tokens_and_submissions_do_not():
    with serving() as s:
        fill(s)
        greedy, modest = s.db.token("greedy", "read"), s.db.token("modest", "read")
        path = f"/v1/executions?limit={LIMIT}"
        loops = [Loop(s, greedy, path) for _ in range(16)]
        end = time.monotonic() + PATIENCE
        while not any(loop.waited > 1 or loop.refused for loop in loops):  # its budget is exhausted
            assert time.monotonic() < end, "the loops are never slowed"
            time.sleep(0.1)
        # Without budgets the requests of the others would wait behind those of the 16 loops.
        for _ in range(3):
            before = sum(loop.answered + loop.refused for loop in loops)
            s.get(path, token=modest).expect(200)
            s.submit(function="nobody", queue="q")
            after = sum(loop.answered + loop.refused for loop in loops)
            assert after - before < 16, f"{after - before} answers to the loops before one to the other"
        for loop in loops:
            loop.stopped = True
        for loop in loops:
            loop.join(PATIENCE)
            assert not loop.is_alive()


def processor_seconds(server):
    with open(f"/proc/{server.process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def submit_at_once(server, bodies):
    """Sends many submissions, and the last byte of each only when the others are sent, so that the server finds them all
    when it begins. Returns their statuses."""
    sockets, statuses = [], []
    for body in bodies:
        s = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
        head = f"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        s.sendall(head.encode() + body[:-1])
        sockets.append(s)
    for s, body in zip(sockets, bodies):
        s.sendall(body[-1:])
    for s in sockets:
        answer = http.client.HTTPResponse(s)
        answer.begin()
        statuses.append(answer.status)
        s.close()
    return statuses


@test
def many_simultaneous_lists_of_jobs_with_idempotency_keys_do_not_take_quadratic_time():
    with serving() as s:
        jobs = lambda i: [{"workflow": "missing"}] + [{"function": "f", "key": f"{i}-{k}"} for k in range(LIMIT - 1)]
        bodies = [json.dumps(jobs(i)).encode() for i in range(300)]
        start = processor_seconds(s)
        assert set(submit_at_once(s, bodies)) == {404}
        spent = processor_seconds(s) - start
        # Comparing each key with all others took minutes.
        assert spent < 20, f"{spent} s"


@test
def requests_with_the_same_idempotency_key_at_once_submit_one_execution():
    with serving() as s:
        same = [json.dumps({"function": "f", "input": 1, "key": "same"}).encode()] * 20
        other = [json.dumps({"function": "f", "input": 2, "key": "same"}).encode()] * 5
        lists = [json.dumps([{"function": "f", "input": 1, "key": "same"}, {"function": "f", "key": f"k{i}"}]).encode() for i in range(5)]
        s.submit(function="f", input=1, key="same")
        assert submit_at_once(s, same + other + lists) == [200] * 20 + [422] * 5 + [201] * 5
        assert len(s.get("/v1/executions").json["items"]) == 6


class Bulk(threading.Thread):
    """Pauses all executions of the queue q with one request."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.answer = server, None
        self.start()

    def run(self):
        self.answer = self.server.post("/v1/executions/actions", {"action": "pause", "filter": {"queue": "q"}})


def wait_for_pause(server, execution):
    end = time.monotonic() + PATIENCE
    while server.get(f"/v1/executions/{execution}").json["waiting"] != "paused":
        assert time.monotonic() < end
        time.sleep(0.01)


@test
def actions_on_many_executions_do_not_delay_an_action_on_one_and_end_when_the_server_stops():
    with serving() as s:
        single = s.submit(function="nobody")
        for _ in range(12):
            fill(s)
        newest = s.get("/v1/executions?limit=1").json["items"][0]["id"]
        many = [Bulk(s), Bulk(s)]
        wait_for_pause(s, newest)
        s.post(f"/v1/executions/{single}/cancel").expect(200)
        assert all(bulk.is_alive() for bulk in many), [bulk.answer.body[:200] for bulk in many if bulk.answer]
        s.process.send_signal(signal.SIGTERM)
        for bulk in many:
            bulk.join(PATIENCE)
        assert any(bulk.answer.status == 503 and "stopping: " in bulk.answer.json["detail"] for bulk in many)
        assert s.process.wait(PATIENCE) == 0
        s.stop = lambda: 0
        s.db.pawl("pause", "--queue", "q", "--limit", "500", "--yes")  # continues with the others


main()
