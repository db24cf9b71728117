/* process_internal.h - what the files of the process executor share. */
#ifndef EXEC_PROCESS_PROCESS_INTERNAL_H
#define EXEC_PROCESS_PROCESS_INTERNAL_H

#include "base/histogram.h"
#include "exec/attempt/attempt.h"
#include "exec/process/process.h"

/* One attempt that this worker holds.
 *
 *     start ─> ASKED ──answer──> RUNNING ──pidfd──> LOOKING ──record──> ended
 *                 └─helper died─────────────────────^  │ ^        └─begun, no record─> LOST ─>
 * ended find ────────────────────────────────────────────┘ └──held──> RUNNING */
enum watch_state {
    WATCH_REQUESTED, /* the helper was asked to start it */
    WATCH_RUNNING,   /* its shim lives: pidfd tells of its end */
    WATCH_CHECKING,  /* what is there is looked at under the attempt's lock */
    WATCH_LOST,      /* its shim died: what is left is being ended; `lock` is ours */
    WATCH_DROPPED,   /* reported or forgotten: freed at the end of the turn */
};

struct watch {
    struct watch *next;
    int64_t execution;
    int attempt, epoch;
    enum watch_state state;
    bool found;        /* not begun by us */
    bool shim_ended;   /* its pidfd said so */
    int64_t no_folder; /* when it had none, or something else in its place; 0: it had one */
    char fault[ATTEMPT_FAULT_SIZE]; /* what somebody did to its folder; "": nothing */
    bool started_reported;          /* that it started */
    bool cancelled;
    bool noted; /* that its end is known and can't be written or read yet */
    int at;     /* its folder */
    int pidfd, lock;
    int64_t begun;                /* CLOCK_BOOTTIME, µs */
    int64_t check_at, wait;       /* when to look again, and how long it was waited; 0: when told */
    enum attempt_command command; /* that the shim has not been told yet; 0: none */
    int64_t kill_at; /* when a shim that should have ended it long ago is killed; 0: never */
    enum outcome_kind kill_outcome; /* how it ended then */
    bool killed;
    int64_t log_sent, dropped_sent;
    int64_t log_total;        /* bytes that it had said when the newest of them were last told */
    struct attempt_shim shim; /* WATCH_LOST */
    struct undo undo;         /* the same */

    /* Of its spec, for what is said at its end. */
    int64_t timeout, grace;
    char *program, *cwd, *user;
    char **outputs; /* NULL: all */
};

/* The folder of a settled attempt. */
struct removal {
    struct removal *next;
    int64_t execution;
    int attempt;
    int64_t due; /* CLOCK_BOOTTIME, µs: its tombstone stands until then; 0: there was none */
};

struct removals {
    struct removal *first, **end;
};

/* Processes that are of attempts below our folder, as of that time: one look for all that are found
 * without a folder. */
struct strays {
    int64_t looked_at; /* CLOCK_BOOTTIME, µs; 0: never */
    VEC(struct stray {
        int64_t execution;
        int attempt;
        pid_t pid;
    })
    all;
};

#define WATCH_BUCKETS 256 /* a power of two */

struct process {
    struct executor x;
    struct env no_env;
    char *key, *dir_path, *shim_path, *secrets;
    int dir, poll, timer;
    int64_t timer_at;     /* that it is set to; 0: not set */
    int64_t log_check_at; /* when logs are looked at next */
    int slots;
    int64_t lease, fence, grace, log_head, log_tail;
    char **allow;
    struct spec_pair *extra;
    size_t nextra;
    int (*resolve_secret)(void *arg, const char *name, struct buf *out, struct err *err);
    void *secret_arg;
    bool in_containers; /* commands run so: */
    struct container_options container;

    pid_t helper; /* 0: none */
    int socket;   /* to it */

    struct watch *watches[WATCH_BUCKETS];
    int running;
    bool any_dropped, closed; /* closed: takes nothing more */
    struct strays strays;
    struct removals removals, delayed_removals; /* late: for whom a shim may still come, by time */

    int64_t failed;
    struct histogram times;
};

/* process.c */
extern const struct executor_ops process_ops, container_ops;
struct watch *watch_new(struct process *p, const struct task *t, int at);
struct watch *watch_find(struct process *p, int64_t execution, int attempt); /* or NULL */
void watch_drop(struct process *p, struct watch *w);     /* closes its handles; freed later */
void process_set_timer(struct process *p, int64_t when); /* calls for a turn by then */
bool process_poll_add(struct process *p, int fd, void *what);
void process_free_dropped(struct process *p); /* frees what was dropped */
void process_drop_all(struct process *p);     /* of all that it watches, and of its helper */

/* process_cleanup.c */
void removals_init(struct removals *l);
void removals_release(struct removals *l);
void process_cleanup(struct process *p, int most); /* removes folders of settled attempts */
void process_settled(struct executor *x, int64_t execution, int attempt);
void process_leftovers(struct executor *x, void (*each)(void *arg, int64_t execution, int attempt),
                       void *arg);

/* create.c */
void process_free(struct executor *x);
char **process_copy_list(const char *const *list); /* NULL: an empty one */
void process_free_list(char **list);
void process_close_fd(int *fd); /* closes it if it is open, and says so */

/* helper.c */
MUST_USE int process_helper_start(struct process *p, struct err *err);
void process_helper_stop(struct process *p);
/* Takes the answers that are there. */
void process_helper_receive(struct process *p);
/* Ends it: it was asked too long ago. The next start has a new one. */
void process_helper_replace(struct process *p);
MUST_USE int process_helper_send(struct process *p, const struct watch *w,
                                 const struct buf *request, struct err *err);

/* start.c */
int process_start(struct executor *x, const struct task *t, struct err *err);
/* Of an attempt whose file is not there any more, or harmed. */
void process_set_undo_by_name(struct process *p, struct watch *w);

/* environment.c */
/* The task's environment as NAME=VALUE, ends with NULL, and the values of its secrets. */
struct variables {
    VEC(char *) all, secrets;
};
MUST_USE int process_variables(struct process *p, const struct task *t, const char *key,
                               const char *output, struct variables *out, struct err *err);
void process_variables_release(struct variables *v); /* wipes them */

/* reattach.c */
void watch_helper_answered(struct process *p, struct watch *w, int pidfd);
void watch_check(struct process *p, struct watch *w);        /* LOOKING or LOST, and it is time */
void watch_send_command(struct process *p, struct watch *w); /* its command, if it has one */
#define UNWRITTEN "its shim can't write its exit record or its outputs"
/* Tells the operator, once, that an attempt has ended and why that can't be recorded yet. */
void watch_note(const struct process *p, struct watch *w, const char *what);
/* kill_at is over; `away`: so long did we not look ourselves that the shim may be no better off. */
void watch_kill_overdue(struct process *p, struct watch *w, bool away);
/* This worker takes nothing more: what its shim has not begun yet is given back. */
void watch_refuse_unstarted(struct process *p, struct watch *w);

/* tampered.c: folders that a task has changed */
/* Notes what is wrong with it, if something is. The first stays. */
bool watch_note_fault(struct watch *w);
/* The same for a file that can't be opened as ours: something is wrong. */
void watch_note_file(struct watch *w, const char *name, int error);
/* The same if its lock has a second name: it may be the lock of another attempt. */
bool watch_note_shared_lock(struct watch *w);
/* Its lock says that it is free, or can't be locked: the handle of a shim that lives all the same,
 * or -1. */
MUST_USE int watch_shim_without_lock(struct watch *w, int64_t *begun);
/* Opens the folder to look what became of it; makes one where there is none, and says when that was
 * (0: it had one). -1 and errno. */
MUST_USE int process_open_folder(struct process *p, const struct task *t,
                                 char fault[ATTEMPT_FAULT_SIZE], int64_t *no_folder);
/* Of an attempt that had no folder: kills what says by its environment that it is of it. True:
 * something was found alive, so it is to be looked for again. */
MUST_USE bool watch_kill_strays(struct process *p, const struct watch *w);

/* process_reports.c */
void process_report_started(struct process *p, struct watch *w);
void process_report_log(struct process *p, struct watch *w);
/* False: nothing was reported, as its outputs can't be read for now. Drops the watch otherwise. */
MUST_USE bool process_report_exit(struct process *p, struct watch *w,
                                  const struct attempt_exit *end);
/* Ended without a record: lost or refused. Drops the watch. */
void process_report_end(struct process *p, struct watch *w, enum outcome_kind kind,
                        const char *error);
/* The same for one whose folder was changed (w->fault): failed, or lost if nobody can know whether
 * all of it has ended. */
void process_report_fault(struct process *p, struct watch *w);

#endif
