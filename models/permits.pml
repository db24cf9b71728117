/* permits.pml - a limit, the jobs that fall under it, and engines that submit, claim, settle, cancel, and
 * lower and raise the limit.
 *
 * A job takes a permit when it would become claimable, else it is held; whoever gives one back hands it on in
 * the same transaction. So a claim never looks at limits. A turn locks its job (a tree of its own), then the
 * limit, decides, and commits, or is rolled back; whoever looks for others to hand a permit to skips those
 * that are locked, and leaves a timer if only such are left.
 *
 * CHECK short -DROLLBACKS=1 : ok
 * CHECK full : ok
 * CHECK full -DJOBS=4 : ok
 * CHECK short -DJOBS=2 -DMAX=1 : no cycle
 * CHECK full : no cycle
 *
 * CHECK -DCHECK_WITHOUT_LOCK : never_over
 * CHECK -DCHECK_WITHOUT_LOCK -DJOBS=2 -DMAX=1 -DROLLBACKS=0 : nobody_forgotten
 * CHECK -DNO_HANDOVER_TIMER -DJOBS=2 -DMAX=1 : nobody_forgotten
 * CHECK -DCANCEL_KEEPS_PERMIT : counted
 * CHECK -DCANCEL_KEEPS_PERMIT -DJOBS=2 -DMAX=1 : nobody_forgotten
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
#define LOW 1 /* what it is lowered to, for a time */
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 2
#endif

mtype = {
	legal_move,       /* every move is in the table of src/core/transitions.c */
	counted,          /* used = the jobs that are claimable or run */
	never_over,       /* above the limit are only jobs that already ran when it was lowered */
	nobody_forgotten, /* nobody is held for ever while there is room */
	no_deadlock,      /* no turn waits for ever for a lock */
	not_reached       /* no property: shows that a timer hands a permit on */
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
byte timer = NOBODY;    /* a job that names the limit: offer what is free again */
bool lowering = false;  /* and not yet answered */
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

/* Gives what is free to those who wait, the oldest first. */
inline hand_on()
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

/* What must be true of what is committed. */
inline look()
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

#define commit look(); unlock_all()
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
	c = used; /* as a statement sees it that locks nothing */
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
	:: atomic { CLAIMABLE(k) && at[k].lock == NOBODY -> at[k].lock = _pid } /* a claim skips what is locked */
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
	:: atomic { /* it ended */
		move(k, COMPLETED, SUCCEEDED);
		used--;
		hand_on();
		commit;
		goto done }
	:: atomic { !retried -> /* it failed, and goes again */
		retried = true;
		move(k, RETRY_SCHEDULED, READY);
#ifndef RETRY_KEEPS_PERMIT
		if
		:: used > max -> /* its own permit is no obstacle, but it must not exceed the limit */
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

/* Cancels one job while it waits; one that runs is left to end. */
proctype Canceller(byte k)
{
	byte i, n, c;

again:	lock(at[k].lock);
	lock(limit_lock);
	wait_for_candidates;
	if
	:: ROLL_BACK -> goto again
	:: ROLL_BACK /* and nobody asks again */
	:: atomic {
		if
		:: CLAIMABLE(k) ->
			move(k, CANCELLED, CANCELLED);
#ifndef CANCEL_KEEPS_PERMIT
			used--;
#endif
			hand_on()
		:: HELD(k) -> move(k, CANCELLED, CANCELLED); at[k].held = false
		:: at[k].status == S_RUNNING -> move(k, CANCEL_REQUESTED, RUNNING)
		:: else
		fi;
		commit }
	fi
}

/* Takes the youngest out of the outbox until the limit holds, as far as they are not locked. */
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
	:: lowering -> at[c].lock == NOBODY; goto slice /* a claim had it, and may yet be rolled back */
	:: else -> c = 0
	fi;

raise:	lock(limit_lock);
	wait_for_candidates;
	atomic { max = MAX; hand_on(); commit }
}

/* An engine that fires the timer: under its job's lock, it offers what is free to whoever is first. */
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
			hand_on();
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
	timeout; /* nothing moves any more */
	must(no_deadlock, limit_lock == NOBODY);
	do
	:: i < JOBS -> must(nobody_forgotten, TERMINAL(at[i].status)); i++
	:: else -> break
	od
}
