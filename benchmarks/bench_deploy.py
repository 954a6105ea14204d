"""What memory the app takes: after it has started, after each page, and at its peak, with every model that travels with it.

    python benchmarks/bench_deploy.py            a minute or two; exits 1 where the peak is over the bar

Linux only. One visit opens every page with its examples, and Translate with four translators side by side.
"""

import sys

from attnviz.models import catalog
from attnviz.ui.examples import examples
from benchmarks.visitor import ROOT, App, Visit, serving

PEAK_MB = 1_500
PORT = 8641


def walk(app: App) -> list[str]:
    """Opens page after page, and prints what the process then holds; returns what went wrong."""
    visit = Visit(app)
    print(f"{'after':<28}{'MB':>8}{'seconds':>10}")
    for page in ("", *sorted(path.stem for path in (ROOT / "pages").glob("*.py") if path.stem != "home")):
        seconds = visit.open(page)
        print(f"{page or 'home':<28}{app.megabytes():>8,.0f}{seconds:>10.1f}", flush=True)
    for example in examples("summarize"):
        visit.open("summarize", text=example.text)
    for example in examples("encode"):
        visit.open("encode", text=example.text)
        visit.open("summarize", model=catalog.available()[0], text=example.text)
    for example in examples("translate"):
        visit.open("translate", text=example.text)
        visit.open("encode", text=example.text)
    print(f"{'every example':<28}{app.megabytes():>8,.0f}", flush=True)
    visit.close()
    return visit.errors


def main() -> int:
    """Prints the table; 1 where a page said an error, or the peak was over the bar."""
    with serving(PORT) as app:
        print(f"{'start':<28}{app.megabytes():>8,.0f}")
        errors = walk(app)
        peak = app.megabytes("VmHWM")
    print(f"{'peak':<28}{peak:>8,.0f}          (bar: {PEAK_MB:,})")
    print(*errors, sep="\n")
    return int(bool(errors) or peak > PEAK_MB)


if __name__ == "__main__":
    sys.exit(main())
