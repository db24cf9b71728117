// log_search.js - searches the whole output of an attempt on the server, which may be much longer than what is shown.
import {parseLine, plain} from "./ansi.js";
import {get, isAborted} from "./api.js";
import {fill, h} from "./dom.js";
import {count, plural} from "./format.js";
import {icon} from "./icons.js";

const FOUND_MAX = 500;

export class LogSearch {
    /**
	 * @param {number} id
	 * @param {() => number} attempt
	 * @param {(byte: number) => void} onChoose
	 * @param {AbortSignal} signal
	 */
    constructor(id, attempt, onChoose, signal) {
        this.id = id;
        this.attempt = attempt;
        this.onChoose = onChoose;
        /** @type {{byte: number, text: string}[]} */
        this.items = [];
        this.at = -1;
        this.asked = "";
        this.more = false;
        this.leave = new AbortController();
        signal.addEventListener("abort", () => this.leave.abort());
        this.box = h("input", {
            type: "search",
            "aria-label": "Search the output",
            placeholder: "Search the whole output",
            autocomplete: "off",
            spellcheck: "false",
            oninput: () => !this.box.value && this.clear(),
            onkeydown: (/** @type {KeyboardEvent} */ e) => this.onKey(e)
        });
        this.state = h("span.found-state", {role: "status"});
        const step = (/** @type {number} */ n, /** @type {string} */ name, /** @type {string} */ text) => h(
            "button.quiet", {type: "button", "aria-label": text, title: text, onclick: () => this.move(n)}, icon(name));
        this.steps =
            h("span.found-steps", {hidden: true}, step(-1, "prev", "Previous match"), step(1, "next", "Next match"));
        this.list = h("ol.found", {hidden: true, "aria-label": "Lines that were found"});
        this.element = h("div.log-search", h("div.log-search-bar", this.box, this.state, this.steps), this.list);
    }

    clear() {
        this.leave.abort();
        this.items = [];
        this.at = -1;
        this.asked = "";
        fill(this.state);
        fill(this.list);
        this.list.hidden = this.steps.hidden = true;
    }

    /** @param {KeyboardEvent} e */
    onKey(e) {
        if (e.key === "Escape") {
            this.box.value = "";
            return this.clear();
        }
        if (e.key !== "Enter") return;
        e.preventDefault();
        const text = this.box.value.trim();
        if (text && text === this.asked && this.items.length)
            this.move(e.shiftKey ? -1 : 1);
        else if (text)
            this.search(text).catch((error) => {
                if (!isAborted(error)) fill(this.state, h("span.wrong", error.message));
            });
    }

    /** @param {string} text */
    async search(text) {
        this.clear();
        this.asked = text;
        const leave = (this.leave = new AbortController());
        let from = /** @type {number | null} */ (0);
        while (from !== null && this.items.length < FOUND_MAX) {
            fill(this.state, this.items.length ? `${count(this.items.length)} …` : "Searching …");
            const page = await get(
                `/v1/executions/${this.id}/logs/search`, {text, from, attempt: this.attempt() || null, limit: 100},
                leave.signal);
            this.items.push(...page.items);
            from = page.next;
            this.show(from !== null);
        }
        this.show(from !== null);
        if (this.at < 0) this.move(1);
    }

    /** @param {boolean} more */
    show(more) {
        const n = this.items.length;
        fill(
            this.state,
            n ? `${this.at >= 0 ? `${count(this.at + 1)} of ` : ""}${more ? `more than ${count(n)}` : count(n)} ${
                    plural(n, "line").split(" ")[1]}` :
                "not found");
        this.list.hidden = this.steps.hidden = !n;
        this.more = more;
        for (const item of this.items.slice(this.list.childElementCount)) {
            const i = this.list.childElementCount;
            this.list.append(
                h("li",
                  h("button", {type: "button", onclick: () => this.go(i)},
                    parseLine(item.text, plain()).map((p) => p.text).join("") || " ")));
        }
    }

    /** @param {number} step */
    move(step) {
        const n = this.items.length;
        if (n) this.go((this.at + step + n) % n);
    }

    /** @param {number} i */
    go(i) {
        this.list.children[this.at]?.classList.remove("chosen");
        this.at = i;
        this.list.children[i].classList.add("chosen");
        this.list.children[i].scrollIntoView({block: "nearest"});
        this.show(this.more);
        this.onChoose(this.items[i].byte);
    }
}
