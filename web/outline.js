// outline.js - the executions of a run as a tree, with their bars beside the names. Only the rows in view are in the document, and the
// items of a fan-out are loaded page by page when someone wants to see them.
import {get} from "./api.js";
import {h, sync} from "./dom.js";
import {count, mark, millis, now, plural, ran, shortName, statusWord} from "./format.js";
import {Gantt} from "./gantt.js";
import {icon} from "./icons.js";

const ROW = 28, AXIS = 26, ITEMS = 200;

/** @typedef {{id: string, line: any, depth: number, isOpen: boolean | null, more?: number}} Row isOpen: null if it has no children; more: a row that loads items of this execution */

/**
 * An execution in the form of a line of the outline.
 * @param {any} e
 */
export const lineOf = (e) => ({
    ...e,
    task_name: e.workflow_task?.task_name ?? null,
    task_index: e.workflow_task?.task_index ?? null,
    ready_at: null,
    items: null
});

/**
 * How many items of a fan-out exist.
 * @param {any} line
 */
const itemsMade =
    (line) => ["pending", "ready", "running", "succeeded", "failed", "timed_out", "cancelled", "skipped"].reduce(
        (n, s) => n + (line.items?.[s] ?? 0), 0);

export class Outline {
    /**
	 * @param {(id: number) => void} onSelect
	 * @param {AbortSignal} signal
	 */
    constructor(onSelect, signal) {
        this.onSelect = onSelect;
        this.signal = signal;
        /** @type {any[]} */
        this.lines = [];
        /** @type {Map<number, any[]>} */
        this.children = new Map();
        /** @type {Map<number, {list: any[], next: string | null, made: number}>} made: how many existed then */
        this.items = new Map();
        /** @type {Set<number>} */
        this.shut = new Set();
        /** @type {Set<number>} */
        this.critical = new Set();
        /** @type {Row[]} */
        this.rows = [];
        this.loading = Promise.resolve();
        this.selected = 0;
        /** @type {number | null} the moment that is shown; null: now */
        this.moment = null;
        this.canvas = h("canvas", {"aria-hidden": "true"});
        this.body = h("div.rows");
        this.scroller =
            h("div.outline-scroll", {
                tabindex: 0,
                role: "tree",
                "aria-label": "Executions of this run",
                onscroll: () => this.render(),
                onkeydown: (/** @type {KeyboardEvent} */ e) => this.onKey(e)
            },
              this.body);
        this.element = h(
            "div.outline", h("div.outline-head", h("span", "Task"), h("span", "Duration")), this.scroller, this.canvas);
        this.gantt = new Gantt(this.canvas);
        const size = new ResizeObserver(() => this.render());
        size.observe(this.element);
        const clock = setInterval(() => {
            if (!document.hidden && this.moment === null && this.lines[0] && !this.lines[0].finished_at) this.draw();
        }, 500);
        signal.addEventListener("abort", () => {
            size.disconnect();
            clearInterval(clock);
        });
    }

    /**
	 * @param {any[]} lines of the outline, parents first
	 * @param {number | null} moment
	 */
    set(lines, moment) {
        if (moment !== this.moment) this.items.clear();
        this.lines = lines;
        this.moment = moment;
        this.children = new Map();
        for (const line of lines) {
            const siblings = this.children.get(line.parent);
            if (siblings)
                siblings.push(line);
            else
                this.children.set(line.parent, [line]);
        }
        this.arrange();
        if (lines.some((l) => this.items.has(l.id) && this.items.get(l.id)?.made !== itemsMade(l)))
            this.reloadItems().catch(() => {});
    }

    /** @param {Iterable<number>} ids */
    setCritical(ids) {
        this.critical = new Set(ids);
        this.render();
    }

    /**
     * Applies events to the items that were loaded.
     * @param {any[]} events
     */
    patch(events) {
        if (!this.items.size) return;
        const known = new Map([...this.items.values()].flatMap((i) => i.list).map((l) => [l.id, l]));
        for (const e of events) {
            const line = known.get(e.execution);
            if (!line) continue;
            line.status = e.to;
            line.attempt = e.attempt;
            if (/\.(claimed|started)$/.test(e.type)) line.started_at ??= e.created_at;
            if (e.type.endsWith(".rerun"))
                line.finished_at = line.duration_us = null;
            else if (!["pending", "ready", "running"].includes(e.to)) {
                line.finished_at = e.created_at;
                line.duration_us =
                    line.started_at ? Math.round((millis(e.created_at) - millis(line.started_at)) * 1000) : null;
            }
        }
    }

    /**
	 * @param {number} id
	 * @returns {any}
	 */
    find(id) {
        return this.lines.find((l) => l.id === id) ??
            [...this.items.values()].flatMap((i) => i.list).find((l) => l.id === id);
    }

    /** @param {number} id */
    select(id) {
        this.selected = id;
        for (let up = this.find(id)?.parent; up; up = this.find(up)?.parent) this.shut.delete(up);
        this.arrange();
    }

    /** Makes the list of rows from the tree. */
    arrange() {
        /** @type {Row[]} */
        const rows = [];
        /**
		 * @param {any} line
		 * @param {number} depth
		 */
        const add = (line, depth) => {
            const loaded = this.items.get(line.id), below = loaded?.list ?? this.children.get(line.id) ?? [];
            const isGroup = line.kind === "foreach" || line.kind === "workflow";
            const isOpen = isGroup || below.length ? !this.shut.has(line.id) && below.length > 0 : null;
            rows.push({id: String(line.id), line, depth, isOpen});
            if (!isOpen) return;
            for (const child of below) add(child, depth + 1);
            const left = this.itemsLeft(line, loaded);
            if (left) rows.push({id: `more-${line.id}`, line, depth: depth + 1, isOpen: null, more: left});
        };
        if (this.lines[0]) add(this.lines[0], 0);
        this.rows = rows;
        this.element.style.setProperty("--rows", String(rows.length));
        this.render();
    }

    /**
	 * How many items can still be loaded.
	 * @param {any} line
	 * @param {{list: any[], next: string | null} | undefined} loaded
	 */
    itemsLeft(line, loaded) {
        if (line.kind !== "foreach" || !line.items || this.moment !== null) return 0;
        const made = itemsMade(line);
        if (loaded) return loaded.next ? Math.max(1, made - loaded.list.length) : 0;
        return made - (this.children.get(line.id)?.length ?? 0);
    }

    /**
	 * Loads items after those that are being loaded: a list that was asked for earlier would replace a longer one.
	 * @param {() => Promise<void>} load
	 */
    inTurn(load) {
        this.loading = this.loading.then(load, load);
        return this.loading;
    }

    /** @param {any} line */
    loadItems(line) { return this.inTurn(() => this.loadMoreItems(line)); }

    /** Loads the items again that were loaded before, because events were missed. */
    reloadItems() { return this.inTurn(() => this.loadItemsAgain()); }

    /** @param {any} line */
    async loadMoreItems(line) {
        const loaded = this.items.get(line.id);
        const page = await get(`/v1/executions/${line.id}/children`, {limit: ITEMS, cursor: loaded?.next}, this.signal);
        this.items.set(
            line.id,
            {list: [...(loaded?.list ?? []), ...page.items.map(lineOf)], next: page.next, made: itemsMade(line)});
        this.shut.delete(line.id);
        this.arrange();
    }

    async loadItemsAgain() {
        for (const [id, {list}] of [...this.items]) {
            let fresh = /** @type {any[]} */ ([]), next = /** @type {string | null} */ (null);
            do {
                const limit = Math.min(1000, Math.max(ITEMS, list.length - fresh.length));
                const page = await get(`/v1/executions/${id}/children`, {limit, cursor: next}, this.signal);
                fresh = fresh.concat(page.items.map(lineOf));
                next = page.next;
            } while (next && fresh.length < list.length);
            this.items.set(id, {list: fresh, next, made: itemsMade(this.find(id) ?? {})});
        }
        if (this.items.size) this.arrange();
    }

    /** @param {Row} row */
    async toggle(row) {
        if (row.more) return this.loadItems(row.line);
        if (row.isOpen)
            this.shut.add(row.line.id);
        else {
            this.shut.delete(row.line.id);
            if (!this.children.has(row.line.id) && !this.items.has(row.line.id) && this.moment === null)
                await this.loadItems(row.line);
        }
        this.arrange();
    }

    /** @param {Row} row */
    choose(row) {
        if (row.more)
            this.toggle(row);
        else
            this.onSelect(row.line.id);
    }

    /**
	 * Moves the selection.
	 * @param {number} step
	 */
    move(step) {
        const at = this.rows.findIndex((r) => r.id === String(this.selected));
        let to = Math.min(this.rows.length - 1, Math.max(0, at + step));
        if (this.rows[to]?.more) to = Math.min(this.rows.length - 1, Math.max(0, to + Math.sign(step)));
        if (!this.rows[to] || this.rows[to].more) return;
        this.onSelect(this.rows[to].line.id);
        this.reveal(to);
    }

    /** Loads items of the selected fan-out, or of the next one that has more. */
    loadMore() {
        const at = this.rows.findIndex((r) => r.id === String(this.selected)), isShut = this.rows[at]?.isOpen === false;
        const row = isShut ? this.rows[at] : this.rows.find((r, i) => r.more && i > at);
        if (row) this.toggle(row);
    }

    /** @param {number} at */
    reveal(at) {
        const s = this.scroller, top = at * ROW;
        if (top < s.scrollTop)
            s.scrollTop = top;
        else if (top + ROW > s.scrollTop + s.clientHeight)
            s.scrollTop = top + ROW - s.clientHeight;
    }

    /** @param {KeyboardEvent} e */
    onKey(e) {
        const row = this.rows.find((r) => r.id === String(this.selected));
        const page = Math.max(1, Math.floor(this.scroller.clientHeight / ROW) - 1);
        /** @type {Record<string, () => void>} */
        const keys = {
            ArrowDown: () => this.move(1),
            ArrowUp: () => this.move(-1),
            PageDown: () => this.move(page),
            PageUp: () => this.move(-page),
            Home: () => this.move(-this.rows.length),
            End: () => this.move(this.rows.length),
            ArrowRight: () => row && (row.isOpen === false ? this.toggle(row) : this.move(1)),
            ArrowLeft: () => row &&
                (row.isOpen ? this.toggle(row) :
                              row.line.parent && this.find(row.line.parent) && this.onSelect(row.line.parent)),
        };
        if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
        e.preventDefault();
        keys[e.key]();
    }

    render() {
        const s = this.scroller, first = Math.max(0, Math.floor(s.scrollTop / ROW) - 6),
              last = Math.min(this.rows.length, Math.ceil((s.scrollTop + s.clientHeight) / ROW) + 6);
        const shown = this.rows.slice(first, last).map((row, i) => ({row, at: first + i}));
        sync(
            this.body, shown, ({row}) => row.id, ({row, at}) => this.print(row, at),
            ({row, at}) => (row.more ? this.moreRow(row, at) : this.lineRow(row, at)));
        s.setAttribute("aria-activedescendant", `x${this.selected}`);
        this.draw();
    }

    draw() {
        const root = this.lines[0];
        if (!root) return;
        const from = millis(root.requested_at), open = this.moment ?? now();
        const to = Math.max(
            from + 1,
            ...this.lines.map(
                (l) =>
                    (l.finished_at    ? millis(l.finished_at) :
                         l.started_at ? open :
                                        0)));
        const s = this.scroller, first = Math.max(0, Math.floor(s.scrollTop / ROW)),
              last = Math.min(this.rows.length, Math.ceil((s.scrollTop + s.clientHeight) / ROW));
        const rows = [];
        for (let i = first; i < last; i++)
            if (!this.rows[i].more)
                rows.push({
                    line: this.rows[i].line,
                    top: AXIS + i * ROW - s.scrollTop,
                    critical: this.critical.has(this.rows[i].line.id)
                });
        this.gantt.draw(rows, ROW, from, to);
    }

    /**
     * A text that changes whenever the row must be drawn again.
     * @param {Row} row
     * @param {number} at
     */
    print(row, at) {
        const l = row.line;
        return [
            at, row.depth, row.isOpen, row.more, l.status, l.attempt, l.duration_us, l.started_at, l.waiting, l.paused,
            l.id === this.selected, this.critical.has(l.id), l.items && Object.values(l.items).join()
        ].join("|");
    }

    /**
	 * @param {Element} element
	 * @param {number} at
	 * @param {number} depth
	 */
    place(element, at, depth) {
        const style = /** @type {HTMLElement} */ (element).style;
        style.setProperty("--at", String(at));
        style.setProperty("--depth", String(Math.min(depth, 12)));
        return element;
    }

    /**
	 * @param {Row} row
	 * @param {number} at
	 */
    moreRow(row, at) {
        const left = row.more ?? 0, others = this.items.has(row.line.id) ? "more" : "other";
        const text = left <= ITEMS ? `Show ${count(left)} ${others} ${left === 1 ? "item" : "items"}` :
                                     `Show ${count(ITEMS)} of ${count(left)} ${others} items`;
        return this.place(
            h("div.trow.loads", {role: "treeitem", "aria-level": row.depth + 1},
              h("button.link", {type: "button", tabindex: -1, onclick: () => this.loadItems(row.line)}, text)),
            at, row.depth);
    }

    /**
	 * @param {Row} row
	 * @param {number} at
	 */
    lineRow(row, at) {
        const l = row.line, isCritical = this.critical.has(l.id);
        const fold = row.isOpen === null ? h("span.fold") :
                                           h("button.fold", {
                                               type: "button",
                                               tabindex: -1,
                                               "aria-label": row.isOpen ? "Fold" : "Unfold",
                                               class: row.isOpen ? "open" : "",
                                               onclick: (/** @type {Event} */ e) => {
                                                   e.stopPropagation();
                                                   this.toggle(row);
                                               }
                                           },
                                             icon("fold"));
        const paused = l.paused && !l.finished_at;
        return this.place(
            h("div.trow", {
                role: "treeitem",
                id: `x${l.id}`,
                "aria-level": row.depth + 1,
                "aria-selected": String(l.id === this.selected),
                "aria-expanded": row.isOpen === null ? null : String(row.isOpen),
                class: l.id === this.selected ? "selected" : "",
                onclick: () => this.choose(row),
            },
              h("span.tname", fold, mark(paused ? "paused" : l.status),
                h("bdi.label", {title: l.name}, row.depth ? shortName(l) : l.name), this.badges(l),
                isCritical &&
                    h("span.crit", {title: "on the critical path", role: "img", "aria-label": "on the critical path"},
                      icon("path"))),
              h("span.tdur",
                l.status === "running" || l.duration_us !== null ?
                    ran(l) :
                    h("span.none", l.waiting ? String(l.waiting).split(/[ :]/)[0] : statusWord(l.status)))),
            at, row.depth);
    }

    /** @param {any} l */
    badges(l) {
        const list = [];
        if (l.items) {
            const i = l.items,
                  total = i.total ??
                i.pending + i.ready + i.running + i.succeeded + i.failed + i.timed_out + i.cancelled + i.skipped;
            const bad = i.failed + i.timed_out, done = i.succeeded + i.skipped + i.cancelled + bad;
            list.push(
                h("span.badge", {title: Object.entries(i).map(([k, n]) => `${k.replace("_", " ")}: ${n}`).join("\n")},
                  `${count(done)} of ${count(total)}`));
            if (bad) list.push(h("span.badge.bad", `${count(bad)} failed`));
        }
        if (l.attempt > 1)
            list.push(h(
                "span.badge", {title: `attempt ${l.attempt} of ${l.max_attempts}`}, `${l.attempt}/${l.max_attempts}`));
        return list;
    }
}
