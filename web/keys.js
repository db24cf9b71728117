// keys.js - keyboard shortcuts, and the list of them that ? shows.
import {h} from "./dom.js";

/** @typedef {{keys: string, text: string, run: (e: KeyboardEvent) => void}} Shortcut keys: "j", "g r" */

/** @type {Set<Shortcut>} */
const shortcuts = new Set();
let prefix = "", prefixTimer = 0;

/**
 * @param {Shortcut[]} list
 * @param {AbortSignal} [signal] removes them
 */
export function addKeys(list, signal) {
    for (const s of list) shortcuts.add(s);
    signal?.addEventListener("abort", () => list.forEach((s) => shortcuts.delete(s)));
}

/** @param {EventTarget | null} target */
const isTyping = (target) => target instanceof HTMLElement &&
    !!target.closest("input:not([type=range], [type=checkbox], [type=radio]), textarea, select, [contenteditable]");

/** @param {KeyboardEvent} e */
function onKey(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (isTyping(e.target)) {
        if (e.key === "Escape") /** @type {HTMLElement} */
            (e.target).blur();
        return;
    }
    const pressed = prefix ? `${prefix} ${e.key}` : e.key;
    prefix = "";
    clearTimeout(prefixTimer);
    for (const s of [...shortcuts].reverse()) {
        if (s.keys === pressed) {
            e.preventDefault();
            s.run(e);
            return;
        }
        if (s.keys.startsWith(pressed + " ")) prefix = pressed;
    }
    if (prefix) prefixTimer = window.setTimeout(() => (prefix = ""), 1500);
}

export function showKeys() {
    const dialog =
        h("dialog.keys", {"aria-labelledby": "keys-title", onclose: () => dialog.remove()},
          h("form", {method: "dialog"}, h("h1", {id: "keys-title"}, "Keyboard"),
            h("dl", [...shortcuts].map((s) => [h("dt", s.keys.split(" ").map((k) => h("kbd", k))), h("dd", s.text)])),
            h("div.buttons", h("button.primary", {autofocus: true}, "Close"))));
    document.body.append(dialog);
    dialog.showModal();
}

/**
 * Makes the keys j and k move between the rows of lists. Returns a function for the row that the user is at: the one that
 * has the focus, or had it before an action replaced it.
 * @param {Element[]} bodies
 * @param {AbortSignal} signal
 * @param {string} [noun]
 */
export function rowKeys(bodies, signal, noun = "row") {
    /** @type {any} */
    let last = null;
    const keyOf = (/** @type {any} */ row) => row?.pawlKey ?? row;
    const rows = () => /** @type {HTMLElement[]} */ (bodies.flatMap((b) => [...b.children]));
    const current = () => {
        const active = document.activeElement, list = rows();
        const isLost = !active || active.matches("body, main");
        return list.find((r) => r.contains(active)) ?? (isLost ? list.find((r) => keyOf(r) === last) : undefined);
    };
    const move = (/** @type {number} */ step) => {
        const list = rows(), now = current(), at = now ? list.indexOf(now) + step : 0;
        const row = list[Math.min(list.length - 1, Math.max(0, at))];
        if (!row) return;
        const control = /** @type {HTMLElement | null} */ (row.querySelector("a, button"));
        if (!control) row.tabIndex = -1;
        (control ?? row).focus();
    };
    for (const body of bodies)
        body.addEventListener("focusin", (e) => {
            last = keyOf(rows().find((r) => r.contains(/** @type {Node} */ (e.target))));
        });
    addKeys(
        [
            {keys: "j", text: `next ${noun}`, run: () => move(1)},
            {keys: "k", text: `previous ${noun}`, run: () => move(-1)}
        ],
        signal);
    return current;
}

/**
 * Makes Tab reach one link in an element, and other keys move from it to the others.
 * @param {HTMLElement} element
 * @param {(link: HTMLElement, key: string) => HTMLElement | null | undefined} next the link that a key moves to
 */
export function rove(element, next) {
    element.addEventListener("focusin", (e) => {
        if (/** @type {HTMLElement} */ (e.target).tagName !== "A") return;
        for (const link of element.querySelectorAll("a[tabindex='0']")) link.setAttribute("tabindex", "-1");
        /** @type {HTMLElement} */ (e.target).tabIndex = 0;
    });
    element.addEventListener("keydown", (e) => {
        const link = /** @type {HTMLElement} */ (e.target).closest("a");
        const to = link && !e.ctrlKey && !e.metaKey && !e.altKey && next(link, e.key);
        if (!to) return;
        e.preventDefault();
        to.focus();
    });
}

export function startKeys() {
    document.addEventListener("keydown", onKey);
    addKeys([{keys: "?", text: "show this list", run: showKeys}]);
}
