"""The pages without a mouse: rows, actions and their dialogs, the grid of a workflow, the lines of a log. TEST_LONG"""

from harness import main, test
from web_fixture import OK, SLEEPER, TWO, Keys, browsing

FOCUS = "return document.activeElement.textContent + '|' + (document.activeElement.getAttribute('aria-label') ?? '')"


def focus(page):
    return page.js(FOCUS)


def answered(page):
    page.until(lambda: not page.all("dialog[open]"), "no dialog")


def apply(page, text):
    name = text.split("\n")[0].removeprefix("name: ")
    page.server.ask("PUT", f"/v1/workflows/{name}", text.encode(), headers={"Content-Type": "application/yaml"}).expect(200)


@test
def run_is_submitted_opened_cancelled_and_rerun_by_keys_alone():
    with browsing("--worker", "2") as page:
        s = page.server
        apply(page, SLEEPER)
        page.open("/").sees("Nothing has run yet")
        page.keys("n")
        page.one("dialog select[name=workflow]")
        page.keys(Keys.TAB)  # from the kind of workflow to its name
        page.until(lambda: page.js("return document.activeElement.name") == "workflow", "the focus on the list")
        page.keys("s")
        page.sees("It has no params", "dialog")
        page.keys(Keys.TAB, Keys.TAB, Keys.TAB)
        assert focus(page) == "Run|", focus(page)
        page.keys(Keys.ENTER)
        page.one(".run-title", "sleeper")
        run = int(page.driver.current_url.rsplit("/", 1)[1].split("?")[0])

        # on the page of the run: pause, resume, cancel, rerun
        page.until(lambda: page.statuses() == ["running", "running", "pending"], "a running task")
        page.keys("p")
        page.one("dialog h1", "Pause sleeper?")
        page.keys("tea", Keys.ENTER)
        answered(page)
        page.one(".run-title .chip", "paused")
        assert page.events(run, "paused")[0]["data"]["reason"] == "tea"
        page.keys("p", Keys.ENTER)
        answered(page)
        page.one(".run-title .chip", "running")
        page.keys("c")
        page.one("dialog h1", "Cancel sleeper?")
        page.keys(Keys.ESCAPE)
        answered(page)
        page.keys("c", Keys.ENTER)
        answered(page)
        page.one(".run-title .chip", "cancelled")
        page.keys("r")
        page.sees("would run again, in place", "dialog")
        page.keys(Keys.ENTER)
        answered(page)
        page.one(".run-title .chip", "running")
        assert len(page.events(run, "rerun")) > 0

        # in the list: the row stays where the user is, though the action replaces it
        other = s.submit(yaml=SLEEPER)
        page.keys("u")
        page.until(lambda: len(page.all(".runs tbody tr")) == 2, "both runs")
        page.keys("j", "j")
        assert f"#{run}" in focus(page)
        page.keys("c")
        page.one("dialog h1", "Cancel sleeper?")
        page.keys(Keys.ENTER)
        answered(page)
        page.until(lambda: page.text(".runs tbody tr:last-child .status") == "cancelled", "the end of the older run")
        page.keys("r")
        page.sees("would run again, in place", "dialog")
        page.keys(Keys.ENTER)
        page.one(".run-title .chip", "running")
        page.sees(f"#{run}", ".run-title")
        assert s.get(f"/v1/executions/{other}").json["status"] == "running"
        for id in (run, other):
            s.post(f"/v1/executions/{id}/cancel").expect(200)
            s.wait(id)


@test
def cells_of_the_grid_are_reached_with_arrow_keys():
    with browsing("--worker", "2") as page:
        apply(page, TWO)
        runs = [page.server.submit(workflow="two") for _ in range(2)]
        for run in runs:
            page.server.wait(run)
        page.open("/workflows/two")
        page.until(lambda: len(page.all(".grid .cell")) == 4, "the grid")
        stops = "return [...document.querySelectorAll('.grid [tabindex=\"0\"]')].length"
        assert page.js(stops) == 1
        page.js("document.querySelector('.views button:last-child').focus()")
        page.keys(Keys.TAB)
        assert f"Run {runs[1]}: failed" in focus(page), focus(page)
        for key, expected in ((Keys.ARROW_DOWN, f"a: succeeded in run {runs[1]}"), (Keys.ARROW_DOWN, f"b: failed in run {runs[1]}"), (Keys.ARROW_DOWN, f"b: failed in run {runs[1]}"),
                              (Keys.ARROW_LEFT, f"b: failed in run {runs[0]}"), (Keys.ARROW_UP, f"a: succeeded in run {runs[0]}"), (Keys.END, f"a: succeeded in run {runs[1]}"), (Keys.HOME, f"a: succeeded in run {runs[0]}")):
            page.keys(key)
            assert expected in focus(page), (expected, focus(page))
        assert page.js(stops) == 1
        third = page.server.submit(workflow="two")
        page.server.wait(third)
        page.until(lambda: page.all(f".grid [aria-label='b: failed in run {third}']"), "the next run")
        assert f"a: succeeded in run {runs[0]}" in focus(page)  # though the grid was drawn again
        assert page.js(stops) == 1
        page.keys(Keys.ENTER)
        page.one(".run-title", f"#{runs[0]}")
        page.one(".trow.selected", "a")


@test
def lines_of_a_log_are_reached_with_arrow_keys():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml="name: talk\ntasks: {a: {run: seq 1 300}}\n")
        page.server.wait(run)
        page.open(f"/runs/{run}").sees("300", ".lines")
        page.js("document.querySelector('.lines').focus()")
        page.keys(Keys.TAB)
        assert "Link to line" in focus(page), focus(page)
        page.keys(Keys.HOME)
        assert focus(page) == "1|Link to line 1"
        page.keys(Keys.ARROW_DOWN, Keys.PAGE_DOWN, Keys.ARROW_UP)
        assert focus(page) == "21|Link to line 21"
        page.keys(Keys.ENTER)
        page.one(".line.target", "21")
        page.until(lambda: focus(page) == "21|Link to line 21", "the focus on the line")
        assert f"byte={sum(len(str(n)) + 1 for n in range(1, 21))}" in page.driver.current_url
        page.keys(Keys.END)
        assert focus(page) == "300|Link to line 300"
        assert page.js("return document.querySelectorAll('.lines [tabindex=\"0\"]').length") == 1


@test
def rows_of_events_and_workers_are_reached_with_j_and_k():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml=OK)
        page.server.wait(run)
        page.open("/events").one(".events tr", "workflow.completed")
        page.keys("j")
        newest = page.js("return document.activeElement.dataset.key")
        page.keys("j", "k")
        assert page.js("return [document.activeElement.tagName, document.activeElement.dataset.key]") == ["A", newest]
        page.keys(Keys.ENTER)
        page.one(".run-title", "fine")
        sleeper = page.server.submit(yaml=SLEEPER)
        page.open("/workers", token=None).one(".jobs tr", "sleeper::a")
        page.keys("j")
        assert page.js("return document.activeElement.closest('table').className").endswith("workers")
        page.keys("j")
        assert "sleeper::a" in focus(page), focus(page)
        page.keys("k")
        assert page.js("return document.activeElement.closest('table').className").endswith("workers")
        page.server.post(f"/v1/executions/{sleeper}/cancel").expect(200)
        page.server.wait(sleeper)


@test
def items_of_a_fan_out_are_loaded_by_a_key():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml="name: fan\ntasks: {each: {foreach: \"${{ range(210) }}\", function: f}}\n")
        rows = lambda: int(page.js("return getComputedStyle(document.querySelector('.outline')).getPropertyValue('--rows') || '0'"))
        made = lambda: len(page.server.get("/v1/executions?all=true&kind=task&limit=1000").json["items"])
        page.until(lambda: made() == 210, "all items")
        page.open(f"/runs/{run}").one(".trow", "each")
        page.until(lambda: rows() == 2, "a closed fan-out")
        page.keys("k", "j", "m")
        page.until(lambda: rows() == 203, "the first page of items, and a row for more")
        page.keys("m")
        page.until(lambda: rows() == 212, "all items")


main()
