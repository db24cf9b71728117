"""Checks every page with axe-core, in both themes and on a narrow screen: labels, roles, contrast, order. Called by tests/check_web."""

import sys

from web_fixture import GATE, OK, REFUSED, SLEEPER, TWO, browsing

RUN = """
const done = arguments[0];
axe.run(document, {resultTypes: ["violations"]}).then((r) => done(r.violations), (e) => done([{id: "axe", help: String(e), nodes: []}]));
"""
FORM = "name: form\nparams: {a: {type: string, required: true}, b: {type: list, default: [1]}, c: {type: boolean, default: true}}\non: {schedule: {cron: '0 3 * * *', with: {a: night}}}\ntasks: {a: {run: 'true'}, b: {needs: a, run: 'exit 3'}}\n"


def check(page, axe, what):
    """Returns the number of violations."""
    page.settled()
    page.js(axe)
    found = page.driver.execute_async_script(RUN)
    for v in found:
        print(f"{what}: {v['id']}: {v['help']}")
        for node in v["nodes"][:5]:
            print(f"    {' '.join(map(str, node['target']))}: {(node['failureSummary'] or '').splitlines()[-1].strip()}")
    return len(found)


def fill(page):
    server = page.server
    for text in (FORM, FORM.replace("exit 3", "exit 4")):
        server.ask("PUT", "/v1/workflows/form", text.encode(), headers={"Content-Type": "application/yaml"}).expect(200)
    for _ in range(3):
        server.wait(server.submit(workflow="form", params={"a": "x"}))
    failed, gate, live = server.submit(yaml=TWO), server.submit(yaml=GATE), server.submit(yaml=SLEEPER)
    server.wait(failed), server.wait(server.submit(yaml=OK))
    server.wait(server.submit(yaml="name: colours\ntasks: {a: {run: \"for c in 31 32 33 34 35 36 90 91; do printf '\\\\033[%dmcolour %d\\\\033[0m\\\\n' $c $c; done\"}}\n"))
    server.submit(function="f", queue="nobody")
    server.post("/v1/queues/nobody/pause", {"reason": "away"}).expect(200)
    colours = server.get("/v1/executions?workflow=colours").json["items"][0]["id"]
    return failed, gate, live, colours


def check_all(page, axe, scheme, width):
    failed, gate, live, colours = page.runs
    page.resize(width, 900, scheme=scheme)
    paths = [
        "/", "/?name=nothing-like-it", "/workflows", "/workflows?new=true", "/workflows/form", "/workflows/form?view=definition", "/workflows/form?view=versions", "/workflows/none",
        f"/runs/{failed}", f"/runs/{gate}", f"/runs/{live}", f"/runs/{colours}", f"/runs/{failed}?view=graph", f"/runs/{failed}?diff={gate}", f"/runs/{failed}?tab=attempts", f"/runs/{failed}?tab=events",
        f"/runs/{failed}?tab=data", f"/runs/{failed}?task={failed}&tab=definition", f"/runs/{failed}?at_event=3", "/queues", "/workers", "/schedules", "/events", "/system",
    ]
    violations = 0
    for path in paths:
        page.open(path, token=None).one("h1")
        violations += check(page, axe, f"{path} ({scheme}, {width} px)")
    where = f"({scheme}, {width} px)"
    return violations + sum(look(page, axe, where) for look in (check_dialogs, check_system, check_editor, check_history, check_login))


def check_dialogs(page, axe, where):
    """Pages with a dialog, a selection, marked problems or found lines."""
    failed, _, live, _ = page.runs
    violations = 0
    page.open("/", token=None).click("button", "New run")
    page.choose("dialog [name=workflow]", "form")
    page.one("dialog [name='param:a']")
    violations += check(page, axe, f"new run {where}")
    page.click("dialog label", "a pasted workflow")
    page.fill("dialog textarea", "name: x\ntasks: {a: {rn: 1}}\n")
    page.click("dialog button.primary", "Run")
    page.one(".problems li")
    violations += check(page, axe, f"problems {where}")
    page.open("/?workflow=form", token=None).click(".runs .pick input")
    page.click(".selected-bar button", "Cancel, pause")
    page.sees("would be changed", "dialog")
    violations += check(page, axe, f"many runs {where}")
    page.open(f"/runs/{live}", token=None).click(".head button", "Cancel")
    violations += check(page, axe, f"cancel {where}")
    page.open(f"/runs/{failed}", token=None).click(".head button", "Rerun")
    page.sees("would run again", "dialog")
    violations += check(page, axe, f"rerun {where}")
    page.open(f"/runs/{failed}?task=a", token=None).sees("hello", ".lines")
    page.fill(".log-search input", "hello\n")
    page.one(".found .chosen")
    violations += check(page, axe, f"found lines {where}")
    page.open("/", token=None).click("button", "?")
    violations += check(page, axe, f"keys {where}")
    return violations


def check_system(page, axe, where):
    """The dialogs of the page System, and its lists with what they have created."""
    violations = 0
    name = "made_" + "".join(c if c.isalnum() else "_" for c in where)
    page.open("/system", token=None).click("button", "New token")
    violations += check(page, axe, f"new token {where}")
    page.fill("dialog [name=name]", name)
    page.click("dialog button.primary", "Create")
    page.one("dialog h1", "The new token")
    violations += check(page, axe, f"secret of a token {where}")
    page.confirm("Done")
    page.click(".tokens tr:not(.over) button", "Revoke")
    violations += check(page, axe, f"revoke a token {where}")
    page.confirm("Revoke")
    page.one(".tokens tr", "revoked")
    page.click("button", "New webhook")
    violations += check(page, axe, f"new webhook that reports {where}")
    page.click("dialog label", "starts a workflow")
    page.fill("dialog [name=name]", name)
    violations += check(page, axe, f"new webhook that starts {where}")
    page.click("dialog button.primary", "Create")
    page.one("dialog h1", "The secret of")
    violations += check(page, axe, f"secret of a webhook {where}")
    page.confirm("Done")
    page.click(f"[aria-label='Revoke {name}']")
    violations += check(page, axe, f"revoke a webhook {where}")
    page.click("dialog button", "Close")
    return violations + check(page, axe, f"/system with tokens and webhooks {where}")


def check_editor(page, axe, where):
    page.open("/workflows?new=true", token=None).fill(".edit textarea", "name: x\ntasks:\n  a: {rn: 1}\n  b: {needs: d, run: 'true'}\n")
    page.click(".edit button", "Apply")
    page.one(".edit .problems li")
    return check(page, axe, f"workflow with problems {where}")


def check_history(page, axe, where):
    failed, _, _, _ = page.runs
    page.open(f"/runs/{failed}", token=None).click("button", "History")
    page.sees("event 1", ".moment")
    return check(page, axe, f"history {where}")


def check_login(page, axe, where):
    page.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    page.open("/system", token=None).one("dialog.login")
    violations = check(page, axe, f"login {where}")
    page.fill("#token", "not a token")
    page.click("dialog button", "Log in")
    page.sees("not valid", "dialog")
    violations += check(page, axe, f"refused login {where}")
    page.open("/").one("h1", "Runs")  # with the token
    return violations


def main():
    axe = open(sys.argv[1]).read()
    violations = 0
    with browsing(allowed=(REFUSED,)) as page:
        page.open("/").sees("Nothing has run yet")
        for path in ("/", "/workflows", "/queues", "/workers", "/schedules", "/events", "/system"):
            page.open(path, token=None).one("h1")
            violations += check(page, axe, f"{path} (nothing stored)")
    with browsing("--worker", "4", allowed=(REFUSED,)) as page:
        page.runs = fill(page)
        page.open("/").one(".runs tr", "two")
        for scheme, width in (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)):
            violations += check_all(page, axe, scheme, width)
        page.server.post(f"/v1/executions/{page.runs[2]}/cancel").expect(200)
        page.server.wait(page.runs[2])
    print(f"axe-core: {violations} violations" if violations else "axe-core: no violation")
    sys.exit(1 if violations else 0)


main()
