// The steps of a computation on a page of the site; where a person stands in them becomes the page's address.

import { make } from "../../../figures/drawing/elements.js";
import { DARK, paletteNow } from "../colours.js";
import { fetchFile, importFrom } from "../runtime.js";
import { placeOnCompute } from "./compute_place.js";

/**
 * @import { SitePage, Panel } from "../site_page.js"
 * @import { ModelPicture } from "../model_picture.js"
 * @import { Values } from "../address.js"
 */

/** @param {SitePage} sitePage @param {HTMLElement} place @param {(text: string) => void} say @returns {Panel} */
export function stepsPanel(sitePage, place, say) {
  const mounted = mountSteps(place, sitePage.files);
  /** @type {(() => void) | null} */
  let again = null;
  DARK.addEventListener("change", () => again?.());
  return {
    async show(picture, values) {
      const [{ mount, shadow, root }, said] = await Promise.all([mounted, stepsOf(sitePage, picture, values)]);
      const key = JSON.stringify([picture.said.name, picture.said.prompt, said.checked]);
      const draw = () => {
        const setTriggerValue = (/** @type {string} */ name, /** @type {any} */ { at, expanded }) => name === "moved" && void moved(sitePage, said.at, at, expanded);
        mount({ data: [{ ...painted(said.computation, sitePage.config.tones ?? []), ...startOf(said, sitePage.values.at), key, seq: root.walk?.seq ?? 0 }], parentElement: shadow, setTriggerValue });
      };
      again = draw;
      draw();
      say(said.checked);
    },
  };
}

/** @param {SitePage} sitePage @param {ModelPicture} picture @param {Values} values */
async function stepsOf(sitePage, picture, values) {
  const { said } = picture;
  if (said.computation) return said;
  return picture.ask("steps", { name: said.models[0], request: said.prompt, place: placeOnCompute(sitePage.config, picture, values) });
}

/** @param {HTMLElement} place @param {URL} files of the site */
async function mountSteps(place, files) {
  const [{ default: mount }, style] = await Promise.all([
    importFrom(new URL("steps.js", files)), fetchFile(new URL("steps.css", files)).then((answer) => answer.text()),
  ]);
  const shadow = place.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  shadow.adoptedStyleSheets = [sheet];
  const steps = /** @type {HTMLElement & { walk?: { seq: number } }} */ (make("div", { class: "compute" }));
  shadow.append(steps);
  return { mount, shadow, root: steps };
}

/** @param {any} said @param {string} [written] "step,row,column", and the cell of a matrix whose own sum is written out */
function startOf({ computation: { steps }, at }, written = "") {
  const [step, row, column, ...expanded] = written.split(",");
  const place = [step, row, column].map(Number);
  const result = steps[place[0]]?.matrices.at(-1);
  const isThere = written && place.every(Number.isInteger) && row in (result?.rows ?? []) && column in (result?.columns ?? []);
  return isThere ? { at: place, expanded: expanded.join(",") || null } : { at, expanded: null };
}

/** @param {SitePage} sitePage @param {number[]} first @param {number[]} at @param {string | null} expanded */
const moved = (sitePage, first, at, expanded) => sitePage.change({ at: !expanded && String(at) === String(first) ? null : [...at, ...(expanded ? [expanded] : [])].join(",") }, { redraw: false });

/** Gives steps the colours of the reader's theme. @param {any} computation @param {string[]} tones of its matrices */
function painted({ steps, origins }, tones) {
  const palette = paletteNow();
  const { theme } = palette;
  const { accent, text, faint, panel, border, masked, background } = theme;
  const shaded = (/** @type {any} */ cell) => {
    if (cell.value === undefined) return cell;
    const at = Math.round(Math.min(Math.max(cell.value, 0), 1) * 255);
    const shade = `#${theme.scale.slice(6 * at, 6 * at + 6)}`;
    return { ...cell, shade, ink: palette.ink(shade) };
  };
  const drawn = steps.map((/** @type {any} */ step) => ({
    ...step, matrices: step.matrices.map((/** @type {any} */ matrix) => ({ ...matrix, cells: matrix.cells.map((/** @type {any[]} */ row) => row.map(shaded)) })),
  }));
  const colours = { accent, text, faint, panel, border, "st-background-color": background, "st-font": "inherit" };
  return { steps: drawn, origins, tones, colours, masked, predict: "off", hidden: null };
}
