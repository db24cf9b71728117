// early.js - what should not wait for the modules, which are loaded later: the reader's choice of light or dark, before the first
// paint, and the first requests of the page: who the reader is, and the data of the pages that are opened most.
{
    const theme = localStorage.getItem("pawl-theme");
    if (theme) document.documentElement.dataset.theme = theme;

    /** The requests with which the page of this address begins; see load() in its module. */
    const firstData = () => {
        const {pathname: path, search} = location;
        if (path === "/" && !search) return ["/v1/executions?limit=50"];
        if (path === "/queues") return ["/v1/overview?limit=1"];
        const run = /^\/runs\/(\d+)$/.exec(path)?.[1], isPast = /[?&]at(_event)?=/.test(search);
        return run && !isPast ? ["", "/outline", "/why"].map((part) => `/v1/executions/${Number(run)}${part}`) : [];
    };
    /** @param {string} path */
    const ask = (path) => {
        const options =
            /** @type {RequestInit} */ ({headers: {"X-Pawl-Request": "1"}, cache: "no-store", redirect: "error"});
        const answer = fetch(path, options);
        answer.catch(() => {}); // api.js asks again
        return answer;
    };
    // With a token in the address there is perhaps no session yet: session.js logs in first.
    if (!location.hash.startsWith("#token="))
        Object.assign(window, {pawlEarly: new Map(["/v1/identity", ...firstData()].map((path) => [path, ask(path)]))});
}
