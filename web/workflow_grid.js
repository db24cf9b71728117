// workflow_grid.js - the last runs of a workflow, the oldest at the left: above their durations, below how each task ended.
import {h} from "./dom.js";
import {bothZones, duration, hasEnded, plural, statusWord} from "./format.js";
import {rove} from "./keys.js";

const TASKS_MAX = 200;

/**
 * How the tasks of a run ended, by their names.
 * @param {any} run
 * @returns {Map<string, string>}
 */
function statusesOf(run) {
    const w = run.workflow_execution, map = new Map();
    for (const [status, names] of /** @type {[string, string[]][]} */ ([
             ["succeeded", w?.completed_tasks ?? []], ["skipped", w?.skipped_tasks ?? []],
             ["failed", w?.failed_tasks ?? []], ["running", w?.current_tasks ?? []]
         ]))
        for (const name of names) map.set(name, hasEnded(run.status) && status === "running" ? "cancelled" : status);
    return map;
}

/**
 * The same for each run. A run that was cancelled or timed out does not say which tasks it never began, so they are those that its
 * definition is known to have: it is the applied one, or that of another run.
 * @param {any[]} runs
 * @param {string[]} tasks of the applied definition
 * @param {string | undefined} applied its hash
 */
function statusesOfAll(runs, tasks, applied) {
    const all = runs.map(statusesOf), definitionOf = (/** @type {any} */ run) => run.workflow_execution?.definition;
    runs.forEach((run, i) => {
        if (run.status !== "cancelled" && run.status !== "timed_out") return;
        const own = definitionOf(run), names = own === applied ? new Set(tasks) : new Set();
        runs.forEach((r, k) => definitionOf(r) === own && [...all[k].keys()].forEach((name) => names.add(name)));
        for (const name of names)
            if (!all[i].has(name)) all[i].set(name, "cancelled");
    });
    return all;
}

/**
 * @param {any} run
 * @param {number} longest
 */
function head(run, longest) {
    const link =
        h("a", {
            href: `/runs/${run.id}`,
            class: `s-${run.status}`,
            tabindex: -1,
            "data-key": `run ${run.id}`,
            title: `#${run.id} ${statusWord(run.status)}, ${duration(run.duration_us)}\n${bothZones(run.requested_at)}`,
            "aria-label": `Run ${run.id}: ${statusWord(run.status)}, ${duration(run.duration_us)}`
        },
          h("span.trend-bar"));
    link.style.setProperty("--share", String((run.duration_us ?? 0) / longest));
    return h("th", {scope: "col"}, link);
}

/**
 * @param {any} run
 * @param {string} task
 * @param {string | undefined} status
 */
function cell(run, task, status) {
    if (!status) return h("td");
    const text = `${task}: ${statusWord(status)} in run ${run.id}`;
    return h("td", h("a", {
                 href: `/runs/${run.id}?task=${encodeURIComponent(task)}`,
                 class: `cell s-${status}`,
                 tabindex: -1,
                 "data-key": `task ${task} ${run.id}`,
                 title: text,
                 "aria-label": text
             }));
}

/** @type {Record<string, [number, number]>} rows and columns */
const STEPS = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1]
};

/**
 * The link that an arrow key moves to; cells without a link are passed over.
 * @param {HTMLElement} link
 * @param {string} key
 * @returns {HTMLElement | null | undefined}
 */
function neighbour(link, key) {
    const from = /** @type {HTMLTableCellElement} */ (link.closest("th, td"));
    const row = /** @type {HTMLTableRowElement} */ (from.parentElement);
    const rows = [...(row.closest("table")?.rows ?? [])], [down, right] = STEPS[key] ?? [0, 0];
    if (key === "Home") return row.querySelector("a");
    if (key === "End") return [...row.querySelectorAll("a")].at(-1);
    if (!down && !right) return null;
    for (let r = rows.indexOf(row) + down, c = from.cellIndex + right; rows[r]?.cells[c]; r += down, c += right) {
        const found = rows[r].cells[c].querySelector("a");
        if (found) return found;
    }
    return null;
}

/**
 * @param {any[]} runs newest first
 * @param {string[]} tasks in the order of the file
 * @param {string} [applied] the hash of the applied definition
 */
export function grid(runs, tasks, applied) {
    const list = [...runs].reverse(), statuses = statusesOfAll(list, tasks, applied);
    const longest = Math.max(1, ...runs.map((r) => r.duration_us ?? 0));
    const names = [...new Set([...tasks, ...statuses.flatMap((s) => [...s.keys()])])];
    const shown = names.slice(0, TASKS_MAX);
    const table =
        h("table.grid", {role: "grid"},
          h("caption.hidden", `Durations and tasks of the last ${plural(runs.length, "run")}, the oldest first`),
          h("thead",
            h("tr", h("th.corner", {scope: "col"}, h("span", duration(longest)), h("span", "0")),
              list.map((r) => head(r, longest)))),
          h("tbody",
            shown.map(
                (task) =>
                    h("tr", h("th", {scope: "row", title: task}, h("bdi", task)),
                      list.map((r, i) => cell(r, task, statuses[i].get(task))))),
            names.length > shown.length &&
                h("tr", h("th", {scope: "row"}, `and ${plural(names.length - shown.length, "task")} more`))));
    table.querySelector("thead th:last-child a")?.setAttribute("tabindex", "0");
    rove(table, neighbour);
    return h("div.grid-scroll", {role: "region", "aria-label": "Tasks of the last runs"}, table);
}

/** What the colours of the cells mean. */
export const legend = () => h("p.legend", [
    "succeeded", "failed", "running", "cancelled", "skipped"
].map((s) => h("span", h("i", {class: `cell s-${s}`, "aria-hidden": "true"}), s)));
