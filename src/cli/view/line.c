/* line.c - a node of a tree as a line: its position, name, status, and the reason. */
#include "base/mem.h"
#include "cli/view/view.h"

#include <stdlib.h>
#include <string.h>

#define BAR 10 /* columns of a progress bar */

/* ---- the lines that connect nodes ---- */

void rails_enter(struct view_rails *r, const struct view_node *n)
{
    while (r->open.n <= (size_t)n->depth)
        *vec_add(&r->open) = false;
    r->open.at[n->depth] = !n->last;
}

void rails_release(struct view_rails *r)
{
    vec_release(&r->open);
}

static void add_rails(struct line *l, const struct view_node *n, const struct view_rails *r)
{
    static const char *const pieces[2][4] = {{"|  ", "   ", "|- ", "`- "},
                                             {"│  ", "   ", "├─ ", "└─ "}};
    static const char *const narrow[2][4] = {{"| ", "  ", "|-", "`-"}, {"│ ", "  ", "├╴", "└╴"}};
    const char *const *p =
        l->style->width && l->style->width < 60 ? narrow[l->style->utf8] : pieces[l->style->utf8];

    for (int i = 1; i < n->depth; i++)
        line_add(l, TINT_FAINT, p[r->open.at[i] ? 0 : 1]);
    if (n->depth)
        line_add(l, TINT_FAINT, p[n->last ? 3 : 2]);
}

/* ---- name ---- */

static void add_label(struct line *l, const struct view_node *n)
{
    const json_t *index = json_object_get(n->o, "task_index");
    const char *task = field(n->o, "task_name");

    line_add(l, TINT_PLAIN, n->depth && *task ? task : field(n->o, "name"));
    if (n->depth && *task && json_is_integer(index))
        line_addf(l, TINT_PLAIN, "[%lld]", (long long)json_integer_value(index));
}

static void add_bar(struct line *l, int64_t done, int64_t all)
{
    int full = all ? (int)(done * BAR / all) : BAR, i;

    line_add(l, TINT_PLAIN, " ");
    for (i = 0; i < BAR; i++)
        line_add(l, i < full ? TINT_BUSY : TINT_FAINT,
                 l->style->utf8 ? (i < full ? "█" : "░") : (i < full ? "#" : "-"));
}

/* Adds the counts of a fan-out: "[7/10 ok, 2 failed, 1 running]". */
static void add_items(struct line *l, const json_t *items)
{
    static const struct {
        const char *key, *word;
        enum tint tint;
    } others[] = {{"failed", "failed", TINT_BAD},       {"timed_out", "timed out", TINT_BAD},
                  {"cancelled", "cancelled", TINT_BAD}, {"skipped", "skipped", TINT_FAINT},
                  {"running", "running", TINT_BUSY},    {"ready", "ready", TINT_PLAIN}};
    int64_t ok = field_int(items, "succeeded"), all = field_int(items, "total"), done = ok;

    if (!json_is_integer(json_object_get(items, "total")))
        return; /* the fan-out has not started */
    for (size_t i = 0; i < 4; i++)
        done += field_int(items, others[i].key);
    if (l->style->bars)
        add_bar(l, done, all);
    line_addf(l, TINT_PLAIN, " [%lld/%lld ok", (long long)ok, (long long)all);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (field_int(items, others[i].key)) {
            line_add(l, TINT_PLAIN, ", ");
            line_addf(l, others[i].tint, "%lld %s", (long long)field_int(items, others[i].key),
                      others[i].word);
        }
    line_add(l, TINT_PLAIN, "]");
}

/* ---- status ---- */

/* Adds what the node waits for; for a delay, the time left instead of its end. */
static void add_waiting(struct line *l, const char *waiting, int64_t now)
{
    static const char until[] = "delay: until ";
    char text[DURATION_TEXT_SIZE];
    struct err ignored;
    int64_t due;

    if (!strcmp(waiting, "paused"))
        line_add(l, TINT_PLAIN, "  waits for the end of a pause");
    else if (!strncmp(waiting, until, sizeof(until) - 1) &&
             !text_parse_time(waiting + sizeof(until) - 1, &due, &ignored))
        line_addf(l, TINT_PLAIN, "  waits %s more", text_duration(due > now ? due - now : 0, text));
    else
        line_addf(l, TINT_PLAIN, "  waits for %.200s", waiting);
}

static void add_why(struct line *l, const struct view_node *n, int64_t now)
{
    const char *error = field(n->o, "error"), *waiting = field(n->o, "waiting");
    const char *reason = field(n->o, "reason");

    if (*error && !n->blames) {
        line_add(l, TINT_PLAIN, "  ");
        line_add(l, TINT_BAD, "! ");
        line_addf(l, TINT_BAD, "%.200s", error);
    } else if (*reason) {
        line_addf(l, TINT_FAINT, "  (%.100s)", reason);
    }
    if (*waiting)
        add_waiting(l, waiting, now);
}

static void add_span(struct line *l, const char *word, int64_t us)
{
    char text[DURATION_TEXT_SIZE];

    line_addf(l, TINT_FAINT, "  %s %s", word, text_duration(us > 0 ? us : 0, text));
}

/* Adds the time spent waiting in the queue, then the time spent running. */
static void add_times(struct line *l, const json_t *o, int64_t now)
{
    int64_t ready = field_time(o, "ready_at"), started = field_time(o, "started_at");
    int64_t us = field_duration(o, now);

    if (ready && started)
        add_span(l, "waited", started - ready);
    else if (ready && !*field(o, "finished_at"))
        add_span(l, "waiting", now - ready);
    if (started)
        add_span(l, json_is_integer(json_object_get(o, "duration_us")) ? "ran" : "running", us);
}

/* Adds the symbol and name of a node. Returns false if the node is only a note about other items:
 * its line is then complete. */
static bool begin_node(struct line *l, const struct view_node *n, const struct view_rails *r)
{
    const char *status = field(n->o, "status");

    add_rails(l, n, r);
    if (!n->o) {
        line_addf(l, TINT_FAINT, "%s %s", l->style->utf8 ? "…" : "...", n->note);
        return false;
    }
    line_addf(l, status_tint(status), "%s ", status_symbol(status, l->style));
    add_label(l, n);
    add_items(l, json_object_get(n->o, "items"));
    return true;
}

static void add_attempt(struct line *l, const json_t *o)
{
    if (field_int(o, "attempt"))
        line_addf(l, TINT_PLAIN, "  attempt %lld/%lld", (long long)field_int(o, "attempt"),
                  (long long)field_int(o, "max_attempts"));
}

static void add_pause(struct line *l, const json_t *o)
{
    if (json_is_true(json_object_get(o, "paused")) && !*field(o, "finished_at"))
        line_add(l, TINT_BUSY, "  paused");
}

static void view_line(const struct view *v, const struct view_node *n, const struct view_rails *r,
                      struct line *l)
{
    const char *status = field(n->o, "status");

    if (!begin_node(l, n, r))
        return;
    line_addf(l, TINT_FAINT, "  #%lld", (long long)field_int(n->o, "id"));
    line_addf(l, status_tint(status), "  %s", status);
    add_attempt(l, n->o);
    add_pause(l, n->o);
    add_why(l, n, v->now);
    add_times(l, n->o, v->now);
    if (*field(n->o, "worker"))
        line_addf(l, TINT_FAINT, "  on %s", field(n->o, "worker"));
}

void view_lines(const struct view *v, const struct style *style, struct buf *out)
{
    AUTO(rails_release) struct view_rails rails = {0};
    AUTO(line_release) struct line l = {0};

    for (size_t i = 0; i < v->nodes.n; i++) {
        line_begin(&l, style);
        rails_enter(&rails, &v->nodes.at[i]);
        view_line(v, &v->nodes.at[i], &rails, &l);
        buf_addf(out, "%s\n", buf_cstr(&l.text));
    }
}

void view_live_line(const struct view *v, const struct view_node *n, const struct view_rails *r,
                    const char *last_words, struct line *l)
{
    int64_t us = field_duration(n->o, v->now);
    char text[DURATION_TEXT_SIZE];

    if (!begin_node(l, n, r))
        return;
    if (field_int(n->o, "max_attempts") > 1)
        add_attempt(l, n->o);
    if (us >= 0)
        line_addf(l, TINT_FAINT, "  %s", text_duration(us, text));
    add_pause(l, n->o);
    add_why(l, n, v->now);
    if (*last_words)
        line_addf(l, TINT_FAINT, "  %s %s", l->style->utf8 ? "│" : "|", last_words);
}
