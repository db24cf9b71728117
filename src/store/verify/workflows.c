/* workflows.c - walks through all workflows and fan-outs, each with its definition and its
 * children. It merges two walks, each by an index: the parents by id, and the children by parent.
 * So only the current parent is in memory. The rules are in graph_rules.c. */
#include "store/verify/workflows.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Rows per page; the LIMIT of verify_workflow_page and verify_child_page. */
#define PAGE             1000
#define DEFINITIONS_SIZE (64u << 20) /* bytes of definitions that are kept in memory */

/* Columns of the statements verify_workflow_page and verify_child_page. */
enum { ID, C_PARENT = 0, C_ID, C_INDEX = 9 };

struct pages {
    struct rows rows;
    size_t at;
    int64_t parent, id; /* key of the last row; the next page starts after it */
    bool last;
};

struct workflow_walk {
    struct verify *v;
    struct pages workflows, children;
    struct graph_check check;
    struct idmap definitions; /* maps the prefix of a hash to its struct definition */
    VEC(struct definition *) kept;
    size_t size; /* bytes of the definitions' texts */
};

/* ---- definitions ---- */

static void drop_definitions(struct workflow_walk *w)
{
    for (size_t i = 0; i < w->kept.n; i++)
        definition_free(w->kept.at[i]);
    w->kept.n = w->size = 0;
    idmap_reset(&w->definitions);
}

/* Finds a definition in memory, or reads it. When the definitions in memory exceed
 * DEFINITIONS_SIZE, all of them are dropped. *out is NULL if the definition is missing or damaged,
 * which is a violation for each execution that uses it. */
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
        return 0; /* verify_snapshots reports this */
    if (rc == -E_INVALID) {
        verify_violation(w->v, "I37", f->id, "its definition %s can't be read: %s", f->hash,
                         err->msg);
        return 0;
    }
    if (rc)
        return rc;
    if (strcmp(d->workflow->hash, f->hash) != 0) {
        verify_violation(w->v, "I37", f->id, "its definition %s is not the text that was stored",
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
    if (j->will_continue < 0) {
        TRY(ask_any(j->v->db, out, err, Q_VERIFY_WILL_CONTINUE, j->f.id));
        j->will_continue = *out;
    }
    *out = j->will_continue > 0;
    return 0;
}

int graph_check_has_timer(struct graph_check *j, int64_t id, bool *out, struct err *err)
{
    return ask_any(j->v->db, out, err, Q_VERIFY_OWN_TIMER, id);
}

static int64_t list_size(const char *text)
{
    json_auto_t *list = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
    int64_t n = json_is_array(list) ? (int64_t)json_array_size(list) : -1;

    return n;
}

int graph_check_list_size(struct graph_check *j, int64_t *out, struct err *err)
{
    AUTO_ROWS r = ROWS_INIT;

    if (!j->f.list)
        TRY(ask_ids(j->v->db, &r, err, Q_INPUTS_OF, &j->f.id, 1));
    *out = list_size(j->f.list ? j->f.list : r.n ? rows_text(&r, 0, 1) : NULL);
    return 0;
}

/* ---- the two walks ---- */

static int fetch_page(struct workflow_walk *w, struct pages *p, enum stmt_id q, struct err *err)
{
    bool by_parent = q == Q_VERIFY_CHILD_PAGE;

    p->last = true;
    p->at = 0;
    TRY(by_parent ? ask(w->v->db, &p->rows, err, q, p->parent, p->id)
                  : ask(w->v->db, &p->rows, err, q, p->id));
    p->last = p->rows.n < PAGE;
    if (p->rows.n && by_parent)
        rows_read(&p->rows, p->rows.n - 1, C_PARENT, NULL, &p->parent, &p->id);
    else if (p->rows.n)
        p->id = rows_int(&p->rows, p->rows.n - 1, ID);
    return 0;
}

/* Fetches the next page if all rows of the current page are used. *more is false if no rows are
 * left. */
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
    const char *hash;

    *f = (struct checked_parent){0};
    rows_read(r, i, ID, NULL, &f->id, &f->kind, &f->status, &f->children_made, &f->flags,
              &f->cancel_requested, &hash, &f->from, &f->retaining, &f->error, &f->list);
    if (hash)
        stpncpy(f->hash, hash, sizeof(f->hash) - 1);
}

static void read_child(struct checked_child *c, const struct rows *r, size_t i)
{
    rows_read(r, i, C_ID, NULL, &c->id, &c->status, &c->held, &c->needs_left, &c->needs_succeeded,
              &c->notify_left, &c->flags, &c->started, &c->index, &c->name);
    if (rows_null(r, i, C_INDEX))
        c->index = -1;
}

/* Checks the children of the current parent. Skips children of parents before it. */
static int check_children(struct workflow_walk *w, bool is_checked, struct err *err)
{
    struct pages *p = &w->children;
    struct checked_child c;
    bool more;

    for (;; p->at++) {
        TRY(ensure_row(w, p, Q_VERIFY_CHILD_PAGE, &more, err));
        if (!more || rows_int(&p->rows, p->at, C_PARENT) > w->check.f.id)
            return 0;
        if (!is_checked || rows_int(&p->rows, p->at, C_PARENT) < w->check.f.id)
            continue;
        read_child(&c, &p->rows, p->at);
        TRY(graph_check_child(&w->check, &c, err));
    }
}

static int check_parent(struct workflow_walk *w, struct err *err)
{
    struct graph_check *j = &w->check;
    bool is_checked;

    read_parent(&j->f, &w->workflows.rows, w->workflows.at);
    is_checked = graph_check_applies(&j->f);
    if (is_checked) {
        TRY(find_definition(w, &j->f, &j->def, err));
        is_checked = j->def != NULL;
    }
    if (is_checked)
        graph_check_start(j);
    TRY(check_children(w, is_checked, err));
    return is_checked ? graph_check_end(j, err) : 0;
}

int verify_workflows(struct verify *v, struct err *err)
{
    struct workflow_walk w = {.v = v, .check = {.v = v}};
    bool more;
    int rc = 0;

    TRY(verify_set_planner(v, "off", err));
    while (!(rc = ensure_row(&w, &w.workflows, Q_VERIFY_WORKFLOW_PAGE, &more, err)) && more) {
        if ((rc = check_parent(&w, err)))
            break;
        w.workflows.at++;
    }
    if (!rc)
        rc = verify_set_planner(v, "on", err);
    rows_release(&w.workflows.rows);
    rows_release(&w.children.rows);
    graph_check_release(&w.check);
    drop_definitions(&w);
    vec_release(&w.kept);
    idmap_release(&w.definitions);
    return rc;
}
