// The page Summarize: what the chosen selector keeps of a text, a table of what each of them would keep, and which heads look at it.

import { keptFocus } from "../../figures/answer_spans.js";
import { make } from "../../figures/drawing/elements.js";
import { drawKept, headShares, selectorsTable } from "../../figures/summary_passage.js";
import { asHead, shownOn } from "./controls.js";
import { ExplorerFold } from "./explorer_panel.js";
import { optionsOf } from "./run_model.js";
import { tell } from "./wording.js";

/**
 * @import { Palette } from "../../figures/drawing/palette.js"
 * @import { Values } from "./address.js"
 * @import { ModelPicture } from "./run_model.js"
 * @import { Panel, SitePage } from "./site.js"
 * @typedef {{ key: string, name: string, sentences: string, words: string }} Row
 */

// A head that is clicked becomes the selector.
const BY_HEAD = { way: "head" };

/** @param {SitePage} sitePage @param {(picture: ModelPicture, said?: any) => void} drawAnswer @param {HTMLElement[]} roots of the text, of the table and of the heads
 * @param {(draw: (palette: Palette) => void) => void} recoloured @returns {Panel} */
export function selectionPanel(sitePage, drawAnswer, [text, table, heads], recoloured) {
  const fold = new ExplorerFold(sitePage, "", BY_HEAD);
  let turn = 0;
  return {
    async show(picture, values) {
      const mine = ++turn;
      const { rows, shown } = await selectedOf(sitePage, picture, values);
      if (mine !== turn) return;
      drawAnswer(picture, shown);
      const restore = [keptFocus(table), keptFocus(heads)];
      const { measured: measuredRouge, about_bars: aboutBars, about_shares: aboutShares } = sitePage.config;
      drawKept(text, picture.said.prompt.text, shown.passage);
      text.append(make("p.note", {}, aboutBars), make("p.note", {}, make("b", {}, "The kept words as text: "), make("bdi", {}, shown.row.words)));
      const { rouge = {}, note = "" } = measuredRouge ?? {};
      const measured = rows.map((row) => ({ ...row, figures: [/** @type {Record<string, number>} */ (rouge)[row.name] ?? null] }));
      const pick = (/** @type {string} */ key) => void sitePage.change({ way: key === "trained" ? null : key });
      table.replaceChildren(selectorsTable(measured, shown.key, pick), make("p.note", {}, note));
      const { layer, head } = shownOn("summarize", picture, values);
      const choose = (/** @type {number} */ own, /** @type {number} */ number) => void sitePage.change({ layer: own, ...asHead("summarize", number), ...BY_HEAD });
      const drawn = { shares: shown.shares, shape: picture.maps[0].shape, layer, head };
      recoloured((palette) => heads.replaceChildren(make("p.note", {}, "Which heads look at what was kept? ", aboutShares), headShares(drawn, palette, choose)));
      for (const each of restore) each();
      tell(/** @type {HTMLElement} */ (document.getElementById("story")), shown.story);
      await fold.show(picture, shownOn("summarize", picture, values), values);
    },
  };
}

/** What every selector keeps, and the one that is shown large. @param {SitePage} sitePage @param {ModelPicture} picture @param {Values} values
 * @returns {Promise<{ rows: Row[], shown: any }>} */
async function selectedOf(sitePage, picture, values) {
  const { way = null } = values;
  const isUnasked = [way, values.layer ?? null, values.head ?? null, values.all_heads ?? null].every((each) => each === null) && (values.whole_words ?? true);
  if (isUnasked) return { rows: picture.said.rows, shown: { key: "trained", ...picture.said } };
  const { words, sentences: wanted, share } = /** @type {any} */ (optionsOf(sitePage.config, values));
  const all = await picture.selectors({ words, wanted, share }, shownOn("summarize", picture, values));
  return { rows: all.map(({ row }) => row), shown: all.find(({ key }) => key === way) ?? all[0] };
}
