// runs.js - the list of runs: newest first, live, filtered by the address.
import {cancel, rerun} from "./actions.js";
import {get, isAborted} from "./api.js";
import {fill, h, sync, throttle} from "./dom.js";
import {FILTERS, filterText, readFilter} from "./filter.js";
import {ago, chip, count, hasEnded, plural, ran} from "./format.js";
import {icon} from "./icons.js";
import {addKeys} from "./keys.js";
import {setQuery, showError} from "./router.js";
import {may} from "./session.js";
import {subscribe} from "./stream.js";
import {firstSteps, newRun} from "./submit.js";

const PAGE = 50;
const CHIPS = [
    ["", "All"], ["pending,ready,running", "Active"], ["failed,timed_out", "Failed"], ["succeeded", "Succeeded"],
    ["cancelled,skipped", "Cancelled"]
];

/**
 * The longest duration of each name: the bar of a run compares it only with runs of the same name.
 * @param {any[]} runs
 */
function longest(runs) {
    /** @type {Map<string, number>} */
    const max = new Map();
    for (const r of runs) max.set(r.name, Math.max(max.get(r.name) ?? 0, r.duration_us ?? 0));
    return max;
}

/**
 * @param {any} run
 * @param {Map<string, number>} max
 */
function bar(run, max) {
    const share =
        run.duration_us && max.get(run.name) ? run.duration_us / /** @type {number} */ (max.get(run.name)) : 0;
    const element = h("span.bar", {class: `s-${run.status}`, "aria-hidden": "true"});
    element.style.setProperty("--share", String(share));
    return element;
}

/** @param {any} run */
function rowActions(run) {
    if (!may("operate")) return null;
    const ended = hasEnded(run.status), text = ended ? "Rerun" : "Cancel";
    return h(
        "button.quiet", {
            type: "button",
            title: text,
            "aria-label": `${text} ${run.name} #${run.id}`,
            onclick: () => (ended ? rerun(run) : cancel(run))
        },
        icon(ended ? "rerun" : "cancel"));
}

/**
 * @param {any} run
 * @param {Map<string, number>} max
 */
function row(run, max) {
    const aside = run.error ?? (run.workflow_execution?.paused ? "paused" : run.waiting && `waits: ${run.waiting}`);
    return h(
        "tr", {class: "row"},
        h("td.status", chip(run.workflow_execution?.paused && !hasEnded(run.status) ? "paused" : run.status)),
        h("td.name", h("a.open", {href: `/runs/${run.id}`}, h("bdi", run.name), h("span.id", ` #${run.id}`)),
          aside && h("span.aside", {title: aside}, h("bdi", aside))),
        h("td.when", ago(run.requested_at)), h("td.took", ran(run), bar(run, max)), h("td.queue", h("bdi", run.queue)),
        h("td.by", h("bdi", run.requested_by ?? "")), h("td.acts", rowActions(run)));
}

/**
 * A text that changes whenever the row must be drawn again.
 * @param {any} r
 * @param {Map<string, number>} max
 */
const print = (r, max) => [r.status, r.started_at, r.finished_at, r.error, r.waiting, r.workflow_execution?.paused,
                           max.get(r.name), r.duration_us]
                              .join("|");

/**
 * Summarizes what the system does at the moment.
 * @param {any} o the overview
 */
function summary(o) {
    let ready = 0, running = 0, held = 0;
    for (const q of o.queues) {
        ready += q.ready;
        running += q.running;
        held += q.held;
    }
    const alive = o.workers.filter((/** @type {any} */ w) => w.state === "alive").length;
    return [
        h("a", {href: "/queues"},
          `${count(running)} running · ${count(ready)} waiting${held ? ` · ${count(held)} held` : ""}`),
        " · ",
        h("a", {href: "/workers", class: alive ? "" : "warn"},
          alive ? plural(alive, "worker") : [icon("warn"), "no worker"])
    ];
}

/** @param {import("./router.js").Context} context */
export function open({main, query, signal}) {
    /** @type {any[]} */
    let runs = [];
    /** @type {string | null} */
    let next = null;
    let isLoaded = false;
    document.title = "Runs · Pawl";

    const box = h("input.filter", {
        type: "search",
        "aria-label": "Filter runs",
        placeholder: "name, workflow:… queue:…",
        autocomplete: "off",
        spellcheck: "false"
    });
    const problem = h("p.wrong", {role: "alert"});
    const chips = h("div.chips", {role: "group", "aria-label": "Status"});
    const body = h("tbody"), more = h("div.more"), line = h("p.summary"), place = h("div");
    const table =
        h("table.list.runs",
          h("thead",
            h("tr",
              ["Status", "Run", "Requested", "Duration", "Queue", "By",
               ""].map((t) => h("th", {scope: "col"}, t || h("span.hidden", "Actions"))))),
          body);
    fill(
        main,
        h("div.head", h("h1", "Runs"), line,
          may("submit") && h("button.primary", {type: "button", onclick: () => newRun()}, icon("plus"), "New run")),
        h("div.tools", chips, box), problem, place);

    const filters = () => ({
        status: query.get("status"),
        name: query.get("name"),
        ...Object.fromEntries(FILTERS.map((f) => [f, query.get(f)]))
    });
    const isFiltered = () => Object.values(filters()).some(Boolean);

    function render() {
        const max = longest(runs);
        sync(body, runs, (r) => String(r.id), (r) => print(r, max), (r) => row(r, max));
        fill(more, next && h("button", {type: "button", onclick: loadMore}, "Show more"));
        if (runs.length)
            fill(place, table, more);
        else
            fill(
                place,
                isFiltered() ?
                    h("p.empty", "No run matches this filter. ",
                      h("button.link", {type: "button", onclick: () => apply({status: null, ...readFilter("").query})},
                        "Show all")) :
                    firstSteps(may("submit")));
    }

    function renderTools() {
        const status = query.get("status") ?? "";
        fill(
            chips,
            CHIPS.map(
                ([value, text]) =>
                    h("button",
                      {type: "button", "aria-pressed": String(value === status), onclick: () => apply({status: value})},
                      text)));
        if (document.activeElement !== box) box.value = filterText(query);
    }

    /** Loads the first page, and keeps the later ones that were loaded. */
    async function load() {
        try {
            const page = await get("/v1/executions", {...filters(), limit: PAGE}, signal);
            const last = page.items.at(-1)?.id ?? 0, kept = page.next ? runs.filter((r) => r.id < last) : [];
            runs = [...page.items, ...kept];
            if (!kept.length) next = page.next;
            problem.textContent = "";
            isLoaded = true;
            render();
            get("/v1/overview", {limit: 1}, signal).then((o) => fill(line, summary(o)), () => {});
        } catch (error) {
            if (isAborted(error)) return;
            if (/** @type {any} */ (error).status === 400)
                problem.textContent = /** @type {Error} */ (error).message;
            else if (!isLoaded)
                showError(error);
        }
    }

    async function loadMore() {
        const page = await get("/v1/executions", {...filters(), limit: PAGE, cursor: next}, signal);
        const focus = runs.length;
        runs.push(...page.items);
        next = page.next;
        render();
        /** @type {any} */ (body.querySelectorAll("a.open")[focus])?.focus();
    }

    /** @param {Record<string, string | null>} values */
    function apply(values) {
        setQuery(values);
        requery(new URLSearchParams(location.search));
    }

    /** @param {URLSearchParams} q */
    function requery(q) {
        query = q;
        runs = [];
        renderTools();
        load();
    }

    let typing = 0;
    box.addEventListener("input", () => {
        clearTimeout(typing);
        typing = window.setTimeout(() => {
            const read = readFilter(box.value);
            if (!read.problem) apply(read.query);
            problem.textContent = read.problem;
        }, 250);
    });

    /**
     * Applies events to the rows of later pages, which are not loaded again.
     * @param {any[]} events
     */
    function patch(events) {
        for (const e of events) {
            const run = runs.find((r) => r.id === e.execution);
            if (!run) continue;
            run.status = e.to;
            if (hasEnded(e.to)) {
                run.finished_at = e.created_at;
                run.waiting = null;
            }
        }
    }
    const reload = throttle(load, 500);
    subscribe(["runs"], (m) => {
        if (!("resync" in m)) patch(m.events);
        reload();
    }, signal);

    /** @param {number} step */
    function move(step) {
        const links = /** @type {HTMLElement[]} */ ([...body.querySelectorAll("a.open")]);
        const at = links.findIndex((a) => a.closest("tr")?.contains(document.activeElement));
        links[Math.min(links.length - 1, Math.max(0, at < 0 ? 0 : at + step))]?.focus();
    }
    addKeys(
        [
            {keys: "j", text: "next run", run: () => move(1)},
            {keys: "k", text: "previous run", run: () => move(-1)},
            {
                keys: "Enter",
                text: "open the run",
                run: () => /** @type {HTMLElement} */ (document.activeElement)?.click()
            },
            {keys: "/", text: "filter", run: () => box.focus()},
            ...(may("submit") ? [{keys: "n", text: "new run", run: () => newRun()}] : []),
        ],
        signal);
    renderTools();
    load();
    return {requery};
}
