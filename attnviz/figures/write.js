// A text that a language model reads and writes on, as words to click; and bars of what could come next.

import { directionOf, joinedTexts, make } from "./drawing/elements.js";
import { counted } from "./drawing/numbers.js";
import { inkOn, mixedColour } from "./drawing/palette.js";

/**
 * @typedef {{ background: string, accent: string, text: string, faint: string, panel: string, border: string }} WriteTheme
 * @typedef {{ kind: "text", skipped: number, tokens: [gap: string, name: string, share: number][], start: number, chosen: number, upcoming: string }} WrittenText
 *   skipped: tokens before those that are drawn; name: empty, where the letter stands with the token before; share: how likely it was; start: of what the model wrote; upcoming: what comes next
 * @typedef {{ rows: [name: string, text: string, share: number][], stands: number, rest: number, isNext: boolean, isClickable: boolean }} Bars
 *   stands: which of them stands there, -1: none; rest: what all other tokens have; isNext: nothing stands there yet
 * @typedef {{ kind: "bars", first: number, places: Bars[], chosen: number }} NextBars  first: the place of the first of them
 */

// As a share of the width, the bar of a certainty: its number stands beside it.
const WIDEST = 78;
// Tokens as likely as this have the strongest colour under which black and white letters can be read alike.
const STRONGEST = 0.55;

/** @typedef {WrittenText | NextBars} Drawn */
/** @typedef {HTMLElement & { shown?: string, show?(chosen: number): void }} Place  show: draws what belongs to a token */
const PICKED = "attnviz-token";

/** @param {StreamlitComponent<[Drawn & { theme: WriteTheme }]>} component */
export default function ({ data: [drawn], parentElement, setTriggerValue }) {
  const place = /** @type {Place} */ (parentElement.querySelector(".markup"));
  place.onclick = (event) => {
    const picked = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-pick]"))?.dataset.pick;
    if (picked === undefined) return;
    // What could stand there is drawn at once, here and beside it; all else once Python has answered.
    if (drawn.kind === "text") document.dispatchEvent(new CustomEvent(PICKED, { detail: Number(picked) }));
    setTriggerValue("picked", picked);
  };
  place.show = (at) => show(place, drawn, at);
  place.show(drawn.chosen);
  followPicks(place);
}

/** @type {WeakSet<Place>} */
const listening = new WeakSet();

/** @param {Place} place */
function followPicks(place) {
  if (listening.has(place)) return;
  listening.add(place);
  const onPicked = (/** @type {Event} */ event) => {
    if (!place.isConnected) document.removeEventListener(PICKED, onPicked);
    else place.show?.(/** @type {CustomEvent} */ (event).detail);
  };
  document.addEventListener(PICKED, onPicked);
}

/** Draws what belongs to a token, where that is known before Python says it. @param {Place} place @param {Drawn & { theme: WriteTheme }} drawn @param {number} chosen */
function show(place, drawn, chosen) {
  const { theme } = drawn;
  const record = drawn.kind === "text" ? { ...drawn, chosen } : drawn.places[chosen - drawn.first];
  if (!record) return;
  // What did not change stays: a press that began on it ends on it, and what has the focus keeps it.
  const shown = JSON.stringify([record, chosen, theme]);
  if (place.shown === shown) return;
  place.shown = shown;
  const { activeElement } = /** @type {Document | ShadowRoot} */ (place.getRootNode());
  const focused = place.contains(activeElement) && /** @type {HTMLElement} */ (activeElement).dataset.pick;
  place.replaceChildren(...("tokens" in record ? [drawText(record, theme)] : drawBars(record, chosen)));
  for (const name of /** @type {const} */ (["accent", "text", "faint", "panel", "border"])) place.style.setProperty(`--${name}`, theme[name]);
  if (focused) /** @type {HTMLElement | null} */ (place.querySelector(`[data-pick="${focused}"]`))?.focus({ preventScroll: true });
  // Of a long text the part that is looked at, not its beginning.
  const mark = /** @type {HTMLElement | null} */ (place.querySelector(".chosen"));
  if (mark?.offsetParent) mark.offsetParent.scrollTop = Math.max(0, mark.offsetTop - mark.offsetParent.clientHeight / 2);
}

/** The first token is no button: nothing foretells it. @param {WrittenText} written @param {WriteTheme} theme */
function drawText({ skipped, tokens, start, chosen, upcoming }, theme) {
  const names = joinedTexts(tokens.map(([gap, name]) => [gap, name]));
  const parts = tokens.flatMap(([gap, , share], index) => {
    const place = skipped + index;
    const isWritten = place >= start;
    const colour = mixedColour(theme.background, theme.accent, 0.08 + share * STRONGEST);
    const style = isWritten && `background:${colour};color:${inkOn(colour)}`;
    const kind = `${isWritten ? "written" : ""}${place === chosen ? " chosen" : ""}`;
    const letters = names[index] ? make("bdi", {}, names[index]) : make("span.part");
    return [...gapOf(gap), place ? pickable(kind, place, shareText(share), letters, style) : letters];
  });
  const end = skipped + tokens.length;
  const dir = directionOf(tokens.map(([, name]) => (/^<.+>$/.test(name) ? "" : name)).join(""));
  const next = pickable(`next${chosen === end ? " chosen" : ""}`, end, "What could come next", make("bdi", {}, upcoming));
  const before = skipped ? [make("span", { class: "unread" }, `… ${counted(skipped, "token")} before … `)] : [];
  return make("div", { class: "text long", dir }, ...before, ...parts, " ", next);
}

/** A blank line between two words stays; all else is one space, at which a line may break. @param {string} gap */
const gapOf = (gap) => (gap.split("\n").length > 2 ? [make("br"), make("br")] : gap ? [" "] : []);

/** @param {string} kind @param {number} place @param {string} title @param {HTMLElement} letters @param {string | false} [style] */
const pickable = (kind, place, title, letters, style = false) =>
  make("button", { type: "button", class: kind, "data-pick": place, title, ...(style && { style }) }, letters);

/** @param {Bars} bars @param {number} at */
function drawBars({ rows, stands, rest, isNext, isClickable }, at) {
  const bars = rows.map(([name, text, share], row) => {
    const kind = row === stands ? "bar stands" : "bar";
    const body = [make("bdi", {}, name), barOf(share)];
    const title = JSON.stringify(text);
    return isClickable ? make("button", { type: "button", class: kind, "data-pick": `${at}.${row}`, title }, ...body) : make("div", { class: kind }, ...body);
  });
  const others = rest > 5e-4 ? [make("div", { class: "bar rest" }, make("bdi", {}, "all others"), barOf(rest))] : [];
  const heading = make("b", {}, isNext ? "What could come next." : "What could have stood here.");
  const caption = make("p", { class: "caption" }, heading, isClickable ? " Click a word to take it." : "");
  return [caption, make("div", { class: "bars" }, ...bars, ...others)];
}

/** @param {number} share */
const barOf = (share) => make("span", {}, make("i", { style: `width:${(share * WIDEST).toFixed(2)}%` }), make("em", {}, shareText(share)));

/** @param {number} share */
const shareText = (share) => (share >= 5e-4 ? `${(100 * share).toFixed(1)}\u00a0%` : "<\u00a00.1\u00a0%");
