// ansi.js - the output of commands as text: colours become classes, all other escape and control sequences are removed, so that
// output can neither hide text nor move it elsewhere.

/** @typedef {{bold: boolean, dim: boolean, italic: boolean, under: boolean, strike: boolean, swap: boolean, fg: string, bg: string}} Style fg, bg: "", "0".."15" or "rgb(…)" */

/** @returns {Style} */
export const plain = () =>
    ({bold: false, dim: false, italic: false, under: false, strike: false, swap: false, fg: "", bg: ""});

// Escape sequences: CSI; OSC; DCS, SOS, PM and APC; any other; and the C1 controls.
const SEQUENCES =
    /\x1b\[[0-?]*[ -/]*[@-~]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]?|[\x80-\x9f]/g;
// Controls that reorder text: they would let a line read differently from what was written.
const REORDER = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** @param {string} text */
const visible = (text) => text.replace(REORDER, "\ufffd")
                              .replace(
                                  /[\x00-\x08\x0b-\x1f\x7f]/g,
                                  (c) => (c === "\x7f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0))));

/**
 * One of the 256 colours: the first 16 belong to the theme.
 * @param {number} n
 */
function colour256(n) {
    if (n < 16) return String(n);
    if (n > 231) return `rgb(${Array(3).fill(8 + (n - 232) * 10).join(" ")})`;
    const level = (/** @type {number} */ v) => (v ? 55 + 40 * v : 0);
    n -= 16;
    return `rgb(${level(Math.floor(n / 36))} ${level(Math.floor(n / 6) % 6)} ${level(n % 6)})`;
}

/**
 * Reads the colour 5;N or 2;R;G;B that follows the code 38 or 48.
 * @param {number[]} codes
 * @param {number} at
 * @returns {[string, number]} the colour, and how many codes it took
 */
function extended(codes, at) {
    const byte = (/** @type {number} */ n) => Math.min(255, Math.max(0, n || 0));
    if (codes[at] === 5) return [colour256(byte(codes[at + 1])), 2];
    if (codes[at] === 2) return [`rgb(${byte(codes[at + 1])} ${byte(codes[at + 2])} ${byte(codes[at + 3])})`, 4];
    return ["", codes.length];
}

/**
 * Applies the codes of ESC [ … m.
 * @param {Style} s
 * @param {number[]} codes
 */
function apply(s, codes) {
    for (let i = 0; i < codes.length; i++) {
        const c = codes[i];
        if (c === 0)
            Object.assign(s, plain());
        else if (c === 1)
            s.bold = true;
        else if (c === 2)
            s.dim = true;
        else if (c === 3)
            s.italic = true;
        else if (c === 4)
            s.under = true;
        else if (c === 7)
            s.swap = true;
        else if (c === 9)
            s.strike = true;
        else if (c === 22)
            s.bold = s.dim = false;
        else if (c === 23)
            s.italic = false;
        else if (c === 24)
            s.under = false;
        else if (c === 27)
            s.swap = false;
        else if (c === 29)
            s.strike = false;
        else if (c >= 30 && c <= 37)
            s.fg = String(c - 30);
        else if (c >= 90 && c <= 97)
            s.fg = String(c - 82);
        else if (c === 39)
            s.fg = "";
        else if (c >= 40 && c <= 47)
            s.bg = String(c - 40);
        else if (c >= 100 && c <= 107)
            s.bg = String(c - 92);
        else if (c === 49)
            s.bg = "";
        else if (c === 38 || c === 48) {
            const [colour, taken] = extended(codes, i + 1);
            if (colour) s[c === 38 ? "fg" : "bg"] = colour;
            i += taken;
        }
    }
}

/**
 * Splits a line into parts of one style each. `style` comes in as the style at the start of the line, and is changed to
 * the style at its end.
 * @param {string} line
 * @param {Style} style
 * @returns {{text: string, style: Style}[]}
 */
export function parseLine(line, style) {
    // A progress bar starts its line again by a carriage return. Only the last version of a line is shown.
    const versions = line.replace(/\r+$/, "").split("\r");
    /** @type {{text: string, style: Style}[]} */
    let parts = [];
    for (const version of versions) {
        let at = 0;
        parts = [];
        const add = (/** @type {string} */ text) => {
            if (text) parts.push({text: visible(text), style: {...style}});
        };
        for (const found of version.matchAll(SEQUENCES)) {
            add(version.slice(at, found.index));
            at = (found.index ?? 0) + found[0].length;
            const codes = /^\x1b\[([\d;:]*)m$/.exec(found[0]);
            if (codes) apply(style, codes[1].split(/[;:]/).map(Number));
        }
        add(version.slice(at));
    }
    return parts;
}

/**
 * The CSS classes of a style, and its colours outside of the theme, which must be set as properties.
 * @param {Style} s
 */
export function look(s) {
    const [fg, bg] = s.swap ? [s.bg || "bg", s.fg || "fg"] : [s.fg, s.bg];
    const named = (/** @type {string} */ c, /** @type {string} */ kind) =>
        (c && !c.startsWith("rgb") ? [`${kind}-${c}`] : []);
    const classes = [
        ...named(fg, "fg"), ...named(bg, "bg"), ...(s.bold ? ["bold"] : []), ...(s.dim ? ["dim"] : []),
        ...(s.italic ? ["italic"] : []), ...(s.under ? ["under"] : []), ...(s.strike ? ["strike"] : [])
    ];
    return {classes, fg: fg.startsWith("rgb") ? fg : "", bg: bg.startsWith("rgb") ? bg : ""};
}
