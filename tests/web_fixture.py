"""web_fixture.py - Chromium for tests of the pages. A test fails if the pages log an error, violate their content policy, or ask
another origin for anything."""

import atexit
import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
import time

from server_fixture import PATIENCE, serving

try:
    from selenium import webdriver
    from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, WebDriverException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    # Debian's selenium belongs to Debian's Python, which may not be the first one in the path.
    if sys.executable == "/usr/bin/python3" or not os.path.exists("/usr/bin/python3"):
        raise
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

TWO = "name: two\nparams: {who: {type: string, default: you}}\ntasks:\n  a: {run: 'echo hello $who'}\n  b: {needs: a, run: exit 3}\n"
OK = "name: fine\ntasks: {a: {run: echo well}}\n"
SLEEPER = "name: sleeper\ntasks: {a: {run: sleep 600}, z: {needs: a, run: 'true'}}\n"
GATE = "name: gate\ntasks: {a: {run: echo through, approval: {message: go?}}}\n"
REFUSED = "status of 4"  # the browser logs each refused request

# Runs before the scripts of each document.
WATCH = """
window.hostile = [];
window.violations = [];
document.addEventListener("securitypolicyviolation", (e) => window.violations.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample));
window.alert = window.confirm = window.prompt = (x) => window.hostile.push(x);
"""


def start_chromium():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    folder = tempfile.mkdtemp(prefix="pawl-chromium.")
    for argument in (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--window-size=1280,900", f"--user-data-dir={folder}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_page_load_timeout(PATIENCE)
    driver.set_script_timeout(PATIENCE)
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    return driver, folder


class Page:
    """A tab with the pages of a server."""

    driver = None

    def __init__(self, server):
        self.server, self.origin = server, f"http://127.0.0.1:{server.port}"

    def events(self, run, kind):
        return [e for e in self.server.get(f"/v1/executions/{run}/events").json["items"] if e["type"].endswith("." + kind)]

    # ---- looking ----

    def until(self, condition, what):
        """Waits until the condition is true; returns its value."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if value := condition():
                    return value
            except (NoSuchElementException, StaleElementReferenceException):
                pass
            if time.monotonic() > end:
                raise AssertionError(f"not seen: {what}; the page shows:\n{self.text('body')[:3000]}")
            time.sleep(0.05)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector, text=""):
        """Waits for a visible element with this text; returns the first one."""
        return self.until(lambda: next((e for e in self.all(selector) if text in e.text and e.is_displayed()), None), f"{selector} with '{text}'")

    def text(self, selector="main"):
        return self.js("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def sees(self, text, selector="main"):
        return self.until(lambda: text in self.text(selector), f"'{text}' in {selector}")

    def lacks(self, text, selector="main"):
        return self.until(lambda: text not in self.text(selector), f"no '{text}' in {selector}")

    def statuses(self):
        """The statuses of the rows of the tree."""
        return self.js("return [...document.querySelectorAll('.trow .mark')].map((m) => m.getAttribute('aria-label'))")

    def js(self, script, *args):
        return self.driver.execute_script(script, *args)

    def settled(self):
        """Waits until nothing on the page is being loaded, and fonts and animations do not change it."""
        quiet = "return document.readyState === 'complete' && performance.now() - Math.max(0, ...performance.getEntriesByType('resource').map((r) => r.responseEnd)) > 600"
        self.until(lambda: self.js(quiet), "a quiet page")

    # ---- acting ----

    def open(self, path, token=True):
        self.driver.get(self.origin + path + (f"#token={self.server.token}" if token is True else f"#token={token}" if token else ""))
        return self

    def click(self, selector, text=""):
        def attempt():
            try:
                element = self.one(selector, text)
                # The browser's driver does not know that the header of the page covers elements that are scrolled below it.
                self.js("if (!arguments[0].closest('.outline, dialog')) arguments[0].scrollIntoView({block: 'center'})", element)
                element.click()
                return True
            except (StaleElementReferenceException, WebDriverException) as error:
                if "intercept" in str(error) or isinstance(error, StaleElementReferenceException):
                    return False  # the page replaced the element, or a message covers it for some seconds
                raise

        self.until(attempt, f"{selector} with '{text}' to click")

    def keys(self, *keys):
        for key in keys:
            webdriver.ActionChains(self.driver).send_keys(key).perform()

    def fill(self, selector, text):
        """Types into a field; into a field of several lines it pastes, since that one indents what is typed."""

        def attempt():
            field = self.one(selector)
            if field.tag_name == "textarea":
                self.js("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))", field, text)
            else:
                field.clear()
                field.send_keys(text)
            return True

        self.until(attempt, f"{selector} to fill")

    def choose(self, selector, value):
        """Chooses an option of a list."""
        self.one(selector)
        self.until(lambda: self.js("""
            const s = document.querySelector(arguments[0]);
            if (![...s.options].some((o) => o.value === arguments[1])) return false;
            s.value = arguments[1];
            s.dispatchEvent(new Event("change", {bubbles: true}));
            return true;""", selector, value), f"{value} in {selector}")

    def confirm(self, button, reason=None):
        """Answers the open dialog."""
        if reason:
            self.fill("dialog[open] [name=reason]", reason)
        self.click("dialog[open] button.primary", button)
        self.until(lambda: not self.all("dialog[open]"), "the dialog to close")

    def resize(self, width, height=844, scheme="light"):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    # ---- judging ----

    def unnamed_controls(self):
        """Controls that a screen reader can't name."""
        nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        roles = ("button", "link", "textbox", "searchbox", "checkbox", "radio", "slider", "combobox", "spinbutton", "treeitem", "tab", "img", "tree", "dialog")
        kind = lambda n: n.get("role", {}).get("value")
        return [kind(n) for n in nodes if not n.get("ignored") and kind(n) in roles and not n.get("name", {}).get("value", "").strip()]

    def judge(self, allowed):
        """Checks what must hold for every page; `allowed` are parts of messages that the test causes on purpose."""
        assert self.js("return [window.hostile, window.violations]") == [[], []], self.js("return [window.hostile, window.violations]")
        # A busy server may refuse a request for now; the page asks again.
        allowed = (*allowed, "status of 503")
        wrong = [m["message"] for m in self.driver.get_log("browser") if m["level"] == "SEVERE" and not any(a in m["message"] for a in allowed)]
        assert not wrong, wrong
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                assert url.startswith((self.origin + "/", "data:", "blob:" + self.origin, "about:")), f"a request to {url}"


@contextlib.contextmanager
def browsing(*options, allowed=()):
    """A server of a new database and a tab without cookies."""
    if not Page.driver:
        Page.driver, Page.folder = start_chromium()
        atexit.register(end_chromium)
    with serving(*options) as server:
        page = Page(server)
        driver = page.driver
        driver.get("about:blank")
        for command in ("Network.clearBrowserCookies", "Network.clearBrowserCache"):
            driver.execute_cdp_cmd(command, {})
        page.resize(1280, 900)
        for log in ("browser", "performance"):
            driver.get_log(log)
        yield page
        page.judge(allowed)
        driver.get("about:blank")  # ends its stream, so that the server can stop at once


@contextlib.contextmanager
def pages_with(script, **constants):
    """A folder with the pages, in which constants of a script have other values: for `--web`."""
    folder = tempfile.mkdtemp(prefix="pawl-web.")
    try:
        shutil.copytree("web", folder, dirs_exist_ok=True)
        text = open(f"web/{script}").read()
        for name, value in constants.items():
            text, found = re.subn(rf"\b{name} = \d+", f"{name} = {value}", text)
            assert found == 1, (script, name)
        open(f"{folder}/{script}", "w").write(text)
        yield folder
    finally:
        shutil.rmtree(folder)


def end_chromium():
    Page.driver.quit()
    shutil.rmtree(Page.folder, ignore_errors=True)
