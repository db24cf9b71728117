"""proxy.py - a proxy before PostgreSQL that loses commits, in three ways: it forwards COMMIT and swallows the reply; it swallows
COMMIT itself; it forwards COMMIT and disconnects at once. The client sees the same each time: a closed connection.

  proxy.py PORT SERVER-PORT ONE-IN SEED COUNTS

Each COMMIT is lost with the probability 1/ONE-IN. COUNTS is a file with the number of lost commits of each kind."""
import json
import random
import selectors
import socket
import sys

COMMIT = b'COMMIT\0'  # with its terminating NUL, so that READ COMMITTED does not match
KINDS = ['swallow COMMIT reply', 'swallow COMMIT', 'cut after COMMIT']


class Pair:
    """A client and its connection to the server. Sockets block: the amount that one side has not read yet is small."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.swallow_reply = False


class Proxy:
    def __init__(self, port, server_port, one_in, seed, counts):
        self.server_port, self.one_in, self.counts_path = server_port, one_in, counts
        self.rng = random.Random(seed)
        self.counts = dict.fromkeys(KINDS, 0)
        self.selector = selectors.DefaultSelector()
        self.listener = socket.create_server(('127.0.0.1', port), backlog=100)
        self.selector.register(self.listener, selectors.EVENT_READ)

    def serve(self):
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    self.accept()
                elif key.fileobj.fileno() >= 0:  # not closed by an earlier event of this turn
                    self.forward(key.data, key.fileobj)

    def accept(self):
        client, _ = self.listener.accept()
        try:
            server = socket.create_connection(('127.0.0.1', self.server_port))
        except OSError:
            client.close()
            return
        pair = Pair(client, server)
        for side in (client, server):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(side, selectors.EVENT_READ, pair)

    def forward(self, pair, side):
        try:
            data = side.recv(65536)
            if not data:
                self.close(pair)
            elif side is pair.server:
                self.to_client(pair, data)
            else:
                self.to_server(pair, data)
        except OSError:
            self.close(pair)

    def to_client(self, pair, data):
        if pair.swallow_reply:
            self.close(pair)
        else:
            pair.client.sendall(data)

    def to_server(self, pair, data):
        if COMMIT not in data or self.rng.randrange(self.one_in):
            pair.server.sendall(data)
            return
        kind = self.rng.choice(KINDS)
        self.counts[kind] += 1
        with open(self.counts_path, 'w') as f:
            json.dump(self.counts, f)
        if kind != 'swallow COMMIT':
            pair.server.sendall(data)
        if kind == 'swallow COMMIT reply':
            pair.swallow_reply = True
        else:
            self.close(pair)

    def close(self, pair):
        for side in (pair.client, pair.server):
            self.selector.unregister(side)
            side.close()


if __name__ == '__main__':
    Proxy(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5]).serve()
