"""Access rights. Every operation of the OpenAPI document is requested in every way that must be refused, and then nothing may
have been read or changed. The tests iterate over the document, so new operations are covered without a change here."""

import base64
import contextlib
import hashlib
import http.client
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import time

from harness import main, test
from server_fixture import BUILD, PATIENCE, Database, Server, as_nobody, serving

SCOPES = ("read", "submit", "operate", "work", "admin")
NIGHTLY = "name: nightly\non: {schedule: {cron: '0 3 * * *'}}\ntasks: {a: {run: 'true'}}\n"

# A body with which the operation changes something; {} for the others.
BODIES = {
    "submit": {"function": "intruder"},
    "limitQueue": {"max": 7},
    "createToken": {"name": "intruder", "scopes": "read"},
    "createHook": {"name": "intruder"},
    "actOnExecutions": {"action": "cancel", "filter": {"queue": "mail"}},
}


class Operation:
    def __init__(self, method, path, described, names):
        self.method, self.id, self.scope = method.upper(), described["operationId"], described.get("x-scope")
        self.path = re.sub(r"\{(\w+)\}", lambda m: names(path, m[1]), path)
        needed = [p["name"] for p in described.get("parameters", []) if p["in"] == "query" and p["required"]]
        self.path += "?" + "&".join(f"{name}=x" for name in needed) if needed else ""
        self.kind = next(iter(described.get("requestBody", {}).get("content", {})), None)
        self.body = None
        if self.kind:
            self.body = NIGHTLY if self.kind == "application/yaml" else json.dumps(BODIES.get(self.id, {}))

    def ask(self, server, **options):
        """Returns the status and the media type of the answer, and the start of its body; a stream has no end."""
        headers = dict(options.get("headers") or {})
        if options.get("token"):
            headers["Authorization"] = "Bearer " + options["token"]
        if self.kind:
            headers["Content-Type"] = self.kind
        connection = server.connection()
        with contextlib.closing(connection):
            connection.request(self.method, self.path, self.body, headers)
            answer = connection.getresponse()
            kind = answer.headers["Content-Type"] or ""
            return answer.status, kind, b"" if "event-stream" in kind else answer.read()


class House:
    """A database with at least one object of each kind."""

    def __init__(self, server):
        self.server = server
        file = f"{server.db.dir}/nightly.flow.yaml"
        with open(file, "w") as f:
            f.write(NIGHTLY)
        server.db.pawl("apply", file)
        self.run = server.submit(function="secret", queue="mail")
        self.other = server.submit(workflow="nightly")
        self.schedule = server.get("/v1/schedules").json["items"][0]["schedule"].replace("/", "%2F")
        server.db.token("kept", "read")
        server.db.pawl("admin", "hook", "create", "kept")
        with server.db.worker("--queue", "none") as (_, self.worker):  # its row stays when it is killed
            pass
        document = server.get("/openapi.json", token=None).expect(200).json
        self.operations = [
            Operation(method, path, described, self.name)
            for path, methods in document["paths"].items()
            for method, described in methods.items()
        ]
        assert len(self.operations) > 30

    def name(self, path, segment):
        if path.startswith("/v1/executions/"):
            return str(self.run if segment == "id" else self.other)
        kind = path.split("/")[2]
        return {"queues": "mail", "schedules": self.schedule, "tokens": "kept", "hooks": "kept", "workflows": "nightly",
                "workers": self.worker}.get(kind, "1")

    def guarded(self):
        return [o for o in self.operations if o.scope]

    def everything(self):
        """All operations, also those that need no token, and the pages, which the document lacks."""
        return self.operations + [Operation("get", path, {"operationId": f"page {path}"}, None) for path in ("/", "/runs/1")]

    @contextlib.contextmanager
    def unchanged(self):
        """No row of the database is added, removed or changed."""
        before = self.server.db.dump()
        assert any("secret" in row for row in before)
        yield
        after = self.server.db.dump()
        assert after == before, (sorted(set(before) - set(after)), sorted(set(after) - set(before)))

    def check_refused(self, status, operations=None, **options):
        """Every operation is refused with the status, in a problem that shows nothing."""
        for o in self.guarded() if operations is None else operations:
            got, kind, body = o.ask(self.server, **options)
            assert got == status, (o.id, got, status, body[:300], options)
            assert kind == "application/problem+json" and b"secret" not in body, (o.id, kind, body)


@test
def request_without_a_valid_token_is_refused_by_every_operation():
    with serving() as s:
        h = House(s)
        revoked = s.db.token("leaver", "admin")
        s.db.pawl("admin", "token", "revoke", "leaver")
        halves = s.db.token("whole", "admin")
        with h.unchanged():
            h.check_refused(401)
            for o in h.guarded():
                if o.method == "GET":
                    assert s.ask("HEAD", o.path, token=None).status == 401, o.id
            for token in ("garbage", "x" * 4000, s.token[:-1], s.token + "x", s.token.swapcase(), revoked, halves[:-1], halves + "x", "pawl_", "ä"):
                h.check_refused(401, token=token)
            for given in ("Bearer", "Bearer ", f"Basic {s.token}", s.token, f"Bearer {s.token} x", f"Bearer,{s.token}"):
                h.check_refused(401, headers={"Authorization": given})
            for path in ("?token=", "?access_token="):
                assert s.get(f"/v1/identity{path}{s.token}", token=None).status in (400, 401)


@test
def expired_token_is_refused_by_the_clock_of_the_database():
    with serving() as s:
        h = House(s)
        token = s.db.token("guest", "admin", "--expires", "1s")
        end = time.monotonic() + PATIENCE
        while s.get("/v1/identity", token=token).status == 200:
            assert time.monotonic() < end, "the token does not expire"
            time.sleep(0.1)
        with h.unchanged():
            h.check_refused(401, token=token)


def unknown_token(tenant):
    """The text of a token of the tenant with a new secret."""
    text = f"pawl_{tenant}_" + base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")
    checks = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return text + base64.urlsafe_b64encode(checks).decode()[:6]


@test
def token_of_a_missing_tenant_is_refused_like_an_unknown_token():
    with serving(tenant=False) as s:
        answers = []
        for tenant in (s.db.tenant, "missing"):
            for ask in (lambda token: s.get("/v1/executions", token=token), lambda token: s.post("/v1/executions", {"function": "f"}, token=token)):
                answer = ask(unknown_token(tenant)).expect(401)
                answers.append((sorted((k, v) for k, v in answer.headers.items() if k != "Date"), answer.body))
        assert answers[0] == answers[1] == answers[2] == answers[3], answers


def begin_upload(server, token):
    """Sends nearly all of a large body."""
    s = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
    given = f"Authorization: Bearer {token}\r\n" if token else ""
    s.sendall(f"POST /v1/executions HTTP/1.1\r\nHost: localhost\r\n{given}Content-Length: {8 << 20}\r\n\r\n".encode())
    s.sendall(b" " * ((8 << 20) - 1))
    return s


@test
def uploads_without_a_valid_token_do_not_block_small_submissions():
    large = json.dumps({"function": "f", "input": "x" * (2 << 20)}).encode()  # is too large for a job, but is read
    with serving() as s, contextlib.ExitStack() as uploads:
        for _ in range(9):
            uploads.enter_context(begin_upload(s, None))
        s.post("/v1/executions", large).expect(422)
        for _ in range(9):
            uploads.enter_context(begin_upload(s, unknown_token(s.db.tenant)))
        end = time.monotonic() + PATIENCE
        while s.post("/v1/executions", large).status != 503:  # until the server has read the uploads
            assert time.monotonic() < end
        s.post("/v1/executions", {"function": "f"}).expect(201)


@test
def token_of_another_tenant_reads_and_changes_nothing():
    with serving() as s:
        h = House(s)
        other = Database()
        try:
            if s.db.url.startswith("sqlite:"):  # another tenant of the same database
                shutil.rmtree(other.dir)
                other.dir, other.url = s.db.dir, s.db.url
                other.pawl("admin", "tenant", "create", other.tenant, tenant=False)
            stranger = other.token("stranger", "admin")
            with h.unchanged():
                h.check_refused(401, token=stranger)
            everyone = Server(s.db, tenant=False)
            home, h.server = h.server, everyone
            for o in h.guarded():
                if re.search(r"/executions/[0-9]", o.path):
                    status, kind, body = o.ask(everyone, token=stranger)
                    assert status == 404 and b"secret" not in body, (o.id, status, body)
            assert everyone.get("/v1/executions?all=true", token=stranger).expect(200).json["items"] == []
            assert everyone.get("/v1/events", token=stranger).expect(200).json["items"] == []
            own = home.db.token("own", "read")
            assert everyone.get(f"/v1/executions/{h.run}", token=own).expect(200).json["id"] == h.run
            swapped = re.sub(re.escape(other.tenant), home.db.tenant, stranger)
            assert swapped == stranger or everyone.get("/v1/queues", token=swapped).status == 401
            assert everyone.get("/v1/queues", token=stranger.replace(other.tenant, "no_such_tenant")).status == 401
            h.server = home
            assert everyone.stop() == 0
            other.verify()
        finally:
            other.pawl("admin", "tenant", "drop", other.tenant, tenant=False, check=False)
            if other.dir != s.db.dir:
                shutil.rmtree(other.dir, ignore_errors=True)


@test
def operation_refuses_a_token_without_its_scope_and_admits_a_token_with_it():
    with serving() as s:
        h = House(s)
        lacking = {scope: s.db.token(f"all but {scope}", ",".join(x for x in SCOPES if x not in (scope, "admin"))) for scope in SCOPES}
        having = {scope: s.db.token(f"only {scope}", scope) for scope in SCOPES}
        with h.unchanged():
            for o in h.guarded():
                h.check_refused(403, [o], token=lacking[o.scope])
                for scope in SCOPES:
                    if scope not in (o.scope, "admin"):
                        h.check_refused(403, [o], token=having[scope])
            command = {"command": {"run": "true"}}
            assert s.post("/v1/executions", command, token=having["submit"]).status == 403
        for o in h.guarded():
            status, _, body = o.ask(s, token=having[o.scope])
            assert status not in (401, 403) and status < 500, (o.id, status, body)


@test
def request_whose_host_header_names_an_unknown_host_is_refused():
    with serving("--host", "pawl.example") as s:
        h = House(s)
        with h.unchanged():
            for host in ("evil.example", "pawl.example.evil.example", "localhost.evil.example", f"evil.example:{s.port}", "127.0.0.1.evil.example", "", "[::1", "[::1]x", "localhost:x", "127.0.0.1@evil.example"):
                h.check_refused(421, h.everything(), token=s.token, headers={"Host": host})
                h.check_refused(421, h.everything(), headers={"Host": host})
        for host in ("pawl.example", "PAWL.example:443", "localhost", f"127.0.0.1:{s.port}", "[::1]:80"):
            s.get("/v1/identity", headers={"Host": host}).expect(200)


@test
def request_that_a_page_of_another_site_caused_is_refused():
    with serving() as s:
        h = House(s)
        own = f"http://127.0.0.1:{s.port}"
        with h.unchanged():
            for headers in (
                {"Sec-Fetch-Site": "cross-site"},
                {"Sec-Fetch-Site": "same-site"},
                {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
                {"Sec-Fetch-Site": "cross-site", "Origin": own},
                {"Origin": "http://evil.example"},
                {"Origin": "null"},
                {"Origin": ""},
                {"Origin": f"http://127.0.0.1:{s.port + 1}"},
                {"Origin": f"{own}.evil.example"},
            ):
                opens = lambda o: "Sec-Fetch-Mode" in headers and o.method == "GET" and not o.scope
                refused = [o for o in h.everything() if not opens(o)]
                h.check_refused(403, refused, token=s.token, headers=headers)
                cookie = {"Cookie": f"pawl={s.token}", "X-Pawl-Request": "1", **headers}
                h.check_refused(403, refused, headers=cookie)
                for o in h.everything():
                    if opens(o):  # a link on another site may open a page, which then asks for its data itself
                        status, _, body = o.ask(s, token=s.token, headers=headers)
                        assert status == 200, (o.id, status, body[:300])
        s.get("/v1/identity", headers={"Origin": own, "Sec-Fetch-Site": "same-origin"}).expect(200)


@test
def session_cookie_is_accepted_only_with_the_header_that_other_sites_cannot_send():
    with serving() as s:
        h = House(s)
        answer = s.post("/v1/session").expect(200)
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie, cookie
        cookie = cookie.split(";")[0]
        with h.unchanged():
            h.check_refused(401, headers={"Cookie": cookie})
            h.check_refused(401, headers={"Cookie": "a=b; pawl=; c=d", "X-Pawl-Request": "1"})
            h.check_refused(401, headers={"Cookie": "xpawl=" + s.token, "X-Pawl-Request": "1"})
        shown = s.get("/v1/identity", token=None, headers={"Cookie": f"a=b; {cookie}; c=d", "X-Pawl-Request": "1"})
        assert shown.expect(200).json["by"] == "console"


@test
def read_only_server_admits_reading_and_refuses_every_change():
    with serving("--read-only") as reader:
        writer = Server(reader.db)
        h = House(writer)
        assert writer.stop() == 0
        h.server = reader
        token = reader.db.token("boss", ",".join(SCOPES))
        with h.unchanged():
            for t in (reader.token, token):
                h.check_refused(403, [o for o in h.guarded() if o.scope != "read"], token=t)
                for o in h.guarded():
                    if o.scope == "read":
                        status, _, body = o.ask(reader, token=t)
                        assert status not in (401, 403) and status < 500, (o.id, status, body)


@test
def operations_that_need_no_token_show_no_data():
    with serving() as s:
        h = House(s)
        for o in h.operations:
            if not o.scope:
                status, _, body = o.ask(s)
                assert status < 300 or (o.id, status) == ("receiveHook", 401), (o.id, status)
                assert b"nightly" not in body, (o.id, status, body)


# --- unix sockets and addresses ----------------------------------------------------------------------


ASK = """
import http.client, socket, sys
c = http.client.HTTPConnection("localhost")
c.sock = socket.socket(socket.AF_UNIX)
try:
    c.sock.connect(sys.argv[1])
except PermissionError:
    sys.exit("may not connect")
c.request("GET", "/v1/identity")
print(c.getresponse().status)
"""


@test
def unix_socket_admits_its_own_user_without_a_token():
    db = Database()
    try:
        path = f"{db.dir}/s.sock"
        s = Server(db, listen=f"unix:{path}")
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert "(unix socket)" in s.get("/v1/identity", token=None).expect(200).json["by"]
        s.ask("POST", "/v1/executions", {"function": "f"}, token=None).expect(201)
        assert s.get("/v1/identity", token="garbage").status == 401  # a token that is sent must be valid
        assert s.get("/v1/identity", token=db.token("t", "read")).expect(200).json["by"] == "token t"
        assert s.stop() == 0
        assert not os.path.exists(path)
        db.verify()
    finally:
        db.remove()


@test
def unix_socket_admits_no_other_user():
    db = Database()
    try:
        path = f"{db.dir}/s.sock"
        s = Server(db, listen=f"unix:{path}")
        done = as_nobody(ASK, path)
        assert done.returncode and "may not connect" in done.stderr, done
        os.chmod(path, 0o666)  # even if somebody opens it to all
        done = as_nobody(ASK, path)
        assert done.stdout.strip() == "401", done
        assert s.stop() == 0
    finally:
        db.remove()


@test
def unix_socket_of_a_killed_server_is_replaced_and_that_of_a_running_server_is_not():
    db = Database()
    try:
        path = f"{db.dir}/s.sock"
        first = Server(db, listen=f"unix:{path}")
        command = [f"{BUILD}/pawl", "serve", "--db", db.url, "--tenant", db.tenant, "--listen", f"unix:{path}"]
        done = subprocess.run(command, env=db.env, text=True, capture_output=True, timeout=PATIENCE)
        assert done.returncode and "in use" in done.stderr, done
        first.get("/v1/identity", token=None).expect(200)
        first.stop(9)
        second = Server(db, listen=f"unix:{path}")
        second.get("/v1/identity", token=None).expect(200)
        assert second.stop() == 0
    finally:
        db.remove()


@test
def server_on_an_address_that_other_hosts_reach_starts_only_with_a_token():
    db = Database()
    try:
        command = [f"{BUILD}/pawl", "serve", "--db", db.url, "--tenant", db.tenant, "--listen", "0.0.0.0:0"]
        refuse = lambda: subprocess.run(command, env=db.env, text=True, capture_output=True, timeout=PATIENCE)
        done = refuse()
        assert done.returncode == 2 and "there is no token" in done.stderr, done
        token = db.token("gone", "read")
        db.pawl("admin", "token", "revoke", "gone")
        assert refuse().returncode == 2
        token = db.token("remote", "read")
        s = Server(db, listen="0.0.0.0:0")
        assert s.token is None  # no console token, which would be shown in a log
        s.get("/v1/identity", token=token).expect(200)
        assert s.get("/v1/identity", token=None).status == 401
        assert s.stop() == 0
        file = f"{db.dir}/token"
        with open(file, "w") as f:
            f.write("k" * 40 + "\n")
        s = Server(db, "--token-file", file, listen="127.0.0.2:0")
        connection = http.client.HTTPConnection("127.0.0.2", s.port, timeout=PATIENCE)
        connection.request("GET", "/v1/identity", headers={"Authorization": "Bearer " + "k" * 40})
        assert json.loads(connection.getresponse().read())["by"] == "token file"
        connection.close()
        assert s.stop() == 0
    finally:
        db.remove()


main()
