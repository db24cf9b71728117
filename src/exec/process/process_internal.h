/* process_internal.h - structures and functions shared by the files of the process executor. */
#ifndef EXEC_PROCESS_PROCESS_INTERNAL_H
#define EXEC_PROCESS_PROCESS_INTERNAL_H

#include "base/fd.h"
#include "base/wakeup.h"
#include "exec/attempt/attempt.h"
#include "exec/process/process.h"

#include <sys/queue.h>

/* The states of an attempt that this worker watches:
 *
 *     from        event                                    to
 *     -           start                                    REQUESTED
 *     -           reattach                                 CHECKING
 *     REQUESTED   the helper answers with a pidfd          RUNNING
 *     REQUESTED   the helper answers with an error         DROPPED, reported as refused
 *     REQUESTED   the helper dies or does not answer       CHECKING
 *     RUNNING     the pidfd is readable: the shim ended    CHECKING
 *     CHECKING    the shim lives                           RUNNING
 *     CHECKING    no shim, but a container may be left     ASKING
 *     ASKING      the container runs or has ended          REQUESTED, another shim
 *     ASKING      there is no such container               LOST
 *     CHECKING    no shim, but remains may be left         LOST
 *     CHECKING    no shim and nothing left                 DROPPED, after its report
 *     LOST        the remains are gone                     DROPPED, after its report
 *     any         the lease is lost, or the worker stops   DROPPED, without a report */
enum watch_state {
    WATCH_REQUESTED, /* the helper was asked to start the shim */
    WATCH_RUNNING,   /* the shim lives; its pidfd becomes readable when it ends */
    WATCH_CHECKING,  /* the folder is to be inspected under the attempt's lock (reattach.c) */
    WATCH_ASKING,    /* the shim died and the container engine is asked for the container; this
                        worker holds `lock` */
    WATCH_LOST,      /* the shim died and its remains are being ended; this worker holds `lock` */
    WATCH_DROPPED,   /* reported, forgotten or lost; freed by a poll once it is released */
};

struct watch {
    struct watch *next;
    int64_t execution;
    int attempt, epoch;
    enum watch_state state;
    bool is_released;  /* the engine does not use the watch any more */
    bool is_adopted;   /* reattached: this executor did not start it */
    bool shim_ended;   /* the pidfd of its shim was readable */
    bool unrecorded;   /* the attempt was started, but its record was removed */
    bool unmarked;     /* adopted: the file of the worker that claimed it proves that it never
                          requested a shim */
    bool given_up;     /* the attempt had a tombstone when it was checked */
    bool unstarted;    /* proved under the attempt's lock: it was never started */
    pid_t shim_pid;    /* pid of the shim that this worker's helper started; 0 if unknown */
    int64_t no_folder; /* when the attempt's folder was found missing or replaced; 0 if it had
                          one */
    char fault[ATTEMPT_FAULT_SIZE]; /* how the attempt's folder was tampered with; "" if it was
                                       not */
    bool started_reported;          /* REPORT_STARTED was sent */
    bool cancelled;
    bool has_limits; /* the task limits its own memory, files or processes */
    bool noted;      /* the operator was notified that the end of the attempt can't be written or
                        read yet */
    int at;          /* descriptor of the attempt folder */
    int pidfd, lock;
    int64_t begun;          /* CLOCK_BOOTTIME, µs */
    int64_t check_at, wait; /* time of the next check (0: on an event only); last pause, µs */
    enum attempt_command command; /* not yet sent to the shim; 0 if none */
    enum attempt_command
        requested;   /* the last command, for the shim of a resumed attempt; 0 if none */
    int64_t kill_at; /* when a shim that should have ended long before is killed; 0 if never */
    enum outcome_kind kill_outcome; /* the outcome if the shim is killed at kill_at */
    bool killed;
    int64_t log_sent, dropped_sent;
    int64_t log_total;        /* bytes that the task had printed when the newest bytes were last
                                 reported */
    struct attempt_shim shim; /* WATCH_ASKING and WATCH_LOST only */
    struct undo undo;         /* removes the attempt's container */
    int resumes;              /* how many shims of this worker have resumed the container and
                                 died */
    int unpublished;          /* how many shims in a row were requested and have not published their
                                 record */
    bool unwatched_noted;     /* the operator was notified that no shim can be started */
    struct {
        int64_t pid, start_time;
    } dead; /* the shim that the requested one replaces; pid 0 if none was requested */
    bool container_ended; /* the newest shim only records the end of the container */
    struct lookup {
        pid_t pid; /* the command that asks the container engine; 0 if none runs */
        int out;   /* read end of the command's output */
        int64_t started_at;
        struct buf answer;
        bool noted; /* the operator was notified that the container engine does not answer */
    } lookup;

    /* From the job's spec; the report of the attempt's end names them. */
    int64_t timeout, grace;
    char *program, *cwd, *user;
    char **outputs; /* names of the outputs to keep; NULL means all */
    char **secrets; /* names of the secrets; NULL if none */
};

/* The folder of a settled attempt, to be removed. */
struct removal {
    STAILQ_ENTRY(removal) next;
    int64_t execution;
    int attempt;
    int64_t due; /* CLOCK_BOOTTIME, µs: the tombstone is kept until then; 0 if the folder has
                    none */
};

STAILQ_HEAD(removals, removal);

/* The processes of attempts below the folder of this executor at one moment: one scan of /proc
 * serves all attempts that have no folder. */
struct strays {
    int64_t scanned_at; /* time of the scan, CLOCK_BOOTTIME, µs; 0 if never */
    VEC(struct stray {
        int64_t execution;
        int attempt;
        pid_t pid;
    })
    all;
};

struct process {
    struct executor x;
    struct env no_env;
    struct arena own; /* the strings of the options */
    char *dir_path, *shim_path;
    const char *secrets;
    int dir;
    struct wakeup wakeup;
    int64_t log_check_at; /* when the logs are read next */
    int slots;
    int64_t lease, fence, grace, log_head, log_tail;
    char **allow;
    struct spec_pair *extra;
    size_t nextra;
    int (*resolve_secret)(void *arg, const char *name, struct buf *out, struct err *err);
    void *secret_arg;
    bool in_containers; /* commands run in containers, with these options: */
    struct container_options container;

    pid_t helper; /* 0 if none */
    int socket;   /* to the helper */

    struct watch *watches; /* the newest first */
    int running;
    bool any_released;
    bool closed, stopped;      /* closed: accepts no more attempts; stopped: also starts no shim */
    struct start_marks *marks; /* NULL if starts are not recorded */
    struct strays strays;
    struct removals removals;
    struct removals delayed_removals; /* a shim may still start there; sorted by `due` */
};

/* process.c */
extern const struct executor_ops process_ops;
struct watch *watch_new(struct process *p, const struct job *j, int at);
/* Closes the descriptors of a watch. Without `released` the engine still uses the watch as its
 * handle. */
void watch_drop(struct process *p, struct watch *w, bool released);
void process_free_dropped(struct process *p); /* frees the watches that are dropped and released */

/* cleanup.c */
void removals_release(struct removals *l);
void process_cleanup(struct process *p, int most); /* removes at most `most` folders */
void process_settled(struct executor *x, int64_t execution, int attempt);
void process_leftovers(struct executor *x, void (*each)(void *arg, int64_t execution, int attempt),
                       void *arg);

/* create.c */
void process_free(struct executor *x);

/* helper.c */
MUST_USE int process_helper_start(struct process *p, struct err *err);
void process_helper_stop(struct process *p);
/* Reads the helper's pending answers. */
void process_helper_receive(struct process *p);
/* Ends a helper that did not answer in time. The next start creates a new one. */
void process_helper_replace(struct process *p);
MUST_USE int process_helper_send(struct process *p, const struct watch *w,
                                 const struct buf *request, struct err *err);

/* start.c */
/* Whether the disk of this folder has room for the files of an attempt. */
bool process_has_room(int folder);
bool process_is_disk_full(int error);
/* Returns -E_REFUSED if too few descriptors are left to watch another attempt. */
MUST_USE int process_check_descriptors(const struct process *p, struct err *err);
int process_start(struct executor *x, const struct job *j, void **handle, struct err *err);
/* Sets the undo command of an attempt whose `undo` file is missing or damaged, by the name that its
 * container must have. */
void process_set_undo_by_name(struct process *p, struct watch *w);

/* environment.c */
/* The task's environment as NAME=VALUE, and the values of its secrets; both NULL-terminated. */
struct variables {
    VEC(char *) all, secrets;
};
/* Where the command finds its files. */
struct paths {
    const char *output, *values;
};
MUST_USE int process_variables(struct process *p, const struct job *j, const char *key,
                               const struct paths *paths, struct variables *out, struct err *err);
void process_variables_release(struct variables *v); /* wipes them */

/* reattach.c */
/* Records this worker's epoch in the folder of an adopted attempt; the next poll finds out whether
 * it runs or how it ended (watch_check). */
MUST_USE int process_reattach(struct executor *x, const struct job *j, void **handle,
                              struct err *err);
/* Finds out whether an attempt in state CHECKING or LOST still runs, or how it ended. Call it when
 * check_at is due. */
void watch_check(struct process *p, struct watch *w);
/* Reports an attempt as refused unless its shim has started it, and makes sure that the shim never
 * does. */
void watch_refuse_unstarted(struct process *p, struct watch *w);

/* follow.c */
/* Watches a shim that lives: from now on its pidfd signals its end. `begun` is 0 if the shim may
 * not have started anything yet. */
void watch_follow_shim(struct process *p, struct watch *w, int pidfd, int64_t begun);
/* Called when the helper has started the shim; pidfd is -1 if it failed or its answer is
 * unknown. */
void watch_helper_answered(struct process *p, struct watch *w, int pidfd);
void watch_send_command(struct process *p, struct watch *w); /* sends the watch's pending command,
                                                                if any */
/* Reports the start of a running attempt as soon as its shim has recorded it. */
void watch_check_start(struct process *p, struct watch *w);
#define DISK_FULL "the disk of its state folder is full, so nothing was started"
#define UNWRITTEN "its shim can't write its exit record or its outputs"
/* Notifies the operator, once, that an attempt has ended and why that can't be recorded yet. */
void watch_note(const struct process *p, struct watch *w, const char *what);
/* Called when kill_at has passed. `away` means that this worker itself did not run for longer than
 * a lease, so the shim may have been suspended, too. */
void watch_kill_overdue(struct process *p, struct watch *w, bool away);
/* Schedules the next watch_check, each time after a longer pause. */
void watch_check_later(struct process *p, struct watch *w);

/* unrecorded.c: attempts without a shim record and an exit record */
/* Whether the attempt could start if it had no tombstone. */
bool watch_needs_tombstone(const struct watch *w);
/* Makes sure that nothing starts any more: writes a tombstone unless one exists or none is needed.
 * The caller holds `lock`, unless nobody can lock it. False if no tombstone can be written for
 * now. */
MUST_USE bool watch_forbid_start(const struct watch *w);
/* Whether it is proved that the command never started; a task can't fake the proof by removing
 * files. Call it after watch_forbid_start, and only for an attempt with neither a shim record nor a
 * fault. */
bool watch_is_proved_unstarted(const struct watch *w);
/* Reports the attempt as refused if it is proved unstarted (w->unstarted), else as lost, and drops
 * the watch. */
void watch_report_unrecorded(struct process *p, struct watch *w);

/* resume.c: containers whose shim died */
/* Whether the container of an attempt whose shim died may be watched by another shim: 1, 0, or -1
 * and errno if a later try may tell. The caller holds the attempt's lock and has read w->shim. */
MUST_USE int watch_may_resume(const struct process *p, struct watch *w);
/* Changes the state to WATCH_ASKING. */
void watch_begin_asking(struct process *p, struct watch *w);
/* Asks the container engine for the container, without waiting, and requests a shim for it or
 * changes the state to WATCH_LOST. For state WATCH_ASKING, when check_at is due. */
void watch_ask(struct process *p, struct watch *w);
/* Stops the command that asks the container engine, if one runs. */
void watch_stop_asking(struct watch *w);

/* tampered.c: folders that a task has changed */
/* Records in w->fault how the folder was tampered with, if it was. The first fault is kept. */
bool watch_note_fault(struct watch *w);
/* Records a fault for a file that can't be opened because it was replaced. */
void watch_note_file(struct watch *w, const char *name, int error);
/* Records a fault if the lock file has a second hard link: it may be another attempt's lock. */
bool watch_note_shared_lock(struct watch *w);
/* For an attempt whose lock is free or can't be locked: a pidfd of its shim if the shim lives
 * nevertheless, or -1 and errno as in attempt_find_shim. *begun is the start time. */
MUST_USE int watch_shim_without_lock(struct watch *w, int64_t *begun);
/* For an attempt without a shim, whose lock is free or can't be locked. True if its records can't
 * prove that nothing of it runs, and processes of it were found and killed; the caller must check
 * again. */
MUST_USE bool watch_kill_unrecorded(struct process *p, struct watch *w);
/* For an attempt that this worker requested and that has no record; the caller holds the attempt's
 * lock. True if a shim or a process of it lives, or may live: it was started then. Kills the
 * processes that it finds. */
MUST_USE bool watch_was_started(struct process *p, struct watch *w);
/* Opens the folder of an adopted attempt; creates it if it is missing and sets *no_folder to the
 * current time (0 if it existed). Returns the descriptor, or -1 and errno. */
MUST_USE int process_open_folder(struct process *p, const struct job *j,
                                 char fault[ATTEMPT_FAULT_SIZE], int64_t *no_folder);

/* process_reports.c */
void process_report_started(struct process *p, struct watch *w);
void process_report_log(struct process *p, struct watch *w);
/* Reports the end of an attempt with an exit record and drops the watch. False, with nothing
 * reported, if its outputs can't be read for now. */
MUST_USE bool process_report_exit(struct process *p, struct watch *w,
                                  const struct attempt_exit *end);
/* Reports the end of an attempt without an exit record and drops the watch. */
void process_report_end(struct process *p, struct watch *w, enum outcome_kind kind,
                        const char *error);
/* Reports an attempt that was never started, as proved, and drops the watch. The store returns the
 * job to its queue, but only a few times in a row. */
void process_report_unstarted(struct process *p, struct watch *w, const char *error);
/* Like process_report_end, for an attempt whose folder was tampered with (w->fault): the attempt
 * failed, or lost if some of its processes may still run. */
void process_report_fault(struct process *p, struct watch *w);

#endif
