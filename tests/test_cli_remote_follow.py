"""Following events through a server, and what the library reads through one but the command line does not use."""
# TEST_LONG

import ctypes
import subprocess
import threading
import time

from harness import main, test
from remote_fixture import OPEN, both
from server_fixture import BUILD, PATIENCE


@test
def follow_through_a_server_prints_all_events_and_asks_for_nothing_while_idle():
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
def wait_and_watch_through_a_server_end_with_the_execution_and_print_what_they_print_on_the_database():
    with both() as b:
        b.fill()
        commands = (("wait", b.failed, b.waiting), ("watch", b.waiting), ("wait", b.waiting, "--json"))
        running = [subprocess.Popen([f"{BUILD}/pawl", "--server", b.url, *map(str, words)], text=True, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, env={**b.db.env, "PAWL_TOKEN": b.server.token}) for words in commands]
        first = running[0].stdout.readline()
        assert first.startswith(f"execution {b.failed}: failed")
        assert "started" in running[1].stdout.readline()
        b.on_database("cancel", b.waiting)
        for words, process in zip(commands, running):
            out, err = process.communicate(timeout=PATIENCE)
            here = b.on_database(*words)
            assert here.out.endswith(out) and out and (err, process.returncode) == (here.err, here.code), f"{words}: {out}{err}"
        submitted = b.through("submit", b.file("good.yaml", "name: good\ntasks: {a: {approval: {message: sure?}, run: 'true'}}"), "--wait",
                              "--timeout", "100ms")
        assert submitted.code == 8 and "has not ended" in submitted.err and submitted.out.strip().isdigit(), submitted


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


class Error(ctypes.Structure):
    """struct pawl_error of pawl.h."""
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 1024), ("missing", ctypes.c_int), ("name", ctypes.c_char * 104)]


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

    def error(self, function, *args):
        err = Error()
        assert getattr(self.lib, function)(self.p, *args, ctypes.byref(err)) < 0, function
        return err.code, err.message, err.missing, err.name

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
        for function, *args in (("pawl_pause", id_(b.failed), None, None), ("pawl_show", id_(12345), None), ("pawl_queue_resume", b"x", None, None),
                                ("pawl_queue_pause", b"", None, None), ("pawl_schedule_resume", b"timed", None, None)):
            error = here.error(function, *args)
            assert error == there.error(function, *args) and error[2] in (0, 1, 4), error
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


main()
