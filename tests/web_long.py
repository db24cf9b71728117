"""The pages with a fan-out of 100,000 items, 1,000,000 executions and 100 MB of output, in Chromium. Run by `make test-web`; prints how
long each page took."""

import tempfile
import time

from harness import main, test
from web_fixture import Keys, browsing

ITEMS = 100_000
EXECUTIONS = 1_000_000
LIST = 1000  # executions of one request
LINE = "this is line %d of a rather long output that somebody wants to read\\n"
LINES = 1_500_000  # 100 MB


def keeping_output(config):
    """A server whose worker keeps all output."""
    config.write("executors: {process: {log: {head: 500MB, tail: 500MB}}}\n")
    config.flush()
    return browsing("--worker", "1", "--config", config.name)


def timed(page, what, path, condition):
    """Opens a page; prints the time until it shows what it should."""
    start = time.monotonic()
    page.open(path, token=None)
    page.until(condition, what)
    painted = page.js("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
    print(f"    {what}: {time.monotonic() - start:.2f} s with the driver; first paint after {painted:.0f} ms")


@test
def fan_out_of_a_hundred_thousand_items_is_shown_and_cancelled():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml=f"name: wide\ntasks: {{each: {{foreach: {ITEMS}, function: nobody, queue: wide}}}}\n")
        page.open("/").sees("wide")
        shown = lambda: f"0 of {ITEMS:,}" in page.text(".outline")
        page.open(f"/runs/{run}", token=None).one(".trow", "each")
        page.until(shown, "all items")
        timed(page, "run with 100,000 items", f"/runs/{run}", shown)
        page.js("document.querySelector('.outline-scroll').scrollTop = 0")
        page.click(".trow button.fold[aria-label=Unfold]")
        page.sees("each[", ".outline")  # items are created as far as they may start
        page.js("document.querySelector('.outline-scroll').scrollTop = 1e6")
        page.click(".outline button", "more items")
        assert len(page.all(".trow")) < 100
        timed(page, "its graph", f"/runs/{run}?view=graph", lambda: page.all(".graph .node"))
        timed(page, "its events", f"/runs/{run}?task={run}&tab=events", lambda: page.all(".panel .events tbody tr"))
        page.click(".head button", "History")
        page.one(".history input").send_keys(Keys.HOME)
        page.one(".run-title .chip", "pending")
        page.click("button", "Back to now")
        page.click(".head button", "Cancel")
        page.confirm("Cancel it")
        page.one(".run-title .chip", "cancelled")
        page.lacks("worker", ".outline")


@test
def million_executions_are_listed_filtered_and_paged():
    with browsing("--worker", "1") as page:
        s, start = page.server, time.monotonic()
        s.post("/v1/executions", [{"function": "f", "name": "exec::first"}]).expect(201)
        for n in range(EXECUTIONS // LIST):
            s.post("/v1/executions", [{"function": "f", "name": f"exec::job{i}", "queue": "mail" if i % 100 == 0 else "default"} for i in range(n * LIST, (n + 1) * LIST)]).expect(201)
        print(f"    {EXECUTIONS:,} executions submitted in {time.monotonic() - start:.0f} s")
        page.open("/").sees(f"exec::job{EXECUTIONS - 1}")
        rows = lambda: len(page.all(".runs tbody tr"))
        for what, path in (("list", "/"), ("one queue", "/?queue=mail"), ("names", "/?name=*job99999*"), ("failed", "/?status=failed&since=1h"), ("ready", "/?status=ready")):
            timed(page, what, path, lambda: rows() or "No run matches" in page.text())
        timed(page, "queues", "/queues", lambda: "mail" in page.text())
        timed(page, "events", "/events", lambda: page.all(".events tbody tr"))
        page.open("/", token=None).click("button", "Show more")
        page.until(lambda: rows() == 100, "the second page")
        s.submit(function="f", name="exec::fresh")
        page.one(".runs tr", "exec::fresh")
        page.open("/?queue=mail&status=ready", token=None).click(".tools button", "All matching")
        page.sees("10,000 runs would be changed", "dialog")
        page.confirm("Cancel 10,000 runs")
        page.sees("No run matches")


@test
def log_of_a_hundred_megabytes_is_read_from_its_end_and_searched():
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config, keeping_output(config) as page:
        program = f'BEGIN {{ for (i = 1; i <= {LINES}; i++) printf "{LINE}", i }}'
        run = page.server.submit(command={"argv": ["awk", program]})
        page.server.wait(run)
        page.open("/").one(".runs tr", "command")
        timed(page, "the end of the log", f"/runs/{run}", lambda: f"line {LINES} of" in page.text(".lines"))
        size = page.js("return document.querySelectorAll('.line').length")
        assert size <= 5000, size
        start = time.monotonic()
        page.fill(".log-search input", f"line {LINES - 7} of\n")
        page.sees(f"line {LINES - 7} of", ".line.target")
        print(f"    search of the whole log: {time.monotonic() - start:.2f} s")
        page.js("document.querySelector('.log-scroll').scrollTop = 0")
        page.click("button", "Show earlier output")
        page.until(lambda: len(page.all(".line")) > 0, "earlier lines")


main()
