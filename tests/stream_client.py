"""stream_client.py - a client of the server's streams, and waiting, for tests."""

import json
import threading
import time

from server_fixture import PATIENCE


class Stream:
    """A client of a stream. It skips comments."""

    def __init__(self, server, topics="events", last=None):
        headers = {"Authorization": f"Bearer {server.token}"}
        if last is not None:
            headers["Last-Event-ID"] = str(last)
        self.connection = server.connection()
        self.connection.request("GET", f"/v1/stream?topics={topics}", headers=headers)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()
        self.id = last

    def message(self):
        """Waits for a message; returns its type and data. None if the stream has ended."""
        kind, data = None, None
        while line := self.answer.readline().decode():
            if line == "\n" and kind:
                return kind, data
            name, _, text = line.rstrip("\n").partition(": ")
            if name == "event":
                kind = text
            elif name == "id":
                self.id = int(text)
            elif name == "data":
                data = json.loads(text)
        return None

    def skip_resync(self):
        assert self.message() == ("resync", {})
        return self

    def numbers(self, n):
        """Reads at least n events; returns their numbers in the order of their arrival."""
        numbers = []
        while len(numbers) < n:
            kind, data = self.message()
            assert kind == "events" and not data["more"], (kind, data)
            numbers += [e["sequence_num"] for e in data["events"]]
        return numbers

    def close(self):
        self.connection.close()
        self.answer.close()


def live(server, topics="events"):
    """Returns a stream that shows all events from now on; the server has begun to follow the history."""
    return Stream(server, topics, last=0).skip_resync()


def read_in_background(function):
    """Runs the function on a thread; returns the thread and the list that gets the result."""
    got = []
    thread = threading.Thread(target=lambda: got.append(function()))
    thread.start()
    return thread, got


def until(condition):
    """Waits until the condition holds, and fails if it never does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.05)
