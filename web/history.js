// history.js - the time slider: chooses a moment of the run's past. Each step is an event; if there are too many of them to load, the
// slider moves over time instead.
import {get, isAborted} from "./api.js";
import {fill, h} from "./dom.js";
import {millis, now, time} from "./format.js";
import {icon} from "./icons.js";

const PAGE = 1000, EVENTS_MAX = 5000, STEPS = 1000;

export class History {
    /**
	 * @param {number} id
	 * @param {(moment: {at: string | null, at_event: number | null}) => void} onChange
	 * @param {AbortSignal} signal
	 */
    constructor(id, onChange, signal) {
        this.id = id;
        this.onChange = onChange;
        this.signal = signal;
        this.isOpen = false;
        /** @type {any[]} */
        this.events = [];
        /** Where the slider ends if it moves over time, in ms: the end of the run, or the moment at which it was loaded. */
        this.end = 0;
        this.isComplete = false;
        this.isStale = true;
        this.slider = h("input", {
            type: "range",
            min: 0,
            step: 1,
            "aria-label": "Moment of the run",
            oninput: () => this.moved(),
            onchange: () => this.moved()
        });
        this.label = h("span.moment", {"aria-live": "polite"});
        const step = (/** @type {number} */ n, /** @type {string} */ name, /** @type {string} */ text) =>
            h("button.quiet", {
                type: "button",
                "aria-label": text,
                title: text,
                onclick: () => {
                    this.slider.value = String(Number(this.slider.value) + n);
                    this.moved();
                }
            },
              icon(name));
        this.element =
            h("div.history", {hidden: true, role: "group", "aria-label": "History"}, step(-1, "prev", "One step back"),
              this.slider, step(1, "next", "One step forward"), this.label,
              h("button", {type: "button", onclick: () => this.close()}, "Back to now"));
    }

    /** Called when the run has new events. */
    changed() { this.isStale = true; }

    async load() {
        if (!this.isStale) return;
        /** @type {string | null} */
        let cursor = null;
        const events = [];
        do {
            /** @type {{items: any[], next: string | null}} */
            const page = await get(`/v1/executions/${this.id}/events`, {limit: PAGE, cursor}, this.signal);
            events.push(...page.items);
            cursor = page.next;
        } while (cursor && events.length < EVENTS_MAX);
        const run = cursor ? await get(`/v1/executions/${this.id}`, {}, this.signal) : null;
        this.events = events;
        this.end = run?.finished_at ? millis(run.finished_at) : now();
        this.isComplete = !cursor;
        this.isStale = false;
        this.slider.max = String(this.isComplete ? events.length - 1 : STEPS);
    }

    /**
	 * Opens the slider at a moment, when the events are loaded: before, it could not be moved.
	 * @param {{at?: string, at_event?: number}} moment
	 * @returns {Promise<boolean>} whether it is open and can be moved
	 */
    async show(moment) {
        this.isOpen = true;
        try {
            await this.load();
        } catch (error) {
            if (!isAborted(error)) fill(this.label, h("span.wrong", /** @type {Error} */ (error).message));
            this.element.hidden = !this.isOpen;
            return false;
        }
        this.element.hidden = !this.isOpen; // it may have been closed meanwhile
        const found = moment.at_event ?
            this.events.findIndex((e) => e.sequence_num >= /** @type {number} */ (moment.at_event)) :
            moment.at ? this.lastBefore(moment.at) :
                        -1;
        if (this.isComplete)
            this.slider.value = String(found < 0 ? this.events.length - 1 : found);
        else
            this.slider.value = String(moment.at ? this.stepOf(moment.at) : STEPS);
        this.describe();
        return this.isOpen;
    }

    /** @param {string} at */
    lastBefore(at) {
        let last = -1;
        this.events.forEach((e, i) => {
            if (e.created_at <= at) last = i;
        });
        return last;
    }

    async toggle() {
        if (this.isOpen)
            this.close();
        else if (await this.show({})) {
            this.moved();
            this.slider.focus();
        }
    }

    close() {
        this.isOpen = false;
        this.element.hidden = true;
        this.onChange({at: null, at_event: null});
    }

    range() {
        const from = millis(this.events[0].created_at);
        return {from, to: Math.max(from + 1, this.end)};
    }

    /** @param {string} at */
    stepOf(at) {
        const {from, to} = this.range();
        return Math.round(((millis(at) - from) / (to - from)) * STEPS);
    }

    /**
	 * The moment that the slider shows.
	 * @returns {{at: string | null, at_event: number | null}}
	 */
    moment() {
        const n = Number(this.slider.value);
        if (this.isComplete) return {at: null, at_event: this.events[n]?.sequence_num ?? null};
        const {from, to} = this.range();
        return {at: new Date(from + 1 + ((to - from) * n) / STEPS).toISOString(), at_event: null};
    }

    /** The moment that the slider shows, in milliseconds; null if it is not known yet. */
    time() {
        if (!this.isOpen || !this.events.length) return null;
        const {at} = this.moment();
        return at ? millis(at) : millis(this.events[Number(this.slider.value)].created_at);
    }

    describe() {
        const n = Number(this.slider.value), e = this.isComplete ? this.events[n] : null, {at} = this.moment();
        const text = e ?
            [time(e.created_at, true), ` · event ${n + 1} of ${this.events.length}: ${e.type} #${e.execution}`] :
            [time(at, true)];
        fill(this.label, text);
        this.slider.setAttribute("aria-valuetext", this.label.textContent ?? "");
    }

    moved() {
        this.describe();
        clearTimeout(this.timer);
        this.timer = setTimeout(() => {
            if (this.isOpen) this.onChange(this.moment());
        }, 120);
    }
}
