"""The command line through a server: reading and refused commands have the output, errors and exit codes that they have on
the database itself."""
# TEST_LONG

import json

from harness import main, test
from remote_fixture import both, without_durations


READING = """
ls
ls --limit 2
ls --all --limit 0
ls --all --status failed,succeeded --kind task
ls --all --name flow::*
ls --workflow flow --count
ls --count --limit 1
ls --all --since 1d --until 2100-01-01 --param day=monday
ls --tasks FAILED
ls --tasks FAILED --status failed --limit 1
ls --parent FAILED
ls --all --before BAD
ls --by nobody*
ls --all --worker 0123456789abcdef
ls --queue mail --all
show FAILED
show @last
show BAD
show BAD --parent
show BAD --workflow
show FAILED --at 2100-01-01
show FAILED --at=#3
wait FAILED
wait GOOD BAD FAILED
watch FAILED
watch FAILED --progress json
watch FAILED --progress tty
tree FAILED
tree FAILED --critical
tree FAILED --at=#6
diff FAILED FAILED
diff FAILED WAITING
diff FAILED WAITING --exit-code
events FAILED
events FAILED --self
events FAILED --type failed --limit 2
events --limit 5
events --limit 0
events --type workflow.started,task.failed --since 1d
why BAD
why FAILED
logs BAD
logs BAD --attempt 1 --tail 1
logs GOOD --raw
workflow
workflow ls --name t*
workflow show flow
workflow show timed
workflow versions flow
schedule
schedule ls timed
schedule next
schedule next timed -n 3
schedule next -n 0
workers
submissions
submissions --status refused --limit 3
admin token list
admin retention
admin routes
"""
PLAIN_TEXT = """
graph FAILED
graph FAILED --format dot
graph FAILED --format json
graph WAITING --format mermaid
workflow show flow --yaml
validate FLOW
"""
GROWING = """
show WAITING
tree WAITING
tree WAITING --critical
why WAITING
why ASKED
queue
metrics
"""
REFUSED = """
show 12345
show x
wait 12345
wait WAITING --timeout 0s
wait WAITING 12345 FAILED --timeout 100ms
watch 12345
tree 12345
events 12345
why 12345
logs 12345
logs BAD --attempt 9
logs FAILED
graph 12345
graph FAILED --format nope
diff FAILED 12345
ls --status nope
ls --kind nope
ls --worker nope
ls --tasks BAD
ls --tasks FAILED --workflow flow
ls --parent 12345
ls --param nope
events --type nope
show FAILED --at=#1000000000
show WAITING --parent
workflow show none
workflow show flow --version none
workflow versions none
schedule ls none
schedule next none
submissions --status nope
cancel FAILED
cancel 12345
pause FAILED
resume WAITING
skip FAILED
approve WAITING
reject BAD
rerun WAITING
rerun 12345
rerun FAILED --from none
rerun FAILED --set none=1 --dry-run
rerun FAILED --set n=x --dry-run
cancel WAITING --reason ''
queue resume default
queue pause ''
schedule pause none
schedule run none
schedule resume timed
workflow rm none
admin token revoke none
admin retention set --days 99999
submit none
submit flow --param none=1
submit flow --param n=x
cancel --status failed --yes
cancel --all --yes
pause --workflow none --yes
rerun --workflow flow --dry-run
rerun --workflow flow --status failed --failed --dry-run
cancel --workflow open --dry-run
"""


def commands(text, b):
    names = {"FAILED": b.failed, "WAITING": b.waiting, "BAD": b.task("flow::bad", b.failed), "FLOW": b.flow,
             "GOOD": b.task("flow::good", b.failed), "ASKED": b.task("open::one", b.waiting)}
    for line in text.strip().splitlines():
        yield [str(names.get(w, w)).replace("''", "") for w in line.split()]


@test
def reading_command_through_a_server_prints_what_it_prints_on_the_database():
    with both() as b:
        b.fill()
        for words in commands(READING, b):
            assert b.same(*words).code in (0, 1)
            assert b.same(*words, "--json").code in (0, 1)
        for words in commands(PLAIN_TEXT, b):
            assert b.same(*words).code == 0
        for words in commands(GROWING, b):
            assert b.same(*words, plain=without_durations).code == 0
            assert b.same(*words, "--json", plain=without_durations).code == 0


@test
def refused_command_through_a_server_has_the_sentence_and_the_code_of_the_database():
    with both() as b:
        b.fill()
        before = b.on_database("events", "--limit", 0).out
        for words in commands(REFUSED, b):
            b.same(*words)
        assert b.on_database("events", "--limit", 0).out == before


@test
def submissions_are_listed_in_pages_until_the_limit_or_the_end():
    with both() as b:
        b.fill()
        assert b.same("submissions").err == ""
        b.db.submit_by_sql("timed", 1203)
        cut = b.same("submissions")
        assert cut.out.count("\n") == 101 and "only the first 100 submissions are shown" in cut.err and cut.code == 0
        for options in ([], ["--status", "waiting"]):
            for limit, lines in ((7, 7), (1000, 1000), (1100, 1100), (0, 1203), (5000, 1203)):
                listed = b.same("submissions", "--json", "--limit", limit, *options)
                ids = [json.loads(line)["id"] for line in listed.out.splitlines()]
                assert len(ids) == lines and listed.err == "", (limit, len(ids), listed.err)
                assert ids == sorted(set(ids), reverse=not options)
        page = b.server.get("/v1/submissions?limit=1000").expect(200)
        rest = b.server.get(f"/v1/submissions?limit=1000&cursor={page.json['next']}").expect(200).json
        assert len(rest["items"]) == 203 and rest["next"] is None and "cursor=" in page.headers["Link"]
        for cursor in ("x", "1", "0-0", "1-2-3", "99999999999999999999-"):
            b.server.get(f"/v1/submissions?cursor={cursor}").expect(400)
        b.server.get("/v1/submissions?status=refused&cursor=9223372036854775807-1").expect(200)
        b.on_database("cancel", "--workflow", "timed", "--yes")


@test
def verify_through_a_server_prints_all_violations_and_has_the_exit_code_of_the_database():
    with both() as b:
        b.fill()
        for options in ([], ["--json"], ["--lease", "1500ms"]):
            assert b.same("verify", *options).code == 0
        b.through("verify", token=b.db.token("reader", "read")).refused(6, "admin")
        for _ in range(30):
            b.on_database("exec", "--detach", "--", "true")
        b.db.execute("UPDATE executions SET seq = seq + 1")
        for options in ([], ["--json"], ["--lease", "1500ms"]):
            found = b.same("verify", *options)
            assert found.code == 1 and found.out.count("\n") > 20, found
        b.db.execute("UPDATE executions SET seq = seq - 1")


@test
def overview_through_a_server_names_the_server_and_is_the_same_otherwise():
    with both() as b:
        b.fill()
        here, there = b.on_database("top", "--once").out, b.through("top", "--once").out
        assert b.url in there and b.url not in here
        assert here.splitlines()[1:] == there.splitlines()[1:]
        b.same("top", "--json", plain=without_durations)
        b.same("top", "--json", "--filter", "none", plain=without_durations)


main()
