"""Reading, submitting and operating do not hold each other up."""
# TEST_LONG

import threading
import time

from harness import main, test
from server_fixture import PATIENCE, serving

LIMIT = 1000  # executions of a large page


class Loop(threading.Thread):
    """Reads in a loop with its token; counts the requests that were answered."""

    def __init__(self, server, token, path):
        super().__init__(daemon=True)
        self.server, self.token, self.path = server, token, path
        self.answered, self.refused, self.waited, self.stopped = 0, 0, 0.0, False
        self.start()

    def run(self):
        while not self.stopped:
            start = time.monotonic()
            answer = self.server.get(self.path, token=self.token)
            self.waited = time.monotonic() - start
            if answer.status == 503:
                self.refused += 1
            else:
                answer.expect(200)
                self.answered += 1


def fill(server):
    for _ in range(2):
        server.post("/v1/executions", [{"function": "nobody", "queue": "q"}] * LIMIT).expect(201)


@test
def token_that_reads_in_a_loop_waits_while_other_tokens_and_submissions_do_not():
    with serving() as s:
        fill(s)
        greedy, modest = s.db.token("greedy", "read"), s.db.token("modest", "read")
        path = f"/v1/executions?limit={LIMIT}"
        loops = [Loop(s, greedy, path) for _ in range(16)]
        end = time.monotonic() + PATIENCE
        while not any(loop.waited > 1 or loop.refused for loop in loops):  # its budget is exhausted
            assert time.monotonic() < end, "the loops are never slowed"
            time.sleep(0.1)
        # Without budgets the requests of the others would wait behind those of the 16 loops.
        for _ in range(3):
            before = sum(loop.answered + loop.refused for loop in loops)
            s.get(path, token=modest).expect(200)
            s.submit(function="nobody", queue="q")
            after = sum(loop.answered + loop.refused for loop in loops)
            assert after - before < 16, f"{after - before} answers to the loops before one to the other"
        for loop in loops:
            loop.stopped = True
        for loop in loops:
            loop.join(PATIENCE)
            assert not loop.is_alive()


main()
