// params.js - a form made from the params of a workflow: one field for each, of its type, with its default.
import {field} from "./dialog.js";
import {h} from "./dom.js";

/** @typedef {{name: string, type: string, required: boolean, default: any, description: string | null}} Param */

/** @param {any} value */
const textOf = (value) => (typeof value === "string" ? value : value === null ? "" : JSON.stringify(value));

/** @param {Param} p */
function control(p) {
    const name = `param:${p.name}`, value = textOf(p.default),
          common = {name, required: p.required && p.default === null};
    if (p.type === "boolean")
        return h(
            "select", common,
            ["true", "false"]
                .concat(p.default === null ? [""] : [])
                .map((o) => h("option", {value: o, selected: o === value}, o || "not given")));
    if (p.type === "integer" || p.type === "number")
        return h("input", {...common, type: "number", step: p.type === "integer" ? 1 : "any", value});
    if (p.type === "list" || p.type === "object" || value.includes("\n"))
        return h("textarea", {...common, rows: Math.min(8, 2 + value.split("\n").length), spellcheck: "false", value});
    return h("input", {...common, value, autocomplete: "off", spellcheck: "false"});
}

/** @param {Param[]} params */
export const paramFields = (params) => params.map((p) => {
    const kind = p.type === "string"             ? "text" :
        p.type === "list" || p.type === "object" ? `${p.type}, as JSON` :
                                                   p.type;
    return field(
        `${p.name}${p.required && p.default === null ? " (required)" : ""}`, control(p),
        p.description ? `${p.description} (${kind})` : kind);
});

/**
 * The values that differ from the defaults.
 * @param {FormData} form
 * @param {Param[]} params
 * @returns {Record<string, any>}
 */
export function readFields(form, params) {
    /** @type {Record<string, any>} */
    const values = {};
    for (const p of params) {
        const text = String(form.get(`param:${p.name}`) ?? "").replaceAll("\r\n", "\n");
        if (text === textOf(p.default)) continue;
        if (p.type === "string") {
            values[p.name] = text;
            continue;
        }
        try {
            if (text.trim()) values[p.name] = JSON.parse(text);
        } catch {
            throw new Error(
                `${p.name} is not valid JSON: write ${p.type === "list" ? "[\"a\", \"b\"]" : "{\"key\": \"value\"}"}.`);
        }
    }
    return values;
}
