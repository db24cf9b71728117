"""test_oracle.py - plants faults in a correct history and expects the oracle to name them. Run: python3 test_oracle.py"""
import copy
import unittest

import ledger
import oracle

LINES = """b 1 1 1 100 1000 k11 ok 0
b 3 1 1 101 1001 k31 ok 0
e 3 1 1 101 1002 k31 ok 0
b 4 1 1 102 1003 k41 flaky 0
e 4 1 1 102 1004 k41 flaky 3
e 1 1 1 100 1005 k11 ok 0
b 4 2 2 103 1006 k42 flaky 0
e 4 2 2 103 1007 k42 flaky 0
b 5 1 1 104 1008 k51 ok 0
e 5 1 1 104 1009 k51 ok 0
b 6 1 1 105 1010 k61 ok 0
e 6 1 1 105 1011 k61 ok 0
b 9 1 1 106 1012 k91 out 0
e 9 1 1 106 1013 k91 out 0"""


def row(number, name, kind='task', parent=None, attempt=1, status='succeeded', **more):
    return {'id': number, 'name': name, 'kind': kind, 'parent': parent, 'attempt': attempt, 'max_attempts': 7, 'status': status,
            'task_name': name.split('::')[-1].split('[')[0], 'task_index': None, 'error': None, 'input': None, **more}


def history():
    """One job, one chain, and one fan-out whose first task was not needed here."""
    rows = [row(1, 'exec::t1', 'exec'), row(2, 'chain', 'workflow', attempt=0, input={'tag': 't2'}),
            row(3, 'chain::a', parent=2), row(4, 'chain::b', parent=2, attempt=2), row(5, 'chain::c', parent=2),
            row(6, 'chain::d', parent=2), row(8, 'fan::each', 'foreach', parent=7, attempt=0, input=[0]),
            row(9, 'fan::each[0]', parent=8, task_index=0)]
    submissions = [oracle.Submission('t1', acked=True), oracle.Submission('t2', acked=True)]
    return submissions, rows, LINES


class Oracle(unittest.TestCase):
    def setUp(self):
        self.submissions, self.rows, self.lines = copy.deepcopy(history())
        self.facts, self.released = oracle.Facts(), set()

    def found(self):
        return {v.kind for v in self.judge()}

    def judge(self):
        return oracle.judge(self.submissions, self.rows, self.released, ledger.Ledger(ledger.parse(self.lines)), self.facts)

    def of(self, number):
        return next(r for r in self.rows if r['id'] == number)

    def test_correct_history_has_no_violation(self):
        self.assertEqual(self.judge(), [])

    def test_command_that_found_its_lock_taken_is_reported_as_doubled(self):
        self.lines = self.lines.replace('b 4 2', 'o 4 2')
        self.assertEqual(self.found(), {'doubled'})

    def test_attempt_that_began_twice_is_reported_as_doubled(self):
        self.lines += '\nb 6 1 2 110 1020 k61 ok 0\ne 6 1 2 110 1021 k61 ok 0'
        self.assertEqual(self.found(), {'doubled'})

    def test_older_attempt_that_writes_after_a_newer_began_is_reported_as_doubled(self):
        self.lines = self.lines.replace('e 4 1 1 102 1004 k41 flaky 3\n', '') + '\ne 4 1 1 102 1020 k41 flaky 3'
        self.assertEqual(self.found(), {'doubled'})

    def test_attempt_that_the_database_does_not_know_is_reported_as_doubled(self):
        self.of(4)['attempt'] = 1
        self.assertIn('doubled', self.found())

    def test_two_executions_of_one_submission_are_reported_as_doubled(self):
        self.rows.append(row(10, 'exec::t1', 'exec', status='cancelled', attempt=0))
        self.assertEqual(self.found(), {'doubled'})

    def test_accepted_submission_without_execution_is_reported_as_lost(self):
        self.submissions.append(oracle.Submission('t3', acked=True))
        self.assertEqual(self.found(), {'lost'})

    def test_refused_submission_without_execution_is_not_a_violation(self):
        self.submissions.append(oracle.Submission('t3'))
        self.assertEqual(self.found(), set())

    def test_success_without_a_begin_is_reported_as_lost(self):
        self.lines = '\n'.join(line for line in self.lines.split('\n') if ' 6 1 ' not in line)
        self.assertEqual(self.found(), {'lost'})

    def test_success_without_an_end_is_reported_as_lost(self):
        self.lines = self.lines.replace('e 6 1 1 105 1011 k61 ok 0\n', '')
        self.assertEqual(self.found(), {'lost'})

    def test_success_of_an_attempt_that_exited_with_an_error_is_reported_as_untrue(self):
        self.lines = self.lines.replace('e 6 1 1 105 1011 k61 ok 0', 'e 6 1 1 105 1011 k61 ok 3')
        self.assertEqual(self.found(), {'untrue'})

    def test_missing_item_of_a_fan_out_is_reported_as_lost(self):
        self.of(8)['input'] = [0, 1]
        self.assertEqual(self.found(), {'lost'})

    def test_missing_task_of_a_workflow_is_reported_as_lost(self):
        self.rows.remove(self.of(6))
        self.lines = '\n'.join(line for line in self.lines.split('\n') if ' 6 1 ' not in line)
        self.assertEqual(self.found(), {'lost'})

    def test_execution_that_ran_and_is_not_stored_is_reported_as_lost(self):
        self.lines += '\nb 99 1 1 110 1020 k99 ok 0'
        self.assertEqual(self.found(), {'lost'})

    def test_open_execution_is_reported_as_hung(self):
        self.of(9)['status'] = 'running'
        self.assertEqual(self.found(), {'hung'})

    def test_follower_that_began_before_its_need_is_reported_as_untrue(self):
        lines = self.lines.split('\n')
        self.lines = '\n'.join([line for line in lines if ' 5 1 ' in line] + [line for line in lines if ' 5 1 ' not in line])
        self.assertEqual(self.found(), {'untrue'})

    def test_success_that_is_recorded_as_failed_is_reported_as_untrue(self):
        self.of(1)['status'] = 'failed'
        self.assertEqual(self.found(), {'untrue'})

    def test_failure_of_a_killed_attempt_is_not_a_violation(self):
        self.of(1)['status'] = 'failed'
        self.facts.killed.add((1, 1))
        self.assertEqual(self.found(), set())

    def test_attempt_that_never_began_and_failed_is_reported_as_wasted(self):
        self.of(1)['status'] = 'failed'
        self.lines = '\n'.join(line for line in self.lines.split('\n') if ' 1 1 1 100' not in line)
        self.assertEqual(self.found(), {'wasted'})

    def test_attempt_that_never_began_and_was_retried_is_reported_as_wasted(self):
        self.lines = '\n'.join(line for line in self.lines.split('\n') if ' 4 1 1 102' not in line)
        self.assertEqual(self.found(), {'wasted'})

    def test_attempt_that_never_began_and_was_returned_to_its_queue_is_not_a_violation(self):
        self.lines = '\n'.join(line for line in self.lines.split('\n') if ' 4 1 1 102' not in line)
        self.released.add((4, 1))
        self.assertEqual(self.found(), set())

    def test_attempt_that_began_and_was_returned_to_its_queue_is_reported_as_doubled(self):
        self.released.add((4, 1))
        self.assertEqual(self.found(), {'doubled'})

    def test_function_that_ended_with_its_killed_worker_is_not_a_violation(self):
        self.lines = self.lines.replace('b 4 1 1 102 1003 k41 flaky 0\ne 4 1 1 102 1004 k41 flaky 3', 'b 4 1 0 102 1003 - function 0')
        self.assertEqual(self.found(), {'wasted'})
        self.facts.dead_workers.add(102)
        self.assertEqual(self.found(), set())

    def test_function_that_never_began_in_a_killed_worker_is_reported_as_wasted(self):
        self.lines = '\n'.join(line for line in self.lines.split('\n') if ' 4 1 1 102' not in line)
        self.facts.dead_workers.add(102)
        self.assertEqual(self.found(), {'wasted'})

    def test_foreground_success_of_a_failed_execution_is_reported_as_untrue(self):
        self.submissions[0].exit_code = 0
        self.of(1)['status'] = 'cancelled'
        self.assertEqual(self.found(), {'untrue'})

    def test_attempt_that_runs_again_after_a_fence_is_not_a_violation(self):
        self.lines += '\nb 6 1 1 110 1020 k62 ok 0\ne 6 1 1 110 1021 k62 ok 0'
        self.facts.fence = 14
        self.assertEqual(self.found(), set())


if __name__ == '__main__':
    unittest.main()
