// submit.js - starts a run: an applied workflow with a form made from its params, or a pasted one.
import {get, post} from "./api.js";
import {ask, copyable, field, note} from "./dialog.js";
import {fill, h} from "./dom.js";
import {Editor} from "./editor.js";
import {plural} from "./format.js";
import {icon} from "./icons.js";
import {paramFields, readFields} from "./params.js";
import {go} from "./router.js";
import {may} from "./session.js";

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

/**
 * The last submission without an answer that said what became of it.
 * @type {{body: string, key: string} | null}
 */
let unanswered = null;

/**
 * The idempotency key of a submission for which the user named none: the same when the user submits the same again after
 * a lost answer, so that it does not run twice.
 * @param {any} body
 */
function keyFor(body) {
    const text = JSON.stringify(body);
    if (unanswered?.body !== text) {
        const bytes = [...crypto.getRandomValues(new Uint8Array(16))];
        unanswered = {body: text, key: `page-${bytes.map((b) => b.toString(16).padStart(2, "0")).join("")}`};
    }
    return unanswered.key;
}

/**
 * @param {FormData} form
 * @param {any} what {workflow, params} or {yaml}
 */
async function submit(form, what) {
    const text = (/** @type {string} */ name) => String(form.get(name) ?? "").trim();
    const queue = text("queue"), body = {...what, ...(queue && {queue})};
    const receipt = await post("/v1/executions", {...body, key: text("key") || keyFor(body)});
    unanswered = null;
    return receipt;
}

/**
 * Submits a pasted workflow; what is wrong with it is marked in the field.
 * @param {FormData} form
 * @param {Editor} editor
 */
async function submitText(form, editor) {
    try {
        return await submit(form, {yaml: editor.value, ...readParams(form)});
    } catch (error) {
        if (!editor.show(/** @type {Error} */ (error).message)) throw error;
        throw new Error(`The workflow has ${plural(editor.places.length, "problem")}; see above.`);
    }
}

/** @param {{id: number, existed: boolean} | undefined} receipt */
function opened(receipt) {
    if (!receipt) return;
    note(receipt.existed ? `Run ${receipt.id} with this key existed already.` : `Run ${receipt.id} was submitted.`);
    go(`/runs/${receipt.id}`);
}

/** The fields of an applied workflow: its name, and its params once it is chosen. */
class Applied {
    /**
	 * @param {any[]} workflows
	 * @param {string | undefined} name
	 */
    constructor(workflows, name) {
        /** @type {any} */
        this.chosen = null;
        this.place = h("div.param-fields", {"aria-live": "polite"});
        this.select =
            h("select", {name: "workflow", required: true, onchange: () => this.choose(this.select.value)},
              !name && h("option", {value: ""}, "Choose one …"),
              workflows.map((w) => h("option", {value: w.name, selected: w.name === name}, w.name)));
        this.element = h("div.applied", field("Workflow", this.select), this.place);
        if (name) this.choose(name);
    }

    /** @param {string} name */
    async choose(name) {
        this.chosen = null;
        fill(this.place);
        if (!name) return;
        try {
            const w = await get(`/v1/workflows/${encodeURIComponent(name)}`);
            if (this.select.value !== name) return;
            this.chosen = w;
            fill(
                this.place, w.description && h("p.hint", h("bdi", w.description)), paramFields(w.params),
                !w.params.length && h("p.hint", "It has no params."));
        } catch (error) { fill(this.place, h("p.wrong", /** @type {Error} */ (error).message)); }
    }

    /** @param {FormData} form */
    read(form) {
        if (!this.chosen) throw new Error("Choose a workflow.");
        const params = readFields(form, this.chosen.params);
        return {workflow: this.chosen.name, ...(Object.keys(params).length && {params})};
    }
}

/**
 * Asks the user what to run.
 * @param {string} [workflow] the name of an applied workflow
 */
export async function newRun(workflow) {
    const list =
        workflow ? [{name: workflow}] : (await get("/v1/workflows", {limit: 1000}).catch(() => ({items: []}))).items;
    const editor = new Editor({label: "Workflow (YAML)", rows: 12}), source = h("div.source");
    const applied = new Applied(list, workflow);
    let kind = list.length || !may("admin") ? "applied" : "yaml";
    const choose = (/** @type {string} */ value) => {
        kind = value;
        fill(
            source,
            kind === "yaml" ? [editor.element, paramRows()] :
                list.length ? applied.element :
                              h("p.hint", "No workflow is applied yet: ", h("code", "pawl apply FILE"),
                                " stores one under its name."));
    };
    const radio = (/** @type {string} */ value, /** @type {string} */ text) =>
        h("label.check",
          h("input", {type: "radio", name: "source", value, checked: value === kind, onchange: () => choose(value)}),
          text);
    choose(kind);
    opened(await ask({
        title: workflow ? `Run ${workflow}` : "New run",
        confirm: "Run",
        wide: true,
        fields: [
            !workflow && may("admin") &&
                h("fieldset.inline", h("legend", "What"), radio("applied", "an applied workflow"),
                  radio("yaml", "a pasted workflow")),
            source,
            h("details", h("summary", "Queue and idempotency key"),
              h("div.two", field("Queue", h("input", {name: "queue", placeholder: "default", autocomplete: "off"})),
                field(
                    "Idempotency key", h("input", {name: "key", autocomplete: "off"}),
                    "Submitting again with the same key does not run twice.")))
        ],
        act: async (form) => (kind === "yaml" ? submitText(form, editor) : submit(form, applied.read(form))),
    }));
}

/**
 * The page for a database in which nothing has run yet: it offers two ways to start a first run.
 * @param {boolean} allowed
 */
export function firstSteps(allowed) {
    const wrong = h("p.wrong", {role: "alert"}),
          editor = new Editor({label: "Workflow (YAML)", value: EXAMPLE, rows: 8});
    const form =
        h("form", {
            onsubmit: async (/** @type {Event} */ e) => {
                e.preventDefault();
                wrong.textContent = "";
                try {
                    opened(await submitText(new FormData(form), editor));
                } catch (error) { wrong.textContent = /** @type {Error} */ (error).message; }
            },
        },
          editor.element, wrong, h("div.buttons", h("button.primary", {type: "submit"}, icon("play"), "Run it")));
    return h(
        "section.first", {"aria-labelledby": "first-title"}, h("h2", {id: "first-title"}, "Nothing has run yet"),
        h("p",
          "A run is one execution of a workflow or a command. Start one here, or from a shell that uses the same database (PAWL_DB):"),
        copyable("pawl submit hello.flow.yaml"), copyable("pawl exec --detach -- echo hello"),
        allowed && may("admin") && form);
}
