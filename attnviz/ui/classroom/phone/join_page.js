// A phone's page at /join: the class is named by the address.

import { Phone } from "./phone_session.js";
import { webLine } from "./server_connection.js";

const query = new URLSearchParams(location.search);
const code = query.get("code") ?? location.pathname.split("/")[2] ?? "";
const invite = query.get("invite") ?? "";
const [scales, view] = ["scales", "view"].map((id) => JSON.parse(document.getElementById(id)?.textContent ?? "null"));
const root = /** @type {HTMLElement} */ (document.getElementById("phone"));
new Phone(root, webLine(), { code: code.toUpperCase(), invite, scales, view }).begin();
