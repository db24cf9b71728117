/* bulk.c - acts on executions given by ids or by filters; see bulk.h. */
#include "cli/bulk.h"

#include <string.h>
#include <unistd.h>

#define SHOWN 10 /* executions listed by a dry run */

struct bulk_printing {
    struct cli *c;
    const struct bulk_options *o;
    const struct bulk_action *a;
    int64_t n; /* lines so far */
};

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- each execution ---- */

static const char *word_for(const struct bulk_action *a, const char *status)
{
    return a->asked && !strcmp(status, "running") ? a->asked : a->done;
}

static int print_one(void *arg, const char *json)
{
    struct bulk_printing *p = arg;
    json_auto_t *o = NULL;

    p->n++;
    if (p->c->json)
        return print_line(NULL, json);
    o = parse_object(json);
    if (*field(o, "error"))
        print_clean(stderr, "pawl: %s", field(o, "error"));
    else if (!p->o->dry_run)
        printf("execution %lld: %s\n", (long long)field_int(o, "id"),
               word_for(p->a, field(o, "status")));
    else if (p->n <= SHOWN)
        print_clean(stdout, "would %s %lld %s (%s)", p->c->command->name,
                    (long long)field_int(o, "id"), field(o, "name"), field(o, "status"));
    return 0;
}

/* ---- the result ---- */

static void print_result(const struct bulk_printing *p, const struct pawl_bulk_result *r)
{
    if (!r->matched)
        fprintf(stderr, "pawl: no executions%s match%s\n",
                p->o->filter.q.all || p->o->filter.parent ? "" : " without a parent",
                p->o->filter.q.all || p->o->filter.parent ? "" : "; --all searches at any depth");
    else if (p->o->dry_run)
        printf("would %s %lld execution%s%s\n", p->c->command->name, (long long)r->matched,
               plural(r->matched), r->matched > SHOWN ? "; the newest are listed" : "");
    else if (r->done == r->matched)
        printf("%lld execution%s done\n", (long long)r->done, plural(r->done));
    else
        printf("%lld of %lld executions done, %lld refused, %lld had changed\n", (long long)r->done,
               (long long)r->matched, (long long)r->refused, (long long)r->changed);
}

/* ---- the question ---- */

/* Asks the user once, naming the number of executions. Restricts the action to the executions that
 * were counted. */
static int confirm(struct bulk_printing *p, struct bulk_options *o, struct pawl_bulk b,
                   bool *confirmed)
{
    struct pawl_bulk_result r;
    char answer[16];

    b.dry_run = true;
    TRY(pawl_bulk(p->c->p, &b, NULL, NULL, &r, &p->c->err));
    o->filter.q.before = r.before;
    *confirmed = !r.matched; /* without executions there is nothing to ask */
    if (*confirmed)
        return 0;
    fprintf(stderr, "%s %lld execution%s? [y/N] ", p->c->command->name, (long long)r.matched,
            plural(r.matched));
    *confirmed = fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
    if (!*confirmed)
        fprintf(stderr, "pawl: nothing was changed\n");
    return 0;
}

static int act_on_matches(struct cli *c, struct bulk_options *o, const struct bulk_action *a)
{
    struct bulk_printing p = {.c = c, .o = o, .a = a};
    struct pawl_bulk b = {
        .action = a->name, .filter = &o->filter.q, .dry_run = o->dry_run, .reason = a->reason};
    bool confirmed = o->yes || o->dry_run || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO);
    struct pawl_bulk_result r;

    TRY(cli_open(c));
    TRY(filter_resolve(c, &o->filter));
    if (!confirmed)
        TRY(confirm(&p, o, b, &confirmed));
    if (!confirmed)
        return 0;
    TRY(pawl_bulk(c->p, &b, print_one, &p, &r, &c->err));
    if (!c->json)
        print_result(&p, &r);
    return r.code ? pawl_exit_code(r.code) : 0;
}

int bulk_run(struct cli *c, struct bulk_options *o, const struct bulk_action *a)
{
    bool filtered = filter_is_given(&o->filter) || o->filter.q.all || o->filter.q.limit || o->yes;

    if (c->nwords && filtered)
        return cli_wrong("pawl %s takes either ids or filters, not both: see `pawl help %s`",
                         c->command->name, c->command->name);
    if (!c->nwords && !filtered)
        return cli_wrong("pawl %s needs more arguments: write ids, or filters such as --workflow; "
                         "see `pawl help %s`",
                         c->command->name, c->command->name);
    if (!c->nwords)
        return act_on_matches(c, o, a);
    TRY(cli_open(c));
    return cli_each_id(c, a->run_id);
}
