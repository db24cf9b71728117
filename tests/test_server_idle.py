"""Connections to the database that nobody uses are closed. TEST_WAITS"""

import json
import os
import threading
import time

from harness import main, test
from server_fixture import PATIENCE, serving
from stream_client import live


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.2)


def wait_and_cancel(server):
    """Waits for an execution that is cancelled meanwhile."""
    run, got = server.submit(function="f"), []
    thread = threading.Thread(target=lambda: got.append(server.get(f"/v1/executions/{run}", headers={"Prefer": "wait=200"})))
    thread.start()
    time.sleep(0.2)
    server.db.pawl("cancel", str(run))
    thread.join(PATIENCE)
    assert got[0].expect(200).json["status"] == "cancelled"


def read_message(answer):
    """The type and data of the next message of a stream."""
    kind = None
    while line := answer.readline().decode():
        if line.startswith("event: "):
            kind = line[7:].strip()
        elif line.startswith("data: "):
            return kind, json.loads(line[6:])
    raise AssertionError("the stream has ended")


@test
def server_that_nobody_uses_closes_its_connections_to_the_database_and_opens_them_again():
    with serving() as waited, serving() as streamed:
        unused = [descriptors(s) for s in (waited, streamed)]
        for s in (waited, streamed):
            wait_and_cancel(s)
        for s, n in zip((waited, streamed), unused):
            until(lambda: descriptors(s) <= n + 1)  # the thread that follows the history keeps one
        wait_and_cancel(waited)
        last = json.loads(streamed.db.pawl("events", "--limit", "1", "--json"))["sequence_num"]
        connection = streamed.connection()
        connection.request("GET", "/v1/stream", headers={"Authorization": f"Bearer {streamed.token}", "Last-Event-ID": str(last)})
        answer = connection.getresponse()
        assert read_message(answer) == ("resync", {})  # the server has forgotten the past
        run = streamed.submit(function="f")
        kind, data = read_message(answer)
        assert kind == "events" and data["events"][0]["execution"] == run, (kind, data)
        connection.close()
        answer.close()


@test
def idle_server_with_an_open_stream_reads_from_the_database_once_in_ten_seconds():
    with serving(env={"PAWL_TRACE": "1"}) as s:
        stream = live(s)
        s.submit(function="f")
        stream.numbers(2)
        reads = lambda: [line.split()[1] for line in s.rest if line.startswith("trace: query_")]
        time.sleep(15)  # the server looks more often for a while
        before = len(reads())
        time.sleep(40)
        during = reads()[before:]
        assert set(during) == {"query_horizon", "query_writers"}, during  # in one transaction
        assert len(during) <= 2 * 5, during
        stream.close()


main()
