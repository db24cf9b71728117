// icons.js - small drawings, 16 by 16, in the colour of the text.
import {svg} from "./dom.js";

/** @type {Record<string, string>} */
const PATHS = {
    succeeded: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M5.2 8.2l2 2 3.6-4.2",
    failed: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M5.9 5.9l4.2 4.2M10.1 5.9l-4.2 4.2",
    timed_out: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 4.6V8l2.4 1.6",
    cancelled: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M3.7 3.7l8.6 8.6",
    skipped: "M3.5 4l4 4-4 4M8.5 4l4 4-4 4",
    running: "M14.2 8A6.2 6.2 0 1 1 8 1.8M8 8v.01",
    ready: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M6.3 5.8v4.4M9.7 5.8v4.4",
    pending: "M8 2.8v.01M11.7 4.3v.01M13.2 8v.01M11.7 11.7v.01M8 13.2v.01M4.3 11.7v.01M2.8 8v.01M4.3 4.3v.01",
    paused: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M6.3 5.8v4.4M9.7 5.8v4.4",
    play: "M4.5 2.8v10.4L13 8z",
    pause: "M5.2 3v10M10.8 3v10",
    cancel: "M4 4l8 8M12 4l-8 8",
    rerun: "M13 3v3.6H9.4M12.7 6.6A5.3 5.3 0 1 0 13.3 9",
    skip: "M3.5 4l4 4-4 4M8.5 4l4 4-4 4",
    check: "M3 8.5l3.2 3.2L13 4.6",
    open: "M6 3.5 10.5 8 6 12.5",
    shut: "M3.5 6 8 10.5 12.5 6",
    fold: "M6 3.5 10.5 8 6 12.5",
    command: "M3 4.5 6.5 8 3 11.5M8 12h5",
    plus: "M8 3v10M3 8h10",
    copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
    link: "M6.8 9.2l2.4-2.4M7.2 4.8l1.2-1.2a2.8 2.8 0 0 1 4 4l-1.2 1.2M8.8 11.2l-1.2 1.2a2.8 2.8 0 0 1-4-4l1.2-1.2",
    down: "M8 3v9M4.2 8.4 8 12.2l3.8-3.8",
    warn: "M8 2.2 14.4 13.4H1.6zM8 6.4v3M8 11.4v.01",
    info: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 7.4v3.4M8 5.2v.01",
    clock: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8M8 4.6V8l2.4 1.6",
    diff: "M5 2.5v8M2.8 8.3 5 10.5l2.2-2.2M11 13.5v-8M8.8 7.7 11 5.5l2.2 2.2",
    more: "M3.5 8v.01M8 8v.01M12.5 8v.01",
    prev: "M10 3.5 5.5 8l4.5 4.5",
    next: "M6 3.5 10.5 8 6 12.5",
    limit: "M2.5 11.5a5.8 5.8 0 1 1 11 0M8 10.5l2.6-3.6",
    foreach: "M3 3.5h10M3 8h10M3 12.5h10",
    workflow: "M2.5 2.5h4v4h-4zM9.5 9.5h4v4h-4zM6.5 4.5h3.2a1.8 1.8 0 0 1 1.8 1.8v3.2",
    path: "M2 12.5h3.5l5-9H14M11.5 1.5 14 3.5l-2.5 2",
};

/** @param {string} name */
export function icon(name) {
    return svg(
        "svg", {class: `icon i-${name}`, viewBox: "0 0 16 16", "aria-hidden": "true"},
        svg("path", {d: PATHS[name] ?? PATHS.info}));
}
