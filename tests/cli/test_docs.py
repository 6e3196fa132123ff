from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
SHIM = f"""set -e
sonde() {{ {sys.executable} -c 'from sonde.cli.main import main; main()' "$@"; }}
"""


def test_the_page_shows_commands_that_work() -> None:
    text = PAGE.read_text()
    for name, body in re.findall(r"```(?:python|toml)\n# (\S+)\n(.*?)```", text, re.DOTALL):
        Path(name).write_text(body)
    shown = re.findall(r"^\$ ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    commands = [command.replace("-- python ", f"-- {sys.executable} ") for command in shown if "sleep" not in command]
    assert len(commands) == len(shown) - 1 > 6  # the one that sleeps is there to be interrupted
    ended = subprocess.run(["bash", "-c", SHIM + "\n".join(commands)], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert "default: the best of 30 trials (" in ended.stdout
    assert {"train.py", "space.toml", "trials.csv", "trials.json"} <= {path.name for path in Path.cwd().iterdir()}
