"""The list of runs in a real browser: filters, forms, actions on one run and on many. TEST_LONG"""

from harness import main, test
from web_fixture import OK, SLEEPER, TWO, browsing, pages_with


@test
def run_of_a_pasted_workflow_is_shown_live_until_it_ends():
    with browsing("--worker", "2") as page:
        gate = f"{page.server.db.dir}/gate"
        page.open("/").sees("Nothing has run yet")
        page.one(".copyable", "pawl submit")
        yaml = f"name: first\ntasks:\n  one: {{run: 'echo begun; until [ -e {gate} ]; do sleep 0.1; done; echo ended'}}\n  two: {{needs: one, run: echo last}}\n"
        page.fill("textarea", yaml)
        page.click("button", "Run it")
        page.one(".run-title .chip", "running")
        page.one(".trow", "two")
        page.sees("begun", ".lines")
        page.sees("following", ".log-foot")
        open(gate, "w").close()
        page.one(".run-title .chip", "succeeded")
        page.sees("It succeeded", ".why")
        page.until(lambda: page.statuses() == ["succeeded"] * 3, "all tasks succeeded")
        page.click(".trow", "one")
        page.sees("ended", ".lines")
        page.sees("end of the output", ".log-foot")
        assert page.unnamed_controls() == []


@test
def list_of_runs_has_no_gap_after_more_runs_than_a_page_came_at_once():
    with browsing() as page:
        s = page.server
        submit = lambda n: s.post("/v1/executions", [{"function": "f"}] * n).expect(201).json[-1]["id"]
        submit(60)
        page.open("/").click("button", "Show more")
        newest = lambda: [int(e.text.split("#")[-1]) for e in page.all(".runs tbody .id")]
        page.until(lambda: len(newest()) == 60, "all")
        last = submit(70)

        def has_no_gap():
            ids = newest()
            return ids[0] == last and ids == list(range(last, last - len(ids), -1))

        page.until(has_no_gap, "the newest runs without a gap")
        while page.all(".more button"):
            shown = len(newest())
            page.click(".more button")
            page.until(lambda: len(newest()) > shown, "more")
        assert len(newest()) == 130 and has_no_gap()
        last = submit(10)
        page.until(lambda: has_no_gap() and len(newest()) == 140, "the others stay")


@test
def list_of_runs_shows_the_id_beside_a_name_that_is_too_long():
    with browsing() as page:
        run = page.server.submit(function="f", name="exec::" + "long" * 40)
        for width in (1280, 390):
            page.resize(width)
            page.open("/").one(".runs tbody .id", f"#{run}")
            hidden = page.js("""
                const id = document.querySelector('.runs tbody .id'), box = id.getBoundingClientRect();
                const seen = document.elementsFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
                const beyond = (e) => e && (box.right > e.getBoundingClientRect().right + 1 || beyond(e.parentElement));
                return !seen.includes(id) || beyond(id.parentElement);""")
            assert not hidden, width


@test
def list_of_runs_is_paged_and_follows_the_filter_in_the_address():
    with browsing() as page:
        s = page.server
        s.post("/v1/executions", [{"function": "f", "name": f"exec::job{i}", "queue": "mail" if i % 2 else "default"} for i in range(60)]).expect(201)
        s.post(f"/v1/executions/{s.submit(function='g', name='exec::gone')}/cancel").expect(200)
        page.open("/").sees("exec::job59")
        rows = lambda: len(page.all(".runs tbody tr"))
        page.until(lambda: rows() == 50, "one page")
        page.click("button", "Show more")
        page.until(lambda: rows() == 61, "all")
        page.click(".chips button", "Cancelled")
        page.until(lambda: rows() == 1, "the cancelled one")
        page.sees("exec::gone")
        assert page.driver.current_url.endswith("?status=cancelled%2Cskipped")
        page.open("/?queue=mail&name=*job1*", token=None)
        page.until(lambda: rows() == 6, "job1, job11, job13 …")
        assert page.one(".filter").get_attribute("value") == "queue:mail job1"
        page.fill(".filter", "kind:exec job2")
        page.until(lambda: rows() == 11, "job2, job20 …")
        page.fill(".filter", "quee:mail")
        page.sees('There is no filter "quee"')
        page.fill(".filter", "nothing-like-it")
        page.sees("No run matches this filter")
        page.click("button", "Show all")
        page.until(lambda: rows() == 50, "all again")
        s.submit(function="g", name="exec::fresh")
        page.one(".runs tr", "exec::fresh")


@test
def run_can_be_cancelled_and_rerun_from_the_list_of_runs():
    with browsing("--worker", "2") as page:
        run = page.server.submit(yaml=SLEEPER)
        page.open("/").one(".runs tr", "running")
        page.click(f"[aria-label='Cancel sleeper #{run}']")
        page.confirm("Cancel it", "not needed")
        page.one(".runs tr", "cancelled")
        assert page.events(run, "cancel_requested")[0]["data"] == {"by": "console", "reason": "not needed"}
        page.click(f"[aria-label='Rerun sleeper #{run}']")
        page.sees("would run again", "dialog")
        page.confirm("Run again")
        page.one(".run-title .chip", "running")
        page.server.post(f"/v1/executions/{run}/cancel").expect(200)
        page.one(".run-title .chip", "cancelled")


@test
def applied_workflow_started_from_the_form_gets_the_params_of_the_form():
    with browsing("--worker", "1") as page:
        file = f"{page.server.db.dir}/two.flow.yaml"
        open(file, "w").write(TWO)
        page.server.db.pawl("apply", file)
        page.open("/").click("button", "New run")
        page.choose("dialog [name=workflow]", "two")
        page.fill("dialog [name='param:who']", "reader")
        page.confirm("Run")
        page.one(".run-title .chip", "failed")
        page.click(".trow", "a")
        page.sees("hello reader", ".lines")
        page.click("a", "all runs of this workflow")
        page.sees("0 of the last 1 succeeded")
        page.one(".grid thead a")


LOSE_ONE_ANSWER = """
const real = window.fetch;
window.fetch = async (url, options) => {
  const answer = await real(url, options);
  if (options?.method !== "POST") return answer;
  window.fetch = real;
  throw new TypeError("the answer was lost");
};
"""


@test
def run_that_is_submitted_again_after_a_lost_answer_is_not_started_twice():
    with browsing("--worker", "1") as page:
        page.open("/").click("button", "New run")
        page.click("label.check", "a pasted workflow")
        page.fill("dialog textarea", OK)
        page.js(LOSE_ONE_ANSWER)
        page.click("dialog[open] button.primary", "Run")
        page.sees("the server can't be reached", "dialog")
        page.confirm("Run")
        page.sees("existed already", "body")
        first = page.server.get("/v1/executions?kind=workflow").json["items"]
        assert len(first) == 1, first
        # The next submission is another one, though it submits the same workflow.
        page.open("/").click("button", "New run")
        page.click("label.check", "a pasted workflow")
        page.fill("dialog textarea", OK)
        page.confirm("Run")
        page.sees("was submitted", "body")
        assert len(page.server.get("/v1/executions?kind=workflow").json["items"]) == 2


@test
def several_runs_are_selected_and_cancelled_together():
    with browsing("--worker", "1") as page:
        ids = [page.server.submit(function="f", name=f"exec::job{i}") for i in range(5)]
        page.open("/").sees("exec::job4")
        page.click(f"[aria-label='Select exec::job1 #{ids[1]}']")
        page.js("document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', {shiftKey: true, bubbles: true}))", f"[aria-label='Select exec::job3 #{ids[3]}']")
        page.sees("3 runs selected")
        page.click(".selected-bar button", "Cancel, pause, rerun")
        page.sees("3 runs would be changed", "dialog")
        page.confirm("Cancel 3 runs", "not these")
        page.until(lambda: page.text(".runs tbody").count("cancelled") == 3, "three are cancelled")
        assert "runs selected" not in page.text()
        left = [e["name"] for e in page.server.get("/v1/executions?status=ready").json["items"]]
        assert sorted(left) == ["exec::job0", "exec::job4"], left
        assert page.events(ids[2], "cancelled")[0]["data"]["reason"] == "not these"
        page.keys("j", "x")
        page.sees("1 run selected")
        assert page.unnamed_controls() == []


@test
def action_on_all_that_match_shows_first_what_it_would_change():
    with browsing("--worker", "2") as page:
        for _ in range(4):
            page.server.wait(page.server.submit(yaml=TWO))
        page.server.wait(page.server.submit(yaml=OK))
        page.open("/").sees("fine")
        assert "All matching" not in page.text(".tools")
        page.open("/?workflow=two", token=None).click(".tools button", "All matching")
        page.sees("4 runs would be changed", "dialog")
        page.click("dialog label", "Pause")
        page.sees("It applies to none of them", "dialog")
        assert page.one("dialog button.primary").get_attribute("disabled")
        page.click("dialog label", "Run again what failed")
        page.sees("4 runs would be changed", "dialog")
        page.confirm("Rerun 4 runs")
        reruns = lambda: [e for e in page.server.get("/v1/events?type=rerun&limit=1000").json["items"] if e["execution"] == e["root"]]
        page.until(lambda: len(reruns()) == 4, "four reruns")
        for e in reruns():
            page.server.wait(e["root"])


# Sends each slice of an action only when all runs have ended that the slice before has changed.
SLOWLY = """
const real = window.fetch, options = {headers: {"X-Pawl-Request": "1"}, cache: "no-store"};
const busy = async () => (await (await real("/v1/executions?status=pending,ready,running", options)).json()).items.length;
window.fetch = async (url, o) => {
  if (url === "/v1/executions/actions") while (await busy()) await new Promise((r) => setTimeout(r, 20));
  return real(url, o);
};
"""


@test
def action_in_several_slices_comes_to_each_run_once_and_to_no_new_run():
    with pages_with("bulk.js", SLICE=2) as folder, browsing("--worker", "2", "--web", folder) as page:
        s = page.server
        file = f"{s.db.dir}/fine.flow.yaml"
        open(file, "w").write(OK)
        runs = [s.submit(yaml=OK) for _ in range(5)]
        for run in runs:
            s.wait(run)
        for _ in range(2):
            s.db.pawl("run", file)  # in the foreground, so that no worker can rerun it: the first slice is refused
        foreground = s.get("/v1/executions?limit=2").json["items"]
        page.open("/?workflow=fine").click(".tools button", "All matching")
        page.sees("7 runs would be changed", "dialog")
        later = s.submit(yaml=OK)
        s.wait(later)
        page.js(SLOWLY)
        page.click("dialog[open] button.primary", "Rerun 7 runs")
        reruns = lambda: [len([e for e in page.events(run, "rerun") if e["execution"] == run]) for run in (*runs, later)]
        page.until(lambda: "refused" in page.text("dialog .wrong") or max(reruns()) > 1, "the end of the action")
        assert reruns() == [1] * 5 + [0], reruns()
        page.sees(f"5 runs changed, 2 refused. #{foreground[0]['id']}: execution {foreground[0]['id']} ran in the foreground", "dialog .wrong")
        for run in runs:
            s.wait(run)


@test
def single_jobs_are_paused_resumed_and_skipped_like_workflows():
    with browsing() as page:
        s = page.server
        ids = [s.submit(function="f", name=f"exec::job{i}") for i in range(3)]
        chips = lambda: [e.text for e in page.all(".runs td.status")]
        paused = lambda: [s.get(f"/v1/executions/{i}").json["paused"] for i in ids]
        page.open("/").sees("exec::job2")
        page.keys("j", "x", "j", "x")
        page.click(".selected-bar button", "Cancel, pause, rerun")
        page.click("dialog label", "Pause")
        page.confirm("Pause 2 runs")
        page.until(lambda: chips() == ["paused", "paused", "waiting"], "two paused jobs")
        assert paused() == [False, True, True]

        # the page of a job offers what the state allows
        page.open(f"/runs/{ids[2]}", token=None).one(".run-title .chip", "paused")
        buttons = lambda: [e.text for e in page.all(".head .acts button")]
        page.until(lambda: buttons() == ["Resume", "Skip", "Cancel", "History"], "the actions of a paused job")
        page.click(".head .acts button", "Resume")
        page.confirm("Resume")
        page.until(lambda: buttons() == ["Pause", "Skip", "Cancel", "History"], "the actions of a waiting job")
        page.click(".head .acts button", "Pause")
        page.confirm("Pause")
        page.one(".run-title .chip", "paused")

        # resume and skip many, those that were selected and all that match
        page.open("/", token=None).sees("exec::job2")
        for i in ids:
            page.click(f"[aria-label$='#{i}'][type=checkbox]")
        page.click(".selected-bar button", "Cancel, pause, rerun")
        page.click("dialog label", "Resume")
        page.confirm("Resume 2 runs")
        page.until(lambda: chips() == ["waiting"] * 3 and paused() == [False] * 3, "no paused job")
        page.click(f"[aria-label$='#{ids[0]}'][type=checkbox]")
        page.click(".selected-bar button", "Cancel, pause, rerun")
        page.click("dialog label", "Skip")
        page.confirm("Skip 1 run", "not needed")
        page.until(lambda: chips() == ["waiting", "waiting", "skipped"], "a skipped job")
        assert page.events(ids[0], "skipped")[0]["data"]["reason"] == "not needed"
        page.open("/?name=exec::job*", token=None).click(".tools button", "All matching")
        page.click("dialog label", "Skip")
        page.confirm("Skip 2 runs")
        page.until(lambda: chips() == ["skipped"] * 3, "three skipped jobs")


@test
def chips_count_the_runs_of_each_status():
    with browsing("--worker", "1") as page:
        page.server.wait(page.server.submit(yaml=TWO))
        page.open("/").one(".chips button", "Failed")
        counts = lambda: page.js("return [...document.querySelectorAll('.chips button')].map((b) => b.innerText.replace(/\\s+/g, ' '))")
        page.until(lambda: counts() == ["All 1", "Active 0", "Failed 1", "Succeeded 0", "Cancelled 0"], "the counts")
        page.js("document.querySelectorAll('.chips button')[2].focus()")
        page.server.wait(page.server.submit(yaml=OK))
        page.until(lambda: counts()[3] == "Succeeded 1", "another one")
        assert page.js("return document.activeElement.innerText").startswith("Failed")


main()
