/* graph.c - draws the graph of a workflow file, or of a run with the state of each task. The format
 * json is the picture that svg shows, as numbers, for programs that draw it themselves. */
#include "api/api.h"
#include "parse/render/picture.h"
#include "parse/workflow/file.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_WIDTH 80

extern const struct noun items_noun;

/* ---- JSON ---- */

struct graph_node {
    struct picture_box b;
    const char *name, *condition, *workflow, *description;
    bool foreach, allow_failure, approval;
    int64_t tasks;
    const struct outline_row *items; /* only the counts of the row are set */
};

static void write_notes(struct json_writer *w, const void *row)
{
    const struct picture_box *b = &((const struct graph_node *)row)->b;

    json_write_begin(w, '[');
    for (uint32_t i = 0; i < b->nnotes; i++)
        json_write_text(w, b->notes[i]);
    json_write_end(w, ']');
}

#define ROW struct graph_node
static const struct column node_columns[] = {
    {"id", TEXT(b.id), "names it in `edges`"},
    {"name", TEXT(name), "of the task; of a group: of its first task"},
    {"label", TEXT(b.label), "the name as it fits into the box; `NAME +9 more` for a group"},
    {"kind", TEXT(b.kind),
     "`command`, `function`, `workflow` (nested), `executor` (custom) or `group`"},
    {"x", INT(b.x), "of its top left corner, in px"},
    {"y", INT(b.y), NULL},
    {"w", INT(b.width), NULL},
    {"h", INT(b.height), NULL},
    {"status", OPT_WORD(b.state.status, status_text),
     "null without a run, and while `on_failure` or `on_exit` does not exist; of a group: the most "
     "important one of its tasks"},
    {"execution", ID(b.state.execution), "null if it does not exist yet, and for a group"},
    {"items", OPT_OBJECT(items, items_noun),
     "counts by status, as in an outline: the items of a fan-out, the tasks of a group"},
    {"description", OPT_TEXT(description), NULL},
    {"duration_us", OPT_INT(b.state.duration), "how long it has run, up to now if it still does"},
    {"held", OPT_WORD(b.state.held, hold_text),
     "why it is held: `approval`, `paused`, `delay`, `limit`"},
    {"tasks", INT(tasks), "the number of tasks that it stands for; more than 1 for a group"},
    {"foreach", BOOL(foreach), "whether it is a fan-out"},
    {"workflow", OPT_TEXT(workflow), "the name of the nested workflow"},
    {"condition", OPT_TEXT(condition), "its `if`"},
    {"allow_failure", BOOL(allow_failure), NULL},
    {"approval", BOOL(approval), "whether it asks for one"},
    {"after_all", BOOL(b.hook), "whether it is `on_failure` or `on_exit`"},
    {"notes", CUSTOM(write_notes, "array of texts"),
     "further lines for the box: `for each …`, `if …`"},
};
const struct noun graph_node_noun = {"### A node", NOUN_COLUMNS(node_columns)};
#undef ROW

struct graph_edge {
    const char *from, *to;
    const struct layout_edge *edge;
};

static void write_points(struct json_writer *w, const void *row)
{
    const struct layout_edge *e = ((const struct graph_edge *)row)->edge;

    json_write_begin(w, '[');
    for (uint32_t i = 0; i < e->npoints; i++) {
        json_write_begin(w, '[');
        json_write_i64(w, e->points[i].x);
        json_write_i64(w, e->points[i].y);
        json_write_end(w, ']');
    }
    json_write_end(w, ']');
}

#define ROW struct graph_edge
static const struct column edge_columns[] = {
    {"from", TEXT(from), "the id of a node"},
    {"to", TEXT(to), "the id of the node that needs it"},
    {"points", CUSTOM(write_points, "array"), "of `[x, y]`, in px"},
};
const struct noun graph_edge_noun = {"### An edge", NOUN_COLUMNS(edge_columns)};
#undef ROW

struct graph_answer {
    const char *name;
    struct picture p;
    struct noun_rows nodes, edges;
};

static void write_frame(struct json_writer *w, const void *row)
{
    const struct layout_box *b = &((const struct graph_answer *)row)->p.after;

    if (!b->width) {
        json_write_null(w);
        return;
    }
    json_write_begin(w, '{');
    json_field_i64(w, "x", b->x);
    json_field_i64(w, "y", b->y);
    json_field_i64(w, "w", b->width);
    json_field_i64(w, "h", b->height);
    json_write_end(w, '}');
}

#define ROW struct graph_answer
static const struct column columns[] = {
    {"name", TEXT(name), "of the workflow"},
    {"status", OPT_WORD(p.status, status_text), "of the run; null for a file"},
    {"width", INT(p.width), "in px, with a margin"},
    {"height", INT(p.height), NULL},
    {"nodes", LIST(nodes, graph_node_noun), "in the order of the file"},
    {"edges", LIST(edges, graph_edge_noun), "ordered by `to`, in the order of its needs"},
    {"after_all", CUSTOM(write_frame, "object or null"),
     "a frame around `on_failure` and `on_exit`: `x`, `y`, `w`, `h`"},
    {"folded", OPT_TEXT(p.folded), "a sentence that says what is folded; null if nothing is"},
};
const struct noun graph_noun = {"## A graph", NOUN_COLUMNS(columns)};
#undef ROW

static const struct outline_row *items_of(const struct graph_counts *c, struct arena *arena)
{
    struct outline_row *row;

    if (!c)
        return NULL;
    row = arena_zalloc(arena, sizeof(*row));
    row->nitems = c->total;
    memcpy(row->items, c->by_status, sizeof(row->items));
    return row;
}

static char *graph_json(const struct workflow *w, const struct graph_state *state)
{
    AUTO_ARENA arena = ARENA_INIT;
    struct graph_answer a = {.name = w->name};
    struct graph_node *nodes;
    struct graph_edge *edges;

    picture_draw(w, state, &arena, &a.p);
    nodes = arena_zalloc(&arena, (a.p.nboxes + 1) * sizeof(*nodes));
    edges = arena_zalloc(&arena, (a.p.nedges + 1) * sizeof(*edges));
    for (uint32_t i = 0; i < a.p.nboxes; i++) {
        const struct picture_box *b = &a.p.boxes[i];
        const struct workflow_task *t = b->task;

        nodes[i] = (struct graph_node){.b = *b,
                                       .name = t->name,
                                       .tasks = b->ntasks,
                                       .items = items_of(b->state.items, &arena)};
        if (b->ntasks > 1) /* the tasks of a group may differ in the fields that follow */
            continue;
        nodes[i].condition = t->condition;
        nodes[i].workflow = t->nested ? t->nested->name : NULL;
        nodes[i].description = t->description;
        nodes[i].foreach = t->foreach != NULL;
        nodes[i].allow_failure = t->allow_failure;
        nodes[i].approval = t->approval.wanted;
    }
    for (uint32_t i = 0; i < a.p.nedges; i++)
        edges[i] = (struct graph_edge){a.p.boxes[a.p.edges[i].from].id,
                                       a.p.boxes[a.p.edges[i].to].id, &a.p.edges[i]};
    a.nodes = (struct noun_rows){nodes, a.p.nboxes, sizeof(*nodes)};
    a.edges = (struct noun_rows){edges, a.p.nedges, sizeof(*edges)};
    return noun_text(&graph_noun, &a);
}

/* ---- formats ---- */

static bool is_json(const char *format)
{
    return format && !strcmp(format, "json");
}

/* *out is not set for json, which is not drawn. */
static int find_format(const char *format, enum graph_format *out, struct err *err)
{
    static const char *const names[] = {
#define X(id, text) text,
        GRAPH_FORMATS(X)
#undef X
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(names[i], format ? format : "ascii")) {
            *out = (enum graph_format)i;
            return 0;
        }
    if (is_json(format))
        return 0;
    return err_set(err, E_INVALID,
                   "'%.40s' is not a graph format: use ascii, dot, mermaid, svg or json", format);
}

static int draw(const struct workflow *w, const struct graph_state *state, const char *format,
                int width, char **out, struct err *err)
{
    enum graph_format as = GRAPH_FORMAT_ASCII;
    struct buf text = BUF_INIT;

    TRY(find_format(format, &as, err));
    if (is_json(format)) {
        *out = graph_json(w, state);
        return 0;
    }
    graph_render(w, state, as, width > 0 ? (size_t)width : DEFAULT_WIDTH, &text);
    *out = text.ptr;
    return 0;
}

int pawl_graph(const char *file, const char *format, int width, char **out, struct pawl_error *e)
{
    AUTO(diagnostics_release) struct diagnostics diagnostics = DIAGNOSTICS_INIT;
    AUTO_ARENA arena = ARENA_INIT;
    const struct workflow *w;
    API_ERR(e);

    TRY(workflow_load(file, &diagnostics, &arena, &w, err));
    return draw(w, NULL, format, width, out, err);
}

/* ---- the state of a run ---- */

/* Finds the task of that name at or after the index `from`: tasks come in the order of the file,
 * except for hooks. ntasks + 2 if there is none. */
static uint32_t find_task(const struct workflow *w, const char *name, uint32_t from)
{
    const struct workflow_task *t;

    for (uint32_t i = from; i < w->ntasks; i++)
        if (!strcmp(w->tasks[i].name, name))
            return i;
    t = workflow_task(w, name);
    return t ? t->index : w->ntasks + 2;
}

static struct graph_task_state state_of_row(const struct outline_row *r, int64_t now,
                                            struct arena *arena)
{
    const struct execution *e = &r->execution;
    struct graph_task_state s = {.status = e->status,
                                 .held = e->held,
                                 .execution = e->id,
                                 .duration = execution_duration(&e->state, now)};

    if (e->kind == KIND_FOREACH) {
        struct graph_counts *c = arena_alloc(arena, sizeof(*c));

        c->total = r->nitems;
        memcpy(c->by_status, r->items, sizeof(c->by_status));
        s.items = c;
    }
    return s;
}

/* Reads the state of each task. A task whose execution is not created yet counts as pending. */
static int read_state(struct pawl *p, int64_t id, const struct workflow *w, struct arena *arena,
                      struct graph_state *out, struct err *err)
{
    struct graph_task_state *tasks = arena_zalloc(arena, (w->ntasks + 3) * sizeof(*tasks));
    AUTO(outline_release) struct outline list = {0};
    int attempts;
    uint32_t next = 0, i;

    TRY(query_attempts(p->store, id, &attempts, &out->status, err));
    TRY(query_graph(p->store, id, &list, err));
    for (i = 0; i < w->ntasks + 2; i++)
        tasks[i] =
            (struct graph_task_state){.status = i < w->ntasks ? S_PENDING : 0, .duration = -1};
    for (size_t k = 0; k < list.n; k++) {
        if (!list.at[k].execution.task_name)
            continue; /* an execution that a task spawned */
        i = find_task(w, list.at[k].execution.task_name, next);
        tasks[i] = state_of_row(&list.at[k], list.now, arena);
        next = i < w->ntasks ? i + 1 : next;
    }
    out->tasks = tasks;
    return 0;
}

int pawl_graph_of(struct pawl *p, int64_t id, const char *format, int width, char **out,
                  struct pawl_error *e)
{
    AUTO_ARENA arena = ARENA_INIT;
    AUTO(stored_definition_release) struct stored_definition d = {0};
    const struct workflow *w;
    struct graph_state state;
    enum graph_format as;
    API_ERR(e);

    TRY(find_format(format, &as, err));
    if (p->remote)
        return remote_graph(p->remote, id, format, width, out, err);
    TRY(query_definition(p->store, id, &d, err));
    TRY(workflow_read(d.definition, strlen(d.definition), &arena, &w, err));
    TRY(read_state(p, id, w, &arena, &state, err));
    return draw(w, &state, format, width, out, err);
}
