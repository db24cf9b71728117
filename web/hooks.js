// hooks.js - webhooks on the System page: those that report ends of executions, with their deliveries, and those that start workflows.
import {get, isAborted, post, queryText, request} from "./api.js";
import {ask, copyable, field, note, reasonField} from "./dialog.js";
import {fill, h, sync, throttle} from "./dom.js";
import {ago, count, statusWord} from "./format.js";
import {icon} from "./icons.js";
import {rowKeys} from "./keys.js";
import {subscribe} from "./stream.js";

const QUEUE = "pawl:hooks", LANE = "function:pawl:deliver", REFRESH_MS = 3000;
const ENDS = ["succeeded", "failed", "timed_out", "cancelled", "skipped"];
/** @type {[string, string, string][]} the word, its statuses, and its class */
const STATES =
    [["sent", "succeeded", ""], ["waiting", "pending,ready,running", ""], ["failed", "failed,timed_out", "warn"]];

/**
 * A part of the form that belongs to one direction; its fields count only while it is shown.
 * @param {boolean} isShown
 * @param {string} legend
 * @param {...any} fields
 */
const part = (isShown, legend, ...fields) =>
    h("fieldset", {hidden: !isShown, disabled: !isShown}, h("legend.hidden", legend), fields);

/** @param {string} name @param {any} more */
const input = (name, more) => h("input", {name, autocomplete: "off", spellcheck: "false", ...more});

function parts() {
    const out = part(
        true, "Reports ends",
        field(
            "URL",
            input("url", {required: true, type: "url", maxlength: 2000, placeholder: "https://chat.example/pawl"})),
        h("fieldset", h("legend", "Ends to report"),
          ENDS.map(
              (s) =>
                  h("label.check", h("input", {type: "checkbox", name: "status", value: s, checked: s !== "skipped"}),
                    statusWord(s)))),
        h("div.two", field("Only runs of the workflow", input("workflow", {placeholder: "any"})),
          field("Only of the queue", input("queue", {placeholder: "any"}))),
        h("label.check", h("input", {type: "checkbox", name: "tasks"}), "also tasks, and all others with a parent"));
    const into = part(
        false, "Starts a workflow",
        field(
            "Signature",
            h("select", {name: "signature"}, h("option", {value: "standard"}, "Standard Webhooks"),
              h("option", {value: "github"}, "GitHub"))),
        field(
            "Secret", input("secret", {type: "password", maxlength: 200}),
            "The one that the sender gave. Empty: a new one."));
    return {out, into};
}

/**
 * The body of the request that creates a webhook.
 * @param {FormData} form
 */
function bodyOf(form) {
    const text = (/** @type {string} */ name) => String(form.get(name) ?? "").trim();
    const given = ["name", "url", "workflow", "queue", "signature", "secret", "reason"].filter(text);
    const isOut = form.get("direction") === "out", statuses = form.getAll("status");
    if (isOut && !statuses.length) throw new Error("Choose at least one end to report.");
    return {
        ...Object.fromEntries(given.map((name) => [name, text(name)])),
        ...(isOut && {statuses: statuses.join(",")}),
        ...(form.get("tasks") && {tasks: true})
    };
}

/** @param {() => void} reload */
async function create(reload) {
    const {out, into} = parts();
    let body = /** @type {any} */ (null);
    const choose = (/** @type {boolean} */ isOut) => {
        out.hidden = out.disabled = !isOut;
        into.hidden = into.disabled = isOut;
    };
    const radio = (/** @type {string} */ value, /** @type {string} */ text) => h(
        "label.check",
        h("input",
          {type: "radio", name: "direction", value, checked: value === "out", onchange: () => choose(value === "out")}),
        text);
    const made = await ask({
        title: "New webhook",
        confirm: "Create",
        fields: [
            field(
                "Name", input("name", {required: true, maxlength: 100, pattern: "[A-Za-z_][A-Za-z0-9_\\-]*"}),
                "Letters, digits, _ and -."),
            h("fieldset", h("legend", "What it does"), radio("out", "reports ends of executions to a URL"),
              radio("in", "starts a workflow when another program sends a message")),
            out, into, reasonField()
        ],
        act: (form) => post("/v1/hooks", (body = bodyOf(form))),
    });
    if (!made) return;
    reload();
    await showSecret(body, made.secret);
}

/**
 * @param {any} body what was asked for
 * @param {string} secret
 */
const showSecret = (body, secret) => ask({
    title: `The secret of ${body.name}`,
    text: body.url ? "It is shown only this once. The receiver checks the signature of each message with it." :
                     "It is shown only this once. The sender signs each message with it.",
    fields: [
        copyable(secret),
        body.url ?
            [
                h("p.hint", "Workers deliver the messages if they serve the queue ", h("code", QUEUE), ":"),
                copyable(`pawl worker --queue default --queue ${QUEUE}`)
            ] :
            [
                h("p.hint", "Messages go to this address, and start the applied workflow that names the webhook with ",
                  h("code", `on: {webhook: ${body.name}}`), ":"),
                copyable(`${location.origin}/v1/hooks/${body.name}`)
            ]
    ],
    confirm: "Done",
    act: async () => true
});

/**
 * @param {any} hook
 * @param {() => void} reload
 */
async function revoke(hook, reload) {
    const done = await ask({
        title: `Revoke the webhook ${hook.name}?`,
        text: hook.url ? "It reports nothing more: deliveries that wait fail." :
                         "Its messages are refused from now on.",
        confirm: "Revoke",
        danger: true,
        fields: reasonField(),
        act: async (form) => {
            await request(
                "DELETE",
                `/v1/hooks/${encodeURIComponent(hook.name)}${queryText({reason: String(form.get("reason")).trim()})}`);
            return true;
        },
    });
    if (!done) return;
    note(`Revoked the webhook ${hook.name}.`);
    reload();
}

/** @param {any} hook */
function purpose(hook) {
    if (hook.url)
        return [
            "reports ", hook.tasks ? "executions" : "runs", hook.workflow && [" of ", h("bdi", hook.workflow)],
            hook.queue && [" in the queue ", h("bdi", hook.queue)],
            ` that end as ${hook.statuses.map(statusWord).join(", ")} to `, h("bdi.mono", hook.url)
        ];
    if (hook.workflow)
        return ["starts ", h("a", {href: `/workflows/${encodeURIComponent(hook.workflow)}`}, h("bdi", hook.workflow))];
    return h(
        "span.warn", icon("warn"), "starts nothing yet: no applied workflow has ",
        h("code", `on: {webhook: ${hook.name}}`));
}

/**
 * Links to the deliveries of a webhook, by their state.
 * @param {any} hook
 * @param {any} counts
 */
function deliveries(hook, counts) {
    if (!hook.url) return null;
    const link = (/** @type {any} */ text, /** @type {string | null} */ status, /** @type {string} */ kind) =>
        h("a", {href: `/${queryText({queue: QUEUE, name: `hook::${hook.name}`, status})}`, class: kind}, text);
    if (!counts.total) return h("span.none", "none yet");
    const list = STATES.map(([word, statuses, kind]) => {
        const n = statuses.split(",").reduce((sum, s) => sum + counts[s], 0);
        return n ? link(`${count(n)}${counts.more ? "+" : ""} ${word}`, statuses, kind) : null;
    });
    return [...list.filter(Boolean), link("all", null, "")].map((e, i) => [i ? " · " : "", e]);
}

/**
 * @param {{hook: any, counts: any}} line
 * @param {() => void} reload
 */
const row = ({hook, counts}, reload) =>
    h("tr.row",
      h("td", h("bdi", hook.name),
        h("span.aside", "created ", ago(hook.created_at), hook.created_by && [" by ", h("bdi", hook.created_by)])),
      h("td", purpose(hook)), h("td", {"data-name": "signed as"}, hook.signature),
      h("td", hook.url && {"data-name": "deliveries"}, deliveries(hook, counts)),
      h("td.acts",
        h("button.quiet", {type: "button", "aria-label": `Revoke ${hook.name}`, onclick: () => revoke(hook, reload)},
          icon("cancel"), "Revoke")));

const nothing = () => h(
    "div.empty",
    h("p",
      "No webhook is stored. One with a URL tells another program, such as a chat, how runs end. One without lets another program, such as GitHub, start a workflow by a signed message."),
    copyable("pawl admin hook create ops --url https://chat.example/pawl --status failed,timed_out"));

/** @param {any[]} workers */
const isServed = (workers) => workers.some((w) => w.state === "alive" && w.serves?.[LANE]?.includes(QUEUE));

/** @param {AbortSignal} signal */
export function hookSection(signal) {
    const body = h("tbody"), place = h("div"), problem = h("p.wrong", {role: "alert"});
    const table =
        h("table.list.hooks",
          h("thead",
            h("tr",
              ["Webhook", "Purpose", "Signed as", "Deliveries",
               ""].map((t) => h("th", {scope: "col"}, t || h("span.hidden", "Actions"))))),
          body);

    async function load() {
        const hooks = (await get("/v1/hooks", {}, signal)).items;
        const isOut = hooks.some((/** @type {any} */ hook) => hook.url);
        const [overview, ...counts] = await Promise.all([
            isOut ? get("/v1/overview", {limit: 1}, signal) : null,
            ...hooks.map(
                (/** @type {any} */ hook) =>
                    hook.url ? get("/v1/executions/counts", {queue: QUEUE, name: `hook::${hook.name}`}, signal) : null)
        ]);
        const lines = hooks.map((/** @type {any} */ hook, /** @type {number} */ i) => ({hook, counts: counts[i]}));
        sync(body, lines, (l) => l.hook.name, (l) => JSON.stringify(l), (l) => row(l, reload.now));
        problem.textContent = "";
        fill(
            place,
            overview && !isServed(overview.workers) &&
                h("p.warn", icon("warn"),
                  h("span", "No worker delivers: start one that serves the queue ", h("code", QUEUE), ".")),
            hooks.length ? table : nothing());
    }
    const reload = throttle(
        () => load().catch((error) => {
            if (isAborted(error)) return;
            problem.textContent = error.message;
            throw error;
        }),
        REFRESH_MS);
    subscribe(["runs"], reload, signal);
    rowKeys([body], signal, "webhook");
    reload.now();
    return h(
        "section.card",
        h("div.head", h("h2", "Webhooks"),
          h("button.primary", {type: "button", onclick: () => create(reload.now)}, icon("plus"), "New webhook")),
        problem, place);
}
