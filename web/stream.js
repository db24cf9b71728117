// stream.js - the one stream of a tab. Pages subscribe to topics; a message carries new events of a topic, or asks to load the data
// again. EventSource can't send the header that a session needs, so the stream is read with fetch.
import {request} from "./api.js";

/** @typedef {{topic: string, more: boolean, events: any[]} | {resync: true}} Message */
/** @typedef {{topics: string[], receive: (message: Message) => void}} Subscription */

const SILENCE_MS = 45000; // the server sends at least a comment every 15 s
// A browser has six connections for one server, which its tabs share. Tabs in the background give theirs back, and no more than
// three tabs have a stream: others load what they show again from time to time.
const HIDDEN_MS = 30000, SLOTS = 3, POLL_MS = 3000;

/** @type {Set<Subscription>} */
const subscriptions = new Set();
/** @type {(state: "live" | "connecting" | "lost") => void} */
let report = () => {};
let connection = new AbortController(), connected = "", lastId = "", failures = 0, timer = 0, sleeping = false;

/** @param {(state: "live" | "connecting" | "lost") => void} callback */
export function onStreamState(callback) { report = callback; }

/**
 * A page that loads its data now gets every later change: no message is taken between a change of the topics and the next
 * connection, which continues after the last one taken.
 * @param {string[]} topics
 * @param {(message: Message) => void} receive
 * @param {AbortSignal} signal ends the subscription
 */
export function subscribe(topics, receive, signal) {
    const s = {topics, receive};
    subscriptions.add(s);
    signal.addEventListener("abort", () => {
        subscriptions.delete(s);
        change();
    });
    change();
}

/** The topics may have changed. */
function change() {
    if (wanted() !== connected) connection.abort();
    plan(0);
}

const wanted = () => [...new Set([...subscriptions].flatMap((s) => s.topics))].sort().join(",");

/**
 * Connects after `ms`, unless a connection with the wanted topics exists then.
 * @param {number} ms
 */
function plan(ms) {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
        if (wanted() !== connected || connection.signal.aborted) connect();
    }, ms);
}

/** @param {Message} message */
function deliver(message) {
    for (const s of [...subscriptions])
        if ("resync" in message || s.topics.includes(message.topic)) s.receive(message);
}

/** @param {string} block the lines of one message */
function take(block) {
    let id = "", event = "message", data = "";
    for (const line of block.split("\n")) {
        const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
        if (name === "id")
            id = value;
        else if (name === "event")
            event = value;
        else if (name === "data")
            data += value;
    }
    if (id) lastId = id;
    if (event === "events")
        deliver(JSON.parse(data));
    else if (event === "resync")
        deliver({resync: true});
}

/** @type {(() => void) | null} gives the slot back */
let release = null;

/**
 * @param {number} n
 * @returns {Promise<boolean>}
 */
const takeSlot = (n) => new Promise((resolve) => {
    navigator.locks
        .request(
            `pawl-stream-${n}`, {ifAvailable: true},
            (lock) => {
                resolve(!!lock);
                return lock ? new Promise((done) => {
                    release = () => done(null);
                }) :
                              null;
            })
        .catch(() => resolve(true));
});

/** Whether this tab may have a stream. Without TLS only this machine's browsers know locks. */
async function haveSlot() {
    for (let n = 0; n < SLOTS && !release && navigator.locks; n++)
        if (await takeSlot(n)) return true;
    return !!release || !navigator.locks;
}

function giveSlotBack() {
    release?.();
    release = null;
}

async function connect() {
    connection.abort();
    connected = wanted();
    if (!connected || sleeping) return;
    const mine = (connection = new AbortController());
    report("connecting");
    const allowed = await haveSlot();
    if (sleeping) giveSlotBack();
    if (mine !== connection || sleeping) return;
    if (!allowed) {
        lastId = "";
        report("live");
        deliver({resync: true});
        timer = window.setTimeout(() => {
            if (mine === connection && !sleeping) connect();
        }, POLL_MS);
        return;
    }
    const continues = lastId !== "";
    try {
        const answer = await request(
            "GET", `/v1/stream?topics=${encodeURIComponent(connected)}`,
            {signal: mine.signal, headers: continues ? {"Last-Event-ID": lastId} : {}});
        report("live");
        failures = 0;
        // Without Last-Event-ID the stream starts now: it lacks the changes since the pages were loaded, so they load
        // again.
        if (!continues) deliver({resync: true});
        await readAll(/** @type {ReadableStream<Uint8Array>} */ (answer.body), mine);
    } catch (error) {
        if (mine !== connection || sleeping) return;
        failures++;
        if (/** @type {any} */ (error).status === 401) lastId = "";
    }
    if (mine !== connection || sleeping) return;
    mine.abort();
    if (failures > 1) report("lost");
    plan(failures ? Math.min(10000, 500 * 2 ** failures) * (0.5 + Math.random() / 2) : 200 * Math.random());
}

/**
 * @param {ReadableStream<Uint8Array>} body
 * @param {AbortController} mine
 */
async function readAll(body, mine) {
    const reader = body.getReader(), decoder = new TextDecoder();
    let text = "", silence = 0;
    try {
        for (;;) {
            clearTimeout(silence);
            silence = window.setTimeout(() => reader.cancel(), SILENCE_MS);
            const {done, value} = await reader.read();
            if (done || mine.signal.aborted) return;
            const parts = (text + decoder.decode(value, {stream: true})).split("\n\n");
            text = parts.pop() ?? "";
            parts.forEach(take);
        }
    } finally { clearTimeout(silence); }
}

function sleep() {
    sleeping = true;
    connection.abort();
    giveSlotBack();
}

function wake() {
    if (!sleeping) return;
    sleeping = false;
    connect();
}

let hiddenTimer = 0;
document.addEventListener("visibilitychange", () => {
    clearTimeout(hiddenTimer);
    if (document.hidden)
        hiddenTimer = window.setTimeout(sleep, HIDDEN_MS);
    else
        wake();
});
// A browser keeps pages that were left, with their connections, in case the reader goes back. So close the stream.
window.addEventListener("pagehide", sleep);
window.addEventListener("pageshow", wake);
window.addEventListener("online", () => plan(0));
window.addEventListener("pawl-session", () => {
    connection.abort();
    plan(0);
});
