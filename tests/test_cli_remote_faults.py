"""The command line and a server that is away, broken, or does not admit the caller; and commands that need the database."""
# TEST_LONG

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading

from harness import main, test
from remote_fixture import FLOW, OPEN, Both, both, run
from server_fixture import BUILD, PATIENCE, Database, Server, serving


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
    """A broken server: it reads one request on each connection and answers with this text."""
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
def answer_that_is_cut_off_or_not_from_a_pawl_server_is_an_error():
    db = Database()
    try:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        cases = [
            (b"", 6, "ls", "can't be reached"),
            (b"", 6, "cancel 1", "the change may or may not have been made"),
            (head + b"Content-Length: 100\r\n\r\n{\"items\":[{\"id\":1}", 6, "ls", "can't be reached"),
            (head + b"Content-Length: 100\r\n\r\n{", 6, "cancel 1", "the change may or may not have been made"),
            (head + b"Content-Length: 18\r\n\r\n{\"items\":[{\"id\":1}", 6, "ls", "does not answer like a Pawl server"),
            (head + b"Content-Length: 11\r\n\r\n{\"items\":[\"", 6, "ls", "does not answer like a Pawl server"),
            (head + b"Content-Length: 2\r\n\r\n[]", 6, "show 1", "does not answer like a Pawl server"),
            (head + b"Content-Length: 0\r\n\r\n", 6, "ls", "does not answer like a Pawl server"),
            (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 3\r\n\r\nno!", 6, "ls", "can't be used now: status 502"),
            (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 6, "ls", "does not answer like a Pawl server"),
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
        for command in (["worker"], ["serve"], ["run", "x.yaml"], ["bench"]):
            b.through(*command).refused(2, f"pawl {command[0]} {words}")
            run(b.db, *command, env={"PAWL_SERVER": b.url}).refused(2, f"pawl {command[0]} {words}")
            assert "--server" not in b.on_database("help", command[0]).out
        for command in (["migrate"], ["tenant", "list"], ["tenant", "create", "x"], ["cleanup-events", "--older-than", "1d"], ["fence", "--yes"]):
            b.through("admin", *command).refused(2, f"pawl admin {command[0]} {words}")
        b.through("verify", "--host").refused(2, f"pawl verify --host {words}")
        for option in ("--save", "--since"):
            b.through("verify", option, "file").refused(2, f"a checkpoint of pawl verify {words}")
        b.through("exec", "--", "true").refused(2, f"pawl exec without --detach {words}")
        flow = b.file("flow.yaml", FLOW)
        root = json.loads(b.on_database("run", flow, "--json").out)["id"]
        b.through("rerun", root).refused(2, f"execution {root} ran in the foreground")
        b.through("ls", "--tenant", "other").refused(2, "a server takes the tenant from the access token")
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
def request_is_traced_without_the_token():
    with both() as b:
        done = b.through("ls")
        traced = run(b.db, "--server", b.url, "ls", env={"PAWL_TOKEN": b.server.token, "PAWL_TRACE": "1"})
        assert done.code == traced.code == 0 and "GET /v1/executions?limit=20" in traced.err and b.server.token not in traced.err


main()
