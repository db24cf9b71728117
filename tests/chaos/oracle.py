"""oracle.py - judges a round from the outside: by the results that submitters received, the lines that commands wrote into
the ledger, the processes that the harness killed, and the rows of Pawl's documented views at the end. It uses no code of
Pawl; test_oracle.py plants faults in it.

Each violation has a kind:

  lost      an accepted submission does not exist, or an execution succeeded without a run in the ledger
  doubled   two processes of a command ran at once, an attempt began twice, more begins than attempts, or two executions of one submission
  wasted    an attempt was used up, though its command never began or never ended, and nothing that the harness knows killed it
  untrue    the recorded status contradicts the ledger: a success called failed, a follower that ran before its need, ...
  hung      an execution that is not terminal after the faults have stopped
"""
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field

Violation = namedtuple('Violation', 'kind text')

KINDS = ('lost', 'doubled', 'wasted', 'untrue', 'hung')
TERMINAL = {'succeeded', 'failed', 'timed_out', 'cancelled', 'skipped'}

# The needs of each task in workflows/; `any` is left out of the order check, as it waits for one need only.
SHAPES = {
    'chain': {'a': [], 'b': ['a'], 'c': ['b'], 'd': ['c']},
    'joins': {'a': [], 'b': [], 'c': [], 'all': ['a', 'b', 'c'], 'any': [], 'never': [], 'last': ['all', 'any']},
    'fan': {'list': [], 'each': ['list'], 'sum': ['each']},
    'wide': {'each': [], 'some': [], 'sum': ['each', 'some']},
    'nested': {'first': [], 'each': ['first'], 'sum': ['each']},
    'calls': {'first': [], 'each': ['first'], 'mixed': ['first'], 'sum': ['each', 'mixed']},
}


@dataclass
class Submission:
    """A submission as its submitter knows it. The tag is part of the execution: its name, or a param of the workflow."""
    tag: str
    acked: bool = False        # the program reported success, or the transaction was committed
    exit_code: int = None      # of a foreground run that waited for its end
    time: float = 0            # when it was accepted
    may_be_lost: bool = False  # accepted by a primary whose last commits were lost with it


@dataclass
class Facts:
    """The faults that the harness caused, as far as the judgement depends on them."""
    killed: set = field(default_factory=set)  # attempts whose shim or command was killed
    dead_workers: set = field(default_factory=set)  # pids of workers that were killed; functions die with their worker
    unattributed: int = 0                     # shims that were killed before their attempt could be seen
    severed: bool = False                     # partition or fence: Pawl itself ended attempts
    fence: int = None                         # the number of ledger lines at the last fence that lost commits


class Judge:
    def __init__(self, submissions, rows, released, ledger, facts):
        """rows are those of pawl_executions; released are the attempts that were given back before they began."""
        self.submissions, self.rows, self.ledger, self.facts = submissions, rows, ledger, facts
        self.released = released
        self.by_id = {row['id']: row for row in rows}
        self.children = defaultdict(list)
        for row in rows:
            self.children[row['parent']].append(row)
        self.found = []

    def add(self, kind, text):
        self.found.append(Violation(kind, text))

    def judge(self):
        self.check_submissions()
        self.check_overlaps()
        unexplained = []  # attempts without a begin or an end in the ledger, though nothing known killed them
        for row in self.rows:
            if row['status'] not in TERMINAL:
                self.add('hung', f"execution {row['id']} ({row['name']}) is {row['status']}")
            elif row['kind'] in ('task', 'exec'):
                unexplained += self.check_job(row)
            else:
                self.check_group(row)
        for text in unexplained[self.facts.unattributed:]:
            self.add('wasted', text)
        for execution in self.ledger.of_execution.keys() - self.by_id.keys():
            if self.facts.fence is None:
                self.add('lost', f'execution {execution} ran and is not in the database')
        return self.found

    def check_submissions(self):
        by_tag = defaultdict(list)
        for row in self.rows:
            if row['parent'] is None:
                by_tag[tag_of(row)].append(row)
        for s in self.submissions:
            rows = by_tag.pop(s.tag, [])
            if s.acked and not rows and not s.may_be_lost:
                self.add('lost', f'submission {s.tag} was accepted and does not exist')
            if len(rows) > 1:
                self.add('doubled', f"submission {s.tag} became executions {[row['id'] for row in rows]}")
            if s.exit_code == 0 and not s.may_be_lost and rows and rows[0]['status'] != 'succeeded':
                self.add('untrue', f"{s.tag} exited with 0 and is {rows[0]['status']}")
        for tag, rows in by_tag.items():
            self.add('doubled', f"executions {[row['id'] for row in rows]} with the tag {tag} were never submitted")

    def check_overlaps(self):
        """The lock proves the overlap itself; the order of lines proves it for attempts whose lock was gone."""
        for execution, lines in self.ledger.of_execution.items():
            newest = lines[0]
            for line in lines:
                if line.what == 'o':
                    self.add('doubled', f'attempt {line.attempt} of {execution} began beside another')
                if line.attempt < newest.attempt and not self.before_fence(newest):
                    self.add('doubled', f'attempt {line.attempt} of {execution} wrote after attempt {newest.attempt} began')
                if line.attempt > newest.attempt or not self.before_fence(line):
                    newest = line if line.attempt >= newest.attempt else newest

    def before_fence(self, line):
        return self.facts.fence is not None and line.place < self.facts.fence

    def check_job(self, row):
        """Returns the attempts that were lost without a known reason."""
        name, last = row['id'], row['attempt']
        begins = [b for b in self.ledger.begins(name) if not self.before_fence(b)]
        for attempt in {b.attempt for b in begins}:
            if sum(b.attempt == attempt for b in begins) > 1:
                self.add('doubled', f'attempt {attempt} of {name} began twice')
            if attempt > last:
                self.add('doubled', f'attempt {attempt} of {name} ran, the database knows {last}')
        if len(begins) > last:
            self.add('doubled', f'{name} began {len(begins)} times in {last} attempts')
        for attempt in {b.attempt for b in begins if (name, b.attempt) in self.released}:
            self.add('doubled', f'attempt {attempt} of {name} began and was given back as not begun')
        if last > row['max_attempts']:
            self.add('doubled', f"{name} had {last} attempts of {row['max_attempts']}")
        if row['status'] == 'succeeded':
            self.check_success(row)
        elif row['status'] == 'failed' and last:
            self.check_failure(row)
        if self.facts.severed or row['status'] == 'cancelled':
            return []  # a cancel may come between the claim and the start
        return [self.describe(row, attempt) for attempt in range(1, last + (row['status'] != 'succeeded'))
                if not self.ledger.ends(name, attempt) and (name, attempt) not in self.released and not self.was_killed(name, attempt)]

    def was_killed(self, name, attempt):
        """Whether the harness killed the command of the attempt, its shim, or the worker that ran it as a function."""
        return (name, attempt) in self.facts.killed or any(
            b.mode == 'function' and b.pid in self.facts.dead_workers for b in self.ledger.begins(name, attempt))

    def describe(self, row, attempt):
        how = 'did not end' if self.ledger.begins(row['id'], attempt) else 'never began'
        return f"attempt {attempt} of {row['id']} was used up, though it {how} and nothing killed it: {row['status']}, {row['error']}"

    def check_success(self, row):
        name, last = row['id'], row['attempt']
        ends = self.ledger.ends(name, last)
        if not self.ledger.begins(name, last) or not ends:
            self.add('lost', f'{name} succeeded in attempt {last}, which has no begin and end')
        elif ends[-1].code:  # the last end: before a fence, an attempt of the lost time may have had the same number
            self.add('untrue', f'{name} succeeded, its attempt {last} exited with {ends[-1].code}')

    def check_failure(self, row):
        name, last = row['id'], row['attempt']
        ends = self.ledger.ends(name, last)
        if ends and not ends[-1].code and not self.was_killed(name, last) and not self.facts.severed:
            self.add('untrue', f"{name} exited with 0 in attempt {last} and is failed: {row['error']}")

    def check_group(self, row):
        children = self.children[row['id']]
        if row['kind'] == 'foreach':
            if row['status'] == 'succeeded':
                self.check_items(row, children)
            return
        bad = [c for c in children if c['status'] not in ('succeeded', 'skipped') and not failure_is_allowed(c)]
        if row['status'] == 'succeeded' and bad:
            self.add('untrue', f"workflow {row['id']} succeeded, {bad[0]['name']} is {bad[0]['status']}")
        if row['status'] == 'failed' and not bad:
            self.add('untrue', f"workflow {row['id']} failed and no task of it: {row['error']}")
        self.check_shape(row, children)

    def check_items(self, row, children):
        indexes = sorted(c['task_index'] for c in children)
        if indexes != list(range(len(children))) or len(children) != len(row['input']):
            self.add('lost', f"fan-out {row['id']} over {len(row['input'])} items has the items {indexes}")

    def check_shape(self, row, children):
        shape = SHAPES[children[0]['name'].split('::')[0]] if children else {}
        tasks = {c['task_name']: c for c in children}
        if row['status'] == 'succeeded' and (len(children) != len(shape) or tasks.keys() != shape.keys() or not shape):
            self.add('lost', f"workflow {row['id']} succeeded with the tasks {sorted(tasks)}")
        for name, needs in shape.items():
            start = min((b.place for b in self.begins_below(tasks.get(name))), default=None)
            for need in needs:
                end = max((b.place for b in self.begins_below(tasks.get(need))), default=-1)
                if start is not None and end > start and not self.facts.fence:
                    self.add('untrue', f"{name} of workflow {row['id']} began before {need} had ended")

    def begins_below(self, row):
        if row is None:
            return []
        return self.ledger.begins(row['id']) + [b for c in self.children[row['id']] for b in self.begins_below(c)]


def tag_of(row):
    return row['name'].removeprefix('exec::') if row['kind'] == 'exec' else (row['input'] or {}).get('tag')


def failure_is_allowed(row):
    return row['status'] == 'failed' and row['name'] in ('joins::c', 'wide::some')


def judge(submissions, rows, released, ledger, facts):
    return Judge(submissions, rows, released, ledger, facts).judge()
