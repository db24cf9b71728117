// workflow_edit.js - writes or changes the text of a workflow and applies it.
import {Problem, request} from "./api.js";
import {note} from "./dialog.js";
import {h} from "./dom.js";
import {Editor} from "./editor.js";
import {plural} from "./format.js";

const EXAMPLE = `name: hello
params:
  who: {type: string, default: world}
tasks:
  greet:
    run: echo "hello $who"
  count:
    needs: greet
    foreach: [1, 2, 3]
    run: echo "item $ITEM"
  done:
    needs: count
    run: echo done
`;

/**
 * The name that a text gives its workflow.
 * @param {string} text
 */
const nameIn = (text) => /^name:\s*["']?([^"'\n#]*?)["']?\s*(?:#.*)?$/m.exec(text)?.[1] ?? "";

/**
 * The condition that keeps a change of somebody else.
 * @param {any} workflow
 * @returns {Record<string, string>}
 */
const condition = (workflow) => (workflow ? {"If-Match": `"${workflow.definition}"`} : {"If-None-Match": "*"});

/**
 * @param {any} workflow null: a new one
 * @param {string} text
 */
async function apply(workflow, text) {
    const name = nameIn(text);
    if (!name) throw new Error("The workflow needs a name: begin with `name: NAME`.");
    // Under another name it is another workflow.
    const isOther = workflow && name !== workflow.name;
    try {
        const answer = await request(
            "PUT", `/v1/workflows/${encodeURIComponent(name)}`, {text, headers: condition(isOther ? null : workflow)});
        return await answer.json();
    } catch (error) {
        const p = /** @type {Problem} */ (error);
        if (p.status === 412 && (isOther || !workflow))
            throw new Error(`There is a workflow ${name} already: give this one another name.`);
        if (p.status === 412)
            throw new Error(
                "Somebody has applied another version meanwhile: copy your text, load the page again, and repeat the change.");
        throw error;
    }
}

/**
 * @param {any} workflow null: a new one
 * @param {(name: string) => void} onDone
 * @param {() => void} onCancel
 */
export function editWorkflow(workflow, onDone, onCancel) {
    const editor = new Editor({
        label: workflow ? `Text of ${workflow.name}` : "Workflow (YAML)",
        value: workflow ? workflow.source : EXAMPLE,
        rows: Math.min(28, Math.max(14, (workflow?.source ?? EXAMPLE).split("\n").length + 1))
    });
    const wrong = h("p.wrong", {role: "alert"}), button = h("button.primary", {type: "submit"}, "Apply");
    return h(
        "form.edit.card", {
            onsubmit: async (/** @type {Event} */ e) => {
                e.preventDefault();
                wrong.textContent = "";
                button.disabled = true;
                try {
                    const done = await apply(workflow, editor.value);
                    note(
                        done.unchanged ? `${done.name} had this definition already.` :
                                         `Applied ${done.name}: ${plural(done.tasks, "task")}, ${
                                             plural(done.schedules, "schedule")}.`);
                    onDone(done.name);
                } catch (error) {
                    const message = /** @type {Error} */ (error).message;
                    wrong.textContent = editor.show(message) ?
                        `Nothing was applied: ${plural(editor.places.length, "problem")}, marked in the text.` :
                        message;
                } finally { button.disabled = false; }
            }
        },
        editor.element, wrong, h("div.buttons", h("button", {type: "button", onclick: onCancel}, "Close"), button));
}

/**
 * @param {any} workflow
 * @param {string} reason
 */
export const removeWorkflow = (workflow, reason) => request(
    "DELETE",
    `/v1/workflows/${encodeURIComponent(workflow.name)}${reason ? `?reason=${encodeURIComponent(reason)}` : ""}`,
    {headers: condition(workflow)});
