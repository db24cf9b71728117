"""kill -9 of the server inside every kind of request that changes the database. A ledger knows which requests were answered.
Afterwards what was answered is there, the other requests were carried out whole or not at all, and a repeat with the same key
submits nothing twice. TEST_LONG"""

import contextlib
import itertools
import os
import random
import shutil
import signal
import subprocess
import threading
import time

from harness import Skip, main, test
from ledger_fixture import LOST, Client, Ledger, count_executions, repeat_submission
from server_fixture import PATIENCE, Database, Server
from stream_client import Stream, live, until

FULL = os.environ.get("PAWL_TEST_FULL")


def read_streams(server, wrong):
    """A browser that connects again for ever, until the server dies."""
    last = None
    try:
        while True:
            stream = Stream(server, last=last)
            for _ in range(3):
                if not stream.message():
                    return
            last = stream.id
            stream.close()
    except LOST:
        pass
    except Exception as e:
        wrong.append(e)


@contextlib.contextmanager
def database():
    db = Database()
    try:
        yield db
        db.verify()
    finally:
        db.remove()


@test
def requests_that_a_kill_interrupts_are_carried_out_whole_or_not_at_all():
    with database() as db:
        ledger, answered = Ledger(), 0
        for _ in range(40 if FULL else 8):
            s, wrong = Server(db), []
            threads = [threading.Thread(target=Client(s, ledger).run, args=(wrong,)) for _ in range(8)]
            threads += [threading.Thread(target=read_streams, args=(s, wrong)) for _ in range(2)]
            for t in threads:
                t.start()
            time.sleep(random.uniform(0.02, 0.8))
            s.stop(signal.SIGKILL)
            for t in threads:
                t.join(PATIENCE)
            assert not wrong, wrong
            answered += len(ledger.answered)
            check_on_new_server(db, ledger)
        assert answered > 50, answered


@test
def submission_that_a_stopping_server_does_not_answer_is_not_carried_out():
    with database() as db:
        for _ in range(10 if FULL else 3):
            s, ledger, wrong = Server(db), Ledger(), []
            ledger.numbers = itertools.count(random.randrange(10**9))
            before = count_executions(s)
            threads = [threading.Thread(target=submit_until_the_end, args=(Client(s, ledger), wrong)) for _ in range(8)]
            for t in threads:
                t.start()
            until(lambda: ledger.answered)
            time.sleep(random.uniform(0, 0.5))
            assert s.stop() == 0
            for t in threads:
                t.join(PATIENCE)
            assert not wrong, wrong
            after = Server(db)
            stored = sum(len(keys) for _, keys, _ in ledger.answered)
            assert count_executions(after) - before == stored
            for _, keys, answer in ledger.answered:
                ledger.check_submit(after, keys, answer)
            assert after.stop() == 0


def submit_until_the_end(client, wrong):
    """Submits jobs and lists of them until the server has stopped."""
    try:
        while True:
            request = random.choice((client.submit, client.submit_list))()
            _, keys, method, path, body = request
            answer = client.server.ask(method, path, body)
            if answer.status == 503:
                return
            client.ledger.answered.append(("submit", keys, answer.expect(201)))
    except LOST:
        pass
    except Exception as e:  # of a thread: the test raises it
        wrong.append(e)


def check_on_new_server(db, ledger):
    """Checks the ledger on a new server, whose streams work, too."""
    s = Server(db)
    stream = live(s)
    s.submit(function="f", key=(name := ledger.name()), queue=name)
    ledger.keys.add(name)
    assert stream.numbers(2)
    ledger.check(s)
    stream.close()
    assert s.stop() == 0


@test
def client_that_loses_one_of_two_servers_continues_on_the_other():
    with database() as db:
        ledger = Ledger()
        for _ in range(3):
            servers, wrong = [Server(db), Server(db)], []
            threads = [threading.Thread(target=Client(s, ledger).run, args=(wrong,)) for s in servers for _ in range(3)]
            stream = live(servers[0])
            for t in threads:
                t.start()
            assert stream.message()
            time.sleep(random.uniform(0.05, 0.5))
            servers[0].stop(signal.SIGKILL)
            with contextlib.suppress(*LOST):
                while stream.message():
                    pass
            other = Stream(servers[1], last=stream.id)
            assert other.message()[0] in ("resync", "events")
            unanswered = [subject for kind, subject in list(ledger.unanswered) if kind == "submit"]
            for keys in unanswered:
                repeat_submission(servers[1], keys)
            servers[1].stop(signal.SIGKILL)
            for t in threads:
                t.join(PATIENCE)
            assert not wrong, wrong
            stream.close()
            other.close()
            check_on_new_server(db, ledger)


SYSCALLS = "pwrite64,write,writev,sendto,sendmsg,fdatasync,fsync,ftruncate,unlink"


@contextlib.contextmanager
def killed_at(server, n):
    """The first thread of the server that enters its n-th of these system calls is killed, and with it the server."""
    command = ["strace", "-f", "-o", "/dev/null", "-p", str(server.process.pid)]
    command += ["-e", f"trace={SYSCALLS}", "-e", f"inject={SYSCALLS}:signal=SIGKILL:when={n}"]
    tracer = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        line = tracer.stderr.readline()
        if "attached" not in line:
            raise Skip(f"strace can't trace another process here: {line.strip()}")
        yield
    finally:
        tracer.kill()
        tracer.wait()
        tracer.stderr.close()


def kill_inside(db, kind, n):
    """Returns whether the server survived the request."""
    ledger = Ledger()
    ledger.numbers = itertools.count(random.randrange(10**9))
    s = Server(db)
    before = s.get("/v1/executions/counts").expect(200).json["total"]
    client = Client(s, ledger)
    request = kind(client)
    with killed_at(s, n):
        answer = client.ask(*request)
        if not answer:
            assert s.process.wait(PATIENCE) == -signal.SIGKILL, (request[0], n)
    survived = s.process.poll() is None
    s.stop(signal.SIGKILL)
    after = Server(db)
    check_one(after, ledger, before)
    assert after.stop() == 0
    return survived


def check_one(s, ledger, before):
    ledger.keys = set()
    total = lambda: s.get("/v1/executions/counts").expect(200).json["total"] - before
    stored = total()
    for kind, subject in ledger.unanswered:
        if kind == "submit":
            assert stored in (0, len(subject)), (stored, subject)
        elif kind == "actions":
            counts = s.get(f"/v1/executions/counts?queue={subject}").expect(200).json
            assert counts["cancelled"] in (0, 10), counts  # one transaction
        ledger.check_unanswered(s, kind, subject)
    for kind, subject, answer in ledger.answered:
        ledger.check_answered(s, kind, subject, answer)
    for kind, subject in ledger.unanswered:
        if kind == "submit":
            repeat_submission(s, subject)
            assert total() == stored if stored else total() == len(subject)


@test
def request_that_is_killed_at_any_system_call_is_carried_out_whole_or_not_at_all():
    if not shutil.which("strace"):
        raise Skip("strace is not installed: tools/install-deps test")
    with database() as db:
        for kind in Client.KINDS:
            n, kills = 1, 0
            while not kill_inside(db, kind, n):
                kills += 1
                n += 1 if FULL else 1 + n // 3
                assert n < 1000, kind
            assert kills, f"{kind.__name__} was never killed"


main()
