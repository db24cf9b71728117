/* checkpoint.c - reads and writes checkpoint files (verify_internal.h). A file is written under a
 * temporary name and renamed when it is complete. This file does not access the database. */
#include "store/verify/verify_internal.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC   "pawl-checkpoint"
#define VERSION 1

/* ---- writing ---- */

struct checkpoint_writer {
    char *path, *temporary;
    FILE *file;
    int64_t lines;
    bool finished;
};

static int write_failed(const struct checkpoint_writer *w, struct err *err)
{
    return err_set(err, errno == ENOSPC || errno == EDQUOT ? E_NO_SPACE : E_INVALID,
                   "the checkpoint %s can't be written: %s", w->path, strerror(errno));
}

int checkpoint_create(const char *path, const struct verify *v, struct checkpoint_writer **out,
                      struct err *err)
{
    struct checkpoint_writer *w = mem_zalloc(sizeof(*w));
    int fd, rc = 0;

    w->path = mem_strdup(path);
    w->temporary = mem_printf("%s.XXXXXX", path);
    fd = mkostemp(w->temporary, O_CLOEXEC);
    if (fd < 0 || !(w->file = fdopen(fd, "w"))) {
        rc = write_failed(w, err);
        if (fd >= 0)
            close(fd);
        else
            w->finished = true; /* there is no file to remove */
    } else if (fprintf(w->file, MAGIC " %d %s %" PRId64 " %" PRId64 "\n", VERSION, v->database,
                       v->result->executions, v->result->events) < 0) {
        rc = write_failed(w, err);
    }
    if (rc)
        checkpoint_abandon(&w);
    else
        *out = w;
    return rc;
}

int checkpoint_add(struct checkpoint_writer *w, const struct mark *m, struct err *err)
{
    w->lines++;
    if (fprintf(w->file, "%" PRId64 " %" PRId64 " %d %d %d %d %s %s\n", m->root, m->id, m->status,
                m->seq, m->attempts, m->epoch, m->history, m->ending) < 0)
        return write_failed(w, err);
    return 0;
}

/* Syncs the folder of a file, so that renaming the file survives a power failure, too. */
static void sync_folder(const char *path)
{
    char *copy = mem_strdup(path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!fsync(fd);
        close(fd);
    }
    free(copy);
}

int checkpoint_finish(struct checkpoint_writer *w, struct err *err)
{
    if (fprintf(w->file, "end %" PRId64 "\n", w->lines) < 0 || fflush(w->file) ||
        fsync(fileno(w->file)) || rename(w->temporary, w->path))
        return write_failed(w, err);
    w->finished = true;
    sync_folder(w->path);
    return 0;
}

void checkpoint_abandon(struct checkpoint_writer **pw)
{
    struct checkpoint_writer *w = *pw;

    if (!w)
        return;
    if (w->file)
        fclose(w->file);
    if (!w->finished)
        unlink(w->temporary);
    free(w->path);
    free(w->temporary);
    free(w);
    *pw = NULL;
}

/* ---- reading ---- */

struct checkpoint_reader {
    char *path, *line;
    size_t cap;
    FILE *file;
    int64_t lines; /* number of executions read so far */
};

static int set_not_checkpoint_error(const struct checkpoint_reader *r, struct err *err)
{
    return err_set(err, E_INVALID,
                   "%s is not a checkpoint: its first line is not '" MAGIC
                   " …'; give a file written by verify --save",
                   r->path);
}

static int set_damaged_error(const struct checkpoint_reader *r, struct err *err)
{
    return err_set(err, E_INVALID,
                   "the checkpoint %s is damaged: line %" PRId64 " has an invalid format", r->path,
                   r->lines + 2);
}

/* Reads a line and removes its newline. Returns false at the end of the file or if the line has no
 * newline. */
static bool read_line(struct checkpoint_reader *r)
{
    ssize_t n = getline(&r->line, &r->cap, r->file);

    if (n <= 0 || r->line[n - 1] != '\n')
        return false;
    r->line[n - 1] = '\0';
    return true;
}

static int check_header(struct checkpoint_reader *r, const struct verify *v, struct err *err)
{
    char database[sizeof(v->database)] = "";
    int version = 0;

    if (!read_line(r) || sscanf(r->line, MAGIC " %d %127s", &version, database) != 2)
        return set_not_checkpoint_error(r, err);
    if (version != VERSION)
        return err_set(
            err, E_INVALID,
            "the checkpoint %s has version %d, but this program reads version %d: write a new one",
            r->path, version, VERSION);
    if (strcmp(database, v->database))
        return err_set(
            err, E_INVALID,
            "the checkpoint %s belongs to another database: it has the id %s, but this one has the "
            "id %s",
            r->path, database, v->database);
    return 0;
}

int checkpoint_open(const char *path, const struct verify *v, struct checkpoint_reader **out,
                    struct err *err)
{
    struct checkpoint_reader *r = mem_zalloc(sizeof(*r));
    int rc;

    r->path = mem_strdup(path);
    r->file = fopen(path, "re");
    rc = r->file ? check_header(r, v, err)
                 : err_set(err, errno == ENOENT ? E_NOT_FOUND : E_INVALID,
                           "the checkpoint %s can't be read: %s", path, strerror(errno));
    if (rc)
        checkpoint_close(&r);
    else
        *out = r;
    return rc;
}

/* Parses the next number of a line and moves *p past it; *p becomes NULL if there is no number. */
static int64_t parse_number(char **p)
{
    char *end = *p;
    int64_t n = *p ? strtoll(*p, &end, 10) : 0;

    *p = end && end != *p && *end == ' ' ? end + 1 : NULL;
    return n;
}

int checkpoint_next(struct checkpoint_reader *r, struct mark *m, bool *more, struct err *err)
{
    char *p;

    if (!read_line(r))
        return err_set(err, E_INVALID, "the checkpoint %s is incomplete: its last line is missing",
                       r->path);
    if (!strncmp(r->line, "end ", 4)) {
        *more = false;
        return strtoll(r->line + 4, NULL, 10) == r->lines ? 0 : set_damaged_error(r, err);
    }
    p = r->line;
    m->root = parse_number(&p);
    m->id = parse_number(&p);
    m->status = (int)parse_number(&p);
    m->seq = (int)parse_number(&p);
    m->attempts = (int)parse_number(&p);
    m->epoch = (int)parse_number(&p);
    if (!p || sscanf(p, "%16s %16s", m->history, m->ending) != 2)
        return set_damaged_error(r, err);
    r->lines++;
    *more = true;
    return 0;
}

void checkpoint_close(struct checkpoint_reader **pr)
{
    struct checkpoint_reader *r = *pr;

    if (!r)
        return;
    if (r->file)
        fclose(r->file);
    free(r->path);
    free(r->line);
    free(r);
    *pr = NULL;
}
