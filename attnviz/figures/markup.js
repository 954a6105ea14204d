// Mounts HTML that Python has made and escaped. A click on what has data-pick hands its value to Python; pointing at a word, or
// reaching it with the keyboard, brings out its links.

export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const place = parentElement.querySelector(".markup");
  // What did not change stays: a press that began on it ends on it, and what has the focus keeps it.
  if (place.shown !== data) show(place, data);
  place.onclick = (event) => {
    const picked = event.target.closest("[data-pick]");
    if (picked) setTriggerValue("picked", picked.dataset.pick);
  };
  place.onpointerover = place.onfocusin = (event) => light(place, event.target.closest("[data-row], [data-column]"));
  place.onpointerleave = place.onfocusout = () => light(place, null);
}

function show(place, data) {
  const active = place.getRootNode().activeElement;
  const focused = place.contains(active) ? active.closest("[data-pick]")?.dataset.pick : undefined;
  place.shown = data;
  place.innerHTML = data;
  if (focused !== undefined) place.querySelector(`[data-pick="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  const first = place.querySelector("[data-first]");
  // Of a long passage the part with the answer, not its beginning.
  if (first) first.offsetParent.scrollTop = Math.max(0, first.offsetTop - first.offsetParent.clientHeight / 2);
}

function light(place, word) {
  const pair = place.querySelector(".pair");
  if (!pair) return;
  for (const each of pair.querySelectorAll(".lit")) each.classList.remove("lit");
  pair.classList.toggle("pointed", Boolean(word));
  if (!word) return;
  const { row, column } = word.dataset;
  const mine = (path) => (row === undefined || path.dataset.row === row) && (column === undefined || path.dataset.column === column);
  for (const path of pair.querySelectorAll("path")) path.classList.toggle("lit", mine(path));
}
