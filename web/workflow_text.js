// workflow_text.js - definitions as text: stored ones without a text are written as YAML, and two texts are compared line by line.
import {h} from "./dom.js";

const LINES_MAX = 4000;

/** @param {any} value */
function scalar(value) {
    if (typeof value !== "string") return JSON.stringify(value);
    if (/^\d+(us|ms|s|m|h|d)$/.test(value)) return value;
    return /^[A-Za-z_/.$][\w /.$:@-]*$/.test(value) && !/(: |:$| $)/.test(value) &&
            !/^(true|false|null|yes|no|on|off)$/i.test(value) ?
        value :
        JSON.stringify(value);
}

const isSmall = (/** @type {any} */ v) => JSON.stringify(v).length < 60 && !/\\n/.test(JSON.stringify(v));

/**
 * @param {any} value
 * @returns {string}
 */
function flow(value) {
    if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
    if (value && typeof value === "object")
        return `{${Object.entries(value).map(([k, v]) => `${scalar(k)}: ${flow(written(k, v))}`).join(", ")}}`;
    return typeof value === "string" && /[,{}[\]]/.test(value) ? JSON.stringify(value) : scalar(value);
}

// A stored duration is a number of µs.
const DURATIONS = /^(timeout|delay|max_delay|jitter|catchup|grace)$/;

/** @param {number} us */
function durationText(us) {
    const units = /** @type {[string, number][]} */ ([["d", 864e8], ["h", 36e8], ["m", 6e7], ["s", 1e6], ["ms", 1e3]]);
    const [name, size] = units.find(([, s]) => us >= s && us % s === 0) ?? ["us", 1];
    return `${us / size}${name}`;
}

/**
 * A value as it is written in a file.
 * @param {string} key
 * @param {any} value
 */
const written = (key, value) => (typeof value === "number" && DURATIONS.test(key) ? durationText(value) : value);

/**
 * @param {any} value
 * @param {string} indent
 * @returns {string}
 */
function yaml(value, indent) {
    if (Array.isArray(value)) return value.map((v) => `${indent}- ${flow(v)}\n`).join("");
    return Object.entries(value)
        .map(([k, stored]) => {
            const v = written(k, stored), key = `${indent}${scalar(k)}:`;
            if (typeof v === "string" && v.includes("\n"))
                return `${key} |\n${v.replace(/\n$/, "").split("\n").map((l) => `${indent}  ${l}`).join("\n")}\n`;
            if (v === null || typeof v !== "object" || isSmall(v)) return `${key} ${flow(v)}\n`;
            return `${key}\n${yaml(v, indent + "  ")}`;
        })
        .join("");
}

/**
 * The text of a definition. A stored document has lists of named params and tasks, places in the file, and numbers for needs.
 * @param {{source: string | null, document: any}} definition
 */
export function textOf({source, document: d}) {
    if (source !== null) return source;
    const named = (/** @type {any[]} */ list, /** @type {(o: any) => any} */ rest) =>
        Object.fromEntries(list.map(({name, at: _, ...o}) => [name, rest(o)]));
    const {file: _, folder: __, params, tasks, ...rest} = d;
    if (JSON.stringify(rest.shell) === "[\"/bin/sh\",\"-e\"]") delete rest.shell;
    const names = tasks.map((/** @type {any} */ t) => t.name);
    return yaml(
        {
            ...rest,
            ...(params && {params: named(params, (o) => o)}),
            tasks: named(
                tasks, (o) => ({...o, ...(o.needs && {needs: o.needs.map((/** @type {any} */ n) => names[n] ?? n)})}))
        },
        "");
}

/**
 * The changed lines between two texts, by their longest common subsequence.
 * @param {string[]} a
 * @param {string[]} b
 * @returns {{kind: " " | "-" | "+", text: string, a: number, b: number}[]}
 */
export function diffLines(a, b) {
    let start = 0, end = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) start++;
    while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
    const n = a.length - start - end, m = b.length - start - end;
    const length = n * m <= LINES_MAX * LINES_MAX ? Array.from({length: n + 1}, () => new Uint16Array(m + 1)) : null;
    for (let i = n - 1; length && i >= 0; i--)
        for (let j = m - 1; j >= 0; j--)
            length[i][j] =
                a[start + i] === b[start + j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    /** @type {{kind: " " | "-" | "+", text: string, a: number, b: number}[]} */
    const out = [];
    const same = (/** @type {number} */ i, /** @type {number} */ j) =>
        out.push({kind: " ", text: a[i], a: i + 1, b: j + 1});
    for (let i = 0; i < start; i++) same(i, i);
    let i = 0, j = 0;
    while (i < n || j < m) {
        if (i < n && j < m && a[start + i] === b[start + j])
            same(start + i++, start + j++);
        else if (i < n && (j === m || !length || length[i + 1][j] >= length[i][j + 1])) {
            out.push({kind: "-", text: a[start + i], a: start + i + 1, b: 0});
            i++;
        } else {
            out.push({kind: "+", text: b[start + j], a: 0, b: start + j + 1});
            j++;
        }
    }
    for (let k = 0; k < end; k++) same(a.length - end + k, b.length - end + k);
    return out;
}

/**
 * A text with the numbers of its lines.
 * @param {string} text
 * @param {string} label
 */
export const listing = (text, label) =>
    h("div.listing", {tabindex: 0, role: "region", "aria-label": label},
      text.replace(/\n$/, "").split("\n").map(
          (line, i) => h("div.code-line", h("span.at", {"aria-hidden": "true"}, i + 1), h("span.text", line || " "))));

/**
 * The difference of two texts; unchanged parts are cut to a few lines.
 * @param {string} a
 * @param {string} b
 */
export function diffView(a, b) {
    const lines = diffLines(a.replace(/\n$/, "").split("\n"), b.replace(/\n$/, "").split("\n"));
    const near = new Set(lines.flatMap((l, i) => (l.kind === " " ? [] : [-3, -2, -1, 0, 1, 2, 3].map((d) => i + d))));
    if (!near.size) return h("p.empty", "The texts are equal.");
    /** @type {any[]} */
    const rows = [];
    lines.forEach((l, i) => {
        if (!near.has(i)) {
            if (near.has(i - 1) || i === 0) rows.push(h("div.code-line.gap", h("span.at"), h("span.text", "⋯")));
            return;
        }
        const [kind, word] = l.kind === "-" ? ["gone", "removed: "] : l.kind === "+" ? ["come", "added: "] : ["", ""];
        rows.push(
            h("div.code-line", {class: kind}, h("span.at", {"aria-hidden": "true"}, l.b || l.a),
              h("span.sign", {"aria-hidden": "true"}, l.kind), word && h("span.hidden", word),
              h("span.text", l.text || " ")));
    });
    return h("div.listing.changed", {tabindex: 0, role: "region", "aria-label": "Changed lines"}, rows);
}
