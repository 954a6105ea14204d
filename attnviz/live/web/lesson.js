// A lesson on its page. What is right is in a file a question, fetched when it was answered; what is handed in is the file that
// `attnviz grade` reads, which counts no point that was made here.

import { caseFolded } from "../../figures/drawing/elements.js";
import { counted } from "../../figures/drawing/numbers.js";
import { drawQuestion } from "../../figures/lessons/question.js";
import { fetchFile, saveFile } from "./fetch_files.js";

/** @import { QuestionForm } from "../../figures/lessons/question.js" */

/**
 * @typedef {{ form: QuestionForm, points: number, graded: boolean }} Question
 * @typedef {{ answer: string, right: string[], tolerance: number | null, sentence: string, if_right: string, if_wrong: string }} Answer
 * @typedef {{ name: string, questions: Record<string, Question> }} Lesson
 * @typedef {{ answer: string, seconds: number }} Given
 */

const LONGEST_ANSWER = 4000;

/** @param {Lesson} lesson @param {URL} files where the files of a site stand */
export function openLesson(lesson, files) {
  const given = restored(lesson);
  /** @type {Map<string, boolean>} */
  const graded = new Map();
  const base = new URL(`lessons/${encodeURIComponent(lesson.name)}/`, files);
  let since = performance.now();
  /** @param {string} name */
  const fetched = (name) => fetchFile(new URL(`${name}.json`, base)).then((response) => response.json()).catch(() => null);
  /** @param {HTMLFormElement} form @param {string} number @param {string} answer @param {boolean} [isNew] */
  const show = async (form, number, answer, isNew) => {
    form.classList.add("answered");
    for (const each of form.querySelectorAll(".question-form, .give")) each.remove();
    const question = lesson.questions[number];
    const isRight = showVerdict(form, question, question.graded ? await fetched(number) : null, answer);
    // What had the focus is gone; a verdict takes it once it says something.
    if (isNew && document.activeElement === document.body) /** @type {HTMLElement} */ (form.querySelector(".verdict")).focus();
    if (isRight !== null) graded.set(number, isRight);
    showPoints(lesson, given, graded);
    openQuestions();
    await openPictures(fetched);
  };
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form.question"))) {
    const number = String(form.dataset.question);
    const button = /** @type {HTMLButtonElement} */ (form.querySelector(".give"));
    let chosen = "";
    const choose = (/** @type {string} */ answer) => {
      chosen = answer;
      button.disabled = !answer;
    };
    form.querySelector(".asked")?.replaceWith(drawQuestion(lesson.questions[number].form, choose, LONGEST_ANSWER));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!chosen || given.has(number)) return;
      given.set(number, { answer: chosen, seconds: (performance.now() - since) / 1000 });
      since = performance.now();
      store(lesson, given);
      void show(form, number, chosen, true);
    });
    const before = given.get(number);
    if (before) void show(form, number, before.answer);
  }
  document.getElementById("hand-in")?.addEventListener("submit", (event) => {
    event.preventDefault();
    const student = /** @type {HTMLInputElement} */ (document.getElementById("student")).value.trim();
    // Those of a class lie in one folder.
    saveFile(`${lesson.name}-${fileNameOf(student) || Date.now().toString(36)}.json`, new Blob([handIn(lesson.name, given, student)], { type: "application/json" }));
  });
  document.querySelector("#again button")?.addEventListener("click", () => {
    given.clear();
    store(lesson, given);
    location.reload();
  });
  // What another tab answers, or deletes, would come back with the next answer here.
  addEventListener("storage", ({ key }) => key === keyOf(lesson) && location.reload());
  openQuestions();
  showPoints(lesson, given, graded);
}

// A lesson that was changed meanwhile asks something else: its answers begin anew.
/** @param {Lesson} lesson */
const keyOf = ({ name, questions }) => JSON.stringify(["attnviz lesson", location.pathname, name, Object.values(questions).map(({ form }) => form.ask)]);

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

// What a question speaks of can be the answer to one before it, in its step or in another: each opens when those before it are answered.
function openQuestions() {
  let isWaiting = false;
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll("form.question"))) {
    form.hidden = isWaiting;
    isWaiting ||= !form.matches(".answered, [data-typed]");
  }
}

/** The picture of a step would give away what is asked: it opens when that is answered, and what the steps before it ask.
 * @param {(name: string) => Promise<any>} fetched */
async function openPictures(fetched) {
  for (const [at, step] of [...document.querySelectorAll(".step")].entries()) {
    if (step.querySelector("form.question:not(.answered, [data-typed])")) return;
    if (!step.matches("[data-waits]")) continue;
    const file = await fetched(`step-${at + 1}`);
    if (!file) continue;
    step.querySelector("a.open")?.setAttribute("href", file.picture);
    step.removeAttribute("data-waits");
  }
}

/** Whether an answer is right: as attnviz/lessons/question_kinds.py compares it. @param {Answer} key @param {string} given */
export function accepts({ right, tolerance }, given) {
  if (tolerance === null) return right.some((text) => comparable(text) === comparable(given));
  const share = readNumber(given);
  return share !== null && Math.abs(share - Number(right[0])) <= tolerance + 1e-6;
}

/** An answer as it is compared; one that is nothing but a mark stays. @param {string} text */
function comparable(text) {
  const seen = text.normalize("NFC").replaceAll("’", "'").replace(/[\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu, "");
  const words = caseFolded(seen).split(/\s+/).filter(Boolean).join(" ").replace(/\p{Cc}/gu, "");
  return words.replace(/^[ .!"'“”„‟‘‚‛«»‹›「」『』]+|[ .!"'“”„‟‘‚‛«»‹›「」『』]+$/g, "") || words;
}

/** A share as a student types it; null where it is no number. @param {string} written */
function readNumber(written) {
  const match = /^\s*([0-9]{0,6}[.,]?[0-9]{1,9})\s*(%?)\s*$/.exec(written);
  return match ? Number(match[1].replace(",", ".")) / (match[2] ? 100 : 1) : null;
}

/** Says whether an answer is right; null where nothing is graded, or could not be. @param {HTMLFormElement} form @param {Question} question
 * @param {Answer | null} right @param {string} answer */
function showVerdict(form, question, right, answer) {
  const verdict = /** @type {HTMLElement} */ (form.querySelector(".verdict"));
  if (!question.graded || !right) {
    const later = "Kept, and not graded yet: reload the page when there is a connection.";
    verdict.textContent = `${asSentence(`You said “${answer}”`)} ${question.graded ? later : "Kept. Your teacher reads it."}`;
    return null;
  }
  const isRight = accepts(right, answer);
  form.classList.add(isRight ? "right" : "wrong");
  const isSame = comparable(answer) === comparable(right.answer);
  const said = isRight
    ? [isSame ? `Right: ${right.answer}` : `Right: you said “${answer}”, and it is ${right.answer}`]
    : [`You said “${answer}”`, `The answer is ${right.answer}`];
  verdict.textContent = [...said.map(asSentence), isRight ? right.if_right : right.if_wrong, right.sentence].filter(Boolean).join(" ");
  return isRight;
}

/** Names a student in the name of a file: as attnviz/lessons/hand_in.py. @param {string} student */
export const fileNameOf = (student) => student.replace(/[^\p{L}\p{M}\p{N}_]+/gu, "-").replace(/^-|-$/g, "");

/** Ends a text with a full stop, unless it has an end of its own: as attnviz/lessons/question_kinds.py. @param {string} text */
export const asSentence = (text) => (/[.!?…。][”"'»]*$/.test(text) ? text : `${text}.`);

/** @param {Lesson} lesson @param {Map<string, Given>} given @param {Map<string, boolean>} graded whether each that is graded is right */
function showPoints({ questions }, given, graded) {
  const most = Object.values(questions).reduce((sum, each) => sum + (each.graded ? each.points : 0), 0);
  const made = [...graded].reduce((sum, [number, isRight]) => sum + (isRight ? questions[number].points : 0), 0);
  const left = Object.keys(questions).length - given.size;
  // Somebody else may sit down at this computer.
  /** @type {HTMLElement} */ (document.getElementById("again")).hidden = !given.size;
  const place = /** @type {HTMLElement} */ (document.getElementById("points"));
  place.textContent = `${most ? `${made} of ${counted(most, "point")}.` : "Your teacher has the right answers."}${left ? ` ${counted(left, "question is", "questions are")} still open.` : ""}`;
}

/** The file that `attnviz grade` reads. @param {string} lesson @param {Map<string, Given>} given @param {string} student */
function handIn(lesson, given, student) {
  const answers = Array.from(given, ([question, { answer, seconds }]) => ({ question, answer, seconds: Math.round(10 * seconds) / 10 }));
  return JSON.stringify({ format: "attnviz hand-in", version: 1, lesson, student, answers }, null, 1);
}
