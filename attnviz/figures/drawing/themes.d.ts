import type { Theme } from "./palette.js";

/** Written from attnviz/figures/theme.py when the modules are joined. */
export const THEMES: Record<string, Theme>;
