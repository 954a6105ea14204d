// A phone's page at /join: the class is named by the address.

import { webLine } from "./line.js";
import { Phone } from "./phone.js";

const [, , code = ""] = location.pathname.split("/");
const invite = new URLSearchParams(location.search).get("invite") ?? "";
const scales = JSON.parse(document.getElementById("scales")?.textContent ?? "{}");
const root = /** @type {HTMLElement} */ (document.getElementById("phone"));
new Phone(root, webLine(), { code: code.toUpperCase(), invite, scales }).begin();
