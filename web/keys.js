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
const isTyping = (target) =>
    target instanceof HTMLElement && !!target.closest("input:not([type=range]), textarea, select, [contenteditable]");

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

export function startKeys() {
    document.addEventListener("keydown", onKey);
    addKeys([{keys: "?", text: "show this list", run: showKeys}]);
}
