"""summary.py - the totals of a campaign, as a table for the terminal and for docs/GUARANTEES.md."""
import re
from collections import Counter

import oracle

DATABASES = ('sqlite', 'postgres')
FIGURES = ('jobs', 'attempts', 'executions', 'submissions', 'accepted', 'sql', 'keyed', 'repeated', 'foreground', 'cancels')
VIOLATIONS = ('lost', 'doubled', 'wasted', 'untrue', 'hung', 'leaked', 'crashed', 'verify')
BEGIN, END = '<!-- tests/chaos: figures -->', '<!-- tests/chaos: end -->'


class Totals:
    """The sum over the rounds of one database."""

    def __init__(self, records):
        played = [r for r in records if 'skipped' not in r]
        self.rounds, self.seconds = len(played), sum(r['seconds'] for r in played)
        self.figures, self.faults, self.violations = Counter(), Counter(), Counter()
        for record in played:
            self.figures.update({name: record[name] for name in FIGURES})
            self.faults.update(record['faults'])
            self.violations.update(v['kind'] for v in record['violations'])
        self.skipped = Counter(f"{r['scenario']}: {r['skipped']}" for r in records if 'skipped' in r)

    def kills(self):
        return sum(n for name, n in self.faults.items() if name.startswith('kill '))


def rows(records):
    """The lines of the table: name, and a value for each database."""
    totals = [Totals([r for r in records if r['database'] == d]) for d in DATABASES]
    yield 'rounds', [t.rounds for t in totals]
    yield 'minutes', [round(t.seconds / 60) for t in totals]
    for name in FIGURES:
        yield name, [t.figures[name] for t in totals]
    yield 'kill -9, all kinds', [t.kills() for t in totals]
    for name in sorted(set().union(*(t.faults for t in totals))):
        yield f'fault: {name}', [t.faults[name] for t in totals]
    for name in VIOLATIONS:
        yield f'violations: {name}', [t.violations[name] for t in totals]
    for name in sorted(set().union(*(t.skipped for t in totals))):
        yield f'skipped: {name}', [t.skipped[name] for t in totals]


def text(records):
    lines = [f'{"":40}' + ''.join(f'{d:>12}' for d in DATABASES)]
    lines += [f'{name:40}' + ''.join(f'{value:12,}' for value in values) for name, values in rows(records)]
    return '\n'.join(lines)


def page(records):
    """The section of docs/GUARANTEES.md."""
    seeds = [r['seed'] for r in records]
    revisions = sorted({r['revision'] for r in records})
    scenarios = sorted({r['scenario'] for r in records if 'skipped' not in r})
    lines = [f'One campaign: seeds {min(seeds)} to {max(seeds)}, revisions {", ".join(revisions)}; scenarios: {", ".join(scenarios)}.', '',
             '| | SQLite | PostgreSQL |', '|---|---|---|']
    lines += [f'| {name} | ' + ' | '.join(f'{value:,}' for value in values) + ' |' for name, values in rows(records)]
    return '\n'.join(lines)


def write_page(path, records):
    with open(path) as f:
        old = f.read()
    new, count = re.subn(f'(?s){re.escape(BEGIN)}.*?{re.escape(END)}', lambda _: f'{BEGIN}\n{page(records)}\n{END}', old)
    if count != 1:
        raise RuntimeError(f'{path} has no place for the figures')
    with open(path, 'w') as f:
        f.write(new)


def is_clean(records):
    return not any(r.get('violations') for r in records)


assert set(oracle.KINDS) <= set(VIOLATIONS)
