"""Takes the pictures in docs/img: a real server with runs that succeed, fail, retry and wait, seen in Chromium.

    make screenshots
"""

import os
import random

from server_fixture import PATIENCE
from web_fixture import browsing

FOLDER = "docs/img"
WIDTH, HEIGHT = 1280, 800
BYTES_MAX = 150_000

RELEASE = """\
name: release
description: Builds, tests and releases one version of the shop.
params:
  version: {type: string, required: true, description: the tag to release}
  slow: {type: string, default: "0", description: seconds that the last region takes}
tasks:
  checkout:
    run: sleep 0.2; echo "checked out $version"
  lint:
    needs: checkout
    run: sleep 0.3; echo "214 files are fine"
  compile:
    needs: checkout
    run: |
      for part in core store engine server cli; do
        printf '\\033[32m  CC\\033[0m  %s.c\\n' $part; sleep 0.1
      done
      printf '\\033[33mwarning:\\033[0m core.c: unused variable\\n'
      echo "size=48213" >> "$PAWL_OUTPUT"
  test:
    needs: compile
    foreach: 12
    max_parallel: 4
    retry: {max: 2, delay: 100ms}
    run: |
      sleep 0.2
      [ "$ITEM $PAWL_ATTEMPT" != "7 1" ] || { echo "suite 7: no answer from the mail server" >&2; exit 75; }
      echo "suite $ITEM passed"
  approve:
    needs: [lint, test]
    run: echo "all checks of $version passed"
  deploy:
    needs: approve
    foreach: [eu-west, us-east, ap-south]
    env: {SLOW: "${{ params.slow }}"}
    run: |
      echo "stopping the old version in $ITEM"
      sleep 0.3
      printf '\\033[1mstarting %s in %s\\033[0m\\n' "$version" "$ITEM"
      sleep 0.2
      printf '\\033[32m12 of 12 instances are healthy\\033[0m\\n'
      [ "$ITEM" != ap-south ] || sleep "$SLOW"
  announce:
    needs: deploy
    run: echo "$version is out"
"""
IMPORT = """\
name: import-prices
description: Reads the price lists of all suppliers.
params: {day: {type: string, default: "2026-01-31"}, gap: {type: boolean, default: false}, wait: {type: string, default: "0.1"}}
on: {schedule: {cron: "30 4 * * *"}}
tasks:
  download: {run: 'sleep $wait; echo "3 files of $day"'}
  check:
    needs: download
    env: {GAP: "${{ params.gap }}"}
    run: |
      echo "checking the prices of $day"
      [ "$GAP" = false ] || { echo "column price has 17 empty values" >&2; exit 3; }
  load: {needs: check, run: 'sleep 0.1; echo "1,204 prices stored"'}
  index: {needs: load, run: 'true'}
  notify: {needs: [load], if: always(), run: 'echo mailed'}
"""


UNFOLD = """
const row = [...document.querySelectorAll(".trow")].find((r) => r.querySelector(".label").textContent === "deploy");
row?.querySelector("button.fold[aria-label=Unfold]")?.click();
return !!row;"""


def fill(page):
    """Runs that a reader may find anywhere; returns the one that still runs."""
    server, rng = page.server, random.Random(7)
    for text in (RELEASE, IMPORT):
        name = text.split("\n")[0].removeprefix("name: ")
        server.ask("PUT", f"/v1/workflows/{name}", text.encode(), headers={"Content-Type": "application/yaml"}).expect(200)
    runs = []
    for n in range(28):
        params = {"day": f"2026-01-{n + 1:02}", "gap": n in (9, 10, 21), "wait": f"{rng.uniform(0.05, 0.6):.2f}"}
        runs.append(server.submit(workflow="import-prices", params=params))
    runs += [server.submit(workflow="release", params={"version": f"2.{n}.0"}) for n in range(3, 6)]
    for run in runs:
        server.wait(run)
    server.submit(command={"argv": ["train", "--model", "prices"]}, queue="gpu", name="exec::train")
    run = server.submit(workflow="release", params={"version": "2.6.0", "slow": str(PATIENCE)})
    shown = lambda: [e for e in server.get(f"/v1/executions/{run}/outline").json["items"] if e["name"].startswith("release::deploy[")]
    page.until(lambda: len(shown()) == 3, "the deployment")
    return run


def take(page, name, scheme="light"):
    page.resize(WIDTH, HEIGHT, scheme=scheme)
    page.settled()
    path = f"{FOLDER}/{name}.png"
    page.driver.save_screenshot(path)
    size = os.path.getsize(path)
    assert size < BYTES_MAX, f"{path} has {size} bytes"
    print(f"{path}: {WIDTH} x {HEIGHT}, {size} bytes")


def main():
    os.makedirs(FOLDER, exist_ok=True)
    with browsing("--worker", "6") as page:
        run = fill(page)
        page.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        page.open(f"/runs/{run}").one(".trow", "deploy")
        page.until(lambda: page.js(UNFOLD), "the row of the deployment")
        page.click(".trow", "deploy[2]")
        page.sees("12 of 12 instances are healthy", ".lines")
        take(page, "run")
        page.open("/", token=None).one(".runs tr", "release")
        take(page, "runs")
        page.open("/workflows/import-prices", token=None).one(".grid td a")
        take(page, "workflow")
        page.open(f"/runs/{run}?view=graph", token=None).one(".graph .node")
        take(page, "graph", scheme="dark")
        page.server.post(f"/v1/executions/{run}/cancel").expect(200)
        page.server.wait(run)


main()
