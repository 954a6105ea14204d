// The explorer for the site, which fetches it once the page stands.

import { Explorer } from "../../figures/explorer/explorer.js";
import { STYLE } from "./style.js";

export default { Picture: Explorer, STYLE };
