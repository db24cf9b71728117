"""Users whom a trusted proxy names, and the example files of nginx and HAProxy: TLS, streams, waits, and users with a password."""

import base64
import contextlib
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time

from harness import Skip, main, test
from reverse_proxy import example
from server_fixture import BUILD, PATIENCE, Answer, Database, Server, as_nobody, serving

NAME = "pawl.example.org"
OPTIONS = ("--host", NAME, "--trusted-proxy", "127.0.0.1", "--proxy-scope", "read,operate")
PAGE = {"X-Pawl-Request": "1"}
ALICE = {"Authorization": "Basic " + base64.b64encode(b"alice:secret").decode(), **PAGE}


# --- the header ---------------------------------------------------------------------------------------


def ask_from(server, address, headers, path="/v1/identity", method="GET"):
    """Asks from a loopback address."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE, source_address=(address, 0))
    with contextlib.closing(connection):
        connection.putrequest(method, path)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())


def named(user, *more):
    return [("X-Forwarded-User", user), ("X-Pawl-Request", "1"), *more]


@test
def user_header_counts_only_from_the_trusted_address():
    with serving("--trusted-proxy", "127.0.0.5", "--trusted-proxy", "127.1.2.0/23") as s:
        for address in ("127.0.0.5", "127.1.2.1", "127.1.3.255"):
            assert ask_from(s, address, named("alice")).expect(200).json["by"] == "alice (proxy)"
        for address in ("127.0.0.1", "127.0.0.4", "127.1.1.255", "127.1.4.0"):
            ask_from(s, address, named("alice")).expect(401)
        ask_from(s, "127.0.0.5", []).expect(401)
        ask_from(s, "127.0.0.5", [("X-Pawl-Request", "1")]).expect(401)
        ask_from(s, "127.0.0.5", [], "/healthz").expect(200)


@test
def user_header_that_is_ambiguous_or_not_a_name_is_refused():
    with serving("--trusted-proxy", "127.0.0.1") as s:
        for headers, word in (
            ([("X-Forwarded-User", "alice")], "X-Pawl-Request"),
            (named("alice", ("x-forwarded-USER", "mallory")), "twice"),
            (named("alice", ("X-Forwarded-User", "alice")), "twice"),
            (named(""), "X-Forwarded-User"),
            (named("a" * 201), "X-Forwarded-User"),
            (named(b"\xff"), "X-Forwarded-User"),
            (named("\u202e".encode()), "X-Forwarded-User"),
        ):
            answer = ask_from(s, "127.0.0.1", headers).expect(401)
            assert word in answer.json["detail"], answer.json
        assert ask_from(s, "127.0.0.1", named("zoë".encode())).expect(200).json["by"] == "zoë (proxy)"


@test
def user_of_the_proxy_has_its_scopes_and_is_recorded():
    with serving(*OPTIONS) as s:
        run = s.submit(function="f")
        shown = ask_from(s, "127.0.0.1", named("alice")).expect(200).json
        assert shown["scopes"] == ["read", "operate"], shown
        ask_from(s, "127.0.0.1", named("alice"), f"/v1/executions/{run}/cancel", "POST").expect(200)
        events = s.get(f"/v1/executions/{run}/events").expect(200).json["items"]
        assert "alice (proxy)" in [(e["data"] or {}).get("by") for e in events], events
        ask_from(s, "127.0.0.1", named("alice"), "/v1/executions", "POST").expect(403)
        ask_from(s, "127.0.0.1", named("alice"), "/v1/tokens").expect(403)


@test
def user_of_the_proxy_may_only_read_by_default():
    with serving("--trusted-proxy", "127.0.0.1") as s:
        assert ask_from(s, "127.0.0.1", named("alice")).expect(200).json["scopes"] == ["read"]
    with serving("--trusted-proxy", "127.0.0.1", "--proxy-scope", "admin") as s:
        shown = ask_from(s, "127.0.0.1", named("alice")).expect(200).json
        assert shown["scopes"] == ["read", "submit", "operate", "work", "admin"], shown


@test
def token_takes_precedence_over_the_user_of_the_proxy():
    with serving(*OPTIONS) as s:
        bearer = lambda token: ("Authorization", f"Bearer {token}")
        token = s.db.token("robot", "submit,read")
        assert ask_from(s, "127.0.0.1", named("alice", bearer(token))).expect(200).json["by"] == "token robot"
        ask_from(s, "127.0.0.1", named("alice", bearer("garbage"))).expect(401)
        assert ask_from(s, "127.0.0.1", named("alice", ("Cookie", f"pawl={token}"))).expect(200).json["by"] == "token robot"
        s.db.pawl("admin", "token", "revoke", "robot")
        ended = ask_from(s, "127.0.0.1", named("alice", ("Cookie", f"pawl={token}"))).expect(401)
        assert ended.headers["Set-Cookie"].startswith("pawl=;"), "a session that ended must not lock the user out"


@test
def user_of_the_proxy_is_refused_for_another_site_or_host():
    with serving(*OPTIONS) as s:
        for header in (("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site")):
            ask_from(s, "127.0.0.1", named("alice", header)).expect(403)
        answer = s.get("/v1/identity", token=None, headers={"Host": "evil.example", "X-Forwarded-User": "alice", **PAGE})
        assert answer.status == 421


@test
def session_cookie_is_secure_behind_tls():
    with serving(*OPTIONS) as s:
        log_in = lambda **headers: s.post("/v1/session", headers=headers).expect(200).headers["Set-Cookie"]
        assert log_in(Host=NAME, Origin=f"https://{NAME}").endswith("; Secure")
        assert "Secure" not in log_in(Origin=f"http://127.0.0.1:{s.port}")


ASK = """
import http.client, json, socket, sys
c = http.client.HTTPConnection("localhost")
c.sock = socket.socket(socket.AF_UNIX)
c.sock.connect(sys.argv[1])
headers = {"X-Pawl-Request": "1"}
if len(sys.argv) > 2:
    headers["X-Forwarded-User"] = sys.argv[2]
c.request("GET", "/v1/identity", headers=headers)
answer = c.getresponse()
print(answer.status, json.loads(answer.read()).get("by"))
"""


@contextlib.contextmanager
def on_a_unix_socket(*options):
    db = Database()
    try:
        s = Server(db, *options, listen=f"unix:{db.dir}/s.sock")
        yield s
        assert s.stop() == 0
    finally:
        db.remove()


@test
def user_header_on_a_unix_socket_counts_only_from_the_user_of_the_proxy():
    with on_a_unix_socket("--trusted-proxy", "user:nobody") as s:
        answer = lambda *args: as_nobody(ASK, s.unix, *args).stdout.strip()
        assert answer("alice") == "200 alice (proxy)"
        assert answer() == "401 None"
        own = s.get("/v1/identity", token=None, headers={"X-Forwarded-User": "alice", **PAGE}).expect(200).json["by"]
        assert "(unix socket)" in own, own
    with on_a_unix_socket("--trusted-proxy", "user:daemon") as s:
        assert as_nobody(ASK, s.unix, "alice").stdout.strip() == "401 None"


@test
def proxy_that_runs_as_the_user_of_the_server_does_not_act_as_that_user():
    with on_a_unix_socket("--trusted-proxy", f"user:{os.geteuid()}") as s:
        s.get("/v1/identity", token=None).expect(401)
        s.get("/v1/identity", token=None, headers=PAGE).expect(401)
        assert s.get("/v1/identity", token=None, headers={"X-Forwarded-User": "bob", **PAGE}).expect(200).json["by"] == "bob (proxy)"


@test
def address_that_other_hosts_reach_needs_no_token_if_there_is_a_proxy():
    db = Database()
    try:
        s = Server(db, "--trusted-proxy", "10.99.99.99", listen="0.0.0.0:0")
        ask_from(s, "127.0.0.1", named("alice")).expect(401)
        assert s.stop() == 0
    finally:
        db.remove()


# --- the example files --------------------------------------------------------------------------------


class Front:
    """A client of the proxy."""

    def __init__(self, server, port):
        self.server, self.port = server, port
        self.tls = ssl.create_default_context(cafile=f"{server.db.dir}/certificate.pem")

    def socket(self):
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        return self.tls.wrap_socket(raw, server_hostname=NAME)

    def open(self, method, path, headers=None, body=None):
        """Returns the connection and the answer, of which only the head was read."""
        connection = http.client.HTTPConnection(NAME, self.port, timeout=PATIENCE)
        connection.sock = self.socket()
        connection.request(method, path, body, headers or {})
        return connection, connection.getresponse()

    def ask(self, method, path, headers=None, body=None):
        connection, answer = self.open(method, path, headers, body)
        with contextlib.closing(connection):
            return Answer(answer.status, answer.headers, answer.read())

    def bearer(self):
        return {"Authorization": f"Bearer {self.server.token}"}


PROXIES = ("nginx", "haproxy")


@contextlib.contextmanager
def fronts():
    """For each proxy with its example file: a server and a client."""
    with contextlib.ExitStack() as stack:

        def one(program):
            s = stack.enter_context(serving(*OPTIONS))
            return s, Front(s, stack.enter_context(example(s, program)))

        yield (one(program) for program in PROXIES)


@test
def proxy_names_the_user_whose_password_it_has_checked():
    with fronts() as both:
        for s, front in both:
            by = lambda headers: front.ask("GET", "/v1/identity", headers).expect(200).json["by"]
            assert by(ALICE) == "alice (proxy)"
            assert by({**ALICE, "X-Forwarded-User": "mallory"}) == "alice (proxy)"
            assert by({**front.bearer(), **PAGE, "X-Forwarded-User": "mallory"}) == "console"
            wrong = "Basic " + base64.b64encode(b"alice:wrong").decode()
            for headers in ({}, PAGE, {"Authorization": wrong, **PAGE}, {"X-Forwarded-User": "mallory", **PAGE}):
                front.ask("GET", "/v1/identity", headers).expect(401)
            front.ask("GET", "/v1/identity", {"Authorization": "Bearer garbage", "X-Forwarded-User": "mallory", **PAGE}).expect(401)
            origin = {"Origin": f"https://{NAME}:{front.port}", "Sec-Fetch-Site": "same-origin"}
            run = s.submit(function="f")
            front.ask("POST", f"/v1/executions/{run}/cancel", {**ALICE, **origin}).expect(200)
            front.ask("POST", f"/v1/executions/{run}/cancel", {**ALICE, "Origin": "https://evil.example"}).expect(403)


@test
def user_header_in_disguise_does_not_get_past_the_proxy():
    with fronts() as both:
        for s, front in both:
            for line in (
                b"X-Forwarded-User : mallory",
                b"X-Forwarded-User\t: mallory",
                b" X-Forwarded-User: mallory",
                b"X-Note: a\r\n X-Forwarded-User: mallory",
                b"X-Note: a\nX-Forwarded-User: mallory",
                b"X-Note: a\rX-Forwarded-User: mallory",
                b"X-Note: a\r\n\tb\r\nX-Forwarded-User: mallory",
                b"X_Forwarded_User: mallory",
                b"X-Forwarded-User\0: mallory",
                b"Connection: close, X-Forwarded-User\r\nX-Forwarded-User: mallory",
                b"X-Forwarded-User: mallory\r\nX-Forwarded-User: mallory",
                b"Authorization: Basic bWFsbG9yeTp4",
                b"Authorization: Basic bWFsbG9yeTp4\r\nX-Forwarded-User: mallory",
            ):
                for token in (b"Bearer x", b"Basic bWFsbG9yeTp4, Bearer x"):
                    head = b"GET /v1/identity HTTP/1.1\r\nHost: %s\r\nX-Pawl-Request: 1\r\nAuthorization: %s\r\n%s\r\n\r\n"
                    with front.socket() as c:
                        c.sendall(head % (NAME.encode(), token, line))
                        answer = c.recv(65536)
                    assert b" 200 " not in answer[:20] and b"mallory" not in answer, (line, token, answer)


@test
def stream_through_the_proxy_is_not_buffered():
    with fronts() as both:
        for s, front in both:
            connection, answer = front.open("GET", "/v1/stream?topics=events", {**front.bearer(), "Last-Event-ID": "0"})
            with contextlib.closing(connection):
                assert answer.status == 200
                lines = iter(answer.readline, b"")
                assert any(line == b"event: resync\n" for line in lines)
                for _ in range(3):  # each arrives while the stream stays open
                    s.submit(function="f")
                    assert any(line == b"event: events\n" for line in lines)


@test
def request_that_waits_is_answered_through_the_proxy():
    with fronts() as both:
        for s, front in both:
            run, got = s.submit(function="f"), []
            wait = lambda: got.append(front.ask("GET", f"/v1/executions/{run}", {**front.bearer(), "Prefer": "wait=300"}))
            thread = threading.Thread(target=wait)
            thread.start()
            time.sleep(1)
            assert not got
            s.db.pawl("cancel", str(run))
            thread.join(PATIENCE)
            assert got[0].expect(200).json["status"] == "cancelled"


@test
def bodies_as_large_as_the_server_accepts_pass_the_proxy():
    with fronts() as both:
        for s, front in both:
            headers = {**front.bearer(), "Content-Type": "application/json"}
            body = json.dumps({"function": "f", "input": "x" * 1000000}).encode()
            run = front.ask("POST", "/v1/executions", headers, body).expect(201).json["id"]
            assert s.get(f"/v1/executions/{run}").expect(200).json["name"] == "exec::f"
            padded = body + b" " * ((8 << 20) - len(body))
            front.ask("POST", "/v1/executions", headers, padded).expect(201)
            front.ask("POST", "/v1/executions", headers, padded + b" " * (1 << 20)).expect(413)


@test
def http_2_clients_reach_the_server_through_the_proxy():
    if not shutil.which("curl"):
        raise Skip("curl is not installed: tools/install-deps test")
    with fronts() as both:
        for s, front in both:
            url = f"https://{NAME}:{front.port}/v1/identity"
            command = ["curl", "-sS", "--http2", "--cacert", f"{s.db.dir}/certificate.pem", "--resolve", f"{NAME}:{front.port}:127.0.0.1"]
            command += ["-u", "alice:secret", "-H", "X-Pawl-Request: 1", "-w", "\n%{http_version}", url]
            body, version = subprocess.run(command, text=True, capture_output=True, check=True, timeout=PATIENCE).stdout.rsplit("\n", 1)
            assert (json.loads(body)["by"], version) == ("alice (proxy)", "2"), (body, version)


main()
