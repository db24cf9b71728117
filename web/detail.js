// detail.js - the part of a run's page about the selected execution: its log, attempts, events and data.
import {actionButtons} from "./actions.js";
import {get, isAborted} from "./api.js";
import {fill, h, throttle} from "./dom.js";
import {eventTable} from "./event_table.js";
import {bytes, chip, count, duration, hasEnded, prose, ran, shortName, time} from "./format.js";
import {LogView} from "./log.js";
import {onLoadFailed} from "./router.js";

const TABS =
    [["log", "Log"], ["attempts", "Attempts"], ["events", "Events"], ["data", "Data"], ["definition", "Definition"]];
const EVENTS = 200;

/**
 * A value as readable JSON.
 * @param {string} title
 * @param {any} value
 */
function block(title, value) {
    if (value === null || value === undefined) return null;
    return h(
        "section", h("h3", title),
        h("pre.json", {tabindex: 0}, typeof value === "string" ? value : JSON.stringify(value, null, 2)));
}

/** @param {[string, any][]} facts */
const factList = (facts) =>
    h("dl.facts",
      facts.filter(([, v]) => v !== null && v !== undefined && v !== "").map(([k, v]) => [h("dt", k), h("dd", v)]));

/**
 * What is known of each attempt, from the events of an execution.
 * @param {any[]} events
 * @returns {{n: number, worker: string, host: string, from: string, to: string, outcome: string, data: any}[]}
 */
export function attemptsOf(events) {
    /** @type {any[]} */
    const list = [];
    for (const e of events) {
        if (/\.claimed$/.test(e.type))
            list.push({
                n: e.attempt,
                worker: e.worker,
                host: e.host,
                from: e.created_at,
                to: "",
                outcome: "running",
                data: null
            });
        const a = list.at(-1);
        if (!a || a.n !== e.attempt) continue;
        if (/\.adopted$/.test(e.type)) Object.assign(a, {worker: e.worker, host: e.host});
        if (e.from === "running" && e.to !== "running")
            Object.assign(a, {to: e.created_at, outcome: e.data?.outcome ?? e.type.split(".")[1], data: e.data});
    }
    return list;
}

export class Detail {
    /**
	 * @param {{onAttempt: (n: number | null) => void, onTab: (tab: string) => void, parentOf: (e: any) => any}} page
	 * @param {AbortSignal} signal
	 */
    constructor(page, signal) {
        this.page = page;
        this.signal = signal;
        this.tab = "";
        /** @type {string} */
        this.shownTab = "";
        this.shownFor = 0;
        /** @type {any} */
        this.execution = null;
        /** @type {any} */
        this.line = null;
        /** @type {{at?: string, at_event?: number}} */
        this.moment = {};
        this.tabLeave = new AbortController();
        /** @type {LogView | null} */
        this.log = null;
        this.head = h("div.detail-head");
        this.tabs = h("div.tabs", {role: "tablist", "aria-label": "Selected execution"});
        this.panel = h("div.panel", {role: "tabpanel", id: "panel"});
        this.element = h("section.detail", {"aria-label": "Selected execution"}, this.head, this.tabs, this.panel);
        this.reload = throttle(() => this.load(), 400);
        signal.addEventListener("abort", () => this.tabLeave.abort());
    }

    /**
	 * @param {any} line of the outline
	 * @param {{tab: string | null, attempt: number | null, byte: number | null, moment: any, anew: boolean}} how
	 */
    show(line, how) {
        const isOther = this.line?.id !== line.id || JSON.stringify(how.moment) !== JSON.stringify(this.moment) ||
            how.byte !== null || how.anew;
        this.line = line;
        this.moment = how.moment;
        if (how.tab) this.tab = how.tab;
        if (!isOther) {
            // It may run by now.
            if (this.shownTab === "log" && !this.log && this.mayHaveLog()) this.openTab("log");
            return void this.renderHead();
        }
        this.execution = null;
        this.why = null;
        this.attempt = how.attempt;
        this.byte = how.byte;
        this.renderHead();
        this.openTab(this.tab || "log");
        this.reload.now();
    }

    mayHaveLog() { return this.line.attempt > 0 || !!this.line.started_at || this.line.status === "running"; }

    /** Whether the execution has a log: only jobs have one. */
    hasLog() { return this.line.kind !== "workflow" && this.line.kind !== "foreach"; }

    /** Called when an event of the shown execution has arrived. */
    poke() {
        this.log?.poke();
        this.reload();
    }

    async load() {
        const id = this.line.id;
        try {
            const e = await get(`/v1/executions/${id}`, this.moment, this.signal);
            const past = this.moment.at || this.moment.at_event;
            const why =
                past || e.status === "succeeded" ? null : await get(`/v1/executions/${id}/why`, {}, this.signal);
            if (this.line.id !== id) return;
            this.execution = e;
            this.why = why;
            this.renderHead();
            if (this.shownTab !== "log" && this.shownTab !== "definition") this.openTab(this.tab);
        } catch (error) {
            onLoadFailed(error, true);
            if (!isAborted(error)) fill(this.head, h("p.wrong", /** @type {Error} */ (error).message));
        }
    }

    renderHead() {
        const l = this.line, e = this.execution, now = !(this.moment.at || this.moment.at_event);
        const paused = l.paused && !hasEnded(l.status);
        fill(
            this.head,
            h("div.detail-title", h("h2", h("bdi", shortName(l)), h("span.id", ` #${l.id}`)),
              chip(paused ? "paused" : (e?.status ?? l.status))),
            h("p.meta",
              [
                  e?.executor, l.max_attempts > 1 && `attempt ${l.attempt} of ${l.max_attempts}`,
                  l.started_at && ["ran ", ran(e ?? l)], e?.host && ["on ", h("bdi", e.host)],
                  e?.exit_code ? `exit code ${e.exit_code}` : null, e?.signal ? `signal ${e.signal}` : null
              ].filter(Boolean)
                  .map((part, i) => [i ? " · " : "", part])),
            this.why && this.line.parent &&
                h("ul.reasons", this.why.reasons.slice(0, 3).map((/** @type {any} */ r) => h("li", prose(r.text)))),
            now && this.page.parentOf(l) !== undefined &&
                h("div.acts",
                  actionButtons(
                      {...l, ...(e ?? {}), task_name: l.task_name, task_index: l.task_index, paused: l.paused},
                      this.page.parentOf(l))));
        this.renderTabs();
    }

    /** @param {string} tab */
    hasTab(tab) {
        return tab === "definition"             ? this.line.kind === "workflow" :
            tab === "log" || tab === "attempts" ? this.hasLog() :
                                                  TABS.some(([id]) => id === tab);
    }

    renderTabs() {
        const tabs = TABS.filter(([id]) => this.hasTab(id));
        fill(
            this.tabs,
            tabs.map(
                ([id, text]) =>
                    h("button", {
                        type: "button",
                        role: "tab",
                        id: `tab-${id}`,
                        "aria-selected": String(id === this.shownTab),
                        "aria-controls": "panel",
                        tabindex: id === this.shownTab ? 0 : -1,
                        onclick: () => {
                            this.tab = id;
                            this.page.onTab(id);
                            this.openTab(id, true);
                        },
                        onkeydown: (/** @type {KeyboardEvent} */ k) => {
                            const step = k.key === "ArrowRight" ? 1 :
                                k.key === "ArrowLeft"           ? -1 :
                                                                  0,
                                  at = tabs.findIndex(([t]) => t === id) + step;
                            if (step && tabs[at]) /** @type {any} */
                                (document.getElementById(`tab-${tabs[at][0]}`))?.click();
                        },
                    },
                      text)));
    }

    /**
	 * @param {string} tab
	 * @param {boolean} [focus]
	 */
    openTab(tab, focus) {
        const name = this.hasTab(tab) ? tab : this.hasLog() ? "log" : "events";
        const isSame = name === this.shownTab && this.shownFor === this.line.id;
        this.shownTab = name;
        this.shownFor = this.line.id;
        this.renderTabs();
        if (focus) document.getElementById(`tab-${name}`)?.focus();
        this.tabLeave.abort();
        this.tabLeave = new AbortController();
        this.log = null;
        this.panel.setAttribute("aria-labelledby", `tab-${name}`);
        if (!isSame) fill(this.panel);
        const open = {
            log: () => this.openLog(),
            attempts: () => this.openAttempts(),
            events: () => this.openEvents(),
            data: () => this.openData(),
            definition: () => this.openDefinition()
        }[name];
        Promise.resolve(open?.()).catch((error) => {
            if (!isAborted(error)) fill(this.panel, h("p.wrong", error.message));
        });
    }

    openLog() {
        if (!this.mayHaveLog())
            return void fill(
                this.panel, h("p.empty", hasEnded(this.line.status) ? "It did not run." : "It has not started."));
        this.log = new LogView(this.line.id, this.attempt ?? null, this.byte ?? null, this.tabLeave.signal);
        fill(
            this.panel,
            this.attempt &&
                h("p.older", `Output of attempt ${this.attempt}. `,
                  h("button.link", {type: "button", onclick: () => this.page.onAttempt(null)},
                    "Show the last attempt")),
            this.log.element);
    }

    async openAttempts() {
        const page = await get(
            `/v1/executions/${this.line.id}/events`, {self: true, limit: 1000, until: this.moment.at},
            this.tabLeave.signal);
        const list =
            attemptsOf(page.items.filter(
                           (/** @type {any} */ e) => !this.moment.at_event || e.sequence_num <= this.moment.at_event))
                .reverse();
        fill(
            this.panel,
            list.length ?
                h("div.scroll", {tabindex: 0, role: "region", "aria-label": "Attempts"},
                  h("table.list.compact",
                    h("thead",
                      h("tr",
                        ["Attempt", "Outcome", "Started", "Took", "Worker",
                         ""].map((t) => h("th", {scope: "col"}, t || h("span.hidden", "Log"))))),
                    h("tbody",
                      list.map(
                          (a) =>
                              h("tr", h("td", a.n),
                                h("td", a.outcome === "ok" ? "succeeded" : a.outcome.replace("_", " "),
                                  a.data?.exit_code ? ` (exit code ${a.data.exit_code})` : "",
                                  a.data?.error && h("span.aside", {title: a.data.error}, h("bdi", a.data.error))),
                                h("td", time(a.from)),
                                h("td.num",
                                  a.data?.duration_us ? duration(a.data.duration_us) :
                                      a.to            ? duration((Date.parse(a.to) - Date.parse(a.from)) * 1000) :
                                                        "–"),
                                h("td", h("bdi", a.host ?? ""), " ", h("span.aside.mono", a.worker)),
                                h("td.acts",
                                  h("button.link", {type: "button", onclick: () => this.page.onAttempt(a.n)},
                                    "Log"))))))) :
                h("p.empty", "No attempt has been made."));
    }

    async openEvents() {
        const self = this.hasLog() || undefined, signal = this.tabLeave.signal;
        const load = (/** @type {string | null} */ cursor) =>
            get(`/v1/executions/${this.line.id}/events`, {self, limit: EVENTS, cursor, until: this.moment.at}, signal);
        const page = await load(null);
        const events = page.items;
        let next = page.next;
        const render = () => fill(
            this.panel, eventTable(events, !self),
            next &&
                h("div.more",
                  h("button", {
                      type: "button",
                      onclick: async () => {
                          const more = await load(next);
                          events.push(...more.items);
                          next = more.next;
                          render();
                      }
                  },
                    "Show later events")));
        render();
    }

    /** What this run runs, whatever its name refers to by now. */
    async openDefinition() {
        const {id, name} = this.line, signal = this.tabLeave.signal;
        const d = await get(`/v1/executions/${id}/definition`, {}, signal);
        const {listing, textOf} = await import("./workflow_text.js");
        if (signal.aborted) return;
        fill(
            this.panel,
            h("p.meta", "Definition ", h("span.mono", d.definition.slice(0, 12)),
              d.source === null && ", written from what is stored: it was not applied, but submitted", " · ",
              h("a", {href: `/workflows/${encodeURIComponent(name)}?view=versions`}, "versions of ", h("bdi", name))),
            listing(textOf(d), `Definition of ${name}`));
    }

    openData() {
        const e = this.execution;
        if (!e) return;
        const w = e.workflow_execution, usage = e.usage;
        fill(
            this.panel, factList([
                ["Name", h("bdi", e.name)], ["Kind", e.kind], ["Queue", h("bdi", e.queue)],
                ["Priority", e.priority ? String(e.priority) : ""], ["Executor", e.executor],
                ["Worker", e.worker && h("span.mono", e.worker)], ["Host", e.host && h("bdi", e.host)],
                ["Requested", [time(e.requested_at, true), e.requested_by && [" by ", h("bdi", e.requested_by)]]],
                ["Started", e.started_at && time(e.started_at, true)],
                ["Finished", e.finished_at && time(e.finished_at, true)],
                ["Exit code", e.exit_code === null ? "" : String(e.exit_code)],
                ["Processor time", usage?.cpu_us === undefined ? "" : duration(usage.cpu_us)],
                ["Peak memory", usage?.peak_memory ? bytes(usage.peak_memory) : ""],
                ["Definition", w?.definition && h("span.mono", w.definition)],
                ["Tasks", w && count(w.completed_tasks.length) + " completed"]
            ]),
            block("Error", e.error), block("Params", w?.variables?.params),
            block("Variables", w?.variables?.vars && Object.keys(w.variables.vars).length ? w.variables.vars : null),
            block("Input", e.input && JSON.stringify(e.input) !== "{}" ? e.input : null), block("Outputs", e.outputs));
    }
}
