/* lease.pml - one job on one host: claim, start, heartbeat, reap, adopt, settle, cancel.
 *
 * Time is not modelled: a lease may expire at any moment, so a pause of any length at any step is covered.
 * A holder is the part of a worker that handles one claim or adoption; it acts on the state that it last
 * read. Every worker, shim and task may be killed between any two steps.
 *
 * Nothing repeats endlessly (each iteration consumes an attempt, an epoch or a fault), so "no cycle"
 * and "no process stuck" together mean that the job ends once the faults end.
 *
 * CHECK short -DPAUSES=1 : ok
 * CHECK full : ok
 * CHECK full -DHOLDERS=3 : ok
 * CHECK full -DATTEMPTS=3 : ok
 * CHECK full -DCRASHES=3 -DKILLS=2 -DPAUSES=3 : ok
 * CHECK short -DPAUSES=1 -DCRASHES=1 -DRELEASES=0 : no cycle
 * CHECK full : no cycle
 *
 * CHECK -DSETTLE_WITHOUT_EPOCH : last_attempt
 * CHECK -DSETTLE_WITHOUT_EPOCH -DCRASHES=0 -DKILLS=0 : one_child
 * CHECK -DNO_TOMBSTONE : one_child
 * CHECK -DNO_TOMBSTONE : nothing_left
 * CHECK -DSTART_WITHOUT_LOCK -DCRASHES=0 -DKILLS=0 -DRELEASES=0 : one_child
 * CHECK -DREQUEUE_BEFORE_TREE_ENDS : one_child
 * CHECK -DREAPER_REQUEUES : one_child
 * CHECK -DRELEASED_AFTER_REQUEST : one_child
 * CHECK -DLOST_IS_A_SUCCESS : clean_success
 * CHECK -DSTALE_HOLDER_SIGNALS : no_stale_signal
 * CHECK -DSTALE_HOLDER_SIGNALS : no_needless_signal
 * CHECK -DSHIM_TAKES_ANY_EPOCH : no_stale_signal
 * CHECK -DCOUNTED_AT_ADOPTION : attempts_bounded
 * CHECK -DCOUNTED_AT_START : claims_bounded
 * CHECK -DHEARTBEAT_BY_WORKER : stuck
 * CHECK -DTAKEN_BACK_FROM_AN_ADOPTER -DCRASHES=0 -DKILLS=0 -DRELEASES=0 : no_theft
 * CHECK -DTAKEN_BACK_AT_ANY_ATTEMPT -DCRASHES=0 -DKILLS=0 -DRELEASES=0 : last_attempt
 *
 * CHECK -DREACH=S_SUCCEEDED : not_reached
 * CHECK -DREACH=S_FAILED : not_reached
 * CHECK -DREACH=S_CANCELLED : not_reached
 * CHECK -DREACH_TAKEN_BACK -DCRASHES=0 -DKILLS=0 -DRELEASES=0 : not_reached
 */
#include "common.pml"

#ifndef HOLDERS
#define HOLDERS 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2 /* max_attempts at the start */
#endif
#ifndef CRASHES
#define CRASHES 2 /* kill -9 of a worker */
#endif
#ifndef PAUSES
#define PAUSES 2 /* leases that expire although their holder is alive */
#endif
#ifndef KILLS
#define KILLS 1 /* kill -9 of a shim */
#endif
#ifndef RELEASES
#define RELEASES 1 /* claims that are given back */
#endif

mtype = {
	legal_move,       /* every move is in the table of src/core/transitions.c */
	one_end,          /* at most one terminal event */
	one_child,        /* never two live children */
	nothing_left,     /* no live child once the job is requeued or ended */
	last_attempt,     /* the result belongs to the last attempt */
	clean_success,    /* a success requires the exit record of a clean end */
	attempts_bounded, /* attempts <= max_attempts */
	claims_bounded,   /* also for a task that kills each worker that claims it */
	no_stale_signal,  /* a holder that lost the lease never signals a process that another has adopted */
	no_needless_signal, /* no holder signals a process unless a cancel was requested */
	no_theft,         /* a lease changes hands only after it was cleared */
	not_reached       /* not a property: shows that this end is reached after an adoption */
};

mtype = { CLEAN, FAULTY, SIGNALLED };
#define NOT_KNOWN 0

/* --- the database --- */
mtype status = S_READY;
byte attempts = 0, max_attempts = ATTEMPTS;
byte epoch = 0;
byte worker = 0; /* the worker that has the lease; 0 if none: a running job is then an orphan */
bool cancel_requested = false;

/* --- the attempt folders and their processes --- */
typedef attempt {
	bool requested;    /* a shim will be forked: this cannot be undone */
	bool started;      /* the folder records that the task was started */
	bool lock;         /* held by the shim, from before the start until the exit record is written */
	bool tree;         /* held by the task and all processes that it started */
	bool tombstone;
	mtype how;         /* the exit status; once the lock is free, the exit record */
	unsigned received : 4; /* the highest epoch that the shim has received */
};
attempt at[ATTEMPTS + RELEASES + 1];

/* --- not part of the protocol: faults so far, and variables of the properties --- */
byte crashes = 0, pauses = 0, kills = 0, releases = 0;
byte claims = 0, ends = 0, live = 0;
byte holder = 0;        /* the holder of the lease */
bool forgotten = false; /* the holder no longer tracks the lease */

#define MY_LEASE (status == S_RUNNING && worker == me && epoch == e)
#ifdef SETTLE_WITHOUT_EPOCH
#define MAY_SETTLE (status == S_RUNNING && worker == me)
#else
#define MAY_SETTLE MY_LEASE
#endif

/* A lease that no holder tracks must expire: heartbeats name leases, not the worker. */
#ifdef HEARTBEAT_BY_WORKER
#define NOT_RENEWED false
#else
#define NOT_RENEWED forgotten
#endif

/* A holder whose settle was refused takes the lease back only if no worker has it, and the job is
 * still at the attempt whose outcome the holder knows. */
#ifdef TAKEN_BACK_FROM_AN_ADOPTER
#define NOBODY_HAS_IT true
#else
#define NOBODY_HAS_IT (worker == 0)
#endif
#ifdef TAKEN_BACK_AT_ANY_ATTEMPT
#define SAME_ATTEMPT true
#else
#define SAME_ATTEMPT (attempts == a)
#endif

#define ENDED(a) (at[a].started && !at[a].lock && at[a].how != NOT_KNOWN)
#define LOST(a) (at[a].tombstone || (at[a].started && !at[a].lock && at[a].how == NOT_KNOWN))
/* Kills the remaining processes of a lost attempt, which may take time: they are gone when `tree` is free. */
#ifdef REQUEUE_BEFORE_TREE_ENDS
#define TREE_FREE(a) true
#else
#define TREE_FREE(a) (!at[a].tree)
#endif

/* The door: the only code that changes the status. */
#define move(event, to) door(JOB_##event(status, S_##to), S_##to)
inline door(in_the_table, to)
{
	must(legal_move, in_the_table);
	status = to;
	if
	:: to != S_RUNNING ->
		worker = 0; holder = 0; forgotten = false;
		must(nothing_left, live == 0)
	:: else
	fi;
	if
	:: TERMINAL(to) -> ends++; must(one_end, ends <= 1)
	:: else
	fi
}

inline take_lease(attempt_under_it)
{
	must(no_theft, worker == 0);
	epoch++;
	worker = me; holder = _pid; forgotten = false;
	e = epoch; a = attempt_under_it
}

inline expire()
{
	worker = 0; holder = 0; forgotten = false;
#ifdef REAPER_REQUEUES
	if
	:: attempts < max_attempts -> move(RETRY_SCHEDULED, READY)
	:: else -> move(ABANDONED, FAILED)
	fi
#else
	move(LEASE_EXPIRED, RUNNING)
#endif
}

inline begin_attempt()
{
	attempts++;
	must(attempts_bounded, attempts <= max_attempts)
}

/* Settles an attempt that has an exit record, or is lost. */
inline settle(is_lost)
{
	must(last_attempt, a == attempts);
	if
	:: !is_lost && at[a].how == CLEAN ->
		move(STARTED, RUNNING);
		move(COMPLETED, SUCCEEDED)
#ifdef LOST_IS_A_SUCCESS
	:: is_lost -> move(COMPLETED, SUCCEEDED)
#else
	:: is_lost && cancel_requested -> move(CANCELLED, CANCELLED)
	:: is_lost && !cancel_requested && attempts == max_attempts -> move(ABANDONED, FAILED)
	:: is_lost && !cancel_requested && attempts < max_attempts -> move(RETRY_SCHEDULED, READY)
#endif
	:: !is_lost && at[a].how == SIGNALLED -> move(CANCELLED, CANCELLED)
	:: !is_lost && at[a].how == FAULTY && (cancel_requested || attempts == max_attempts) ->
		move(FAILED, FAILED)
	:: !is_lost && at[a].how == FAULTY && !cancel_requested && attempts < max_attempts ->
		move(RETRY_SCHEDULED, READY)
	fi;
#ifdef REACH
	must(not_reached, status != REACH || epoch == attempts);
#endif
	must(clean_success, status != S_SUCCEEDED || (ENDED(a) && at[a].how == CLEAN))
}

/* SIGTERM through the shim, which refuses epochs lower than the highest it has received. */
#if defined SHIM_TAKES_ANY_EPOCH || defined STALE_HOLDER_SIGNALS
#define NOT_REFUSED true
#else
#define NOT_REFUSED (at[a].received <= e)
#endif
inline signal_task()
{
	if
	:: at[a].lock && at[a].tree && NOT_REFUSED ->
		must(no_stale_signal, at[a].received <= e);
		must(no_needless_signal, cancel_requested);
		at[a].tree = false; live--;
		at[a].how = SIGNALLED
	:: else
	fi
}

#define CRASH atomic { crashes < CRASHES -> crashes++; \
	if :: holder == _pid -> forgotten = true :: else fi; \
	e = 0; a = 0; goto idle }

proctype Holder(byte me)
{
	byte e = 0, a = 0; /* the epoch that it last knew as its own, and the attempt under it */

idle:
	if
	:: atomic { status == S_READY ->
#ifndef COUNTED_AT_START
		begin_attempt();
#endif
		claims++;
		must(claims_bounded, claims <= max_attempts);
		move(CLAIMED, RUNNING);
		take_lease(attempts);
#ifdef COUNTED_AT_START
		a++;
#endif
		goto start }
	:: atomic { status == S_RUNNING && (worker == 0 || NOT_RENEWED) ->
		if
		:: worker != 0 -> expire() /* the worker's lock is free: no need to wait for the reaper */
		:: else
		fi;
#ifdef REAPER_REQUEUES
		goto idle
#else
		move(ADOPTED, RUNNING);
#ifdef COUNTED_AT_ADOPTION
		begin_attempt();
#endif
		take_lease(attempts);
		goto inspect
#endif
		}
	:: TERMINAL(status) -> goto done
	fi;

start:	/* nothing was started yet */
	if
	:: CRASH
	:: atomic { at[a].requested = true; at[a].received = e; goto watch }
	:: atomic { releases < RELEASES -> releases++;
#ifdef RELEASED_AFTER_REQUEST
		at[a].requested = true;
#endif
		goto give_back }
	fi;

give_back:
	if
	:: CRASH
	:: atomic {
		if
		:: MAY_SETTLE && cancel_requested -> move(CANCELLED, CANCELLED)
		:: MAY_SETTLE && !cancel_requested ->
			max_attempts++; /* the claim used up no attempt */
			move(RELEASED, READY)
		:: else
		fi;
		e = 0; a = 0; goto idle }
	fi;

inspect: /* under the attempt's lock, unless the shim holds it */
	if
	:: CRASH
	:: atomic {
		if
		:: at[a].lock && at[a].received < e -> at[a].received = e
		:: !at[a].lock && !at[a].started ->
#ifdef NO_TOMBSTONE
			goto lost
#else
			at[a].tombstone = true
#endif
		:: else
		fi;
		goto watch }
	fi;

watch:	/* each step reads the folder, or the reply to a heartbeat */
	if
	:: CRASH
	:: atomic { !at[a].requested && !at[a].started && !at[a].tombstone -> goto inspect } /* the shim died early */
	:: atomic { ENDED(a) -> goto ended }
	:: atomic { LOST(a) && TREE_FREE(a) -> goto lost }
	:: atomic { MY_LEASE && cancel_requested && at[a].lock && at[a].tree -> goto end_it }
	:: atomic { !MY_LEASE ->
#ifdef STALE_HOLDER_SIGNALS
		signal_task();
#endif
		e = 0; a = 0; goto idle } /* change nothing */
	fi;

end_it:
	if
	:: CRASH
	:: atomic { signal_task(); goto watch }
	fi;

ended:
	if
	:: CRASH
	:: atomic {
		if
		:: MAY_SETTLE -> settle(false)
		:: else -> goto take_back
		fi;
		e = 0; a = 0; goto idle }
	fi;

lost:
	if
	:: CRASH
	:: atomic {
		if
		:: MAY_SETTLE -> settle(true)
		:: else -> goto take_back
		fi;
		e = 0; a = 0; goto idle }
	fi;

take_back: /* its outcome was refused: perhaps the lease only expired, and no other worker has it yet */
	if
	:: CRASH
	:: atomic {
		if
		:: status == S_RUNNING && NOBODY_HAS_IT && SAME_ATTEMPT ->
			move(ADOPTED, RUNNING);
			take_lease(a); /* and settles the known outcome, without another read */
#ifdef REACH_TAKEN_BACK
			must(not_reached, false);
#endif
			if
			:: ENDED(a) -> goto ended
			:: else -> goto lost
			fi
		:: else
		fi;
		e = 0; a = 0; goto idle }
	fi;

done:	skip
}

/* Clears leases, never a status. */
active proctype Reaper()
{
end:	do
	:: atomic { status == S_RUNNING && worker != 0 && NOT_RENEWED -> expire() }
	:: atomic { status == S_RUNNING && worker != 0 && !forgotten && pauses < PAUSES -> pauses++; expire() }
	od
}

active proctype Operator()
{
end:	atomic {
		!TERMINAL(status) ->
		if
		:: status == S_READY -> move(CANCELLED, CANCELLED)
		:: status == S_RUNNING -> move(CANCEL_REQUESTED, RUNNING); cancel_requested = true
		fi
	}
}

inline begin_task()
{
	at[i].requested = false;
	at[i].started = true; at[i].lock = true; at[i].tree = true;
#ifdef COUNTED_AT_START
	attempts++;
#endif
	live++;
	must(one_child, live <= 1);
	must(nothing_left, status == S_RUNNING && i == attempts)
}

/* The steps of attempt i that its shim and task take without a holder. */
proctype Attempt(byte i)
{
end:	do
#ifdef START_WITHOUT_LOCK
	:: at[i].requested && !at[i].tombstone -> atomic { begin_task() }
#else
	:: atomic { at[i].requested && !at[i].tombstone -> begin_task() } /* a shim, under `lock` */
#endif
	:: atomic { at[i].requested && kills < KILLS -> kills++; at[i].requested = false } /* the shim dies before it starts the task */
	:: atomic { at[i].tree && at[i].lock -> /* the task exits */
		at[i].tree = false; live--;
		if
		:: at[i].how = CLEAN
		:: at[i].how = FAULTY
		fi }
	:: atomic { at[i].lock && !at[i].tree -> at[i].lock = false } /* the record is written, the shim gone */
	:: atomic { at[i].lock && kills < KILLS -> /* the shim is killed, the task lives on */
		kills++; at[i].lock = false; at[i].how = NOT_KNOWN }
	:: atomic { at[i].tree && !at[i].lock -> at[i].tree = false; live-- } /* and ends, or is ended */
	od
}

init {
	byte i = 1;
	atomic {
		run Holder(1);
		run Holder(1); /* both of one worker: its name does not distinguish them */
#if HOLDERS > 2
		run Holder(2);
#endif
		do
		:: i <= ATTEMPTS + RELEASES -> run Attempt(i); i++
		:: else -> break
		od
	}
}
