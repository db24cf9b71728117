// graph.js - the graph of a workflow, laid out by the server. The drawing is made of elements, so that nodes can be focused and
// selected like rows of the tree.
import {get, isAborted} from "./api.js";
import {fill, h, svg, throttle} from "./dom.js";
import {count, statusWord} from "./format.js";

const MARGIN = 12;

/** @param {any} edge */
function edgePath(edge) {
    const [first, ...rest] = edge.points.map((/** @type {any} */ p) => (Array.isArray(p) ? p : [p.x, p.y]));
    return first ? `M${first.map(Number).join(" ")}` +
            rest.map((/** @type {number[]} */ p) => `L${p.map(Number).join(" ")}`).join("") :
                   "";
}

/**
 * @param {any} node
 * @param {(id: number) => void} onSelect
 */
function nodeBox(node, onSelect) {
    const status = node.status ?? "pending", label = node.label ?? node.name,
          room = Math.max(4, Math.floor((node.w - 16) / 7.2));
    const text = label.length > room ? `${label.slice(0, room - 1)}…` : label;
    const items = node.items ? `${count(node.items.total ?? 0)} items` : "";
    const choose = () => {
        if (node.execution) onSelect(node.execution);
    };
    return svg(
        "g", {
            class: `node s-${status}`,
            tabindex: node.execution ? 0 : null,
            role: "button",
            "aria-label": `${label}, ${statusWord(status)}${items && `, ${items}`}`,
            onclick: choose,
            onkeydown: (/** @type {KeyboardEvent} */ e) => {
                if (e.key === "Enter" || e.key === " ") {
                    e.preventDefault();
                    choose();
                }
            },
        },
        svg("title", {}, `${node.name ?? label}: ${statusWord(status)}${items && ` (${items})`}`),
        svg("rect", {x: node.x, y: node.y, width: node.w, height: node.h, rx: 6}),
        svg("text", {x: node.x + node.w / 2, y: node.y + node.h / 2 - 2, "text-anchor": "middle"}, text),
        svg("text",
            {class: "node-status", x: node.x + node.w / 2, y: node.y + node.h / 2 + 13, "text-anchor": "middle"},
            `${statusWord(status)}${items && ` · ${items}`}`));
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
        this.update = throttle(() => this.load(), 800);
    }

    async load() {
        try {
            this.render(await get(`/v1/executions/${this.id}/graph`, {format: "json"}, this.signal));
        } catch (error) {
            if (!isAborted(error)) fill(this.element, h("p.wrong", /** @type {Error} */ (error).message));
        }
    }

    /** @param {any} g */
    render(g) {
        const focused =
            [...this.element.querySelectorAll(".node")].indexOf(/** @type {any} */ (document.activeElement));
        const width = g.width + 2 * MARGIN, height = g.height + 2 * MARGIN;
        const drawing = svg(
            "svg", {viewBox: `${- MARGIN} ${- MARGIN} ${width} ${height}`, width, height},
            svg("defs", {},
                svg("marker", {
                    id: "arrow",
                    viewBox: "0 0 8 8",
                    refX: 7,
                    refY: 4,
                    markerWidth: 7,
                    markerHeight: 7,
                    orient: "auto-start-reverse"
                },
                    svg("path", {d: "M0 0 8 4 0 8z"}))),
            g.edges.map(
                (/** @type {any} */ e) => svg("path", {class: "edge", d: edgePath(e), "marker-end": "url(#arrow)"})),
            g.nodes.map((/** @type {any} */ n) => nodeBox(n, this.onSelect)));
        fill(this.element, drawing);
        if (focused >= 0) /** @type {any} */
            (this.element.querySelectorAll(".node")[focused])?.focus();
    }
}
