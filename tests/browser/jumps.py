"""How far the parts of a page move where each message of the server is drawn in a frame of its own, as on a slow machine.

A part that moves in ten steps, or down and up again, counts once, by its places furthest apart: how many steps are drawn
depends on how busy the machine is. The unit is a layout shift's: the share of the window that moves, times how far, as a share.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page

_SCRIPT = """
  window.slowly = true;
  window.parts = new Map();
  // The browser tells of a move when it has time: of one that was to be forgotten, too.
  let since = 0;
  window.forgetMoves = () => {
    parts.clear();
    since = performance.now();
  };
  const placeOf = ({ top, bottom, left, right, width, height }) =>
    width ? { top, bottom, left, right } : { top: innerHeight, bottom: innerHeight, left: Infinity, right: -Infinity };
  new PerformanceObserver((list) => {
    for (const { sources, startTime } of list.getEntries()) {
      if (startTime < since) continue;
      for (const { node, previousRect: from, currentRect: to } of sources) {
        const each = node instanceof Element ? node : node?.parentElement;
        const part = each ?? Symbol();
        parts.set(part, [...(parts.get(part) ?? []), placeOf(from), placeOf(to)]);
      }
    }
  }).observe({ type: "layout-shift", buffered: true });
"""
_MOVED = """() => [...parts].map(([part, places]) => {
  const span = (low, high) => Math.max(...places.map((place) => place[high])) - Math.min(...places.map((place) => place[low]));
  const size = (low, high) => Math.max(0, ...places.map((place) => place[high] - place[low]));
  const [height, width] = [size("top", "bottom"), size("left", "right")];
  const by = Math.max(span("top", "top"), places.every(({ left }) => left < Infinity) ? span("left", "left") : 0);
  const area = Math.min(height + by, 2 * height) * width;
  const share = (area / (innerWidth * innerHeight)) * (by / Math.max(innerWidth, innerHeight));
  const [key] = part.closest?.("[class*=st-key-]")?.className.match(/st-key-[^ ]+/) ?? [""];
  const text = part.textContent?.trim().slice(0, 40);
  return [share, `${key} ${part.dataset?.testid ?? part.nodeName} “${text}” by ${by} px`];
})"""


@contextmanager
def drawn_slowly(page: Page) -> Iterator[Page]:
    """The page notes what moves, until it is left."""
    session = page.context.new_cdp_session(page)
    session.send("Page.enable")
    script = session.send("Page.addScriptToEvaluateOnNewDocument", {"source": _SCRIPT})
    yield page
    session.send("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script["identifier"]})
    session.detach()


def forget_moves(page: Page) -> None:
    page.evaluate("() => forgetMoves()")


def moved(page: Page) -> tuple[float, list[tuple[float, str]]]:
    """How far things have jumped in all, and each that did."""
    parts = page.evaluate(_MOVED)
    return sum(share for share, _ in parts), [(share, part) for share, part in parts if share > 0.001]
