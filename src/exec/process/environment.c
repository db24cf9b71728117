/* environment.c - builds the environment of a task: the allowed variables of the worker, those for
 * every task, those of its spec, its secrets, and Pawl's own; later ones override earlier ones. */
#include "exec/process/process_internal.h"

#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLE_MAX (128 << 10) /* the kernel's limit for one NAME=VALUE with its NUL */
#define SECRET_MAX   (64 << 10)

static void wipe_and_free(char *s)
{
    if (s)
        explicit_bzero(s, strlen(s));
    free(s);
}

static void set_variable(struct variables *v, const char *name, const char *value)
{
    size_t len = strlen(name);
    char *text = mem_printf("%s=%s", name, value);

    for (size_t i = 0; i < v->all.n; i++) {
        if (strncmp(v->all.at[i], name, len) == 0 && v->all.at[i][len] == '=') {
            wipe_and_free(v->all.at[i]);
            v->all.at[i] = text;
            return;
        }
    }
    *vec_add(&v->all) = text;
}

static void set_variable_i64(struct variables *v, const char *name, int64_t n)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, n);
    set_variable(v, name, text);
}

/* ---- secrets ---- */

static int check_secret_file(const struct stat *st, const char *path, const char *name,
                             struct err *err)
{
    if (!S_ISREG(st->st_mode))
        return err_set(err, E_INVALID, "the file %s of the secret %s is not a regular file", path,
                       name);
    if (st->st_uid != geteuid())
        return err_set(err, E_INVALID,
                       "the file %s of the secret %s must belong to the worker's user: run chown "
                       "on it",
                       path, name);
    if (st->st_mode & 077)
        return err_set(err, E_INVALID,
                       "the file %s of the secret %s must be accessible only to the worker's "
                       "user: run chmod 600 on it",
                       path, name);
    return 0;
}

static int read_secret(const struct process *p, const char *name, struct buf *out, struct err *err)
{
    AUTO_FREE char *path = mem_printf("%s/%s", p->secrets, name);
    AUTO_FD fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    ssize_t n;

    if (fd < 0 && errno == ENOENT)
        return err_set(err, E_INVALID,
                       "the secret %s is not in the worker's environment, and the file %s does "
                       "not exist: set the variable, or write the secret to that file",
                       name, path);
    if (fd < 0 && errno == ELOOP)
        return err_set(err, E_INVALID,
                       "the file %s of the secret %s is a symbolic link: replace it with a "
                       "regular file",
                       path, name);
    if (fd < 0 || fstat(fd, &st))
        return err_set(err, E_INVALID, "the file %s of the secret %s can't be read: %s", path, name,
                       strerror(errno));
    TRY(check_secret_file(&st, path, name, err));
    buf_reserve(out, SECRET_MAX); /* reserve all at once: a growing buffer would leave copies of the
                                     secret in memory */
    n = read(fd, out->ptr, SECRET_MAX);
    if (n < 0)
        return err_set(err, E_INVALID, "the file %s of the secret %s can't be read: %s", path, name,
                       strerror(errno));
    if (n == SECRET_MAX)
        return err_set(err, E_INVALID,
                       "the file %s of the secret %s is too long: at most %d bytes are allowed",
                       path, name, SECRET_MAX - 1);
    out->len = (size_t)n;
    if (out->len && out->ptr[out->len - 1] == '\n')
        out->len--;
    out->ptr[out->len] = '\0';
    return 0;
}

static int find_secret(const struct process *p, const char *name, struct buf *out, struct err *err)
{
    const char *value;

    if (!text_is_variable(name, SIZE_MAX))
        return err_set(err, E_INVALID,
                       "\"%s\" is not a valid secret name: use letters, digits and _, and do not "
                       "start with a digit",
                       name);
    if (p->resolve_secret)
        return p->resolve_secret(p->secret_arg, name, out, err);
    value = getenv(name);
    if (value) {
        buf_addstr(out, value);
        return 0;
    }
    if (!p->secrets)
        return err_set(err, E_INVALID,
                       "the secret %s is not in the worker's environment: set a variable of that "
                       "name before the worker starts",
                       name);
    return read_secret(p, name, out, err);
}

static int set_secrets(const struct process *p, const struct spec *spec, struct variables *v,
                       struct err *err)
{
    int rc = 0;

    for (size_t i = 0; !rc && i < spec->nsecrets; i++) {
        AUTO_BUF value = BUF_INIT;

        rc = find_secret(p, spec->secrets[i], &value, err);
        if (!rc) {
            set_variable(v, spec->secrets[i], buf_cstr(&value));
            *vec_add(&v->secrets) = mem_strdup(buf_cstr(&value));
        }
        if (value.ptr)
            explicit_bzero(value.ptr, value.cap);
    }
    return rc;
}

/* ---- the whole environment ---- */

static void set_files(struct variables *v, const struct spec *spec, const char *folder)
{
    for (size_t i = 0; i < spec->nfiles; i++) {
        AUTO_FREE char *path = mem_printf("%s/%s", folder, spec->files[i].key);

        set_variable(v, spec->files[i].key, path);
    }
}

static void set_pawl_variables(struct variables *v, const struct job *j, const char *key,
                               const char *output)
{
    set_variable_i64(v, "PAWL_EXECUTION_ID", j->execution);
    set_variable_i64(v, "PAWL_ROOT_ID", j->root);
    set_variable_i64(v, "PAWL_ATTEMPT", j->attempt);
    set_variable_i64(v, "PAWL_EPOCH", j->epoch);
    set_variable(v, "PAWL_TASK", j->name ? j->name : "");
    set_variable(v, "PAWL_OUTPUT", output);
    set_variable(v, ATTEMPT_KEY_NAME, key);
    if (j->input && strlen(j->input) + sizeof("PAWL_INPUT=") <= VARIABLE_MAX)
        set_variable(v, "PAWL_INPUT", j->input);
}

int process_variables(struct process *p, const struct job *j, const char *key,
                      const struct paths *paths, struct variables *out, struct err *err)
{
    const struct spec *spec = j->spec;
    struct variables v = {0};
    int rc;

    for (char **name = p->allow; *name; name++) {
        const char *value = getenv(*name);

        if (value)
            set_variable(&v, *name, value);
    }
    /* Another user must not get the URL of the worker's database, which may contain a password. */
    for (size_t i = 0; i < p->nextra && !spec->user; i++)
        set_variable(&v, p->extra[i].key, p->extra[i].value);
    for (size_t i = 0; i < spec->nenv; i++)
        set_variable(&v, spec->env[i].key, spec->env[i].value);
    set_files(&v, spec, paths->values);
    rc = set_secrets(p, spec, &v, err);
    if (rc) {
        process_variables_release(&v);
        return rc;
    }
    set_pawl_variables(&v, j, key, paths->output);
    *vec_add(&v.all) = NULL;
    *vec_add(&v.secrets) = NULL;
    *out = v;
    return 0;
}

void process_variables_release(struct variables *v)
{
    for (size_t i = 0; i < v->all.n; i++)
        wipe_and_free(v->all.at[i]);
    for (size_t i = 0; i < v->secrets.n; i++)
        wipe_and_free(v->secrets.at[i]);
    vec_release(&v->all);
    vec_release(&v->secrets);
}
