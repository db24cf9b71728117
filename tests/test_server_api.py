"""The HTTP interface: each resource, what it accepts and what it refuses."""
# TEST_LONG, TEST_THREADED

import json
import os
import time

from harness import main, test
from server_fixture import PATIENCE, serving

TWO = "name: two\nparams: {who: {type: string, default: you}}\ntasks:\n  a: {run: 'echo hello $who'}\n  b: {needs: a, run: exit 3}\n"
SLEEPER = "name: sleeper\ntasks: {a: {run: sleep 600}}\n"


def problem(answer, status, word, *parts):
    body = answer.expect(status).json
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert body["type"] == f"urn:pawl:problem:{word}" and body["status"] == status, body
    for part in parts:
        assert part in body["detail"], body["detail"]


@test
def workflow_submitted_over_http_runs_and_its_tree_logs_and_graph_can_be_read():
    with serving("--worker", "2") as s:
        answer = s.post("/v1/executions", {"yaml": TWO, "params": {"who": "reader"}}).expect(201)
        run = answer.json["id"]
        assert answer.json == {"id": run, "existed": False}
        assert answer.headers["Location"] == f"/v1/executions/{run}"
        shown = s.wait(run)
        assert (shown["status"], shown["requested_by"]) == ("failed", "console"), shown
        assert shown == s.get(f"/v1/executions/{run}").json == json.loads(s.db.pawl("show", str(run), "--json"))
        tree = s.get(f"/v1/executions/{run}/tree").expect(200).json
        assert [c["status"] for c in tree["children"]] == ["succeeded", "failed"], tree
        children = s.get(f"/v1/executions/{run}/children").expect(200).json["items"]
        assert {c["name"] for c in children} == {"two::a", "two::b"}
        assert len(s.get(f"/v1/executions/{run}/outline").expect(200).json["items"]) == 3
        log = s.get(f"/v1/executions/{tree['children'][0]['id']}/logs").expect(200)
        assert (log.body, log.headers["Pawl-Log-Next"], log.headers["Pawl-Log-Ended"]) == (b"hello reader\n", "13", "true")
        why = s.get(f"/v1/executions/{run}/why").expect(200).json
        assert why["reasons"][0]["code"] == "ended", why
        path = s.get(f"/v1/executions/{run}/critical").expect(200).json
        assert path["id"] == run and path["steps"], path
        assert b"two" in s.get(f"/v1/executions/{run}/graph").expect(200).body
        picture = s.get(f"/v1/executions/{run}/graph?format=svg").expect(200)
        assert picture.headers["Content-Type"] == "image/svg+xml" and picture.body.startswith(b"<svg "), picture
        graph = s.get(f"/v1/executions/{run}/graph?format=json").expect(200).json
        assert [(n["name"], n["status"]) for n in graph["nodes"]] == [("a", "succeeded"), ("b", "failed")], graph


@test
def run_as_of_an_event_has_its_earlier_status_and_before_its_request_is_not_found():
    with serving("--worker", "1") as s:
        run = s.submit(yaml=TWO)
        s.wait(run)
        first = s.get(f"/v1/executions/{run}/events?self=true").expect(200).json["items"][0]
        then = s.get(f"/v1/executions/{run}?at_event={first['sequence_num']}").expect(200).json
        assert then["status"] == first["to"] and then["finished_at"] is None, then
        problem(s.get(f"/v1/executions/{run}?at=2001-01-01T00:00:00Z"), 404, "not-found", "requested")
        problem(s.get(f"/v1/executions/{run}?at=yesterday"), 400, "invalid", "at needs a time")


@test
def lists_are_read_page_by_page_without_gaps_or_repeats():
    with serving() as s:
        jobs = [{"function": "f", "input": i} for i in range(25)]
        ids = [r["id"] for r in s.post("/v1/executions", jobs).expect(201).json]
        seen, path = [], "/v1/executions?limit=10&status=ready"
        while path:
            answer = s.get(path).expect(200)
            seen += [e["id"] for e in answer.json["items"]]
            link = answer.headers["Link"]
            assert bool(link) == bool(answer.json["next"])
            path = link and link[1 : link.index(">")]
        assert seen == sorted(ids, reverse=True)
        for listed, oldest_first in (("/v1/events", False), (f"/v1/executions/{ids[0]}/events", True)):
            numbers, path = [], f"{listed}?limit=1"
            while path:
                answer = s.get(path).expect(200)
                numbers += [e["sequence_num"] for e in answer.json["items"]]
                path = answer.headers["Link"] and answer.headers["Link"][1:].split(">")[0]
            assert len(numbers) == len(set(numbers)) == (2 if oldest_first else 50), numbers
            assert numbers == sorted(numbers, reverse=not oldest_first)
        problem(s.get("/v1/executions?cursor=abc"), 400, "invalid", "cursor")
        problem(s.get("/v1/events?cursor=1"), 400, "invalid", "cursor")


@test
def idempotency_key_used_again_over_http_returns_the_first_execution():
    with serving() as s:
        key = {"Idempotency-Key": "order-17"}
        first = s.post("/v1/executions", {"function": "f", "input": 1}, headers=key).expect(201).json
        again = s.post("/v1/executions", {"function": "f", "input": 1}, headers=key).expect(200).json
        assert again == {"id": first["id"], "existed": True}
        problem(s.post("/v1/executions", {"function": "f", "input": 2}, headers=key), 422, "conflict")
        member = s.post("/v1/executions", {"function": "f", "input": 1, "key": "order-17"}).expect(200).json
        assert member == again
        problem(s.post("/v1/executions", [{"function": "f"}, {"function": "g"}], headers=key), 422, "not-processable", "Idempotency-Key")


@test
def submission_of_a_command_or_a_workflow_file_needs_the_scope_admin():
    with serving() as s:
        token = s.db.token("web", "read,submit")
        post = lambda body: s.post("/v1/executions", body, token=token)
        problem(post({"yaml": TWO}), 403, "forbidden", "scope admin")
        problem(post({"command": {"run": "id"}}), 403, "forbidden", "scope admin")
        run = post({"function": "f", "input": {"a": [1]}}).expect(201).json["id"]
        assert s.get(f"/v1/executions/{run}").json["requested_by"] == "token web"
        assert len(s.get("/v1/executions").json["items"]) == 1


@test
def submission_of_a_list_with_one_invalid_job_stores_no_job():
    with serving() as s:
        jobs = [{"function": "f"}, {"workflow": "missing"}]
        problem(s.post("/v1/executions", jobs), 404, "not-found", "missing")
        assert s.get("/v1/executions").json["items"] == []


@test
def invalid_request_is_refused_with_an_error_that_names_the_mistake():
    with serving() as s:
        post = lambda body, **o: s.post("/v1/executions", body, **o)
        problem(post(b"{", headers={"Content-Type": "application/json"}), 400, "invalid", "the body")
        problem(post({"functoin": "f"}), 400, "invalid", 'can\'t have a member "functoin"', 'did you mean "function"')
        problem(post({"function": 7}), 400, "invalid", "function", "string")
        problem(post({"function": "f", "priority": "high"}), 400, "invalid", "priority")
        problem(post({"function": "f", "delay": "soon"}), 400, "invalid", "delay")
        problem(post({}), 400, "invalid", "one of")
        problem(post({"function": "f", "workflow": "w"}), 422, "not-processable", "exactly one of")
        problem(post({"function": "f", "params": {}}), 422, "not-processable", "params belong to a workflow")
        problem(post({"function": "f", "concurrency": {"max": 1}}), 400, "invalid", '"key"')
        problem(post({"yaml": "name: x\ntasks: {a: {run: 1, nees: b}}"}), 422, "not-processable", "nees")
        problem(post(b"a=1", headers={"Content-Type": "application/x-www-form-urlencoded"}), 415, "media-type", "application/json")
        problem(post(b" " * (8 << 20) + b"1", headers={"Content-Type": "application/json"}), 413, "too-large")
        problem(post(b'{"function":' + b"[" * 100 + b"]" * 100 + b"}", headers={"Content-Type": "application/json"}), 422, "not-processable", "levels")
        problem(post({"function": "f", "input": -(10**30)}), 422, "not-processable", "64 bits")
        problem(post(b'{"function": "a\\u0000"}', headers={"Content-Type": "application/json"}), 400, "invalid", "NUL")
        problem(s.get("/v1/executions?statos=ready"), 400, "invalid", "no argument 'statos'", '"status"')
        problem(s.get("/v1/executions?status=reddy"), 400, "invalid", "'reddy' is not one of")
        problem(s.get("/v1/executions?limit=1&limit=2"), 400, "invalid", "limit was given twice")
        problem(s.get("/v1/executions?limit=0"), 400, "invalid", "limit must be from 1")
        problem(post({"workflow": "w", "params": {"a": {"b\0": 1}}}), 422, "not-processable", "NUL")
        problem(s.get("/v1/executions?worker=" + "a" * 17), 400, "invalid", "bytes")
        problem(s.get("/v1/executions?worker=" + "%C3%A9" * 16), 422, "not-processable", "bytes")
        problem(post({"function": "f" * 101}), 400, "invalid", "101 bytes")
        problem(post({"function": "é" * 100}), 422, "not-processable", "200 bytes")
        problem(s.get("/v1/executions?name=%ff"), 400, "invalid", "UTF-8")
        problem(s.get("/v1/executions/99"), 404, "not-found", "99")
        problem(s.get("/v1/executions/x"), 404, "not-found")
        problem(s.get("/nothing"), 404, "not-found")
        answer = s.ask("PATCH", "/v1/executions")
        problem(answer, 405, "method-not-allowed")
        assert answer.headers["Allow"] == "GET, POST"
        assert s.ask("DELETE", "/v1/executions/counts").expect(405).headers["Allow"] == "GET"  # two endpoints match
        problem(s.ask("GET", "/v1/queues", b"{}"), 400, "invalid", "no body")
        assert s.get("/v1/executions").json["items"] == []


@test
def actions_on_an_execution_over_http_take_effect_and_its_events_name_the_token():
    with serving("--worker", "2") as s:
        operator = s.db.token("night shift", "read,operate")
        act = lambda run, verb, body=None: s.post(f"/v1/executions/{run}/{verb}", body, token=operator)
        run = s.submit(yaml=SLEEPER)
        assert act(run, "pause", {"reason": "wait"}).expect(200).json["workflow_execution"]["paused"]
        problem(act(run, "pause"), 409, "not-acceptable", "paused")
        act(run, "resume").expect(200)
        act(run, "cancel", {"reason": "not needed"}).expect(200)
        assert s.wait(run)["status"] == "cancelled"
        events = s.get(f"/v1/executions/{run}/events?self=true").json["items"]
        asked = [e["data"] for e in events if e["data"] and e["data"].get("reason") == "not needed"]
        assert asked and asked[0]["by"] == "token night shift", events
        plan = act(run, "rerun", {"dry_run": True}).expect(200).json
        assert [n["name"] for n in plan["nodes"]], plan
        problem(act(run, "skip"), 409, "not-acceptable")


@test
def task_approved_over_http_runs():
    with serving("--worker", "1") as s:
        run = s.submit(yaml="name: gate\ntasks: {a: {run: 'true', approval: {message: go?}}}\n")
        waiting = s.get(f"/v1/executions/{run}/children").json["items"][0]
        assert waiting["waiting"].startswith("approval"), waiting
        s.post(f"/v1/executions/{waiting['id']}/approve", {"reason": "fine"}).expect(200)
        assert s.wait(run)["status"] == "succeeded"


@test
def queue_can_be_limited_paused_and_resumed_over_http():
    with serving() as s:
        s.submit(function="f", queue="mail")
        find = lambda answer: next(q for q in answer.expect(200).json["items"] if q["queue"] == "mail")
        assert find(s.ask("PUT", "/v1/queues/mail/limit", {"max": 3}))["limit"]["max"] == 3
        assert find(s.post("/v1/queues/mail/pause", {"reason": "provider down"}))["paused"]["reason"] == "provider down"
        assert find(s.post("/v1/queues/mail/resume"))["paused"] is None
        assert find(s.ask("PUT", "/v1/queues/mail/limit", {"max": None}))["limit"] is None
        assert s.get("/v1/workers").expect(200).json["items"] == []
        assert s.get("/v1/submissions?status=waiting").expect(200).json["items"] == []
        overview = s.get("/v1/overview").expect(200).json
        assert [q["queue"] for q in overview["queues"]] == ["mail"], overview


@test
def worker_can_be_drained_over_http():
    with serving() as s, s.db.worker() as (process, id):
        problem(s.post("/v1/workers/00000000000000ff/drain"), 404, "not-found", "00000000000000ff")
        problem(s.post("/v1/workers/mail/drain"), 422, "not-processable", "mail")
        assert s.get("/v1/workers").expect(200).json["items"][0]["drain"] is None
        go = f"{s.db.dir}/go"
        run = s.submit(yaml=f"name: busy\ntasks: {{a: {{run: 'while [ ! -e {go} ]; do sleep 0.05; done'}}}}\n")
        end = time.monotonic() + PATIENCE
        while s.get("/v1/workers").expect(200).json["items"][0]["leases"] == 0:  # an idle worker could exit before the answer
            assert time.monotonic() < end
            time.sleep(0.02)
        worker = s.post(f"/v1/workers/{id}/drain", {"reason": "new disk"}).expect(200).json["items"][0]
        assert (worker["id"], worker["state"], worker["drain"]["reason"]) == (id, "draining", "new disk"), worker
        open(go, "w").close()
        assert process.wait(PATIENCE) == 0
        assert "asked this worker to drain: new disk" in process.stderr.read()
        assert s.get("/v1/workers").expect(200).json["items"] == []
        assert s.get(f"/v1/executions/{run}").expect(200).json["status"] == "succeeded"


@test
def drained_worker_of_a_server_claims_nothing_and_the_server_goes_on_serving():
    with serving("--worker", "1") as s:
        id = s.get("/v1/workers").expect(200).json["items"][0]["id"]
        s.post(f"/v1/workers/{id}/drain").expect(200)
        end = time.monotonic() + PATIENCE
        while s.get("/v1/workers").expect(200).json["items"][0]["serves"] != {}:
            assert time.monotonic() < end
            time.sleep(0.02)
        run = s.submit(yaml="name: late\ntasks: {a: {run: 'true'}}\n")
        task = s.get(f"/v1/executions/{run}/children").expect(200).json["items"][0]
        why = s.get(f"/v1/executions/{task['id']}/why").expect(200).json["reasons"][0]
        assert (why["code"], why["draining"]) == ("not_served", 1), why
        s.db.pawl("worker", "--drain")
        assert s.wait(run)["status"] == "succeeded"
    assert any("has asked the worker to drain" in line for line in s.rest), s.rest


@test
def schedule_can_be_listed_paused_resumed_and_run_over_http():
    with serving() as s:
        file = f"{s.db.dir}/nightly.flow.yaml"
        with open(file, "w") as f:
            f.write("name: nightly\non: {schedule: {cron: '0 3 * * *'}}\ntasks: {a: {run: 'true'}}\n")
        s.db.pawl("apply", file)
        name = s.get("/v1/schedules").expect(200).json["items"][0]["schedule"]
        path = "/v1/schedules/" + name.replace("/", "%2F")
        assert len(s.get("/v1/schedules/next?limit=3").expect(200).json["items"]) == 3
        assert s.post(path + "/pause", {"reason": "holiday"}).expect(200).json["items"][0]["paused"]["reason"] == "holiday"
        assert s.post(path + "/resume").expect(200).json["items"][0]["paused"] is None
        run = s.post(path + "/run").expect(201).json["id"]
        assert s.get(f"/v1/executions/{run}").expect(200).json["name"] == "nightly"
        problem(s.post("/v1/schedules/other/pause"), 404, "not-found")


@test
def action_that_the_state_does_not_allow_gets_409_and_a_wrong_request_422():
    with serving("--worker", "2") as s:
        state, wrong = (409, "not-acceptable"), (422, "not-processable")
        s.ask("PUT", "/v1/workflows/w", b"name: w\nparams: {n: {type: integer, default: 1}}\ntasks: {a: {run: 'true'}, b: {run: 'true'}}\n"
              b"on: {schedule: ['0 3 * * *', {cron: '0 4 * * *', name: four}]}\n", headers={"Content-Type": "application/yaml"}).expect(200)
        run, sleeper = s.submit(workflow="w"), s.submit(yaml=SLEEPER)
        s.wait(run)
        task = s.get(f"/v1/executions/{run}/children").json["items"][0]["id"]
        act = lambda id, verb, **body: s.post(f"/v1/executions/{id}/{verb}", body or None)
        for verb in ("cancel", "pause", "resume", "skip", "approve", "reject"):
            problem(act(run, verb), *state, "succeeded")
        problem(act(run, "rerun", failed=True), *state, "nothing to rerun")
        problem(act(sleeper, "rerun"), *state, "has not ended")
        problem(act(sleeper, "resume"), *state, "not paused")
        problem(act(run, "rerun", **{"from": "none"}), *wrong, "none")
        problem(act(run, "rerun", params=["n=x"]), *wrong, "integer")
        problem(act(run, "rerun", params=["m=1"]), *wrong, "no param m")
        problem(act(run, "rerun", failed=True, **{"from": "a"}), *wrong, "not both")
        problem(act(task, "rerun", failed=True), *wrong, "is not a workflow")
        problem(s.post("/v1/queues/mail/resume"), *state, "not paused")
        problem(s.post("/v1/queues/%01/pause"), *wrong)
        problem(s.post("/v1/schedules/w/resume"), *state, "not paused")
        problem(s.post("/v1/schedules/w/run"), *wrong, "has 2 schedules")
        problem(s.post("/v1/schedules/%2F/pause"), *wrong, "not a schedule name")
        problem(s.post("/v1/executions/actions", {"action": "cancel", "filter": {"status": "failed"}}), *wrong, "use the status")
        assert "missing" not in act(run, "cancel").json
        act(sleeper, "cancel").expect(200)
        s.wait(sleeper)


NIGHTLY = "# of the night shift\nname: nightly\nparams: {day: {type: string, required: true}}\ntasks: {a: {run: 'true'}}\n"


@test
def workflow_can_be_applied_read_submitted_and_deleted_over_http():
    with serving("--worker", "1") as s:
        put = lambda text, **headers: s.ask("PUT", "/v1/workflows/nightly", text.encode(), headers={"Content-Type": "application/yaml", **headers})
        first = put(NIGHTLY, **{"If-None-Match": "*"}).expect(200)
        assert (first.json["name"], first.json["unchanged"]) == ("nightly", False), first.json
        problem(put(NIGHTLY, **{"If-None-Match": "*"}), 412, "precondition-failed")
        assert put(NIGHTLY).expect(200).json["unchanged"]
        second = put(NIGHTLY.replace("'true'", "exit 0"), **{"If-Match": first.headers["ETag"]}).expect(200)
        problem(put(NIGHTLY, **{"If-Match": first.headers["ETag"]}), 412, "precondition-failed")
        problem(put("name: other\ntasks: {a: {run: 'true'}}\n"), 422, "not-processable", "defines the workflow other")
        problem(put("name: nightly\ntasks: {a: {rum: x}}\n"), 422, "not-processable", "rum")
        assert [w["name"] for w in s.get("/v1/workflows").expect(200).json["items"]] == ["nightly"]
        shown = s.get("/v1/workflows/nightly").expect(200)
        assert shown.headers["ETag"] == second.headers["ETag"] and shown.json["params"][0]["name"] == "day", shown.json
        assert shown.json["source"].startswith("# of the night shift"), shown.json
        versions = s.get("/v1/workflows/nightly/versions?limit=1").expect(200)
        assert len(versions.json["items"]) == 1 and versions.json["next"], versions.json
        older = s.get(f"/v1/workflows/nightly/versions?cursor={versions.json['next']}").expect(200).json
        assert len(older["items"]) == 1 and older["next"] is None, older
        problem(s.post("/v1/executions", {"workflow": "nightly"}), 422, "not-processable", "day")
        run = s.submit(workflow="nightly", params={"day": "2026-01-31"})
        assert s.wait(run)["status"] == "succeeded"
        assert s.ask("DELETE", "/v1/workflows/nightly?reason=unused").expect(200).json["schedules"] == 0
        problem(s.get("/v1/workflows/nightly"), 404, "not-found")
        problem(s.post("/v1/executions", {"workflow": "nightly", "params": {"day": "x"}}), 404, "not-found")


@test
def lists_counts_and_bulk_actions_use_the_same_filters():
    with serving() as s:
        s.post("/v1/executions", [{"function": "f", "queue": "mail", "input": {"user": i % 2}} for i in range(6)]).expect(201)
        s.submit(function="g")
        assert len(s.get("/v1/executions?queue=mail&param=user%3D1").expect(200).json["items"]) == 3
        assert s.get("/v1/executions?by=console&since=2001-01-01T00:00:00Z").expect(200).json["items"]
        assert s.get("/v1/executions?until=2001-01-01T00:00:00Z").expect(200).json["items"] == []
        counts = s.get("/v1/executions/counts?queue=mail").expect(200).json
        assert (counts["total"], counts["ready"], counts["more"]) == (6, 6, False), counts
        act = lambda **body: s.post("/v1/executions/actions", body)
        wanted = {"queue": "mail", "param": ["user=1"], "status": "ready,running"}
        plan = act(action="cancel", filter=wanted, dry_run=True).expect(200).json
        assert (plan["matched"], plan["done"], len(plan["items"])) == (3, 0, 3), plan
        done = act(action="cancel", filter=wanted, reason="wrong users").expect(200).json
        assert (done["matched"], done["done"], done["refused"]) == (3, 3, 0), done
        assert act(action="cancel", filter=wanted).expect(200).json["matched"] == 0
        assert s.get("/v1/executions/counts").json["cancelled"] == 3
        problem(act(action="cancel", filter={}), 422, "not-processable", "filter")
        problem(act(action="cancel"), 400, "invalid", '"filter"')
        problem(act(action="explode", filter=wanted), 400, "invalid", "must be one of")
        problem(act(action="cancel", filter={"quee": "x"}), 400, "invalid", "queue")


@test
def request_that_waits_for_an_execution_returns_its_present_status_at_the_deadline():
    with serving() as s:
        run = s.submit(function="f")
        answer = s.get(f"/v1/executions/{run}", headers={"Prefer": "wait=1"}).expect(200)
        assert (answer.json["status"], answer.headers["Preference-Applied"]) == ("ready", "wait=1")
        problem(s.get("/v1/executions/999", headers={"Prefer": "wait=60"}), 404, "not-found")


@test
def openapi_document_refers_only_to_existing_schemas_and_health_checks_need_no_token():
    with serving() as s:
        document = s.get("/openapi.json", token=None).expect(200).json
        assert document["openapi"] == "3.1.0"
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "openapi.json")) as f:
            assert document == json.load(f), "what is served is not what is committed"
        assert document["paths"]["/v1/executions"].keys() == {"get", "post"}
        for path, operations in document["paths"].items():
            for operation in operations.values():
                for code, response in operation["responses"].items():
                    schema = response.get("content", {}).get("application/json", {}).get("schema", {})
                    reference = schema.get("$ref", "").rsplit("/", 1)[-1]
                    assert not reference or reference in document["components"]["schemas"], (path, code)
        assert s.get("/healthz", token=None).expect(200).json == {"status": "ok"}
        assert s.get("/readyz", token=None).expect(200).json == {"status": "ready"}
        assert b"pawl_queue_jobs" in s.get("/metrics").expect(200).body


@test
def new_events_continue_at_a_position_and_a_position_that_was_made_up_is_harmless():
    with serving() as s:
        first = s.submit(function="none")
        start = s.get("/v1/events/new").expect(200).json
        assert start["items"] == [] and start["next"]
        second = s.submit(function="none")
        new = s.get(f"/v1/events/new?position={start['next']}").expect(200)
        assert {e["execution"] for e in new.json["items"]} == {second} and new.headers["Link"] is None
        assert s.get(f"/v1/events/new?position={new.json['next']}").json["items"] == []
        own = s.get(f"/v1/executions/{first}/events/new?self=true").expect(200).json["items"]
        assert own == s.get(f"/v1/executions/{first}/events").json["items"]
        for position in ("0", "0.9223372036854775807.x", "9223372036854775807", "0.5.3/7%203/8"):
            assert s.get(f"/v1/events/new?position={position}").expect(200).json["next"]
        for position in ("x", "-1", "5.4.x", "1.2", "1.2."):
            problem = s.get(f"/v1/events/new?position={position}").expect(422).json
            assert problem["code"] == "INVALID" and "is not a position" in problem["detail"]
        s.get("/v1/executions/12345/events/new").expect(404)


@test
def problem_of_the_library_has_its_code_and_what_is_missing():
    with serving() as s:
        problem = s.get("/v1/executions/12345").expect(404).json
        assert (problem["code"], problem["missing"], problem["name"]) == ("NOT_FOUND", "execution", "12345")
        s.ask("PUT", "/v1/workflows/w", b"name: w\nparams: {x: {type: string, required: true}}\ntasks: {a: {run: x}}\n",
              headers={"Content-Type": "application/yaml"}).expect(200)
        problem = s.post("/v1/executions", {"workflow": "w"}).expect(422).json
        assert (problem["code"], problem["missing"], problem["name"]) == ("INVALID", "param", "x")
        assert "code" not in s.get("/v1/executions?limit=x").expect(400).json
        document = s.get("/v1/workflows/w").json["document"]
        execution = s.post("/v1/executions", {"document": document, "param": ["x=1"]}).expect(201).json["id"]
        assert s.get(f"/v1/executions/{execution}").json["input"] == {"x": "1"}
        s.post("/v1/executions", {"document": document, "function": "f"}).expect(422)
        s.post("/v1/executions", {"document": {"odd": 1}}).expect(422)
        applied = s.post("/v1/workflows", {"document": document, "source": "name: w # as it was"}).expect(200).json
        assert applied["unchanged"] and s.get("/v1/workflows/w").json["source"] == "name: w # as it was"
        s.post("/v1/workflows", {"document": document, "if_match": "0"}).expect(412)


@test
def settings_are_read_and_changed_over_http():
    with serving() as s:
        assert s.get("/v1/retention").expect(200).json["source"] == "default"
        assert s.ask("PUT", "/v1/retention", {"execution_days": 9, "reason": "tidy"}).expect(200).json["execution_days"] == 9
        s.ask("PUT", "/v1/retention", {"execution_days": 99999}).expect(422)
        routes = [{"task": "a::*", "executor": "gpu"}]
        assert s.ask("PUT", "/v1/routes", {"routes": routes}).expect(200).json["routes"] == routes
        body = s.get("/openapi.json").json["paths"]["/v1/routes"]["put"]["requestBody"]["content"]["application/json"]["schema"]
        assert sorted(body["properties"]["routes"]["items"]["required"]) == ["executor", "task"]
        for wrong in (1, None, [1], [{"task": "a"}], [{"task": "a", "executor": "b", "odd": 1}], {"task": "a"}, routes * 1001):
            s.ask("PUT", "/v1/routes", {"routes": wrong}).expect(400)
        read = s.db.token("reader", "read")
        s.get("/v1/routes", token=read).expect(200)
        s.ask("PUT", "/v1/routes", {"routes": []}, token=read).expect(403)


@test
def list_of_words_in_a_body_may_be_as_long_as_the_document_says():
    with serving() as s:
        body = s.get("/openapi.json").json["paths"]["/v1/hooks"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        n = (body["properties"]["statuses"]["maxLength"] + 1) // len("failed,")
        hook = lambda n: s.post("/v1/hooks", {"name": f"h{n}", "url": "http://localhost", "statuses": ",".join(["failed"] * n)})
        hook(n).expect(201)
        hook(n + 1).expect(400)


main()
