"""Workflows in a real browser: the list, the grid of their runs, their text, their versions. TEST_LONG"""

from harness import main, test
from web_fixture import REFUSED, TWO, browsing

FORM = """\
name: form
description: Takes one param of each type.
params:
  who: {type: string, required: true, description: whom to greet}
  n: {type: integer, default: 3}
  loud: {type: boolean, default: false}
  list: {type: list, default: [a, b]}
tasks:
  a: {run: 'echo "$who $n $loud $list"'}
"""


def apply(page, text):
    name = text.split("\n")[0].removeprefix("name: ")
    page.server.ask("PUT", f"/v1/workflows/{name}", text.encode(), headers={"Content-Type": "application/yaml"}).expect(200)


@test
def newcomer_writes_a_workflow_and_its_problems_are_marked_in_the_text():
    with browsing("--worker", "1", allowed=(REFUSED,)) as page:
        page.open("/workflows").sees("No workflow is applied")
        page.click("a", "write one here")
        page.one("h1", "New workflow")
        page.fill("textarea", "name: first\ntasks:\n  a: {run: 'echo one'}\n  b: {neds: a, run: 'true'}\n  c: {needs: d, run: 'true'}\n")
        page.click("button", "Apply")
        page.sees("2 problems", ".edit")
        page.sees('there is no key "neds" in tasks.b; did you mean "needs"?', ".problems")
        marks = page.js("return [...document.querySelectorAll('.squiggle')].map((e) => e.textContent)")
        assert marks == ["neds", "d"], marks
        assert page.js("return [...document.querySelectorAll('.gutter .bad')].map((e) => e.textContent)") == ["4", "5"]
        assert page.js("return document.activeElement.selectionStart") == len("name: first\ntasks:\n  a: {run: 'echo one'}\n  b: {")
        assert page.unnamed_controls() == []
        page.fill("textarea", "name: first\ntasks:\n  a: {run: 'echo one'}\n  b: {needs: a, run: 'true'}\n")
        assert not page.all(".squiggle")
        page.click("button", "Apply")
        page.one("h1", "first")
        page.sees("It has not run yet")
        page.click(".acts button", "Run")
        page.sees("It has no params", "dialog")
        page.confirm("Run")
        page.one(".run-title .chip", "succeeded")


@test
def form_has_a_field_of_its_type_for_each_param():
    with browsing("--worker", "1") as page:
        apply(page, FORM)
        page.open("/workflows").click(".workflows button", "Run")
        page.sees("whom to greet (text)", "dialog")
        page.click("dialog[open] button.primary", "Run")
        assert page.js("return document.querySelector('dialog :invalid:not(form)')?.name") == "param:who"
        page.fill("dialog [name='param:who']", "5")
        page.fill("dialog [name='param:n']", "7")
        page.choose("dialog [name='param:loud']", "true")
        page.fill("dialog [name='param:list']", '["x"')
        page.click("dialog[open] button.primary", "Run")
        page.sees("list is not valid JSON", "dialog")
        page.fill("dialog [name='param:list']", '["x"]')
        page.confirm("Run")
        page.one(".run-title .chip", "succeeded")
        run = int(page.driver.current_url.rsplit("/", 1)[1].split("?")[0])
        assert page.server.get(f"/v1/executions/{run}").json["input"] == {"who": "5", "n": 7, "loud": True, "list": ["x"]}


@test
def grid_shows_how_each_task_of_the_last_runs_ended():
    with browsing("--worker", "2") as page:
        apply(page, TWO)
        runs = [page.server.submit(workflow="two") for _ in range(3)]
        for run in runs:
            page.server.wait(run)
        page.open("/workflows/two").sees("0 of the last 3 succeeded")
        cells = lambda: page.js("return [...document.querySelectorAll('.grid tbody tr')].map((r) => [...r.querySelectorAll('.cell')].map((c) => c.getAttribute('aria-label')))")
        page.until(lambda: cells() == [[f"a: succeeded in run {r}" for r in runs], [f"b: failed in run {r}" for r in runs]], "the grid")
        fourth = page.server.submit(workflow="two")
        page.until(lambda: len(cells()[0]) == 4, "the next run")
        page.server.wait(fourth)
        page.until(lambda: cells()[1][3:] == [f"b: failed in run {fourth}"], "its end")
        page.click(".grid tbody td a")
        page.one(".run-title", f"#{runs[0]}")
        page.one(".trow.selected", "a")
        page.sees("hello you", ".lines")


@test
def grid_shows_the_tasks_that_a_cancelled_or_timed_out_run_never_finished():
    with browsing("--worker", "2") as page:
        text = "name: long\ntasks:\n  a: {run: 'true'}\n  b: {needs: a, run: sleep 600}\n  c: {needs: b, run: 'true'}\n"
        apply(page, text)
        cancelled = page.server.submit(workflow="long")
        a_has_ended = lambda: page.server.get(f"/v1/executions/{cancelled}").json["workflow_execution"]["completed_tasks"] == ["a"]
        page.until(a_has_ended, "the end of the first task")
        page.server.post(f"/v1/executions/{cancelled}/cancel", {}).expect(200)
        page.server.wait(cancelled)
        # The outline of a run has the statuses that the command line shows.
        expected = lambda run: [f"{line['task_name']}: {line['status'].replace('_', ' ')} in run {run}"
                                for line in page.server.get(f"/v1/executions/{run}/outline").json["items"] if line["task_name"]]
        cells = lambda: page.js("return [...document.querySelectorAll('.grid .cell')].map((c) => c.getAttribute('aria-label'))")
        assert expected(cancelled)[1:] == [f"{task}: cancelled in run {cancelled}" for task in "bc"]
        page.open("/workflows/long")
        page.until(lambda: cells() == expected(cancelled), "all tasks of the cancelled run")

        # A run does not get tasks that its definition did not have.
        apply(page, text.replace("long\n", "long\ntimeout: 1s\n") + "  d: {needs: c, run: 'true'}\n")
        timed_out = page.server.submit(workflow="long")
        assert page.server.wait(timed_out)["status"] == "timed_out"
        page.open("/workflows/long", token=None)
        page.until(lambda: sorted(cells()) == sorted([f"a: succeeded in run {cancelled}", *expected(timed_out)]), "the run that timed out")


@test
def versions_are_compared_line_by_line():
    with browsing() as page:
        apply(page, TWO)
        apply(page, TWO.replace("exit 3", "exit 4"))
        apply(page, TWO.replace("exit 3", "exit 5") + "  c: {run: 'true'}\n")
        page.open("/workflows/two?view=versions").one(".versions li.chosen", "Version 3")
        lines = lambda kind: page.js("return [...document.querySelectorAll('.code-line.' + arguments[0] + ' .text')].map((e) => e.textContent)", kind)
        page.until(lambda: lines("come") == ["  b: {needs: a, run: exit 5}", "  c: {run: 'true'}"], "the new lines")
        assert lines("gone") == ["  b: {needs: a, run: exit 4}"]
        page.choose("#version-from", "1")
        page.until(lambda: lines("gone") == ["  b: {needs: a, run: exit 3}"], "the first version")
        assert "a=1" in page.driver.current_url and "b=3" in page.driver.current_url
        page.click(".versions button", "Version 1")
        page.sees("hello $who", ".listing")
        assert page.unnamed_controls() == []


@test
def schedule_of_a_workflow_is_paused_resumed_and_run_on_its_page():
    with browsing("--worker", "1") as page:
        apply(page, "name: nightly\non: {schedule: {cron: '0 3 * * *'}}\ntasks: {a: {run: 'true'}}\n")
        paused = lambda: page.server.get("/v1/schedules").json["items"][0]["paused"]
        page.open("/workflows/nightly?view=definition").one(".schedules tr", "0 3 * * *")
        page.click(".schedules button", "Pause")
        page.confirm("Pause", "holiday")
        page.sees("by console: holiday", ".schedules")
        assert paused()["reason"] == "holiday"
        page.click(".schedules button", "Resume")
        page.confirm("Resume")
        page.lacks("holiday")
        assert paused() is None and page.unnamed_controls() == []
        page.click(".schedules button", "Run now")
        page.confirm("Run")
        page.one(".run-title .chip", "succeeded")


@test
def text_is_edited_unless_somebody_has_changed_it_meanwhile():
    with browsing(allowed=(REFUSED,)) as page:
        apply(page, TWO)
        page.open("/workflows/two").click(".acts button", "Edit")
        page.one("textarea")
        page.fill("textarea", TWO.replace("exit 3", "exit 6"))
        apply(page, TWO.replace("exit 3", "exit 7"))
        page.click("button", "Apply")
        page.sees("Somebody has applied another version meanwhile")
        page.open("/workflows/two?view=definition", token=None).sees("exit 7")
        page.click(".acts button", "Edit")
        page.fill("textarea", TWO.replace("exit 3", "exit 8"))
        page.click("button", "Apply")
        page.sees("exit 8", ".listing")
        assert page.server.get("/v1/workflows/two").json["source"] == TWO.replace("exit 3", "exit 8")
        page.click(".acts button", "Delete")
        page.confirm("Delete", "no longer needed")
        page.sees("No workflow is applied")
        page.server.get("/v1/workflows/two").expect(404)


main()
