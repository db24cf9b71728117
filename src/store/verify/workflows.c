/* workflows.c - walks through all workflows and fan-outs, each with its definition and its
 * children. It merges two walks by index, the parents by id and the children by parent, so that
 * only the current parent is in memory. The rules are in graph_rules.c. */
#include "store/verify/workflows.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define PAGE             1000 /* rows; the LIMIT of verify_workflow_page and verify_child_page */
#define DEFINITIONS_SIZE (64u << 20) /* bytes of text of the definitions in memory, at most */

enum { ID, KIND, STATUS, CURSOR, FLAGS, CANCEL, DEFINITION, FROM, RETAINING };
enum { ERROR = RETAINING + 1, LIST };
enum { C_PARENT, C_ID, C_STATUS, C_HELD, C_NEEDS_LEFT, C_CURSOR, C_FLAGS, C_STARTED, C_INDEX };
enum { C_NAME = C_INDEX + 1 };

struct pages {
    struct rows rows;
    size_t at;
    int64_t parent, id; /* the key of the last row: the next page starts after it */
    bool last;
};

struct workflow_walk {
    struct verify *v;
    struct pages workflows, children;
    struct graph_check check;
    struct idmap definitions; /* prefix of the hash -> struct definition */
    VEC(struct definition *) kept;
    size_t size; /* bytes of their texts */
};

/* ---- definitions ---- */

static void drop_definitions(struct workflow_walk *w)
{
    size_t i;

    for (i = 0; i < w->kept.n; i++)
        definition_free(w->kept.at[i]);
    w->kept.n = w->size = 0;
    idmap_reset(&w->definitions);
}

/* Finds a definition in memory or reads it; when memory is full, all are dropped. *out is NULL if
 * it is missing or damaged, which is a breach for each execution that uses it. */
static int find_definition(struct workflow_walk *w, const struct checked_parent *f,
                           const struct definition **out, struct err *err)
{
    char prefix[16] = "";
    struct definition *d;
    int64_t key;
    int rc;

    memcpy(prefix, f->hash, sizeof(prefix) - 1);
    key = (int64_t)strtoull(prefix, NULL, 16) + 1;
    *out = d = idmap_get(&w->definitions, key);
    if (d && !strcmp(d->hash, f->hash))
        return 0;
    *out = NULL;
    rc = definition_read(w->v->db, f->hash, &d, err);
    if (rc == -E_NOT_FOUND)
        return 0; /* verify_snapshots reports it */
    if (rc == -E_INVALID) {
        verify_defer_breach(w->v, "I37", f->id, "its definition %s can't be read: %s", f->hash,
                            err->msg);
        return 0;
    }
    if (rc)
        return rc;
    if (strcmp(d->workflow->hash, f->hash) != 0) {
        verify_defer_breach(w->v, "I37", f->id, "its definition %s is not the text that was stored",
                            f->hash);
        definition_free(d);
        return 0;
    }
    if (w->size + d->size > DEFINITIONS_SIZE)
        drop_definitions(w);
    *vec_add(&w->kept) = d;
    w->size += d->size;
    idmap_put(&w->definitions, key, d);
    *out = d;
    return 0;
}

/* ---- facts read on demand ---- */

int graph_check_will_continue(struct graph_check *j, bool *out, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc = 0;

    if (j->will_continue < 0) {
        args_begin(&a, Q_VERIFY_WILL_CONTINUE);
        args_int(&a, j->f.id);
        if (!(rc = db_query(j->v->db, &a, &r, err)))
            j->will_continue = r.n > 0;
        rows_release(&r);
        args_release(&a);
    }
    *out = j->will_continue > 0;
    return rc;
}

int graph_check_has_timer(struct graph_check *j, int64_t id, bool *out, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    args_begin(&a, Q_VERIFY_OWN_TIMER);
    args_int(&a, id);
    if (!(rc = db_query(j->v->db, &a, &r, err)))
        *out = r.n > 0;
    rows_release(&r);
    args_release(&a);
    return rc;
}

static int64_t list_size(const char *text)
{
    json_t *list = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
    int64_t n = json_is_array(list) ? (int64_t)json_array_size(list) : -1;

    json_decref(list);
    return n;
}

int graph_check_list_size(struct graph_check *j, int64_t *out, struct err *err)
{
    struct args a = ARGS_INIT;
    struct rows r = ROWS_INIT;
    int rc;

    if (j->f.list) {
        *out = list_size(j->f.list);
        return 0;
    }
    args_begin(&a, Q_INPUTS_OF);
    args_int(&a, j->f.id);
    if (!(rc = db_query(j->v->db, &a, &r, err)))
        *out = list_size(r.n ? rows_text(&r, 0, 1) : NULL);
    rows_release(&r);
    args_release(&a);
    return rc;
}

/* ---- the two walks ---- */

static int fetch_page(struct workflow_walk *w, struct pages *p, enum stmt_id q, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    rows_release(&p->rows);
    args_begin(&a, q);
    if (q == Q_VERIFY_CHILD_PAGE)
        args_int(&a, p->parent);
    args_int(&a, p->id);
    rc = db_query(w->v->db, &a, &p->rows, err);
    args_release(&a);
    p->at = 0;
    p->last = rc || p->rows.n < PAGE;
    if (rc || !p->rows.n)
        return rc;
    if (q == Q_VERIFY_CHILD_PAGE)
        p->parent = rows_int(&p->rows, p->rows.n - 1, C_PARENT);
    p->id = rows_int(&p->rows, p->rows.n - 1, q == Q_VERIFY_CHILD_PAGE ? C_ID : ID);
    return 0;
}

/* Fetches the next page if the current one is used up; *more is false at the end. */
static int ensure_row(struct workflow_walk *w, struct pages *p, enum stmt_id q, bool *more,
                      struct err *err)
{
    int rc = 0;

    if (p->at == p->rows.n && !p->last)
        rc = fetch_page(w, p, q, err);
    *more = !rc && p->at < p->rows.n;
    return rc;
}

static void read_parent(struct checked_parent *f, const struct rows *r, size_t i)
{
    *f = (struct checked_parent){.id = rows_int(r, i, ID),
                                 .kind = (int)rows_int(r, i, KIND),
                                 .status = (int)rows_int(r, i, STATUS),
                                 .cursor = (int)rows_int(r, i, CURSOR),
                                 .flags = (int)rows_int(r, i, FLAGS),
                                 .from = (int)rows_int(r, i, FROM),
                                 .cancel_requested = rows_int(r, i, CANCEL) != 0,
                                 .retaining = rows_int(r, i, RETAINING) != 0,
                                 .error = rows_text(r, i, ERROR),
                                 .list = rows_text(r, i, LIST)};
    if (!rows_null(r, i, DEFINITION))
        stpncpy(f->hash, rows_text(r, i, DEFINITION), sizeof(f->hash) - 1);
}

static void read_child(struct checked_child *c, const struct rows *r, size_t i)
{
    *c = (struct checked_child){.id = rows_int(r, i, C_ID),
                                .status = (int)rows_int(r, i, C_STATUS),
                                .held = (int)rows_int(r, i, C_HELD),
                                .needs_left = (int)rows_int(r, i, C_NEEDS_LEFT),
                                .cursor = (int)rows_int(r, i, C_CURSOR),
                                .flags = (int)rows_int(r, i, C_FLAGS),
                                .index =
                                    rows_null(r, i, C_INDEX) ? -1 : (int)rows_int(r, i, C_INDEX),
                                .started = rows_int(r, i, C_STARTED) != 0,
                                .name = rows_text(r, i, C_NAME)};
}

/* Checks the children of the current parent; skips those of parents before it. */
static int check_children(struct workflow_walk *w, bool is_checked, struct err *err)
{
    struct pages *p = &w->children;
    struct checked_child c;
    bool more;
    int rc;

    for (;; p->at++) {
        if ((rc = ensure_row(w, p, Q_VERIFY_CHILD_PAGE, &more, err)) || !more ||
            rows_int(&p->rows, p->at, C_PARENT) > w->check.f.id)
            return rc;
        if (!is_checked || rows_int(&p->rows, p->at, C_PARENT) < w->check.f.id)
            continue;
        read_child(&c, &p->rows, p->at);
        if ((rc = graph_check_child(&w->check, &c, err)))
            return rc;
    }
}

static int check_parent(struct workflow_walk *w, struct err *err)
{
    struct graph_check *j = &w->check;
    bool is_checked;
    int rc;

    read_parent(&j->f, &w->workflows.rows, w->workflows.at);
    is_checked = graph_check_applies(&j->f);
    if (is_checked) {
        if ((rc = find_definition(w, &j->f, &j->def, err)))
            return rc;
        is_checked = j->def != NULL;
    }
    if (is_checked)
        graph_check_start(j);
    if ((rc = check_children(w, is_checked, err)))
        return rc;
    return is_checked ? graph_check_end(j, err) : 0;
}

/* Allows ("on") or forbids ("off") the planner to scan whole tables; see verify_settings. */
static int set_planner(struct verify *v, const char *whole_tables, struct err *err)
{
    struct args a = ARGS_INIT;
    int rc;

    args_begin(&a, Q_VERIFY_SETTINGS);
    args_text(&a, whole_tables);
    rc = db_query(v->db, &a, NULL, err);
    args_release(&a);
    return rc;
}

int verify_workflows(struct verify *v, struct err *err)
{
    struct workflow_walk w = {.v = v, .check = {.v = v}};
    bool more;
    int rc;

    if ((rc = set_planner(v, "off", err)))
        return rc;
    while (!(rc = ensure_row(&w, &w.workflows, Q_VERIFY_WORKFLOW_PAGE, &more, err)) && more) {
        if ((rc = check_parent(&w, err)))
            break;
        w.workflows.at++;
    }
    if (!rc)
        rc = set_planner(v, "on", err);
    rows_release(&w.workflows.rows);
    rows_release(&w.children.rows);
    graph_check_release(&w.check);
    drop_definitions(&w);
    vec_release(&w.kept);
    idmap_release(&w.definitions);
    return rc;
}
