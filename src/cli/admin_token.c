/* admin_token.c - `pawl admin token`: creates, lists and revokes access tokens; see admin_token.h.
 * A token is printed alone on standard output, so that a script can store it; the explanation goes
 * to standard error. */
#include "cli/admin_token.h"

#include "cli/list.h"

#include <stdlib.h>
#include <string.h>

/* ---- create ---- */

static const char *const *list_or_null(const struct texts *t)
{
    return t->n ? t->at : NULL;
}

static void explain(const struct pawl_token *t)
{
    char lifetime[DURATION_TEXT_SIZE];

    if (t->expires_in)
        print_clean(stderr, "token %s created, valid for %s; it is not shown again: store it now",
                    t->name, text_duration(t->expires_in, lifetime));
    else
        print_clean(stderr,
                    "token %s created, valid until it is revoked; it is not shown again: store it "
                    "now",
                    t->name);
}

static int create(struct cli *c, const struct admin_token *o, const char *reason)
{
    struct pawl_token t = {.name = c->words[2],
                           .queues = list_or_null(&o->queues),
                           .lanes = list_or_null(&o->lanes),
                           .expires_in = o->expires == NO_EXPIRY ? 0 : o->expires};
    char *text;

    if (!o->scope)
        return cli_wrong("missing scope: write `pawl admin token create NAME --scope read,submit`");
    if (!o->expires)
        return cli_wrong("--expires needs a duration longer than 0; without it the token never "
                         "expires");
    TRY(pawl_scopes_parse(o->scope, &t.scopes, &c->err));
    TRY(cli_open(c));
    TRY(pawl_token_create(c->p, &t, NULL, reason, &text, &c->err));
    if (!c->json) {
        explain(&t);
        return print_answer(text);
    }
    print_json_object(json_pack("{s:s, s:s}", "name", t.name, "token", text));
    free(text);
    return 0;
}

/* ---- list ---- */

/* Adds a list of words; `none` is shown for null. */
static void add_words(struct table *t, const json_t *words, const char *none)
{
    AUTO_BUF cell = BUF_INIT;
    const json_t *word;
    size_t i;

    json_array_foreach(words, i, word)
    {
        buf_addstr(&cell, i ? "," : "");
        out_clean(&cell, json_string_value(word));
    }
    table_add(t, cell.len ? buf_cstr(&cell) : none);
}

static void cell_scopes(struct table *t, const json_t *o)
{
    add_words(t, json_object_get(o, "scopes"), "-");
}

static void cell_queues(struct table *t, const json_t *o)
{
    add_words(t, json_object_get(o, "queues"), "any");
}

static void cell_lanes(struct table *t, const json_t *o)
{
    add_words(t, json_object_get(o, "lanes"), "any");
}

static void cell_state(struct table *t, const json_t *o)
{
    const char *state = field(o, "state");

    table_add_tinted(t, strcmp(state, "active") ? TINT_BUSY : TINT_PLAIN, state);
}

static const struct list_column columns[] = {
    {"<NAME", "name", NULL},
    {"<SCOPES", "scopes", cell_scopes},
    {"~~<QUEUES", "queues", cell_queues},
    {"~~<LANES", "lanes", cell_lanes},
    {"<EXPIRES (UTC)", "expires_at", NULL},
    {"~<LAST USED (UTC)", "last_used_at", NULL},
    {"<STATE", "state", cell_state},
};

static int print_tokens(struct cli *c)
{
    struct list l = {.columns = LIST_COLUMNS(columns), .json = c->json};

    TRY(cli_open(c));
    return list_end(&l, pawl_tokens(c->p, list_line, &l, &c->err));
}

/* ---- revoke ---- */

static int revoke(struct cli *c, const char *reason)
{
    const char *name = c->words[2];

    TRY(cli_open(c));
    TRY(pawl_token_revoke(c->p, name, NULL, reason, &c->err));
    if (c->json)
        print_json_object(json_pack("{s:s, s:s}", "name", name, "state", "revoked"));
    else
        print_clean(stdout, "token %s revoked", name);
    return 0;
}

int admin_token(struct cli *c, const struct admin_token *o, const char *reason)
{
    const char *verb = c->nwords > 1 ? c->words[1] : "";
    bool creating = !strcmp(verb, "create"), listing = !strcmp(verb, "list");

    if (c->nwords != (listing ? 2 : 3) || (!creating && !listing && strcmp(verb, "revoke") != 0))
        return cli_wrong("write `pawl admin token create NAME --scope SCOPES`, `list` or `revoke "
                         "NAME`");
    if (!creating && (o->scope || o->queues.n || o->lanes.n || o->expires != NO_EXPIRY))
        return cli_wrong(
            "--scope, --queue, --lane and --expires belong to `pawl admin token create`");
    if (creating)
        return create(c, o, reason);
    return listing ? print_tokens(c) : revoke(c, reason);
}
