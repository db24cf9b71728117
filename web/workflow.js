// workflow.js - the runs of one workflow: the trend of their durations, and the list.
import {get, isAborted} from "./api.js";
import {fill, h, throttle} from "./dom.js";
import {ago, chip, duration, hasEnded, plural, ran, statusWord} from "./format.js";
import {icon} from "./icons.js";
import {showError} from "./router.js";
import {may} from "./session.js";
import {subscribe} from "./stream.js";
import {newRun} from "./submit.js";

const RUNS = 50;

/**
 * One bar per run, the oldest at the left.
 * @param {any[]} runs
 */
function trend(runs) {
    const longest = Math.max(1, ...runs.map((r) => r.duration_us ?? 0));
    return h(
        "ol.trend", {"aria-label": `Durations of the last ${plural(runs.length, "run")}`},
        [...runs].reverse().map((r) => {
            const link =
                h("a", {
                    href: `/runs/${r.id}`,
                    class: `s-${r.status}`,
                    title: `#${r.id} ${statusWord(r.status)}, ${duration(r.duration_us)}`,
                    "aria-label": `Run ${r.id}: ${statusWord(r.status)}, ${duration(r.duration_us)}`
                },
                  h("span.trend-bar"), icon(r.status));
            link.style.setProperty("--share", String((r.duration_us ?? 0) / longest));
            return h("li", link);
        }));
}

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

/** @param {import("./router.js").Context} context */
export function open({main, args, signal}) {
    const name = args[0], line = h("p.summary"), place = h("div");
    document.title = `${name} · Pawl`;
    fill(
        main, h("nav.crumbs", {"aria-label": "Path"}, h("a", {href: "/"}, "Runs")),
        h("div.head", h("h1", h("bdi", name)), line,
          may("submit") && h("button.primary", {type: "button", onclick: () => newRun(name)}, icon("play"), "Run")),
        place);

    async function load() {
        try {
            const runs = (await get("/v1/executions", {workflow: name, limit: RUNS}, signal)).items;
            fill(line, facts(runs));
            fill(
                place,
                runs.length ?
                    [
                        trend(runs),
                        h("table.list",
                          h("thead",
                            h("tr",
                              ["Status", "Run", "Requested", "Duration", "By"].map((t) => h("th", {scope: "col"}, t)))),
                          h("tbody",
                            runs.map(
                                (/** @type {any} */ r) =>
                                    h("tr.row", h("td", chip(r.status)),
                                      h("td", h("a", {href: `/runs/${r.id}`}, `#${r.id}`),
                                        r.error && h("span.aside", {title: r.error}, h("bdi", r.error))),
                                      h("td", ago(r.requested_at)), h("td", ran(r)),
                                      h("td", h("bdi", r.requested_by ?? ""))))))
                    ] :
                    h("p.empty", "No run of this workflow is stored."));
        } catch (error) {
            if (!isAborted(error) && !place.childElementCount) showError(error);
        }
    }
    subscribe(["runs"], throttle(load, 1000), signal);
    load();
}
