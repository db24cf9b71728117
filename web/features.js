// features.js - what this server offers, by its OpenAPI document: pages show a part only if its requests exist.
import {get} from "./api.js";

/** @type {Promise<any> | null} */
let document = null;

/**
 * Whether the server has an operation and, if given, its argument accepts the word.
 * @param {string} path
 * @param {string} [argument]
 * @param {string} [word]
 */
export async function offers(path, argument, word) {
    document ??= get("/openapi.json").catch(() => ({paths: {}}));
    const operation = (await document).paths?.[path]?.get;
    if (!operation || !argument) return !!operation;
    const parameter = operation.parameters?.find((/** @type {any} */ p) => p.name === argument);
    return !!parameter && (!word || !!parameter.schema?.enum?.includes(word));
}
