// The alignments for the site, which fetches them once the page stands.

import { Alignments } from "../../figures/translate/alignments.js";
import { STYLE } from "./style.js";

export default { Picture: Alignments, STYLE };
