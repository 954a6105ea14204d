// Grades answers as a lesson's page does: of questions with answers, whether each is right.

import { accepts } from "../../../attnviz/live/web/lesson.js";

export default (cases) => cases.map(({ question, answers }) => answers.map((answer) => accepts(question, answer)));
