/* functions.pml - one function, which lives and dies with its worker: which attempts are given back when a worker
 * is killed, and which count as lost.
 *
 * Each worker lives once and may be killed between any two steps, except the last one. Its file stays: the start
 * mark that it has written there can be read when it is dead. Leases that expire while their worker lives are left
 * out: only the worker itself adopts such a function (see lease.pml for epochs).
 *
 * CHECK : ok
 * CHECK : no cycle
 * CHECK full -DATTEMPTS=2 -DGIVE_BACKS=1 : ok
 *
 * CHECK -DMARKED_AFTER_START : started_counts
 * CHECK -DADOPTED_WITHOUT_MARK : started_counts
 * CHECK -DMARKED_BY_EVERY_ADOPTER : unstarted_kept
 * CHECK -DGIVEN_BACK_WITHOUT_END : claims_bounded
 * CHECK -DLOST_IF_UNSTARTED : unstarted_kept
 *
 * CHECK -DREACH_GIVEN_BACK : not_reached
 * CHECK -DREACH_LOST : not_reached
 */
#include "common.pml"

#ifndef WORKERS
#define WORKERS 5
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 1 /* max_attempts at the start */
#endif
#ifndef GIVE_BACKS
#define GIVE_BACKS 2 /* how often in a row an attempt may be given back */
#endif
#define CLAIMS (ATTEMPTS * (GIVE_BACKS + 1))

mtype = {
	legal_move,       /* every move is in the table of src/core/transitions.c */
	attempts_bounded, /* attempts <= max_attempts */
	claims_bounded,   /* also for a job that kills each worker that prepares it */
	started_counts,   /* an attempt whose function has started is never given back */
	unstarted_kept,   /* an attempt that no worker had begun to start is lost only if it was given back GIVE_BACKS times in a row */
	not_reached       /* not a property */
};

/* --- the database --- */
mtype status = S_READY;
byte attempts = 0, max_attempts = ATTEMPTS;
byte holder = 0;     /* the worker of the lease */
byte given_back = 0; /* how often in a row the attempt was given back, by its events */

/* --- the worker files --- */
bool dead[WORKERS + 1];
byte mark[WORKERS + 1]; /* the attempt that the worker has marked; 0 if none */

/* --- not part of the protocol: variables of the properties --- */
byte claims = 0;
byte begun = 0, started = 0; /* the last attempt that a claimer was about to start, and that started */

#define move(event, to) atomic { must(legal_move, JOB_##event(status, S_##to)); status = S_##to }
#define CRASH atomic { me < WORKERS -> dead[me] = true; goto done }

#ifdef GIVEN_BACK_WITHOUT_END
#define MAY_GIVE_BACK true
#else
#define MAY_GIVE_BACK (given_back < GIVE_BACKS)
#endif

inline lose()
{
#ifdef REACH_LOST
	must(not_reached, false);
#endif
	if
	:: attempts == max_attempts -> move(ABANDONED, FAILED)
	:: else -> given_back = 0; move(RETRY_SCHEDULED, READY)
	fi
}

proctype Worker(byte me)
{
	byte a = 0;
	bool unstarted = false;

idle:
	if
	:: CRASH
	:: atomic { status == S_READY ->
		attempts++; claims++;
		must(attempts_bounded, attempts <= max_attempts);
		must(claims_bounded, claims <= CLAIMS);
		move(CLAIMED, RUNNING);
		holder = me; a = attempts; goto claimed }
	:: atomic { status == S_RUNNING && dead[holder] -> /* it reads the file of the last holder */
		a = attempts; unstarted = (mark[holder] != a); goto adopting }
	:: TERMINAL(status) -> goto done
	fi;

claimed:
	if
	:: CRASH
	:: atomic { begun = a;
#ifndef MARKED_AFTER_START
		mark[me] = a;
#endif
		goto marked }
	fi;
marked:
	if
	:: CRASH
	:: atomic { started = a; goto running }
	fi;
running: /* the function returns */
	if
	:: CRASH
	:: atomic { mark[me] = a; goto ended }
	fi;
ended:
	if
	:: CRASH
	:: atomic { move(COMPLETED, SUCCEEDED); goto done }
	:: atomic {
		if
		:: attempts == max_attempts -> move(FAILED, FAILED); goto done
		:: else -> given_back = 0; move(RETRY_SCHEDULED, READY); goto idle
		fi }
	fi;

adopting: /* the mark is written before the commit of the adoption */
	if
	:: CRASH
	:: atomic {
#ifdef MARKED_BY_EVERY_ADOPTER
		mark[me] = a;
#elif !defined ADOPTED_WITHOUT_MARK
		if
		:: !unstarted -> mark[me] = a
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
		:: status == S_RUNNING && attempts == a && dead[holder] -> move(ADOPTED, RUNNING); holder = me; goto adopted
		:: else -> goto idle /* another worker was faster */
		fi }
	fi;
adopted:
	if
	:: CRASH
	:: atomic {
		if
#ifndef LOST_IF_UNSTARTED
		:: unstarted && MAY_GIVE_BACK ->
			must(started_counts, started != a);
#ifdef REACH_GIVEN_BACK
			must(not_reached, false);
#endif
			given_back++; max_attempts++;
			move(RELEASED, READY)
		:: !(unstarted && MAY_GIVE_BACK) ->
#else
		:: true ->
#endif
			must(unstarted_kept, begun == a || given_back == GIVE_BACKS);
			lose()
		fi;
		goto idle }
	fi;

done:	skip
}

init {
	byte i = 1;
	atomic {
		do
		:: i <= WORKERS -> run Worker(i); i++
		:: else -> break
		od
	}
}
