// graph.js - the graph of a workflow, laid out by the server. The drawing is made of elements, so that nodes can be focused and
// selected like rows of the tree.
import {get, isAborted} from "./api.js";
import {fill, h, svg, throttle} from "./dom.js";
import {count, duration, statusWord} from "./format.js";
import {icon} from "./icons.js";

const MARGIN = 12;
// The server has measured the texts for these sizes (src/parse/render/picture.h).
const PADDING = 12, NAME = 14, NAME_LINE = 20, TEXT_LINE = 16, ICON = 22, STACK = 8, ARROW = 5;
/** @type {Record<string, string>} */
const ICONS = {
    command: "command",
    function: "play",
    workflow: "workflow",
    executor: "limit",
    group: "foreach"
};

/**
 * A line through the points of an edge that ends in the direction of the arrow.
 * @param {any} edge
 */
function edgePath(edge) {
    /** @type {[number, number][]} */
    const points = edge.points.map((/** @type {any} */ p) => [Number(p[0]), Number(p[1])]);
    const end = (points.at(-1)?.[1] ?? 0) - ARROW;
    return points.reduce((path, [x, y], i) => {
        if (!i) return `M${x} ${y}`;
        const [fromX, fromY] = points[i - 1], to = Math.min(y, end), middle = (Math.min(fromY, end) + to) / 2;
        if (x === fromX) return to === Math.min(fromY, end) ? path : `${path}V${to}`;
        return `${path}C${fromX} ${middle} ${x} ${middle} ${x} ${to}`;
    }, "");
}

/**
 * What a box says below its name.
 * @param {any} node
 * @returns {[string, string][]} class and text
 */
function linesOf(node) {
    const i = node.items, lines = /** @type {[string, string][]} */ ([]);
    if (node.status)
        lines.push([
            "node-status",
            [
                node.held ? `waits: ${node.held}` : statusWord(node.status),
                node.duration_us && duration(node.duration_us)
            ].filter(Boolean)
                .join(" · ")
        ]);
    if (i) {
        const bad = i.failed + i.timed_out, done = i.succeeded + i.skipped + i.cancelled + bad;
        const all = i.total ?? done + i.pending + i.ready + i.running;
        lines.push(["node-progress", `${count(done)} of ${count(all)}${bad ? `, ${count(bad)} failed` : ""}`]);
    }
    return [...lines, ...node.notes.map((/** @type {string} */ n) => ["node-note", n])];
}

/**
 * @param {any} node
 * @param {boolean} isChosen
 * @param {(id: number) => void} onSelect
 */
function nodeBox(node, isChosen, onSelect) {
    const status = node.status ?? "pending", lines = linesOf(node), stack = node.foreach || node.tasks > 1 ? STACK : 0;
    const x = node.x + PADDING, y = node.y + PADDING + NAME - 1,
          text = [node.label, ...lines.map(([, t]) => t)].join(" ");
    const choose = () => {
        if (node.execution) onSelect(node.execution);
    };
    const rect = (/** @type {number} */ by) =>
        svg("rect", {x: node.x + by, y: node.y + by, width: node.w - stack, height: node.h - stack, rx: 6});
    const mark = icon(ICONS[node.kind] ?? "command");
    mark.setAttribute("x", String(x));
    mark.setAttribute("y", String(y - 13));
    mark.setAttribute("width", "16");
    mark.setAttribute("height", "16");
    return svg(
        "g", {
            class: `node s-${status}${isChosen ? " chosen" : ""}`,
            tabindex: node.execution ? 0 : null,
            role: node.execution ? "button" : "img",
            "aria-pressed": node.execution ? String(isChosen) : null,
            "aria-label": text,
            onclick: choose,
            onkeydown: (/** @type {KeyboardEvent} */ e) => {
                if (e.key === "Enter" || e.key === " ") {
                    e.preventDefault();
                    choose();
                }
            },
        },
        stack ? rect(STACK) : null, stack ? rect(STACK / 2) : null, rect(0), mark,
        svg("text", {class: "node-name", x: x + ICON, y}, node.label),
        lines.map(
            ([name, line], i) => [" ", svg("text", {class: name, x, y: y + NAME_LINE - 1 + i * TEXT_LINE}, line)]));
}

export class Graph {
    /**
	 * @param {number} id
	 * @param {(task: number) => void} onSelect
	 * @param {AbortSignal} signal
	 */
    constructor(id, onSelect, signal) {
        this.id = id;
        this.onSelect = onSelect;
        this.signal = signal;
        this.element = h("div.graph", {role: "group", "aria-label": "Graph of the workflow"});
        this.chosen = 0;
        /** @type {any} */
        this.shown = null;
        this.update = throttle(() => this.load(), 800);
    }

    async load() {
        try {
            this.render(await get(`/v1/executions/${this.id}/graph`, {format: "json"}, this.signal));
        } catch (error) {
            if (!isAborted(error)) fill(this.element, h("p.wrong", /** @type {Error} */ (error).message));
        }
    }

    /** @param {number} id of the execution that is shown beside it */
    select(id) {
        this.chosen = id;
        if (this.shown) this.render(this.shown);
    }

    /** @param {any} g */
    render(g) {
        this.shown = g;
        const focused =
            [...this.element.querySelectorAll(".node")].indexOf(/** @type {any} */ (document.activeElement));
        const width = g.width + 2 * MARGIN, height = g.height + 2 * MARGIN;
        const drawing = svg(
            "svg", {viewBox: `${- MARGIN} ${- MARGIN} ${width} ${height}`, width, height},
            svg("defs", {},
                svg("marker", {
                    id: "arrow",
                    viewBox: "0 0 8 8",
                    refX: 3,
                    refY: 4,
                    markerWidth: 8,
                    markerHeight: 8,
                    orient: "auto"
                },
                    svg("path", {d: "M0 0 8 4 0 8z"}))),
            g.edges.map(
                (/** @type {any} */ e) => svg("path", {class: "edge", d: edgePath(e), "marker-end": "url(#arrow)"})),
            g.nodes.map((/** @type {any} */ n) => nodeBox(n, n.execution === this.chosen, this.onSelect)));
        const at = {left: this.element.scrollLeft, top: this.element.scrollTop};
        fill(this.element, g.folded && h("p.hint", g.folded), drawing);
        this.element.scrollTo(at);
        if (focused >= 0) /** @type {any} */
            (this.element.querySelectorAll(".node")[focused])?.focus();
    }
}
