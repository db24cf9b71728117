// events.js - the history of all executions: the newest events first, live, filtered by type.
import {get, isAborted} from "./api.js";
import {copyable} from "./dialog.js";
import {fill, h, throttle} from "./dom.js";
import {eventRow} from "./event_table.js";
import {icon} from "./icons.js";
import {addKeys, rowKeys} from "./keys.js";
import {onLoadFailed, setQuery} from "./router.js";
import {subscribe} from "./stream.js";

const PAGE = 100, KEPT = 1000;
const TYPES = [
    ["", "All"], ["failed,timed_out,abandoned", "Failures"],
    ["retry_scheduled,lease_expired,adopted", "Retries and losses"], ["created", "Created"],
    ["paused,resumed,cancel_requested,rerun,skipped", "Operators"]
];

/**
 * Whether the filter accepts an event: "failed" means task.failed and workflow.failed.
 * @param {string} types
 * @param {any} e
 */
const accepts = (types, e) =>
    !types || types.split(",").some((t) => t.trim() === e.type || t.trim() === e.type.split(".")[1]);

/** @param {import("./router.js").Context} context */
export function open({main, query, signal}) {
    document.title = "Events · Pawl";
    /** @type {string | null} */
    let next = null;
    /** @type {any[]} events of the stream: a list that was asked for before may not have them */
    let came = [];
    let mustLoad = true; // also while it is paused
    let types = query.get("type") ?? "", newest = 0, held = 0, isFollowing = true;
    const chips = h("div.chips", {role: "group", "aria-label": "Type"}), problem = h("p.wrong", {role: "alert"});
    const box = h("input.filter", {
        type: "search",
        "aria-label": "Types of events",
        placeholder: "types: task.failed, claimed …",
        autocomplete: "off",
        spellcheck: "false"
    });
    const body = h("tbody"), more = h("div.more"),
          pause = h("button", {type: "button", onclick: () => follow(!isFollowing)});
    const table =
        h("table.list.compact.events.framed",
          h("thead", h("tr", ["Time", "Event", "Execution", "Details"].map((t) => h("th", {scope: "col"}, t)))), body);
    fill(
        main, h("div.head", h("h1", "Events"), h("div.acts", pause)), h("div.tools", chips, box), problem, table, more);

    /** @param {boolean} on */
    function follow(on) {
        isFollowing = on;
        if (on) {
            mustLoad = true;
            reload.now();
        }
        held = 0;
        showPause();
    }
    const showPause = () => fill(
        pause, icon(isFollowing ? "pause" : "play"),
        isFollowing ? "Pause" :
            held    ? `Continue (${held} new)` :
                      "Continue");

    function renderTools() {
        fill(
            chips,
            TYPES.map(
                ([value, text]) =>
                    h("button", {type: "button", "aria-pressed": String(value === types), onclick: () => choose(value)},
                      text)));
        if (document.activeElement !== box) box.value = TYPES.some(([v]) => v === types) ? "" : types;
    }

    /** @param {string} value */
    function choose(value) {
        types = value;
        setQuery({type: value});
        renderTools();
        mustLoad = true;
        reload.now();
    }

    const nothing = () => types ?
        h("p.empty", "No event of this kind is stored. ",
          h("button.link", {type: "button", onclick: () => choose("")}, "Show all")) :
        h("div.empty",
          h("p", "No event is stored. Each change of an execution is one, from its submission to its end:"),
          copyable("pawl exec --detach -- echo hello"));

    /** @param {any} page */
    function showMore(page) {
        next = page.next;
        fill(
            more,
            body.childElementCount ? next && h("button", {type: "button", onclick: loadMore}, "Show more") : nothing());
    }

    async function load() {
        const asked = types, must = mustLoad;
        mustLoad = false;
        if (!must && !isFollowing) return;
        try {
            const page = await get("/v1/events", {type: types.replaceAll(" ", ""), limit: PAGE}, signal);
            if (types !== asked || (!must && !isFollowing)) return;
            newest = page.items[0]?.sequence_num ?? newest;
            fill(body, page.items.map((/** @type {any} */ e) => eventRow(e, true)));
            problem.textContent = "";
            add(came.filter((e) => e.sequence_num > newest && accepts(types, e)));
            showMore(page);
        } catch (error) {
            if (isAborted(error)) return;
            if (/** @type {any} */ (error).status === 400)
                problem.textContent = /** @type {Error} */ (error).message;
            else
                onLoadFailed(error, !!body.childElementCount);
        }
    }

    async function loadMore() {
        const page = await get("/v1/events", {type: types.replaceAll(" ", ""), limit: PAGE, cursor: next}, signal);
        body.append(...page.items.map((/** @type {any} */ e) => eventRow(e, true)));
        showMore(page);
    }

    /** @param {any[]} events new ones, oldest first */
    function add(events) {
        for (const e of events) {
            newest = Math.max(newest, e.sequence_num);
            body.prepend(eventRow(e, true));
        }
        while (body.childElementCount > KEPT) body.lastElementChild?.remove();
    }

    let typing = 0;
    box.addEventListener("input", () => {
        clearTimeout(typing);
        typing = window.setTimeout(() => choose(box.value.trim()), 400);
    });
    const reload = throttle(load, 500);
    subscribe(["events"], (m) => {
        if ("resync" in m || m.more) return void (isFollowing && reload());
        came = [...came, ...m.events].slice(-KEPT);
        const fresh = m.events.filter((e) => e.sequence_num > newest && accepts(types, e));
        if (!isFollowing) {
            held += fresh.length;
            return showPause();
        }
        add(fresh);
        if (fresh.length) showMore({next});
    }, signal);
    rowKeys([body], signal, "event");
    addKeys(
        [
            {keys: "/", text: "filter by type", run: () => box.focus()},
            {keys: "p", text: "pause or continue", run: () => follow(!isFollowing)}
        ],
        signal);
    renderTools();
    showPause();
    reload.now();
    return {
        requery: (/** @type {URLSearchParams} */ q) => {
            types = q.get("type") ?? "";
            renderTools();
            mustLoad = true;
            reload.now();
        }
    };
}
