"""The command line through a server: commands that change something do and print what they do and print on the database."""
# TEST_LONG

import json
import re

from harness import main, test
from remote_fixture import TIMED, OPEN, both
from server_fixture import PATIENCE


# Each line is done once on the database and once through the server, on an execution of its own: $1 is a new `open` workflow,
# $2 and $3 are its tasks `one` and `late`.
CONTROLLING = """
pause $1 --reason why
pause $1 --json
cancel $1
cancel $1 --json --reason enough
cancel $1 --let-finish
skip $3 --reason later
skip $3 --json
approve $2
reject $2 --reason no
approve $2 --json
"""


def events_of(b, execution):
    """What happened to a tree, without what differs between two of them."""
    out = []
    for line in b.on_database("events", execution, "--json").out.splitlines():
        e = json.loads(line)
        data = {k: v for k, v in (e["data"] or {}).items() if k not in ("by", "duration_us")}
        out.append((e["execution"] - execution, e["type"], e["from"], e["to"], re.sub(r"rejected by [^:]*", "rejected by X", json.dumps(data))))
    return out


@test
def controlling_command_through_a_server_does_and_prints_the_same():
    with both() as b:
        b.open = b.file("open.yaml", OPEN)
        for line in CONTROLLING.strip().splitlines():
            results = []
            for do in (b.on_database, b.through):
                root = int(b.on_database("submit", b.open).out)
                ids = [root, b.task("open::one", root), b.task("open::late", root)]
                words = [re.sub(r"\$(\d)", lambda m: str(ids[int(m[1]) - 1]), w) for w in line.split()]
                r = do(*words)
                assert r.code == 0, f"pawl {' '.join(words)}: {r}"
                text = re.sub("|".join(f"\\b{i}\\b" for i in ids), lambda m: f"${ids.index(int(m[0])) + 1}", r.out + r.err)
                text = re.sub(r"20\d\d-[^\"]*Z|\b\d{6,}\b|\"requested_by\":\"[^\"]*\"", "T", text)
                results.append((text, events_of(b, root)))
            assert results[0] == results[1], f"pawl {line}\n{results[0]}\n{results[1]}"


@test
def submission_through_a_server_is_that_of_the_database():
    with both() as b:
        b.fill()
        b.file("below/inner.yaml", "name: inner\nparams: {x: {type: string, required: true}}\ntasks: {i: {run: 'pwd; echo \"$x\"'}}\n")
        b.file("below/outer.yaml", "name: outer\nparams: {f: {type: number, default: 0.1}}\ntasks:\n"
               "  a: {workflow: inner.yaml, with: {x: 'é ${{ params.f }}'}}\n")
        for words in (["submit", "below/outer.yaml"], ["submit", "below/outer.yaml", "--param", "f=0.25"], ["submit", "flow", "--param", "n=7"],
                      ["submit", "flow.yaml", "--param", "day=sunday", "--queue", "other", "--priority", "-3"]):
            a, c = (json.loads(do(*words, "--json").out) for do in (b.on_database, b.through))
            for o in (a, c):
                o["workflow_execution"]["variables"].pop("due_at", None)
            for key in ("name", "queue", "priority", "input", "workflow_execution", "status", "kind"):
                assert a[key] == c[key], f"{words}: {key}\n{a[key]}\n{c[key]}"
        first = b.through("submit", "flow", "--key", "same key").out
        assert first == b.through("submit", "flow", "--key", "same key").out == b.on_database("submit", "flow", "--key", "same key").out
        same = b.same("submit", "flow", "--key", "same key", "--param", "n=2")
        assert same.code == 2 and "same key" in same.err
        missing = b.file("needs.yaml", "name: needs\nparams: {x: {type: string, required: true}}\ntasks: {i: {run: 'true'}}\n")
        assert "write --param x=VALUE" in b.same("submit", missing).err
        b.on_database("apply", missing)
        assert "write --param x=VALUE" in b.same("submit", "needs").err
        bad = b.file("bad.yaml", "name: bad\ntasks: {i: {run: 'true', nedes: x}}\n")
        assert b.same("submit", bad).code == b.same("apply", bad).code == 2
        detached = json.loads(b.through("exec", "--detach", "--retry", 2, "--timeout", "5m", "--json", "--", "echo", "a b").out)
        direct = json.loads(b.on_database("exec", "--detach", "--retry", 2, "--timeout", "5m", "--json", "--", "echo", "a b").out)
        for key in ("name", "max_attempts", "queue", "executor", "status"):
            assert detached[key] == direct[key]
        b.on_database("worker", "--slots", "4", "--drain")
        assert b.same("logs", detached["id"]).out == "a b\n"
        assert b.on_database("show", int(first), "--json").out.count('"status":"failed"') == 1


@test
def applied_workflow_through_a_server_is_that_of_the_database():
    with both() as b:
        b.timed = b.file("timed.yaml", TIMED)
        b.file("inner.yaml", "name: inner\ntasks: {i: {run: 'true'}}\n")
        outer = b.file("outer.yaml", "name: outer\n# a comment\ntasks: {a: {workflow: inner.yaml}}\n")
        for path in (b.timed, outer):
            there, here = b.through("apply", path), b.on_database("apply", path)
            assert there.out.replace("applied", "unchanged") == here.out and there.code == here.code == 0
            assert b.same("apply", path, "--json").code == 0
        assert "# a comment" in b.same("workflow", "show", "outer", "--yaml").out
        b.file("timed.yaml", TIMED.replace('"0 2 * * *", ', ""))
        assert "1 removed" in b.through("apply", b.timed).out
        for words in (["schedule", "pause", "timed/three", "--reason", "down"], ["schedule", "resume", "timed"], ["schedule", "pause", "timed"]):
            r = b.through(*words)
            assert r.code == 0, r
            assert r.err == "" and r.out == f"schedule {words[2]}: " + ("paused; running executions continue\n" if words[1] == "pause" else "resumed\n")
        assert b.through("schedule", "resume", "timed/three").code == 0
        assert b.same("schedule", "resume", "timed/three").code == 2
        execution = int(b.through("schedule", "run", "timed/three").out)
        assert json.loads(b.through("show", execution, "--json").out)["name"] == "timed"
        b.on_database("worker", "--drain")
        rerun = b.through("rerun", execution)
        assert rerun.code == 0 and rerun.out == f"runs again: {execution} timed (was succeeded)\n", rerun
        b.on_database("worker", "--drain")
        new = b.through("rerun", execution, "--file", outer, "--json")
        assert json.loads(new.out)["rerun_of"] == execution, new
        for words in (["queue", "set", "q", "--limit", 3], ["queue", "pause", "q", "--reason", "x"], ["queue", "set", "q", "--limit", 2],
                      ["queue", "resume", "q"], ["queue", "set", "q", "--limit", "none"]):
            there = b.through(*words)
            assert there.code == 0 and there.err == "", there
            if words[1] == "set":
                assert there == b.on_database(*words)
        token = b.through("admin", "token", "create", "ci", "--scope", "read", "--expires", "1d")
        assert token.code == 0 and "token ci created, valid for 1 d 0 h" in token.err, token
        assert b.through("ls", token=token.out.strip()).code == 0
        assert b.through("admin", "token", "revoke", "ci").out == "token ci revoked\n"
        there = b.through("admin", "retention", "set", "--days", 90, "--reason", "enough")
        assert there == b.same("admin", "retention"), there
        there = b.through("admin", "routes", "set", "--default", "process", "a::*=process", "b=*=x")
        assert there == b.same("admin", "routes"), there
        assert b.through("workflow", "rm", "timed", "--reason", "old").out == "timed: deleted, with 1 schedule; running executions continue\n"
        assert b.on_database("workflow", "rm", "timed") == b.through("workflow", "rm", "timed")


@test
def lists_and_bulk_actions_of_many_executions_follow_all_pages():
    with both() as b:
        for i in range(6):
            jobs = [{"function": "none", "name": f"exec::job{i}-{k}", "queue": "many"} for k in range(1000)]
            b.server.post("/v1/executions", jobs).expect(201)
        assert b.same("ls", "--limit", 0, "--json").out.count("\n") == 6000
        assert b.same("ls", "--limit", 2345, "--json").out.count("\n") == 2345
        assert b.same("events", "--limit", 0, "--json").out.count("\n") >= 12000
        assert b.same("ls", "--count", "--name", "exec::job*").out == "6000 executions: 6000 ready\n"
        dry = b.same("cancel", "--name", "exec::job*", "--dry-run", "--json")
        assert dry.out.count("\n") == 6000
        assert b.through("cancel", "--name", "exec::job0-*", "--limit", 700, "--yes").out.endswith("700 executions done\n")
        done = b.through("cancel", "--name", "exec::job*", "--yes")
        assert done.code == 0 and done.out.endswith("5300 executions done\n") and done.out.count("cancelled") == 5300, done.out[-200:]
        assert b.same("ls", "--count", "--name", "exec::job*").out == "6000 executions: 6000 cancelled\n"


@test
def worker_is_drained_through_a_server_as_on_the_database():
    with both() as b:
        for through in (True, False):
            with b.db.worker("--queue", "none") as (process, id):
                done = (b.through if through else b.on_database)("drain", id, "--reason", "new disk")
                assert (done.code, done.out) == (0, f"worker {id}: asked to drain; it holds 0 jobs\n"), done
                assert process.wait(PATIENCE) == 0
                assert "asked this worker to drain: new disk" in process.stderr.read()
        assert b.same("drain", "00000000000000ff").code == 5
        assert b.same("drain", "mail").code == 2


@test
def warning_about_executors_through_a_server_is_that_of_the_database():
    with both() as b:
        b.file("odd.yaml", "name: odd\ntasks:\n  a: {executor: gpu, run: x}\n  b: {executor: proces, run: x}\n")
        for words in (["validate", "odd.yaml"], ["validate", "odd.yaml", "--json"], ["apply", "odd.yaml", "--json"]):
            b.on_database(*words)
            assert "which no worker has served yet" in b.same(*words).err
        there, here = b.through("submit", "odd"), b.on_database("submit", "odd")
        assert there.err == here.err and "no worker" in here.err
        b.on_database("admin", "routes", "set", "odd::*=gpux")
        assert "gpux" in b.same("admin", "routes").err


main()
