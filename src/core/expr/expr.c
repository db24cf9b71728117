/* expr.c - the public functions of the expression language (expr.h). Parsing splits a template into
 * literal text and expressions; evaluation copies the text and evaluates the expressions. */
#include "core/expr/expr_internal.h"

#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define SPACE " \t\r\n"

/* ---- parsing ---- */

/* Checks the source text of an expression or template and copies it. */
static int check_and_copy_text(const struct expr_text *text, size_t max, struct arena *arena,
                               struct expr_range *out, struct expr_fault *fault)
{
    *out = (struct expr_range){.text = *text};
    if (text->len > max)
        return expr_fault_set(fault, out, 0, "this text is %zu bytes long; at most %zu are allowed",
                              text->len, max);
    if (!text_is_utf8(text->at, text->len))
        return expr_fault_set(fault, out, 0, "this text is not valid UTF-8 (or holds a NUL byte)");
    out->text.at = arena_memdup0(arena, text->at, text->len);
    return 0;
}

static const struct expr *new_expr(struct arena *arena, const struct expr_text *text,
                                   const struct piece *pieces, size_t n)
{
    struct expr *e = arena_alloc(arena, sizeof(*e) + n * sizeof(*pieces));

    e->text = *text;
    e->n = n;
    if (n)
        memcpy(e->pieces, pieces, n * sizeof(*pieces));
    return e;
}

int expr_parse_condition(const struct expr_text *text, struct arena *arena, const struct expr **out,
                         struct expr_fault *fault)
{
    struct expr_range in;
    struct piece piece;
    bool bracketed;
    size_t begin, end;
    int rc = check_and_copy_text(text, EXPR_TEXT_MAX, arena, &in, fault);

    if (rc)
        return rc;
    begin = strspn(in.text.at, SPACE);
    bracketed = !strncmp(in.text.at + begin, "${{", 3);
    if (bracketed)
        in.begin = begin + 3;
    if (!(piece.node = expr_parse(&in, bracketed, arena, fault)))
        return -E_INVALID;
    end = bracketed ? in.end + 2 + strspn(in.text.at + in.end + 2, SPACE) : in.end;
    if (end < in.text.len)
        return expr_fault_set(
            fault, &in, end,
            "only one expression is allowed here: there is more text after its }}");
    piece.begin = in.begin;
    piece.end = in.end;
    *out = new_expr(arena, &in.text, &piece, 1);
    return 0;
}

struct pieces {
    struct piece *at;
    size_t n, cap;
};

static void add_piece(struct pieces *to, size_t begin, size_t end, const struct node *node)
{
    if (node || end > begin)
        *vec_add(to) = (struct piece){begin, end, node};
}

/* Splits a template at each ${{ … }}. A $${{ stands for a literal ${{, so its first $ is
 * dropped. */
static int split_text(struct expr_range *in, struct arena *arena, struct pieces *out,
                      struct expr_fault *fault)
{
    const char *text = in->text.at, *dollar;
    const struct node *node;
    size_t from = 0, at = 0;

    while ((dollar = strstr(text + at, "${{"))) {
        at = (size_t)(dollar - text);
        if (at > from && text[at - 1] == '$') {
            add_piece(out, from, at - 1, NULL);
            from = at;
            at += 3;
            continue;
        }
        add_piece(out, from, at, NULL);
        in->begin = at + 3;
        if (!(node = expr_parse(in, true, arena, fault)))
            return -E_INVALID;
        add_piece(out, in->begin, in->end, node);
        from = at = in->end + 2;
    }
    add_piece(out, from, in->text.len, NULL);
    return 0;
}

int expr_parse_template(const struct expr_text *text, struct arena *arena, const struct expr **out,
                        struct expr_fault *fault)
{
    struct pieces pieces = {0};
    struct expr_range in;
    int rc;

    if (!(rc = check_and_copy_text(text, EXPR_TEMPLATE_MAX, arena, &in, fault)) &&
        !(rc = split_text(&in, arena, &pieces, fault)))
        *out = new_expr(arena, &in.text, pieces.at, pieces.n);
    vec_release(&pieces);
    return rc;
}

/* ---- evaluating ---- */

static int eval_piece(struct eval *x, const struct piece *piece, json_t **out)
{
    x->in.begin = piece->begin;
    x->in.end = piece->end;
    return eval_node(x, piece->node, out);
}

#define piece_fault(x, ...) expr_fault_set((x)->fault, &(x)->in, (x)->in.begin, __VA_ARGS__)
#define TEXT_TOO_LONG       "the result is larger than %u bytes: store it in a file and pass the path"

static int add_value(struct eval *x, const struct piece *piece, struct buf *out)
{
    json_t *v;
    int rc = eval_piece(x, piece, &v);

    if (rc)
        return rc;
    if (json_is_null(v))
        return piece_fault(x,
                           "this value is null, which can't be inserted into text; use default()");
    return value_write_plain(v, EXPR_RESULT_MAX, out)
               ? 0
               : piece_fault(x, TEXT_TOO_LONG, EXPR_RESULT_MAX);
}

static int eval_pieces(struct eval *x, const struct expr *e, json_t **out)
{
    AUTO_BUF text = BUF_INIT;
    int rc = 0;

    for (size_t i = 0; !rc && i < e->n; i++) {
        const struct piece *piece = &e->pieces[i];

        if (piece->node)
            rc = add_value(x, piece, &text);
        else
            buf_add(&text, e->text.at + piece->begin, piece->end - piece->begin);
    }
    x->in.begin = 0;
    x->in.end = e->text.len;
    if (!rc && text.len > EXPR_RESULT_MAX)
        rc = piece_fault(x, TEXT_TOO_LONG, EXPR_RESULT_MAX);
    if (!rc)
        *out = value_need(json_stringn_nocheck(buf_cstr(&text), text.len));
    return rc;
}

/* Checks that the result's JSON is short enough to be stored. */
static int check_size(struct eval *x, const json_t *v)
{
    AUTO_BUF text = BUF_INIT;

    return value_write_plain(v, EXPR_RESULT_MAX, &text)
               ? 0
               : piece_fault(
                     x, "the result is larger than %u bytes: store it in a file and pass the path",
                     EXPR_RESULT_MAX);
}

static struct eval start_eval(const struct expr *e, const struct expr_scope *scope,
                              struct expr_fault *fault)
{
    return (struct eval){
        .in = {.text = e->text}, .scope = scope, .fault = fault, .work = {EXPR_WORK_MAX}};
}

static void end_eval(struct eval *x)
{
    while (x->made.n > 0)
        json_decref(x->made.at[--x->made.n]);
    vec_release(&x->made);
}

int expr_eval(const struct expr *e, const struct expr_scope *scope, json_t **out,
              struct expr_fault *fault)
{
    struct eval x = start_eval(e, scope, fault);
    json_t *v;
    int rc;

    if (e->n != 1 || !e->pieces[0].node)
        rc = eval_pieces(&x, e, out);
    else if (!(rc = eval_piece(&x, e->pieces, &v)) && !(rc = check_size(&x, v)))
        *out = json_incref(v);
    end_eval(&x);
    return rc;
}

int expr_eval_bool(const struct expr *e, const struct expr_scope *scope, bool *out,
                   struct expr_fault *fault)
{
    struct eval x = start_eval(e, scope, fault);
    json_t *v;
    int rc = eval_piece(&x, e->pieces, &v);

    if (!rc && !json_is_boolean(v))
        rc = piece_fault(&x, "a condition must be true or false, not %s: write a comparison",
                         value_type_text(v));
    if (!rc)
        *out = json_is_true(v);
    end_eval(&x);
    return rc;
}

/* ---- static analysis ---- */

struct walk {
    expr_each_ref *each;
    void *arg;
    unsigned statuses;
};

/* The key that selects a field or item, if the key is a constant string; otherwise NULL. */
static const char *constant_key(const struct node *step)
{
    const struct node *key = step->kind == NODE_INDEX ? step->child : step;

    if (step->kind == NODE_BINARY || key->literal.type != JSON_STRING ||
        (key != step && (key->kind != NODE_CONST || key->steps)))
        return NULL;
    return key->literal.text;
}

/* Reports a name with its path. The path stops at a closing parenthesis, because the steps after it
 * begin at the parenthesis, not at the name: (tasks.a).b is reported as tasks.a. */
static void report_name(const struct walk *w, const struct node *n, bool optional)
{
    struct expr_ref ref = {.name = n->which, .optional = optional, .offset = n->at};
    const char *key;

    for (const struct node *step = n->steps; step && step->from == n->steps->from;
         step = step->next) {
        if (ref.n == EXPR_PATH_MAX || !(key = constant_key(step)))
            break;
        ref.path[ref.n++] = key;
    }
    w->each(w->arg, &ref);
}

static void walk_node(struct walk *w, const struct node *n, bool optional)
{
    bool is_default = n->kind == NODE_CALL && n->which == FUNCTION_default;

    if (n->kind == NODE_NAME && w->each)
        report_name(w, n, optional);
    if (n->kind == NODE_STATUS)
        w->statuses |= 1u << n->which;
    for (const struct node *inner = n->child; inner; inner = inner->next)
        walk_node(w, inner, optional || (is_default && inner == n->child));
    for (const struct node *inner = n->steps; inner; inner = inner->next)
        walk_node(w, inner, optional);
}

static unsigned walk_expr(const struct expr *e, expr_each_ref *each, void *arg)
{
    struct walk w = {each, arg, 0};

    for (size_t i = 0; i < e->n; i++)
        if (e->pieces[i].node)
            walk_node(&w, e->pieces[i].node, false);
    return w.statuses;
}

void expr_references(const struct expr *e, expr_each_ref *each, void *arg)
{
    walk_expr(e, each, arg);
}

unsigned expr_statuses(const struct expr *e)
{
    return walk_expr(e, NULL, NULL);
}

const char *expr_complete_condition(const struct expr *e, struct arena *arena)
{
    size_t begin = e->pieces[0].begin, end = e->pieces[0].end;
    struct buf full = BUF_INIT;
    const char *text;

    if (expr_statuses(e))
        return NULL;
    begin += strspn(e->text.at + begin, SPACE);
    while (end > begin && strchr(SPACE, e->text.at[end - 1]))
        end--;
    buf_addstr(&full, "success() && (");
    buf_add(&full, e->text.at + begin, end - begin);
    buf_addch(&full, ')');
    text = arena_strdup(arena, buf_cstr(&full));
    buf_release(&full);
    return text;
}

bool expr_requires_success(const struct expr *e)
{
    const struct node *n = e->pieces[0].node, *step;

    if (n->kind != NODE_STATUS || n->which != EXPR_SUCCESS)
        return false;
    for (step = n->steps; step; step = step->next)
        if (step->kind != NODE_BINARY || step->which != OPERATOR_AND)
            return false;
    return true;
}
