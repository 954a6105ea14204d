// The alignments for the site, which fetches them once the page stands.

import { Alignments } from "../../figures/translate/alignments.js";
import { readPackage } from "../../figures/drawing/package.js";
import { STYLE } from "./style.js";

export default { Picture: Alignments, STYLE, readPackage };
