// dialog.js - questions before an action, and short notes after it.
import {h} from "./dom.js";

/**
 * Shows a sentence for some seconds.
 * @param {string} text
 * @param {"ok" | "wrong"} [kind]
 * @param {{href: string, text: string}} [link]
 */
export function note(text, kind = "ok", link) {
    const element =
        h(`p.note.${kind}`, text, link && [" ", h("a", {href: link.href}, link.text)],
          h("button.quiet", {type: "button", "aria-label": "Close", onclick: () => element.remove()}, "×"));
    document.getElementById("notes")?.append(element);
    setTimeout(() => element.remove(), kind === "wrong" ? 15000 : 6000);
}

/**
 * Asks a question, and carries out the action while the dialog is open: the dialog shows a refusal. Resolves to the result of the
 * action, or undefined if the user cancelled the dialog.
 * @template T
 * @param {{title: string, text?: any, fields?: any, confirm: string, danger?: boolean, wide?: boolean,
 *          act: (form: FormData) => Promise<T>}} options
 * @returns {Promise<T | undefined>}
 */
export function ask(options) {
    return new Promise((resolve) => {
        /** @type {T | undefined} */
        let result;
        const wrong = h("p.wrong", {role: "alert"});
        const confirm =
            h("button", {type: "submit", class: options.danger ? "primary danger" : "primary"}, options.confirm);
        const form =
            h("form", {
                onsubmit: async (/** @type {Event} */ e) => {
                    e.preventDefault();
                    confirm.disabled = true;
                    wrong.textContent = "";
                    try {
                        result = await options.act(new FormData(form));
                        dialog.close();
                    } catch (error) { wrong.textContent = /** @type {Error} */ (error).message; } finally {
                        confirm.disabled = false;
                    }
                },
            },
              h("h1", {id: "ask-title"}, options.title), options.text && h("p", options.text), options.fields, wrong,
              h("div.buttons", h("button", {type: "button", onclick: () => dialog.close()}, "Close"), confirm));
        const dialog =
            h("dialog", {
                class: options.wide ? "wide" : "",
                "aria-labelledby": "ask-title",
                onclose: () => {
                    dialog.remove();
                    resolve(result);
                }
            },
              form);
        document.body.append(dialog);
        dialog.showModal();
    });
}

/**
 * A field with its label.
 * @param {string} label
 * @param {any} control
 * @param {any} [hint]
 */
export function field(label, control, hint) {
    const id = control.id || `f-${control.name}`;
    control.id = id;
    if (hint) control.setAttribute("aria-describedby", `${id}-hint`);
    return h("div.field", h("label", { for: id
             }, label), control, hint && h("p.hint", {id: `${id}-hint`}, hint));
}

/** A field for a reason, which the history keeps. */
export const reasonField = () => field(
    "Reason (optional)", h("input", {name: "reason", maxlength: 1000, autocomplete: "off"}),
    "Recorded in the history.");

/**
 * A piece of text with a button that copies it.
 * @param {string} text
 */
export function copyable(text) {
    const button =
        h("button.quiet", {
            type: "button",
            onclick: async () => {
                await navigator.clipboard.writeText(text).then(
                    () => (button.textContent = "Copied"), () => (button.textContent = "Select and copy"));
            },
        },
          "Copy");
    return h("div.copyable", h("code", text), button);
}
