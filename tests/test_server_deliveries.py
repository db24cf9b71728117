"""Webhooks that report ends of executions, delivered by real workers to a real receiver."""

import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import os
import signal
import subprocess
import threading
import time

from harness import main, test
from server_fixture import BUILD, PATIENCE, Database, Server


class Receiver:
    """Keeps what it gets. `answers`: a status or (status, headers, body) for each request; 204 after the last."""

    def __init__(self, *answers, delay=0):
        self.got, self.answers, self.delay = [], list(answers), delay
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                time.sleep(receiver.delay)
                answer = receiver.answers.pop(0) if receiver.answers else 204
                status, headers, text = answer if isinstance(answer, tuple) else (answer, {}, b"")
                with contextlib.suppress(OSError):  # the sender was killed, or has read enough
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def verify(secret, headers, body):
    """Checks a message by the specification of Standard Webhooks; returns its event."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    mac = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    assert headers["webhook-signature"] == "v1," + base64.b64encode(mac).decode(), headers
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 300
    assert headers["content-type"].startswith("application/cloudevents+json")
    return json.loads(body)


class Worker:
    def __init__(self, db):
        command = [f"{BUILD}/pawl", "--db", db.url, "--tenant", db.tenant, "worker", "--queue", "default", "--queue", "pawl:hooks", "--slots", "4"]
        self.process = subprocess.Popen(command, env=db.env, stderr=subprocess.DEVNULL)

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)


@contextlib.contextmanager
def reporting(*answers, options=(), **more):
    """A database with the webhook `all`, its secret, and a receiver."""
    db, receiver = Database(), Receiver(*answers, **more)
    try:
        secret = db.pawl("admin", "hook", "create", "all", "--url", receiver.url + "/in?x=1", *options).strip()
        with open(f"{db.dir}/flow.flow.yaml", "w") as f:
            f.write("name: flow\nparams: {ok: 'true'}\ntasks: {a: '$ok'}\n")
        db.pawl("apply", f"{db.dir}/flow.flow.yaml")
        yield db, secret, receiver
        db.verify()
    finally:
        receiver.close()
        db.remove()


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "never came"
        time.sleep(0.05)


def hooks(db):
    lines = db.pawl("ls", "--queue", "pawl:hooks", "--limit", "1000", "--json").splitlines()
    return [json.loads(line) for line in lines]


def all_delivered(db, n):
    found = hooks(db)
    return len(found) == n and all(h["status"] == "succeeded" for h in found)


@test
def ends_of_runs_are_reported_with_a_standard_webhooks_signature():
    with reporting() as (db, secret, receiver):
        worker = Worker(db)
        db.pawl("submit", "flow")
        db.pawl("submit", "flow", "--param", "ok=false")
        until(lambda: all_delivered(db, 2))
        events = [verify(secret, headers, body) for _, headers, body in receiver.got]
        assert {path for path, _, _ in receiver.got} == {"/in?x=1"}
        assert sorted(e["type"] for e in events) == ["pawl.workflow.completed", "pawl.workflow.failed"], events
        assert len({h["webhook-id"] for _, h, _ in receiver.got}) == 2
        for e in events:
            assert e["specversion"] == "1.0" and e["data"]["name"] == "flow" and e["subject"] == f"executions/{e['data']['execution']}"
            assert ("error" in e["data"]) and "result" not in e["data"]
        assert secret[6:] not in db.pawl("ls", "--queue", "pawl:hooks", "--json") + db.pawl("events", "--limit", "0", "--json")
        assert worker.stop() == 0


@test
def server_with_a_worker_delivers():
    with reporting() as (db, secret, receiver):
        server = Server(db, "--worker", "2")
        run = server.submit(workflow="flow")
        until(lambda: all_delivered(db, 1))
        assert verify(secret, *receiver.got[0][1:])["data"]["execution"] == run
        assert server.stop() == 0


@test
def failed_delivery_is_retried_with_the_same_id_and_a_new_time():
    with reporting(500) as (db, secret, receiver):
        worker = Worker(db)
        db.pawl("submit", "flow")
        until(lambda: all_delivered(db, 1))
        first, second = receiver.got
        assert first[1]["webhook-id"] == second[1]["webhook-id"] and first[2] == second[2]
        assert first[1]["webhook-timestamp"] < second[1]["webhook-timestamp"]
        verify(secret, *second[1:])
        assert "the receiver answered 500" in db.pawl("events", str(hooks(db)[0]["id"]))
        db.pawl("rerun", str(hooks(db)[0]["id"]))  # an operator may send it again
        until(lambda: len(receiver.got) == 3)
        assert worker.stop() == 0


@test
def redirect_is_not_followed_and_a_long_answer_is_cut_off():
    long = (200, {}, b"x" * (4 << 20))
    with reporting(long) as (db, secret, receiver):
        other = Receiver()
        worker = Worker(db)
        db.pawl("submit", "flow")
        until(lambda: all_delivered(db, 1))
        receiver.answers.append((307, {"Location": other.url + "/stolen"}, b""))
        db.pawl("submit", "flow")
        until(lambda: all_delivered(db, 2))
        assert not other.got and len(receiver.got) == 3
        other.close()
        assert worker.stop() == 0


@test
def delivery_waits_until_a_worker_serves_its_queue_and_fails_once_the_webhook_is_revoked():
    with reporting() as (db, secret, receiver):
        db.pawl("submit", "flow")
        db.pawl("worker", "--drain")
        assert [h["status"] for h in hooks(db)] == ["ready"] and not receiver.got
        db.pawl("admin", "hook", "revoke", "all")
        worker = Worker(db)
        until(lambda: hooks(db)[0]["status"] == "failed")
        assert hooks(db)[0]["error"].startswith("the webhook was revoked"), hooks(db)
        assert not receiver.got and worker.stop() == 0


@test
def nothing_is_lost_when_workers_are_killed():
    with reporting(delay=0.1) as (db, secret, receiver):
        runs = {int(db.pawl("submit", "flow", "--json").split('"id":')[1].split(",")[0].split("}")[0]) for _ in range(20)}
        for n in range(5):
            worker = Worker(db)
            time.sleep(0.3 + 0.1 * n)
            worker.stop(signal.SIGKILL)
        worker = Worker(db)
        until(lambda: all_delivered(db, 20))
        ids = {}
        for _, headers, body in receiver.got:
            ids.setdefault(verify(secret, headers, body)["data"]["execution"], set()).add(headers["webhook-id"])
        assert set(ids) == runs, (ids, runs)
        assert all(len(found) == 1 for found in ids.values()), ids  # a receiver recognizes what comes twice
        assert worker.stop() == 0


main()
