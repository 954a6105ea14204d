"""Importing attnviz is cheap: the heavy packages come when a model or a page needs them."""

import subprocess
import sys

# NumPy and jaxtyping take most of the time, which says what machine this is and nothing of attnviz.
SCRIPT = """
import sys, time
import jaxtyping, numpy
started = time.process_time()
import attnviz
print(time.process_time() - started, *sorted({"streamlit", "torch", "transformers", "plotly", "matplotlib"} & set(sys.modules)))
"""
SECONDS = 0.15


def test_import_is_light_and_fast():
    # Processor time and the best of five: what else runs on the machine does not count, nor a first run without .pyc files.
    runs = [subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True) for _ in range(5)]
    seconds, heavy = zip(*((float(line[0]), line[1:]) for line in (run.stdout.split() for run in runs)), strict=True)
    assert not any(heavy), f"importing attnviz imports {heavy[0]}"
    assert min(seconds) <= SECONDS


def test_a_shell_completes_names_that_are_not_imported_yet():
    script = "import attnviz; print(*dir(attnviz)); print(*attnviz.__all__)"
    listed, public = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert {"load", "run", "rank_heads"} <= set(listed.split()) >= set(public.split())
