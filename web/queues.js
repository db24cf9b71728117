// queues.js - the queues: what waits in them and for how long, limits, pauses, and who serves them.
import {get, post, request} from "./api.js";
import {ask, copyable, field, note, reasonField} from "./dialog.js";
import {fill, h, sync, throttle} from "./dom.js";
import {ago, chip, count, duration, plural} from "./format.js";
import {icon} from "./icons.js";
import {rowKeys} from "./keys.js";
import {onLoadFailed} from "./router.js";
import {may} from "./session.js";
import {subscribe} from "./stream.js";

const REFRESH_MS = 10000; // ms; workers come and go without an event

/**
 * The workers that claim jobs of a queue. A worker that names no queue for a lane serves all queues.
 * @param {string} queue
 * @param {any[]} workers
 */
export function servers(queue, workers) {
    return workers.filter(
        (w) => w.state === "alive" &&
            Object.values(w.serves ?? {})
                .some((queues) => !Array.isArray(queues) || queues.includes(queue) || queues.includes("*")));
}

/** @param {FormData} form */
const reasonOf = (form) => (String(form.get("reason") ?? "").trim() ? {reason: String(form.get("reason")).trim()} : {});

/**
 * @param {string} queue
 * @param {string} verb
 * @param {string} text
 * @param {() => void} reload
 */
async function act(queue, verb, text, reload) {
    const path = `/v1/queues/${encodeURIComponent(queue)}/${verb}`, word = verb === "pause" ? "Pause" : "Resume";
    const done = await ask({
        title: `${word} the queue ${queue}?`,
        text,
        confirm: word,
        fields: reasonField(),
        act: (form) => post(path, reasonOf(form))
    });
    if (!done) return;
    note(`${word}d the queue ${queue}.`);
    reload();
}

/**
 * @param {any} q
 * @param {() => void} reload
 */
async function limit(q, reload) {
    const done = await ask({
        title: `Limit the queue ${q.queue}`,
        text: "At most this many jobs of the queue run at once, over all workers.",
        confirm: "Set the limit",
        fields: [
            field(
                "Limit", h("input", {name: "max", type: "number", min: 0, value: q.limit ? String(q.limit.max) : ""}),
                "Empty: no limit."),
            reasonField()
        ],
        act: (form) => request(
            "PUT", `/v1/queues/${encodeURIComponent(q.queue)}/limit`,
            {body: {max: form.get("max") ? Number(form.get("max")) : null, ...reasonOf(form)}}),
    });
    if (!done) return;
    note(`Changed the limit of the queue ${q.queue}.`);
    reload();
}

/**
 * @param {any} q
 * @param {any[]} workers
 */
function stateOf(q, workers) {
    if (q.paused)
        return [
            chip("paused"),
            h("span.aside",
              [q.paused.by && ["by ", h("bdi", q.paused.by)], q.paused.reason && [": ", h("bdi", q.paused.reason)]])
        ];
    if (!servers(q.queue, workers).length && q.ready) return h("span.warn", icon("warn"), "nobody serves it");
    return servers(q.queue, workers).length ? "" : h("span.none", "nobody serves it");
}

/**
 * @param {any} q
 * @param {any[]} workers
 * @param {() => void} reload
 */
function row(q, workers, reload) {
    const serving = servers(q.queue, workers), name = q.queue;
    return h(
        "tr.row", h("td", h("a", {href: `/?queue=${encodeURIComponent(name)}&all=true`}, h("bdi", name))),
        h("td", stateOf(q, workers)), h("td.number", {"data-name": "waiting"}, count(q.ready)),
        h("td.number", {"data-name": "held"}, count(q.held)),
        h("td.number", {"data-name": "running"}, count(q.running)),
        h("td.number", {"data-name": "oldest wait"},
          q.ready && q.oldest_ready_at ?
              h("span.num", {"data-live": "since", "data-at": q.oldest_ready_at}, duration(q.oldest_wait_us)) :
              h("span.none", "–")),
        h("td.number", {"data-name": "limit"},
          q.limit ? `${count(q.limit.used)} of ${count(q.limit.max)}` : h("span.none", "none")),
        h("td", {"data-name": "served by"},
          serving.length ? h("a", {href: "/workers"}, plural(serving.length, "worker")) : h("span.none", "–")),
        h("td.acts", may("operate") && [
            q.paused ?
                h("button.quiet",
                  {type: "button", onclick: () => act(name, "resume", "Its jobs may be claimed again.", reload)},
                  icon("play"), "Resume") :
                h("button.quiet", {
                    type: "button",
                    onclick: () => act(
                        name, "pause", "No job of it is claimed until it is resumed. Running jobs continue.", reload)
                },
                  icon("pause"), "Pause"),
            h("button.quiet", {type: "button", onclick: () => limit(q, reload)}, icon("limit"), "Limit")
        ]));
}

/** @param {import("./router.js").Context} context */
export function open({main, signal}) {
    document.title = "Queues · Pawl";
    const body = h("tbody"), place = h("div"), line = h("p.summary");
    const heads = ["Queue", "State", "Waiting", "Held", "Running", "Oldest wait", "Limit", "Served by", ""];
    const table =
        h("table.list.queues",
          h("thead",
            h("tr",
              heads.map(
                  (t, i) => h(
                      "th", {scope: "col", class: i > 1 && i < 7 ? "number" : ""}, t || h("span.hidden", "Actions"))))),
          body);
    const nothing =
        h("div.empty", h("p", "No job has been queued yet. A job that names no queue waits in the queue default:"),
          copyable("pawl exec --detach -- echo hello"));
    fill(main, h("div.head", h("h1", "Queues"), line), place);

    async function load() {
        try {
            const o = await get("/v1/overview", {limit: 1}, signal);
            const unserved =
                o.queues.filter((/** @type {any} */ q) => q.ready && !q.paused && !servers(q.queue, o.workers).length);
            sync(
                body, o.queues, (q) => q.queue,
                (q) => JSON.stringify([{...q, oldest_wait_us: 0}, servers(q.queue, o.workers).length]),
                (q) => row(q, o.workers, reload.now));
            fill(
                line,
                unserved.length > 0 &&
                    h("span.warn", icon("warn"),
                      `${plural(unserved.length, "queue")} with waiting jobs and no worker`));
            const shown = o.queues.length ? table : nothing;
            if (place.firstElementChild !== shown) fill(place, shown);
        } catch (error) { onLoadFailed(error, !!place.childElementCount); }
    }
    const reload = throttle(load, 1000), timer = setInterval(() => {
                                             if (!document.hidden) reload();
                                         }, REFRESH_MS);
    signal.addEventListener("abort", () => clearInterval(timer));
    subscribe(["events"], reload, signal);
    rowKeys([body], signal);
    reload.now();
}
