// Grades answers as a lesson's page does: questions with answers as one line of JSON in, whether each is right out.

import process from "node:process";
import { text } from "node:stream/consumers";
import { accepts } from "../../../attnviz/live/web/lesson.js";

const cases = JSON.parse(await text(process.stdin));
process.stdout.write(JSON.stringify(cases.map(({ question, answers }) => answers.map((answer) => accepts(question, answer)))));
