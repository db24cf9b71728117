/* references.c - checks the expressions of a workflow: they must be valid, and everything that they
 * refer to must exist. */
#include "parse/workflow/reader.h"

#include "base/suggest.h"
#include "core/expr/expr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct checking {
    struct reader *r;
    const struct text_use *use;
    struct {
        struct far_need *at;
        size_t n, cap;
    } far;
};

/* ---- names that are available ---- */

#define BIT(name) (1u << EXPR_##name)

static bool is_task(uint32_t task)
{
    return task < ON_EXIT;
}

static bool has_item(const struct checking *c)
{
    return c->use->scope == SCOPE_ITEM && is_task(c->use->task) &&
           c->r->w->tasks[c->use->task].foreach;
}

/* The names that the expression at hand may use, as a set of bits. */
static unsigned available_names(const struct checking *c)
{
    unsigned names = BIT(PARAMS);

    if (c->use->scope == SCOPE_FOLLOW || c->use->scope == SCOPE_WEBHOOK)
        return BIT(TRIGGER);
    if (c->use->scope >= SCOPE_START)
        names |= BIT(VARS) | BIT(WORKFLOW) | BIT(EXECUTION);
    if (c->use->scope >= SCOPE_TASK)
        names |= BIT(ENV);
    if (c->use->scope == SCOPE_END || (c->use->scope >= SCOPE_TASK && c->use->task != NO_TASK))
        names |= BIT(TASKS);
    if (has_item(c))
        names |= BIT(ITEM) | BIT(INDEX);
    return names;
}

static const char *name_text(enum expr_name name)
{
    static const char *const names[] = {
#define X(id, text, meaning) [EXPR_##id] = #text,
        EXPR_NAMES(X)
#undef X
    };
    return names[name];
}

static void report_unavailable(struct checking *c, const struct expr_ref *ref)
{
    const char *name = name_text(ref->name);

    if (ref->name == EXPR_ITEM || ref->name == EXPR_INDEX)
        reader_error(c->r, c->use, ref->offset,
                     c->use->scope == SCOPE_TASK && is_task(c->use->task) &&
                             c->r->w->tasks[c->use->task].foreach
                         ? "%s: %s is not available here, because this expression is evaluated "
                           "once, before the items exist"
                         : "%s: %s is available only in a task with foreach",
                     c->use->what, name);
    else
        reader_error(c->r, c->use, ref->offset, "%s: %s is not available here", c->use->what, name);
}

/* ---- references ---- */

/* Adds an error about a word that does not exist. `problem` is a clause to which the quoted word is
 * appended, such as "there is no task". */
static void report_missing(struct checking *c, const struct expr_ref *ref, const char *problem,
                           const char *word, const struct suggestion *s)
{
    reader_error(c->r, c->use, ref->offset, "%s: %s \"%.60s\"%s%s%s", c->use->what, problem, word,
                 DID_YOU_MEAN(s->best));
}

/* Checks that the word is the name of one of n structures in a list. The first member of each
 * structure is its name. */
static void check_name(struct checking *c, const struct expr_ref *ref, const char *problem,
                       const char *word, const void *list, size_t n, size_t size)
{
    struct suggestion s = suggest_for(word);
    const char *name;

    for (size_t i = 0; i < n; i++) {
        memcpy(&name, (const char *)list + i * size, sizeof(name));
        if (!strcmp(name, word))
            return;
        suggest_try(&s, name);
    }
    report_missing(c, ref, problem, word, &s);
}

static void check_pair(struct checking *c, const struct expr_ref *ref, const char *problem,
                       const char *word, const struct pairs *pairs)
{
    check_name(c, ref, problem, word, pairs->at, pairs->n, sizeof(*pairs->at));
}

static void check_word(struct checking *c, const struct expr_ref *ref, const char *of,
                       const char *word, const char *const *words)
{
    AUTO_BUF all = BUF_INIT;

    for (size_t i = 0; words[i]; i++) {
        if (!strcmp(words[i], word))
            return;
        buf_addf(&all, "%s%s", i ? ", " : "", words[i]);
    }
    reader_error(c->r, c->use, ref->offset, "%s: %s has no field \"%.60s\"; its fields are: %s",
                 c->use->what, of, word, buf_cstr(&all));
}

/* Checks the KEY of tasks.X.outputs.KEY, if the outputs of X are declared. */
static void check_output(struct checking *c, const struct expr_ref *ref,
                         const struct workflow_task *t)
{
    const char *key = ref->path[2];
    char problem[160];

    if (t->foreach) {
        reader_error(c->r, c->use, ref->offset,
                     "%s: the outputs of \"%s\" are a list with one entry per item; write, "
                     "for example, tasks.%s.outputs[0].outputs.%.60s",
                     c->use->what, t->name, t->name, key);
        return;
    }
    snprintf(problem, sizeof(problem), "the task \"%.100s\" has no output", t->name);
    if (t->nested && !ref->optional)
        check_pair(c, ref, problem, key, &t->nested->outputs);
    else if (t->command.noutputs && !ref->optional)
        check_name(c, ref, problem, key, t->command.outputs, t->command.noutputs, sizeof(key));
}

static bool needs_directly(const struct workflow_task *t, uint32_t wanted)
{
    for (uint32_t i = 0; i < t->nneeds; i++)
        if (t->needs[i] == wanted)
            return true;
    return false;
}

/* The index of the task that the reference names; -1 if the task does not exist and an error was
 * added. */
static int64_t find_task(struct checking *c, const struct expr_ref *ref)
{
    const struct workflow *w = c->r->w;
    struct suggestion s = suggest_for(ref->path[0]);
    const struct yaml *value;

    if (c->r->tasks && (value = yaml_get(c->r->tasks, ref->path[0])))
        return reader_task_index(c->r, value);
    for (uint32_t i = 0;
         i < w->ntasks && (!c->r->tasks || !diagnostics_full(c->r->doc->diagnostics)); i++) {
        if (!strcmp(w->tasks[i].name, ref->path[0]))
            return i;
        suggest_try(&s, w->tasks[i].name);
    }
    report_missing(c, ref, "there is no task", ref->path[0], &s);
    return -1;
}

static void check_task(struct checking *c, const struct expr_ref *ref)
{
    static const char *const fields[] = {"status", "outputs", "error", NULL};
    const struct workflow *w = c->r->w;
    int64_t found = find_task(c, ref);
    uint32_t wanted = (uint32_t)found, task = c->use->task;

    if (found < 0)
        return;
    if (is_task(task) && task == wanted)
        reader_error(c->r, c->use, ref->offset, "%s: \"%s\" can't refer to itself", c->use->what,
                     ref->path[0]);
    else if (is_task(task) && !needs_directly(&w->tasks[task], wanted))
        *vec_add(&c->far) = (struct far_need){task, wanted, c->use, ref->offset};
    if (ref->n > 1)
        check_word(c, ref, "a task", ref->path[1], fields);
    if (ref->n > 2 && !strcmp(ref->path[1], "outputs"))
        check_output(c, ref, &w->tasks[wanted]);
}

static void check_reference(void *arg, const struct expr_ref *ref)
{
    static const char *const of_workflow[] = {"name", "hash", NULL};
    static const char *const at_the_end[] = {"name", "hash", "status", "error", NULL};
    static const char *const of_follow[] = {"workflow", "execution", "status", "error",
                                            "params",   "outputs",   NULL};
    static const char *const of_webhook[] = {"hook", "id", "headers", "body", NULL};
    static const char *const of_execution[] = {"id", "name", "root", "due_at", NULL};
    struct checking *c = arg;
    const struct workflow *w = c->r->w;
    const char *word = ref->path[0];

    if (!(available_names(c) & 1u << ref->name)) {
        report_unavailable(c, ref);
        return;
    }
    if (!ref->n && ref->name == EXPR_TASKS && is_task(c->use->task))
        reader_error(c->r, c->use, ref->offset,
                     "%s: tasks can be used as a whole, or with a computed name, only in "
                     "on_failure, on_exit and outputs; write tasks.NAME here",
                     c->use->what);
    if (!ref->n)
        return;
    switch (ref->name) {
    case EXPR_PARAMS:
        check_name(c, ref, "there is no param", word, w->params, w->nparams, sizeof(*w->params));
        break;
    case EXPR_ENV:
        check_pair(c, ref, "env has no variable", word, &w->env);
        break;
    case EXPR_VARS:
        check_pair(c, ref, "vars has no variable", word, &w->vars);
        break;
    case EXPR_TASKS:
        check_task(c, ref);
        break;
    case EXPR_WORKFLOW:
        check_word(c, ref, "workflow", word,
                   c->use->task == ON_FAILURE || c->use->task == ON_EXIT ? at_the_end
                                                                         : of_workflow);
        break;
    case EXPR_EXECUTION:
        check_word(c, ref, "execution", word, of_execution);
        break;
    case EXPR_TRIGGER:
        check_word(c, ref, "trigger", word,
                   c->use->scope == SCOPE_WEBHOOK ? of_webhook : of_follow);
        break;
    default:
        break;
    }
}

/* ---- all expressions ---- */

/* Adds success() && (…) to a task's condition if it calls no status function. The definition stores
 * the complete text, so that its meaning does not depend on the version of Pawl. */
static void complete_condition(struct checking *c, const struct expr *e, struct arena *arena)
{
    const struct text_use *use = c->use;
    struct workflow_task *t = is_task(use->task) ? &c->r->w->tasks[use->task] : NULL;
    const char *full = t && t->condition == use->text ? expr_complete_condition(e, arena) : NULL;
    struct expr_text text = {.at = full, .len = full ? strlen(full) : 0};
    struct expr_fault fault;

    if (!full)
        return;
    if (expr_parse_condition(&text, arena, &e, &fault))
        reader_error(
            c->r, use, 0,
            "%s: Pawl adds success() && (…) to a condition without a status function; with that, %s",
            use->what, fault.what);
    else
        t->condition = arena_strdup(c->r->arena, full);
}

static void check_text(struct checking *c, struct arena *arena)
{
    const struct text_use *use = c->use;
    struct expr_text text = {.at = use->text, .len = strlen(use->text)};
    const struct expr *e;
    struct expr_fault fault;

    if (use->condition ? expr_parse_condition(&text, arena, &e, &fault)
                       : expr_parse_template(&text, arena, &e, &fault)) {
        reader_error(c->r, use, fault.offset, "%s: %s", use->what, fault.what);
        return;
    }
    if (expr_statuses(e) && use->task == NO_TASK)
        reader_error(c->r, use, 0,
                     "%s: status functions such as success() can be used only in a task",
                     use->what);
    expr_references(e, check_reference, c);
    complete_condition(c, e, arena);
}

void reader_check_texts(struct reader *r, bool acyclic)
{
    struct checking c = {.r = r};
    AUTO_ARENA arena = ARENA_INIT;

    for (size_t i = 0; i < r->texts.n; i++) {
        c.use = &r->texts.at[i];
        check_text(&c, &arena);
        arena_reset(&arena);
    }
    if (acyclic && c.far.n)
        reader_check_far(r, c.far.at, c.far.n);
    vec_release(&c.far);
}
