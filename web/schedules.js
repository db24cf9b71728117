// schedules.js - schedules: when they fire next, what was missed, and whether they are paused.
import {get, post} from "./api.js";
import {ask, copyable, note, reasonField} from "./dialog.js";
import {fill, h, sync, throttle} from "./dom.js";
import {ago, chip, mark, plural, time} from "./format.js";
import {icon} from "./icons.js";
import {rowKeys} from "./keys.js";
import {go, onLoadFailed} from "./router.js";
import {may} from "./session.js";
import {subscribe} from "./stream.js";

const TEXTS = {
    pause: {title: "Pause", text: "It fires no more until it is resumed.", done: "Paused"},
    resume: {title: "Resume", text: "It continues with due times from now on.", done: "Resumed"},
    run: {
        title: "Run",
        text: "A run starts now with the values of this schedule; its due times do not change.",
        done: "Started"
    },
};

/**
 * @param {any} s
 * @param {"pause" | "resume" | "run"} verb
 */
async function act(s, verb) {
    const t = TEXTS[verb];
    const done = await ask({
        title: `${t.title} ${s.schedule}?`,
        text: t.text,
        confirm: t.title,
        fields: reasonField(),
        act: (form) => post(
            `/v1/schedules/${encodeURIComponent(s.schedule)}/${verb}`,
            String(form.get("reason")).trim() ? {reason: String(form.get("reason")).trim()} : {}),
    });
    if (!done) return false;
    note(`${t.done} ${s.schedule}.`);
    if (verb === "run") go(`/runs/${done.id}`);
    return true;
}

/**
 * The remarks on a schedule: a problem, a pause, due times that were dropped.
 * @param {any} s
 */
function remarks(s) {
    const list = [];
    if (s.problem) list.push(h("span.warn", icon("warn"), h("bdi", s.problem)));
    if (s.paused)
        list.push(
            h("span", chip("paused"), " ", ago(s.paused.since), s.paused.by && [" by ", h("bdi", s.paused.by)],
              s.paused.reason && [": ", h("bdi", s.paused.reason)]));
    if (s.waiting_at) list.push(h("span", "the run due ", time(s.waiting_at), " waits for the last one to end"));
    if (s.skipped) list.push(h("span", `${plural(s.skipped, "due time")} skipped, last `, time(s.skipped_at)));
    if (s.missed_at) list.push(h("span", "due times missed, last dropped ", time(s.missed_at)));
    return list.map((r) => h("div.remark", r));
}

/**
 * @param {any} s
 * @param {() => void} reload
 */
function row(s, reload) {
    const button =
        (/** @type {"pause" | "resume" | "run"} */ verb, /** @type {string} */ name, /** @type {string} */ text) =>
            h("button.quiet", {
                type: "button",
                "data-key": `${verb === "run" ? "run" : "pause"} ${s.schedule}`,
                onclick: async () => (await act(s, verb)) && reload()
            },
              icon(name), text);
    return h(
        "tr.row", h("td", h("a", {href: `/workflows/${encodeURIComponent(s.workflow)}`}, h("bdi", s.schedule))),
        h("td", {"data-name": "pattern"}, h("code", s.cron), h("span.aside", s.tz)),
        h("td", {"data-name": "next"},
          s.next_at ? [time(s.next_at), h("span.aside", ago(s.next_at))] : h("span.none", "–")),
        h("td", {"data-name": "last run"},
          s.last_run ?
              [s.last_status && mark(s.last_status), " ", h("a", {href: `/runs/${s.last_run}`}, `#${s.last_run}`)] :
              h("span.none", "none yet")),
        h("td", remarks(s)), h("td.acts", may("operate") && [
            button("run", "play", "Run now"),
            s.paused ? button("resume", "play", "Resume") : button("pause", "pause", "Pause")
        ]));
}

/** @param {Element} body */
const tableOf = (body) =>
    h("table.list.schedules",
      h("thead",
        h("tr",
          ["Schedule", "Pattern", "Next", "Last run", "Remarks",
           ""].map((t) => h("th", {scope: "col"}, t || h("span.hidden", "Actions"))))),
      body);

/**
 * The schedules of a workflow, with their actions.
 * @param {any[]} list
 * @param {() => void} reload
 */
export const scheduleTable = (list, reload) => tableOf(h("tbody", list.map((s) => row(s, reload))));

/** @param {import("./router.js").Context} context */
export function open({main, signal}) {
    document.title = "Schedules · Pawl";
    const body = h("tbody"), place = h("div"), table = tableOf(body);
    fill(main, h("div.head", h("h1", "Schedules")), place);

    async function load() {
        try {
            const list = (await get("/v1/schedules", {}, signal)).items;
            sync(body, list, (s) => s.schedule, (s) => JSON.stringify(s), (s) => row(s, reload.now));
            fill(
                place,
                list.length ? table :
                              h("div.empty",
                                h("p", "No schedule is stored. A workflow with ",
                                  h("code", "on: {schedule: {cron: '0 3 * * *'}}"), " gets one when it is applied:"),
                                copyable("pawl apply nightly.flow.yaml")));
        } catch (error) { onLoadFailed(error, !!place.childElementCount); }
    }
    const reload = throttle(load, 2000), timer = setInterval(() => {
                                             if (!document.hidden) reload();
                                         }, 30000);
    signal.addEventListener("abort", () => clearInterval(timer));
    subscribe(["runs"], reload, signal);
    rowKeys([body], signal);
    reload.now();
}
