// app.js - the frame of all pages: session, navigation, state of the stream.
import {forgetEarly} from "./api.js";
import {fill, h} from "./dom.js";
import {startClock} from "./format.js";
import {addKeys, showKeys, startKeys} from "./keys.js";
import {go, hasFailed, loadAhead, showError, showPage, startRouter} from "./router.js";
import {renewSession, startSession, whoAmI} from "./session.js";
import {onStreamState} from "./stream.js";

const NAV = [
    ["/", "Runs", "r"], ["/workflows", "Workflows", "f"], ["/queues", "Queues", "q"], ["/workers", "Workers", "w"],
    ["/schedules", "Schedules", "s"], ["/events", "Events", "e"], ["/system", "System", "y"]
];

/** @param {"live" | "connecting" | "lost"} state */
function showState(state) {
    if (state === "live" && hasFailed()) showPage(true);
    const words = {live: "Live", connecting: "Connecting", lost: "Reconnecting"};
    fill(
        /** @type {Element} */ (document.getElementById("state")),
        h("span.live", {
            class: state,
            title: state === "live" ? "changes are shown as they happen" : "the server can't be reached; trying again"
        },
          words[state]),
        h("button.quiet",
          {type: "button", "aria-label": "Keyboard shortcuts", title: "Keyboard shortcuts", onclick: showKeys}, "?"));
}

async function start() {
    loadAhead();
    fill(/** @type {Element} */ (document.getElementById("nav")), NAV.map(([href, text]) => h("a", {href}, text)));
    startKeys();
    addKeys(NAV.map(([href, text, key]) => ({keys: `g ${key}`, text: `go to ${text}`, run: () => go(href)})));
    window.addEventListener("pawl-unauthorized", (e) => {
        if (whoAmI()) renewSession(/** @type {CustomEvent} */ (e).detail);
    });
    window.addEventListener("pawl-session", () => showPage(true));
    onStreamState(showState);
    startClock();
    try {
        await startSession();
        startRouter();
        await showPage();
        forgetEarly();
    } catch (error) { showError(error); }
}

start();
