"""Clients that stay connected lose access when their token is revoked or expires. TEST_WAITS

The server checks their tokens every 15 s."""

import time

from harness import main, test
from server_fixture import PATIENCE, serving
from stream_client import Stream, read_in_background


class TokenStream(Stream):
    """A stream of a token's bearer, from now on."""

    def __init__(self, server, token):
        class As:
            connection = server.connection

        As.token = token
        super().__init__(As, last=0)
        self.skip_resync()


def wait_for(server, run, token):
    return read_in_background(lambda: server.get(f"/v1/executions/{run}", token=token, headers={"Prefer": "wait=200"}))


@test
def stream_and_wait_of_a_token_that_ends_are_ended_and_those_of_others_continue():
    with serving() as s:
        run = s.submit(function="f")
        revoked, expired, kept = (s.db.token("a", "read"), s.db.token("b", "read", "--expires", "30s"), s.db.token("c", "read"))
        ended = [TokenStream(s, token) for token in (revoked, revoked, expired)]
        waits = [wait_for(s, run, token) for token in (revoked, expired)]
        other, other_wait, console = TokenStream(s, kept), wait_for(s, run, kept), TokenStream(s, s.token)
        s.db.pawl("admin", "token", "revoke", "a")
        s.db.token("a", "read")  # another token with this name does not admit the bearer of the first
        start = time.monotonic()
        for stream in ended:
            assert stream.message() is None, "the stream continues"
            stream.close()
        for thread, got in waits:
            thread.join(PATIENCE)
            assert got[0].expect(401).json["type"] == "urn:pawl:problem:unauthorized", got[0].json
        assert time.monotonic() - start < 150, "it takes as long as the stream or the wait"
        for token in (revoked, expired):
            s.get("/v1/stream", token=token).expect(401)
        s.db.pawl("cancel", str(run))
        for stream in (other, console):
            kind, data = stream.message()
            assert kind == "events" and data["events"][-1]["execution"] == run, data
            stream.close()
        other_wait[0].join(PATIENCE)
        assert other_wait[1][0].expect(200).json["status"] == "cancelled"


main()
