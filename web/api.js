// api.js - requests to the server. The session is a cookie that scripts can't read; it counts only with the header X-Pawl-Request,
// which no other site can send.
import {noteServerTime} from "./format.js";

/** A refusal of the server (RFC 9457), or a failure to reach it (status 0). */
export class Problem extends Error {
    /**
	 * @param {number} status
	 * @param {string} type
	 * @param {string} detail
	 */
    constructor(status, type, detail) {
        super(detail);
        this.status = status;
        this.type = type;
    }
}

/** @param {Record<string, any>} [query] */
export function queryText(query) {
    const q = new URLSearchParams();
    for (const [name, value] of Object.entries(query ?? {}))
        if (value !== null && value !== undefined && value !== "" && value !== false) q.set(name, String(value));
    const text = q.toString();
    return text ? `?${text}` : "";
}

/** @param {Response} answer */
async function problemOf(answer) {
    let detail = `the server answered with status ${answer.status}`, type = "";
    try {
        const body = await answer.json();
        detail = body.detail ?? detail;
        type = String(body.type ?? "").replace("urn:pawl:problem:", "");
    } catch { /* the answer is not from Pawl, but perhaps from a proxy */
    }
    return new Problem(answer.status, type, detail);
}

/** @type {Map<string, Promise<Response>>} the answers to the requests that early.js has sent, until they are taken */
const early = /** @type {any} */ (window).pawlEarly ?? new Map();

/** Forgets the early answers: only the first page may take them, later ones would show old data. */
export const forgetEarly = () => early.clear();

/**
 * Sends a request, or takes the answer to the one that early.js has sent, unless that was refused.
 * @param {string} path
 * @param {RequestInit} options
 * @returns {Promise<Response>}
 */
async function send(path, options) {
    const sent = options.method === "GET" ? early.get(path) : undefined;
    if (!sent) return fetch(path, options);
    early.delete(path);
    const answer = await sent.catch(() => null);
    options.signal?.throwIfAborted();
    return answer?.ok ? answer : fetch(path, options);
}

/**
 * @param {string} method
 * @param {string} path
 * @param {{body?: any, text?: string, headers?: Record<string, string>, signal?: AbortSignal}} [options]
 * @returns {Promise<Response>}
 */
export async function request(method, path, options = {}) {
    /** @type {Record<string, string>} */
    const headers = {"X-Pawl-Request": "1", ...options.headers};
    let answer;
    if (options.body !== undefined) headers["Content-Type"] = "application/json";
    if (options.text !== undefined) headers["Content-Type"] = "application/yaml";
    try {
        answer = await send(path, {
            method,
            headers,
            signal: options.signal,
            cache: "no-store",
            redirect: "error",
            body: options.body === undefined ? options.text : JSON.stringify(options.body),
        });
    } catch (error) {
        if (options.signal?.aborted) throw error;
        throw new Problem(0, "unreachable", "the server can't be reached: is `pawl serve` still running?");
    }
    noteServerTime(answer.headers.get("Date"));
    if (answer.ok) return answer;
    const problem = await problemOf(answer);
    if (answer.status === 401) window.dispatchEvent(new CustomEvent("pawl-unauthorized", {detail: problem.message}));
    throw problem;
}

/**
 * @param {string} path
 * @param {Record<string, any>} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export const get = async (path, query, signal) => (await request("GET", path + queryText(query), {signal})).json();

/**
 * @param {string} path
 * @param {any} [body]
 * @returns {Promise<any>}
 */
export const post = async (path, body = {}) => (await request("POST", path, {body})).json();

/**
 * Whether an error only says that the page was left.
 * @param {any} error
 */
export const isAborted = (error) => error?.name === "AbortError";
