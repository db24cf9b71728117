// early.js - what should not wait for the modules, which are loaded later: the reader's choice of light or dark, before the first
// paint, and the question who the reader is.
{
    const theme = localStorage.getItem("pawl-theme");
    if (theme) document.documentElement.dataset.theme = theme;
    // With a token in the address there is perhaps no session yet: session.js logs in first.
    if (!location.hash.startsWith("#token=")) {
        const options =
            /** @type {RequestInit} */ ({headers: {"X-Pawl-Request": "1"}, cache: "no-store", redirect: "error"});
        const answer = fetch("/v1/identity", options);
        answer.catch(() => {}); // session.js reports it
        Object.assign(window, {pawlIdentity: answer});
    }
}
