"""The pages in a real browser: each page, each action, live changes. TEST_LONG"""

import gzip
import json
import os
import re
import subprocess

from web_fixture import Keys, browsing
from harness import main, test
from server_fixture import serving

TWO = "name: two\nparams: {who: {type: string, default: you}}\ntasks:\n  a: {run: 'echo hello $who'}\n  b: {needs: a, run: exit 3}\n"
OK = "name: fine\ntasks: {a: {run: echo well}}\n"
SLEEPER = "name: sleeper\ntasks: {a: {run: sleep 600}, z: {needs: a, run: 'true'}}\n"
GATE = "name: gate\ntasks: {a: {run: echo through, approval: {message: go?}}}\n"
REFUSED = "status of 40"  # the browser logs each refused request


def events_of(page, run, kind):
    return [e for e in page.server.get(f"/v1/executions/{run}/events").json["items"] if e["type"].endswith("." + kind)]


# ---- what is served ----


@test
def pages_are_sent_compressed_and_cached_by_the_hash_of_their_content():
    with serving() as s:
        document = s.get("/", token=None).expect(200)
        assert document.headers["Content-Type"] == "text/html; charset=utf-8"
        assert (document.headers["Content-Encoding"], document.headers["Cache-Control"]) == ("gzip", "no-cache")
        assert "trusted-types" in ", ".join(document.headers.get_all("Content-Security-Policy"))
        html = gzip.decompress(document.body).decode()
        s.get("/", token=None, headers={"If-None-Match": document.headers["ETag"]}).expect(304)
        names = re.findall(r'/assets/[0-9a-f]+/[\w.]+', html)
        assert names and "/assets/dev/" not in html
        for name in names:
            asset = s.get(name, token=None).expect(200)
            assert asset.headers["Cache-Control"] == "public, max-age=31536000, immutable"
            assert asset.headers["X-Content-Type-Options"] == "nosniff" and gzip.decompress(asset.body)
        for path in ("/runs/17?tab=log", "/workflows/x", "/queues", "/workers", "/schedules", "/events?type=failed", "/system"):
            assert s.get(path, token=None).expect(200).body == document.body
        folder = names[0].rsplit("/", 1)[0]
        for path in ("/assets/0000/app.js", f"{folder}/index.html", f"{folder}/other.js", f"{folder}/..%2f..%2fMakefile", f"{folder}/%2fetc%2fpasswd", "/assets/../Makefile", "/runs"):
            s.get(path, token=None).expect(404)
        assert not [p for p in s.get("/openapi.json").json["paths"] if p == "/" or p.startswith(("/assets", "/runs"))]


@test
def pages_from_a_folder_are_not_cached_and_files_outside_the_folder_are_not_served():
    with serving("--web", "web") as s:
        document = s.get("/").expect(200)
        assert b"/assets/dev/app.js" in document.body and document.headers["Cache-Control"] == "no-store"
        assert s.get("/assets/dev/app.js").expect(200).headers["Content-Type"] == "text/javascript; charset=utf-8"
        for path in ("/assets/dev/..%2fMakefile", "/assets/dev/%2e%2e%2fREADME.md", "/assets/dev/missing.js"):
            s.get(path).expect(404)


@test
def first_page_load_takes_less_than_60_kb_and_all_pages_less_than_150_kb():
    with browsing() as page:
        page.open("/").sees("Nothing has run yet")
        loaded = page.js("return performance.getEntriesByType('resource').filter((r) => r.name.includes('/assets/')).map((r) => r.encodedBodySize)")
        assert 10 < len(loaded) < 40 and sum(loaded) < 60_000, (len(loaded), sum(loaded))
        whole = sum(len(gzip.compress(open(f"web/{name}", "rb").read(), 9)) for name in os.listdir("web"))
        assert whole < 150_000, whole


@test
def scripts_of_the_pages_pass_a_strict_type_check():
    scripts = [f"web/{name}" for name in sorted(os.listdir("web")) if name.endswith(".js")]
    done = subprocess.run(["tsc", "--noEmit", "--allowJs", "--checkJs", "--strict", "--target", "es2022", "--module", "es2022", "--lib", "esnext,dom,dom.iterable", *scripts], text=True, capture_output=True)
    assert done.returncode == 0, done.stdout


# ---- who asks ----


@test
def token_in_the_address_becomes_a_cookie_that_scripts_cannot_read():
    with browsing() as page:
        page.open("/queues").sees("No job has been queued yet")
        assert page.driver.current_url == page.origin + "/queues"
        assert page.js("return document.cookie") == ""
        cookie = page.driver.get_cookie("pawl")
        assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
        page.open("/system", token=None).sees("console")


@test
def valid_token_is_accepted_by_the_login_dialog_after_an_invalid_one():
    with browsing(allowed=(REFUSED,)) as page:
        page.open("/system", token=None)
        page.fill("#token", "not a token")
        page.click("dialog button", "Log in")
        page.sees("not valid", "dialog")
        page.fill("#token", page.server.token)
        page.click("dialog button", "Log in")
        page.sees("You are")
        page.click("button", "Log out")
        page.one("dialog.login")
        assert page.unnamed_controls() == []


@test
def pages_show_no_actions_to_a_token_with_only_the_scope_read():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml=SLEEPER)
        token = page.server.db.token("reader", "read")
        page.open(f"/runs/{run}", token=token).sees("sleeper")
        page.one(".trow", "a")
        # One script reads all buttons, because the page may draw them again at any time.
        shown = page.driver.execute_script("return [...document.querySelectorAll('button')].map((b) => b.innerText)")
        assert not set(shown) & {"Cancel", "Pause", "Rerun", "Skip"}, shown
        page.open("/", token=None).sees("sleeper")
        assert "New run" not in page.text() and not page.all("td.acts button")
        page.open("/system", token=None).sees("token reader")
        assert "Access tokens" not in page.text()


# ---- runs ----


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
        assert events_of(page, run, "cancel_requested")[0]["data"] == {"by": "console", "reason": "not needed"}
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
        page.click("label", "an applied workflow")
        page.fill("[name=workflow]", "two")
        page.click("button", "Add a param")
        page.fill("[name=param-name]", "who")
        page.fill("[name=param-value]", "reader")
        page.confirm("Run")
        page.one(".run-title .chip", "failed")
        page.click(".trow", "a")
        page.sees("hello reader", ".lines")
        page.click("a", "all runs of this workflow")
        page.sees("0 of the last 1 succeeded")
        page.one(".trend a")


# ---- one run ----


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
        assert events_of(page, run, "paused")[0]["data"]["reason"] == "lunch"
        assert events_of(page, run, "skipped")[0]["data"]["reason"] == "not today"


@test
def run_page_can_approve_and_reject_a_waiting_task():
    with browsing("--worker", "1") as page:
        run, other = page.server.submit(yaml=GATE), page.server.submit(yaml=GATE)
        page.open(f"/runs/{run}").click(".approval button", "Approve")
        page.confirm("Approve", "fine")
        page.one(".run-title .chip", "succeeded")
        page.sees("through", ".lines")
        page.open(f"/runs/{other}", token=None).click(".approval button", "Reject")
        page.confirm("Reject")
        page.one(".run-title .chip", "failed")


@test
def failed_run_can_be_rerun_in_part_or_with_other_params():
    with browsing("--worker", "2") as page:
        run = page.server.submit(yaml=TWO)
        page.server.wait(run)
        page.open(f"/runs/{run}").one(".detail h2", "b")
        page.sees("exit code 3", ".detail-head")
        page.click(".head button", "Rerun")
        page.sees("2 executions and everything below them would run again", "dialog")
        page.confirm("Run again")
        page.until(lambda: len(events_of(page, run, "rerun")) == 2 and page.server.wait(run), "the rerun")
        page.click(".trow", "a")
        page.click(".detail button", "Rerun from here")
        page.sees("a and what follows it", "dialog")
        page.confirm("Run again")
        page.until(lambda: len(events_of(page, run, "rerun")) == 5 and page.server.wait(run), "the rerun from a")
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
        page.all(".panel tbody button")[1].click()
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
        page.click(".outline button", "Show 200 more of 2,300 items")
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
        page.open(f"/runs/{run}?at_event={events_of(page, run, 'completed')[0]['sequence_num']}", token=None)
        page.one(".run-title .chip", "running")
        page.until(lambda: page.statuses()[1:2] == ["succeeded"], "the state of the task")
        page.click("button", "Back to now")
        page.one(".run-title .chip", "failed")
        assert "at_event" not in page.driver.current_url


@test
def comparison_of_two_runs_shows_the_params_and_tasks_that_differ():
    with browsing("--worker", "2") as page:
        one, two = page.server.submit(yaml=TWO), page.server.submit(yaml=TWO.replace("exit 3", "exit 0"), params={"who": "me"})
        page.server.wait(one), page.server.wait(two)
        page.open(f"/runs/{two}").click(".views button", "Compare")
        page.click(".suggest button", f"#{one}")
        page.sees('"you"', ".diff")
        page.sees("Tasks that differ (1 of 2 tasks)", ".diff")
        assert f"diff={one}" in page.driver.current_url
        page.open(f"/runs/{two}?diff={two}", token=None).sees("are equal", ".diff")
        assert page.unnamed_controls() == []


# ---- other pages ----


@test
def queues_page_can_pause_and_limit_a_queue_and_marks_queues_without_a_worker():
    with browsing("--worker", "1") as page:
        page.server.submit(function="send", queue="mail")
        page.open("/queues").sees("1 queue with waiting jobs and no worker")
        page.one(".queues tr", "nobody serves it")
        page.click(".queues button", "Pause")
        page.confirm("Pause", "provider down")
        page.sees("by console: provider down")
        page.click(".queues button", "Resume")
        page.confirm("Resume")
        page.lacks("provider down")
        page.click(".queues button", "Limit")
        page.fill("dialog [name=max]", "3")
        page.confirm("Set the limit")
        page.sees("1 of 3")
        page.click("nav a", "Workers")
        page.one(".workers tr", "alive")
        assert page.unnamed_controls() == []


@test
def workers_page_lists_running_jobs_and_links_to_their_logs():
    with browsing("--worker", "1") as page:
        page.open("/workers").sees("No job is running")
        run = page.server.submit(yaml="name: talker\ntasks: {a: {run: \"printf '\\\\033[31mtalking\\\\033[0m\\\\n'; sleep 600\"}}\n")
        page.one(".jobs tr", "talker::a")
        page.click(".jobs a", "talker::a")
        page.sees("talking", ".lines")
        page.server.post(f"/v1/executions/{run}/cancel").expect(200)
        page.one(".run-title .chip", "cancelled")


@test
def schedules_page_can_pause_resume_and_run_a_schedule():
    with browsing("--worker", "1") as page:
        page.open("/schedules").sees("No schedule is stored")
        file = f"{page.server.db.dir}/nightly.flow.yaml"
        open(file, "w").write("name: nightly\non: {schedule: {cron: '0 3 * * *'}}\ntasks: {a: {run: 'true'}}\n")
        page.server.db.pawl("apply", file)
        page.open("/schedules", token=None).one(".schedules tr", "0 3 * * *")
        page.click(".schedules button", "Pause")
        page.confirm("Pause", "holiday")
        page.sees("by console: holiday")
        page.click(".schedules button", "Resume")
        page.confirm("Resume")
        page.lacks("holiday")
        page.click(".schedules button", "Run now")
        page.confirm("Run")
        page.one(".run-title .chip", "succeeded")
        page.sees("by ", ".meta")


@test
def events_page_adds_new_events_unless_it_is_paused_and_filters_by_type():
    with browsing("--worker", "1") as page:
        page.open("/events").sees("No event of this kind")
        page.server.wait(page.server.submit(yaml=TWO))
        page.one(".events tr", "workflow.failed")
        page.click(".chips button", "Failures")
        page.until(lambda: len(page.all(".events tbody tr")) == 2, "two failures")
        page.open("/events?type=task.completed", token=None)
        page.until(lambda: len(page.all(".events tbody tr")) == 1, "one success")
        page.click("button", "Pause")
        page.server.wait(page.server.submit(yaml=OK))
        page.click("button", "Continue (1 new)")
        page.until(lambda: len(page.all(".events tbody tr")) == 2, "two successes")


@test
def system_page_can_create_and_revoke_access_tokens():
    with browsing() as page:
        page.open("/system").click("button", "New token")
        page.fill("dialog [name=name]", "ci")
        page.click("dialog label", "submit")
        page.fill("dialog [name=expires_in]", "90d")
        page.click("dialog button", "Create")
        secret = page.one("dialog .copyable code").text
        assert page.server.get("/v1/identity", token=secret).expect(200).json["scopes"] == ["read", "submit"]
        page.confirm("Done")
        page.one(".tokens tr", "ci")
        page.click(".tokens button", "Revoke")
        page.confirm("Revoke", "leaked")
        page.one(".tokens tr", "revoked")
        page.server.get("/v1/identity", token=secret).expect(401)
        page.click("summary", "/metrics")
        page.sees("pawl_queue_jobs")


# ---- all pages ----


@test
def markup_and_escape_sequences_from_jobs_are_shown_as_text():
    with browsing("--worker", "2") as page:
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
    with browsing("--worker", "1") as page:
        s = page.server
        long = "a_very_long_name_without_any_space_" + "x" * 60
        run = s.submit(yaml=f"name: {long}\ntasks: {{{long}b: {{run: 'echo {long}{long}{long}; exit 1'}}}}\n")
        s.submit(function="f", queue="a" * 64)
        s.wait(run)
        page.open("/").sees(long)
        for scheme in ("light", "dark"):
            page.resize(390, scheme=scheme)
            for path in ("/", f"/runs/{run}", f"/runs/{run}?tab=events", f"/runs/{run}?tab=data", f"/runs/{run}?diff={run}", f"/workflows/{long}", "/queues", "/workers", "/schedules", "/events", "/system"):
                page.open(path, token=None)
                page.one("h1")
                page.until(lambda: page.all(".list tr, .trow, .empty, .diff-side, .card"), "content")
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


main()
