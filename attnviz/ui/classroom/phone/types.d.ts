/** What attnviz.ui.classroom.routes sends and takes. */

type ClassQuestion = import("../../../figures/lessons/question.js").QuestionForm & {
  step?: { place: string; title: string; text: string; head: string; reveals: boolean };
};

interface ClassTruth {
  right: string[];
  tolerance: number | null;
  sentence: string;
  weights: number[];
  link: string;
  if_right: string;
  if_wrong: string;
  answered: number;
  guesses: [string, number, boolean | null][];
}

interface ClassView {
  code: string;
  version: number;
  state: "waiting" | "open" | "closed" | "revealed" | "ended";
  number: number;
  nicknames?: boolean;
  question?: ClassQuestion;
  truth?: ClassTruth;
}

interface OwnAnswer {
  id: number;
  student: number;
  nickname: string;
  number: number;
  answer: string | null;
}

interface ClassNews {
  view: ClassView;
  own?: OwnAnswer;
  token?: string;
  wants?: "nickname";
}

/** How a phone reaches the server; a refusal is an Error with `reason`, a line that is down one without. */
interface ClassLine {
  join(code: string, more: { nickname?: string; invite?: string }): Promise<ClassNews>;
  answer(code: string, token: string, number: number, answer: string): Promise<{ answer: string }>;
  /** Listens until it is called off. */
  listen(code: string, token: string, ears: ClassEars): () => void;
}

/** Who hears what is new, whether the line works, and why the server refuses to go on. */
interface ClassEars {
  tell(news: ClassNews): void;
  isUp(up: boolean): void;
  refuse(error: Error): void;
}
