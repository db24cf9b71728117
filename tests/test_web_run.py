"""The page of one run in a real browser: live, its actions, its log, its past. TEST_LONG"""

import datetime
import json

from harness import main, test
from web_fixture import GATE, OK, REFUSED, SLEEPER, TWO, Keys, browsing, pages_with


@test
def run_page_can_pause_resume_and_cancel_the_run_and_skip_a_task():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml=SLEEPER)
        page.open(f"/runs/{run}").one(".run-title .chip", "running")
        page.click(".head button", "Pause")
        page.confirm("Pause", "lunch")
        page.one(".run-title .chip", "paused")
        page.click(".head button", "Resume")
        page.confirm("Resume")
        page.one(".run-title .chip", "running")
        page.click(".trow", "z")
        page.sees("It has not started", ".panel")
        page.click(".detail button", "Skip")
        page.confirm("Skip it", "not today")
        page.one(".detail .chip", "skipped")
        page.click(".head button", "Cancel")
        page.confirm("Cancel it")
        page.one(".run-title .chip", "cancelled")
        assert page.events(run, "paused")[0]["data"]["reason"] == "lunch"
        assert page.events(run, "skipped")[0]["data"]["reason"] == "not today"


@test
def cancelled_run_can_let_its_running_jobs_finish():
    with browsing("--worker", "1") as page:
        gate = f"{page.server.db.dir}/gate"
        run = page.server.submit(yaml=f"name: slow\ntasks: {{a: {{run: 'echo begun; until [ -e {gate} ]; do sleep 0.1; done; echo ended'}}, z: {{needs: a, run: 'true'}}}}\n")
        page.open(f"/runs/{run}").sees("begun", ".lines")
        page.click(".head button", "Cancel")
        page.click("dialog label", "let running jobs finish")
        page.confirm("Cancel it", "enough")
        page.until(lambda: page.events(run, "cancel_requested"), "the request")
        open(gate, "w").close()
        page.one(".run-title .chip", "cancelled")
        page.until(lambda: page.statuses() == ["cancelled", "succeeded", "cancelled"], "the job that finished")
        page.click(".trow", "a")
        page.sees("ended", ".lines")


@test
def run_page_can_approve_and_reject_a_waiting_task():
    with browsing("--worker", "1") as page:
        run, other = page.server.submit(yaml=GATE), page.server.submit(yaml=GATE)
        page.open(f"/runs/{run}").sees("a waits for an approval: go?", ".approval")
        page.click(".approval button", "Approve")
        page.confirm("Approve", "fine")
        page.one(".run-title .chip", "succeeded")
        page.sees("through", ".lines")
        page.open(f"/runs/{other}", token=None).click(".approval button", "Reject")
        page.confirm("Reject")
        page.one(".run-title .chip", "failed")


@test
def failed_run_can_be_rerun_in_part_or_with_other_params():
    # The dialog may open before the page knows that the run has ended, and shows the refusal until then.
    with browsing("--worker", "2", allowed=(REFUSED,)) as page:
        run = page.server.submit(yaml=TWO)
        page.server.wait(run)
        page.open(f"/runs/{run}").one(".detail h2", "b")
        page.sees("exit code 3", ".detail-head")
        page.click(".head button", "Rerun")
        page.sees("2 executions and everything below them would run again", "dialog")
        page.confirm("Run again")
        page.until(lambda: len(page.events(run, "rerun")) == 2 and page.server.wait(run), "the rerun")
        page.click(".trow", "a")
        page.click(".detail button", "Rerun from here")
        page.sees("a and what follows it", "dialog")
        page.confirm("Run again")
        page.until(lambda: len(page.events(run, "rerun")) == 5 and page.server.wait(run), "the rerun from a")
        page.one(".run-title .chip", "failed")
        page.click(".head button", "Rerun")
        page.click("dialog label", "as a new run with other params")
        page.sees("Change at least one param", "dialog")
        page.fill("dialog [name='param:who']", "nobody")
        page.sees("A new run is created", "dialog")
        page.confirm("Run again")
        page.sees(f"rerun of #{run}")
        page.one(".run-title .chip", "failed")
        page.click(".trow", "a")
        page.sees("hello nobody", ".lines")


@test
def log_view_shows_the_end_of_a_long_log_and_loads_earlier_lines_on_request():
    with browsing("--worker", "1") as page:
        gate = f"{page.server.db.dir}/gate"
        command = f"i=0; while [ $i -lt 6000 ]; do i=$((i+1)); echo line $i of a rather long output; done; until [ -e {gate} ]; do sleep 0.1; done; printf '\\033[31mred\\033[0m end\\n'"
        run = page.server.submit(yaml=f"name: long\ntasks: {{a: {{run: {json.dumps(command)}}}}}\n")
        page.open(f"/runs/{run}").sees("line 6000 of", ".lines")
        open(gate, "w").close()
        page.sees("red end", ".lines")
        assert page.one(".lines .fg-1").text == "red"
        page.sees("end of the output", ".log-foot")
        assert len(page.all(".line")) <= 5000
        page.until(lambda: page.js("const s = document.querySelector('.log-scroll'); return s.scrollHeight - s.scrollTop - s.clientHeight < 40"), "the end in view")
        for _ in range(10):
            if "line 1 of" in page.text(".lines"):
                break
            before = len(page.all(".line"))
            page.js("document.querySelector('.log-scroll').scrollTop = 0")
            page.click("button", "Show earlier output")
            page.until(lambda: len(page.all(".line")) > before, "earlier lines")
        lines = page.js("return [...document.querySelectorAll('.line .text')].map((l) => l.textContent)")
        assert lines == [f"line {i} of a rather long output" for i in range(1, 6001)] + ["red end"]
        link = page.js("return document.querySelectorAll('.line .at')[2999].href")
        page.driver.get(link)
        page.sees("line 3000 of", ".line.target")


@test
def tabs_of_a_task_show_its_outputs_events_and_attempts():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml="name: retried\ntasks: {a: {retry: {max: 1, delay: 10ms}, run: 'echo try $PAWL_ATTEMPT; echo n=$PAWL_ATTEMPT >> $PAWL_OUTPUT; test $PAWL_ATTEMPT = 2'}}\n")
        page.server.wait(run)
        page.open(f"/runs/{run}").sees("try 2", ".lines")
        page.click("[role=tab]", "Attempts")
        page.until(lambda: len(page.all(".panel tbody tr")) == 2, "two attempts")
        page.sees("exit code 1", ".panel")
        page.click(".panel tbody tr:nth-child(2) button")
        page.sees("try 1", ".lines")
        page.sees("Output of attempt 1", ".panel")
        page.click("[role=tab]", "Events")
        page.sees("task.retry_scheduled", ".panel")
        page.click("[role=tab]", "Data")
        page.sees('"n": "2"', ".panel")
        assert "tab=data" in page.driver.current_url
        assert page.unnamed_controls() == []


@test
def fan_out_of_thousands_of_items_shows_counts_and_loads_items_in_pages():
    with browsing("--worker", "4") as page:
        run = page.server.submit(yaml="name: fan\ntasks: {each: {foreach: 2500, run: 'exit $((ITEM % 1000 == 7))'}}\n")
        page.open(f"/runs/{run}").one(".trow", "each")
        page.one(".run-title .chip", "failed")
        page.sees("2,500 of 2,500", ".outline")
        page.sees("3 failed", ".outline")
        page.sees("each[1007]", ".outline")
        page.click(".outline button", "Show 200 of 2,497 other items")
        page.sees("each[2499]", ".outline")
        page.js("document.querySelector('.outline-scroll').scrollTop = 1e6")
        page.click(".outline button", "Show 200 of 2,300 more items")
        bottom = lambda: page.js("document.querySelector('.outline-scroll').scrollTop = 1e6") or page.text(".outline")
        page.until(lambda: "each[2100]" in bottom(), "the second page")
        assert len(page.all(".trow")) < 100
        page.js("document.querySelector('.outline-scroll').scrollTop = 0")
        page.click(".trow button.fold[aria-label=Fold]")
        page.lacks("each[", ".outline")


@test
def tasks_on_the_critical_path_are_marked_in_the_tree():
    with browsing("--worker", "2") as page:
        run = page.server.submit(yaml="name: paths\ntasks: {long: {run: sleep 1}, short: {run: 'true'}, last: {needs: [long, short], run: 'true'}}\n")
        page.server.wait(run)
        page.open(f"/runs/{run}")
        marked = lambda: page.js("return [...document.querySelectorAll('.trow:has(.crit) .label')].map((e) => e.textContent).sort()")
        page.until(lambda: marked() == ["last", "long"], "the critical path")


@test
def history_slider_shows_the_run_as_of_an_earlier_event():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml=TWO)
        page.server.wait(run)
        page.open(f"/runs/{run}").click("button", "History")
        page.sees("event 1", ".moment")
        page.until(lambda: "at_event=" in page.driver.current_url, "the moment in the address")
        page.one(".history input").send_keys(Keys.HOME)
        page.sees("workflow.created", ".moment")
        page.one(".run-title .chip", "pending")
        page.open(f"/runs/{run}?at_event={page.events(run, 'completed')[0]['sequence_num']}", token=None)
        page.one(".run-title .chip", "running")
        page.until(lambda: page.statuses()[1:2] == ["succeeded"], "the state of the task")
        page.click("button", "Back to now")
        page.one(".run-title .chip", "failed")
        assert "at_event" not in page.driver.current_url


@test
def history_slider_of_a_run_with_many_events_ends_with_the_run():
    with pages_with("history.js", PAGE=2, EVENTS_MAX=4) as folder, browsing("--worker", "1", "--web", folder) as page:
        ended = page.server.wait(page.server.submit(yaml=TWO))
        page.open(f"/runs/{ended['id']}").one(".run-title .chip", "failed")
        page.js("const real = Date.now; Date.now = () => real() + 7 * 86400e3")  # a week later
        address = lambda: page.js("const at = new URL(location).searchParams.get('at'); return at && Date.parse(at)")
        page.click("button", "History")
        moments = [page.until(address, "the moment in the address")]
        for step in (0, 250, 500, 750, 1000):
            page.js("const s = document.querySelector('.history input'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))", str(step))
            page.until(lambda: address() != moments[-1], f"step {step} in the address")
            moments.append(address())
            if step == 0:
                page.until(lambda: page.text(".run-title .chip") in ("pending", "running"), "the run before its end")
        page.one(".run-title .chip", "failed")
        ms = lambda name: datetime.datetime.fromisoformat(ended[name]).timestamp() * 1000
        assert moments[1:] == sorted(moments[1:]) and moments[0] == moments[-1], moments
        assert ms("requested_at") <= moments[1] and ms("finished_at") <= moments[-1] <= ms("finished_at") + 2, (moments, ended)


@test
def history_slider_is_hidden_until_its_events_are_loaded():
    click = "[...document.querySelectorAll('.head button')].find((b) => b.textContent === 'History').click()"
    with browsing() as page:
        run = page.server.submit(yaml=TWO)
        page.open(f"/runs/{run}").sees("History", ".head")
        assert page.js(f"{click}; return document.querySelector('.history').hidden")
        page.one(".history input").send_keys(Keys.HOME)  # is not undone by the events that arrive
        page.sees("workflow.created", ".moment")
        page.one(".run-title .chip", "pending")
        page.click("button", "Back to now")
        assert page.js(f"{click}; {click}; return document.querySelector('.history').hidden")  # opened and closed at once
        page.settled()
        assert page.js("return document.querySelector('.history').hidden")


@test
def comparison_of_two_runs_shows_the_params_and_tasks_that_differ():
    with browsing("--worker", "2") as page:
        one, two = page.server.submit(yaml=TWO), page.server.submit(yaml=TWO.replace("exit 3", "exit 0"), params={"who": "me"})
        page.server.wait(one), page.server.wait(two)
        page.open(f"/runs/{two}").click(".views button", "Compare")
        page.click(".suggest button", f"#{one}")
        page.sees('"you"', ".diff")
        page.sees("Tasks that differ", ".diff")  # how many depends on their durations, too
        assert f"diff={one}" in page.driver.current_url
        page.open(f"/runs/{two}?diff={two}", token=None).sees("are equal", ".diff")
        assert page.unnamed_controls() == []


@test
def output_is_searched_on_the_server():
    with browsing("--worker", "1") as page:
        command = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i of the output; done"
        run = page.server.submit(yaml=f"name: long\ntasks: {{a: {{run: {json.dumps(command)}}}}}\n")
        page.server.wait(run)
        page.open(f"/runs/{run}").sees("line 20000 of", ".lines")
        page.keys("/", *"LINE 77", Keys.ENTER)
        page.sees("1 of 111 lines", ".found-state")
        page.sees("line 77 of the output", ".line.target")
        page.click("[aria-label='Next match']")
        page.sees("line 770 of the output", ".line.target")
        page.click(".found button", "line 7700 of")
        page.sees("line 7700 of the output", ".line.target")
        page.keys(Keys.ESCAPE)
        page.fill(".log-search input", "nothing like it")
        page.keys(Keys.ENTER)
        page.sees("not found", ".found-state")
        assert page.unnamed_controls() == []


@test
def run_shows_the_definition_that_it_runs():
    with browsing("--worker", "1") as page:
        put = lambda text: page.server.ask("PUT", "/v1/workflows/two", text.encode(), headers={"Content-Type": "application/yaml"}).expect(200)
        put(TWO)
        run = page.server.submit(workflow="two")
        put(TWO.replace("exit 3", "exit 4"))
        page.server.wait(run)
        page.open(f"/runs/{run}").click(".trow", "two")
        page.click("[role=tab]", "Definition")
        page.sees("exit 3", ".panel")
        other = page.server.submit(yaml="name: pasted\ntasks: {a: {timeout: 90s, run: 'true'}, b: {needs: a, run: 'true'}}\n")
        page.server.wait(other)
        page.open(f"/runs/{other}?task={other}&tab=definition", token=None).sees("timeout: 90s", ".panel")
        page.sees("needs: [a]", ".panel")


@test
def page_of_a_waiting_run_shows_why_its_task_waits():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml="name: picky\ntasks: {a: {queue: gpu, run: 'true'}}\n")
        page.open(f"/runs/{run}").one(".why", "It runs until its children have ended")
        page.sees("gpu", ".why")
        page.server.post(f"/v1/executions/{run}/cancel").expect(200)
        page.one(".run-title .chip", "cancelled")


@test
def items_that_are_created_after_a_fan_out_was_unfolded_appear():
    with browsing("--worker", "1") as page:
        gate = f"{page.server.db.dir}/gate"
        run = page.server.submit(yaml=f"name: late\ntasks: {{first: {{run: 'until [ -e {gate} ]; do sleep 0.1; done'}}, each: {{needs: first, foreach: 3, run: 'true'}}}}\n")
        page.open(f"/runs/{run}").one(".trow", "each")
        page.click(".trow", "each")
        page.keys("o")
        open(gate, "w").close()
        page.server.wait(run)
        page.sees("each[2]", ".outline")


@test
def unknown_tab_in_the_address_of_a_run_shows_the_default_tab():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml=OK)
        page.server.wait(run)
        page.open(f"/runs/{run}?tab=graph").sees("well", ".panel .lines")
        page.one(".tabs [aria-selected=true]", "Log")


main()
