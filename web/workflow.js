// workflow.js - one workflow: its last runs as a grid of their tasks, its definition with a field to change it, its versions.
import {get, isAborted} from "./api.js";
import {ask, copyable, note, reasonField} from "./dialog.js";
import {fill, h, throttle} from "./dom.js";
import {ago, chip, duration, hasEnded, ran} from "./format.js";
import {icon} from "./icons.js";
import {addKeys} from "./keys.js";
import {go, onLoadFailed, setQuery} from "./router.js";
import {may} from "./session.js";
import {subscribe} from "./stream.js";
import {newRun} from "./submit.js";
import {grid, legend} from "./workflow_grid.js";

const RUNS = 50, VERSIONS = 100;
const VIEWS = [["runs", "Runs"], ["definition", "Definition"], ["versions", "Versions"]];

/** @param {any[]} runs */
function facts(runs) {
    const ended = runs.filter((r) => hasEnded(r.status)), good = ended.filter((r) => r.status === "succeeded");
    const times = good.map((r) => r.duration_us).filter((d) => d !== null).sort((a, b) => a - b);
    return [
        ended.length && `${good.length} of the last ${ended.length} succeeded`,
        times.length && `median ${duration(times[Math.floor(times.length / 2)])}`,
        times.length && `longest ${duration(times.at(-1))}`
    ].filter(Boolean)
        .join(" · ");
}

/** @param {any[]} runs */
const runTable = (runs) =>
    h("table.list",
      h("thead", h("tr", ["Status", "Run", "Requested", "Duration", "By"].map((t) => h("th", {scope: "col"}, t)))),
      h("tbody",
        runs.map(
            (r) =>
                h("tr.row", h("td", chip(r.status)),
                  h("td", h("a", {href: `/runs/${r.id}`}, `#${r.id}`),
                    r.error && h("span.aside", {title: r.error}, h("bdi", r.error))),
                  h("td", ago(r.requested_at)), h("td", ran(r)), h("td", h("bdi", r.requested_by ?? ""))))));

/** @param {any} w */
const paramTable = (w) =>
    h("section.card", h("h2", "Params"),
      w.params.length ?
          h("div.scroll", {tabindex: 0, role: "region", "aria-label": "Params"},
            h("table.list.compact",
              h("thead", h("tr", ["Name", "Type", "Default", "Description"].map((t) => h("th", {scope: "col"}, t)))),
              h("tbody",
                w.params.map(
                    (/** @type {any} */ p) =>
                        h("tr", h("td", h("bdi", p.name)), h("td", p.type),
                          h("td",
                            p.default === null ? p.required ? "required" : "–" : h("code", JSON.stringify(p.default))),
                          h("td", h("bdi", p.description ?? ""))))))) :
          h("p.empty", "It has no params."));

/** @param {import("./router.js").Context} context */
export function open({main, args, query, signal}) {
    const name = args[0], path = `/v1/workflows/${encodeURIComponent(name)}`;
    const line = h("p.summary"), place = h("div"), about = h("p.meta"), buttons = h("div.acts"),
          tabs = h("div.views", {role: "group", "aria-label": "View"});
    let view = query.get("view") ?? "runs", isEditing = false;
    /** @type {any[]} */
    let runs = [];
    /** @type {any} null: not applied */
    let workflow = null;
    document.title = `${name} · Pawl`;
    fill(
        main, h("nav.crumbs", {"aria-label": "Path"}, h("a", {href: "/workflows"}, "Workflows")),
        h("div.head", h("h1", h("bdi", name)), line, buttons), about, tabs, place);

    function renderHead() {
        fill(line, facts(runs));
        fill(
            about,
            workflow ?
                [
                    workflow.description && [h("bdi", workflow.description), " · "], "applied ",
                    ago(workflow.applied_at), workflow.applied_by && [" by ", h("bdi", workflow.applied_by)]
                ] :
                "Not applied: its runs were submitted from files.");
        fill(
            buttons,
            workflow && may("submit") &&
                h("button.primary", {type: "button", onclick: () => newRun(name)}, icon("play"), "Run"),
            workflow && may("admin") && h("button", {type: "button", onclick: edit}, "Edit"),
            workflow && may("admin") && h("button", {type: "button", onclick: remove}, "Delete"));
        fill(
            tabs,
            workflow &&
                VIEWS.map(
                    ([v, text]) =>
                        h("button", {type: "button", "aria-pressed": String(v === view), onclick: () => setView(v)},
                          text)));
    }

    /** @param {string} v */
    function setView(v) {
        view = v;
        isEditing = false;
        setQuery({view: v === "runs" ? null : v, a: null, b: null});
        renderHead();
        render();
    }

    function renderRuns() {
        const tasks = (workflow?.tasks ?? []).map((/** @type {any} */ t) => t.name);
        const rows = runs.length ?
            [h("div.grid-box", grid(runs, tasks, workflow?.definition), legend()), runTable(runs)] :
            workflow ? [h("div.empty", h("p", "It has not run yet."), copyable(`pawl submit @${name}`))] :
                       [h("p.empty", "No run of this workflow is stored.")];
        const scrolled = place.querySelector(".grid-scroll")?.scrollLeft;
        fill(place, rows);
        const box = place.querySelector(".grid-scroll");
        if (box) box.scrollLeft = scrolled ?? box.scrollWidth;
    }

    async function renderDefinition() {
        const [{listing, textOf}, {scheduleTable}] =
            await Promise.all([import("./workflow_text.js"), import("./schedules.js")]);
        fill(
            place,
            workflow.schedules.length > 0 &&
                h("section.card", h("h2", "Schedules"), scheduleTable(workflow.schedules, loadAgain)),
            paramTable(workflow), h("section.card", h("h2", "Text"), listing(textOf(workflow), `Text of ${name}`)));
    }

    async function renderVersions() {
        const {VersionView} = await import("./workflow_versions.js");
        const {items} = await get(`${path}/versions`, {limit: VERSIONS}, signal);
        fill(place, new VersionView(name, items, signal).element);
    }

    /** Shows the view; the text and the versions do not change by events. */
    function render() {
        const open = !workflow || view === "runs" ? renderRuns :
            view === "definition"                 ? renderDefinition :
                                                    renderVersions;
        Promise.resolve(open()).catch((error) => {
            if (!isAborted(error)) fill(place, h("p.wrong", error.message));
        });
    }

    async function edit() {
        const {editWorkflow} = await import("./workflow_edit.js");
        if (workflow.source === null)
            return note(
                "It was applied by an earlier version, which did not keep its text: apply its file again.", "wrong");
        isEditing = true;
        fill(place, editWorkflow(workflow, (applied) => {
                 if (applied !== name) return go(`/workflows/${encodeURIComponent(applied)}`);
                 view = "definition";
                 setQuery({view});
                 isEditing = false;
                 loadAgain();
             }, () => setView("definition")));
        /** @type {any} */ (place.querySelector("textarea")).focus();
    }

    async function remove() {
        const {removeWorkflow} = await import("./workflow_edit.js");
        const done = await ask({
            title: `Delete ${name}?`,
            text: "The name and its schedules are removed. Its runs stay, and those that have not ended continue.",
            confirm: "Delete",
            danger: true,
            fields: reasonField(),
            act: (form) => removeWorkflow(workflow, String(form.get("reason") ?? "").trim())
        });
        if (!done) return;
        note(`Deleted ${name}.`);
        go("/workflows");
    }

    let isRendered = false;
    async function load() {
        try {
            const [page, shown] = await Promise.all([
                get("/v1/executions", {workflow: name, limit: RUNS}, signal), get(path, {}, signal).catch((error) => {
                    if (error.status === 404) return null;
                    throw error;
                })
            ]);
            runs = page.items;
            workflow = shown;
            renderHead();
            if (isEditing || (isRendered && view !== "runs")) return;
            isRendered = true;
            render();
        } catch (error) { onLoadFailed(error, isRendered); }
    }
    const reload = throttle(load, 1000);
    function loadAgain() {
        isRendered = false;
        reload.now();
    }
    subscribe(["runs"], reload, signal);
    addKeys(
        [
            {keys: "n", text: "run it", run: () => may("submit") && workflow && newRun(name)},
            {keys: "e", text: "edit its text", run: () => may("admin") && workflow && edit()}
        ],
        signal);
    reload.now();
    return {
        requery: (/** @type {URLSearchParams} */ q) => {
            view = q.get("view") ?? "runs";
            isEditing = false;
            loadAgain();
        }
    };
}
