"""Webhooks on the System page. TEST_LONG"""

import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import threading

from harness import main, test
from web_fixture import OK, REFUSED, TWO, browsing


@contextlib.contextmanager
def receiver():
    """A program that keeps the messages it gets; `status` is what it answers."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            server.got.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(server.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.got, server.status = [], 204
    server.url = f"http://127.0.0.1:{server.server_port}/in"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def hooks(page):
    return page.server.get("/v1/hooks").expect(200).json["items"]


@test
def webhook_that_reports_is_created_and_its_deliveries_are_counted_by_state():
    with receiver() as chat, browsing("--worker", "2") as page:
        s = page.server
        page.open("/system").sees("No webhook is stored. One with a URL tells another program")
        page.click("button", "New webhook")
        page.fill("dialog [name=name]", "ops")
        page.fill("dialog [name=url]", chat.url)
        for unwanted in ("succeeded", "timed out", "cancelled"):
            page.click("dialog label", unwanted)
        page.fill("dialog [name=workflow]", "two")
        page.fill("dialog [name=reason]", "on call")
        assert page.unnamed_controls() == []
        page.click("dialog button.primary", "Create")
        page.one("dialog h1", "The secret of ops")
        secret = page.one("dialog .copyable code", "whsec_").text
        page.sees("pawl worker --queue default --queue pawl:hooks", "dialog")
        page.confirm("Done")
        assert secret not in page.text("body")
        hook = hooks(page)[0]
        assert (hook["name"], hook["direction"], hook["url"], hook["workflow"], hook["queue"], hook["statuses"], hook["tasks"]) == (
            "ops", "out", chat.url, "two", None, ["failed"], False), hook
        page.one(".hooks tr", "runs of two that end as failed to " + chat.url)
        page.sees("none yet", ".hooks")

        s.wait(s.submit(yaml=OK))
        run = s.submit(yaml=TWO)
        s.wait(run)
        page.one(".hooks a", "1 sent")
        headers, body = chat.got[0]
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        mac = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
        assert headers["webhook-signature"] == "v1," + base64.b64encode(mac).decode()
        assert len(chat.got) == 1 and json.loads(body)["data"]["execution"] == run

        chat.status = 500
        s.wait(s.submit(yaml=TWO))
        page.one(".hooks a", "1 waiting")
        late = s.get("/v1/executions?queue=pawl:hooks&status=pending,ready,running").json["items"][0]["id"]
        s.post(f"/v1/executions/{late}/cancel").expect(200)
        s.wait(late)
        s.post("/v1/hooks", {"name": "ops2", "url": chat.url, "statuses": "skipped"}).expect(201)
        page.lacks("1 waiting", ".hooks")
        page.click(".hooks a", "1 sent")
        page.one(".runs tr", "hook::ops")
        page.until(lambda: len(page.all(".runs tbody tr")) == 1, "the delivery that was sent")
        assert "queue=pawl" in page.driver.current_url and "status=succeeded" in page.driver.current_url

        page.open("/system", token=None).one(".hooks tr", "ops2")
        page.click(".hooks [aria-label='Revoke ops']")
        page.confirm("Revoke", "moved")
        page.until(lambda: len(page.all(".hooks tbody tr")) == 1, "the other webhook")
        assert [h["name"] for h in hooks(page)] == ["ops2"]
        assert page.unnamed_controls() == []


@test
def webhook_that_starts_a_workflow_takes_the_secret_of_the_sender():
    with browsing("--worker", "1") as page:
        page.open("/system").click("button", "New webhook")
        page.fill("dialog [name=name]", "push")
        page.click("dialog label", "starts a workflow")
        assert not page.js("return [...document.querySelectorAll('dialog [name=url], dialog [name=tasks]')].some((e) => e.checkVisibility())")
        page.choose("dialog [name=signature]", "github")
        page.fill("dialog [name=secret]", "the secret of the sender")
        page.click("dialog button.primary", "Create")
        page.one("dialog .copyable code", "the secret of the sender")
        page.one("dialog .copyable code", f"{page.origin}/v1/hooks/push")
        page.sees("on: {webhook: push}", "dialog")
        page.confirm("Done")
        page.one(".hooks tr", "starts nothing yet")
        text = "name: deploy\nparams: {ref: ''}\non: {webhook: {name: push, with: {ref: '${{ trigger.body.ref }}'}}}\ntasks: {a: {run: 'true'}}\n"
        page.server.ask("PUT", "/v1/workflows/deploy", text.encode(), headers={"Content-Type": "application/yaml"}).expect(200)
        body = b'{"ref": "main"}'
        mac = hmac.new(b"the secret of the sender", body, hashlib.sha256).hexdigest()
        sent = page.server.ask("POST", "/v1/hooks/push", body, token=None, headers={"Content-Type": "application/json", "X-Hub-Signature-256": "sha256=" + mac, "X-GitHub-Delivery": "1"})
        assert page.server.wait(sent.expect(201).json["id"])["input"] == {"ref": "main"}
        page.click(".hooks a", "deploy")
        page.one("h1", "deploy")


@test
def refused_webhook_is_explained_and_missing_worker_is_shown():
    with browsing(allowed=(REFUSED,)) as page:
        page.open("/system").click("button", "New webhook")
        page.fill("dialog [name=name]", "ops")
        page.fill("dialog [name=url]", "https://user:password@chat.example/")
        page.click("dialog button.primary", "Create")
        page.sees("must not contain a user or password", "dialog")
        for end in ("succeeded", "failed", "timed out", "cancelled"):
            page.click("dialog label", end)
        page.fill("dialog [name=url]", "https://chat.example/")
        page.click("dialog button.primary", "Create")
        page.sees("Choose at least one end", "dialog")
        page.click("dialog label", "skipped")
        page.click("dialog button.primary", "Create")
        page.confirm("Done")
        page.sees("No worker delivers")
        assert [h["statuses"] for h in hooks(page)] == [["skipped"]]
        page.open("/system", token=page.server.db.token("operator", "read,submit,operate")).sees("token operator")
        assert "Webhooks" not in page.text()


main()
