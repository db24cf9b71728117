// system.js - the page about the server and its user: identity, access tokens, appearance, links for programs.
import {get, isAborted, post, request} from "./api.js";
import {ask, copyable, field, note, reasonField} from "./dialog.js";
import {fill, h} from "./dom.js";
import {ago, count, plural, time} from "./format.js";
import {hookSection} from "./hooks.js";
import {icon} from "./icons.js";
import {logOut, may, whoAmI} from "./session.js";
import {subscribe} from "./stream.js";

const SCOPES = [
    ["read", "see everything"], ["submit", "start runs"], ["operate", "cancel, pause, approve, rerun"],
    ["work", "run jobs as a worker"], ["admin", "all of it, and tokens"]
];

/** @param {() => void} reload */
async function createToken(reload) {
    const made = await ask({
        title: "New access token",
        confirm: "Create",
        fields: [
            field(
                "Name", h("input", {name: "name", required: true, maxlength: 100, autocomplete: "off"}),
                "The history names it as who asked."),
            h("fieldset", h("legend", "Scopes"),
              SCOPES.map(
                  ([scope, text]) =>
                      h("label.check",
                        h("input", {type: "checkbox", name: "scope", value: scope, checked: scope === "read"}),
                        h("span", h("b", scope), `: ${text}`)))),
            ["queues", "lanes"].map(
                (name) => field(
                    `${name === "queues" ? "Queues" : "Lanes"} of a worker`,
                    h("input", {name, placeholder: "any", autocomplete: "off", spellcheck: "false"}),
                    name === "queues" ? "With work: the queues whose jobs it may claim, separated by commas." :
                                        "With work: what it may run, such as process or function:resize.")),
            field(
                "Expires after",
                h("input",
                  {name: "expires_in", placeholder: "never", autocomplete: "off", pattern: "[0-9]+(ms|s|m|h|d)"}),
                "A duration such as 12h or 90d."),
            reasonField()
        ],
        act: (form) => {
            const text = (/** @type {string} */ name) => String(form.get(name) ?? "").trim();
            const words = (/** @type {string} */ name) => text(name).split(",").map((w) => w.trim()).filter(Boolean);
            return post("/v1/tokens", {
                name: text("name"),
                scopes: form.getAll("scope").join(","),
                ...(words("queues").length && {queues: words("queues")}),
                ...(words("lanes").length && {lanes: words("lanes")}),
                ...(text("expires_in") && {expires_in: text("expires_in")}),
                ...(text("reason") && {reason: text("reason")})
            });
        },
    });
    if (!made) return;
    reload();
    await ask({
        title: "The new token",
        text: "It is shown only this once. Keep it like a password.",
        fields: copyable(made.token),
        confirm: "Done",
        act: async () => true
    });
}

/**
 * @param {any} t
 * @param {() => void} reload
 */
async function revoke(t, reload) {
    const done = await ask({
        title: `Revoke the token ${t.name}?`,
        text: "Programs and people that use it are refused from now on.",
        confirm: "Revoke",
        danger: true,
        fields: reasonField(),
        act: async (form) => {
            const reason = String(form.get("reason")).trim();
            await request(
                "DELETE",
                `/v1/tokens/${encodeURIComponent(t.name)}${reason ? `?reason=${encodeURIComponent(reason)}` : ""}`);
            return true;
        },
    });
    if (!done) return;
    note(`Revoked the token ${t.name}.`);
    reload();
}

/**
 * @param {any} t
 * @param {() => void} reload
 */
const tokenRow = (t, reload) =>
    h("tr.row", {class: t.state === "active" ? "" : "over"},
      h("td", h("bdi", t.name),
        h("span.aside", "created ", ago(t.created_at), t.created_by && [" by ", h("bdi", t.created_by)])),
      h("td", t.scopes.join(", "), t.queues && h("div.remark", "queues ", h("bdi", t.queues.join(", "))),
        t.lanes && h("div.remark", "lanes ", h("bdi", t.lanes.join(", ")))),
      h("td", t.state), h("td", {"data-name": "expires"}, t.expires_at ? time(t.expires_at) : h("span.none", "never")),
      h("td", {"data-name": "last used"}, t.last_used_at ? ago(t.last_used_at) : h("span.none", "never")),
      h("td.acts",
        t.state === "active" &&
            h("button.quiet", {type: "button", onclick: () => revoke(t, reload)}, icon("cancel"), "Revoke")));

/** @param {AbortSignal} signal */
function tokenSection(signal) {
    const place = h("div");
    async function load() {
        try {
            const list = (await get("/v1/tokens", {}, signal)).items;
            fill(
                place,
                list.length ?
                    h("table.list.tokens",
                      h("thead",
                        h("tr",
                          ["Token", "Scopes", "State", "Expires", "Last used",
                           ""].map((t) => h("th", {scope: "col"}, t || h("span.hidden", "Actions"))))),
                      h("tbody", list.map((/** @type {any} */ t) => tokenRow(t, load)))) :
                    h("p.empty",
                      "No token is stored. The one that the server printed at its start is valid until it stops."));
        } catch (error) {
            if (!isAborted(error)) fill(place, h("p.wrong", /** @type {Error} */ (error).message));
        }
    }
    load();
    return h(
        "section.card",
        h("div.head", h("h2", "Access tokens"),
          h("button.primary", {type: "button", onclick: () => createToken(load)}, icon("plus"), "New token")),
        place);
}

/** @param {AbortSignal} signal */
function verifySection(signal) {
    const result = h("div.verified", {role: "status"});
    const button =
        h("button", {
            type: "button",
            onclick: async () => {
                button.disabled = true;
                fill(result, h("p.hint", "Checking …"));
                try {
                    const v = await get("/v1/verify", {}, signal);
                    const checked = `${count(v.checks)} checks of ${plural(v.executions, "execution")} and ${
                        plural(v.events, "event")}`;
                    fill(
                        result,
                        v.violations ?
                            [
                                h("p.wrong", `${plural(v.violations, "violation")} found by ${checked}.`),
                                h("ul.reasons",
                                  v.items.map(
                                      (/** @type {any} */ i) =>
                                          h("li", h("b", i.invariant),
                                            i.execution &&
                                                [" ", h("a", {href: `/runs/${i.execution}`}, `#${i.execution}`)],
                                            ": ", i.detail)))
                            ] :
                            h("p.good", icon("check"), `All invariants hold: ${checked}.`));
                } catch (error) {
                    if (!isAborted(error)) fill(result, h("p.wrong", /** @type {Error} */ (error).message));
                } finally { button.disabled = false; }
            }
        },
          icon("check"), "Verify");
    return h(
        "section.card", h("div.head", h("h2", "Database"), h("div.acts", button)),
        h("p",
          "Verify reads all executions and their history, and checks that they agree. On a large database it takes minutes; work continues meanwhile."),
        whoAmI()?.database && h("dl.facts", h("dt", "Database"), h("dd.mono", whoAmI()?.database)), result);
}

function themeChoice() {
    const current = localStorage.getItem("pawl-theme") ?? "";
    const choose = (/** @type {string} */ theme) => {
        if (theme)
            localStorage.setItem("pawl-theme", theme);
        else
            localStorage.removeItem("pawl-theme");
        document.documentElement.dataset.theme = theme;
    };
    return h(
        "fieldset.inline", h("legend.hidden", "Appearance"),
        [["", "as the system"], ["light", "light"], ["dark", "dark"]].map(
            ([value, text]) =>
                h("label.check",
                  h("input",
                    {type: "radio", name: "theme", value, checked: value === current, onchange: () => choose(value)}),
                  text)));
}

/**
 * Pages that need the header of a session are loaded by a script and shown as text.
 * @param {string} path
 * @param {AbortSignal} signal
 */
function rawView(path, signal) {
    const out = h("pre.json", {tabindex: 0, "aria-label": path});
    return h(
        "details", {
            ontoggle: async (/** @type {any} */ e) => {
                if (e.target.open)
                    out.textContent = await request("GET", path, {signal}).then((r) => r.text(), (x) => x.message);
            }
        },
        h("summary", h("code", path)), out);
}

/** @param {import("./router.js").Context} context */
export function open({main, signal}) {
    const me = whoAmI();
    document.title = "System · Pawl";
    fill(
        main, h("div.head", h("h1", "System")),
        h("section.card", h("h2", "This server"),
          h("dl.facts", h("dt", "Version"), h("dd", `Pawl ${me?.version}`), h("dt", "You are"),
            h("dd", h("bdi", me?.by ?? "")), h("dt", "You may"),
            h("dd", (me?.scopes ?? []).join(", "), me?.read_only && " (the server was started with --read-only)"),
            h("dt", "Appearance"), h("dd", themeChoice())),
          h("div.buttons", h("button", {type: "button", onclick: () => logOut()}, "Log out"))),
        may("admin") && [tokenSection(signal), hookSection(signal), verifySection(signal)],
        h("section.card", h("h2", "For programs"),
          h("p", "The HTTP interface is described by ", h("a", {href: "/openapi.json"}, "/openapi.json"),
            " (OpenAPI 3.1). Metrics for Prometheus:"),
          rawView("/metrics", signal)));
    // This page shows no events, but the subscription lets the frame show whether the server can be reached.
    subscribe(["runs"], () => {}, signal);
}
