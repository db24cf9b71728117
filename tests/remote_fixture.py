"""remote_fixture.py - the command line, and a database that it can use directly or through a server."""

import contextlib
import json
import os
import re
import subprocess

from server_fixture import BUILD, PATIENCE, serving

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
