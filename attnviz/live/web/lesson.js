// A lesson on its page: answers are graded here, and handed in as the file that `attnviz grade` reads. The right answers are in the
// page, and count for nothing there: they are computed anew.

import { saveFile } from "./save_file.js";

/**
 * @typedef {{ kind: string, points: number, ask: string, answer: string, sentence: string, hint: string, right: string, wrong: string, texts?: string[],
 *   heads?: [layer: number, head: number][], from?: number, to?: number }} Question
 * @typedef {{ name: string, questions: Record<string, Question> }} Lesson
 * @typedef {{ answer: string, seconds: number }} Given
 */

const LONGEST_ANSWER = 4000;

/** @param {Lesson} lesson */
export function openLesson(lesson) {
  const given = restored(lesson);
  let since = performance.now();
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form.question"))) {
    const number = String(form.dataset.question);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const field = /** @type {HTMLInputElement} */ (form.querySelector("input, select, textarea"));
      const answer = field.value.trim().slice(0, LONGEST_ANSWER);
      if (!answer || given.has(number)) return field.focus();
      given.set(number, { answer, seconds: (performance.now() - since) / 1000 });
      since = performance.now();
      store(lesson, given);
      showAnswer(form, lesson.questions[number], answer);
      showPoints(lesson, given);
    });
    const before = given.get(number);
    if (before) showAnswer(form, lesson.questions[number], before.answer);
  }
  document.getElementById("hand-in")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const student = /** @type {HTMLInputElement} */ (document.getElementById("student")).value.trim();
    // Those of a class lie in one folder.
    const own = student.replace(/[^\p{L}\p{N}_]+/gu, "-").replace(/^-|-$/g, "") || Date.now().toString(36);
    saveFile(`${lesson.name}-${own}.json`, new Blob([handIn(lesson.name, given, student)], { type: "application/json" }));
  });
  showPoints(lesson, given);
}

// A lesson that was changed meanwhile asks something else: its answers begin anew.
/** @param {Lesson} lesson */
const keyOf = ({ name, questions }) => JSON.stringify(["attnviz lesson", location.pathname, name, Object.values(questions).map(({ ask }) => ask)]);

/** The answers that were given here before; a browser that keeps nothing has none. @param {Lesson} lesson @returns {Map<string, Given>} */
function restored(lesson) {
  try {
    return new Map(JSON.parse(localStorage.getItem(keyOf(lesson)) ?? "[]"));
  } catch {
    return new Map();
  }
}

/** @param {Lesson} lesson @param {Map<string, Given>} given */
function store(lesson, given) {
  try {
    localStorage.setItem(keyOf(lesson), JSON.stringify([...given]));
  } catch {
    // There is no room, or the browser keeps nothing: the answers last as long as the page.
  }
}

/** @param {HTMLFormElement} form @param {Question} question @param {string} answer */
function showAnswer(form, question, answer) {
  const field = /** @type {HTMLInputElement} */ (form.querySelector("input, select, textarea"));
  Object.assign(field, { value: answer, disabled: true });
  showVerdict(form, question, answer);
  // The picture of a step would give away what is asked: it opens when all of that is answered.
  const step = form.closest(".step");
  if (![...(step?.querySelectorAll("form.question:not([data-typed])") ?? [])].some((each) => !each.querySelector(":disabled"))) step?.removeAttribute("data-waits");
}

/** Whether an answer is right: as attnviz/lessons/question_kinds.py compares it. @param {Question} question @param {string} given */
export function accepts({ kind, texts = [], heads, from = 0, to = 0 }, given) {
  if (kind === "number") {
    const value = readNumber(given);
    return value !== null && value >= from - 1e-9 && value <= to + 1e-9;
  }
  if (heads) {
    const named = String((given.match(/\d{1,4}/g) ?? []).map(Number));
    return heads.some((place) => String(place) === named);
  }
  const compared = { cell: given.replaceAll("->", "→"), order: given.replaceAll(">", " > ") }[kind] ?? given;
  return texts.some((text) => comparable(text) === comparable(compared));
}

/** An answer as it is compared; one that is nothing but a mark stays. @param {string} text */
function comparable(text) {
  const seen = text.replace(/[\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu, "");
  const words = seen.toLowerCase().split(/\s+/).filter(Boolean).join(" ").replace(/\p{Cc}/gu, "");
  return words.replace(/^[ .“”"'!]+|[ .“”"'!]+$/g, "") || words;
}

/** A share as a student types it; null where it is no number. @param {string} written */
function readNumber(written) {
  const match = /^\s*([0-9]{0,6}[.,]?[0-9]{1,9})\s*(%?)\s*$/.exec(written);
  return match ? Number(match[1].replace(",", ".")) / (match[2] ? 100 : 1) : null;
}

/** @param {HTMLFormElement} form @param {Question} question @param {string} answer */
function showVerdict(form, question, answer) {
  const verdict = /** @type {HTMLElement} */ (form.querySelector(".verdict"));
  if (!question.answer) {
    verdict.textContent = "Kept. Your teacher reads it.";
    return;
  }
  const isRight = accepts(question, answer);
  form.classList.add(isRight ? "right" : "wrong");
  const said = isRight ? `Right: ${question.answer}.` : `You said “${answer}”. The answer is ${question.answer}.`;
  verdict.textContent = [said, isRight ? question.right : question.wrong, question.sentence].filter(Boolean).join(" ");
}

/** @param {Lesson} lesson @param {Map<string, Given>} given */
function showPoints({ questions }, given) {
  const graded = Object.entries(questions).filter(([, { answer }]) => answer);
  const most = graded.reduce((sum, [, { points }]) => sum + points, 0);
  const made = graded.reduce((sum, [number, question]) => {
    const answer = given.get(number)?.answer;
    return sum + (answer !== undefined && accepts(question, answer) ? question.points : 0);
  }, 0);
  const left = Object.keys(questions).length - given.size;
  const place = /** @type {HTMLElement} */ (document.getElementById("points"));
  place.textContent = `${most ? `${made} of ${most} points.` : "Your teacher has the right answers."}${left ? ` ${left} question${left === 1 ? " is" : "s are"} still open.` : ""}`;
}

/** The file that `attnviz grade` reads. @param {string} lesson @param {Map<string, Given>} given @param {string} student */
function handIn(lesson, given, student) {
  const answers = Array.from(given, ([question, { answer, seconds }]) => ({ question, answer, seconds: Math.round(10 * seconds) / 10 }));
  return JSON.stringify({ format: "attnviz hand-in", version: 1, lesson, student, answers }, null, 1);
}
