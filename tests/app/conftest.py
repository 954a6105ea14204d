"""What holds for every page that is run without a browser."""

import pytest


@pytest.fixture(autouse=True)
def _no_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit looks for components in all installed packages, half a second for each session, and there are none."""
    monkeypatch.setattr("streamlit.components.v2.manifest_scanner.scan_component_manifests", list)
