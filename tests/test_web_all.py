"""What holds for all pages: hostile text, the keyboard, narrow screens, lost servers. TEST_LONG"""

import datetime
import json
import re

from harness import main, test
from web_fixture import GATE, OK, REFUSED, TWO, Keys, browsing


@test
def markup_and_escape_sequences_from_jobs_are_shown_as_text():
    with browsing("--worker", "2", allowed=(REFUSED,)) as page:
        html = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'><style>*{display:none}</style>"
        shell = html.replace("'", "'\\''")
        escapes = "\\033]0;title\\007\\033]8;;javascript:alert(3)\\007link\\033]8;;\\007 \\033[2J\\033[1;1H\\033[38;2;255;0;0mtrue\\033[0m \\033P+q\\033\\\\ \\342\\200\\256reversed \\001"
        command = f"printf '%s\\n' '{shell}'; printf '{escapes}\\n'; printf '%s' 'out={shell}' >> \"$PAWL_OUTPUT\""
        queue = "q<b>x"
        run = page.server.submit(yaml=f"name: bad\nparams: {{p: {{type: string, default: ''}}}}\ntasks: {{evil: {{run: {json.dumps(command)}}}, last: {{needs: evil, run: exit 3}}}}\n", params={"p": html})
        job = page.server.submit(function="f", name="exec::" + html[:100], queue=queue, input={html: html})
        page.server.wait(run)
        page.server.post(f"/v1/executions/{job}/cancel", {"reason": html}).expect(200)
        page.server.post(f"/v1/queues/{queue.replace('<', '%3C').replace('>', '%3E')}/pause", {"reason": html}).expect(200)
        page.open(f"/runs/{run}").click(".trow", "evil")
        page.sees("<script>alert(2)</script>", ".lines")
        page.sees("true  \ufffdreversed", ".lines")
        assert "\x1b" not in page.text(".lines") and not page.all(".lines a:not(.at)") and page.driver.title == f"bad #{run} · Pawl"
        page.click("[role=tab]", "Data")
        page.sees("onerror=alert(1)", ".panel")
        page.click(".trow", "bad")
        page.sees("onerror=alert(1)", ".panel")
        page.click("[role=tab]", "Events")
        page.sees("task.failed", ".panel")
        page.open(f"/runs/{job}", token=None).sees("<img src=x onerror", ".run-title")
        page.click("[role=tab]", "Data")
        page.sees("onerror=alert(1)", ".panel")
        for path in ("/", "/queues", "/events"):
            page.open(path, token=None).sees("onerror=alert(1)")
        page.open("/?name=" + html.replace("<", "%3C").replace(">", "%3E").replace('"', "%22"), token=None).sees("No run matches")
        page.open("/workflows/%3Cimg%20src=x%20onerror=alert(1)%3E", token=None).sees("<img src=x onerror=alert(1)>")
        assert not page.all("main img, main script, main style")


@test
def markup_and_escape_sequences_in_errors_are_shown_as_text():
    with browsing("--worker", "2", allowed=(REFUSED,)) as page:
        s = page.server
        html = "<img src=x onerror=alert(1)><script>alert(2)</script>"
        evil = html + "\x1b[2J\x1b]0;title\x07\u009b31m"
        # A command that can't start has the name of the program or its folder in the error; an operator may set the text of one.
        failing = [s.submit(command={"argv": ["true"], "cwd": "/nowhere/" + evil}), s.submit(command={"argv": ["/nowhere/" + evil]})]
        for run in failing:
            s.wait(run)
        gates = []
        for reason in (evil, evil + " twice"):
            gate = s.submit(yaml=GATE)
            waiting = lambda: [e for e in s.get(f"/v1/executions?parent={gate}").json["items"] if str(e["waiting"]).startswith("approval")]
            s.post(f"/v1/executions/{page.until(waiting, 'a task that waits for an approval')[0]['id']}/reject", {"reason": reason}).expect(200)
            s.wait(gate)
            gates.append(gate)
        errors = [s.get(f"/v1/executions/{run}").json["error"] for run in (*failing, *gates)]
        assert any(html in e for e in errors[:2]) and all(html in e for e in errors[2:]), errors
        assert all("\x1b" in e for e in errors[2:]), errors

        def judge(selector):
            page.sees("<script>alert(2)</script>", selector)
            shown = page.text("body")
            assert not any(c in shown for c in "\x1b\x07\x9b") and page.driver.title.endswith(" · Pawl"), shown
            assert not page.all("main img, main script")

        page.open("/")
        judge(".runs")
        for run, error in zip((*failing, *gates), errors):
            page.open(f"/runs/{run}", token=None)
            if html in error:
                judge(".why")
                page.click(".trow", "gate" if run in gates else "command")
                page.click("[role=tab]", "Data")
                judge(".panel")
        for run, error in zip(failing, errors):
            page.open(f"/runs/{run}?tab=attempts", token=None).one("[role=tab][aria-selected=true]", "Attempts")
            if html in error:
                judge(".panel")
        page.open(f"/runs/{gates[0]}?diff={gates[1]}", token=None)
        judge(".diff")
        page.open("/workflows/gate", token=None)
        judge(".list")
        page.open("/events?type=failed", token=None)
        judge(".events")


@test
def times_are_shown_in_the_zone_of_the_reader_with_utc_on_hover():
    with browsing() as page:
        s = page.server
        page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kathmandu"})
        try:
            run = s.submit(function="f", delay="30d")
            shown = s.get(f"/v1/executions/{run}").json
            due = shown["waiting"].removeprefix("delay: until ")
            reader = datetime.timezone(datetime.timedelta(hours=5, minutes=45))

            def expected(iso):
                """The clock in the reader's zone, and the line of the title that has UTC."""
                return datetime.datetime.fromisoformat(iso).astimezone(reader).strftime("%H:%M:%S"), iso.replace("T", " ").replace("Z", " UTC")

            def judge(selector, iso, is_age=False):
                time = page.one(f"{selector} time[datetime='{iso}']")
                clock, utc = expected(iso)
                assert ("ago" in time.text or time.text == "now") if is_age else clock in time.text, (time.text, clock)
                local, zone = time.get_attribute("title").split("\n")
                assert zone == utc and "GMT+5:45" in local, (local, zone)

            page.open(f"/runs/{run}")
            judge(".meta", shown["requested_at"])
            cancelled = s.submit(function="f")
            s.post(f"/v1/executions/{cancelled}/cancel").expect(200)
            sentence = s.get(f"/v1/executions/{cancelled}/why").json["reasons"][0]["text"]
            (at,) = re.findall(r"\S+T\S+Z", sentence)
            page.open(f"/runs/{cancelled}", token=None)
            judge(".why", at)
            assert at not in page.text(".why")
            page.open("/", token=None)
            judge(".runs .aside", due)
            judge(".runs .when", shown["requested_at"], is_age=True)
            page.open("/events", token=None)
            created = s.get("/v1/events").json["items"][0]["created_at"]
            judge(".events", created)
            file = f"{s.db.dir}/nightly.flow.yaml"
            open(file, "w").write("name: nightly\non: {schedule: {cron: '0 3 * * *', tz: UTC}}\ntasks: {a: {run: 'true'}}\n")
            s.db.pawl("apply", file)
            page.open("/schedules", token=None).one(".schedules tr", "nightly")
            next_at = s.get("/v1/schedules").json["items"][0]["next_at"]
            judge(".schedules", next_at)
            assert "08:45:00" in page.text(".schedules")
        finally:
            page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


@test
def pages_can_be_used_with_the_keyboard_alone():
    with browsing("--worker", "1") as page:
        page.server.wait(page.server.submit(yaml=OK))
        run = page.server.submit(yaml=TWO)
        page.server.wait(run)
        page.open("/").one(".runs tr", "two")
        page.keys("?")
        page.sees("go to Queues", "dialog")
        page.keys(Keys.ESCAPE)
        page.until(lambda: not page.all("dialog[open]"), "no dialog")
        page.keys("j", "j")
        page.until(lambda: "fine" in page.driver.switch_to.active_element.text, "the second row")
        page.keys("k", Keys.ENTER)
        page.sees("#%d" % run, ".run-title")
        page.one(".trow.selected", "b")
        page.keys("k")
        page.one(".trow.selected", "a")
        page.sees("hello you", ".lines")
        page.keys("g", "q")
        page.one("h1", "Queues")
        page.keys("g", "r")
        page.one(".runs tr", "two")
        page.keys("/", *"fine")
        page.until(lambda: len(page.all(".runs tbody tr")) == 1, "the filter")
        page.keys(Keys.ESCAPE, "n")
        page.one("dialog textarea")
        page.keys(Keys.ESCAPE)
        page.js("document.activeElement.blur()")
        page.keys(Keys.TAB)
        assert page.driver.switch_to.active_element.text == "Skip to content"


@test
def pages_fit_a_screen_of_390_pixels_in_light_and_dark_mode():
    with browsing("--worker", "1", allowed=(REFUSED,)) as page:
        s = page.server
        long = "a_very_long_name_without_any_space_" + "x" * 60
        run = s.submit(yaml=f"name: {long}\ntasks: {{{long}b: {{run: 'echo {long}{long}{long}; exit 1'}}}}\n")
        s.submit(function="f", queue="a" * 64)
        s.wait(run)
        for text in ("text", "other text"):
            source = f"name: {long}\nparams: {{{long}: {{type: string, default: '{long}', description: {long}}}}}\non: {{schedule: {{cron: '0 3 * * *'}}}}\ntasks: {{{long}b: {{run: 'echo {text}'}}}}\n"
            s.ask("PUT", f"/v1/workflows/{long}", source.encode(), headers={"Content-Type": "application/yaml"}).expect(200)
        applied = s.submit(workflow=long)
        s.wait(applied)
        for hook in ({"url": f"https://chat.example/{long}/{long}", "workflow": long}, {}):
            s.post("/v1/hooks", {"name": long[:90] + ("out" if hook else "in"), **hook}).expect(201)
        s.db.token(long[:90], "work", "--queue", "b" * 64)

        def fits(what):
            width = page.js("return Math.max(document.documentElement.scrollWidth, ...[...document.querySelectorAll('dialog')].flatMap((d) => [d.getBoundingClientRect().right, d.scrollWidth]))")
            wide = "return [...document.querySelectorAll('main *, dialog *')].filter((e) => e.getBoundingClientRect().right > 391).map((e) => e.outerHTML.slice(0, 200)).slice(-3)"
            assert width <= 390, (what, width, page.js(wide))
            assert page.unnamed_controls() == [], what

        page.open("/").sees(long)
        for scheme in ("light", "dark"):
            page.resize(390, scheme=scheme)
            for path in ("/", f"/runs/{run}", f"/runs/{run}?tab=events", f"/runs/{run}?tab=data", f"/runs/{run}?tab=attempts", f"/runs/{applied}?tab=definition&task={applied}", f"/runs/{run}?diff={run}", f"/workflows/{long}",
                         f"/workflows/{long}?view=definition", f"/workflows/{long}?view=versions", "/workflows", "/workflows?new=true", "/queues", "/workers", "/schedules", "/events", "/system"):
                page.open(path, token=None)
                page.one("h1")
                page.until(lambda: page.all(".list tr, .trow, .empty, .first, .diff-side, .card, .version .code-line, .editor"), "content")
                if path == "/system":
                    page.until(lambda: page.all(".hooks tr") and page.all(".tokens tr"), "webhooks and tokens")
                fits(path)
                assert len(page.all("h1")) == 1 and page.all("main") and page.all("nav[aria-label]"), path
            page.open(f"/runs/{run}", token=None).click("button", "History")
            page.sees("event", ".history .moment")
            fits("the history")
            for path, button in (
                ("/", "New run"), ("/?status=failed", "All matching"), (f"/runs/{applied}", "Rerun"), (f"/workflows/{long}", "Run"), (f"/workflows/{long}", "Delete"), (f"/workflows/{long}?view=definition", "Pause"),
                ("/queues", "Pause"), ("/queues", "Limit"), ("/system", "New token"), ("/system", "New webhook"), ("/system", "Revoke"),
            ):
                page.open(path, token=None).click("main button", button)
                page.one("dialog[open] h1")
                fits((path, button))
            dark = page.js("return getComputedStyle(document.body).backgroundColor")
            assert (dark == "rgb(15, 18, 22)") == (scheme == "dark"), dark


@test
def page_that_lost_its_server_reconnects_when_the_server_is_back():
    allowed = ("ERR_", REFUSED, "status of 50")
    with browsing("--worker", "1", allowed=allowed) as page:
        from server_fixture import Server

        file = f"{page.server.db.dir}/token"
        open(file, "w").write("t" * 40)
        first = Server(page.server.db, "--token-file", file)
        page.origin, own = f"http://127.0.0.1:{first.port}", page.origin
        page.open("/", token="t" * 40).sees("Live", ".state")
        first.stop()
        page.sees("Reconnecting", ".state")
        again = Server(page.server.db, "--token-file", file, listen=f"127.0.0.1:{first.port}")
        page.server.submit(yaml=OK)
        page.one(".runs tr", "fine")
        page.sees("Live", ".state")
        page.driver.get("about:blank")
        again.stop()
        page.judge(allowed=("",))
        page.origin = own


@test
def changes_that_are_committed_while_a_page_loads_are_shown():
    """Each page is opened while a run ends, and nothing happens afterwards that would make it load again."""
    with browsing("--worker", "2") as page:
        seen = lambda: page.js("return [...document.querySelectorAll('.runs td.status')].map((e) => e.innerText)")
        for n in range(6):
            run = page.server.submit(yaml="name: quick\ntasks: {a: {run: 'true'}, b: {needs: a, run: 'true'}}\n")
            page.open("/" if n % 2 else f"/runs/{run}", token=True if n < 2 else None)
            if n % 2:
                page.until(lambda: seen() == ["succeeded"] * (n + 1), "the end of all runs")
            else:
                page.one(".run-title .chip", "succeeded")
                page.until(lambda: page.statuses() == ["succeeded"] * 3, "the end of its tasks")
            page.server.wait(run)


@test
def eight_tabs_show_changes_though_a_browser_has_six_connections():
    with browsing("--worker", "1") as page:
        paths = ["/", "/queues", "/workers", "/events", "/schedules", "/workflows", "/system", "/?status=succeeded"]
        page.open("/").sees("Nothing has run yet")
        first = page.driver.current_window_handle
        try:
            for path in paths[1:]:
                page.driver.switch_to.new_window("tab")
                page.open(path, token=None).one("h1")
                page.sees("Live", ".state")
            run = page.server.submit(yaml=OK)
            page.server.wait(run)
            page.one(".runs tr", "fine")
            for handle in page.driver.window_handles:
                page.driver.switch_to.window(handle)
                path = page.driver.current_url.removeprefix(page.origin)
                if path in ("/", "/?status=succeeded"):
                    page.one(".runs tr", "fine")
                elif path == "/events":
                    page.one(".events tr", "workflow.completed")
        finally:
            for handle in page.driver.window_handles:
                page.driver.switch_to.window(handle)
                if handle != first:
                    page.driver.close()
            page.driver.switch_to.window(first)


main()
