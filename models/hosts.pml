/* hosts.pml - one job and two hosts that share nothing but the database, with time.
 *
 * The first host's worker claims the job, renews its lease, and may lose the connection to the database:
 * requests and replies take any time, or are lost, and the worker may pause anywhere. When its lease has
 * expired and host_grace has passed as well, the other host settles the attempt as lost and runs the job again.
 * It cannot inspect the first host, so only time separates the two: the shim kills its process half of
 * host_grace after the last moment for which it knows the lease to be valid.
 *
 * Clocks run equally fast, but may show any value: all times are kept as ticks that are left or have passed,
 * so time is unbounded. Only the shim must be on time: the process is gone within KILL ticks.
 *
 * With STEP the server's clock is set forward once, so far that by it every lease expired long ago. The other
 * host detects this, because its own clock was not set: it clears no lease for the length of a lease, and until
 * all earlier leases and their host_grace have passed it counts without the skipped time.
 *
 * CHECK : ok
 * CHECK -DLEASE=6 -DGRACE=10 -DKILL=4 : ok
 * CHECK -DSTEP : ok
 * CHECK full -DSLOTS=2 : ok
 * CHECK full -DSTEP -DLEASE=6 -DGRACE=10 -DKILL=4 : ok
 *
 * CHECK -DNO_FENCE : alone
 * CHECK -DFENCE=GRACE : alone
 * CHECK -DKILL=GRACE/2 : alone
 * CHECK -DUNTIL_FROM_REPLY : alone
 * CHECK -DUNTIL_BY_ANOTHER_CLOCK : alone
 * CHECK -DNO_LEASE_CHECK_AT_START : alone
 * CHECK -DNO_GRACE : alone
 * CHECK -DHEARTBEAT_WITHOUT_EPOCH : alone
 * CHECK -DSTEP -DUNNOTICED : alone
 *
 * CHECK -DREACH : not_reached
 * CHECK -DSTEP -DREACH : not_reached
 */
#include "common.pml"

#ifndef LEASE
#define LEASE 3
#endif
#ifndef GRACE
#define GRACE 6 /* host_grace */
#endif
#ifndef FENCE
#define FENCE (GRACE / 2)
#endif
#ifndef KILL
#define KILL 2 /* at most, from the end of `fence` until a killed process is gone */
#endif
#ifndef SLOTS
#define SLOTS 1 /* requests in transit at a time, and as many replies */
#endif

mtype = {
	legal_move, /* every move is in the table of src/core/transitions.c */
	alone,      /* when the other host starts the job, no process of it is or will be alive on the first */
	not_reached /* not a property: shows that the other host does start it */
};

/* --- the database --- */
mtype status = S_READY;
bool leased = false;     /* false while running: an orphan */
byte left = 0, past = 0; /* ticks until the lease expires, and since then; the value does not matter beyond GRACE */
bool started_again = false; /* by the other host */

/* --- the other host's own clock --- */
#ifdef STEP
#define SETTLED (LEASE + GRACE)
bool stepped = false;
byte since = SETTLED;              /* ticks since it detected the step; no effect from SETTLED on */
byte own_left = 0, own_past = 0; /* as above, without the skipped time */
#ifdef UNNOTICED
#define MAY_REAP true
#define WAITED true
#else
#define MAY_REAP (since >= LEASE)
#define WAITED (since == SETTLED || own_past == GRACE)
#endif
#else
#define MAY_REAP true
#define WAITED true
#endif

inline renew_lease()
{
	left = LEASE; past = 0;
#ifdef STEP
	own_left = LEASE; own_past = 0
#endif
}

/* --- the network --- */
mtype = { CLAIM, RENEW, ADOPT };
typedef message {
	mtype what;   /* 0 if this slot is empty */
	bool current; /* carries the epoch that the database has */
	byte age;     /* ticks since the request was sent, also in its reply */
};
message request[SLOTS], answer[SLOTS];

/* --- the first host --- */
bool current = false;   /* the worker knows the epoch that the database has */
bool may_start = false; /* it has a claim whose attempt has not started */
bool live = false;      /* the attempt's process */
byte fence = 0;         /* ticks until it must be killed */
byte overdue = 0;       /* ticks since then */

#define move(event, to) door(JOB_##event(status, S_##to), S_##to)
inline door(in_the_table, to)
{
	must(legal_move, in_the_table);
	status = to
}

/* --- time --- */
#define FULL (LEASE + FENCE)
inline age_message(m)
{
	if
	:: m.what != 0 && m.age < FULL -> m.age++
	:: else
	fi
}

#ifdef NO_FENCE
#define MUST_DIE false
#define ON_TIME true
#else
#define MUST_DIE (live && fence == 0)
#define ON_TIME (!live || fence > 0 || overdue < KILL)
#endif

active proctype Clock()
{
	byte i;

end:	do
	:: d_step { ON_TIME ->
		if
		:: left > 0 -> left--
		:: left == 0 && past < GRACE -> past++
		:: else
		fi;
#ifdef STEP
		if
		:: own_left > 0 -> own_left--
		:: own_left == 0 && own_past < GRACE -> own_past++
		:: else
		fi;
		if
		:: since < SETTLED -> since++
		:: else
		fi;
#endif
		if
		:: fence > 0 -> fence--
		:: fence == 0 && live && overdue < KILL -> overdue++
		:: else
		fi;
		do
		:: i < SLOTS -> age_message(request[i]); age_message(answer[i]); i++
		:: else -> break
		od;
		i = 0 }
#ifdef STEP
	:: d_step { !stepped -> stepped = true; since = 0; left = 0; past = GRACE }
#endif
	od
}

/* --- the first host --- */
active proctype Shim()
{
end:	do
	:: atomic { MUST_DIE -> live = false; overdue = 0 }
	od
}

#ifdef UNTIL_FROM_REPLY
#define GOOD_FOR(m) FULL
#elif defined UNTIL_BY_ANOTHER_CLOCK
#define GOOD_FOR(m) (FULL + GRACE - m.age) /* the time of the database, read on a host whose clock is behind */
#else
#define GOOD_FOR(m) (FULL - m.age)
#endif
#ifdef NO_LEASE_CHECK_AT_START
#define TOO_LATE false
#else
#define TOO_LATE (fence == 0)
#endif

inline send(kind)
{
	request[k].what = kind; request[k].current = current; request[k].age = 0
}

inline receive_reply()
{
	current = current || answer[k].current;
	may_start = may_start || answer[k].what == CLAIM;
	if
	:: (live || answer[k].what == CLAIM) && fence < GOOD_FOR(answer[k]) ->
		fence = GOOD_FOR(answer[k]); overdue = 0
	:: else
	fi;
	answer[k].what = 0; answer[k].current = false; answer[k].age = 0
}

/* All workers of that host, one after the other: they act on the last reply that they received. */
proctype Worker(byte k)
{
end:	do
	:: atomic { k == 0 && status == S_READY && request[k].what == 0 -> send(CLAIM) }
	:: atomic { status != S_READY && request[k].what == 0 -> send(RENEW) }
	:: atomic { status != S_READY && request[k].what == 0 -> send(ADOPT) }
	:: atomic { answer[k].what != 0 -> receive_reply() }
	:: atomic { may_start -> /* a shim takes the lock and checks the lease */
		may_start = false;
		if
		:: !TOO_LATE -> live = true; must(alone, !started_again)
		:: else
		fi }
	od
}

/* --- the database --- */
#ifdef HEARTBEAT_WITHOUT_EPOCH
#define RENEWABLE(m) (status == S_RUNNING)
#else
#define RENEWABLE(m) (status == S_RUNNING && leased && m.current)
#endif

/* No message in transit carries the new epoch. */
inline next_epoch()
{
	i = 0;
	do
	:: i < SLOTS -> request[i].current = false; answer[i].current = false; i++
	:: else -> break
	od;
	i = 0;
	current = false;
	leased = true; renew_lease()
}

inline reply()
{
	answer[k].what = request[k].what; answer[k].current = true; answer[k].age = request[k].age
}

proctype Database(byte k)
{
	byte i;

end:	do
	:: atomic { request[k].what != 0 && answer[k].what == 0 ->
		if
		:: request[k].what == CLAIM && status == S_READY ->
			move(CLAIMED, RUNNING); next_epoch(); reply()
		:: request[k].what == ADOPT && status == S_RUNNING && !leased ->
			move(ADOPTED, RUNNING); next_epoch(); reply()
		:: request[k].what == RENEW && RENEWABLE(request[k]) ->
			if
			:: leased -> renew_lease()
			:: else /* expired_at stays */
			fi;
			reply()
		:: else
		fi;
		request[k].what = 0; request[k].current = false; request[k].age = 0 }
	:: atomic { request[k].what != 0 -> /* lost */
		request[k].what = 0; request[k].current = false; request[k].age = 0 }
	:: atomic { answer[k].what != 0 ->
		answer[k].what = 0; answer[k].current = false; answer[k].age = 0 }
	od
}

active proctype Reaper()
{
end:	do
	:: atomic { status == S_RUNNING && leased && past > 0 && MAY_REAP && !started_again ->
		leased = false;
		move(LEASE_EXPIRED, RUNNING) }
	od
}

/* --- the other host --- */
#ifdef NO_GRACE
#define ADOPTABLE true
#else
#define ADOPTABLE (past == GRACE && WAITED)
#endif

active proctype Other_host()
{
	byte i;

end:	atomic {
		status == S_RUNNING && !leased && ADOPTABLE ->
		move(ADOPTED, RUNNING);
		move(RETRY_SCHEDULED, READY); /* no process of the attempt is found: lost */
		move(CLAIMED, RUNNING);
		next_epoch();
		started_again = true;
		must(alone, !live);
#ifdef REACH
		must(not_reached, false)
#endif
	}
}

init {
	byte i = 0;
	atomic {
		do
		:: i < SLOTS -> run Worker(i); run Database(i); i++
		:: else -> break
		od;
		i = 0
	}
}
