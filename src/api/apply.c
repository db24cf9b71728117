/* apply.c - stores workflows under their names, and deletes such names; catalogue.c lists them. */
#include "api/api.h"
#include "base/text.h"
#include "store/schedule/catalogue.h"

#include <string.h>

/* ---- apply ---- */

struct applying {
    struct apply_request request;
    const struct api_source *from;
    const char *name; /* the name that the workflow must have; NULL if any */
    struct pawl_applied *out;
};

TURN_BODY(apply_body, op_apply)

static int load(const struct api_source *from, struct arena *arena, const struct workflow **out,
                struct err *err)
{
    return from->file || from->yaml || from->built
               ? api_load_workflow(from, arena, out, err)
               : workflow_read(from->text, strlen(from->text), arena, out, err);
}

/* The server gets the document, because it has other files. */
static int apply_remote(struct pawl *p, const struct applying *a, const struct workflow *w,
                        struct err *err)
{
    struct remote_apply given = {.document = a->request.definition,
                                 .source = a->request.source,
                                 .if_match = a->request.expected};

    TRY(remote_apply(p->remote, &given, a->out, err));
    if (a->out)
        api_describe(w, &a->out->definition);
    return 0;
}

static int apply(struct pawl *p, void *arg, struct err *err)
{
    struct applying *a = arg;
    AUTO_ARENA arena = ARENA_INIT;
    AUTO_BUF text = BUF_INIT;
    const struct workflow *w;

    if (!a->from->file && !a->from->yaml && !a->from->built && !a->from->text)
        return err_set(err, E_INVALID,
                       "the workflow to apply is missing: give a file, a text or a "
                       "built workflow");
    TRY(load(a->from, &arena, &w, err));
    if (a->name && strcmp(a->name, w->name))
        return err_set(err, E_INVALID, "the file defines the workflow %s, not %.100s: use its name",
                       w->name, a->name);
    workflow_write(w, &text);
    a->request.definition = buf_cstr(&text);
    a->request.source = a->from->text ? a->from->source : w->source;
    if (p->remote)
        return apply_remote(p, a, w, err);
    TRY(store_turn(p->store, apply_body, &a->request, err));
    if (a->out) {
        *a->out = (struct pawl_applied){.unchanged = a->request.unchanged,
                                        .kept = a->request.kept,
                                        .removed = a->request.removed};
        api_describe(w, &a->out->definition);
    }
    return 0;
}

int pawl_apply_with(struct pawl *p, const struct pawl_apply_options *o, struct pawl_applied *out,
                    struct pawl_error *e)
{
    struct api_source from = {.file = o->file,
                              .yaml = o->yaml,
                              .built = o->built,
                              .text = o->document,
                              .source = o->source};
    struct applying a = {.request = {.by = o->by, .expected = o->if_match},
                         .from = &from,
                         .name = o->name,
                         .out = out};

    return api_request(p, &a.request.by, NULL, apply, &a, e);
}

int pawl_apply(struct pawl *p, const char *file, const char *by, struct pawl_applied *out,
               struct pawl_error *e)
{
    return pawl_apply_with(p, &(struct pawl_apply_options){.file = file, .by = by}, out, e);
}

int pawl_apply_text(struct pawl *p, const char *yaml, const char *by, struct pawl_applied *out,
                    struct pawl_error *e)
{
    return pawl_apply_with(p, &(struct pawl_apply_options){.yaml = yaml, .by = by}, out, e);
}

int pawl_apply_built(struct pawl *p, struct pawl_workflow *built, const char *by,
                     struct pawl_applied *out, struct pawl_error *e)
{
    return pawl_apply_with(p, &(struct pawl_apply_options){.built = built, .by = by}, out, e);
}

/* ---- delete ---- */

int api_check_applied_name(const char *name, struct err *err)
{
    if (!name)
        return err_set(err, E_INVALID, "the name of the workflow is missing");
    return text_check_name("name of the workflow", name, WORKFLOW_NAME_MAX, err);
}

TURN_BODY(delete_body, op_delete_applied)

static int delete_remote(struct pawl *p, struct applied_deletion *d, struct err *err)
{
    struct pawl_applied_deleted out;

    TRY(remote_applied_delete(p->remote, d->name, d->expected, d->reason, &out, err));
    d->schedules = out.schedules;
    d->waiting = out.waiting;
    memcpy(d->hash, out.hash, sizeof(out.hash));
    return 0;
}

static int delete_applied(struct pawl *p, void *arg, struct err *err)
{
    const struct applied_deletion *d = arg;

    TRY(api_check_applied_name(d->name, err));
    if (p->remote)
        return delete_remote(p, arg, err);
    return store_turn(p->store, delete_body, arg, err);
}

int pawl_applied_delete(struct pawl *p, const char *name, const char *if_match, const char *by,
                        const char *reason, struct pawl_applied_deleted *out, struct pawl_error *e)
{
    struct applied_deletion d = {.name = name, .expected = if_match, .by = by, .reason = reason};

    TRY(api_request(p, &d.by, reason, delete_applied, &d, e));
    if (out) {
        *out = (struct pawl_applied_deleted){.schedules = d.schedules, .waiting = d.waiting};
        memcpy(out->hash, d.hash, sizeof(out->hash));
    }
    return 0;
}
