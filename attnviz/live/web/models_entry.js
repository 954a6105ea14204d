// What loads and runs models, for the worker, which fetches it with the first of them.

import { load } from "./models/model.js";

export default load;
