// log.js - the output of an attempt. It is read in ranges of bytes; only the last part is kept in the document, earlier parts are
// loaded on request. While the attempt runs, new output is added and the end stays in view.
import {look, parseLine, plain} from "./ansi.js";
import {isAborted, queryText, request} from "./api.js";
import {fill, h} from "./dom.js";
import {bytes, plural} from "./format.js";
import {icon} from "./icons.js";
import {rove} from "./keys.js";
import {LogSearch} from "./log_search.js";

const RANGE = 64 << 10;
const LINES_MAX = 5000;
const POLL_MS = 1000; // ms; new output causes no event, so it is requested periodically while the log is shown
/** @type {Record<string, number>} how many lines a key moves */
const STEPS = {
    ArrowUp: -1,
    ArrowDown: 1,
    PageUp: -20,
    PageDown: 20,
    Home: -Infinity,
    End: Infinity
};

/** @typedef {{data: Uint8Array, attempt: number, from: number, next: number, dropped: number, more: boolean, ended: boolean}} Range */

/**
 * @param {number} id
 * @param {number | null} attempt
 * @param {number} from
 * @param {number} limit
 * @param {AbortSignal} signal
 * @returns {Promise<Range>}
 */
async function read(id, attempt, from, limit, signal) {
    const answer = await request("GET", `/v1/executions/${id}/logs${queryText({attempt, from, limit})}`, {signal});
    const number = (/** @type {string} */ name) => Number(answer.headers.get(`Pawl-Log-${name}`) ?? 0);
    const flag = (/** @type {string} */ name) => answer.headers.get(`Pawl-Log-${name}`) === "true";
    return {
        data: new Uint8Array(await answer.arrayBuffer()),
        attempt: number("Attempt"),
        from: number("From"),
        next: number("Next"),
        dropped: number("Dropped"),
        more: flag("More"),
        ended: flag("Ended")
    };
}

export class LogView {
    /**
	 * @param {number} id
	 * @param {number | null} attempt null: the last one
	 * @param {number | null} byte the start of a line to show
	 * @param {AbortSignal} signal
	 */
    constructor(id, attempt, byte, signal) {
        this.id = id;
        this.wanted = attempt;
        this.target = byte;
        this.leave = new AbortController();
        signal.addEventListener("abort", () => this.close());
        this.lines =
            h("div.lines",
              {role: "log", "aria-live": "off", tabindex: 0, "aria-label": "Output", onfocus: () => this.offerLine()});
        rove(this.lines, (link, key) => {
            const links = [...this.lines.querySelectorAll(".at")], to = links.indexOf(link) + STEPS[key];
            return isNaN(to) ? null : links[Math.min(links.length - 1, Math.max(0, to))];
        });
        this.earlier = h("div.earlier");
        this.foot = h("div.log-foot");
        this.scroller = h("div.log-scroll", {onscroll: () => this.showFoot()}, this.earlier, this.lines);
        this.search = new LogSearch(id, () => this.attempt, (byte) => this.goTo(byte), this.leave.signal);
        this.element = h("div.log", this.search.element, this.scroller, this.foot);
        const size = new ResizeObserver(() => {
            if (this.follow) this.scroller.scrollTop = this.scroller.scrollHeight;
        });
        size.observe(this.scroller);
        signal.addEventListener("abort", () => size.disconnect());
        this.follow = byte === null;
        this.timer = 0;
        this.busy = false;
        this.attempt = 0;
        this.first = 0;                // offset of the first line shown
        this.next = 0;                 // offset of the next byte to read
        this.rest = new Uint8Array(0); // an unfinished line at the end
        this.restAt = 0;
        this.style = plain();
        this.number = 1; // number of the next line; 0 if unknown, because the start of the output was not read
        this.ended = false;
        /** @type {any} */
        this.tail = null;
        this.start().catch((error) => this.fail(error));
    }

    close() {
        clearTimeout(this.timer);
        this.leave.abort();
    }

    /** Lets Tab reach the link of a line in view, if it reaches none yet. */
    offerLine() {
        if (this.lines.querySelector(".at[tabindex='0']")) return;
        const top = this.scroller.getBoundingClientRect().top;
        const line = this.lines.querySelector(".target") ??
            [...this.lines.querySelectorAll(".line")].find((l) => l.getBoundingClientRect().bottom > top);
        line?.querySelector(".at").setAttribute("tabindex", "0");
    }

    /** Called when an event of the execution has arrived: requests new output at once. */
    poke() {
        if (this.timer) {
            clearTimeout(this.timer);
            this.timer = 0;
            this.poll();
        }
    }

    /**
	 * Shows another part, with a line of it marked.
	 * @param {number} byte
	 */
    async goTo(byte) {
        const shown = this.lines.querySelector(`[data-byte="${byte}"]`);
        this.target = byte;
        this.follow = false;
        this.lines.querySelector(".target")?.classList.remove("target");
        if (!shown) {
            clearTimeout(this.timer);
            this.timer = 0;
            this.reset();
            return this.start().catch((error) => this.fail(error));
        }
        shown.classList.add("target");
        shown.scrollIntoView({block: "center"});
    }

    /** Clears the log, to show another attempt. */
    reset() {
        this.attempt = this.first = this.next = this.restAt = 0;
        this.rest = new Uint8Array(0);
        this.style = plain();
        this.number = 1;
        this.ended = false;
        this.tail = null;
        fill(this.lines);
        fill(this.earlier);
    }

    async start() {
        const signal = this.leave.signal;
        let from = 0;
        if (this.target !== null) from = Math.max(0, this.target - RANGE / 4);
        let range = await read(this.id, this.wanted, from, RANGE, signal);
        if (this.target === null && range.more) {
            from = await this.findEnd(range);
            range = await read(this.id, this.wanted, from, RANGE, signal);
        }
        this.begin(range, from);
        if (this.target !== null) {
            const line = this.lines.querySelector(".target");
            line?.scrollIntoView({block: "center"});
            // The link that was followed is gone: the focus stays at its line.
            if (document.activeElement === document.body) line?.querySelector(".at").focus({preventScroll: true});
        }
        this.schedule(range);
    }

    /**
     * Returns an offset near the end of the output: doubles the offset until no output is there, then bisects.
     * @param {Range} range
     */
    async findEnd(range) {
        let low = range.next, high = low * 2;
        const has = async (/** @type {number} */ at) => {
            const r = await read(this.id, this.wanted, at, 1, this.leave.signal);
            return r.data.length > 0;
        };
        while (await has(high)) {
            low = high;
            high *= 2;
        }
        while (high - low > RANGE / 2) {
            const middle = Math.floor((low + high) / 2);
            if (await has(middle))
                low = middle;
            else
                high = middle;
        }
        return Math.max(0, low - RANGE / 2);
    }

    /**
	 * @param {Range} range
	 * @param {number} asked
	 */
    begin(range, asked) {
        this.attempt = range.attempt;
        let data = range.data, from = range.from;
        if (from > 0 && asked > 0) {
            // The range starts in the middle of a line, which is cut off. The number of the line after it is unknown.
            const cut = data.indexOf(10) + 1;
            data = data.subarray(cut);
            from += cut;
            this.number = 0;
        }
        this.first = this.restAt = from;
        this.add({...range, data, from});
    }

    /** @param {any} error */
    fail(error) {
        if (isAborted(error)) return;
        fill(this.foot, h("span.wrong", /** @type {Error} */ (error).message));
    }

    /** @param {Range} range */
    schedule(range) {
        this.ended = range.ended && !range.more;
        this.showFoot();
        if (!this.ended)
            this.timer = window.setTimeout(() => {
                this.timer = 0;
                this.poll();
            }, range.more ? 0 : POLL_MS);
    }

    async poll() {
        if (this.busy) return;
        if (document.hidden)
            return void (this.timer = window.setTimeout(() => {
                this.timer = 0;
                this.poll();
            }, POLL_MS));
        this.busy = true;
        try {
            const range = await read(this.id, this.wanted, this.next, RANGE, this.leave.signal);
            if (range.attempt !== this.attempt) {
                this.reset();
                await this.start();
            } else {
                this.add(range);
                this.schedule(range);
            }
        } catch (error) {
            this.fail(error);
            if (!isAborted(error))
                this.timer = window.setTimeout(() => {
                    this.timer = 0;
                    this.poll();
                }, 5 * POLL_MS);
        } finally { this.busy = false; }
    }

    /**
     * Adds a range of output that follows the shown one.
     * @param {Range} range
     */
    add(range) {
        if (range.dropped && range.data.length) {
            this.flush();
            this.lines.append(h("div.dropped", `${bytes(range.dropped)} were not kept`));
            this.number = 0;
            this.restAt = range.from;
        }
        this.next = range.next;
        if (!range.data.length) return;
        const all = new Uint8Array(this.rest.length + range.data.length);
        all.set(this.rest);
        all.set(range.data, this.rest.length);
        const made = document.createDocumentFragment();
        let at = 0;
        const byte = Number(this.tail?.contains(document.activeElement) ? this.tail.dataset.byte : NaN);
        this.tail?.remove();
        this.tail = null;
        for (let end; (end = all.indexOf(10, at)) >= 0; at = end + 1)
            made.append(this.line(all.subarray(at, end), this.restAt + at, this.style));
        this.rest = all.slice(at);
        this.restAt += at;
        this.lines.append(made);
        if (this.rest.length) {
            this.tail = this.line(this.rest, this.restAt, {...this.style});
            if (this.number) this.number--;
            this.lines.append(this.tail);
        }
        if (!isNaN(byte)) this.lines.querySelector(`[data-byte="${byte}"] .at`)?.focus({preventScroll: true});
        this.drop();
        if (this.follow) this.scroller.scrollTop = this.scroller.scrollHeight;
        this.showEarlier();
    }

    /** Leaves the unfinished line as it is: what comes next is not part of it. */
    flush() {
        this.rest = new Uint8Array(0);
        this.tail = null;
    }

    /** Removes the first lines if there are too many. */
    drop() {
        const extra = this.lines.childElementCount - LINES_MAX;
        if (extra <= 0 || !this.follow) return;
        for (let i = 0; i < extra; i++) this.lines.firstElementChild.remove();
        this.first = Number(this.lines.firstElementChild.dataset.byte ?? this.first);
    }

    /**
	 * @param {Uint8Array} data
	 * @param {number} byte
	 * @param {import("./ansi.js").Style} style
	 */
    line(data, byte, style) {
        const text = new TextDecoder().decode(data), number = this.number ? this.number++ : 0;
        const query = queryText({task: this.id, attempt: this.attempt, byte});
        const parts = parseLine(text, style).map((part) => {
            const {classes, fg, bg} = look(part.style);
            if (!classes.length && !fg && !bg) return part.text;
            const span = h("span", {class: classes.join(" ")}, part.text);
            if (fg) span.style.color = fg;
            if (bg) span.style.backgroundColor = bg;
            return span;
        });
        return h(
            "div", {class: byte === this.target ? "line target" : "line", "data-byte": byte},
            h("a.at", {
                href: location.pathname + query,
                tabindex: -1,
                "aria-label": number ? `Link to line ${number}` : `Link to the line at byte ${byte}`
            },
              number || "·"),
            h("span.text", parts));
    }

    showEarlier() {
        fill(
            this.earlier,
            this.first > 0 &&
                h("button.link", {type: "button", onclick: () => this.loadEarlier().catch((e) => this.fail(e))},
                  `Show earlier output (${bytes(this.first)} before this)`));
    }

    async loadEarlier() {
        const from = Math.max(0, this.first - RANGE), before = this.scroller.scrollHeight;
        const range = await read(this.id, this.wanted, from, this.first - from, this.leave.signal);
        let data = range.data, start = range.from;
        if (from > 0) {
            const cut = data.indexOf(10) + 1;
            data = data.subarray(cut);
            start += cut;
        }
        const made = document.createDocumentFragment(), style = plain(), number = this.number;
        this.number = 0;
        let at = 0;
        for (let end; (end = data.indexOf(10, at)) >= 0; at = end + 1)
            made.append(this.line(data.subarray(at, end), start + at, style));
        this.number = number;
        this.follow = false;
        this.lines.prepend(made);
        this.first = from > 0 ? start : 0;
        this.scroller.scrollTop += this.scroller.scrollHeight - before;
        this.showEarlier();
    }

    showFoot() {
        const s = this.scroller, atEnd = s.scrollHeight - s.scrollTop - s.clientHeight < 40;
        this.follow = atEnd;
        const n = this.lines.childElementCount;
        const state = this.ended ? (n ? "end of the output" : "it wrote nothing") :
            this.attempt         ? "following" :
                                   "no output yet";
        const text = `${this.attempt ? `attempt ${this.attempt} · ` : ""}${plural(n, "line")} · ${state}`;
        if (this.foot.dataset.text === text + atEnd) return;
        this.foot.dataset.text = text + atEnd;
        fill(
            this.foot, h("span", text),
            !atEnd &&
                h("button.link", {
                    type: "button",
                    onclick: () => {
                        s.scrollTop = s.scrollHeight;
                    }
                },
                  icon("down"), "To the end"));
    }
}
