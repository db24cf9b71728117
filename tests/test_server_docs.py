"""The committed documents of the HTTP interface are those that the program makes: docs/openapi.json and docs/API.md.
PAWL_WRITE_DOCS=1 writes them."""
# TEST_NO_DB

import json
import os
import subprocess

from harness import main, test
from server_fixture import BUILD

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def check_page(name, text):
    path = os.path.join(ROOT, "docs", name)
    if os.environ.get("PAWL_WRITE_DOCS"):
        with open(path, "w") as f:
            f.write(text)
    with open(path) as f:
        assert f.read() == text, f"docs/{name} is out of date: PAWL_WRITE_DOCS=1 python3 tests/test_server_docs.py writes it"


def openapi():
    printed = subprocess.run([f"{BUILD}/pawl-server", "--print-openapi"], capture_output=True, text=True, check=True).stdout
    return json.dumps(json.loads(printed), indent=1, ensure_ascii=False) + "\n"


@test
def committed_openapi_document_equals_that_of_the_server():
    check_page("openapi.json", openapi())


@test
def committed_reference_is_generated_from_the_openapi_document():
    page = subprocess.run([f"{ROOT}/tools/api-doc"], input=openapi(), capture_output=True, text=True, check=True).stdout
    check_page("API.md", page)


main()
