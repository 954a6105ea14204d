"""The notebook of the documentation runs from its first cell to its last, and what it shows is what the models say."""

import json
from pathlib import Path

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def test_every_cell_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Some of the user's own start-up files would be run.
    monkeypatch.setattr(InteractiveShell, "autoindent", False)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    shell, results = InteractiveShell(), {}
    for cell in cells:
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            with capture_output() as printed:
                ran = shell.run_cell(source)
            ran.raise_error()
            results[source.splitlines()[-1]] = ran.result, printed.stdout
    weights = results["{tokens[key]: round(float(row[key]), 2) for key in row.argsort()[::-1][:3]}"][0]
    assert next(iter(weights.items())) == ("animal", 0.68)
    for line in ("trace", "av.grid(trace)", "av.alignment(translation)"):
        assert "<iframe" in results[line][0]._repr_html_()
    figure = results["av.heatmap(trace, layer=3, head=1)"][0]
    np.testing.assert_array_equal(np.array(figure.data[0].z), shell.user_ns["weights"])
    assert results["(opened.encoder.weights(3, 1) == weights).all()"][0]
    assert "voiture rouge" in results["av.alignment(translation)"][1]
    assert "2 queries" in results["    print(error)"][1]
