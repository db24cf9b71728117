"""What systemd expects of the server: a socket that is passed on, a message when it is ready, and a stop in time."""

import http.client
import os
import signal
import socket
import subprocess

from harness import main, test
from server_fixture import BUILD, PATIENCE, Database


class Supervised:
    """`pawl serve`, started as systemd would: with a socket as descriptor 3, and an address for messages."""

    def __init__(self, db, listener, notify, *options):
        shell = 'LISTEN_PID=$$ exec "$@" 3<&"$PASSED"'
        command = [f"{BUILD}/pawl", "serve", "--db", db.url, "--tenant", db.tenant, *options]
        env = dict(db.env, LISTEN_FDS="1", NOTIFY_SOCKET=notify.getsockname(), PASSED=str(listener.fileno()))
        self.notify = notify
        self.process = subprocess.Popen(["sh", "-c", shell, "sh", *command], env=env, pass_fds=[listener.fileno()], stderr=subprocess.PIPE, text=True)

    def message(self):
        return self.notify.recv(100).decode()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.message() == "STOPPING=1"
        said = self.process.stderr.read()
        self.process.stderr.close()
        assert self.process.wait(PATIENCE) == 0, said
        return said


def make_notify(db):
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.settimeout(PATIENCE)
    notify.bind(f"{db.dir}/notify")
    return notify


def status(family, address):
    connection = http.client.HTTPConnection("localhost", timeout=PATIENCE)
    connection.sock = socket.socket(family)
    connection.sock.settimeout(PATIENCE)
    connection.sock.connect(address)
    connection.request("GET", "/v1/identity")
    try:
        return connection.getresponse().status
    finally:
        connection.close()


@test
def socket_of_systemd_is_served_and_outlives_a_restart():
    db = Database()
    try:
        notify, listener = make_notify(db), socket.create_server(("127.0.0.1", 0))
        first = Supervised(db, listener, notify)
        assert first.message() == "READY=1"
        assert status(socket.AF_INET, listener.getsockname()) == 401
        assert "#token=" in first.stop()
        waiting = socket.create_connection(listener.getsockname(), timeout=PATIENCE)  # while no server runs
        waiting.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        second = Supervised(db, listener, notify)
        assert second.message() == "READY=1"
        assert waiting.recv(15) == b"HTTP/1.1 200 OK"
        waiting.close()
        second.stop()
        listener.close()
        notify.close()
        db.verify()
    finally:
        db.remove()


@test
def unix_socket_of_systemd_admits_the_user_of_the_server_and_is_not_removed():
    db = Database()
    try:
        notify, path = make_notify(db), f"{db.dir}/pawl.sock"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        server = Supervised(db, listener, notify)
        assert server.message() == "READY=1"
        assert status(socket.AF_UNIX, path) == 200
        server.stop()
        assert os.path.exists(path)
        listener.close()
        notify.close()
    finally:
        db.remove()


main()
