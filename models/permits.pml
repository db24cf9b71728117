/* permits.pml - a limit, the jobs that fall under it, and engines that submit, claim, settle, cancel, and
 * lower and raise the limit.
 *
 * A job takes a permit when it would become claimable, else it is held; a turn that frees a permit gives it to
 * a held job in the same transaction. So a claim never checks limits. A turn locks its job (a separate tree),
 * then the limit, decides, and commits, or is rolled back; a turn that gives a permit to a held job skips jobs
 * that are locked, and leaves a timer if all candidates are locked.
 *
 * CHECK short -DROLLBACKS=1 : ok
 * CHECK full : ok
 * CHECK full -DJOBS=4 : ok
 * CHECK short -DJOBS=2 -DMAX=1 : no cycle
 * CHECK full : no cycle
 *
 * CHECK -DCHECK_WITHOUT_LOCK : never_over
 * CHECK -DCHECK_WITHOUT_LOCK -DJOBS=2 -DMAX=1 -DROLLBACKS=0 : no_job_forgotten
 * CHECK -DNO_HANDOVER_TIMER -DJOBS=2 -DMAX=1 : no_job_forgotten
 * CHECK -DCANCEL_KEEPS_PERMIT : counted
 * CHECK -DCANCEL_KEEPS_PERMIT -DJOBS=2 -DMAX=1 : no_job_forgotten
 * CHECK -DWAITS_FOR_CANDIDATE -DJOBS=2 -DMAX=1 : no_deadlock
 * CHECK -DLOWERS_ONLY_THE_NUMBER : never_over
 * CHECK -DLOWERS_WHAT_IS_FREE : never_over
 * CHECK -DRETRY_KEEPS_PERMIT -DROLLBACKS=0 : never_over
 *
 * CHECK -DJOBS=2 -DMAX=1 -DREACH : not_reached
 */
#include "common.pml"

#ifndef JOBS
#define JOBS 3
#endif
#ifndef MAX
#define MAX 2
#endif
#ifndef LOW
#define LOW 1 /* the limit is lowered to this value for a time */
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 2
#endif

mtype = {
	legal_move,       /* every move is in the table of src/core/transitions.c */
	counted,          /* used = the number of jobs that are claimable or running */
	never_over,       /* only jobs that already ran when the limit was lowered exceed it */
	no_job_forgotten, /* no job is held forever while a permit is free */
	no_deadlock,      /* no turn waits forever for a lock */
	not_reached       /* not a property: shows that a timer gives a permit to a held job */
};

#define NOBODY 255

typedef job {
	mtype status;
	bool held;
	byte lock;
};
job at[JOBS];
byte limit_lock = NOBODY;
byte max = MAX, used = 0;
byte timer = NOBODY;    /* the job whose timer will offer free permits again */
bool lowering = false;  /* the limit was lowered, and the operator has no reply yet */
byte rollbacks = 0;
bool retried = false;

#define CLAIMABLE(k) (at[k].status == S_READY && !at[k].held)
#define HELD(k) (at[k].status == S_READY && at[k].held)
#define MINE_OR_FREE(k) (at[k].lock == NOBODY || at[k].lock == _pid)

#define move(k, event, to) \
	must(legal_move, JOB_##event(at[k].status, S_##to)); \
	at[k].status = S_##to
#define lock(l) atomic { l == NOBODY -> l = _pid }

inline take_permit(k)
{
	used++;
	must(never_over, used <= max)
}

inline hold(k)
{
	move(k, HELD, READY);
	at[k].held = true
}

/* Gives free permits to held jobs, the oldest first. */
inline give_permits()
{
	d_step {
		i = 0;
		do
		:: i < JOBS && used < max && HELD(i) && MINE_OR_FREE(i) ->
			move(i, UNHELD, READY);
			at[i].held = false;
			take_permit(i);
			i++
#ifndef NO_HANDOVER_TIMER
		:: i < JOBS && used < max && HELD(i) && !MINE_OR_FREE(i) -> timer = i; i++
#else
		:: i < JOBS && used < max && HELD(i) && !MINE_OR_FREE(i) -> i++
#endif
		:: i < JOBS && !(used < max && HELD(i)) -> i++
		:: i == JOBS -> break
		od;
		i = 0
	}
}

/* The invariants of the committed state. */
inline check_invariants()
{
	d_step {
		i = 0; n = 0;
		do
		:: i < JOBS ->
			n = n + (CLAIMABLE(i) || at[i].status == S_RUNNING);
			must(never_over, lowering || used <= max || !CLAIMABLE(i));
			i++
		:: else -> break
		od;
		must(counted, used == n);
		i = 0; n = 0
	}
}

inline unlock_all()
{
	d_step {
		i = 0;
		do
		:: i < JOBS ->
			if
			:: at[i].lock == _pid -> at[i].lock = NOBODY
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0;
		if
		:: limit_lock == _pid -> limit_lock = NOBODY
		:: else
		fi
	}
}

#define commit check_invariants(); unlock_all()
#define ROLL_BACK atomic { rollbacks < ROLLBACKS -> rollbacks++; unlock_all() }

#ifdef WAITS_FOR_CANDIDATE
#define wait_for_candidates \
	do \
	:: c < JOBS && (!HELD(c) || MINE_OR_FREE(c)) -> c++ \
	:: c == JOBS -> c = 0; break \
	od
#else
#define wait_for_candidates skip
#endif

proctype Job(byte k)
{
	byte i, n, c;

submit:
#ifdef CHECK_WITHOUT_LOCK
	c = used; /* an unlocked read */
#else
	lock(limit_lock);
	atomic { c = used };
#endif
	if
	:: ROLL_BACK -> goto submit
	:: atomic {
		move(k, MARKED_READY, READY);
		if
		:: c < max -> take_permit(k)
		:: else -> hold(k)
		fi;
		c = 0;
		commit }
	fi;

ready:	if
	:: atomic { CLAIMABLE(k) && at[k].lock == NOBODY -> at[k].lock = _pid } /* a claim skips locked rows */
	:: TERMINAL(at[k].status) -> goto done
	fi;
	if
	:: ROLL_BACK -> goto ready
	:: atomic { move(k, CLAIMED, RUNNING); commit }
	fi;

settle:
	lock(at[k].lock);
	lock(limit_lock);
	wait_for_candidates;
	if
	:: ROLL_BACK -> goto settle
	:: atomic { /* the job ended */
		move(k, COMPLETED, SUCCEEDED);
		used--;
		give_permits();
		commit;
		goto done }
	:: atomic { !retried -> /* it failed, and is retried */
		retried = true;
		move(k, RETRY_SCHEDULED, READY);
#ifndef RETRY_KEEPS_PERMIT
		if
		:: used > max -> /* it may keep its own permit, but must not exceed the limit */
			used--;
			hold(k)
		:: else
		fi;
#endif
		commit;
		goto ready }
	fi;
done:	skip
}

/* Cancels one waiting job; a running job is left to end. */
proctype Canceller(byte k)
{
	byte i, n, c;

again:	lock(at[k].lock);
	lock(limit_lock);
	wait_for_candidates;
	if
	:: ROLL_BACK -> goto again
	:: ROLL_BACK /* the turn fails, and the cancel is not requested again */
	:: atomic {
		if
		:: CLAIMABLE(k) ->
			move(k, CANCELLED, CANCELLED);
#ifndef CANCEL_KEEPS_PERMIT
			used--;
#endif
			give_permits()
		:: HELD(k) -> move(k, CANCELLED, CANCELLED); at[k].held = false
		:: at[k].status == S_RUNNING -> move(k, CANCEL_REQUESTED, RUNNING)
		:: else
		fi;
		commit }
	fi
}

/* Removes the youngest unlocked jobs from the outbox until the limit holds. */
inline hold_surplus()
{
	d_step {
		i = JOBS;
		do
		:: i > 0 ->
			i--;
			if
			:: used > max && CLAIMABLE(i) && at[i].lock == NOBODY -> hold(i); used--
			:: else
			fi
		:: else -> break
		od
	}
}

inline find_claimable()
{
	d_step {
		c = NOBODY;
		do
		:: i < JOBS ->
			if
			:: CLAIMABLE(i) -> c = i
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

proctype Operator()
{
	byte i, n, c;

	lowering = true;
slice:	lock(limit_lock);
	atomic {
		max = LOW;
#ifndef LOWERS_ONLY_THE_NUMBER
		hold_surplus();
#endif
		find_claimable();
#if !defined LOWERS_ONLY_THE_NUMBER && !defined LOWERS_WHAT_IS_FREE
		lowering = used > max && c != NOBODY;
#else
		lowering = false;
#endif
		commit };
	if
	:: lowering -> at[c].lock == NOBODY; goto slice /* a claim had locked it, and may still be rolled back */
	:: else -> c = 0
	fi;

raise:	lock(limit_lock);
	wait_for_candidates;
	atomic { max = MAX; give_permits(); commit }
}

/* An engine that fires the timer: under the lock of its job, it gives free permits to the oldest held jobs. */
active proctype Timer()
{
	byte i, n, c, k;

end:	do
	:: timer != NOBODY ->
		k = timer;
		lock(at[k].lock);
		lock(limit_lock);
		wait_for_candidates;
		if
		:: ROLL_BACK
		:: atomic {
			timer = NOBODY;
			give_permits();
#ifdef REACH
			must(not_reached, !CLAIMABLE(k));
#endif
			k = 0;
			commit }
		fi
	od
}

init {
	byte i = 0;
	atomic {
		do
		:: i < JOBS -> at[i].lock = NOBODY; at[i].status = S_PENDING; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < JOBS -> run Job(i); i++
		:: else -> break
		od;
		i = 0;
		run Operator();
		if
		:: run Canceller(0)
		:: run Canceller(JOBS - 1)
		fi
	}
	timeout; /* no process can take a step */
	must(no_deadlock, limit_lock == NOBODY);
	do
	:: i < JOBS -> must(no_job_forgotten, TERMINAL(at[i].status)); i++
	:: else -> break
	od
}
