// gantt.js - draws the bars of the visible rows on one canvas, with one time axis for all.
import {duration, millis, now} from "./format.js";

const AXIS = 26;

/**
 * Reads the colours of the theme, because a canvas does not know CSS custom properties.
 * @param {Element} element
 */
function palette(element) {
    const probe = document.createElement("span");
    element.append(probe);
    /** @param {string} name */
    const read = (name) => {
        probe.style.color = `var(--${name})`;
        return getComputedStyle(probe).color;
    };
    const colours = {
        succeeded: read("green"),
        failed: read("red"),
        timed_out: read("orange"),
        running: read("blue"),
        ready: read("amber"),
        pending: read("grey"),
        skipped: read("grey"),
        cancelled: read("violet"),
        line: read("line"),
        text: read("text"),
        muted: read("muted"),
    };
    probe.remove();
    return /** @type {Record<string, string>} */ (colours);
}

/**
 * A step of the axis: 1, 2 or 5 times a power of ten, or a round number of minutes and hours.
 * @param {number} ms the smallest step that has room
 */
function niceStep(ms) {
    const steps = [60e3, 120e3, 300e3, 600e3, 1800e3, 3600e3, 7200e3, 21600e3, 43200e3, 86400e3, 172800e3, 604800e3];
    if (ms > 30e3) return steps.find((s) => s >= ms) ?? Math.ceil(ms / 604800e3) * 604800e3;
    const power = 10 ** Math.floor(Math.log10(Math.max(ms, 0.001)));
    return /** @type {number} */ ([1, 2, 5, 10].map((n) => n * power).find((s) => s >= ms));
}

export class Gantt {
    /** @param {HTMLCanvasElement} canvas */
    constructor(canvas) {
        this.canvas = canvas;
        this.colours = palette(/** @type {Element} */ (canvas.parentElement ?? document.body));
        this.scheme = "";
    }

    /** Reads the colours again if the theme has changed. */
    refreshColours() {
        const scheme = getComputedStyle(document.documentElement).getPropertyValue("color-scheme") +
            matchMedia("(prefers-color-scheme: dark)").matches;
        if (scheme !== this.scheme) this.colours = palette(/** @type {Element} */ (this.canvas.parentElement));
        this.scheme = scheme;
    }

    /**
	 * @param {{top: number, line: any, critical: boolean}[]} rows with their distance from the top of the canvas
	 * @param {number} rowHeight
	 * @param {number} from
	 * @param {number} to the range of the axis
	 */
    draw(rows, rowHeight, from, to) {
        const c = this.canvas, ratio = window.devicePixelRatio || 1, width = c.clientWidth, height = c.clientHeight;
        if (!width || !height) return;
        if (c.width !== Math.round(width * ratio) || c.height !== Math.round(height * ratio)) {
            c.width = Math.round(width * ratio);
            c.height = Math.round(height * ratio);
        }
        const g = /** @type {CanvasRenderingContext2D} */ (c.getContext("2d"));
        this.refreshColours();
        g.setTransform(ratio, 0, 0, ratio, 0, 0);
        g.clearRect(0, 0, width, height);
        const span = Math.max(to - from, 1), scale = (width - 16) / span;
        const x = (/** @type {number} */ t) => 6 + (Math.min(Math.max(t, from), to) - from) * scale;
        this.axis(g, span, scale, width, height);
        g.save();
        g.beginPath();
        g.rect(0, AXIS, width, height - AXIS);
        g.clip();
        for (const row of rows) this.bar(g, row, rowHeight, x, to);
        g.restore();
    }

    /**
	 * @param {CanvasRenderingContext2D} g
	 * @param {number} span
	 * @param {number} scale
	 * @param {number} width
	 * @param {number} height
	 */
    axis(g, span, scale, width, height) {
        const step = niceStep(span / Math.max(1, Math.floor(width / 90)));
        g.font = "11px system-ui, sans-serif";
        g.textBaseline = "middle";
        for (let t = 0; t <= span; t += step) {
            const at = Math.round(6 + t * scale) + 0.5;
            g.strokeStyle = this.colours.line;
            g.beginPath();
            g.moveTo(at, AXIS - 6);
            g.lineTo(at, height);
            g.stroke();
            g.fillStyle = this.colours.muted;
            const text = t ?
                `+${duration(t * 1000).replace(".0 s", " s").replace(" min 00 s", " min").replace(" 00 min", "")}` :
                "0";
            if (at + 4 + g.measureText(text).width < width) g.fillText(text, at + 4, AXIS / 2);
        }
    }

    /**
	 * @param {CanvasRenderingContext2D} g
	 * @param {{top: number, line: any, critical: boolean}} row
	 * @param {number} rowHeight
	 * @param {(t: number) => number} x
	 * @param {number} to
	 */
    bar(g, row, rowHeight, x, to) {
        const {line, top} = row, middle = top + rowHeight / 2, colour = this.colours[line.status] ?? this.colours.muted;
        const start = line.started_at ? millis(line.started_at) : null;
        const end = line.finished_at ? millis(line.finished_at) : Math.min(now(), to);
        if (line.ready_at) {
            g.fillStyle = this.colours.ready;
            g.globalAlpha = 0.6;
            const a = x(millis(line.ready_at)), b = x(start ?? end);
            if (b - a >= 1) g.fillRect(a, middle - 1, b - a, 2);
            g.globalAlpha = 1;
        }
        if (start === null) return;
        const a = x(start), w = Math.max(2, x(end) - a), group = line.kind === "workflow" || line.kind === "foreach",
              tall = group ? 6 : 12;
        g.globalAlpha = group ? 0.55 : 0.9;
        g.fillStyle = colour;
        g.beginPath();
        /** @type {any} */ (g).roundRect(a, middle - tall / 2, w, tall, 2);
        g.fill();
        g.globalAlpha = 1;
        if (row.critical) {
            g.fillStyle = this.colours.text;
            g.fillRect(a, middle + tall / 2 + 2, Math.max(2, w), 1.5);
        }
    }
}
