// workflows.js - the applied workflows: how their last run ended, and a way to run or change them.
import {get} from "./api.js";
import {copyable} from "./dialog.js";
import {fill, h, sync, throttle} from "./dom.js";
import {ago, chip, count} from "./format.js";
import {icon} from "./icons.js";
import {addKeys, rowKeys} from "./keys.js";
import {go, onLoadFailed} from "./router.js";
import {may} from "./session.js";
import {subscribe} from "./stream.js";
import {newRun} from "./submit.js";

const PAGE = 200;
export const NEW = "/workflows?new=true";

/** @param {any} w */
const row = (w) =>
    h("tr.row",
      h("td", h("a", {href: `/workflows/${encodeURIComponent(w.name)}`}, h("bdi", w.name)),
        w.description && h("span.aside", {title: w.description}, h("bdi", w.description))),
      h("td", {"data-name": "last run"},
        w.last_run ?
            [
                chip(w.last_status), " ", h("a", {href: `/runs/${w.last_run}`}, `#${w.last_run}`), " ",
                ago(w.last_started_at)
            ] :
            h("span.none", "none yet")),
      h("td.number", {"data-name": "tasks"}, count(w.task_count)),
      h("td.number", {"data-name": "schedules"}, w.schedule_count ? count(w.schedule_count) : h("span.none", "–")),
      h("td", {"data-name": "applied"}, ago(w.applied_at), w.applied_by && [" by ", h("bdi", w.applied_by)]),
      h("td.acts",
        may("submit") &&
            h("button.quiet", {type: "button", "aria-label": `Run ${w.name}`, onclick: () => newRun(w.name)},
              icon("play"), "Run")));

const nothing = () => h(
    "section.first", {"aria-labelledby": "first-title"}, h("h2", {id: "first-title"}, "No workflow is applied"),
    h("p", "An applied workflow has a name, params, versions and schedules, and is run by its name. Store a file:"),
    copyable("pawl apply hello.flow.yaml"), may("admin") && h("p", "or ", h("a", {href: NEW}, "write one here"), "."));

/** @param {import("./router.js").Context} context */
export function open({main, query, signal}) {
    if (query.get("new") && may("admin")) {
        document.title = "New workflow · Pawl";
        fill(
            main, h("nav.crumbs", {"aria-label": "Path"}, h("a", {href: "/workflows"}, "Workflows")),
            h("div.head", h("h1", "New workflow")));
import("./workflow_edit.js").then(({editWorkflow}) => main.append(editWorkflow(null, (name) => go(`/workflows/${encodeURIComponent(name)}`), () => go("/workflows"))));
        return {
            requery: (/** @type {URLSearchParams} */ q) => {
                open({main, args: [], query: q, signal});
            }
        };
    }
    document.title = "Workflows · Pawl";
    /** @type {any[]} */
    let list = [];
    /** @type {string | null} */
    let next = null;
    const body = h("tbody"), place = h("div"), more = h("div.more");
    const table =
        h("table.list.workflows",
          h("thead",
            h("tr",
              ["Workflow", "Last run", "Tasks", "Schedules", "Applied", ""].map(
                  (t, i) =>
                      h("th", {scope: "col", class: i === 2 || i === 3 ? "number" : ""},
                        t || h("span.hidden", "Actions"))))),
          body);
    fill(
        main,
        h("div.head", h("h1", "Workflows"),
          may("admin") && h("button.primary", {type: "button", onclick: () => go(NEW)}, icon("plus"), "New workflow")),
        place, more);

    function render() {
        sync(body, list, (w) => w.name, (w) => JSON.stringify(w), row);
        fill(place, list.length ? table : nothing());
        fill(more, next && h("button", {type: "button", onclick: loadMore}, "Show more"));
    }

    async function load() {
        try {
            const page = await get("/v1/workflows", {limit: Math.max(PAGE, Math.min(1000, list.length))}, signal);
            list = page.items;
            next = page.next;
            render();
        } catch (error) { onLoadFailed(error, !!place.childElementCount); }
    }

    async function loadMore() {
        const page = await get("/v1/workflows", {limit: PAGE, cursor: next}, signal);
        list = [...list, ...page.items];
        next = page.next;
        render();
    }
    const reload = throttle(load, 2000);
    subscribe(["runs"], reload, signal);
    rowKeys([body], signal);
    if (may("admin")) addKeys([{keys: "n", text: "new workflow", run: () => go(NEW)}], signal);
    reload.now();
    return {
        requery: (/** @type {URLSearchParams} */ q) => {
            if (q.get("new")) open({main, args: [], query: q, signal});
        }
    };
}
