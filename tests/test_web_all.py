"""What holds for all pages: hostile text, the keyboard, narrow screens, lost servers. TEST_LONG"""

import json

from harness import main, test
from web_fixture import OK, REFUSED, TWO, Keys, browsing


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
        page.open("/").sees(long)
        for scheme in ("light", "dark"):
            page.resize(390, scheme=scheme)
            for path in ("/", f"/runs/{run}", f"/runs/{run}?tab=events", f"/runs/{run}?tab=data", f"/runs/{run}?diff={run}", f"/workflows/{long}", "/workflows", "/queues", "/workers", "/schedules", "/events", "/system"):
                page.open(path, token=None)
                page.one("h1")
                page.until(lambda: page.all(".list tr, .trow, .empty, .first, .diff-side, .card"), "content")
                width = page.js("return document.documentElement.scrollWidth")
                assert width <= 390, (path, width)
                assert page.unnamed_controls() == [], path
                assert len(page.all("h1")) == 1 and page.all("main") and page.all("nav[aria-label]"), path
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
