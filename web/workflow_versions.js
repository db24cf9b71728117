// workflow_versions.js - the definitions that a workflow has had, and the difference between two of them.
import {get, isAborted} from "./api.js";
import {fill, h} from "./dom.js";
import {plural, time} from "./format.js";
import {setQuery} from "./router.js";
import {diffView, listing, textOf} from "./workflow_text.js";

export class VersionView {
    /**
	 * @param {string} name
	 * @param {any[]} versions newest first
	 * @param {AbortSignal} signal
	 */
    constructor(name, versions, signal) {
        this.name = name;
        this.versions = versions;
        this.signal = signal;
        const q = new URLSearchParams(location.search);
        this.b = this.find(q.get("b")) ?? versions[0];
        this.a = this.find(q.get("a")) ?? this.before(this.b);
        this.list = h("ul.versions");
        this.result = h("div.version", {"aria-live": "polite"});
        this.element = h("div.version-view", this.list, this.result);
        this.show();
    }

    /** @param {string | null} n */
    find(n) { return this.versions.find((v) => String(v.version) === n); }
    /** @param {any} v */
    before(v) { return this.versions[this.versions.indexOf(v) + 1] ?? null; }

    /**
	 * @param {any} a the earlier one; null: only b is shown
	 * @param {any} b
	 */
    choose(a, b) {
        this.a = a;
        this.b = b;
        setQuery({a: a?.version, b: b.version});
        this.show();
    }

    show() {
        fill(
            this.list,
            this.versions.map(
                (v) =>
                    h("li", {class: v === this.b ? "chosen" : ""},
                      h("button.link", {
                          type: "button",
                          "aria-pressed": String(v === this.b),
                          onclick: () => this.choose(this.before(v), v)
                      },
                        `Version ${v.version}`),
                      v.current && h("span.badge", "current"),
                      h("span.aside", time(v.applied_at), v.applied_by && [" by ", h("bdi", v.applied_by)],
                        ` · ${plural(v.task_count, "task")}`))));
        this.compare().catch((error) => {
            if (!isAborted(error)) fill(this.result, h("p.wrong", error.message));
        });
    }

    /** @param {any} v */
    async read(v) {
        return textOf(
            await get(`/v1/workflows/${encodeURIComponent(this.name)}`, {version: v.definition}, this.signal));
    }

    async compare() {
        const {a, b} = this;
        const [from, to] = await Promise.all([a ? this.read(a) : null, this.read(b)]);
        if (a !== this.a || b !== this.b) return;
        const others = this.versions.filter((v) => v !== b);
        const select =
            h("select", {id: "version-from", onchange: () => this.choose(this.find(select.value) ?? null, b)},
              others.map((v) => h("option", {value: String(v.version), selected: v === a}, `version ${v.version}`)),
              h("option", {value: "", selected: !a}, "nothing (show the text)"));
        fill(
            this.result,
            h("div.version-head", h("h2", `Version ${b.version}`),
              others.length > 0 &&
                  [
                      h("label",
                        { for: "version-from"
                        },
                        "compared with"),
                      select
                  ]),
            from === null ? listing(to, `Text of version ${b.version}`) : diffView(from, to));
    }
}
