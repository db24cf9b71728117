"""Webhooks over HTTP: their messages, as a sender makes them, and their management. TEST_THREADED"""

import base64
import hashlib
import hmac
import json
import select
import signal
import socket
import subprocess
import time

from harness import main, test
from server_fixture import BUILD, PATIENCE, Database, Server, serving
from stream_client import until

DEPLOY = """name: deploy
params: {ref: none, from: none}
on: {webhook: {name: push, with: {ref: '${{ trigger.body.ref }}', from: '${{ default(trigger.headers["x-github-event"], trigger.id) }}'}}}
tasks: {a: {run: 'true'}}
"""


def prepare(s, signature="standard", apply=True):
    """Creates the webhook `push`, with a workflow that it starts; returns its secret."""
    if apply:
        s.ask("PUT", "/v1/workflows/deploy", DEPLOY.encode(), headers={"Content-Type": "application/yaml"}).expect(200)
    return s.post("/v1/hooks", {"name": "push", "signature": signature}).expect(201).json["secret"]


def sign(secret, id, body, at=None):
    """The headers of Standard Webhooks, by the specification."""
    at = str(int(time.time() if at is None else at))
    mac = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), f"{id}.{at}.".encode() + body, hashlib.sha256)
    return {"webhook-id": id, "webhook-timestamp": at, "webhook-signature": "v1," + base64.b64encode(mac.digest()).decode()}


def sign_github(secret, delivery, body):
    mac = hmac.new(secret.encode(), body, hashlib.sha256)
    return {"X-Hub-Signature-256": "sha256=" + mac.hexdigest(), "X-GitHub-Delivery": delivery, "X-GitHub-Event": "push"}


def send(s, headers, body, path="/v1/hooks/push", type="application/json"):
    return s.ask("POST", path, body, token=None, headers={"Content-Type": type, **headers})


@test
def signed_message_starts_a_workflow_once():
    with serving() as s:
        secret = prepare(s)
        body = b'{"ref": "refs/heads/main"}'
        first = send(s, sign(secret, "msg_1", body), body).expect(201).json
        again = send(s, sign(secret, "msg_1", body, time.time() - 60), body).expect(200).json
        assert (first["existed"], again["existed"], again["id"]) == (False, True, first["id"])
        run = s.get(f"/v1/executions/{first['id']}").expect(200).json
        assert run["input"]["ref"] == "refs/heads/main" and run["input"]["from"] == "msg_1", run["input"]
        events = s.get(f"/v1/executions/{first['id']}/events").json["items"]
        assert events[0]["data"]["by"] == "webhook push", events[0]


@test
def github_message_starts_a_workflow_once():
    with serving() as s:
        secret = prepare(s, "github")
        body = b'{"ref": "main"}'
        first = send(s, sign_github(secret, "d1", body), body).expect(201).json
        assert send(s, sign_github(secret, "d1", body), body).expect(200).json["id"] == first["id"]
        assert s.get(f"/v1/executions/{first['id']}").json["input"]["from"] == "push"
        assert send(s, sign_github(secret + "x", "d2", body), body).status == 401


@test
def message_that_is_not_signed_rightly_is_refused_and_starts_nothing():
    with serving() as s:
        secret = prepare(s)
        body = b'{"ref": "main"}'
        good = sign(secret, "m", body)
        for headers in (
            {},
            {"Authorization": f"Bearer {s.token}"},  # a token is not a signature
            {**good, "webhook-id": "n"},
            {**good, "webhook-timestamp": "0"},
            {**good, "webhook-timestamp": "now"},
            {**good, "webhook-signature": good["webhook-signature"].swapcase()},
            {**good, "webhook-signature": "v1," * 500},
            {k: v for k, v in good.items() if k != "webhook-id"},
            sign(secret, "m", body, time.time() - 400),
            sign(secret, "m", body, time.time() + 400),
            sign(secret, "m", b"{}"),
            sign_github(secret, "m", body),
            sign("whsec_" + base64.b64encode(b"x" * 32).decode(), "m", body),
        ):
            answer = send(s, headers, body)
            assert answer.status == 401, (headers, answer.status, answer.body)
            assert answer.json["type"] == "urn:pawl:problem:message-refused"
            assert answer.json["title"] == "the message was refused"
        # a webhook that does not exist is answered as a bad signature is
        other = send(s, good, body, "/v1/hooks/pull").expect(401).json
        assert {**other, "detail": other["detail"].replace("webhook pull", "webhook push")} == answer.json
        assert send(s, good, body, "/v1/hooks/push?tenant=other_tenant").status == 401
        assert s.get("/v1/executions?all=true").json["items"] == []
        send(s, good, body).expect(201)


@test
def message_that_the_workflow_cannot_take_is_explained():
    with serving() as s:
        secret = prepare(s, apply=False)

        def status(body, type="application/json"):
            answer = send(s, sign(secret, hashlib.md5(body).hexdigest(), body), body, type=type)
            return answer.status, answer.json["detail"]

        assert status(b'{"ref": "a"}')[0] == 404
        s.ask("PUT", "/v1/workflows/deploy", DEPLOY.encode(), headers={"Content-Type": "application/yaml"}).expect(200)
        assert status(b'{"ref": 7}')[0] == 422
        assert status(b"{")[0] == 422
        assert status(b"\xff", "text/plain")[0] == 422
        assert status(b"text", "text/plain")[0] == 422
        deep = b'{"ref": "a", "x": ' + b"[" * 100 + b"]" * 100 + b"}"
        assert status(deep)[0] == 422
        large = b'{"ref": "a", "x": "' + b"y" * (2 << 20) + b'"}'
        send(s, sign(secret, "large", large), large).expect(201)
        assert len(s.get("/v1/executions?all=true&kind=workflow").json["items"]) == 1


@test
def hooks_are_managed_by_admins_and_never_show_their_secret():
    with serving() as s:
        secret = prepare(s)
        listed = s.get("/v1/hooks").expect(200)
        assert secret.encode()[8:] not in listed.body
        assert [(h["name"], h["signature"], h["workflow"]) for h in listed.json["items"]] == [("push", "standard", "deploy")]
        assert s.post("/v1/hooks", {"name": "push"}).status == 422
        assert s.post("/v1/hooks", {"name": "p", "signatur": "github"}).status == 400
        assert s.post("/v1/hooks", {"name": "p", "signature": "gitlab"}).status == 400
        assert s.post("/v1/hooks", {"name": "a b"}).status == 422
        given = s.post("/v1/hooks", {"name": "given", "signature": "github", "secret": "It's a Secret to Everybody"}).expect(201)
        assert given.json["secret"] == "It's a Secret to Everybody"
        token = s.db.token("operator", "read,submit,operate,work")
        assert s.get("/v1/hooks", token=token).status == 403
        body = b'{"ref": "a"}'
        s.ask("DELETE", "/v1/hooks/push?reason=leaked").expect(204)
        s.ask("DELETE", "/v1/hooks/push").expect(404)
        assert send(s, sign(secret, "m", body), body).status == 401


@test
def command_line_manages_webhooks_through_a_server():
    with serving() as s:
        prepare(s)

        def pawl(*args):
            env = {**s.db.env, "PAWL_SERVER": f"http://127.0.0.1:{s.port}", "PAWL_TOKEN": s.token}
            done = subprocess.run([f"{BUILD}/pawl", "admin", "hook", *args], env=env, text=True, capture_output=True, timeout=PATIENCE)
            assert not done.returncode, done.stderr
            return done.stdout

        secret = pawl("create", "ops", "--url", "https://chat.example/x", "--status", "failed,timed_out", "--tasks", "--reason", "why not").strip()
        assert secret.startswith("whsec_")
        assert pawl("list", "--json") == s.db.pawl("admin", "hook", "list", "--json")
        assert '"statuses":["failed","timed_out"]' in pawl("list", "--json")
        pawl("revoke", "ops")
        assert "ops" not in s.db.pawl("admin", "hook", "list")


@test
def read_only_server_takes_no_message():
    with serving() as s:
        secret = prepare(s)
        reader = Server(s.db, "--read-only")
        body = b'{"ref": "a"}'
        assert send(reader, sign(secret, "m", body), body).status == 403
        assert reader.stop() == 0
        send(s, sign(secret, "m", body), body).expect(201)


@test
def server_of_several_tenants_takes_a_message_for_the_one_it_names():
    with serving() as s:
        secret = prepare(s)
        everyone = Server(s.db, tenant=False)
        body = b'{"ref": "a"}'
        headers = sign(secret, "m", body)
        assert send(everyone, headers, body).status == 401
        assert send(everyone, headers, body, "/v1/hooks/push?tenant=no_such_tenant").status == 401
        assert send(everyone, headers, body, "/v1/hooks/push?tenant=NOT%20A%20NAME").status == 401
        send(everyone, headers, body, f"/v1/hooks/push?tenant={s.db.tenant}").expect(201)
        assert everyone.stop() == 0


@test
def messages_that_a_killed_server_did_not_answer_start_one_run_when_they_are_sent_again():
    db = Database()
    try:
        s = Server(db)
        secret = prepare(s)
        for n in range(5):
            for k in range(10):
                body = json.dumps({"ref": f"{n}.{k}"}).encode()
                if k == n + 3:
                    connection = s.connection()
                    connection.request("POST", "/v1/hooks/push", body, {"Content-Type": "application/json", **sign(secret, f"{n}.{k}", body)})
                    s.stop(signal.SIGKILL)  # the answer is lost, whatever was stored
                    connection.close()
                    s = Server(db)
                assert send(s, sign(secret, f"{n}.{k}", body), body).status in (200, 201)
        assert s.stop() == 0
        runs = [json.loads(line) for line in db.pawl("ls", "--kind", "workflow", "--limit", "1000", "--json").splitlines()]
        refs = sorted(r["input"]["ref"] for r in runs)
        assert refs == sorted(f"{n}.{k}" for n in range(5) for k in range(10)), refs
        db.verify()
    finally:
        db.remove()


def begin_message(s, size, held):
    """Sends a message without a valid signature, but for its last bytes."""
    c = socket.create_connection(("127.0.0.1", s.port), PATIENCE)
    head = sign("whsec_bm90IHRoZSBzZWNyZXQ=", "x", b"")
    lines = ["POST /v1/hooks/push HTTP/1.1", "Host: localhost", f"Content-Length: {size}", *(f"{k}: {v}" for k, v in head.items())]
    c.sendall(("\r\n".join(lines) + "\r\n\r\n").encode() + b" " * (size - held))
    return c


def unread_bytes(port):
    """How many bytes the kernel has that clients sent to the server, and that it has not read."""
    with open("/proc/net/tcp") as f:
        rows = [line.split() for line in f][1:]
    to = sum(int(row[4].split(":")[0], 16) for row in rows if int(row[2].split(":")[1], 16) == port)
    return to + sum(int(row[4].split(":")[1], 16) for row in rows if int(row[1].split(":")[1], 16) == port and row[3] == "01")


def count_answered(sockets):
    return len(select.select(sockets, [], [], 0)[0])


@test
def messages_without_a_signature_do_not_hold_up_submissions():
    with serving() as s:
        prepare(s)
        s.submit(function="f")
        waiting = 0
        for _ in range(20):  # until a submission is answered while many messages wait for their check
            sockets = [begin_message(s, 300000, 1) for _ in range(38)]
            until(lambda: not unread_bytes(s.port))  # so that all messages are complete before the submission
            for c in sockets:
                c.sendall(b" ")
            s.submit(function="f")
            waiting = max(waiting, len(sockets) - count_answered(sockets))
            for c in sockets:
                assert c.recv(12) == b"HTTP/1.1 401"
                c.close()
            if waiting >= 15:
                break
        assert waiting >= 15, f"{waiting} messages waited when a submission was answered"


@test
def bodies_of_messages_without_a_signature_take_no_memory_from_submissions():
    with serving() as s:
        secret = prepare(s)
        held = [begin_message(s, 7 << 20, 1) for _ in range(9)]  # as much as all submissions together may have
        held += [begin_message(s, 60000, 1) for _ in range(300)]
        s.post("/v1/executions", {"function": "f", "input": "x" * 900000}).expect(201)
        for c in held:
            c.sendall(b" ")
        statuses = {c.recv(12) for c in held}
        assert b"HTTP/1.1 503" in statuses and statuses <= {b"HTTP/1.1 401", b"HTTP/1.1 503"}, statuses
        for c in held:
            c.close()
        body = b'{"ref": "main"}'
        while (answer := send(s, sign(secret, "msg_1", body), body)).status == 503:
            time.sleep(0.05)  # the server has not noticed yet that the others are gone
        answer.expect(201)


main()
