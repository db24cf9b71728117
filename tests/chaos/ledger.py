"""ledger.py - reads the lines that the commands of jobs appended to the ledger (job.c describes them)."""
from collections import defaultdict, namedtuple

Line = namedtuple('Line', 'place what execution attempt epoch pid time key mode code')


def parse(text):
    """The lines in the order in which they were written. A line is one write, so none is ever incomplete."""
    lines = []
    for place, line in enumerate(text.splitlines()):
        what, execution, attempt, epoch, pid, time, key, mode, code = line.split(' ')
        lines.append(Line(place, what, int(execution), int(attempt), int(epoch), int(pid), int(time), key, mode, int(code)))
    return lines


def read(path):
    try:
        with open(path) as f:
            return parse(f.read())
    except FileNotFoundError:
        return []


class Ledger:
    """The lines by execution, and by attempt."""

    def __init__(self, lines):
        self.lines = lines
        self.of_execution = defaultdict(list)
        for line in lines:
            self.of_execution[line.execution].append(line)

    def begins(self, execution, attempt=None):
        return self._select(execution, attempt, 'bo')

    def ends(self, execution, attempt=None):
        return self._select(execution, attempt, 'e')

    def mode(self, execution):
        lines = self.of_execution.get(execution)
        return lines[0].mode if lines else None

    def keys(self):
        return {line.key for line in self.lines}

    def _select(self, execution, attempt, whats):
        return [line for line in self.of_execution.get(execution, ())
                if line.what in whats and attempt in (None, line.attempt)]
