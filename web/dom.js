// dom.js - builds and updates elements. Text always becomes a text node: nothing in these pages parses HTML, so a name or an
// output can't become markup. Control characters in it, such as those of escape sequences, are made visible.

/** @typedef {any} Child a node, a text or number, nothing (null, undefined, false), or a list of them */

const RETRY_MS = 5000;
const SVG = "http://www.w3.org/2000/svg";
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

/**
 * @param {Element} element
 * @param {Record<string, any>} props
 */
function setProps(element, props) {
    for (const [name, value] of Object.entries(props)) {
        if (value === null || value === undefined || value === false) continue;
        if (name.startsWith("on"))
            element.addEventListener(name.slice(2), value);
        else if (name === "class")
            element.classList.add(...String(value).split(" ").filter(Boolean));
        else if (name === "value" || name === "checked") /** @type {any} */
            (element)[name] = value;
        else
            element.setAttribute(name, value === true ? "" : String(value));
    }
}

/**
 * @param {Node} parent
 * @param {Child[]} children
 */
function append(parent, children) {
    for (const child of children) {
        if (child === null || child === undefined || child === false) continue;
        if (Array.isArray(child))
            append(parent, child);
        else
            parent.appendChild(
                child instanceof Node ? child : document.createTextNode(String(child).replace(CONTROLS, "\ufffd")));
    }
}

/**
 * Builds an element: h("p.note", {title: "…"}, "text", h("b", "bold")). The properties may be left out.
 * @param {string} tag
 * @param {...any} rest
 * @returns {any}
 */
export function h(tag, ...rest) {
    const [name, ...classes] = tag.split(".");
    const element = document.createElement(name || "div");
    if (classes.length) element.classList.add(...classes);
    const first = rest[0];
    if (first && typeof first === "object" && !(first instanceof Node) && !Array.isArray(first))
        setProps(element, rest.shift());
    append(element, rest);
    return element;
}

/**
 * @param {string} tag
 * @param {Record<string, any>} props
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function svg(tag, props, ...children) {
    const element = document.createElementNS(SVG, tag);
    setProps(element, props);
    append(element, children);
    return element;
}

/**
 * @param {Element} element
 * @returns {HTMLElement[]}
 */
const controlsOf = (element) => [...element.querySelectorAll("a, button, input, select, textarea")].map(
    (e) => /** @type {HTMLElement} */ (e));

/** What a control is called, to find it again; `data-key` if its name changes. */
const callOf = (/** @type {Element} */ e) => `${e.tagName} ${
    e.getAttribute("data-key") ?? e.getAttribute("aria-label") ?? e.getAttribute("name") ??
    e.textContent?.replace(/[\d,+]+$/, "")}`;

/**
 * Replaces all children. The control that has the focus keeps it, if there is one of its name again.
 * @param {Element} parent
 * @param {...Child} children
 */
export function fill(parent, ...children) {
    const active = document.activeElement, had = active && active !== parent && parent.contains(active);
    parent.replaceChildren();
    append(parent, children);
    if (had) {
        const list = controlsOf(parent), name = callOf(active);
        (list.find((e) => e === active) ?? list.find((e) => callOf(e) === name))?.focus({preventScroll: true});
    }
    return parent;
}

/**
 * Gives `parent` one child for each item, in their order, and keeps the elements whose text of `print` has not changed:
 * focus, selection and hover survive an update.
 * @template T
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => string} print
 * @param {(item: T) => Element} build
 */
export function sync(parent, items, key, print, build) {
    const old = new Map([...parent.children].map((e) => [/** @type {any} */ (e).pawlKey, e]));
    let at = parent.firstElementChild;
    for (const item of items) {
        const k = key(item), p = print(item);
        let element = /** @type {any} */ (old.get(k));
        old.delete(k);
        if (!element || element.pawlPrint !== p) {
            const made = /** @type {any} */ (build(item));
            made.pawlKey = k;
            made.pawlPrint = p;
            if (element) replaceKeepingFocus(element, made);
            if (element && at === element) at = made;
            element = made;
        }
        if (at === element)
            at = element.nextElementSibling;
        else
            parent.insertBefore(element, at);
    }
    for (const element of old.values()) element.remove();
}

/**
 * Replaces a row, and keeps the focus on the same control of it.
 * @param {Element} old
 * @param {Element} made
 */
function replaceKeepingFocus(old, made) {
    const active = /** @type {HTMLElement | null} */ (document.activeElement);
    const index = active && old.contains(active) ? controlsOf(old).indexOf(active) : -1;
    old.replaceWith(made);
    if (index >= 0) (controlsOf(made)[index] ?? controlsOf(made)[0])?.focus({preventScroll: true});
}

/**
 * Runs a function at most once per `ms`, and once more if it was called meanwhile. A function that takes long, because
 * the server is busy, runs less often. It never runs twice at a time, because the older one of two answers could come
 * last. A function that throws because the server can't
 * answer is called again after some seconds. `now` does not wait.
 * @param {() => any} run
 * @param {number} ms
 * @returns {(() => void) & {now: () => void}}
 */
export function throttle(run, ms) {
    let timer = 0, isRunning = false, isWanted = false, notBefore = 0;
    const plan = () => {
        if (!timer) timer = window.setTimeout(fire, Math.max(30, notBefore - performance.now()));
    };
    const fire = async () => {
        const start = performance.now();
        clearTimeout(timer);
        timer = 0;
        isWanted = false;
        isRunning = true;
        notBefore = start + ms;
        try {
            await run();
        } catch (error) {
            const status = /** @type {any} */ (error)?.status;
            if (status === 0 || status >= 500) {
                isWanted = true;
                notBefore = performance.now() + RETRY_MS;
            }
        }
        isRunning = false;
        notBefore = Math.max(notBefore, start + 3 * (performance.now() - start));
        if (isWanted) plan();
    };
    const ask = () => {
        isWanted = true;
        if (!isRunning) plan();
    };
    ask.now = () => {
        if (isRunning)
            isWanted = true;
        else
            fire();
    };
    return ask;
}
