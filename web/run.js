// run.js - one run: why it has its status, its tree on a time axis, and the selected execution at the side. All of it can also be
// shown as it was at an earlier moment.
import {actionButtons, actionKeys, approve, reject} from "./actions.js";
import {get} from "./api.js";
import {Detail} from "./detail.js";
import {fill, h, throttle} from "./dom.js";
import {chip, hasEnded, millis, prose, ran, shortName, statusWord, time} from "./format.js";
import {History} from "./history.js";
import {icon} from "./icons.js";
import {addKeys} from "./keys.js";
import {lineOf, Outline} from "./outline.js";
import {onLoadFailed, setQuery} from "./router.js";
import {may} from "./session.js";
import {subscribe} from "./stream.js";

const VIEWS = [["tree", "Tree"], ["graph", "Graph"], ["diff", "Compare"]];
const APPROVALS = 5; // tasks that wait for an approval and can be answered above the tree

/**
 * The execution that a reader most likely looks for: what failed, what runs now, else the last task.
 * @param {any[]} lines
 * @param {any} now the one that is shown
 */
function mostInteresting(lines, now) {
    const jobs = lines.filter((l) => l.kind === "task" || l.kind === "exec");
    if (now?.status === "running" && jobs.includes(now)) return now.id;
    // The items of a fan-out come and go too fast to follow each of them.
    const fanOut = now?.task_index != null && lines.find((l) => l.id === now.parent);
    if (fanOut && !hasEnded(fanOut.status)) return now.id;
    const running = jobs.find((l) => l.status === "running");
    if (running && !hasEnded(lines[0].status)) return running.id;
    const failed = jobs.find((l) => l.status === "failed" || l.status === "timed_out");
    if (failed) return failed.id;
    const waiting = jobs.find((l) => l.status === "ready");
    if (waiting && !hasEnded(lines[0].status)) return waiting.id;
    return (running ?? now ?? jobs.filter((l) => l.started_at).at(-1) ?? jobs[0] ?? lines[0]).id;
}

/** @param {import("./router.js").Context} context */
export function open({main, args, query, signal}) {
    const id = Number(args[0]);
    /** @type {any} */
    let run = null;
    /** @type {any[]} */
    let lines = [];
    let chosen = Number(query.get("task")) || 0, auto = !query.get("task"),
        view = query.get("diff") ? "diff" : (query.get("view") ?? "tree");
    /** @type {any} */
    let extra = null;
    /** @type {any} */
    let aside = null;
    document.title = `#${id} · Pawl`;

    const title = h("div.run-title"), meta = h("p.meta"), acts = h("div.acts"), why = h("div.why", {role: "status"}),
          tabs = h("div.views", {role: "group", "aria-label": "View"});
    const side = h("div.side"), place = h("div.view");
    const outline = new Outline((task) => select(task), signal);
    const detail = new Detail(
        {
            onAttempt: (n) => {
                auto = false;
                setQuery({task: chosen, attempt: n, byte: null, tab: "log"});
                showSelected(chosen, true);
            },
            onTab: (tab) => setQuery({tab}),
            parentOf
        },
        signal);
    const history = new History(id, (moment) => {
        setQuery({at: moment.at, at_event: moment.at_event});
        reload.now();
    }, signal);
    fill(
        main, h("nav.crumbs", {"aria-label": "Path"}, h("a", {href: "/"}, "Runs")), h("div.head", title, acts), meta,
        why, tabs, history.element, h("div.run", place, side));
    fill(side, detail.element);
    fill(place, outline.element);

    const moment = () => {
        const q = new URLSearchParams(location.search);
        return q.get("at_event") ? {at_event: Number(q.get("at_event"))} :
            q.get("at")          ? {at: /** @type {string} */ (q.get("at"))} :
                                   {};
    };
    /** The task that the address names; a link of a list of runs does not know its number. */
    const named = () => new URLSearchParams(location.search).get("task");
    const isPast = () => Object.keys(moment()).length > 0;

    /**
	 * The workflow that a task belongs to, from which it can be rerun; null if there is none.
	 * @param {any} line
	 */
    function parentOf(line) {
        if (line.id === id) return undefined; // the page shows the actions of the run itself at its top
        const parent = lines.find((l) => l.id === line.parent);
        return parent?.id === run?.id ? run : parent?.kind === "workflow" ? parent : null;
    }

    /** @param {number} task */
    function select(task) {
        auto = false;
        setQuery({task, attempt: null, byte: null});
        showSelected(task);
    }

    /**
     * Finds an execution of the run. The outline has only some items of a fan-out, so the shown one is kept in `aside`.
     * @param {number} task
     */
    const known = (task) => outline.find(task) ?? (aside?.id === task && !isPast() ? aside : null);

    /**
	 * @param {number} task
	 * @param {boolean} [anew] load its details again
	 */
    function showSelected(task, anew = false) {
        const line = known(task);
        if (!line) return;
        chosen = task;
        aside = line;
        outline.select(task);
        extra?.select?.(task);
        const q = new URLSearchParams(location.search),
              own = Number(q.get("task")) === task || line.task_name === q.get("task");
        const number = (/** @type {string} */ name) => (own && q.get(name) ? Number(q.get(name)) : null);
        detail.show(
            line, {tab: q.get("tab"), attempt: number("attempt"), byte: number("byte"), moment: moment(), anew});
    }

    function renderHead() {
        const w = run.workflow_execution, paused = run.paused && !hasEnded(run.status);
        document.title = `${run.name} #${id} · Pawl`;
        fill(title, h("h1", h("bdi", run.name), h("span.id", ` #${id}`)), chip(paused ? "paused" : run.status));
        const parts = [
            ["requested ", time(run.requested_at)], run.requested_by && ["by ", h("bdi", run.requested_by)],
            run.started_at && ["ran ", ran(run)], ["queue ", h("bdi", run.queue)],
            w?.variables?.due_at && ["due ", time(w.variables.due_at)],
            run.rerun_of && ["rerun of ", h("a", {href: `/runs/${run.rerun_of}`}, `#${run.rerun_of}`)],
            run.parent && ["part of ", h("a", {href: `/runs/${run.root}?task=${id}`}, `#${run.root}`)],
            run.kind === "workflow" &&
                h("a", {href: `/workflows/${encodeURIComponent(run.name)}`}, "all runs of this workflow")
        ];
        fill(meta, parts.filter(Boolean).map((part, i) => [i ? " · " : "", part]));
        fill(
            acts, !isPast() && actionButtons(run),
            h("button", {type: "button", "aria-pressed": String(history.isOpen), onclick: () => history.toggle()},
              icon("clock"), "History"));
    }

    /**
	 * A run that waits for its tasks says little: why the first of them waits, if nothing runs and nobody is asked to approve.
	 * @returns {Promise<any>}
	 */
    async function whyBelow() {
        const jobs = lines.filter((l) => l.kind !== "workflow" && l.kind !== "foreach");
        const waits = jobs.find((l) => l.status === "ready" && !String(l.waiting ?? "").startsWith("approval"));
        if (run.status !== "running" || !waits || jobs.some((l) => l.status === "running")) return null;
        return get(`/v1/executions/${waits.id}/why`, {}, signal).catch(() => null);
    }

    /**
	 * The first tasks that wait for an approval, with the message of each.
	 * @returns {Promise<{line: any, message?: string}[]>}
	 */
    async function approvalsBelow() {
        if (!may("operate")) return [];
        const waiting = lines.filter((l) => String(l.waiting ?? "").startsWith("approval")).slice(0, APPROVALS);
        return Promise.all(waiting.map(async (line) => {
            const shown = await get(`/v1/executions/${line.id}/why`, {}, signal).catch(() => null);
            const reason = shown?.reasons.find((/** @type {any} */ r) => r.code === "approval");
            return {line, message: reason?.message};
        }));
    }

    /**
	 * @param {any} reasons
	 * @param {any} deeper why the first of its tasks waits
	 * @param {{line: any, message?: string}[]} approvals
	 */
    function renderWhy(reasons, deeper, approvals) {
        if (isPast()) return fill(why);
        const [first, ...others] = reasons?.reasons ?? [];
        const open = (first?.open ?? [])
                         .map(
                             (/** @type {any} */ o) =>
                                 [h("button.link", {type: "button", onclick: () => select(o.id)}, shortName(o)),
                                  ` (${statusWord(o.status)})`]);
        // The sentence of the command line names the children, and the next command.
        const text = open.length ? `${first.text.slice(0, first.text.indexOf(":") + 1 || undefined)}` : first?.text;
        fill(
            why,
            first &&
                h("p.why-line", {class: `s-${run.status}`},
                  icon(
                      run.status === "succeeded" ? "check" :
                          hasEnded(run.status)   ? "warn" :
                                                   "info"),
                  h("span", prose(text),
                    open.length > 0 &&
                        [
                            " ",
                            open.slice(0, 5).map((/** @type {any} */ b, /** @type {number} */ i) => [i ? ", " : "", b]),
                            open.length > 5 && ", …"
                        ])),
            deeper &&
                h("p.why-line.s-ready", icon("info"),
                  h("span", h("button.link", {type: "button", onclick: () => select(deeper.id)}, shortName(deeper)),
                    ": ", prose(deeper.reasons[0]?.text ?? ""))),
            others.length > 0 &&
                h("details", h("summary", others.length === 1 ? "one more reason" : `${others.length} more reasons`),
                  h("ul.reasons", others.map((/** @type {any} */ r) => h("li", prose(r.text))))),
            approvals.map(
                ({line, message}) =>
                    h("div.approval", icon("ready"),
                      h("span", h("bdi", shortName(line)), " waits for an approval",
                        message && [": ", h("bdi", message)]),
                      h("button.primary", {type: "button", onclick: () => approve(line)}, "Approve"),
                      h("button", {type: "button", onclick: () => reject(line)}, "Reject"))));
    }

    function renderViews() {
        const known = VIEWS.filter(([v]) => v !== "graph" || run.kind === "workflow");
        fill(
            tabs,
            known.map(
                ([v, text]) => h(
                    "button", {type: "button", "aria-pressed": String(v === view), onclick: () => setView(v)}, text)));
    }

    /** @param {string} v */
    async function setView(v) {
        view = v;
        setQuery({view: v === "tree" || v === "diff" ? null : v, ...(v !== "diff" && {diff: null})});
        renderViews();
        extra?.close?.();
        extra = null;
        if (v === "graph") {
            const {Graph} = await import("./graph.js");
            extra = new Graph(id, (task) => select(task), signal);
            extra.select(chosen);
        } else if (v === "diff") {
            const {Diff} = await import("./diff.js");
            extra = new Diff(
                run, Number(new URLSearchParams(location.search).get("diff")) || 0, (other) => setQuery({diff: other}),
                signal);
        }
        fill(place, extra ? extra.element : outline.element);
        main.classList.toggle("full", v === "diff");
        if (extra)
            extra.update?.(moment());
        else
            outline.render();
    }

    async function load() {
        try {
            const at = moment(), past = isPast();
            const [shown, tree, reasons] = await Promise.all([
                get(`/v1/executions/${id}`, at, signal), get(`/v1/executions/${id}/outline`, at, signal),
                past ? null : get(`/v1/executions/${id}/why`, {}, signal)
            ]);
            if (JSON.stringify(moment()) !== JSON.stringify(at)) return; // the slider was moved meanwhile
            const isFirst = !run;
            run = shown;
            lines = tree.items;
            outline.set(lines, past ? history.time() ?? (at.at ? millis(at.at) : null) : null);
            renderHead();
            const [deeper, approvals] = past ? [null, []] : await Promise.all([whyBelow(), approvalsBelow()]);
            renderWhy(reasons, deeper, approvals);
            if (isFirst) await firstTime();
            if (!chosen && !auto) chosen = lines.find((l) => l.parent === id && l.task_name === named())?.id ?? 0;
            if (!auto && chosen && !past && !known(chosen))
                aside = await get(`/v1/executions/${chosen}`, at, signal).then(lineOf, () => null);
            if (auto || !known(chosen)) chosen = mostInteresting(lines, known(chosen));
            showSelected(chosen);
            loadCritical();
            extra?.update?.(at);
        } catch (error) { onLoadFailed(error, !!run); }
    }

    /** Called once, after the run was loaded for the first time. */
    async function firstTime() {
        if (view === "graph" && run.kind !== "workflow") view = "tree";
        renderViews();
        if (view !== "tree") await setView(view);
        if (isPast()) history.show(moment());
        subscribe([`run:${run.root}`], receive, signal);
    }

    const loadCritical = throttle(async () => {
        const path = await get(`/v1/executions/${id}/critical`, moment(), signal);
        outline.setCritical(
            path.steps.filter((/** @type {any} */ s) => s.id !== id).map((/** @type {any} */ s) => s.id));
    }, 3000);
    const reload = throttle(load, 500);

    /** @param {import("./stream.js").Message} m */
    function receive(m) {
        if (isPast()) return;
        if ("resync" in m || m.more) {
            outline.reloadItems().catch(() => {});
            if (run) detail.poke();
        } else {
            outline.patch(m.events);
            if (m.events.some((e) => e.execution === chosen)) detail.poke();
        }
        history.changed();
        reload();
    }

    addKeys(
        [
            {keys: "j", text: "next execution", run: () => outline.move(1)},
            {keys: "k", text: "previous execution", run: () => outline.move(-1)},
            {
                keys: "o",
                text: "fold or unfold",
                run: () => {
                    const row = outline.rows.find((r) => r.id === String(chosen));
                    if (row && row.isOpen !== null) outline.toggle(row);
                }
            },
            {
                keys: "l",
                text: "log of the selected execution",
                run: () => {
                    setQuery({tab: "log"});
                    detail.tab = "log";
                    detail.openTab("log", true);
                }
            },
            {
                keys: "/",
                text: "search the log",
                run: () => /** @type {HTMLElement | null} */ (main.querySelector(".log-search input"))?.focus()
            },
            {keys: "m", text: "show more items of a fan-out", run: () => outline.loadMore()},
            {keys: "h", text: "history: the state at an earlier moment", run: () => history.toggle()},
            ...actionKeys(acts),
            {
                keys: "u",
                text: "back to all runs",
                run: () => main.querySelector(".crumbs a")
                               ?.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}))
            },
        ],
        signal);
    reload.now();
    return {
        requery: (/** @type {URLSearchParams} */ q) => {
            auto = !q.get("task");
            chosen = Number(q.get("task")) || (auto ? chosen : 0);
            showSelected(chosen, true);
            reload.now();
        },
    };
}
