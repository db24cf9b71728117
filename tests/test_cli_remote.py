"""The command line through a server: the same output, errors and exit codes as on the database itself."""
# TEST_LONG

import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time

from harness import main, test
from server_fixture import BUILD, PATIENCE, Database, Server, serving

FLOW = """
name: flow
params: {day: {type: string, default: monday}, n: {type: integer, default: 1}}
tasks:
  good: {run: 'echo "$day"; echo n=1 >>"$PAWL_OUTPUT"'}
  each: {needs: good, foreach: [a, b], run: 'echo "$ITEM"; printf ''\\033[1mbold\\n'''}
  bad: {needs: good, run: 'echo to the end; exit 3', retry: {max: 1, delay: 1ms}}
  last: {needs: [each, bad], run: echo last}
"""
OPEN = """
name: open
tasks:
  one: {approval: {message: sure?}, run: 'true'}
  two: {approval: {message: sure?}, run: 'true'}
  late: {needs: one, run: 'true'}
"""
TIMED = """
name: timed
on: {schedule: ["0 2 * * *", {cron: "0 3 * * *", name: three}]}
tasks: {a: {run: 'true'}}
"""


class Result:
    def __init__(self, done):
        self.out, self.err, self.code = done.stdout, done.stderr, done.returncode

    def __eq__(self, other):
        return (self.out, self.err, self.code) == (other.out, other.err, other.code)

    def __repr__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out}--- stderr\n{self.err}"

    def refused(self, code, words):
        assert self.code == code and words in self.err and not self.out, f"not {code} with {words!r}: {self}"
        assert self.err.count("\n") == 1, self
        return self


def run(db, *words, env=None, **options):
    return Result(subprocess.run([f"{BUILD}/pawl", *map(str, words)], env={**db.env, **(env or {})}, text=True,
                                 capture_output=True, timeout=PATIENCE, cwd=db.dir, stdin=subprocess.DEVNULL, **options))


class Both:
    """A database with a server of it; each command can be run on either."""

    def __init__(self, server):
        self.server, self.db = server, server.db
        self.url = f"http://127.0.0.1:{server.port}"

    def on_database(self, *words, **options):
        return run(self.db, "--db", self.db.url, "--tenant", self.db.tenant, *words, **options)

    def through(self, *words, token=None, **options):
        return run(self.db, "--server", self.url, *words, env={"PAWL_TOKEN": token or self.server.token}, **options)

    def same(self, *words, plain=lambda text: text):
        """Runs a command that changes nothing on both; returns what it printed."""
        here, there = self.on_database(*words), self.through(*words)
        for r in (here, there):
            r.out, r.err = plain(r.out), plain(r.err)
        assert here == there, f"pawl {' '.join(map(str, words))}\non the database: {here}\nthrough the server: {there}"
        return here

    def file(self, name, text):
        path = os.path.join(self.db.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        return path

    def task(self, name, root):
        for line in self.on_database("ls", "--tasks", root, "--json").out.splitlines():
            if json.loads(line)["name"] == name:
                return json.loads(line)["id"]
        raise AssertionError(f"no {name} in {root}")

    def fill(self):
        """A workflow that failed, one that waits for approvals, schedules, and a limited and a paused queue."""
        self.flow, self.open = self.file("flow.yaml", FLOW), self.file("open.yaml", OPEN)
        self.timed = self.file("timed.yaml", TIMED)
        for path in (self.flow, self.timed):
            assert self.on_database("apply", path).code == 0
        self.failed = int(self.on_database("submit", self.flow).out)
        assert self.on_database("worker", "--slots", "4", "--drain").code == 0
        self.waiting = int(self.on_database("submit", self.open).out)
        self.on_database("queue", "set", "reports", "--limit", "2")
        self.on_database("queue", "pause", "mail", "--reason", "full")
        self.on_database("exec", "--detach", "--queue", "mail", "--", "true")


@contextlib.contextmanager
def both(*options, **more):
    with serving(*options, **more) as server:
        yield Both(server)


def without_durations(text):
    """Text in which what grows by itself is replaced: how long something has run or waited, and the time now."""
    text = re.sub(r"[0-9.]+ (ms|s|m|h|d)\b( [0-9]+ (s|m|h)\b)?", "D", text)
    text = re.sub(r'"(oldest_wait_us|elapsed_us|silent_us|total_us|wait_us|held_us|run_us|retry_us)":\d+', r'"\1":N', text)
    text = re.sub(r'"(at|to)":"20[^"]*Z"', r'"\1":"T"', text)
    text = re.sub(r'(?m)^(pawl_\w*(oldest|age|seconds)\w*(\{[^}]*\})?) [0-9.e+]+$', r"\1 N", text)
    return re.sub(r" +", " ", text)


READING = """
ls
ls --limit 2
ls --all --limit 0
ls --all --status failed,succeeded --kind task
ls --all --name flow::*
ls --workflow flow --count
ls --count --limit 1
ls --all --since 1d --until 2100-01-01 --param day=monday
ls --tasks FAILED
ls --tasks FAILED --status failed --limit 1
ls --parent FAILED
ls --all --before BAD
ls --by nobody*
ls --all --worker 0123456789abcdef
ls --queue mail --all
show FAILED
show @last
show BAD
show BAD --parent
show BAD --workflow
show FAILED --at 2100-01-01
show FAILED --at=#3
tree FAILED
tree FAILED --critical
tree FAILED --at=#6
diff FAILED FAILED
diff FAILED WAITING
diff FAILED WAITING --exit-code
events FAILED
events FAILED --self
events FAILED --type failed --limit 2
events --limit 5
events --limit 0
events --type workflow.started,task.failed --since 1d
why BAD
why FAILED
logs BAD
logs BAD --attempt 1 --tail 1
logs GOOD --raw
workflow
workflow ls --name t*
workflow show flow
workflow show timed
workflow versions flow
schedule
schedule ls timed
schedule next
schedule next timed -n 3
schedule next -n 0
workers
submissions
submissions --status refused --limit 3
admin token list
admin retention
admin routes
"""
PLAIN_TEXT = """
graph FAILED
graph FAILED --format dot
graph FAILED --format json
graph WAITING --format mermaid
workflow show flow --yaml
validate FLOW
"""
GROWING = """
show WAITING
tree WAITING
tree WAITING --critical
why WAITING
why ASKED
queue
metrics
"""
REFUSED = """
show 12345
show x
tree 12345
events 12345
why 12345
logs 12345
logs BAD --attempt 9
logs FAILED
graph 12345
graph FAILED --format nope
diff FAILED 12345
ls --status nope
ls --kind nope
ls --worker nope
ls --tasks BAD
ls --tasks FAILED --workflow flow
ls --parent 12345
ls --param nope
events --type nope
show FAILED --at=#1000000000
show WAITING --parent
workflow show none
workflow show flow --version none
workflow versions none
schedule ls none
schedule next none
submissions --status nope
cancel FAILED
cancel 12345
pause FAILED
resume WAITING
skip FAILED
approve WAITING
reject BAD
rerun WAITING
rerun 12345
rerun FAILED --from none
rerun FAILED --set none=1 --dry-run
rerun FAILED --set n=x --dry-run
cancel WAITING --reason ''
queue resume default
queue pause ''
schedule pause none
schedule run none
schedule resume timed
workflow rm none
admin token revoke none
admin retention set --days 99999
submit none
submit flow --param none=1
submit flow --param n=x
cancel --status failed --yes
cancel --all --yes
pause --workflow none --yes
rerun --workflow flow --dry-run
rerun --workflow flow --status failed --failed --dry-run
cancel --workflow open --dry-run
"""


def commands(text, b):
    names = {"FAILED": b.failed, "WAITING": b.waiting, "BAD": b.task("flow::bad", b.failed), "FLOW": b.flow,
             "GOOD": b.task("flow::good", b.failed), "ASKED": b.task("open::one", b.waiting)}
    for line in text.strip().splitlines():
        yield [str(names.get(w, w)).replace("''", "") for w in line.split()]


@test
def reading_command_through_a_server_prints_what_it_prints_on_the_database():
    with both() as b:
        b.fill()
        for words in commands(READING, b):
            assert b.same(*words).code in (0, 1)
            assert b.same(*words, "--json").code in (0, 1)
        for words in commands(PLAIN_TEXT, b):
            assert b.same(*words).code == 0
        for words in commands(GROWING, b):
            assert b.same(*words, plain=without_durations).code == 0
            assert b.same(*words, "--json", plain=without_durations).code == 0


@test
def refused_command_through_a_server_has_the_sentence_and_the_code_of_the_database():
    with both() as b:
        b.fill()
        before = b.on_database("events", "--limit", 0).out
        for words in commands(REFUSED, b):
            b.same(*words)
        assert b.on_database("events", "--limit", 0).out == before


@test
def overview_through_a_server_names_the_server_and_is_the_same_otherwise():
    with both() as b:
        b.fill()
        here, there = b.on_database("top", "--once").out, b.through("top", "--once").out
        assert b.url in there and b.url not in here
        assert here.splitlines()[1:] == there.splitlines()[1:]
        b.same("top", "--json", plain=without_durations)
        b.same("top", "--json", "--filter", "none", plain=without_durations)


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
def followed_events_through_a_server_are_all_events_and_an_idle_follower_asks_for_nothing():
    with both() as b:
        b.open = b.file("open.yaml", OPEN)
        root = int(b.on_database("submit", b.open).out)
        process = subprocess.Popen([f"{BUILD}/pawl", "--server", b.url, "events", str(root), "--follow"], text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**b.db.env, "PAWL_TOKEN": b.server.token, "PAWL_TRACE": "1"})
        traced = []
        reader = threading.Thread(target=lambda: traced.extend(process.stderr))
        reader.start()
        first = [process.stdout.readline() for _ in range(b.on_database("events", root).out.count("\n"))]
        time.sleep(5)
        before = len(traced)
        time.sleep(4)
        assert len(traced) - before <= 3, f"an idle follower asks: {traced[before:]}"
        b.on_database("cancel", root)
        rest = process.stdout.read()
        assert process.wait(PATIENCE) == 0
        reader.join()
        assert "".join(first) + rest == b.on_database("events", root).out
        followed = b.through("events", root, "--follow", "--type", "cancelled")
        assert followed == b.on_database("events", root, "--follow", "--type", "cancelled")
        assert b.through("logs", root, "--follow") == b.on_database("logs", root, "--follow")


@test
def server_that_ends_while_a_command_follows_is_reported_with_exit_code_6():
    db = Database()
    server = Server(db)
    try:
        b = Both(server)
        root = int(b.on_database("submit", b.file("open.yaml", OPEN)).out)
        process = subprocess.Popen([f"{BUILD}/pawl", "--server", b.url, "events", str(root), "--follow"], text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**db.env, "PAWL_TOKEN": server.token})
        process.stdout.readline()
        server.stop(signal.SIGKILL)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 6 and "can't be reached" in err, err
        b.through("ls").refused(6, f"the server {b.url} can't be reached")
        b.through("cancel", root).refused(6, "can't be reached")
        assert json.loads(b.on_database("show", root, "--json").out)["status"] == "running"
        db.verify()
    finally:
        db.remove()


def one_answer(text):
    """A server that reads one request on each connection and answers with this text. Not a server of Pawl: a broken one."""
    import socket
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(text)

    threading.Thread(target=serve, daemon=True).start()
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


@test
def answer_that_is_cut_off_or_not_of_pawl_is_an_error():
    db = Database()
    try:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        cases = [
            (b"", 6, "ls", "can't be reached"),
            (b"", 6, "cancel 1", "the change may or may not have been made"),
            (head + b"Content-Length: 100\r\n\r\n{\"items\":[{\"id\":1}", 6, "ls", "can't be reached"),
            (head + b"Content-Length: 100\r\n\r\n{", 6, "cancel 1", "the change may or may not have been made"),
            (head + b"Content-Length: 18\r\n\r\n{\"items\":[{\"id\":1}", 6, "ls", "does not answer like a server of Pawl"),
            (head + b"Content-Length: 11\r\n\r\n{\"items\":[\"", 6, "ls", "does not answer like a server of Pawl"),
            (head + b"Content-Length: 2\r\n\r\n[]", 6, "show 1", "does not answer like a server of Pawl"),
            (head + b"Content-Length: 0\r\n\r\n", 6, "ls", "does not answer like a server of Pawl"),
            (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nno!", 6, "ls", "can't be used now: status 502"),
            (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 6, "ls", "does not answer like a server of Pawl"),
            (b"nonsense\r\n\r\n", 6, "ls", "can't be reached"),
        ]
        for text, code, words, sentence in cases:
            listener, url = one_answer(text)
            with listener:
                run(db, "--server", url, *words.split()).refused(code, sentence)
    finally:
        db.remove()


@test
def token_that_is_missing_wrong_or_too_weak_is_reported():
    with both() as b:
        b.open = b.file("open.yaml", OPEN)
        root = int(b.on_database("submit", b.open).out)
        read = b.db.token("reader", "read")
        run(b.db, "--server", b.url, "ls").refused(6, f"the server {b.url} requires a token: set PAWL_TOKEN, or give --token-file")
        b.through("ls", token="pawl__" + "x" * 49).refused(6, "the token is not valid")
        b.through("ls", token=read[:-1] + ("a" if read[-1] != "a" else "b")).refused(6, "the token is not valid")
        b.through("ls", token="two words").refused(2, "is not a token")
        assert b.through("ls", token=read).code == 0
        b.through("cancel", root, token=read).refused(6, "the token lacks the scope operate")
        b.through("submit", b.open, token=read).refused(6, "the token lacks the scope submit")
        b.through("apply", b.open, token=read).refused(6, "the token lacks the scope admin")
        b.through("admin", "token", "list", token=read).refused(6, "the token lacks the scope admin")
        submit = b.db.token("submitter", "submit")
        b.through("submit", b.open, token=submit).refused(6, "needs the scope admin")
        b.through("exec", "--detach", "--", "true", token=submit).refused(6, "needs the scope admin")
        operate = b.db.token("operator", "read,operate")
        b.through("rerun", root, "--file", b.open, token=operate).refused(6, "needs the scope admin")
        path = b.file("token", read + "\nmore\n")
        done = run(b.db, "--server", b.url, "--token-file", path, "show", root)
        assert done == b.on_database("show", root) or done.code == 0
        run(b.db, "--server", b.url, "--token-file", path + "x", "ls").refused(2, "can't be read")
        run(b.db, "--server", b.url, "--token-file", b.file("empty", "\n"), "ls").refused(2, "is empty")
        run(b.db, "ls", "--token-file", path).refused(2, "--token-file belongs to --server")
        b.db.pawl("admin", "token", "revoke", "reader")
        b.through("ls", token=read).refused(6, "the token is not valid")
        done = b.through("cancel", root, token=operate)
        assert done.code == 0
        assert '"by":"token operator"' in b.on_database("events", root, "--type", "cancel_requested", "--json").out


@test
def command_that_needs_the_database_is_refused_with_one_sentence():
    with both() as b:
        words = "works with the database itself, not through a server"
        for command in (["worker"], ["serve"], ["run", "x.yaml"], ["verify"], ["bench"]):
            b.through(*command).refused(2, f"pawl {command[0]} {words}")
            run(b.db, *command, env={"PAWL_SERVER": b.url}).refused(2, f"pawl {command[0]} {words}")
            assert "--server" not in b.on_database("help", command[0]).out
        for command in (["migrate"], ["tenant", "list"], ["tenant", "create", "x"], ["cleanup-events", "--older-than", "1d"], ["fence", "--yes"]):
            b.through("admin", *command).refused(2, f"pawl admin {command[0]} {words}")
        b.through("exec", "--", "true").refused(2, f"pawl exec without --detach {words}")
        flow = b.file("flow.yaml", FLOW)
        root = json.loads(b.on_database("run", flow, "--json").out)["id"]
        b.through("rerun", root).refused(2, f"execution {root} ran in the foreground")
        b.through("ls", "--tenant", "other").refused(2, "a server's token decides the tenant")
        run(b.db, "--server", b.url, "--db", b.db.url, "ls").refused(2, "--server and --db exclude each other")
        assert b.on_database("ls", env={"PAWL_SERVER": "http://127.0.0.1:1"}).code == 0
        named = run(b.db, "ls", env={"PAWL_SERVER": b.url, "PAWL_TOKEN": b.server.token, "PAWL_DB": "sqlite:/none/x.db"})
        assert named == b.on_database("ls")
        assert "--server" in b.on_database("help", "ls").out


@test
def url_of_a_server_that_is_malformed_is_refused_and_never_shown_with_a_secret():
    db = Database()
    try:
        for url, words in (("http://", "has no host"), ("http:///x", "has no host"), ("unix:", "names no socket"),
                           ("http://user:secret@host", "without a user"), ("http://127.0.0.1:1/#token=secret", "without a user")):
            assert "secret" not in run(db, "--server", url, "ls").refused(2, words).err
        run(db, "--server", "unix:/none/socket", "ls").refused(6, "the server unix:/none/socket can't be reached")
        run(db, "--server", "http://127.0.0.1:1", "ls").refused(6, "can't be reached")
        for url in ("ftp://host", db.url, "host:80"):
            run(db, "--server", url, "ls").refused(2, "is not the URL of a server: write http://HOST:PORT, https://HOST or unix:PATH")
    finally:
        db.remove()


@test
def unix_socket_needs_no_token_and_a_path_before_the_interface_is_kept():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a b.sock")
        with serving(listen=f"unix:{path}") as server:
            b = Both(server)
            root = int(b.on_database("submit", b.file("open.yaml", OPEN)).out)
            for url in (f"unix:{path}", f"http+unix://{path}"):
                assert run(server.db, "--server", url, "tree", root).out.count("\n") == b.on_database("tree", root).out.count("\n")
            assert run(server.db, "--server", f"unix:{path}", "cancel", root).out == f"execution {root}: cancelled\n"


@test
def completion_offers_what_the_server_has():
    with both() as b:
        b.fill()
        env = {"PAWL_TOKEN": b.server.token}
        for line in (["show", ""], ["logs", ""], ["workflow", "show", ""], ["schedule", "pause", ""], ["queue", "pause", ""], ["rerun", str(b.failed), "--from", ""]):
            here = run(b.db, "complete", "--", "--db", b.db.url, "--tenant", b.db.tenant, *line)
            there = run(b.db, "complete", "--", "--server", b.url, *line, env=env)
            assert here == there and here.out, f"{line}\n{here}\n{there}"


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


# ---- the library, for what the command line does not use ----


class Options(ctypes.Structure):
    """struct pawl_options of pawl.h."""
    _fields_ = [(name, ctypes.c_char_p) for name in ("url", "tenant", "token", "config")] + [
        ("must_exist", ctypes.c_bool), ("patience", ctypes.c_int64), ("trace", ctypes.c_void_p), ("note", ctypes.c_void_p),
        ("arg", ctypes.c_void_p), ("one_connection", ctypes.c_bool), ("give_up", ctypes.c_void_p)]


class Query(ctypes.Structure):
    """struct pawl_event_query of pawl.h."""
    _fields_ = [("execution", ctypes.c_int64), ("self", ctypes.c_bool), ("types", ctypes.c_char_p), ("since", ctypes.c_int64),
                ("until", ctypes.c_int64), ("limit", ctypes.c_int64), ("last", ctypes.c_int64), ("last_time", ctypes.c_int64),
                ("position", ctypes.c_char_p)]


LINE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)


class Handle:
    """A handle of the library."""

    def __init__(self, **options):
        self.lib = ctypes.CDLL(f"{BUILD}/libpawl.so.0")
        self.p = ctypes.c_void_p()
        given = Options(**{k: v.encode() for k, v in options.items()})
        assert self.lib.pawl_open(ctypes.byref(given), ctypes.byref(self.p), None) == 0
        self.lib.pawl_follower_position.restype = ctypes.c_char_p

    def lines(self, function, *args):
        out = []
        each = LINE(lambda arg, json: out.append(json) or 0)
        assert getattr(self.lib, function)(self.p, *args, each, None, None) == 0, function
        return out

    def text(self, function, *args):
        out = ctypes.c_char_p()
        assert getattr(self.lib, function)(self.p, *args, ctypes.byref(out), None) == 0, function
        return out.value

    def follow(self, execution, position=None):
        f = ctypes.c_void_p()
        q = Query(execution=execution, position=position)
        assert self.lib.pawl_follow(self.p, ctypes.byref(q), ctypes.byref(f), None) == 0
        return f

    def next(self, f):
        out, n = [], ctypes.c_size_t()
        each = LINE(lambda arg, json: out.append(json) or 0)
        assert self.lib.pawl_follower_next(f, each, None, ctypes.byref(n), None) == 0
        assert n.value == len(out)
        return out

    def close(self):
        self.lib.pawl_close(self.p)


@test
def library_reads_through_a_server_what_it_reads_from_the_database():
    with both() as b:
        b.fill()
        id_ = ctypes.c_int64
        here = Handle(url=b.db.url, tenant=b.db.tenant)
        there = Handle(url=b.url, token=b.server.token)
        for function in ("pawl_children", "pawl_tree_lines", "pawl_tasks"):
            lines = here.lines(function, id_(b.failed))
            assert len(lines) >= 4 and lines == there.lines(function, id_(b.failed)), function
        for function in ("pawl_wait",):
            assert there.text(function, id_(b.failed), ctypes.c_int(-1)) == b"failed"
            start = time.monotonic()
            assert there.text(function, id_(b.waiting), ctypes.c_int(1500)) == b"running"
            assert time.monotonic() - start >= 1.4
        # A follower of either continues where one of the other ended.
        f = there.follow(b.waiting)
        first = there.next(f)
        assert first == here.next(here.follow(b.waiting)) and first
        position = there.lib.pawl_follower_position(f)
        listener = ctypes.c_void_p()
        assert there.lib.pawl_listen(there.p, 4 + 64, ctypes.byref(listener), None) == 0
        while there.lib.pawl_listener_wait(listener, 100):
            pass  # the stream has begun
        b.on_database("cancel", b.waiting)
        end = time.monotonic() + PATIENCE
        while not there.lib.pawl_listener_wait(listener, 1000):
            assert time.monotonic() < end
        rest = []
        while len(rest) < 5:
            rest += there.next(f)
        g = here.follow(b.waiting, position)
        again = []
        while len(again) < 5:
            again += here.next(g)
        assert again == rest and not set(rest) & set(first)
        there.lib.pawl_listener_close(listener)
        for handle, follower in ((there, f), (here, g)):
            handle.lib.pawl_follower_close(follower)
        assert there.text("pawl_wait", id_(b.waiting), ctypes.c_int(-1)) == b"cancelled"
        here.close()
        there.close()


@test
def request_is_traced_without_the_token():
    with both() as b:
        done = b.through("ls")
        traced = run(b.db, "--server", b.url, "ls", env={"PAWL_TOKEN": b.server.token, "PAWL_TRACE": "1"})
        assert done.code == traced.code == 0 and "GET /v1/executions?limit=20" in traced.err and b.server.token not in traced.err


main()
