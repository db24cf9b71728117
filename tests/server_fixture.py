"""server_fixture.py - a real server on a new database, for tests in Python."""

import contextlib
import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from harness import Skip

BUILD = os.environ.get("PAWL_TEST_BUILD", "build")
SERVER_BUILD = os.environ.get("PAWL_TEST_SERVER_BUILD")  # with a sanitizer; only the server is run from there
MHD = os.environ.get("PAWL_TEST_MHD")  # the libmicrohttpd that every server must have loaded
PATIENCE = int(os.environ.get("PAWL_TEST_PATIENCE", "240"))  # seconds until a hang counts as a failure


class Database:
    """A new tenant of the database under test, or of the PostgreSQL server with this URL."""

    count = 0

    def __init__(self, url=None):
        self.dir = tempfile.mkdtemp(prefix="pawl-server.")
        os.chmod(self.dir, 0o755)
        if url:
            self.url = url
        elif os.environ.get("PAWL_TEST_DB", "sqlite") == "sqlite":
            self.url = f"sqlite:{self.dir}/pawl.db"
        else:
            self.url = os.environ["PAWL_TEST_PG_URL"] + "?connect_timeout=240"
        Database.count += 1
        self.tenant = f"srv_{os.getpid()}_{Database.count}"
        self.env = {k: v for k, v in os.environ.items() if k not in ("PAWL_DB", "PAWL_TRACE", "XDG_STATE_HOME")}
        self.env["HOME"] = self.dir
        self.pawl("admin", "tenant", "create", self.tenant, tenant=False)

    def pawl(self, *args, tenant=True, check=True, **options):
        """Runs the command line; returns what it prints."""
        command = [f"{BUILD}/pawl", "--db", self.url]
        if tenant:
            command += ["--tenant", self.tenant]
        done = subprocess.run(command + list(args), env=self.env, text=True, capture_output=True, timeout=PATIENCE, **options)
        if check and done.returncode:
            raise AssertionError(f"pawl {' '.join(args)}: {done.returncode}: {done.stderr}")
        return done.stdout if check else done

    @contextlib.contextmanager
    def worker(self, *options):
        """A worker that is ready: yields its process and its id. It is killed in the end."""
        command = [f"{BUILD}/pawl", "--db", self.url, "--tenant", self.tenant, "worker", *options]
        process = subprocess.Popen(command, env=self.env, text=True, stderr=subprocess.PIPE)
        try:
            yield process, re.match(r"pawl: worker ([0-9a-f]{16}) is ready", process.stderr.readline())[1]
        finally:
            process.kill()
            process.communicate()

    def token(self, name, scopes, *more):
        return self.pawl("admin", "token", "create", name, "--scope", scopes, *more).strip()

    def dump(self):
        """All rows of the database, sorted, as texts. A check of a token may note when it was used."""
        if self.url.startswith("sqlite:"):
            return sorted(line for path in glob.glob(f"{self.dir}/*.db") for line in dump_sqlite(path))
        each = "SELECT %L || (to_jsonb(t) - ''last_used_at'')::text FROM %I.%I t"
        script = f"SELECT format('{each}', tablename, schemaname, tablename) FROM pg_tables WHERE schemaname = 'pawl_{self.tenant}'\\gexec\n"
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", self.url]
        done = subprocess.run(command, input=script, text=True, capture_output=True, timeout=PATIENCE, check=True)
        return sorted(done.stdout.splitlines())

    def execute(self, statement):
        """Runs a statement on the tables, without Pawl."""
        if self.url.startswith("sqlite:"):
            with contextlib.closing(sqlite3.connect(f"{self.dir}/pawl.{self.tenant}.db", timeout=PATIENCE)) as db, db:
                db.execute(statement)
            return
        command = ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", self.url]
        subprocess.run(command, input=f"SET search_path = pawl_{self.tenant}; {statement}", text=True, capture_output=True, timeout=PATIENCE,
                       check=True)

    def submit_by_sql(self, workflow, n):
        """Makes n SQL submissions of an applied workflow; on SQLite writes the rows that pawl_submit() would write."""
        if not self.url.startswith("sqlite:"):
            self.execute(f"SELECT count(pawl_submit('{workflow}', '{{}}')) FROM generate_series(1, {n})")
            return
        self.execute(f"UPDATE counters SET value = value + {n} WHERE name = 'execution_id'")
        self.execute(f"""WITH RECURSIVE i (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n + 1 < {n})
                         INSERT INTO submissions (id, requested_at, delay, priority, workflow, definition, params)
                         SELECT c.value - i.n, w.applied_at, 0, 0, w.name, w.hash, '{{}}' FROM i, counters c, workflow_names w
                         WHERE c.name = 'execution_id' AND w.name = '{workflow}'""")

    def verify(self):
        assert "invariants hold" in self.pawl("verify")

    def remove(self):
        self.pawl("admin", "tenant", "drop", self.tenant, tenant=False, check=False)
        shutil.rmtree(self.dir, ignore_errors=True)


def dump_sqlite(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=PATIENCE)) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            rows = db.execute(f'SELECT * FROM "{table}"')
            names = [column[0] for column in rows.description]
            for row in rows:
                yield table + repr({name: value for name, value in zip(names, row) if name != "last_used_at"})


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def expect(self, status):
        assert self.status == status, f"{self.status} instead of {status}: {self.body[:500]!r}"
        return self


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(self.path)


class Server:
    """A server of a database. By default it listens on a free port, serves the tenant of the database, and has a console
    token with all scopes. `tenant=False`: it serves all tenants."""

    def __init__(self, db, *options, listen="127.0.0.1:0", tenant=True, env=None):
        self.db, self.unix = db, listen[5:] if listen.startswith("unix:") else None
        program = [f"{SERVER_BUILD}/pawl-server"] if SERVER_BUILD else [f"{BUILD}/pawl", "serve"]
        command = [*program, "--db", db.url, "--listen", listen, *options]
        if tenant:
            command += ["--tenant", db.tenant]
        has_console = listen.startswith("127.") and "--token-file" not in options
        self.process = subprocess.Popen(command, env={**db.env, **(env or {})}, text=True, stderr=subprocess.PIPE)
        self.port, self.token = None, None
        for line in self.process.stderr:
            if found := re.search(r"ready on port (\d+)", line):
                self.port = int(found[1])
            if found := re.search(r"#token=(\S+)", line):
                self.token = found[1]
            if ("#token=" if has_console else "ready on") in line:
                self.rest = []
                self.reader = threading.Thread(target=lambda: self.rest.extend(self.process.stderr), daemon=True)
                self.reader.start()
                self.check_library()
                return
        raise AssertionError(f"the server did not start: exit status {self.process.wait()}")

    def check_library(self):
        if not MHD:
            return
        with open(f"/proc/{self.process.pid}/maps") as maps:
            if os.path.realpath(MHD) not in maps.read():
                self.process.kill()
                raise AssertionError(f"the server has not loaded {MHD}")

    def connection(self):
        if self.unix:
            return UnixConnection(self.unix)
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method, path, body=None, token=True, headers=None):
        """Makes one request. `body`: a value to send as JSON, or bytes. `token`: True for the console's, a text, or None."""
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = "Bearer " + (self.token if token is True else token)
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        connection = self.connection()
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.ask("POST", path, {} if body is None else body, **options)

    def submit(self, **job):
        return self.post("/v1/executions", job).expect(201).json["id"]

    def wait(self, execution):
        """Waits until the execution has ended; returns it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            shown = self.get(f"/v1/executions/{execution}", headers={"Prefer": "wait=60"}).expect(200).json
            if shown["finished_at"]:
                return shown
        raise AssertionError(f"execution {execution} does not end")

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.finish()

    def finish(self):
        """Waits for the end of the server. A sanitizer must have found nothing."""
        status = self.process.wait(PATIENCE)
        self.reader.join(5)  # longer only if a command of its worker still has the pipe
        said = "".join(self.rest)
        assert "Sanitizer" not in said and "runtime error" not in said, said
        return status


@contextlib.contextmanager
def serving(*options, **more):
    """A new database and a server of it. Checks at the end that the server stops cleanly and all invariants hold."""
    db = Database()
    try:
        server = Server(db, *options, **more)
        try:
            yield server
        except BaseException:
            server.stop(signal.SIGKILL)
            raise
        assert server.stop() == 0
        db.verify()
    finally:
        db.remove()


def as_nobody(program, *args):
    """Runs a text in Python as another user."""
    if os.geteuid() != 0:
        raise Skip("needs root, to be another user")
    command = ["setpriv", "--reuid", "nobody", "--clear-groups", sys.executable, "-c", program, *args]
    return subprocess.run(command, text=True, capture_output=True, timeout=PATIENCE)
