// Grades answers as a lesson's page does: of questions with answers, whether each is right; and of answers, how each ends as a sentence.

import { accepts, asSentence } from "../../../attnviz/live/web/lesson.js";

export default ({ cases, ends }) => ({
  graded: cases.map(({ question, answers }) => answers.map((answer) => accepts(question, answer))),
  ended: ends.map(asSentence),
});
