// Grades answers as a lesson's page does: of questions with answers, whether each is right; and of answers, how each ends as a sentence; and of
// students, how a file is named after each.

import { accepts, asSentence, fileNameOf } from "../../../attnviz/live/web/lesson.js";

export default ({ cases, ends, students }) => ({
  graded: cases.map(({ question, answers }) => answers.map((answer) => accepts(question, answer))),
  ended: ends.map(asSentence),
  named: students.map(fileNameOf),
});
