// format.js - times, durations, numbers and statuses for people. Times are shown in the reader's zone, with UTC on hover.
import {h} from "./dom.js";
import {icon} from "./icons.js";

/** @type {Record<string, string>} */
const WORDS = {
    timed_out: "timed out",
    ready: "waiting"
};
export const STATUSES = ["pending", "ready", "running", "succeeded", "failed", "timed_out", "cancelled", "skipped"];
const ENDED = new Set(["succeeded", "failed", "timed_out", "cancelled", "skipped"]);

/** @param {string} status */
export const hasEnded = (status) => ENDED.has(status);
/** @param {string} status */
export const statusWord = (status) => WORDS[status] ?? status;

/**
 * The symbol and word of a status.
 * @param {string} status
 * @param {string} [word]
 */
export function chip(status, word) {
    return h("span", {class: `chip s-${status}`}, icon(status), h("span", word ?? statusWord(status)));
}

/**
 * Only the symbol; the word for screen readers and on hover.
 * @param {string} status
 */
export function mark(status) {
    return h(
        "span", {class: `mark s-${status}`, role: "img", "aria-label": statusWord(status), title: statusWord(status)},
        icon(status));
}

// How many ms the server's clock is ahead of the browser's; 0 for a small difference. The server's clock measures what
// runs now.
let skew = 0;
/** @param {string | null} date the header Date of an answer, which has whole seconds */
export function noteServerTime(date) {
    const difference = date ? Date.parse(date) + 500 - Date.now() : 0;
    if (Math.abs(difference - skew) > 2000) skew = Math.abs(difference) > 2000 ? difference : 0;
}
export const now = () => Date.now() + skew;

/**
 * Milliseconds since 1970, with fractions.
 * @param {string} iso
 */
export function millis(iso) {
    const micros = /\.\d{3}(\d{3})/.exec(iso);
    return Date.parse(iso) + (micros ? Number(micros[1]) / 1000 : 0);
}

const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/**
 * @param {string} iso
 * @param {boolean} [precise] with milliseconds
 */
export function timeText(iso, precise) {
    const d = new Date(iso), today = new Date();
    const clock = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}` +
        (precise ? `.${String(d.getMilliseconds()).padStart(3, "0")}` : "");
    if (d.toDateString() === today.toDateString()) return clock;
    const day = `${MONTHS[d.getMonth()]} ${d.getDate()}`;
    return d.getFullYear() === today.getFullYear() ? `${day}, ${clock}` : `${d.getFullYear()} ${day}, ${clock}`;
}

/**
 * A time in the reader's zone and in UTC, to be shown on hover.
 * @param {string} iso
 */
export const bothZones = (iso) =>
    `${new Date(iso).toLocaleString(undefined, {dateStyle: "medium", timeStyle: "long"})}\n${
        iso.replace("T", " ").replace("Z", " UTC")}`;

/**
 * @param {string | null | undefined} iso
 * @param {boolean} [precise]
 */
export function time(iso, precise) {
    return iso ? h("time", {datetime: iso, title: bothZones(iso)}, timeText(iso, precise)) : h("span.none", "–");
}

/**
 * @param {number} ms
 * @returns {string}
 */
function agoText(ms) {
    const s = Math.round(ms / 1000);
    if (s < 0) return `in ${duration(-ms * 1000)}`;
    if (s < 5) return "now";
    if (s < 60) return `${s} s ago`;
    if (s < 3600) return `${Math.floor(s / 60)} min ago`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
    return `${Math.floor(s / 86400)} d ago`;
}

/**
 * Shows a time as an age, which startClock keeps current.
 * @param {string | null | undefined} iso
 */
export function ago(iso) {
    return iso ? h("time", {datetime: iso, title: bothZones(iso), "data-live": "ago"}, agoText(now() - millis(iso))) :
                 h("span.none", "–");
}

/** @param {number | null | undefined} us */
export function duration(us) {
    if (us === null || us === undefined) return "–";
    const ms = us / 1000, s = ms / 1000;
    if (ms < 1) return `${ms.toFixed(1)} ms`;
    if (ms < 999.5) return `${Math.round(ms)} ms`;
    if (s < 59.95) return `${s.toFixed(1)} s`;
    const whole = Math.round(s), m = Math.floor(whole / 60), hours = Math.floor(m / 60);
    if (hours < 1) return `${m} min ${two(whole % 60)} s`;
    if (hours < 24) return `${hours} h ${two(m % 60)} min`;
    return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/**
 * Whole seconds only, so that a running counter does not flicker.
 * @param {number} ms
 */
const counter = (ms) => (ms < 59500 ? `${Math.max(0, Math.round(ms / 1000))} s` : duration(ms * 1000));

/**
 * How long something ran, or has run so far.
 * @param {{duration_us: number | null, started_at: string | null, finished_at: string | null}} e
 */
export function ran(e) {
    if (e.duration_us !== null) return h("span.num", duration(e.duration_us));
    if (!e.started_at || e.finished_at) return h("span.none", "–");
    return h("span.num", {"data-live": "since", "data-at": e.started_at}, counter(now() - millis(e.started_at)));
}

/** Updates the ages and counters of the page periodically. */
export function startClock() {
    setInterval(() => {
        if (document.hidden) return;
        for (const element of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-live]"))) {
            const ms = now() - millis(element.dataset.at ?? element.getAttribute("datetime") ?? "");
            const text = element.dataset.live === "ago" ? agoText(ms) : counter(ms);
            if (element.textContent !== text) element.textContent = text;
        }
    }, 1000);
}

/** @param {number} n */
export const count = (n) => n.toLocaleString("en");
/**
 * @param {number} n
 * @param {string} one
 * @param {string} [many]
 */
export const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : (many ?? one + "s")}`;

/** @param {number} n */
export function bytes(n) {
    if (n < 1024) return `${n} B`;
    const units = ["kB", "MB", "GB", "TB"];
    let unit = -1;
    do {
        n /= 1024;
        unit++;
    } while (n >= 1024 && unit < 3);
    return `${n.toFixed(n < 10 ? 1 : 0)} ${units[unit]}`;
}

/**
 * The last part of a full name: "workflow::task[3]" is "task[3]".
 * @param {{name: string, task_name?: string | null, task_index?: number | null}} e
 */
export const shortName = (e) => e.name.slice(e.name.indexOf("::") < 0 ? 0 : e.name.indexOf("::") + 2);

/**
 * A text from the server with its times in the reader's zone.
 * @param {string} text
 * @returns {import("./dom.js").Child[]}
 */
export const withTimes = (text) => text.split(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/)
                                       .map((part, i) => (i % 2 && !isNaN(Date.parse(part)) ? time(part) : part));

/**
 * Formats a sentence from the server: it gets a capital letter, `code` is marked, and times are in the reader's zone.
 * @param {string} text
 * @returns {import("./dom.js").Child[]}
 */
export const prose = (text) => (text.charAt(0).toUpperCase() + text.slice(1))
                                   .split(/`([^`]+)`/)
                                   .map((part, i) => (i % 2 ? h("code", part) : withTimes(part)));
