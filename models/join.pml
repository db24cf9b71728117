/* join.pml - two engines on one PostgreSQL, one workflow: tasks X and Y run, J needs both.
 *
 * Two turns settle X and Y at the same time, an operator cancels the tree, and as soon as J is ready a worker
 * claims and settles it. A turn is a transaction of several statements at READ COMMITTED: each statement sees
 * the rows that were committed when it started, other turns see the writes of a turn after its commit, and a
 * changed row stays locked until then. The engine decides from the rows that it read, and writes the result
 * without reading again.
 *
 * Both turns also change another tree, whose root is locked as well.
 *
 * CHECK : ok
 *
 * CHECK -DNO_ROOT_LOCK : join_not_lost
 * CHECK -DNO_ROOT_LOCK : true_image
 * CHECK -DNO_ROOT_LOCK : no_deadlock
 * CHECK -DREAD_BEFORE_LOCK : join_not_lost
 * CHECK -DJOIN_AFTER_COMMIT : one_join
 * CHECK -DROOTS_IN_ANY_ORDER : no_deadlock
 * CHECK -DCLAIM_THAT_WAITS : no_deadlock
 * CHECK -DCLAIM_WITHOUT_GUARD : legal_move
 *
 * CHECK -DREACH=S_SUCCEEDED : not_reached
 * CHECK -DREACH=S_CANCELLED : not_reached
 */
#include "common.pml"

mtype = {
	legal_move,    /* every move is in the table of src/core/transitions.c */
	true_image,    /* a row that a turn changes is still as the turn read it: no event has a wrong `from` */
	one_join,      /* J is marked ready at most once */
	one_end,       /* the workflow ends once */
	join_not_lost, /* J ends, and so does the workflow */
	no_deadlock,   /* no turn waits forever for a lock */
	not_reached    /* not a property: shows that the workflow can end with this status */
};

/* Rows, in the order in which they are locked: roots, executions, outbox. */
#define W 0 /* the workflow: the root of its tree */
#define V 1 /* another root */
#define X 2
#define Y 3
#define J 4
#define OUTBOX 5 /* the outbox row of J */
#define ROWS 6
#define NOBODY 255

typedef row {
	mtype status; /* as committed */
	byte lock;
};
row at[ROWS];
byte needs_left = 2; /* of J */
bool outbox = false;
byte joins = 0, ends = 0;

#define lock(r) atomic { at[r].lock == NOBODY -> at[r].lock = _pid }

inline unlock_all()
{
	d_step {
		i = 0;
		do
		:: i < ROWS ->
			if
			:: at[i].lock == _pid -> at[i].lock = NOBODY
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0
	}
}

/* The door, at the commit: `image` is the status that the turn read. */
#define job_move(r, image, event, to) \
	must(true_image, at[r].status == image); \
	must(legal_move, JOB_##event(at[r].status, S_##to)); \
	at[r].status = S_##to
#define workflow_move(r, image, event, to) \
	must(true_image, at[r].status == image); \
	must(legal_move, WORKFLOW_##event(at[r].status, S_##to)); \
	at[r].status = S_##to

inline end_workflow()
{
	if
	:: j == S_CANCELLED -> workflow_move(W, S_RUNNING, CANCELLED, CANCELLED)
	:: else -> workflow_move(W, S_RUNNING, COMPLETED, SUCCEEDED)
	fi;
#ifdef REACH
	must(not_reached, at[W].status != REACH);
#endif
	ends++;
	must(one_end, ends <= 1)
}

inline mark_ready()
{
	job_move(J, S_PENDING, MARKED_READY, READY);
	outbox = true;
	joins++;
	must(one_join, joins <= 1)
}

inline lock_roots(first, second)
{
#ifdef NO_ROOT_LOCK
	skip
#elif defined ROOTS_IN_ANY_ORDER
	lock(first);
	lock(second)
#else
	lock(W);
	lock(V)
#endif
}

/* One statement reads all rows that the turn needs. */
inline load(task)
{
	atomic {
		j = at[J].status; needs = needs_left;
		others = (task == X || TERMINAL(at[X].status)) && (task == Y || TERMINAL(at[Y].status))
	}
}

/* A turn that settles one task: X and Y decrement needs_left of J; the last task to end ends the workflow. */
inline settle_turn(task, first, second)
{
#ifdef READ_BEFORE_LOCK
	load(task);
	lock_roots(first, second);
#else
	lock_roots(first, second);
	load(task);
#endif
	lock(task);
	if
	:: task != J && j == S_PENDING -> lock(J)
	:: else
	fi;
	if
	:: others && (task == J || TERMINAL(j)) ->
		if
		:: at[W].lock != _pid -> lock(W)
		:: else
		fi
	:: else
	fi;
	atomic { /* commit */
		job_move(task, S_RUNNING, COMPLETED, SUCCEEDED);
		if
#ifndef JOIN_AFTER_COMMIT
		:: task != J && j == S_PENDING && needs > 1 -> needs_left = needs - 1
		:: task != J && j == S_PENDING && needs == 1 -> needs_left = 0; mark_ready()
#endif
		:: others && (task == J || TERMINAL(j)) ->
			if
			:: task == J -> j = S_SUCCEEDED
			:: else
			fi;
			end_workflow()
		:: else
		fi;
		unlock_all();
		j = 0; needs = 0; others = false
	}
}

proctype Settler(byte task; byte first; byte second)
{
	mtype j;
	byte needs, i;
	bool others;

	settle_turn(task, first, second);
#ifdef JOIN_AFTER_COMMIT
	/* A second transaction counts the open needs, and makes tasks without open needs ready. */
	atomic { others = TERMINAL(at[X].status) && TERMINAL(at[Y].status); j = at[J].status };
	lock(J);
	atomic {
		if
		:: others && j == S_PENDING -> mark_ready()
		:: else
		fi;
		unlock_all()
	}
#endif
}

/* Cancels waiting tasks, and requests the end of running ones; in this model those end by themselves. */
proctype Canceller()
{
	mtype j;
	byte i;
	bool others;

	lock(W);
	lock(J); /* descendants are read under their own lock: a claim may have locked one */
	atomic { j = at[J].status; others = TERMINAL(at[X].status) && TERMINAL(at[Y].status) };
	if
	:: j == S_READY -> lock(OUTBOX)
	:: else
	fi;
	atomic { /* commit */
		if
		:: j == S_PENDING || j == S_READY ->
			job_move(J, j, CANCELLED, CANCELLED);
			j = S_CANCELLED; outbox = false
		:: j == S_RUNNING -> job_move(J, S_RUNNING, CANCEL_REQUESTED, RUNNING)
		:: else
		fi;
		if
		:: at[W].status == S_RUNNING ->
			workflow_move(W, S_RUNNING, CANCEL_REQUESTED, RUNNING);
			if
			:: others && TERMINAL(j) -> end_workflow()
			:: else
			fi
		:: else
		fi;
		unlock_all();
		j = 0; others = false
	}
}

/* Claims J once it is in the outbox, and settles it. Claims lock the job together with its outbox row, and
 * skip locked rows: in this model they try again when the row is free. */
proctype Claimer()
{
	mtype j;
	byte needs, i;
	bool others;

	if
	:: TERMINAL(at[J].status) -> goto done
#ifdef CLAIM_THAT_WAITS
	:: atomic { outbox && at[OUTBOX].lock == NOBODY -> at[OUTBOX].lock = _pid };
		lock(J)
#elif defined CLAIM_WITHOUT_GUARD
	:: outbox ->
		lock(J)
#else
	:: atomic { outbox && at[J].lock == NOBODY && at[OUTBOX].lock == NOBODY ->
		at[J].lock = _pid; at[OUTBOX].lock = _pid }
#endif
	fi;
	atomic { /* commit */
		if
#ifndef CLAIM_WITHOUT_GUARD
		:: at[J].status != S_READY -> unlock_all(); goto done
#endif
		:: else -> job_move(J, at[J].status, CLAIMED, RUNNING); outbox = false; unlock_all()
		fi
	}
	settle_turn(J, W, V);
done:	skip
}

init {
	byte i = 0;
	atomic {
		do
		:: i < ROWS -> at[i].lock = NOBODY; i++
		:: else -> break
		od;
		i = 0;
		at[W].status = S_RUNNING; at[X].status = S_RUNNING; at[Y].status = S_RUNNING;
		at[J].status = S_PENDING;
		run Settler(X, W, V);
		run Settler(Y, V, W);
		run Claimer();
		if
		:: run Canceller()
		:: skip
		fi
	}
	timeout; /* no process can take a step */
	do
	:: i < ROWS -> must(no_deadlock, at[i].lock == NOBODY); i++
	:: else -> break
	od;
	must(join_not_lost, TERMINAL(at[J].status) && TERMINAL(at[W].status))
}
