// Calls functions of the runner: lines of JSON in, [module, name, ...arguments]; what each returns as lines out.

import { createInterface } from "node:readline";
import process from "node:process";

const finite = (key, value) => (value === -Infinity ? "-inf" : ArrayBuffer.isView(value) ? [...value] : value);

for await (const line of createInterface({ input: process.stdin })) {
  const [module, name, ...given] = JSON.parse(line, (key, value) => (value === "-inf" ? -Infinity : value));
  const functions = await import(`../../../../attnviz/live/web/models/${module}.js`);
  process.stdout.write(`${JSON.stringify(functions[name](...given), finite)}\n`);
}
