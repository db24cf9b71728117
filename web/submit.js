// submit.js - starts a run: a pasted workflow, or an applied one by its name, with params.
import {post} from "./api.js";
import {ask, copyable, field, note} from "./dialog.js";
import {fill, h} from "./dom.js";
import {icon} from "./icons.js";
import {go} from "./router.js";

const EXAMPLE = `name: hello
params: {who: world}
tasks:
  greet: {run: 'echo "hello $who"'}
  count: {needs: greet, foreach: [1, 2, 3], run: 'echo "item $ITEM"'}
  done:  {needs: count, run: sleep 2}
`;

/**
 * A value of a param: JSON if it reads as JSON (5, true, [1,2]), otherwise text.
 * @param {string} text
 */
function paramValue(text) {
    try {
        return JSON.parse(text);
    } catch { return text; }
}

function paramRows() {
    const rows = h("div.params");
    const add = (focus = true) => {
        const name =
            h("input", {name: "param-name", "aria-label": "Name of a param", placeholder: "name", autocomplete: "off"});
        rows.append(
            h("div.param", name,
              h("input",
                {name: "param-value", "aria-label": "Value of the param", placeholder: "value", autocomplete: "off"}),
              h("button.quiet", {
                  type: "button",
                  "aria-label": "Remove this param",
                  onclick: (/** @type {any} */ e) => e.currentTarget.parentElement.remove()
              },
                icon("cancel"))));
        if (focus) name.focus();
    };
    return h(
        "fieldset", h("legend", "Params"), rows,
        h("button.link", {type: "button", onclick: () => add()}, icon("plus"), "Add a param"),
        h("p.hint",
          "Params that are left out have their defaults. A value that reads as JSON is one: write \"5\" for a text."));
}

/** @param {FormData} form */
function readParams(form) {
    const names = form.getAll("param-name").map(String), values = form.getAll("param-value").map(String);
    const pairs = names.map((name, i) => [name.trim(), paramValue(values[i])]).filter(([name]) => name);
    return pairs.length ? {params: Object.fromEntries(pairs)} : {};
}

/** @param {FormData} form */
async function submit(form) {
    const text = (/** @type {string} */ name) => String(form.get(name) ?? "").trim();
    const what = text("workflow") ? {workflow: text("workflow")} : {yaml: String(form.get("yaml") ?? "")};
    const queue = text("queue"), key = text("key");
    return post("/v1/executions", {...what, ...readParams(form), ...(queue && {queue}), ...(key && {key})});
}

const yamlField = (/** @type {string} */ value) => field(
    "Workflow (YAML)",
    h("textarea", {name: "yaml", rows: 12, spellcheck: "false", autocomplete: "off", required: true, value}));

/** @param {{id: number, existed: boolean} | undefined} receipt */
function opened(receipt) {
    if (!receipt) return;
    note(receipt.existed ? `Run ${receipt.id} with this key existed already.` : `Run ${receipt.id} was submitted.`);
    go(`/runs/${receipt.id}`);
}

/**
 * Asks the user what to run.
 * @param {string} [workflow] the name of an applied workflow
 */
export async function newRun(workflow) {
    const source = h("div");
    const choose = (/** @type {string} */ kind) => fill(
        source,
        kind === "yaml" ?
            yamlField("") :
            field(
                "Name of an applied workflow",
                h("input", {name: "workflow", required: true, value: workflow ?? "", autocomplete: "off"}),
                ["Workflows are stored with ", h("code", "pawl apply FILE"), "."]));
    const radio = (/** @type {string} */ kind, /** @type {string} */ text) =>
        h("label.check", h("input", {
              type: "radio",
              name: "source",
              value: kind,
              checked: (kind === "applied") === !!workflow,
              onchange: () => choose(kind)
          }),
          text);
    choose(workflow ? "applied" : "yaml");
    opened(await ask({
        title: "New run",
        confirm: "Run",
        wide: true,
        fields: [
            h("fieldset.inline", h("legend", "What"), radio("yaml", "a pasted workflow"),
              radio("applied", "an applied workflow")),
            source, paramRows(),
            h("div.two", field("Queue", h("input", {name: "queue", placeholder: "default", autocomplete: "off"})),
              field(
                  "Idempotency key", h("input", {name: "key", autocomplete: "off"}),
                  "Submitting again with the same key does not run twice."))
        ],
        act: submit,
    }));
}

/**
 * The page for a database in which nothing has run yet: it offers two ways to start a first run.
 * @param {boolean} allowed
 */
export function firstSteps(allowed) {
    const wrong = h("p.wrong", {role: "alert"});
    const form =
        h("form", {
            onsubmit: async (/** @type {Event} */ e) => {
                e.preventDefault();
                try {
                    opened(await submit(new FormData(form)));
                } catch (error) { wrong.textContent = /** @type {Error} */ (error).message; }
            },
        },
          yamlField(EXAMPLE), wrong, h("div.buttons", h("button.primary", {type: "submit"}, icon("play"), "Run it")));
    return h(
        "section.first", {"aria-labelledby": "first-title"}, h("h2", {id: "first-title"}, "Nothing has run yet"),
        h("p",
          "A run is one execution of a workflow or a command. Start one here, or from a shell that uses the same database (PAWL_DB):"),
        copyable("pawl submit hello.flow.yaml"), copyable("pawl exec --detach -- echo hello"), allowed && form);
}
