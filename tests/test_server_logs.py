"""The output of attempts over HTTP: search, and what else the pages ask of a run."""

import json

from harness import main, test
from server_fixture import serving


def output(server, command):
    """Runs a command; returns its execution, whose output is that of the command."""
    return server.wait(server.submit(command={"argv": ["sh", "-c", command]}))["id"]


def found(server, run, **args):
    query = "&".join(f"{k}={str(v).replace(' ', '%20')}" for k, v in args.items())
    return server.get(f"/v1/executions/{run}/logs/search?{query}").expect(200).json


@test
def search_finds_lines_by_a_part_of_them_in_any_case():
    with serving("--worker", "1") as s:
        run = output(s, "echo first; echo an Error here; echo; printf 'the last ERROR'")
        answer = found(s, run, text="error")
        assert answer == {"attempt": 1, "items": [{"byte": 6, "text": "an Error here"}, {"byte": 21, "text": "the last ERROR"}], "next": None}, answer
        assert found(s, run, text="missing")["items"] == []
        s.get(f"/v1/executions/{run}/logs/search").expect(400)
        s.get("/v1/executions/99999/logs/search?text=x").expect(404)


@test
def search_continues_at_the_next_line_and_finds_each_line_once():
    with serving("--worker", "1") as s:
        run = output(s, "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo line $i of the output; done")
        items, at, requests = [], 0, 0
        while at is not None:
            answer = found(s, run, text="7 of", limit=100, **{"from": at})
            items, at, requests = items + answer["items"], answer["next"], requests + 1
        assert [i["text"] for i in items] == [f"line {i} of the output" for i in range(7, 5000, 10)]
        assert requests == 6, requests
        for item in items[::100]:
            page = s.get(f"/v1/executions/{run}/logs?from={item['byte']}&limit=50").expect(200)
            assert page.body.decode().startswith(item["text"] + "\n")


@test
def search_passes_long_lines_other_encodings_and_nul_bytes():
    with serving("--worker", "1") as s:
        run = output(s, "head -c 3000000 /dev/zero | tr '\\0' x; echo needle; printf 'caf\\351 \\000 needle\\n'")
        answer = found(s, run, text="needle")
        assert len(answer["items"]) == 2 and answer["items"][1]["text"].endswith("  needle"), json.dumps(answer)[:300]
        assert len(answer["items"][0]["text"]) == 400


@test
def definition_of_a_run_is_the_one_that_it_was_submitted_with():
    with serving("--worker", "1") as s:
        yaml = "name: shown\nparams: {n: {type: integer, default: 2}}\ntasks: {a: {run: 'true'}}\n"
        put = lambda text: s.ask("PUT", "/v1/workflows/shown", text.encode(), headers={"Content-Type": "application/yaml"}).expect(200)
        put(yaml)
        run = s.submit(workflow="shown")
        put(yaml.replace("default: 2", "default: 3"))
        shown = s.get(f"/v1/executions/{run}/definition").expect(200).json
        assert shown["source"] == yaml and shown["params"][0]["default"] == 2 and shown["document"]["name"] == "shown"
        assert shown["definition"] == s.get(f"/v1/executions/{run}").json["workflow_execution"]["definition"]
        job = s.submit(command={"argv": ["true"]})
        s.get(f"/v1/executions/{job}/definition").expect(422)
        s.wait(run), s.wait(job)


@test
def verify_counts_what_it_checked():
    with serving("--worker", "1") as s:
        s.wait(s.submit(command={"argv": ["true"]}))
        answer = s.get("/v1/verify").expect(200).json
        assert answer["checks"] > 30 and answer["executions"] == 1 and (answer["violations"], answer["items"]) == (0, [])
        s.get("/v1/verify", token=s.db.token("reader", "read")).expect(403)


main()
