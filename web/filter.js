// filter.js - the filter box: words of the form name:value, and a glob for the name. The same filters are in the
// address, under the names that the API and `pawl ls` use.

/** The filters besides the name and the status; the server refuses others. */
export const FILTERS =
    ["workflow", "queue", "kind", "by", "host", "worker", "param", "parent", "since", "until", "all"];
const UNITS = {
    s: 1e3,
    m: 60e3,
    h: 3600e3,
    d: 86400e3
};

/**
 * @param {URLSearchParams} query
 * @returns {string} the text of the box
 */
export function filterText(query) {
    const words = FILTERS.filter((f) => query.get(f)).map((f) => `${f}:${quote(query.get(f) ?? "")}`);
    const name = query.get("name");
    if (name) words.push(/^\*[^*?]+\*$/.test(name) ? quote(name.slice(1, -1)) : quote(name));
    return words.join(" ");
}

const quote = (/** @type {string} */ text) => (/\s/.test(text) ? `"${text}"` : text);

/**
 * Reads the box. A word without a colon is searched for in the name; with * or ? it must match the whole name.
 * @param {string} text
 * @returns {{query: Record<string, string | null>, problem: string}}
 */
export function readFilter(text) {
    /** @type {Record<string, string | null>} */
    const query = {name: null};
    let problem = "";
    for (const f of FILTERS) query[f] = null;
    for (const word of text.match(/(?:[^\s"]+|"[^"]*")+/g) ?? []) {
        const [, filter, value] = /^([a-z_]+):(?!:)(.*)$/.exec(word) ?? [];
        const plain = (filter ? value : word).replaceAll("\"", "");
        if (!filter)
            query.name = /[*?]/.test(plain) ? plain : `*${plain}*`;
        else if (!FILTERS.includes(filter))
            problem = `There is no filter "${filter}": use ${FILTERS.join(", ")}, or a part of the name.`;
        else
            query[filter] = plain || null;
    }
    return {query, problem};
}

/**
 * The filters of an address for a request. A time may be an age: since:2h.
 * @param {URLSearchParams} query
 * @returns {Record<string, string | null>}
 */
export function requestFilter(query) {
    const time = (/** @type {string | null} */ text) => {
        const [, n, unit] = /^(\d+)([smhd])$/.exec(text ?? "") ?? [];
        const ms = Number(n) * UNITS[/** @type {"s"} */ (unit)];
        // A whole minute, so that the same filter asks for the same page.
        return unit ? new Date(Math.floor((Date.now() - ms) / 60e3) * 60e3).toISOString() : text;
    };
    const filter = Object.fromEntries(["status", "name", ...FILTERS].map((f) => [f, query.get(f)]));
    return {...filter, since: time(filter.since), until: time(filter.until)};
}
