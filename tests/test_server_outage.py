"""The database can't be used for a while: every request gets a clear answer in time, streams stay open and continue, and
nothing is half done. TEST_WAITS"""

import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time

from harness import Skip, main, test
from server_fixture import PATIENCE, Database, Server, serving
from stream_client import Stream, live, read_in_background, until

PG_SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pg_server")


class Cluster:
    """A PostgreSQL server of this test."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="pawl-cluster.")
        printed = subprocess.run([PG_SERVER, "start", self.dir, str(os.getpid())], text=True, capture_output=True, check=True).stdout
        self.url = re.search(r"PAWL_TEST_PG_URL=(\S+)", printed)[1]

    def ctl(self, *words):
        subprocess.run([PG_SERVER, "ctl", self.dir, *words], check=True, capture_output=True, timeout=PATIENCE)

    def stop(self):
        self.ctl("-m", "immediate", "-w", "stop")

    def start(self):
        self.ctl("-w", "-t", "60", "start")

    def processes(self):
        with open(f"{self.dir}/data/postmaster.pid") as f:
            first = int(f.readline())
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(first)], text=True, capture_output=True).stdout
        return [first, *map(int, children.split())]

    def signal(self, how):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)

    def remove(self):
        subprocess.run([PG_SERVER, "stop", self.dir], check=True, capture_output=True, timeout=PATIENCE)


@contextlib.contextmanager
def own_cluster(*options):
    """A PostgreSQL server, a tenant of it, and a Pawl server of that tenant."""
    if os.environ.get("PAWL_TEST_DB", "sqlite") == "sqlite":
        raise Skip("a file can't be stopped")
    cluster = Cluster()
    try:
        db = Database(cluster.url)
        s = Server(db, *options)
        yield cluster, s
        assert s.stop() == 0
        db.verify()
    finally:
        cluster.remove()


@contextlib.contextmanager
def outage(*options):
    """A server, a function that takes its database away, and one that brings it back."""
    if os.environ.get("PAWL_TEST_DB", "sqlite") != "sqlite":
        with own_cluster(*options) as (cluster, s):
            yield s, cluster.stop, cluster.start
        return
    with serving(*options) as s:
        yield s, lambda: move_files(s.db.dir, f"{s.db.dir}/away"), lambda: move_files(f"{s.db.dir}/away", s.db.dir)


def move_files(source, to):
    os.makedirs(to, exist_ok=True)
    for name in os.listdir(source):
        if ".db" in name:
            os.rename(f"{source}/{name}", f"{to}/{name}")


def check_unavailable(answer):
    assert answer.status == 503, (answer.status, answer.body)
    assert int(answer.headers["Retry-After"]) > 0
    assert answer.json["type"] == "urn:pawl:problem:unavailable", answer.json


def each_plane(s, run, token=True):
    """One request for each plane."""
    yield s.get(f"/v1/executions/{run}", token=token)
    yield s.get("/v1/queues", token=token)
    yield s.post("/v1/executions", {"function": "f"}, token=token)
    yield s.post("/v1/executions", [{"function": "f", "key": "a"}, {"function": "f", "key": "b"}], token=token)
    yield s.post(f"/v1/executions/{run}/cancel", token=token)
    yield s.post("/v1/executions/actions", {"action": "cancel", "filter": {"queue": "default"}}, token=token)
    yield s.get("/readyz", token=None)


@test
def requests_while_the_database_is_stopped_get_503_and_succeed_afterwards():
    with own_cluster() as (cluster, s):
        run = s.submit(function="f")
        token = s.db.token("program", "admin")
        s.get("/v1/queues", token=token).expect(200)
        cluster.stop()
        for answer in (*each_plane(s, run), *each_plane(s, run, token)):
            check_unavailable(answer)
        s.get("/healthz", token=None).expect(200)
        s.get("/openapi.json", token=None).expect(200)
        cluster.start()
        until(lambda: s.get("/readyz", token=None).status == 200)
        assert len(s.get("/v1/executions").expect(200).json["items"]) == 1, "something was stored though it was refused"
        for answer in each_plane(s, run, token):
            assert answer.status in (200, 201), (answer.status, answer.body)


@test
def streams_stay_open_while_the_database_is_stopped_and_continue_with_resync():
    with own_cluster() as (cluster, s):
        run = s.submit(function="f")
        streams = [live(s), Stream(s), Stream(s, f"run:{run}")]
        cluster.stop()
        check_unavailable(s.get("/v1/queues"))
        late = Stream(s, last=0)  # begins while the database is away
        cluster.start()
        until(lambda: s.get("/readyz", token=None).status == 200)
        for stream in (*streams, late):
            assert stream.message()[0] == "resync"
        assert late.message()[0] == "resync"  # one for what it missed before, one for the outage
        s.post(f"/v1/executions/{run}/cancel").expect(200)
        for stream in (*streams, late):
            kind, data = stream.message()
            assert kind == "events" and data["events"][-1]["execution"] == run, data
            stream.close()


@test
def wait_survives_an_outage_of_the_database():
    with own_cluster() as (cluster, s):
        run = s.submit(function="f")
        waits = [read_in_background(lambda: s.get(f"/v1/executions/{run}", headers={"Prefer": "wait=300"})) for _ in range(10)]
        short = read_in_background(lambda: s.get(f"/v1/executions/{run}", headers={"Prefer": "wait=3"}))
        until(lambda: len(os.listdir(f"/proc/{s.process.pid}/fd")) > 20)
        time.sleep(0.5)
        cluster.stop()
        short[0].join(PATIENCE)
        check_unavailable(short[1][0])
        assert not any(got for _, got in waits)
        cluster.start()
        until(lambda: s.get("/readyz", token=None).status == 200)
        s.post(f"/v1/executions/{run}/cancel").expect(200)
        for thread, got in waits:
            thread.join(PATIENCE)
            assert got[0].expect(200).json["status"] == "cancelled"


@test
def database_that_hangs_blocks_no_thread_for_ever():
    with own_cluster() as (cluster, s):
        run = s.submit(function="f")
        stream = live(s)
        cluster.signal(signal.SIGSTOP)
        try:
            asked = [
                read_in_background(lambda: s.ask(method, path, body))
                for method, path, body in (
                    *[("GET", f"/v1/executions/{run}", None)] * 6,
                    *[("POST", "/v1/executions", {"function": "f", "key": "k"})] * 3,
                    *[("POST", f"/v1/executions/{run}/pause", {})] * 3,
                )
            ]
            s.get("/healthz", token=None).expect(200)
            for thread, got in asked:
                thread.join(PATIENCE)
                check_unavailable(got[0])
        finally:
            cluster.signal(signal.SIGCONT)
        until(lambda: s.get("/readyz", token=None).status == 200)
        assert len(s.get("/v1/executions").expect(200).json["items"]) <= 2  # a commit whose answer was lost
        s.submit(function="g")
        while stream.message()[0] not in ("resync", "events"):
            pass
        stream.close()


class Proxy:
    """Forwards to the PostgreSQL server of a URL. Once `armed`, it loses the answer to the next COMMIT and all connections."""

    def __init__(self, url):
        self.target = re.search(r"@?([\w.]+):(\d+)/", url)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = url.replace(self.target[0], self.target[0].replace(self.target[2], str(self.listener.getsockname()[1])))
        self.armed = self.lost = False
        self.open = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                database = socket.create_connection((self.target[1], int(self.target[2])))
                self.open += [client, database]
                for a, b in ((client, database), (database, client)):
                    threading.Thread(target=self.forward, args=(a, b, a is client), daemon=True).start()

    def forward(self, source, to, from_client):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if self.lost and not from_client:
                    return
                lose = self.armed and from_client and b"COMMIT" in data
                self.lost |= lose
                to.sendall(data)
                if lose:
                    time.sleep(0.5)  # until the database has committed
                    self.close()
        for s in (source, to):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def close(self):
        for s in (self.listener, *self.open):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)
            s.close()


@test
def commit_whose_outcome_is_unknown_is_not_answered_as_one_to_repeat():
    if os.environ.get("PAWL_TEST_DB", "sqlite") == "sqlite":
        raise Skip("there is no connection to lose")
    cluster = Cluster()
    try:
        proxy = Proxy(cluster.url)
        db = Database(cluster.url)
        direct, db.url = db.url, db.url.replace(cluster.url, proxy.url)
        s = Server(db)
        s.submit(function="f")
        proxy.armed = True
        answer = s.post("/v1/executions", {"function": "f"}).expect(500)
        assert answer.json["type"] == "urn:pawl:problem:outcome-unknown", answer.json
        assert "Retry-After" not in answer.headers
        s.process.kill()
        s.process.wait()
        db.url = direct
        s = Server(db)
        assert len(s.get("/v1/executions").expect(200).json["items"]) == 2  # it was committed
        assert s.stop() == 0
        db.verify()
    finally:
        proxy.close()
        cluster.remove()


@test
def server_stops_in_time_though_the_database_is_away():
    if os.environ.get("PAWL_TEST_DB", "sqlite") == "sqlite":
        raise Skip("a file can't be stopped")
    for how in ("stopped", "hanging"):
        cluster = Cluster()
        try:
            s = Server(Database(cluster.url))
            run = s.submit(function="f")
            stream = live(s)
            cluster.stop() if how == "stopped" else cluster.signal(signal.SIGSTOP)
            asked = [read_in_background(lambda: s.get(f"/v1/executions/{run}")) for _ in range(4)]
            time.sleep(0.3)
            start = time.monotonic()
            assert s.stop() in ((0,) if how == "stopped" else (0, 6)), how
            assert time.monotonic() - start < 75, "it does not stop"
            for thread, got in asked:
                thread.join(PATIENCE)
            stream.close()
        finally:
            cluster.signal(signal.SIGCONT) if how == "hanging" else None
            cluster.remove()


@test
def writes_get_503_and_reads_continue_while_another_process_locks_the_database_file():
    if os.environ.get("PAWL_TEST_DB", "sqlite") != "sqlite":
        raise Skip("rows are locked, not the database")
    db = Database()
    try:
        s = Server(db)
        run = s.submit(function="f")
        stream = live(s)
        path = next(p for p in os.listdir(db.dir) if p.endswith(f"{db.tenant}.db"))
        with contextlib.closing(sqlite3.connect(f"{db.dir}/{path}", isolation_level=None)) as lock:
            lock.execute("BEGIN IMMEDIATE")
            asked = [
                read_in_background(lambda: s.post("/v1/executions", {"function": "f"})),
                read_in_background(lambda: s.post(f"/v1/executions/{run}/cancel")),
                read_in_background(lambda: s.ask("PUT", "/v1/queues/mail/limit", {"max": 3})),
            ]
            for thread, got in asked:
                thread.join(PATIENCE)
                check_unavailable(got[0])
            assert s.get(f"/v1/executions/{run}").expect(200).json["status"] == "ready"
            lock.execute("ROLLBACK")
        s.post(f"/v1/executions/{run}/cancel").expect(200)
        assert stream.numbers(1)
        stream.close()
        assert len(s.get("/v1/executions").expect(200).json["items"]) == 1
        assert s.stop() == 0
        db.verify()
    finally:
        db.remove()


@test
def file_that_was_moved_away_gets_503_until_it_is_back():
    if os.environ.get("PAWL_TEST_DB", "sqlite") != "sqlite":
        raise Skip("there is no file")
    db = Database()
    try:
        s = Server(db)
        token = s.db.token("program", "admin")
        run = s.submit(function="f")
        stream = live(s)
        move_files(db.dir, f"{db.dir}/away")
        for answer in (*each_plane(s, run), *each_plane(s, run, token)):
            check_unavailable(answer)
        assert os.listdir(db.dir) == ["away"], "another file was created"
        move_files(f"{db.dir}/away", db.dir)
        s.get("/readyz", token=None).expect(200)
        assert len(s.get("/v1/executions").expect(200).json["items"]) == 1
        s.post(f"/v1/executions/{run}/cancel", token=token).expect(200)
        assert stream.message()[0] in ("events", "resync")
        stream.close()
        assert s.stop() == 0
        db.verify()
    finally:
        db.remove()


@test
def worker_of_the_server_stores_outcomes_and_runs_jobs_after_an_outage_of_the_database():
    with outage("--worker", "2") as (s, leave, return_):
        flag, ended = f"{s.db.dir}/flag", f"{s.db.dir}/ended"
        script = f"until [ -e {flag} ]; do sleep 0.05; done; touch {ended}"
        run = s.submit(command={"argv": ["sh", "-c", script]})
        until(lambda: s.get(f"/v1/executions/{run}").json["status"] == "running")
        leave()
        check_unavailable(s.post("/v1/executions", {"function": "f"}))
        open(flag, "w").close()
        until(lambda: os.path.exists(ended))
        check_unavailable(s.post("/v1/executions", {"function": "f"}))
        return_()
        until(lambda: s.get("/readyz", token=None).status == 200)
        assert s.wait(run)["status"] == "succeeded"
        assert s.wait(s.submit(command={"argv": ["true"]}))["status"] == "succeeded"


def rename_table(db, old, new):
    statement = f"ALTER TABLE {old} RENAME TO {new}"
    if db.url.startswith("sqlite:"):
        path = next(name for name in os.listdir(db.dir) if name.endswith(f"{db.tenant}.db"))
        with contextlib.closing(sqlite3.connect(f"{db.dir}/{path}", isolation_level=None, timeout=PATIENCE)) as c:
            c.execute(statement)
    else:
        script = f"SET search_path = pawl_{db.tenant}; {statement}"
        subprocess.run(["psql", "-Xqc", script, db.url], check=True, timeout=PATIENCE)


@test
def server_whose_worker_cannot_continue_stops_and_reports_the_error():
    db = Database()
    try:
        s = Server(db, "--worker", "1")
        stream = live(s)
        run = s.submit(command={"argv": ["true"]})
        s.wait(run)
        rename_table(db, "task_outbox", "moved")  # as a damaged schema would look to the worker
        assert s.finish() == 6, s.rest  # as `pawl worker` does, so that a supervisor starts it again
        assert "task_outbox" in s.rest[-1] and "the worker can't continue" in s.rest[0], s.rest
        while stream.message():
            pass
        stream.close()
        rename_table(db, "moved", "task_outbox")
        s = Server(db, "--worker", "1")
        assert s.wait(s.submit(command={"argv": ["true"]}))["status"] == "succeeded"
        assert s.stop() == 0
        db.verify()
    finally:
        db.remove()


main()
