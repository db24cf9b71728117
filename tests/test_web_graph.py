"""The drawings of a run in a real browser: the graph of its tasks. TEST_LONG"""

from harness import main, test
from web_fixture import Keys, browsing

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


main()
