"""Verifies and signs messages with the reference implementation of Standard Webhooks. Started by tests/check_webhooks."""

import datetime
import http.server
import json
import queue
import threading

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from server_fixture import PATIENCE, serving

DEPLOY = "name: deploy\non: {webhook: {name: push, with: {ref: '${{ trigger.body.ref }}'}}}\nparams: {ref: none}\ntasks: {a: {run: 'true'}}\n"


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps the messages that it gets."""

    got = queue.Queue()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Receiver.got.put((dict(self.headers), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


def is_accepted(webhook, body, headers):
    try:
        webhook.verify(body, headers)
    except WebhookVerificationError:
        return False
    return True


def check_sent(s, port):
    """The reference accepts a message of Pawl, and refuses it with another secret, body or id."""
    url = f"http://127.0.0.1:{port}/"
    secret = s.post("/v1/hooks", {"name": "ops", "url": url, "statuses": "cancelled"}).expect(201).json["secret"]
    other = s.post("/v1/hooks", {"name": "other", "signature": "standard"}).expect(201).json["secret"]
    run = s.submit(function="nobody")
    s.post(f"/v1/executions/{run}/cancel").expect(200)
    headers, body = Receiver.got.get(timeout=PATIENCE)
    assert Webhook(secret).verify(body, headers) == json.loads(body)
    assert str(run) in body.decode()
    assert not is_accepted(Webhook(other), body, headers)
    assert not is_accepted(Webhook(secret), body + b" ", headers)
    changed = {k: "x" if k.lower() == "webhook-id" else v for k, v in headers.items()}
    assert not is_accepted(Webhook(secret), body, changed)


def check_received(s):
    """Pawl accepts a message that the reference signed, once, and refuses a changed or an old one."""
    s.ask("PUT", "/v1/workflows/deploy", DEPLOY.encode(), headers={"Content-Type": "application/yaml"}).expect(200)
    webhook = Webhook(s.post("/v1/hooks", {"name": "push", "signature": "standard"}).expect(201).json["secret"])
    now, body = datetime.datetime.now(datetime.timezone.utc), '{"ref": "main"}'

    def send(id, at, text):
        headers = {"Content-Type": "application/json", "webhook-id": id, "webhook-timestamp": str(int(at.timestamp())),
                   "webhook-signature": webhook.sign(id, at, body)}
        return s.ask("POST", "/v1/hooks/push", text.encode(), token=None, headers=headers)

    first = send("msg_1", now, body).expect(201).json
    again = send("msg_1", now, body).expect(200).json
    assert (again["id"], again["existed"]) == (first["id"], True)
    assert s.wait(first["id"])["input"]["ref"] == "main"
    send("msg_2", now, '{"ref": "evil"}').expect(401)
    send("msg_3", now - datetime.timedelta(hours=1), body).expect(401)


def main():
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    with serving("--worker", "2") as s:
        check_sent(s, receiver.server_port)
        check_received(s)
    receiver.shutdown()


main()
