"""The first example of a page in this process, statement by statement; JSON of what each took.

``python -m`` of this file is given the number of points. ``first_use`` runs it. A program is what XLA compiles.
"""

import ast
import json
import sys
import time
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "kernels.md"
COMPILED = "/jax/core/compile/backend_compile_duration"


def example(points: int) -> list[ast.stmt]:
    """Return the statements of the page's first example, with so many points."""
    code = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    return ast.parse(code.replace("200", str(points))).body


def measure(points: int) -> list[dict[str, Any]]:
    """Run the example, and return a row for each statement."""
    found: list[dict[str, Any]] = []
    names: dict[str, Any] = {}
    programs: list[str] = []
    for statement in example(points):
        before, cpu, wall = len(programs), time.process_time(), time.perf_counter()
        exec(compile(ast.Module([statement], []), "example", "exec"), names)  # noqa: S102
        taken = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        found.append({"statement": ast.unparse(statement), **taken, "programs": len(programs) - before})
        if isinstance(statement, ast.ImportFrom):
            listen(programs)
    return found


def listen(programs: list[str]) -> None:
    """Add to ``programs`` whenever one is compiled; the example has loaded JAX by now."""
    from jax import monitoring

    def listener(event: str, duration: float, **_: Any) -> None:
        if event == COMPILED:
            programs.append(event)

    monitoring.register_event_duration_secs_listener(listener)


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
