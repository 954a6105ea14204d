// The colours that the reader's system asks for.

import { Palette } from "../../figures/drawing/palette.js";
import { THEMES } from "../../figures/drawing/themes.js";

export const DARK = matchMedia("(prefers-color-scheme: dark)");

export const paletteNow = () => new Palette(THEMES[DARK.matches ? "dark" : "light"]);
