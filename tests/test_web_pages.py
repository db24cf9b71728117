"""Queues, workers, schedules, events and System in a real browser. TEST_LONG"""

from harness import main, test
from server_fixture import PATIENCE
from web_fixture import Keys, OK, REFUSED, TWO, browsing


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
def pages_without_data_name_a_command_that_gives_them_some():
    commands = {"/": "pawl submit hello.flow.yaml", "/workflows": "pawl apply hello.flow.yaml", "/queues": "pawl exec --detach -- echo hello", "/workers": "pawl worker",
                "/schedules": "pawl apply nightly.flow.yaml", "/events": "pawl exec --detach -- echo hello"}
    with browsing() as page:
        for path, command in commands.items():
            page.open(path).one(".copyable code", command)
            assert page.all(".copyable button") and page.unnamed_controls() == []
        page.open("/events?type=failed", token=None).sees("No event of this kind is stored")
        assert not page.all(".copyable")
        page.server.db.pawl(*commands["/events"].split()[1:])
        page.click("button", "Show all")
        page.one(".events tr", "task.created")
        page.open("/queues", token=None).one(".queues tr", "default")


@test
def workers_page_drains_a_worker_and_marks_it_until_its_command_has_ended():
    with browsing() as page, page.server.db.worker() as (process, id):
        run = page.server.submit(yaml="name: talker\ntasks: {a: {run: 'while [ ! -e go ]; do sleep 0.05; done', cwd: '%s'}}\n" % page.server.db.dir)
        page.open("/workers").one(".jobs tr", "talker::a")
        assert page.unnamed_controls() == []
        page.keys("j", Keys.ENTER)  # without a mouse
        page.confirm("Drain", "new disk")
        page.one(".workers tr", "draining")
        page.sees("by console: new disk")
        assert not page.all(".workers tbody button")
        open(f"{page.server.db.dir}/go", "w").close()
        assert page.server.wait(run)["status"] == "succeeded"
        assert process.wait(PATIENCE) == 0
        page.sees("No worker is connected")


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
        page.open("/events").sees("No event is stored")
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


@test
def token_of_a_worker_is_limited_to_queues_and_lanes():
    with browsing(allowed=(REFUSED,)) as page:
        page.open("/system").click("button", "New token")
        page.fill("dialog [name=name]", "images")
        page.fill("dialog [name=queues]", "images, thumbnails")
        page.click("dialog button", "Create")
        page.sees("work", "dialog .wrong")
        page.click("dialog label", "run jobs as a worker")
        page.fill("dialog [name=lanes]", "process,function:resize")
        page.click("dialog button", "Create")
        page.one("dialog .copyable code")
        page.confirm("Done")
        page.one(".tokens tr", "queues images, thumbnails")
        page.one(".tokens tr", "lanes process, function:resize")
        token = page.server.get("/v1/tokens").json["items"][0]
        assert (token["scopes"], token["queues"], token["lanes"]) == (["read", "work"], ["images", "thumbnails"], ["process", "function:resize"]), token


@test
def database_is_verified_on_the_page_system():
    with browsing("--worker", "1") as page:
        page.server.wait(page.server.submit(yaml=TWO))
        page.open("/system").click("button", "Verify")
        page.sees("All invariants hold")
        page.sees("3 executions")


@test
def chosen_appearance_is_kept_and_otherwise_follows_the_system():
    with browsing() as page:
        light, dark = "rgb(247, 248, 249)", "rgb(15, 18, 22)"
        shown = lambda: page.js("return getComputedStyle(document.body).backgroundColor")
        stored = lambda: page.js("return localStorage.getItem('pawl-theme')")
        page.open("/system").click("fieldset label", "dark")
        assert (shown(), stored()) == (dark, "dark")
        page.open("/queues", token=None).one("h1", "Queues")
        assert shown() == dark
        page.resize(1280, 900, scheme="dark")
        page.open("/system", token=None).click("fieldset label", "light")
        assert (shown(), stored()) == (light, "light")
        page.open("/system", token=None).one("fieldset input[value=light]:checked")
        assert shown() == light
        page.click("fieldset label", "as the system")
        assert (shown(), stored()) == (dark, None)
        page.open("/", token=None).one("h1", "Runs")
        assert shown() == dark
        page.resize(1280, 900, scheme="light")
        page.until(lambda: shown() == light, "the appearance of the system")


main()
