// diff.js - compares the run with another one: params, definition, outcome and tasks.
import {get, isAborted} from "./api.js";
import {fill, h} from "./dom.js";
import {ago, chip, count, duration, mark, plural, time} from "./format.js";

const SUGGESTIONS = 20, TASKS = 500;
/** @type {Record<string, string>} */
const WORDS = {
    there: "only in one run",
    status: "status",
    outputs: "outputs",
    error: "error",
    attempts: "attempts",
    duration: "duration"
};

/** @param {any} value */
const short = (value) => {
    const text = value === undefined ? "not given" : JSON.stringify(value);
    return h("code", {title: text}, text.length > 200 ? `${text.slice(0, 200)}…` : text);
};

/** @param {any} side of a task */
const sideCell = (side) =>
    (side ?
         [
             mark(side.status), " ", duration(side.duration_us), " ", h("a", {href: `/runs/${side.id}`}, `#${side.id}`),
             side.error && h("span.aside", {title: side.error}, h("bdi", side.error))
         ] :
         h("span.none", "–"));

/**
 * @param {string} title
 * @param {any} content
 */
const section = (title, content) => h("section.diff-part", h("h2", title), content);

/** @param {any} t */
const taskRow = (t) =>
    h("tr", h("td", h("bdi", t.task)), h("td", t.differs.map((/** @type {string} */ d) => WORDS[d] ?? d).join(", ")),
      h("td", sideCell(t.a)), h("td", sideCell(t.b)));

export class Diff {
    /**
	 * @param {any} run
	 * @param {number} other 0: none yet
	 * @param {(other: number | null) => void} onChoose
	 * @param {AbortSignal} signal
	 */
    constructor(run, other, onChoose, signal) {
        this.run = run;
        this.signal = signal;
        this.onChoose = onChoose;
        this.box = h("input", {
            type: "number",
            min: 1,
            name: "other",
            id: "diff-other",
            value: other ? String(other) : "",
            list: "diff-runs",
            required: true
        });
        this.list = h("ul.suggest");
        this.result = h("div.diff", {"aria-live": "polite"});
        this.element =
            h("div.compare",
              h("form.compare-form", {
                  onsubmit: (/** @type {Event} */ e) => {
                      e.preventDefault();
                      this.choose(Number(this.box.value));
                  },
              },
                h("label",
                  { for: "diff-other"
                  },
                  "Compare with run"),
                this.box, h("button", {type: "submit"}, "Compare")),
              this.list, this.result);
        if (other) this.choose(other);
        this.suggest().catch(() => {});
    }

    /** Suggests earlier runs of the same name; the last successful one is most useful. */
    async suggest() {
        const page = await get("/v1/executions", {name: this.run.name, limit: SUGGESTIONS}, this.signal);
        const runs = page.items.filter((/** @type {any} */ r) => r.id !== this.run.id).slice(0, 8);
        fill(
            this.list,
            runs.map(
                (/** @type {any} */ r) =>
                    h("li",
                      h("button", {
                          type: "button",
                          onclick: () => {
                              this.box.value = String(r.id);
                              this.choose(r.id);
                          }
                      },
                        mark(r.status), `#${r.id}`, h("span.none", ago(r.requested_at))))));
        if (!runs.length && !this.result.childElementCount)
            fill(this.result, h("p.empty", "There is no other run of this name yet."));
    }

    /** @param {number} other */
    async choose(other) {
        if (!other) return;
        this.onChoose(other);
        try {
            this.render(await get(`/v1/executions/${this.run.id}/diff/${other}`, {}, this.signal));
        } catch (error) {
            if (!isAborted(error)) fill(this.result, h("p.wrong", /** @type {Error} */ (error).message));
        }
    }

    /** @param {any} d */
    render(d) {
        const differing = d.tasks.filter((/** @type {any} */ t) => t.differs.length);
        const shown = differing.slice(0, TASKS);
        const head = (/** @type {any} */ side, /** @type {any} */ outcome) =>
            h("div.diff-side", h("a", {href: `/runs/${side.id}`}, h("bdi", side.name), ` #${side.id}`),
              chip(outcome.status), h("span.none", time(side.requested_at), " · ran ", duration(outcome.duration_us)));
        fill(
            this.result, h("div.diff-heads", head(d.a, d.outcome.a), head(d.b, d.outcome.b)),
            d.same &&
                h("p.why-line.s-succeeded",
                  "The params, the definition, and the status, outputs and errors of all tasks are equal."),
            d.first &&
                h("p.why-line.s-failed",
                  h("span", "The first difference: ", h("b", h("bdi", d.first.task)),
                    ` (${
                        d.first.differs.map((/** @type {string} */ w) => WORDS[w] ?? w)
                            .join(", ")}). Later ones may follow from it.`)),
            d.params.length > 0 &&
                section(
                    "Params",
                    h("table.list.compact",
                      h("tbody",
                        d.params.map(
                            (/** @type {any} */ p) =>
                                h("tr", h("td", h("bdi", p.name ?? "input")), h("td", short(p.a)),
                                  h("td", short(p.b))))))),
            d.definition.length > 0 &&
                section(
                    "Definition",
                    h("ul.changes",
                      d.definition.map(
                          (/** @type {any} */ c) =>
                              h("li", h("b", c.change), " ", h("bdi", c.task ?? "the workflow itself"),
                                c.keys?.length ? `: ${c.keys.join(", ")}` : "")))),
            shown.length > 0 &&
                section(
                    `Tasks that differ (${count(differing.length)} of ${plural(d.tasks.length, "task")})`,
                    h("div.scroll", {tabindex: 0, role: "region", "aria-label": "Tasks that differ"},
                      h("table.list.compact",
                        h("thead",
                          h("tr",
                            ["Task", "Difference", `#${d.a.id}`, `#${d.b.id}`].map((t) => h("th", {scope: "col"}, t)))),
                        h("tbody", shown.map(taskRow))))),
            differing.length > shown.length &&
                h("p.empty", `Only the first ${TASKS} are shown; pawl diff ${d.a.id} ${d.b.id} shows all.`));
    }
}
