"""ledger_fixture.py - clients that make requests of every kind until their server dies, and a ledger of what they asked for:
on a new server it checks that each request was carried out whole, or, if nobody answered it, perhaps not at all."""

import http.client
import itertools
import random

LOST = (ConnectionError, http.client.HTTPException, OSError)
WORKFLOW = "name: nightly\ntasks: {{a: {{run: 'exit {0}'}}}}\n"
# Its schedule is not due while the test runs.
SCHEDULED = "name: {0}\non: {{schedule: {{cron: '0 3 1 1 *'}}}}\ntasks: {{a: {{run: 'true'}}}}\n"
RUN = "name: {0}\ntasks:\n  a: {{run: 'true'{1}}}\n  b: {{needs: a, run: 'true'}}\n  c: {{run: 'true'}}\n"
APPROVAL = ", approval: {message: go?}"
ROUTES = 20


class Ledger:
    """What clients asked for: each entry is a kind and its subject, with the answer if there was one."""

    def __init__(self):
        self.answered, self.unanswered, self.keys = [], [], set()
        self.days, self.globs = set(), set()  # all values that were asked for, of settings that clients share
        self.numbers = itertools.count(1)  # next() is atomic

    def name(self):
        return f"n{next(self.numbers)}"

    def check(self, s):
        """`s` is a new server. Forgets what it has checked, except the keys of all submissions."""
        for kind, subject, answer in self.answered:
            self.check_answered(s, kind, subject, answer)
        for kind, subject in self.unanswered:
            self.check_unanswered(s, kind, subject)
            if kind == "submit":
                self.keys.update(subject)
                repeat_submission(s, subject)
        self.answered, self.unanswered = [], []
        total = count_executions(s)
        assert total == len(self.keys), (total, len(self.keys))

    def check_answered(self, s, kind, subject, answer):
        if kind in STATES:
            state, _, after = STATES[kind]
            assert (found := state(s, subject)) == after, (kind, subject, found)
        elif kind != "prepare":
            getattr(self, f"check_{kind}")(s, subject, answer)

    def check_unanswered(self, s, kind, subject):
        if kind in STATES:
            state, before, after = STATES[kind]
            assert (found := state(s, subject)) in (before, after), (kind, subject, found)

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
    """Counts what was submitted with a key. The endpoint of counts counts up to 10,000 only."""
    total, path = 0, "/v1/executions?kind=exec&limit=1000"
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


# --- kinds that change one state into another -------------------------------------------------------------


def show_run(s, run):
    """The statuses of a run and its tasks, and what they wait for, like "running: ready worker, pending needs"."""
    root = s.get(f"/v1/executions/{run}").expect(200).json
    tasks = s.get(f"/v1/executions/{run}/children").expect(200).json["items"]
    shown = [f"{t['status']} {(t['waiting'] or '').split(':')[0]}".strip() for t in sorted(tasks, key=lambda t: t["name"])]
    return f"{root['status']}{' paused' if root['paused'] else ''}: {', '.join(shown)}"


def show_run_of_first_task(s, subject):
    return show_run(s, subject[0])


def show_workflow(s, name):
    """What a workflow with one schedule is: absent, active or paused."""
    status, listed = s.get(f"/v1/workflows/{name}").status, s.get(f"/v1/schedules?name={name}")
    assert listed.status == status, (name, status, listed.status)
    if status == 404:
        return "absent"
    (schedule,) = listed.expect(200).json["items"]
    paused, order = schedule["paused"] is not None, schedule["last_order"]
    assert paused == (schedule["next_at"] is None) == bool(order and order["action"] == "paused"), schedule
    return "paused" if paused else "active"


def count_runs(s, workflow):
    return len(s.get(f"/v1/executions?workflow={workflow}").expect(200).json["items"])


def is_queue_paused(s, queue):
    (found,) = [q for q in s.get("/v1/queues").expect(200).json["items"] if q["queue"] == queue]
    return found["paused"] is not None


def has_hook(s, name):
    return name in [hook["name"] for hook in s.get("/v1/hooks").expect(200).json["items"]]


def token_status(s, token):
    return s.get("/v1/identity", token=token).status


def has_retention(s, asked):
    """Whether the present value was asked for. It has two members, and the audit has the same."""
    found = s.get("/v1/retention").expect(200).json
    if found["source"] == "database":
        days = found["log_days"]
        assert found["last_order"]["data"] == {"execution_days": days + 1, "log_days": days}, found
        assert found["execution_days"] == days + 1, found
        return days in asked
    return False


def has_routes(s, asked):
    found = s.get("/v1/routes").expect(200).json
    if found["source"] == "database":
        (glob,) = {route["task"] for route in found["routes"]}
        assert len(found["routes"]) == ROUTES and found["last_order"]["data"]["routes"] == found["routes"], found
        return glob in asked
    return False


NEW = "running: ready worker, pending needs, ready worker"
PAUSED = "running paused: ready paused, pending needs, ready paused"
ASKED = "running: ready approval, pending needs, ready worker"

# A function that shows the state of the subject, and its values before and after the request.
STATES = {
    "pause": (show_run, NEW, PAUSED),
    "resume": (show_run, PAUSED, NEW),
    "rerun": (show_run, "cancelled: cancelled, cancelled, cancelled", NEW),
    "skip": (show_run_of_first_task, NEW, "running: skipped, ready worker, ready worker"),
    "approve": (show_run_of_first_task, ASKED, NEW),
    "reject": (show_run_of_first_task, ASKED, "running: failed, skipped, ready worker"),
    "delete": (show_workflow, "active", "absent"),
    "pause_schedule": (show_workflow, "active", "paused"),
    "resume_schedule": (show_workflow, "paused", "active"),
    "run_schedule": (count_runs, 0, 1),
    "pause_queue": (is_queue_paused, False, True),
    "resume_queue": (is_queue_paused, True, False),
    "hook": (has_hook, False, True),
    "revoke_hook": (has_hook, True, False),
    "revoke": (token_status, 200, 401),
    "retention": (has_retention, False, True),
    "routes": (has_routes, False, True),
}


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
        assert answer.status in (200, 201, 204), (kind, answer.status, answer.body)
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

    def prepare(self, *request):
        return self.ask("prepare", None, *request)

    def on_run(self, action, *earlier):
        """An action on a new run, after earlier ones."""
        answer = self.prepare("POST", "/v1/executions", {"yaml": RUN.format(self.ledger.name(), "")})
        run = answer and answer.json["id"]
        for done in earlier:
            answer = answer and self.prepare("POST", f"/v1/executions/{run}/{done}", {})
        return answer and (action, run, "POST", f"/v1/executions/{run}/{action}", {})

    def on_task(self, action, options=""):
        """An action on the first task of a new run."""
        answer = self.prepare("POST", "/v1/executions", {"yaml": RUN.format(self.ledger.name(), options)})
        run = answer and answer.json["id"]
        answer = answer and self.prepare("GET", f"/v1/executions/{run}/children", None)
        task = answer and min(answer.json["items"], key=lambda t: t["name"])["id"]
        return answer and (action, (run, task), "POST", f"/v1/executions/{task}/{action}", {})

    def pause(self):
        return self.on_run("pause")

    def resume(self):
        return self.on_run("resume", "pause")

    def rerun(self):
        return self.on_run("rerun", "cancel")

    def skip(self):
        return self.on_task("skip")

    def approve(self):
        return self.on_task("approve", APPROVAL)

    def reject(self):
        return self.on_task("reject", APPROVAL)

    def on_schedule(self, kind, method, path, *earlier):
        """An action on a new workflow with a schedule, after earlier ones."""
        name = self.ledger.name()
        answer = self.prepare("PUT", f"/v1/workflows/{name}", SCHEDULED.format(name).encode())
        for done in earlier:
            answer = answer and self.prepare("POST", f"/v1/schedules/{name}/{done}", {})
        return answer and (kind, name, method, path.format(name), {} if method == "POST" else None)

    def delete(self):
        return self.on_schedule("delete", "DELETE", "/v1/workflows/{0}")

    def pause_schedule(self):
        return self.on_schedule("pause_schedule", "POST", "/v1/schedules/{0}/pause")

    def resume_schedule(self):
        return self.on_schedule("resume_schedule", "POST", "/v1/schedules/{0}/resume", "pause")

    def run_schedule(self):
        return self.on_schedule("run_schedule", "POST", "/v1/schedules/{0}/run")

    def pause_queue(self):
        queue, request = self.jobs(1)
        return self.ask(*request) and ("pause_queue", queue, "POST", f"/v1/queues/{queue}/pause", {})

    def resume_queue(self):
        queue, request = self.jobs(1)
        answer = self.ask(*request) and self.prepare("POST", f"/v1/queues/{queue}/pause", {})
        return answer and ("resume_queue", queue, "POST", f"/v1/queues/{queue}/resume", {})

    def hook(self):
        name = self.ledger.name()
        return ("hook", name, "POST", "/v1/hooks", {"name": name})

    def revoke_hook(self):
        name = self.ledger.name()
        answer = self.prepare("POST", "/v1/hooks", {"name": name})
        return answer and ("revoke_hook", name, "DELETE", f"/v1/hooks/{name}", None)

    def revoke(self):
        name = self.ledger.name()
        answer = self.prepare("POST", "/v1/tokens", {"name": name, "scopes": "read"})
        return answer and ("revoke", answer.json["token"], "DELETE", f"/v1/tokens/{name}", None)

    def retention(self):
        days = random.randrange(1, 3000)
        self.ledger.days.add(days)
        return ("retention", self.ledger.days, "PUT", "/v1/retention", {"execution_days": days + 1, "log_days": days})

    def routes(self):
        glob = f"{self.ledger.name()}::*"
        self.ledger.globs.add(glob)
        routes = [{"task": glob, "executor": "process"}] * ROUTES
        return ("routes", self.ledger.globs, "PUT", "/v1/routes", {"routes": routes})

    KINDS = (submit, submit_list, cancel, actions, apply, limit, token)
    KINDS += (pause, resume, rerun, skip, approve, reject, delete, pause_schedule, resume_schedule, run_schedule)
    KINDS += (pause_queue, resume_queue, hook, revoke_hook, revoke, retention, routes)

    def run(self, wrong):
        """Makes requests until the server dies."""
        try:
            request = True
            while request:
                request = random.choice(self.KINDS)(self)
                request = request and self.ask(*request)
        except Exception as e:  # of a thread: the test raises it
            wrong.append(e)
