/* workflow_read.h - what the files that read a workflow share. Reading goes by the table of keys;
 * what needs the whole graph is checked at the end (workflow_check.c, workflow_refs.c).
 *
 *   workflow.c         files, and those that they nest
 *   workflow_root.c    a whole file
 *   workflow_map.c     a mapping, by the table of keys
 *   workflow_types.c   one reader for each type of key; of these are
 *   workflow_lists.c     lists, and mappings of anything
 *   workflow_groups.c    small mappings, and what is short for them
 *   workflow_tasks.c     tasks and defaults
 *   workflow_params.c    params and schedules
 *   workflow_value.c     JSON
 *   workflow_check.c   circles, and who needs whom
 *   workflow_refs.c    what expressions speak of; workflow_place.c says where that stands */
#ifndef FLOW_WORKFLOW_READ_H
#define FLOW_WORKFLOW_READ_H

#include "flow/keys.h"
#include "flow/workflow.h"
#include "flow/yaml.h"

/* A text with ${{ }} in it, to be checked once the graph is known. */
struct text_use {
    const char *text;
    const char *what; /* its name in sentences */
    uint32_t line, column;
    uint32_t task; /* whose; NO_TASK: the workflow's own */
    enum scope scope;
    bool condition; /* an expression by itself */
};
#define NO_TASK    UINT32_MAX
#define ON_FAILURE (UINT32_MAX - 1)
#define ON_EXIT    (UINT32_MAX - 2)

struct loading; /* the files, see workflow.c */

struct reader {
    const struct yaml_doc *doc;
    struct loading *loading;
    struct arena *arena;
    struct workflow *w;

    /* Where reading is just now. */
    uint32_t task; /* as in text_use */
    enum scope scope;
    const struct yaml *tasks;     /* the mapping; NULL: they are a list */
    struct workflow_task *common; /* defaults */
    size_t common_size;           /* bytes that these add to the text of a task, about */
    bool bad_task;                /* there was a problem with this task already */
    VEC(struct text_use) texts;
    struct arena scratch;
};

/* A name in sentences, "tasks.extract.retry": lives in the caller's array. */
#define WHAT_SIZE 320
const char *wr_what(char *out, const char *above, const char *name);

/* Counts bytes of text that the definition keeps. False: they are too many, which is a problem that
 * is added once. */
bool wr_spend(struct reader *r, const struct yaml *node, size_t bytes);
/* A copy in the arena; "" once they are too many. */
const char *wr_keep(struct reader *r, const struct yaml *node, const char *text);

/* ---- by the table ---- */

/* Reads the keys of a mapping into a structure. `places`: only keys that may stand in one of these
 * (0: all). */
void wr_keys(struct reader *r, const struct keys *keys, const struct yaml *map, const char *what,
             unsigned places, void *to);
/* Says that there is no such key among them, and which one may be meant. */
void wr_unknown_key(struct reader *r, const struct keys *keys, const struct yaml *key,
                    const char *what, unsigned places);
/* Reads one value. `to` is the structure. False: a problem was added. */
bool wr_key(struct reader *r, const struct key *k, const struct yaml *node, const char *what,
            void *to);

/* Readers of one type of key: `to` is the value's place in its structure. */
typedef bool wr_reader(struct reader *r, const struct key *k, const struct yaml *node,
                       const char *what, void *to);
wr_reader wr_type_template, wr_type_variables, wr_type_outputs, wr_type_templates, wr_type_codes,
    wr_type_env, wr_type_values, wr_type_literal, wr_type_foreach, wr_type_retry, wr_type_limits,
    wr_type_container, wr_type_concurrency, wr_type_approval;

/* ---- what has a shape of its own ---- */

/* A whole file. If no problem was added, the definition is finished. */
void wr_root(struct reader *r, const struct yaml *root);
bool wr_tasks(struct reader *r, const struct yaml *node, const char *what);
/* The task whose value this is. */
uint32_t wr_task_index(const struct reader *r, const struct yaml *value);
bool wr_hook(struct reader *r, const struct yaml *node, const char *name,
             struct workflow_task **out);
bool wr_defaults(struct reader *r, const struct yaml *node, const char *what);
bool wr_needs(struct reader *r, const struct yaml *node, const char *what, struct workflow_task *t);
bool wr_params(struct reader *r, const struct yaml *node, const char *what);
bool wr_schedules(struct reader *r, const struct yaml *node, const char *what);
/* Another file; the problem is added at the node. */
bool wr_nested(struct reader *r, const struct yaml *node, const char *what,
               const struct workflow **out);

/* ---- values ---- */

bool wr_is_variable(const char *s);
/* As canonical JSON in the arena; NULL: a problem was added. Texts with ${{ }} are noted for later,
 * or, if `literal`, stay what they are. */
const char *wr_value(struct reader *r, const struct yaml *node, const char *what, bool literal);
/* JSON in the very form in which a stored one is read again; NULL: it is none. */
const char *wr_canonical(struct reader *r, const struct buf *text);
/* Notes a text for later if it has ${{ }} in it. */
void wr_note_text(struct reader *r, const struct yaml *node, const char *text, const char *what);
void wr_note_condition(struct reader *r, const struct yaml *node, const char *text,
                       const char *what);
/* Values for params: that there are such, that they have the right types, that none is missing.
 * `with` may be NULL. */
void wr_check_with(struct reader *r, const struct workflow *of, const struct yaml *with,
                   const struct yaml *place, const char *what);
bool wr_check_type(struct reader *r, const struct yaml *node, const char *what,
                   enum param_type type);

/* ---- at the end ---- */

/* Looks for circles. False: there is one. */
bool wr_check_graph(struct reader *r);
/* Compiles each text that was noted, and looks for what it names; `whole`: there is no circle. */
void wr_check_texts(struct reader *r, bool whole);
/* Whether these tasks are among those that others need, directly or not; those that are not get a
 * problem. */
struct far_need {
    uint32_t task, wanted;
    const struct text_use *use;
    size_t offset;
};
void wr_check_far(struct reader *r, const struct far_need *list, size_t n);
/* Adds a problem at an offset of the text, or where it begins, if that can't be told. */
void wr_problem(struct reader *r, const struct text_use *use, size_t offset, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#endif
