"""harness.py - runs the tests of a Python file, and prints their results in the form of the C tests.

    from harness import test, main

    @test
    def answer_to_an_unknown_path_is_404(): …

    main()
"""

import os
import sys
import time
import traceback

_tests = []


class Skip(Exception):
    """Raised by a test that can't run here; its text is the reason."""


def test(function):
    _tests.append(function)
    return function


def _run(function):
    try:
        function()
        return "ok", ""
    except Skip as reason:
        return "skip", str(reason)
    except Exception:  # a failed assertion, or an error of any other kind
        return "FAIL", traceback.format_exc()


def main():
    """Runs all tests, or those that the command line names."""
    program = os.path.basename(sys.argv[0]).removesuffix(".py")
    database = os.environ.get("PAWL_TEST_DB", "sqlite")
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    for function in _tests:
        if sys.argv[1:] and function.__name__ not in sys.argv[1:]:
            continue
        start = time.monotonic()
        word, text = _run(function)
        counts[word] += 1
        detail = f", {text}" if word == "skip" else f", {time.monotonic() - start:.2f} s"
        print(f"{word} {program}: {function.__name__} ({database}{detail})")
        if word == "FAIL":
            print("    " + text.replace("\n", "\n    "))
        sys.stdout.flush()
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    sys.exit(1 if counts["FAIL"] or not counts["ok"] else 0)
