// event_table.js - a list of events.
import {h} from "./dom.js";
import {mark, statusWord, time} from "./format.js";

/**
 * The data of an event in one line.
 * @param {any} data
 */
function dataText(data) {
    if (!data) return "";
    return Object.entries(data)
        .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
        .join(" · ");
}

/**
 * @param {any} e
 * @param {boolean} withExecution
 */
export function eventRow(e, withExecution) {
    const data = dataText(e.data);
    return h(
        "tr", h("td.when", time(e.created_at, true)),
        h("td.type", mark(e.to), " ", e.type, e.from !== e.to && h("span.aside.inline", ` → ${statusWord(e.to)}`)),
        withExecution &&
            h("td.exec",
              h("a", {
                  href: e.execution === e.root ? `/runs/${e.root}` : `/runs/${e.root}?task=${e.execution}`,
                  "data-key": e.sequence_num
              },
                `#${e.execution}`)),
        h("td.data",
          h("div.clip", {title: data},
            e.host && [e.attempt > 1 ? `attempt ${e.attempt} on ` : "on ", h("bdi", e.host), data && " · "],
            h("bdi", data))));
}

/**
 * @param {any[]} events
 * @param {boolean} withExecution
 */
export function eventTable(events, withExecution) {
    return h(
        "div.scroll", {tabindex: 0, role: "region", "aria-label": "Events"},
        h("table.list.compact.events",
          h("thead",
            h("tr", h("th", {scope: "col"}, "Time"), h("th", {scope: "col"}, "Event"),
              withExecution && h("th", {scope: "col"}, "Execution"), h("th", {scope: "col"}, "Details"))),
          h("tbody", events.map((e) => eventRow(e, withExecution)))));
}
