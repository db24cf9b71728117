// actions.js - what an operator can do with an execution: the buttons, the questions, and the requests.
import {post} from "./api.js";
import {ask, field, note, reasonField} from "./dialog.js";
import {fill, h} from "./dom.js";
import {hasEnded, plural, shortName} from "./format.js";
import {icon} from "./icons.js";
import {go} from "./router.js";
import {may} from "./session.js";

/** @param {FormData} form */
const reasonOf = (form) => {
    const reason = String(form.get("reason") ?? "").trim();
    return reason ? {reason} : {};
};

/**
 * An action that needs at most a reason.
 * @param {any} e
 * @param {string} verb
 * @param {{title: string, text: string, confirm: string, done: string, danger?: boolean, fields?: any, body?: (form: FormData) => any}} how
 */
async function simple(e, verb, how) {
    const done = await ask({
        title: how.title,
        text: how.text,
        confirm: how.confirm,
        danger: how.danger,
        fields: [how.fields, reasonField()],
        act: (form) => post(`/v1/executions/${e.id}/${verb}`, {...reasonOf(form), ...how.body?.(form)}),
    });
    if (done) note(how.done);
}

/** @param {any} e */
export const cancel = (e) => simple(e, "cancel", {
    title: `Cancel ${shortName(e)}?`,
    text: "It and everything below it ends as cancelled. Running commands are stopped.",
    confirm: "Cancel it",
    danger: true,
    done: `Cancelling ${shortName(e)}.`,
    fields:
        h("label.check", h("input", {type: "checkbox", name: "let_finish"}),
          "let running jobs finish, and start nothing more"),
    body: (form) => (form.get("let_finish") ? {let_finish: true} : {}),
});
/** @param {any} e */
export const pause = (e) => simple(e, "pause", {
    title: `Pause ${shortName(e)}?`,
    text: "Nothing more of it starts until it is resumed. Running jobs continue.",
    confirm: "Pause",
    done: `Paused ${shortName(e)}.`
});
/** @param {any} e */
export const resume = (e) => simple(e, "resume", {
    title: `Resume ${shortName(e)}?`,
    text: "What waited because of the pause may start.",
    confirm: "Resume",
    done: `Resumed ${shortName(e)}.`
});
/** @param {any} e */
export const skip = (e) => simple(e, "skip", {
    title: `Skip ${shortName(e)}?`,
    text: "It ends as skipped without running; tasks that need it continue by their rules.",
    confirm: "Skip it",
    done: `Skipped ${shortName(e)}.`
});
/** @param {any} e */
export const approve = (e) => simple(e, "approve", {
    title: `Approve ${shortName(e)}?`,
    text: "It starts as soon as a worker is free.",
    confirm: "Approve",
    done: `Approved ${shortName(e)}.`
});
/** @param {any} e */
export const reject = (e) => simple(e, "reject", {
    title: `Reject ${shortName(e)}?`,
    text: "It fails without running.",
    confirm: "Reject",
    danger: true,
    done: `Rejected ${shortName(e)}.`
});

/**
 * The params of a run as NAME → text.
 * @param {any} run
 * @returns {[string, string][]}
 */
function paramsOf(run) {
    const params = run.workflow_execution?.variables?.params ?? {};
    return Object.entries(params).map(
        ([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
}

/**
 * The params that the form changes; a rerun with changed params is a new run.
 * @param {FormData} form
 * @param {[string, string][]} params
 */
const changedParams = (form, params) => params.filter(([name, value]) => form.get(`param:${name}`) !== value)
                                            .map(([name]) => `${name}=${form.get(`param:${name}`)}`);

/**
 * @param {any} plan
 * @param {boolean} isNew
 */
function describePlan(plan, isNew) {
    if (isNew) return "A new run is created; this one stays as it is.";
    const names = plan.nodes.slice(0, 12).map((/** @type {any} */ n) => h("li", `${shortName(n)} (${n.status})`));
    return [
        `${plural(plan.nodes.length, "execution")} and everything below ${
            plan.nodes.length === 1 ? "it" : "them"} would run again, in place:`,
        h("ul.plan", names, plan.nodes.length > 12 && h("li", "…"))
    ];
}

/**
 * Asks the user how to rerun, shows what would run, and reruns.
 * @param {any} run
 * @param {{from?: string}} [preset] the name of a task
 */
export async function rerun(run, preset = {}) {
    const params = paramsOf(run), isWorkflow = run.kind === "workflow";
    const what = h("output.plan-box", {"aria-live": "polite"});
    let previews = 0; // number of the last preview: the answer to an earlier one is dropped
    const body = (/** @type {FormData} */ form) => {
        const how = form.get("how"), changed = how === "params" ? changedParams(form, params) : [];
        if (how === "params" && !changed.length) throw new Error("Change at least one param.");
        return {
            ...(how === "failed" && {failed: true}),
            ...(how === "from" && {from: preset.from}),
            ...(changed.length && {params: changed})
        };
    };
    const preview = async () => {
        const form = what.closest("form"), mine = ++previews, how = new FormData(form).get("how");
        for (const input of form.querySelectorAll("[name^='param:']")) input.disabled = how !== "params";
        let text;
        try {
            const asked = body(new FormData(form));
            const plan = await post(`/v1/executions/${run.id}/rerun`, {...asked, dry_run: true});
            text = describePlan(plan, !!asked.params);
        } catch (error) { text = /** @type {Error} */ (error).message; }
        if (mine === previews) fill(what, text);
    };
    const choice = (/** @type {string} */ value, /** @type {string} */ text, /** @type {boolean} */ checked) =>
        h("label.check", h("input", {type: "radio", name: "how", value, checked, onchange: preview}), text);
    const failed = run.status === "failed" || run.status === "timed_out" || run.status === "cancelled";
    const asking = ask({
        title: `Run ${shortName(run)} again`,
        confirm: "Run again",
        wide: params.length > 0,
        fields: [
            h("fieldset", h("legend", "What"),
              preset.from && choice("from", `${preset.from} and what follows it`, true),
              isWorkflow && failed &&
                  choice("failed", "what failed or was cancelled, and what follows it", !preset.from),
              choice("all", "everything", !preset.from && !(isWorkflow && failed)),
              params.length > 0 && choice("params", "everything, as a new run with other params", false)),
            params.map(
                ([name, value]) => field(
                    name,
                    h("input", {name: `param:${name}`, value, disabled: true, autocomplete: "off", oninput: preview}))),
            what, reasonField()
        ],
        act: async (form) => post(`/v1/executions/${run.id}/rerun`, {...body(form), ...reasonOf(form)}),
    });
    preview();
    const done = await asking;
    if (!done) return;
    note(`Run ${done.id} was started.`);
    if (done.id !== run.id || !location.pathname.startsWith("/runs/")) go(`/runs/${done.id}`);
}

/**
 * @param {string} name of the icon
 * @param {string} text
 * @param {(e: any) => void} run
 * @param {string} [kind]
 */
const button = (name, text, run, kind) =>
    h("button", {type: "button", class: kind ?? "", onclick: run}, icon(name), text);

/** Whether the library pauses it: a single job only before it starts. */
export const mayPause = (/** @type {any} */ e) =>
    !hasEnded(e.status) && !e.paused && !(e.status === "running" && (e.kind === "task" || e.kind === "exec"));
export const mayResume = (/** @type {any} */ e) => !hasEnded(e.status) && !!e.paused;
export const maySkip = (/** @type {any} */ e) => e.status === "pending" || e.status === "ready";

/**
 * The keys of the buttons in an element.
 * @param {Element} place
 */
export const actionKeys = (place) => !may("operate") ? [] : [
    {keys: "c", text: "cancel the run", names: ["Cancel"]},
    {keys: "p", text: "pause or resume the run", names: ["Pause", "Resume"]},
    {keys: "r", text: "run it again", names: ["Rerun"]}
].map(({keys, text, names}) => ({
          keys,
          text,
          run: () => [...place.querySelectorAll("button")].find((b) => names.includes(b.textContent ?? ""))?.click()
      }));

/**
 * The buttons of the actions that are possible now.
 * @param {any} e
 * @param {any} [parentRun] the workflow of the task, to rerun from this task
 */
export function actionButtons(e, parentRun) {
    if (!may("operate")) return [];
    const ended = hasEnded(e.status), waits = String(e.waiting ?? "");
    const list = [];
    if (waits.startsWith("approval"))
        list.push(button("check", "Approve", () => approve(e), "primary"), button("cancel", "Reject", () => reject(e)));
    if (mayResume(e)) list.push(button("play", "Resume", () => resume(e)));
    if (mayPause(e)) list.push(button("pause", "Pause", () => pause(e)));
    if (maySkip(e)) list.push(button("skip", "Skip", () => skip(e)));
    if (!ended) list.push(button("cancel", "Cancel", () => cancel(e)));
    if (ended && !e.parent) list.push(button("rerun", "Rerun", () => rerun(e)));
    if (e.parent && parentRun && hasEnded(parentRun.status) && e.task_name && e.task_index == null)
        list.push(button("rerun", "Rerun from here", () => rerun(parentRun, {from: e.task_name})));
    return list;
}
