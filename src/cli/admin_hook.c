/* admin_hook.c - see admin_hook.h. A secret is printed alone on standard output, so that a script
 * can store it; the explanation goes to standard error. */
#include "cli/admin_hook.h"

#include "base/buf.h"
#include "cli/list.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECRET_FILE_MAX 4096 /* bytes */

/* ---- create ---- */

/* Reads the first line of the file, or of standard input for "-". */
static int read_secret(struct cli *c, const char *file, struct buf *out)
{
    bool is_stdin = !strcmp(file, "-");
    int fd = is_stdin ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && buf_read(out, fd, SECRET_FILE_MAX);

    if (!ok)
        snprintf(c->err.message, sizeof(c->err.message), "the secret can't be read from %.200s: %s",
                 file, strerror(errno));
    if (fd >= 0 && !is_stdin)
        close(fd);
    if (!ok)
        return -(c->err.code = PAWL_E_INVALID);
    out->len = strcspn(buf_cstr(out), "\r\n");
    out->ptr[out->len] = '\0';
    return 0;
}

static void explain(const struct pawl_hook *h)
{
    if (h->url)
        print_clean(stderr,
                    "webhook %s created: workers that serve the queue pawl:hooks report to %s, "
                    "signed with this secret; it is not shown again: store it now",
                    h->name, h->url);
    else
        print_clean(stderr,
                    "webhook %s created: send its messages to /v1/hooks/%s of a server, signed "
                    "with this secret; it is not shown again: store it now",
                    h->name, h->name);
}

static int create(struct cli *c, const struct admin_hook *o, const struct texts *queues,
                  const char *reason)
{
    struct pawl_hook h = {.name = c->words[2],
                          .signature = o->signature,
                          .url = o->url,
                          .statuses = o->statuses,
                          .workflow = o->workflow,
                          .queue = queues->n ? queues->at[0] : NULL,
                          .tasks = o->tasks};
    AUTO_BUF given = BUF_INIT;
    char *secret;

    if (queues->n > 1)
        return cli_wrong("a webhook reports one queue or all: give --queue once");

    if (o->secret_file) {
        TRY(read_secret(c, o->secret_file, &given));
        h.secret = buf_cstr(&given);
    }
    TRY(cli_open(c));
    TRY(pawl_hook_create(c->p, &h, NULL, reason, &secret, &c->err));
    if (c->json) {
        print_json_object(json_pack("{s:s, s:s}", "name", h.name, "secret", secret));
        free(secret);
        return 0;
    }
    explain(&h);
    return print_answer(secret);
}

/* ---- list ---- */

static const struct list_column columns[] = {
    {"<NAME", "name", NULL},
    {"<DIRECTION", "direction", NULL},
    {"<SIGNATURE", "signature", NULL},
    {"~<WORKFLOW", "workflow", NULL},
    {"~<URL", "url", NULL},
    {"<CREATED (UTC)", "created_at", NULL},
    {"~~<BY", "created_by", NULL},
};

static int print_hooks(struct cli *c)
{
    struct list l = {.columns = LIST_COLUMNS(columns), .json = c->json};

    TRY(cli_open(c));
    return list_end(&l, pawl_hooks(c->p, list_line, &l, &c->err));
}

/* ---- revoke ---- */

static int revoke_hook(struct cli *c, const char *reason)
{
    const char *name = c->words[2];

    TRY(cli_open(c));
    TRY(pawl_hook_revoke(c->p, name, NULL, reason, &c->err));
    if (c->json)
        print_json_object(json_pack("{s:s, s:s}", "name", name, "state", "revoked"));
    else
        print_clean(stdout, "webhook %s revoked", name);
    return 0;
}

int admin_hook(struct cli *c, const struct admin_hook *o, const struct texts *queues,
               const char *reason)
{
    const char *verb = c->nwords > 1 ? c->words[1] : "";
    bool creating = !strcmp(verb, "create"), listing = !strcmp(verb, "list");

    if (c->nwords != (listing ? 2 : 3) || (!creating && !listing && strcmp(verb, "revoke") != 0))
        return cli_wrong("write `pawl admin hook create NAME`, `list` or `revoke NAME`");
    if (!creating && (o->signature || o->secret_file || o->url || o->statuses || o->workflow ||
                      o->tasks || queues->n))
        return cli_wrong("--signature, --secret-file, --url, --status, --workflow, --queue and "
                         "--tasks belong to `pawl admin hook create`");
    if (creating)
        return create(c, o, queues, reason);
    return listing ? print_hooks(c) : revoke_hook(c, reason);
}
