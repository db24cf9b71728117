"""What the server sends to browsers, and who may use the pages. TEST_LONG"""

import gzip
import json
import os
import re
import socket
import subprocess

from harness import main, test
from server_fixture import PATIENCE, serving
from web_fixture import REFUSED, SLEEPER, TWO, browsing

ZIPPED = {"Accept-Encoding": "gzip"}


# ---- what is served ----


@test
def pages_are_sent_compressed_and_cached_by_the_hash_of_their_content():
    with serving() as s:
        document = s.get("/", token=None, headers=ZIPPED).expect(200)
        assert document.headers["Content-Type"] == "text/html; charset=utf-8"
        assert (document.headers["Content-Encoding"], document.headers["Cache-Control"]) == ("gzip", "no-cache")
        assert "trusted-types" in ", ".join(document.headers.get_all("Content-Security-Policy"))
        html = gzip.decompress(document.body).decode()
        s.get("/", token=None, headers={**ZIPPED, "If-None-Match": document.headers["ETag"]}).expect(304)
        names = re.findall(r'/assets/[0-9a-f]+/[\w.]+', html)
        assert names and "/assets/dev/" not in html
        for name in names:
            asset = s.get(name, token=None, headers=ZIPPED).expect(200)
            assert asset.headers["Cache-Control"] == "public, max-age=31536000, immutable"
            assert asset.headers["X-Content-Type-Options"] == "nosniff" and gzip.decompress(asset.body)
        for path in ("/runs/17?tab=log", "/workflows/x", "/queues", "/workers", "/schedules", "/events?type=failed", "/system"):
            assert s.get(path, token=None, headers=ZIPPED).expect(200).body == document.body
        folder = names[0].rsplit("/", 1)[0]
        for path in ("/assets/0000/app.js", f"{folder}/index.html", f"{folder}/other.js", f"{folder}/..%2f..%2fMakefile", f"{folder}/%2fetc%2fpasswd", "/assets/../Makefile", "/nothing"):
            s.get(path, token=None).expect(404)
        assert not [p for p in s.get("/openapi.json").json["paths"] if p == "/" or p.startswith(("/assets", "/runs"))]


@test
def pages_are_sent_as_they_are_to_a_client_that_does_not_accept_gzip():
    with serving() as s:
        headers = lambda accept: {"Accept-Encoding": accept}
        zipped = s.get("/", token=None, headers=ZIPPED).expect(200)
        html = gzip.decompress(zipped.body)
        script = next(name for name in re.findall(r"/assets/[0-9a-f]+/[\w.]+", html.decode()) if name.endswith("/app.js"))
        content = {"/": html, script: open("web/app.js", "rb").read()}
        for path, text in content.items():
            for accept in ("identity", "", "br, deflate", "gzip;q=0", "gzip; q=0.000, *", "*;q=0", "x-gzipped", "br, GZIP;Q=0"):
                answer = s.get(path, token=None, headers=headers(accept)).expect(200)
                assert answer.body == text and "Content-Encoding" not in answer.headers, accept
                assert (answer.headers["Vary"], answer.headers["Content-Length"]) == ("Accept-Encoding", str(len(text)))
            for accept in ("gzip", "br, gzip", "deflate,GZip;q=0.001", "*", "br;q=0, *;q=0.5", "x-gzip", "*;q=0,gzip"):
                answer = s.get(path, token=None, headers=headers(accept)).expect(200)
                assert gzip.decompress(answer.body) == text and answer.headers["Content-Encoding"] == "gzip", accept
                assert answer.headers["Vary"] == "Accept-Encoding"
        with socket.create_connection(("127.0.0.1", s.port), timeout=PATIENCE) as c:
            c.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nConnection: close\r\n\r\n".encode())
            assert c.makefile("rb").read().endswith(html)

        # A cache may not take one for the other.
        plain = s.get("/", token=None, headers=headers("identity"))
        assert plain.headers["ETag"] != zipped.headers["ETag"]
        for answer, accept, status in ((plain, "identity", 304), (plain, "gzip", 200), (zipped, "identity", 200), (zipped, "gzip", 304)):
            again = s.get("/", token=None, headers={**headers(accept), "If-None-Match": answer.headers["ETag"]}).expect(status)
            assert again.headers["Vary"] == "Accept-Encoding"


@test
def address_without_a_page_is_answered_with_a_page_to_browsers_only():
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    with browsing(allowed=(REFUSED,)) as page:
        s = page.server
        for path in ("/nothing", "/runs/17/log", "/queues/", "/workflow?x=1"):
            answer = s.get(path, token=None, headers=browser).expect(404)
            assert answer.body == s.get("/", token=None).body and answer.headers["Content-Type"] == "text/html; charset=utf-8"
            assert answer.headers["Cache-Control"] == "no-store" and "ETag" not in answer.headers
            assert answer.headers.get_all("Vary") == ["Accept", "Accept-Encoding"]
            assert "trusted-types" in ", ".join(answer.headers.get_all("Content-Security-Policy"))
            etag = s.get("/", token=None).headers["ETag"]
            s.get(path, token=None, headers={**browser, "If-None-Match": etag}).expect(404)
            for headers in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
                assert s.get(path, headers=headers).expect(404).headers["Content-Type"] == "application/problem+json"
        for method, path in (("GET", "/v1/nothing"), ("GET", "/v1/executions/17"), ("GET", "/assets/0000/app.js"), ("POST", "/nothing")):
            assert s.ask(method, path, headers=browser).expect(404).headers["Content-Type"] == "application/problem+json", path
        for path in ("/runs", "/runs?status=failed&q=a%20b"):
            assert s.get(path, token=None).expect(302).headers["Location"] == path.replace("/runs", "/")

        page.open("/nothing").one("h1", "Not found")
        page.sees("There is no page at this address.")
        page.open("/runs?status=failed,timed_out").one(".chips [aria-pressed=true]", "Failed")
        assert page.driver.current_url == page.origin + "/?status=failed,timed_out"


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
def document_of_a_page_names_all_scripts_that_the_page_begins_with():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml="name: one\ntasks: {a: {run: 'true'}}\n")
        page.server.wait(run)
        page.server.ask("PUT", "/v1/workflows/one", b"name: one\ntasks: {a: {run: 'true'}}\n", headers={"Content-Type": "application/yaml"}).expect(200)
        for path, shown in (("/", "tr.row"), (f"/runs/{run}", ".trow"), ("/workflows", "tr.row"), ("/workflows/one", "table"), ("/queues", "table"),
                            ("/workers", "table"), ("/schedules", "p"), ("/events", "tr"), ("/system", "h1")):
            document = page.server.get(path, token=None, headers=ZIPPED)
            named = set(re.findall(r"/assets/[0-9a-f]+/(\w+\.js)", gzip.decompress(document.body).decode() + document.headers.get("Link", "")))
            page.open(path).one(f"main {shown}")
            loaded = page.js("return performance.getEntriesByType('resource').map((r) => r.name).filter((n) => n.endsWith('.js'))")
            assert {name.rsplit("/", 1)[1] for name in loaded} == named, (path, named)


@test
def page_of_a_run_asks_only_for_that_run_and_the_reader():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml=TWO)
        page.server.wait(run)
        page.open(f"/runs/{run}").sees("wrote nothing", ".panel")
        page.settled()
        asked = page.js("return performance.getEntriesByType('resource').map((r) => new URL(r.name).pathname).filter((n) => !n.startsWith('/assets/'))")
        assert all(re.fullmatch(r"/v1/(session|stream|executions/\d+(/\w+)?)", path) for path in asked), asked


@test
def first_data_of_a_page_is_asked_for_once_and_together_with_the_reader():
    with browsing("--worker", "1", allowed=(REFUSED,)) as page:
        run = page.server.submit(yaml=TWO)
        page.server.wait(run)
        page.open("/").one("tr.row")
        own = f"/v1/executions/{run}"
        for path, shown, data in (("/", "tr.row", ["/v1/executions?limit=50"]), ("/queues", "tr.row", ["/v1/overview?limit=1"]),
                                  (f"/runs/{run}?task=a", ".trow", [own, own + "/outline", own + "/why"])):
            page.driver.get_log("performance")
            page.open(path, token=None).one(shown)
            page.sees("Live", ".state")
            messages = [json.loads(entry["message"])["message"] for entry in page.driver.get_log("performance")]
            asked = [m["params"]["request"]["url"].removeprefix(page.origin) for m in messages if m["method"] == "Network.requestWillBeSent"]
            asked = [url for url in asked if url.startswith("/v1/")]
            assert asked[: 1 + len(data)] == ["/v1/identity", *data], asked
            stream = next(i for i, url in enumerate(asked) if url.startswith("/v1/stream"))  # which makes the page load again
            assert all(asked[:stream].count(url) == 1 for url in data), asked
            begun = next(i for i, m in enumerate(messages) if m["method"] == "Network.requestWillBeSent" and m["params"]["request"]["url"].endswith(data[-1]))
            known = next(i for i, m in enumerate(messages) if m["method"] == "Network.responseReceived" and m["params"]["response"]["url"].endswith("/v1/identity"))
            assert begun < known, (path, begun, known)

        # Without a session the early requests are refused, and repeated after the login.
        page.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
        page.open("/", token=None).fill("#token", page.server.token)
        page.click("dialog button", "Log in")
        page.one("tr.row", "two")


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


main()
