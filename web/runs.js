// runs.js - the list of runs: newest first, live, filtered by the address.
import {cancel, rerun} from "./actions.js";
import {get, isAborted} from "./api.js";
import {note} from "./dialog.js";
import {fill, h, sync, throttle} from "./dom.js";
import {filterText, readFilter, requestFilter} from "./filter.js";
import {ago, chip, count, hasEnded, plural, ran, withTimes} from "./format.js";
import {icon} from "./icons.js";
import {addKeys, rowKeys} from "./keys.js";
import {onLoadFailed, setQuery} from "./router.js";
import {Selection} from "./selection.js";
import {may} from "./session.js";
import {subscribe} from "./stream.js";
import {firstSteps, newRun} from "./submit.js";

const PAGE = 50;
const SCREEN = 20; // rows that are drawn at first; the others follow when these are on the screen
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
 * @param {Selection | null} selection null: the reader may not act
 */
function row(run, max, selection) {
    const aside = run.error ?? (run.paused ? "paused" : run.waiting && `waits: ${run.waiting}`);
    return h(
        "tr", {class: selection?.has(run.id) ? "row selected" : "row"},
        selection && h("td.pick", h("input", {
                           type: "checkbox",
                           "aria-label": `Select ${run.name} #${run.id}`,
                           checked: selection.has(run.id),
                           onclick: (/** @type {MouseEvent} */ e) => selection.toggle(run.id, e.shiftKey)
                       })),
        h("td.status", chip(run.paused && !hasEnded(run.status) ? "paused" : run.status)),
        h("td.name", h("a.open", {href: `/runs/${run.id}`}, h("bdi", run.name), " ", h("span.id", `#${run.id}`)),
          aside && h("span.aside", {title: aside}, h("bdi", withTimes(aside)))),
        h("td.when", ago(run.requested_at)), h("td.took", ran(run), bar(run, max)), h("td.queue", h("bdi", run.queue)),
        h("td.by", h("bdi", run.requested_by ?? "")), h("td.acts", rowActions(run)));
}

/**
 * A text that changes whenever the row must be drawn again.
 * @param {any} r
 * @param {Map<string, number>} max
 * @param {Selection | null} selection
 */
const print = (r, max, selection) => [r.status, r.started_at, r.finished_at, r.error, r.waiting, r.paused,
                                      max.get(r.name), r.duration_us, selection?.has(r.id)]
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
    /** @type {any} */
    let counts = null;
    const selection = may("operate") ? new Selection(() => render()) : null;
    document.title = "Runs · Pawl";

    const box = h("input.filter", {
        type: "search",
        "aria-label": "Filter runs",
        placeholder: "name, workflow:… queue:… by:… since:2h",
        autocomplete: "off",
        spellcheck: "false"
    });
    const problem = h("p.wrong", {role: "alert"});
    const chips = h("div.chips", {role: "group", "aria-label": "Status"});
    const body = h("tbody"), more = h("div.more"), line = h("p.summary"), place = h("div"),
          selected = h("div.selected-bar", {role: "region", "aria-label": "Selected runs"}),
          matching = h("button", {type: "button", onclick: () => actOnAll()}, "All matching …");
    const table =
        h("table.list.runs",
          h("thead",
            h("tr", selection && h("th.pick", {scope: "col"}, h("span.hidden", "Select")),
              [
                  ["status", "Status"], ["name", "Run"], ["when", "Requested"], ["took", "Duration"],
                  ["queue", "Queue"], ["by", "By"], ["acts", ""]
              ].map(([c, t]) => h("th", {scope: "col", class: c}, t || h("span.hidden", "Actions"))))),
          body);
    fill(
        main,
        h("div.head", h("h1", "Runs"), line,
          may("submit") && h("button.primary", {type: "button", onclick: () => newRun()}, icon("plus"), "New run")),
        h("div.tools", chips, box, selection && matching), problem, selected, place);

    const nothing = h(
        "p.empty", "No run matches this filter. ",
        h("button.link", {type: "button", onclick: () => apply({status: null, ...readFilter("").query})}, "Show all"));
    /** @type {Element | null} what a newcomer sees */
    let first = null;

    const filters = () => requestFilter(query);
    const isFiltered = () => Object.values(filters()).some(Boolean);

    async function actOnAll() {
        const {actOnMatching} = await import("./bulk.js");
        if (await actOnMatching(filters(), runs)) reload.now();
    }

    async function actOnChosen() {
        const {actOnSelected} = await import("./bulk.js");
        const chosen = runs.filter((r) => selection?.has(r.id));
        if (!await actOnSelected(chosen)) return;
        selection?.clear();
        reload.now();
    }

    function renderSelected() {
        const n = runs.filter((r) => selection?.has(r.id)).length;
        fill(selected, n > 0 && [
            h("b", `${plural(n, "run")} selected`),
            h("button.primary", {type: "button", onclick: actOnChosen}, "Cancel, pause, rerun …"),
            h("button", {type: "button", onclick: () => selection?.clear()}, "Clear"),
            h("span.hint", "Shift and click selects a range; x selects with the keyboard.")
        ]);
    }

    function render(upto = runs.length) {
        const max = longest(runs);
        if (selection) selection.order = runs.map((r) => r.id);
        sync(
            body, runs.slice(0, upto), (r) => String(r.id), (r) => print(r, max, selection),
            (r) => row(r, max, selection));
        renderSelected();
        matching.hidden = !runs.length || !isFiltered();
        fill(more, next && h("button", {type: "button", onclick: loadMore}, "Show more"));
        if (!runs.length && !isFiltered()) first ??= firstSteps(may("submit")); // somebody may be typing in it
        const shown = runs.length ? table : isFiltered() ? nothing : first;
        if (place.firstElementChild !== shown) fill(place, shown, shown === table && more);
    }

    /**
	 * How many runs have one of these statuses; the server counts the newest ones.
	 * @param {string} statuses
	 */
    function counted(statuses) {
        if (!counts) return null;
        const n = statuses ? statuses.split(",").reduce((sum, s) => sum + counts[s], 0) : counts.total;
        return h("span.count", `${count(n)}${counts.more ? "+" : ""}`);
    }

    function renderChips() {
        const status = query.get("status") ?? "";
        fill(
            chips,
            CHIPS.map(
                ([value, text]) =>
                    h("button",
                      {type: "button", "aria-pressed": String(value === status), onclick: () => apply({status: value})},
                      text, counted(value))));
    }

    function renderTools() {
        renderChips();
        if (document.activeElement !== box) box.value = filterText(query);
    }

    /** Loads the first page, and keeps the later ones that were loaded. */
    async function load() {
        const asked = location.search;
        try {
            const page = await get("/v1/executions", {...filters(), limit: PAGE}, signal);
            if (location.search !== asked) return;
            // If more runs came than a page has, others lie between the page and those that were loaded before.
            const last = page.items.at(-1)?.id ?? 0, meets = page.next && runs[0]?.id >= last;
            const kept = meets ? runs.filter((r) => r.id < last) : [];
            runs = [...page.items, ...kept];
            if (!kept.length) next = page.next;
            problem.textContent = "";
            render(isLoaded ? runs.length : SCREEN);
            if (!isLoaded) requestAnimationFrame(() => setTimeout(() => signal.aborted || render()));
            isLoaded = true;
            about();
        } catch (error) {
            if (isAborted(error)) return;
            if (/** @type {any} */ (error).status === 400)
                problem.textContent = /** @type {Error} */ (error).message;
            else
                onLoadFailed(error, isLoaded);
        }
    }

    const about = throttle(async () => {
        const [o, c] = await Promise.all([
            get("/v1/overview", {limit: 1}, signal), get("/v1/executions/counts", {...filters(), status: null}, signal)
        ]);
        counts = c;
        fill(line, summary(o));
        renderChips();
    }, 2000);

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
        counts = null;
        renderTools();
        reload.now();
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

    const current = rowKeys([body], signal, "run");
    /**
     * Calls a function with the run that the user is at.
     * @param {(run: any, row: Element) => void} act
     */
    const atRun = (act) => () => {
        const row = /** @type {any} */ (current()), run = runs.find((r) => String(r.id) === row?.pawlKey);
        if (!run) return note("Move to a run with j and k first.");
        act(run, row);
    };
    if (may("operate"))
        addKeys(
            [
                {
                    keys: "c",
                    text: "cancel the run",
                    run: atRun((r) => (hasEnded(r.status) ? note(`Run ${r.id} has ended.`) : cancel(r)))
                },
                {
                    keys: "r",
                    text: "run it again",
                    run: atRun((r) => (hasEnded(r.status) ? rerun(r) : note(`Run ${r.id} has not ended.`)))
                },
                {keys: "x", text: "select the run", run: atRun((_, row) => row.querySelector("input")?.click())}
            ],
            signal);
    addKeys(
        [
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
    reload.now();
    return {requery};
}
