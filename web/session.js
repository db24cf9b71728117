// session.js - the session of the user of the pages. `pawl serve` prints an address that ends with #token=…; the token
// is exchanged once for a cookie and disappears from the address bar. Without one, a form asks for it.
import {get, request} from "./api.js";
import {h} from "./dom.js";

/** @type {{by: string, scopes: string[], read_only: boolean, version: string, database: string | null} | null} */
let identity = null;

export const whoAmI = () => identity;
/** @param {string} scope */
export const may = (scope) => !!identity && (scope === "read" || !identity.read_only) &&
    (identity.scopes.includes(scope) || identity.scopes.includes("admin"));

/** @param {string} token */
async function logIn(token) {
    identity = await (await request("POST", "/v1/session", {headers: {Authorization: `Bearer ${token}`}})).json();
}

/** Takes the token out of the address, so that it gets neither into the browser's history nor into a copied link. */
function takeToken() {
    const found = /^#token=([\w.~+/=-]+)$/.exec(location.hash);
    if (found) history.replaceState(null, "", location.pathname + location.search);
    return found?.[1];
}

/**
 * Asks for a token until one is accepted.
 * @param {string} why
 * @returns {Promise<void>}
 */
function askForToken(why) {
    return new Promise((resolve) => {
        const field =
            h("input",
              {type: "password", id: "token", name: "token", autocomplete: "off", required: true, spellcheck: "false"});
        const wrong = h("p.wrong", {role: "alert"}, why);
        const dialog =
            h("dialog.login",
              {"aria-labelledby": "login-title", oncancel: (/** @type {Event} */ e) => e.preventDefault()},
              h("form", {
                  onsubmit: async (/** @type {Event} */ e) => {
                      e.preventDefault();
                      try {
                          await logIn(field.value.trim());
                          dialog.close();
                          dialog.remove();
                          resolve();
                      } catch (error) {
                          wrong.textContent = /** @type {Error} */ (error).message;
                          field.select();
                      }
                  },
              },
                h("h1", {id: "login-title"}, "Log in to Pawl"),
                h("p", "Paste an access token. ", h("code", "pawl serve"), " prints one when it starts, and ",
                  h("code", "pawl admin token create NAME --scope read,submit,operate"), " creates others."),
                h("label", { for: "token"
                }, "Access token"), field, wrong, h("div.buttons", h("button.primary", {type: "submit"}, "Log in"))));
        document.body.append(dialog);
        dialog.showModal();
        field.focus();
    });
}

/** @type {Promise<void> | null} */
let asking = null;

/**
 * Logs in again after the server has refused a request.
 * @param {string} why
 */
export function renewSession(why) {
    asking ??= askForToken(why).finally(() => {
        asking = null;
        window.dispatchEvent(new Event("pawl-session"));
    });
    return asking;
}

/** Logs in if necessary. Resolves when the server has identified the user. */
export async function startSession() {
    const token = takeToken();
    // If the token is refused, the cookie of an earlier session may still be valid.
    if (token) await logIn(token).catch(() => {});
    while (!identity) {
        try {
            identity = await get("/v1/identity");
        } catch (error) {
            const problem = /** @type {import("./api.js").Problem} */ (error);
            if (problem.status !== 401) throw error;
            await askForToken(token ? "The token in the address is not valid." : "");
        }
    }
    window.addEventListener("hashchange", async () => {
        const next = takeToken();
        if (next) await logIn(next).then(() => window.dispatchEvent(new Event("pawl-session")), () => {});
    });
}

export async function logOut() {
    await request("DELETE", "/v1/session");
    location.assign("/");
}
