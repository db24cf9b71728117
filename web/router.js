// router.js - addresses and pages. Each page is a module that is loaded when it is first opened.
import {isAborted} from "./api.js";
import {fill, h} from "./dom.js";
import {prose} from "./format.js";

/**
 * What a page gets: its place in the document, the parts of its address, and a signal that ends all requests and
 * subscriptions of the page.
 * @typedef {{main: HTMLElement, args: string[], query: URLSearchParams, signal: AbortSignal}} Context
 * With `requery`, a page takes a new query string itself instead of being built again.
 * @typedef {{requery?: (query: URLSearchParams) => void}} Page
 */

/** @type {{path: RegExp, load: () => Promise<{open: (context: Context) => Page | void}>}[]} */
const ROUTES = [
    {path: /^\/$/, load: () => import("./runs.js")},
    {path: /^\/runs\/(\d+)$/, load: () => import("./run.js")},
    {path: /^\/workflows$/, load: () => import("./workflows.js")},
    {path: /^\/workflows\/([^/]+)$/, load: () => import("./workflow.js")},
    {path: /^\/queues$/, load: () => import("./queues.js")},
    {path: /^\/workers$/, load: () => import("./workers.js")},
    {path: /^\/schedules$/, load: () => import("./schedules.js")},
    {path: /^\/events$/, load: () => import("./events.js")},
    {path: /^\/system$/, load: () => import("./system.js")},
];

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
let leave = new AbortController();
/** @type {Page | void} */
let page;
let shown = "", failed = false;

/** Whether the page could not be shown because the server failed; it may work again by now. */
export const hasFailed = () => failed;

/** @param {any} error */
export function showError(error) {
    if (isAborted(error)) return;
    failed = !error.status || error.status >= 500;
    shown = "";
    fill(
        main,
        h("div.failure", h("h1", error.status === 404 ? "Not found" : "This page can't be shown"),
          h("p", prose(error.message)),
          h("p", h("a", {href: "/"}, "All runs"), " · ",
            h("button.link", {type: "button", onclick: () => location.reload()}, "Try again"))));
}

/**
 * A page could not load its data. If it shows some already, they stay, and throttle() repeats the load after a while unless the
 * server has refused it: no later event may come that would.
 * @param {any} error
 * @param {boolean} isShown
 */
export function onLoadFailed(error, isShown) {
    if (isAborted(error)) return;
    if (!isShown) return showError(error);
    if (!error.status || error.status >= 500) throw error;
}

/**
 * A module that is missing belongs to an earlier version of the server: load everything anew, but never in a loop.
 * @param {any} error
 */
function onMissingModule(error) {
    if (sessionStorage.getItem("pawl-reloaded") === location.href) return showError(error);
    sessionStorage.setItem("pawl-reloaded", location.href);
    location.reload();
}

const routeOf = (/** @type {string} */ path) => ROUTES.find((r) => r.path.test(path));

/** Begins to load the module of the current address, before it can be shown. */
export function loadAhead() {
    routeOf(location.pathname)?.load().catch(() => {}); // show() reports it
}

async function show() {
    const path = location.pathname, query = new URLSearchParams(location.search);
    if (path === shown && page?.requery) return page.requery(query);
    const samePath = path === shown;
    leave.abort();
    leave = new AbortController();
    const mine = leave;
    shown = path;
    failed = false;
    page = undefined;
    for (const link of document.querySelectorAll("#nav a")) {
        const at = link.getAttribute("href");
        if (at === path || (at === "/" && path.startsWith("/runs/")) || (at !== "/" && path.startsWith(`${at}/`)))
            link.setAttribute("aria-current", "page");
        else
            link.removeAttribute("aria-current");
    }
    const route = routeOf(path);
    if (!route) return showError({status: 404, message: "There is no page at this address."});
    let module;
    try {
        module = await route.load();
    } catch (error) { return onMissingModule(error); }
    sessionStorage.removeItem("pawl-reloaded");
    if (mine.signal.aborted) return;
    main.replaceChildren();
    const args = (route.path.exec(path) ?? []).slice(1).map(decodeURIComponent);
    page = module.open({main, args, query, signal: mine.signal});
    if (!samePath) {
        window.scrollTo(0, 0);
        main.focus({preventScroll: true});
    }
}

/** @param {string} href */
export function go(href) {
    if (href !== location.pathname + location.search) history.pushState(null, "", href);
    show();
}

/**
 * Replaces the query string without building the page again.
 * @param {Record<string, any>} values null removes one
 */
export function setQuery(values) {
    const url = new URL(location.href);
    for (const [name, value] of Object.entries(values)) {
        if (value === null || value === undefined || value === "")
            url.searchParams.delete(name);
        else
            url.searchParams.set(name, String(value));
    }
    history.replaceState(null, "", url.pathname + url.search);
}

/**
 * Links to pages are followed without loading the document again.
 * @param {MouseEvent} e
 */
function onClick(e) {
    const link = e.target instanceof Element ? e.target.closest("a") : null;
    if (!link || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || e.defaultPrevented || link.target)
        return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || url.hash || !routeOf(url.pathname)) return;
    e.preventDefault();
    go(url.pathname + url.search);
}

/**
 * Shows the page of the current address.
 * @param {boolean} [anew] builds it again even if it is shown already
 */
export function showPage(anew) {
    if (anew) shown = "";
    return show();
}

export function startRouter() {
    document.addEventListener("click", onClick);
    window.addEventListener("popstate", () => show());
}
