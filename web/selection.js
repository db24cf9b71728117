// selection.js - the rows of a list that were selected, to act on several at once.

export class Selection {
    /** @param {() => void} onChange */
    constructor(onChange) {
        this.onChange = onChange;
        /** @type {Set<number>} */
        this.ids = new Set();
        /** @type {number[]} those that are shown, in this order */
        this.order = [];
        this.last = 0;
    }

    /** @param {number} id */
    has(id) { return this.ids.has(id); }

    /**
	 * @param {number} id
	 * @param {boolean} range all from the last one that was selected
	 */
    toggle(id, range) {
        const on = !this.ids.has(id), a = this.order.indexOf(this.last), b = this.order.indexOf(id);
        for (const i of range && a >= 0 ? this.order.slice(Math.min(a, b), Math.max(a, b) + 1) : [id])
            on ? this.ids.add(i) : this.ids.delete(i);
        this.last = id;
        this.onChange();
    }

    clear() {
        this.ids.clear();
        this.onChange();
    }
}
