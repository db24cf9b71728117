// bulk.js - one action on many runs: on those that were selected, or on all that match the filter. Both show first what would happen.
import {mayPause, mayResume, maySkip} from "./actions.js";
import {post} from "./api.js";
import {ask, note, reasonField} from "./dialog.js";
import {fill, h} from "./dom.js";
import {count, hasEnded, plural, statusWord} from "./format.js";

const SHOWN = 8, SLICE = 1000;

/** @type {[string, string, (run: any) => boolean][]} the action, its text, and whether the state of a run allows it */
const ACTIONS = [
    ["cancel", "Cancel: stop what runs", (r) => !hasEnded(r.status)],
    ["let_finish", "Cancel, but let running jobs finish", (r) => !hasEnded(r.status)],
    ["pause", "Pause: start nothing more", mayPause], ["resume", "Resume", mayResume],
    ["skip", "Skip: end without running", maySkip], ["rerun", "Run again, everything", (r) => hasEnded(r.status)],
    [
        "rerun_failed", "Run again what failed",
        (r) => r.kind === "workflow" && ["failed", "timed_out", "cancelled"].includes(r.status)
    ]
];
/** @type {Record<string, {verb: string, body: any}>} the request for one run */
const REQUESTS = {
    cancel: {verb: "cancel", body: {}},
    let_finish: {verb: "cancel", body: {let_finish: true}},
    pause: {verb: "pause", body: {}},
    resume: {verb: "resume", body: {}},
    skip: {verb: "skip", body: {}},
    rerun: {verb: "rerun", body: {}},
    rerun_failed: {verb: "rerun", body: {failed: true}},
};

/** @type {Record<string, string>} the words of the button, if it is not a rerun */
const WORDS = {
    cancel: "Cancel",
    let_finish: "Cancel",
    pause: "Pause",
    resume: "Resume",
    skip: "Skip"
};

/** @param {string} action */
const isDangerous = (action) => action === "cancel" || action === "let_finish";

/**
 * @param {any[]} runs
 * @param {number} n of all
 */
const namesOf = (runs, n) =>
    h("ul.plan", runs.slice(0, SHOWN).map((r) => h("li", h("bdi", r.name), ` #${r.id} (${statusWord(r.status)})`)),
      n > SHOWN && h("li", `and ${count(n - SHOWN)} more`));

/**
 * Asks which action, shows what it would change, and carries it out.
 * @param {string} title
 * @param {(action: string) => Promise<{n: number, runs: any[]}>} preview
 * @param {(action: string, reason: any, progress: (text: string) => void) => Promise<string>} act
 * @param {string} first the action that is chosen at first
 */
async function askMany(title, preview, act, first) {
    const what = h("output.plan-box", {"aria-live": "polite"}, "Counting …");
    let previews = 0;
    const show = async () => {
        const mine = ++previews, form = what.closest("form");
        const button = form.querySelector("button.primary"), action = String(new FormData(form).get("action"));
        let text, n = 0;
        button.disabled = true;
        fill(what, "Counting …");
        try {
            const found = await preview(action);
            n = found.n;
            text =
                n ? [`${plural(n, "run")} would be changed:`, namesOf(found.runs, n)] : "It applies to none of them.";
        } catch (error) { text = /** @type {Error} */ (error).message; }
        if (mine !== previews) return;
        fill(what, text);
        button.disabled = !n;
        button.classList.toggle("danger", isDangerous(action));
        fill(button, n ? `${WORDS[action] ?? "Rerun"} ${plural(n, "run")}` : "Nothing to do");
    };
    const asking = ask({
        title,
        confirm: "Go",
        fields: [
            h("fieldset", h("legend", "Action"),
              ACTIONS.map(
                  ([action, text]) =>
                      h("label.check",
                        h("input",
                          {type: "radio", name: "action", value: action, checked: action === first, onchange: show}),
                        text))),
            what, reasonField()
        ],
        act: (form) => {
            const reason = String(form.get("reason") ?? "").trim();
            previews++;
            return act(String(form.get("action")), reason ? {reason} : {}, (text) => fill(what, text));
        },
    });
    show();
    const done = await asking;
    if (done) note(done);
    return !!done;
}

/**
 * The sum of an action: what was done, refused, and changed by somebody else before; `why` is a refused run.
 * @typedef {{done: number, refused: number, changed: number, why: {id: number, error: string} | undefined}} Sum
 */

/** @returns {Sum} */
const newSum = () => ({done: 0, refused: 0, changed: 0, why: undefined});

/** @param {Sum} sum */
function outcome({done, refused, changed, why}) {
    const text = plural(done, "run") + " changed", others = changed ? `, ${count(changed)} had changed already` : "";
    if (refused) throw new Error(`${text}${others}, ${count(refused)} refused. #${why?.id}: ${why?.error}`);
    return `${text}${others}.`;
}

/**
 * @param {any[]} runs that were selected
 */
export function actOnSelected(runs) {
    const fit = (/** @type {string} */ action) =>
        runs.filter(ACTIONS.find(([a]) => a === action)?.[2] ?? (() => false));
    return askMany(
        `${plural(runs.length, "selected run")}`,
        async (action) => ({n: fit(action).length, runs: fit(action)}), async (action, reason, progress) => {
            const {verb, body} = REQUESTS[action], sum = newSum();
            for (const r of fit(action)) {
                progress(`${count(sum.done)} done …`);
                try {
                    await post(`/v1/executions/${r.id}/${verb}`, {...body, ...reason});
                    sum.done++;
                } catch (error) {
                    sum.refused++;
                    sum.why ??= {id: r.id, error: /** @type {Error} */ (error).message};
                }
            }
            return outcome(sum);
        }, runs.every((r) => hasEnded(r.status)) ? "rerun" : "cancel");
}

/**
 * @param {Record<string, string | null>} filter of the address
 * @param {any[]} shown the newest of them
 */
export function actOnMatching(filter, shown) {
    /** @type {Record<string, any>} */
    const given = Object.fromEntries(Object.entries(filter).filter(([, v]) => v));
    if (given.param) given.param = [given.param];
    if (given.parent) given.parent = Number(given.parent);
    if (given.all) given.all = given.all === "true";
    const request = (/** @type {number | null} */ before, /** @type {any} */ more) =>
        post("/v1/executions/actions", {filter: {...given, ...(before && {before})}, ...more});
    // Each action begins at the newest run of its preview and moves to older ones, so that it never comes to a run twice, nor to one
    // that was requested meanwhile. If it is repeated after an error, it continues.
    /** @type {Map<string, Sum & {before: number}>} */
    const progresses = new Map();
    return askMany(
        "All runs that match the filter",
        async (action) => {
            const found = await request(null, {action, dry_run: true});
            progresses.set(action, {...newSum(), before: found.before});
            return {n: found.matched, runs: found.items};
        },
        async (action, reason, progress) => {
            const sum = /** @type {Sum & {before: number}} */ (progresses.get(action));
            for (;;) {
                const r = await request(sum.before, {action, limit: SLICE, ...reason});
                sum.done += r.done;
                sum.refused += r.refused;
                sum.changed += r.changed;
                if (r.refused) sum.why ??= r.items.find((/** @type {any} */ i) => i.error);
                sum.before = r.items.at(-1)?.id ?? sum.before;
                if (r.matched < SLICE) return outcome(sum);
                progress(`${count(sum.done)} done …`);
            }
        },
        shown.every((r) => hasEnded(r.status)) ? "rerun" : "cancel");
}
