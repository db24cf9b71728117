"""kill -9 of the server inside every kind of request. A ledger knows which requests were answered. Afterwards what was
answered is there, the other requests were carried out whole or not at all, and a repeat with the same key submits nothing
twice. TEST_LONG"""

import contextlib
import http.client
import itertools
import os
import random
import shutil
import signal
import subprocess
import threading
import time

from harness import Skip, main, test
from server_fixture import PATIENCE, Database, Server
from stream_client import Stream, live

LOST = (ConnectionError, http.client.HTTPException, OSError)
FULL = os.environ.get("PAWL_TEST_FULL")
WORKFLOW = "name: nightly\ntasks: {{a: {{run: 'exit {0}'}}}}\n"


class Ledger:
    """What clients asked for: each entry is a kind and its subject, with the answer if there was one."""

    def __init__(self):
        self.answered, self.unanswered, self.keys = [], [], set()
        self.numbers = itertools.count(1)  # next() is atomic

    def name(self):
        return f"n{next(self.numbers)}"

    def check(self, s):
        """`s` is a new server. Forgets what it has checked, except the keys of all submissions."""
        for kind, subject, answer in self.answered:
            getattr(self, f"check_{kind}")(s, subject, answer)
        for kind, subject in self.unanswered:
            if kind == "submit":
                self.keys.update(subject)
                repeat_submission(s, subject)
        self.answered, self.unanswered = [], []
        total = count_executions(s)
        assert total == len(self.keys), (total, len(self.keys))

    def check_submit(self, s, keys, answer):
        self.keys.update(keys)
        receipts = answer.json if isinstance(answer.json, list) else [answer.json]
        again = repeat_submission(s, keys)
        assert again == [r["id"] for r in receipts], (keys, receipts, again)

    def check_cancel(self, s, run, answer):
        assert s.get(f"/v1/executions/{run}").expect(200).json["status"] == "cancelled", run

    def check_actions(self, s, queue, answer):
        counts = s.get(f"/v1/executions/counts?queue={queue}").expect(200).json
        assert answer.json["done"] == counts["cancelled"] == 10, (answer.json, counts)

    def check_apply(self, s, text, answer):
        versions = s.get("/v1/workflows/nightly/versions?limit=1000").expect(200).json["items"]
        assert answer.headers["ETag"].strip('"') in [v["definition"] for v in versions], (answer.headers["ETag"], versions)

    def check_limit(self, s, queue, answer):
        shown = {q["queue"]: q for q in s.get("/v1/queues").expect(200).json["items"]}
        assert shown[queue]["limit"]["max"] == 3, shown[queue]

    def check_token(self, s, name, answer):
        token = answer.json["token"]
        assert s.get("/v1/identity", token=token).expect(200).json["by"] == f"token {name}"


def count_executions(s):
    """The endpoint of counts counts up to 10,000 only."""
    total, path = 0, "/v1/executions?limit=1000"
    while path:
        answer = s.get(path).expect(200)
        total += len(answer.json["items"])
        path = answer.headers["Link"] and answer.headers["Link"][1:].split(">")[0]
    return total


def repeat_submission(s, keys):
    """Submits jobs with these keys again; returns their ids. Either all of them existed or none."""
    answer = s.post("/v1/executions", [{"function": "f", "key": k, "queue": k.split("-")[0]} for k in keys])
    assert answer.status in (200, 201), answer.body
    existed = {receipt["existed"] for receipt in answer.json}
    assert len(existed) == 1, f"a list was half stored: {answer.json}"
    return [receipt["id"] for receipt in answer.json]


class Client:
    """Makes requests. Each method prepares its request and returns it as (kind, subject, method, path, body)."""

    def __init__(self, server, ledger):
        self.server, self.ledger = server, ledger

    def ask(self, kind, subject, method, path, body):
        """Returns the answer, or None if the server died."""
        headers = {"Content-Type": "application/yaml"} if isinstance(body, bytes) else {}
        try:
            answer = self.server.ask(method, path, body, headers=headers)
        except LOST:
            self.ledger.unanswered.append((kind, subject))
            return None
        assert answer.status in (200, 201), (kind, answer.status, answer.body)
        self.ledger.answered.append((kind, subject, answer))
        return answer

    def jobs(self, n):
        queue = self.ledger.name()
        keys = [f"{queue}-{i}" for i in range(n)]
        jobs = [{"function": "f", "key": k, "queue": queue} for k in keys]
        return queue, ("submit", keys, "POST", "/v1/executions", jobs if n > 1 else jobs[0])

    def submit(self):
        return self.jobs(1)[1]

    def submit_list(self):
        return self.jobs(30)[1]

    def cancel(self):
        answer = self.ask(*self.submit())
        return answer and ("cancel", answer.json["id"], "POST", f"/v1/executions/{answer.json['id']}/cancel", {})

    def actions(self):
        queue, request = self.jobs(10)
        body = {"action": "cancel", "filter": {"queue": queue}}
        return self.ask(*request) and ("actions", queue, "POST", "/v1/executions/actions", body)

    def apply(self):
        text = WORKFLOW.format(random.randrange(200)).encode()
        return ("apply", text, "PUT", "/v1/workflows/nightly", text)

    def limit(self):
        queue = self.ledger.name()
        return ("limit", queue, "PUT", f"/v1/queues/{queue}/limit", {"max": 3})

    def token(self):
        name = self.ledger.name()
        return ("token", name, "POST", "/v1/tokens", {"name": name, "scopes": "read"})

    KINDS = (submit, submit_list, cancel, actions, apply, limit, token)

    def run(self, wrong):
        """Makes requests until the server dies."""
        try:
            request = True
            while request:
                request = random.choice(self.KINDS)(self)
                request = request and self.ask(*request)
        except Exception as e:  # of a thread: the test raises it
            wrong.append(e)


def read_streams(server, wrong):
    """A browser that connects again for ever, until the server dies."""
    last = None
    try:
        while True:
            stream = Stream(server, last=last)
            for _ in range(3):
                if not stream.message():
                    return
            last = stream.id
            stream.close()
    except LOST:
        pass
    except Exception as e:
        wrong.append(e)


@contextlib.contextmanager
def database():
    db = Database()
    try:
        yield db
        db.verify()
    finally:
        db.remove()


@test
def requests_that_a_kill_interrupts_are_carried_out_whole_or_not_at_all():
    with database() as db:
        ledger, answered = Ledger(), 0
        for _ in range(40 if FULL else 8):
            s, wrong = Server(db), []
            threads = [threading.Thread(target=Client(s, ledger).run, args=(wrong,)) for _ in range(8)]
            threads += [threading.Thread(target=read_streams, args=(s, wrong)) for _ in range(2)]
            for t in threads:
                t.start()
            time.sleep(random.uniform(0.02, 0.8))
            s.stop(signal.SIGKILL)
            for t in threads:
                t.join(PATIENCE)
            assert not wrong, wrong
            answered += len(ledger.answered)
            check_on_new_server(db, ledger)
        assert answered > 50, answered


def check_on_new_server(db, ledger):
    """Checks the ledger on a new server, whose streams work, too."""
    s = Server(db)
    stream = live(s)
    s.submit(function="f", key=(name := ledger.name()), queue=name)
    ledger.keys.add(name)
    assert stream.numbers(2)
    ledger.check(s)
    stream.close()
    assert s.stop() == 0


@test
def client_that_loses_one_of_two_servers_continues_on_the_other():
    with database() as db:
        ledger = Ledger()
        for _ in range(3):
            servers, wrong = [Server(db), Server(db)], []
            threads = [threading.Thread(target=Client(s, ledger).run, args=(wrong,)) for s in servers for _ in range(3)]
            stream = live(servers[0])
            for t in threads:
                t.start()
            assert stream.message()
            time.sleep(random.uniform(0.05, 0.5))
            servers[0].stop(signal.SIGKILL)
            with contextlib.suppress(*LOST):
                while stream.message():
                    pass
            other = Stream(servers[1], last=stream.id)
            assert other.message()[0] in ("resync", "events")
            unanswered = [subject for kind, subject in list(ledger.unanswered) if kind == "submit"]
            for keys in unanswered:
                repeat_submission(servers[1], keys)
            servers[1].stop(signal.SIGKILL)
            for t in threads:
                t.join(PATIENCE)
            assert not wrong, wrong
            stream.close()
            other.close()
            check_on_new_server(db, ledger)


SYSCALLS = "pwrite64,write,writev,sendto,sendmsg,fdatasync,fsync,ftruncate,unlink"


@contextlib.contextmanager
def killed_at(server, n):
    """The first thread of the server that enters its n-th of these system calls is killed, and with it the server."""
    command = ["strace", "-f", "-o", "/dev/null", "-p", str(server.process.pid)]
    command += ["-e", f"trace={SYSCALLS}", "-e", f"inject={SYSCALLS}:signal=SIGKILL:when={n}"]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        line = tracer.stderr.readline()
        if "attached" not in line:
            raise Skip(f"strace can't trace another process here: {line.strip()}")
        yield
    finally:
        tracer.kill()
        tracer.wait()
        tracer.stderr.close()


def kill_inside(db, kind, n):
    """Returns whether the server survived the request."""
    ledger = Ledger()
    ledger.numbers = itertools.count(random.randrange(10**9))
    s = Server(db)
    before = s.get("/v1/executions/counts").expect(200).json["total"]
    client = Client(s, ledger)
    request = kind(client)
    with killed_at(s, n):
        answer = client.ask(*request)
        if not answer:
            assert s.process.wait(PATIENCE) == -signal.SIGKILL, (request[0], n)
    survived = s.process.poll() is None
    s.stop(signal.SIGKILL)
    after = Server(db)
    check_one(after, ledger, before)
    assert after.stop() == 0
    return survived


def check_one(s, ledger, before):
    ledger.keys = set()
    total = lambda: s.get("/v1/executions/counts").expect(200).json["total"] - before
    stored = total()
    for kind, subject in ledger.unanswered:
        if kind == "submit":
            assert stored in (0, len(subject)), (stored, subject)
        elif kind == "actions":
            counts = s.get(f"/v1/executions/counts?queue={subject}").expect(200).json
            assert counts["cancelled"] in (0, 10), counts  # one transaction
    for kind, subject, answer in ledger.answered:
        getattr(ledger, f"check_{kind}")(s, subject, answer)
    for kind, subject in ledger.unanswered:
        if kind == "submit":
            repeat_submission(s, subject)
            assert total() == stored if stored else total() == len(subject)


@test
def request_that_is_killed_at_any_system_call_is_carried_out_whole_or_not_at_all():
    if not shutil.which("strace"):
        raise Skip("strace is not installed: tools/install-deps test")
    with database() as db:
        for kind in Client.KINDS:
            n, kills = 1, 0
            while not kill_inside(db, kind, n):
                kills += 1
                n += 1 if FULL else 1 + n // 3
                assert n < 1000, kind
            assert kills, f"{kind.__name__} was never killed"


main()
