"""Requests made up from the server's own OpenAPI document: whatever comes, the server has an answer."""

from __future__ import annotations

import re
import warnings
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from tests.server.service import Server

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis

EXAMPLES = 8  # of each operation, once by its schema and once against it


def test_no_request_is_an_error_of_the_server(server: Server) -> None:
    document = server.get("/openapi.json").data
    path = server.study("cnn")
    (trial,) = server.ask(path)["trials"]
    server.post(f"{path}/tell", {"trial": trial["number"], "token": trial["token"], "value": 0.5})
    operations = [found.ok() for found in schemathesis.openapi.from_dict(document).get_all_operations()]
    fuzzed = [one for one in operations if not one.path.endswith("/events")]  # a stream does not end
    assert len(fuzzed) == len(operations) - 1 > 15
    answers = [answer for operation in fuzzed for answer in fuzz(server, operation)]
    assert [answer for answer in answers if answer[2] >= 500] == []
    assert {200, 404, 422} <= {status for _, _, status in answers}
    assert server.get("/health").status == 200


def fuzz(server: Server, operation: Any) -> list[tuple[str, Any, int]]:
    """Send requests of an operation; return route, body and status of each."""
    answers = []
    parameters = {"name": "cnn"} if re.search(r"\{name\}.", operation.path) else None  # else it would be deleted

    def send(case: Any) -> None:
        if operation.path.endswith("/ask") and isinstance(case.body, dict):
            case.body["wait"] = 0
        answer = case.call(
            base_url=f"http://127.0.0.1:{server.port}", headers={"authorization": f"Bearer {server.token}"}
        )
        answers.append((operation.label, case.body, answer.status_code))

    for mode in schemathesis.GenerationMode:
        try:
            strategy = operation.as_strategy(generation_mode=mode, path_parameters=parameters)
            checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
            settings(
                max_examples=EXAMPLES, derandomize=True, deadline=None, database=None, phases=[Phase.generate],
                suppress_health_check=checks,
            )(given(strategy)(send))()  # fmt: skip
        except (Unsatisfiable, schemathesis.errors.SchemathesisError):  # nothing to get wrong
            continue
    return answers
