// workers.js - the workers, which an operator may drain, and the jobs that run now.
import {get, post} from "./api.js";
import {ask, copyable, field, note} from "./dialog.js";
import {fill, h, sync, throttle} from "./dom.js";
import {ago, count, duration, plural, time} from "./format.js";
import {icon} from "./icons.js";
import {rowKeys} from "./keys.js";
import {onLoadFailed} from "./router.js";
import {may} from "./session.js";
import {subscribe} from "./stream.js";

const REFRESH_MS = 10000, RUNNING = 200;

/** @param {any} w */
function stateOf(w) {
    if (w.state === "alive") return h("span.chip.s-succeeded", icon("succeeded"), "alive");
    if (w.state === "draining")
        return [
            h("span.chip.s-ready", icon("ready"), "draining"),
            w.drain &&
                h("span.aside",
                  [w.drain.by && ["by ", h("bdi", w.drain.by)], w.drain.reason && [": ", h("bdi", w.drain.reason)]])
        ];
    return h("span.chip.s-failed", icon("failed"), w.state);
}

/** @param {any} w */
function servesText(w) {
    return Object.entries(w.serves ?? {})
        .map(([lane, queues]) => `${lane}: ${Array.isArray(queues) ? queues.join(", ") : "all queues"}`)
        .join(" · ");
}

/**
 * A foreground worker, which serves no queue but that of its own tree, ends with its tree.
 * @param {any} w
 */
const canDrain = (w) => w.state === "alive" && may("operate") &&
    Object.values(w.serves ?? {})
        .some((queues) => !Array.isArray(queues) || queues.some((q) => !q.startsWith("here:")));

/**
 * @param {any} w
 * @param {() => void} reload
 */
async function drain(w, reload) {
    const done = await ask({
        title: `Drain the worker on ${w.host}?`,
        text: "It claims nothing more, finishes what it runs, commands too, and exits. This can't be undone.",
        confirm: "Drain",
        fields: field(
            "Reason (optional)", h("input", {name: "reason", maxlength: 1000, autocomplete: "off"}),
            "Shown with the worker, and in its log."),
        act: (form) => {
            const reason = String(form.get("reason") ?? "").trim();
            return post(`/v1/workers/${w.id}/drain`, reason ? {reason} : {});
        }
    });
    if (!done) return;
    note(`Asked the worker ${w.id} to drain.`);
    reload();
}

/**
 * @param {any} w
 * @param {() => void} reload
 */
const row = (w, reload) =>
    h("tr.row", h("td", h("bdi", w.host), h("span.aside.mono", w.id)), h("td", stateOf(w)),
      h("td.number", {"data-name": "jobs"}, `${count(w.leases)} of ${count(w.room)}`),
      h("td.serves", {"data-name": "serves"}, h("bdi", servesText(w) || "–")),
      h("td", {"data-name": "last heartbeat"}, ago(w.seen_at)), h("td", {"data-name": "started"}, time(w.started_at)),
      h("td.number", {"data-name": "pid"}, w.pid), h("td", {"data-name": "version"}, w.version),
      h("td.acts",
        canDrain(w) &&
            h("button.quiet",
              {type: "button", "aria-label": `Drain the worker ${w.id} on ${w.host}`, onclick: () => drain(w, reload)},
              icon("pause"), "Drain")));

/**
 * The last line of output, without escape sequences.
 * @param {string | null} text
 */
const plainText = (text) =>
    (text ?? "").replace(/\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07?|[\x00-\x1f\x7f-\x9f]/g, "");

/** @param {any} j */
const jobRow = (j) =>
    h("tr.row",
      h("td",
        h("a", {href: j.id === j.root ? `/runs/${j.root}` : `/runs/${j.root}?task=${j.id}`}, h("bdi", j.name),
          ` #${j.id}`),
        j.last_line && h("span.aside.mono", h("bdi", plainText(j.last_line)))),
      h("td", {"data-name": "queue"}, h("bdi", j.queue)),
      h("td", {"data-name": "attempt"}, `${j.attempt} of ${j.max_attempts}`),
      h("td", {"data-name": "running for"},
        h("span.num", {"data-live": "since", "data-at": j.since}, duration(j.elapsed_us))),
      h("td.mono", {"data-name": "worker"}, j.worker ?? h("span.warn", icon("warn"), "waits for adoption")));

/**
 * @param {string[]} heads
 * @param {number[]} numbers
 */
const header = (heads, numbers) =>
    h("thead",
      h("tr",
        heads.map(
            (t, i) => h(
                "th", {scope: "col", class: numbers.includes(i) ? "number" : ""}, t || h("span.hidden", "Actions")))));

/** @param {import("./router.js").Context} context */
export function open({main, signal}) {
    document.title = "Workers · Pawl";
    const body = h("tbody"), jobs = h("tbody"), place = h("div"), running = h("div"), line = h("p.summary");
    const table = h(
        "table.list.workers",
        header(["Worker", "State", "Jobs", "Serves", "Last heartbeat", "Started", "Pid", "Version", ""], [2, 6]), body);
    const jobTable = h("table.list.jobs", header(["Job", "Queue", "Attempt", "Running for", "Worker"], []), jobs);
    fill(main, h("div.head", h("h1", "Workers"), line), place, h("h2.second", "Running now"), running);

    async function load() {
        try {
            const o = await get("/v1/overview", {limit: RUNNING}, signal);
            sync(body, o.workers, (w) => w.id, (w) => JSON.stringify({...w, silent_us: 0}), (w) => row(w, reload));
            sync(jobs, o.running, (j) => String(j.id), (j) => JSON.stringify({...j, elapsed_us: 0}), jobRow);
            fill(line, plural(o.workers.length, "worker"));
            fill(
                place,
                o.workers.length ? table :
                                   h("div.empty", h("p", "No worker is connected: jobs wait until one is started."),
                                     copyable("pawl worker")));
            fill(running, o.running.length ? jobTable : h("p.empty", "No job is running."));
        } catch (error) { onLoadFailed(error, !!place.childElementCount); }
    }
    const reload = throttle(load, 1000), timer = setInterval(() => {
                                             if (!document.hidden) reload();
                                         }, REFRESH_MS);
    signal.addEventListener("abort", () => clearInterval(timer));
    subscribe(["events"], reload, signal);
    rowKeys([body, jobs], signal);
    reload.now();
}
