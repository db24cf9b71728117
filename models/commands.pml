/* commands.pml - one command, which outlives its worker: which attempts are given back when workers and shims are
 * killed, and which count as lost. functions.pml is about functions.
 *
 * Each worker lives once and may be killed between any two steps, except the last one; a lease may also expire while
 * its worker lives. The start mark in the file of a dead worker can be read. The shim of an attempt may be killed. A
 * task that has started may remove the records and the lock of its folder, also with the start token in it.
 *
 * CHECK : ok
 * CHECK full -DWORKERS=4 : ok
 *
 * CHECK -DRECORDS_ALONE : started_counts
 * CHECK -DTOKEN_TAKEN_AFTER_START : started_counts
 * CHECK -DNO_TOMBSTONE : started_counts
 * CHECK -DMARKED_AFTER_REQUEST : started_counts
 * CHECK -DADOPTED_WITHOUT_MARK : started_counts
 * CHECK -DLIVING_WORKER_READ : started_counts
 * CHECK -DMARKED_BEFORE_TOKEN : unstarted_kept
 * CHECK -DNO_MARKS : unstarted_kept
 * CHECK -DWORKERS=4 -DGIVEN_BACK_WITHOUT_END : claims_bounded
 *
 * CHECK -DREACH_GIVEN_BACK : not_reached
 * CHECK -DREACH_LOST : not_reached
 */
#include "common.pml"

#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef KILLS
#define KILLS 1 /* kill -9 of a shim */
#endif
#ifndef PAUSES
#define PAUSES 1 /* leases that expire although their worker lives */
#endif
#define ATTEMPTS 1   /* max_attempts at the start */
#define GIVE_BACKS 1 /* times in a row */
#define CLAIMS (ATTEMPTS * (GIVE_BACKS + 1))

mtype = {
	legal_move,     /* every move is in the table of src/core/transitions.c */
	claims_bounded, /* also for a job that kills each worker that prepares it */
	started_counts, /* an attempt whose command has started is never given back, and none starts after that */
	unstarted_kept, /* an attempt is lost only if its shim was about to start it, if it was adopted from a living worker, or
	                   after GIVE_BACKS times in a row */
	not_reached     /* not a property */
};

/* --- the database --- */
mtype status = S_READY;
byte attempts = 0, max_attempts = ATTEMPTS;
byte holder = 0, epoch = 0;
byte given_back = 0; /* times in a row, by the events */

/* --- the worker files --- */
bool dead[WORKERS + 1];
byte mark[WORKERS + 1]; /* the attempt that the worker has marked; 0 if none */

/* --- the attempt folders --- */
typedef attempt {
	bool asked;     /* a shim will be forked */
	bool lock;      /* held by the shim */
	bool token, tombstone, record, exit
};
attempt at[CLAIMS + 2];

/* --- not part of the protocol: faults so far, and variables of the properties --- */
byte claims = 0, kills = 0, pauses = 0;
byte taken = 0, started = 0, returned = 0; /* the last attempt that a shim was about to start, that started, that was given back */
byte overtaken = 0; /* the last attempt that was adopted from a living worker */

#define move(event, to) atomic { must(legal_move, JOB_##event(status, S_##to)); status = S_##to }
#define CRASH atomic { me < WORKERS -> dead[me] = true; goto done }
#define MY_LEASE (status == S_RUNNING && holder == me && epoch == e)

#ifdef GIVEN_BACK_WITHOUT_END
#define MAY_GIVE_BACK true
#else
#define MAY_GIVE_BACK (given_back < GIVE_BACKS)
#endif
#ifdef RECORDS_ALONE
#define UNSTARTED true
#else
#define UNSTARTED (unmarked || at[a].token)
#endif

inline lose()
{
#ifdef REACH_LOST
	must(not_reached, false);
#endif
	must(unstarted_kept, taken == a || overtaken == a || given_back == GIVE_BACKS);
	if
	:: attempts == max_attempts -> move(ABANDONED, FAILED)
	:: else -> given_back = 0; move(RETRY_SCHEDULED, READY)
	fi
}

/* The worker that settles holds `lock` and the lease. */
inline settle_unrecorded()
{
	if
	:: UNSTARTED && MAY_GIVE_BACK ->
		must(started_counts, started != a);
#ifdef REACH_GIVEN_BACK
		must(not_reached, false);
#endif
		returned = a;
		given_back++; max_attempts++;
		move(RELEASED, READY)
	:: else -> lose()
	fi
}

inline write_mark()
{
#ifndef NO_MARKS
	mark[me] = a
#else
	skip
#endif
}

proctype Worker(byte me)
{
	byte a = 0, e = 0;
	bool unmarked = false;

idle:
	if
	:: CRASH
	:: atomic { status == S_READY ->
		attempts++; claims++;
		must(claims_bounded, claims <= CLAIMS);
		move(CLAIMED, RUNNING);
		epoch++; e = epoch; holder = me; a = attempts; unmarked = false; goto claimed }
	:: atomic { status == S_RUNNING && holder != me && (dead[holder] || pauses < PAUSES) ->
		a = attempts; e = epoch;
#ifdef NO_MARKS
		unmarked = false;
#elif defined LIVING_WORKER_READ
		unmarked = (mark[holder] != a);
#else
		unmarked = (dead[holder] && mark[holder] != a);
#endif
		if
		:: !dead[holder] -> pauses++; overtaken = a
		:: else
		fi;
		goto adopting }
	:: TERMINAL(status) -> goto done
	fi;

claimed:
	if
	:: CRASH
	:: atomic {
#ifdef MARKED_BEFORE_TOKEN
		write_mark();
#else
		if
		:: !at[a].tombstone -> at[a].token = true
		:: else /* another worker has given the attempt up, and its lock exists */
		fi;
#endif
		goto prepared }
	fi;
prepared:
	if
	:: CRASH
	:: atomic {
#ifdef MARKED_BEFORE_TOKEN
		at[a].token = !at[a].tombstone;
#elif !defined MARKED_AFTER_REQUEST
		write_mark();
#endif
		goto marked }
	fi;
marked:
	if
	:: CRASH
	:: atomic { at[a].asked = true; goto requested }
	fi;
requested:
	if
	:: CRASH
	:: atomic { write_mark(); goto watch }
	fi;

watch:	/* the lock is free: this worker takes it */
	if
	:: CRASH
	:: atomic { MY_LEASE && at[a].exit && !at[a].lock -> move(COMPLETED, SUCCEEDED); goto done }
	:: atomic { MY_LEASE && !at[a].exit && at[a].record && !at[a].lock -> lose(); goto idle }
	:: atomic { MY_LEASE && !at[a].exit && !at[a].record && !at[a].lock && !at[a].asked ->
		at[a].tombstone = true; settle_unrecorded(); goto idle }
	:: atomic { !MY_LEASE -> goto idle }
	fi;

adopting: /* the mark is written before the commit of the adoption */
	if
	:: CRASH
	:: atomic {
#ifndef ADOPTED_WITHOUT_MARK
		if
		:: !unmarked -> write_mark()
		:: else
		fi;
#endif
		goto adopt }
	fi;
adopt:
	if
	:: CRASH
	:: atomic {
		if
		:: status == S_RUNNING && attempts == a && epoch == e ->
			move(ADOPTED, RUNNING); epoch++; e = epoch; holder = me; goto adopted
		:: else -> goto idle /* another worker was faster */
		fi }
	fi;
adopted:
	if
	:: CRASH
	:: atomic { MY_LEASE && at[a].exit && !at[a].lock -> move(COMPLETED, SUCCEEDED); goto done }
	:: atomic { MY_LEASE && !at[a].exit && at[a].record && !at[a].lock -> lose(); goto idle }
	:: atomic { MY_LEASE && !at[a].exit && !at[a].record && !at[a].lock ->
#ifndef NO_TOMBSTONE
		at[a].tombstone = true;
#endif
		settle_unrecorded(); goto idle }
	:: atomic { !MY_LEASE -> goto idle }
	fi;

done:	skip
}

/* The shim of attempt i and its task. The lock is the shim's until it ends. */
#define KILLED atomic { kills < KILLS -> kills++; at[i].lock = false; goto end }
proctype Shim(byte i)
{
endw:	atomic { at[i].asked ->
		at[i].asked = false;
		if
		:: at[i].tombstone -> goto end
		:: else -> at[i].lock = true
		fi };
	if
	:: KILLED
	:: atomic { taken = i;
#ifndef TOKEN_TAKEN_AFTER_START
		at[i].token = false;
#endif
		at[i].record = true }
	fi;
	if
	:: KILLED
	:: atomic { started = i; must(started_counts, returned != i) }
	fi;
	if /* the task removes the records, or does not */
	:: KILLED
	:: at[i].record = false
	:: skip
	fi;
	if
	:: KILLED
	:: atomic { at[i].exit = true; at[i].token = false; at[i].lock = false }
	fi;
end:	skip
}

init {
	byte i = 1;
	atomic {
		do
		:: i <= WORKERS -> run Worker(i); i++
		:: else -> break
		od;
		i = 1;
		do
		:: i <= CLAIMS + 1 -> run Shim(i); i++
		:: else -> break
		od
	}
}
