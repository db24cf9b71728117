"""The drawings of a run in a real browser: the graph of its tasks, and the bars of its executions. TEST_LONG"""

import datetime

from harness import main, test
from web_fixture import SLEEPER, Keys, browsing

SHAPES = """
return [...document.querySelectorAll(".graph .node")].map((n) => ({
  name: n.querySelector(".node-name").textContent, status: /s-(\\w+)/.exec(n.getAttribute("class"))[1], chosen: n.classList.contains("chosen"),
  text: n.getAttribute("aria-label"), boxes: n.querySelectorAll("rect").length, role: n.getAttribute("role"),
}))
"""


def nodes(page):
    """The nodes of the graph by name."""
    shown = page.js(SHAPES)
    assert len({n["name"] for n in shown}) == len(shown), shown
    return {n["name"]: n for n in shown}


def statuses(page):
    return {name: n["status"] for name, n in nodes(page).items()}


@test
def graph_is_opened_by_its_tab_or_address_and_shows_changes_live():
    with browsing("--worker", "2") as page:
        gate = f"{page.server.db.dir}/gate"
        run = page.server.submit(yaml=f"name: drawn\ntasks:\n  first: {{run: 'until [ -e {gate} ]; do sleep 0.1; done'}}\n  each: {{needs: first, foreach: 3, run: 'true'}}\n  last: {{needs: each, run: exit 3}}\n")
        page.open(f"/runs/{run}").one(".trow", "last")
        assert not page.all(".graph")
        page.click(".views button", "Graph")
        before = {"first": "running", "each": "pending", "last": "pending"}
        page.until(lambda: statuses(page) == before, "the graph of a running workflow")
        assert page.driver.current_url.endswith(f"/runs/{run}?view=graph") and len(page.all(".graph .edge")) == 2
        page.open(f"/runs/{run}?view=graph", token=None).one(".views [aria-pressed=true]", "Graph")
        page.until(lambda: statuses(page) == before, "the graph of the address")
        page.js("window.isSame = true")
        open(gate, "w").close()
        page.until(lambda: statuses(page) == {"first": "succeeded", "each": "succeeded", "last": "failed"}, "the statuses at the end")
        assert page.js("return window.isSame"), "the page was loaded again"
        # A fan-out is one box, drawn as a stack, with the count of its items.
        each = nodes(page)["each"]
        assert each["boxes"] == 3 and "3 of 3" in each["text"], each
        assert nodes(page)["first"]["boxes"] == 1
        page.click(".views button", "Tree")
        page.one(".trow", "last")
        assert "view=" not in page.driver.current_url and not page.all(".graph")
        job = page.server.submit(function="f")
        page.open(f"/runs/{job}?view=graph", token=None).one(".trow")
        assert "Graph" not in page.text(".views")


@test
def node_of_the_graph_is_selected_by_a_click_and_by_the_keys_enter_and_space():
    with browsing("--worker", "2") as page:
        run = page.server.submit(yaml="name: drawn\ntasks: {one: {run: echo from one}, two: {needs: one, run: echo from two}, each: {needs: two, foreach: 2, run: 'true'}}\n")
        page.server.wait(run)
        page.open(f"/runs/{run}?view=graph").one(".graph .node")

        def is_selected(name):
            page.one(".detail h2", name)
            page.until(lambda: [n for n, shape in nodes(page).items() if shape["chosen"]] == [name], f"{name} is marked")
            task = next(e["id"] for e in page.server.get(f"/v1/executions?parent={run}").json["items"] if e["name"] == f"drawn::{name}")
            page.until(lambda: f"task={task}" in page.driver.current_url, f"{name} in the address")

        def focus(name):
            page.js("[...document.querySelectorAll('.graph .node')].find((n) => n.querySelector('.node-name').textContent === arguments[0]).focus()", name)

        page.click(".graph .node", "two")
        is_selected("two")
        page.sees("from two", ".lines")
        focus("one")
        page.keys(Keys.ENTER)
        is_selected("one")
        page.sees("from one", ".lines")
        assert page.js("return document.activeElement.querySelector('.node-name')?.textContent") == "one"  # it was drawn again
        focus("each")
        page.keys(Keys.SPACE)
        is_selected("each")
        assert page.unnamed_controls() == []


@test
def equal_tasks_of_a_workflow_with_more_than_300_are_one_box():
    with browsing("--worker", "4") as page:
        equal = "".join(f"  t{i}: {{needs: first, run: 'true'}}\n" for i in range(299))
        needs = ", ".join(f"t{i}" for i in range(299))
        run = page.server.submit(yaml=f"name: wide\ntasks:\n  first: {{run: 'true'}}\n{equal}  last: {{needs: [{needs}], run: 'true'}}\n")
        page.open(f"/runs/{run}?view=graph").sees("301 tasks are drawn as 3 boxes", ".graph")
        page.server.wait(run)
        page.until(lambda: list(statuses(page).values()) == ["succeeded"] * 3, "the statuses at the end")
        shown = nodes(page)
        group = shown["t0 +298 more"]
        assert len(shown) == 3 and {"first", "last"} < set(shown) and "299 of 299" in group["text"] and group["boxes"] == 3, shown
        assert group["role"] == "img"  # it stands for many tasks, so it does not select one


# For each row, from where to where its bar goes in the colour of its status, and the line below it that marks the critical path.
BARS = """
const canvas = document.querySelector(".outline canvas"), g = canvas.getContext("2d"), at = canvas.getBoundingClientRect();
const probe = document.body.appendChild(document.createElement("span"));
const colour = (name) => {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color.match(/\\d+/g).map(Number);
};
const extent = (y, rgb) => {
  const pixels = g.getImageData(0, Math.round(y - at.top), canvas.width, 1).data, xs = [];
  for (let x = 0; x < canvas.width; x++)
    if (pixels[4 * x + 3] > 100 && rgb.every((c, i) => Math.abs(c - pixels[4 * x + i]) < 6)) xs.push(x);
  return xs.length ? [xs[0], xs.at(-1) + 1] : null;
};
const rows = {};
for (const row of document.querySelectorAll(".trow")) {
  const box = row.getBoundingClientRect(), middle = (box.top + box.bottom) / 2;
  rows[row.querySelector(".label").textContent] = {bar: extent(middle, colour(arguments[0])), critical: extent(middle + 8, colour("text"))};
}
probe.remove();
return {rows, width: canvas.clientWidth, ratio: canvas.width / canvas.clientWidth};
"""


@test
def bar_of_each_execution_is_drawn_at_its_time_and_the_critical_path_is_marked():
    with browsing("--worker", "3") as page:
        run = page.server.submit(yaml="name: paths\ntasks: {long: {run: sleep 1}, short: {run: 'true'}, last: {needs: [long, short], run: sleep 1}}\n")
        page.server.wait(run)
        lines = {e["task_name"] or e["name"]: e for e in page.server.get(f"/v1/executions/{run}/outline").json["items"]}
        ms = lambda iso: datetime.datetime.fromisoformat(iso).timestamp() * 1000
        start, end = ms(lines["paths"]["requested_at"]), max(ms(e["finished_at"]) for e in lines.values())

        def judge(colour):
            page.until(lambda: page.js(BARS, colour)["rows"]["last"]["critical"], "the critical path")
            drawn = page.js(BARS, colour)
            assert drawn["ratio"] == 1 and set(drawn["rows"]) == set(lines), drawn
            x = lambda iso: 6 + (ms(iso) - start) * (drawn["width"] - 16) / (end - start)
            for name, e in lines.items():
                left, right = drawn["rows"][name]["bar"]
                assert abs(left - x(e["started_at"])) <= 2 and abs(right - max(x(e["finished_at"]), left + 2)) <= 2, (name, e, drawn)
                marked = drawn["rows"][name]["critical"]
                assert bool(marked) == (name in ("long", "last")), (name, drawn)
                assert not marked or (abs(marked[0] - left) <= 1 and abs(marked[1] - right) <= 1), (name, drawn)

        page.open(f"/runs/{run}").one(".trow", "last")
        judge("green")
        page.resize(1280, 900, scheme="dark")  # other colours
        page.open(f"/runs/{run}", token=None).one(".trow", "last")
        judge("green")


@test
def bar_of_a_running_job_grows_in_its_own_colour():
    with browsing("--worker", "1") as page:
        run = page.server.submit(yaml=SLEEPER)
        page.open(f"/runs/{run}").one(".trow", "a")
        bars = lambda: page.js(BARS, "blue")["rows"]
        page.until(lambda: (bars()["a"]["bar"] or [0, 0])[1] > 20, "the bar of the running job")
        assert bars()["z"]["bar"] is None, bars()
        page.server.post(f"/v1/executions/{run}/cancel").expect(200)
        page.server.wait(run)
        page.until(lambda: bars()["a"]["bar"] is None and page.js(BARS, "violet")["rows"]["a"]["bar"], "the colour of a cancelled job")


main()
