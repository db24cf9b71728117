// editor.js - a field for the text of a workflow. Problems that the server finds are marked where they are: the line in the margin,
// the place below the text, and the sentence after it.
import {fill, h} from "./dom.js";

/** @typedef {{line: number, column: number, text: string}} Place */

/**
 * The problems of a refusal: lines of the form file:LINE:COLUMN: sentence, each followed by the line and a caret.
 * @param {string} message
 * @returns {Place[]}
 */
export function problemsOf(message) {
    return [...message.matchAll(/^\S*?:(\d+):(\d+): (.*)$/gm)].map(
        ([, line, column, text]) => ({line: Number(line), column: Number(column), text}));
}

export class Editor {
    /**
	 * @param {{label: string, value?: string, rows?: number, name?: string}} options
	 */
    constructor({label, value = "", rows = 14, name = "yaml"}) {
        /** @type {Place[]} */
        this.places = [];
        const id = `editor-${name}`;
        this.area = h("textarea", {
            name,
            id,
            rows,
            wrap: "off",
            spellcheck: "false",
            autocomplete: "off",
            autocapitalize: "off",
            required: true,
            value,
            "aria-describedby": `${id}-problems`,
            oninput: () => this.changed(),
            onscroll: () => this.scrolled(),
            onkeydown: (/** @type {KeyboardEvent} */ e) => this.onKey(e)
        });
        this.gutter = h("div.gutter", {"aria-hidden": "true"});
        this.mirror = h("pre.mirror", {"aria-hidden": "true"});
        this.list = h("ol.problems", {id: `${id}-problems`});
        this.element = h(
            "div.editor-field",
            h("label",
              { for: id
              },
              label),
            h("div.editor", this.gutter, h("div.code", this.mirror, this.area)), h("div", {role: "alert"}, this.list));
        this.draw();
    }

    /** @returns {string} */
    get value() { return this.area.value; }
    set value(text) {
        this.area.value = text;
        this.changed();
    }

    /** Marks no longer fit once the text has changed. */
    changed() {
        this.places = [];
        fill(this.list);
        this.area.removeAttribute("aria-invalid");
        this.draw();
    }

    /**
	 * A new line starts below the one before.
	 * @param {KeyboardEvent} e
	 */
    onKey(e) {
        if (e.key !== "Enter" || e.ctrlKey || e.metaKey || e.isComposing) return;
        const {selectionStart: at, selectionEnd: end, value} = this.area;
        const line = value.slice(value.lastIndexOf("\n", at - 1) + 1, at);
        const indent = (/^ */.exec(line)?.[0] ?? "") + (/:\s*\|?$/.test(line) ? "  " : "");
        if (!indent) return;
        e.preventDefault();
        this.area.setRangeText(`\n${indent}`, at, end, "end");
        this.changed();
    }

    /**
	 * Marks the problems of a refusal; false if it names no place.
	 * @param {string} message
	 */
    show(message) {
        const lines = this.value.split("\n");
        this.places = problemsOf(message);
        fill(this.list, this.places.map((p) => {
            const source = lines[p.line - 1] ?? "", before = source.slice(0, p.column - 1).replace(/[^\t]/g, " ");
            return h(
                "li",
                h("button.link", {type: "button", onclick: () => this.goTo(p)}, `Line ${p.line}, column ${p.column}`),
                ": ", p.text, h("pre.caret", {"aria-hidden": "true"}, `${source}\n${before}^`));
        }));
        if (this.places.length) {
            this.area.setAttribute("aria-invalid", "true");
            this.draw();
            this.goTo(this.places[0]);
        }
        return this.places.length > 0;
    }

    /** @param {Place} p */
    goTo(p) {
        const lines = this.value.split("\n");
        const at = lines.slice(0, p.line - 1).reduce((n, l) => n + l.length + 1, 0) + p.column - 1;
        this.area.focus();
        this.area.setSelectionRange(at, at);
        this.area.scrollTop = Math.max(0, (p.line - 4) * (this.area.scrollHeight / lines.length));
        this.scrolled();
    }

    draw() {
        const lines = this.value.split("\n"), wrong = new Set(this.places.map((p) => p.line));
        fill(this.gutter, h("div", lines.map((_, i) => h("div", {class: wrong.has(i + 1) ? "bad" : ""}, i + 1))));
        fill(this.mirror, this.places.length ? lines.map((line, i) => this.marked(line, i + 1)) : "");
        this.scrolled();
    }

    /**
	 * A line of the layer below the text, with its wrong places underlined.
	 * @param {string} line
	 * @param {number} number
	 */
    marked(line, number) {
        const p = this.places.find((o) => o.line === number);
        if (!p) return `${line}\n`;
        const start = Math.min(p.column - 1, Math.max(0, line.length - 1));
        const word = /^[\w.$-]+|^\S|^$/.exec(line.slice(start))?.[0] || line.slice(start) || " ";
        return [line.slice(0, start), h("span.squiggle", word), line.slice(start + word.length), "\n"];
    }

    scrolled() {
        const {scrollTop: y, scrollLeft: x} = this.area;
        this.gutter.scrollTop = y;
        this.mirror.scrollTop = y;
        this.mirror.scrollLeft = x;
    }
}
