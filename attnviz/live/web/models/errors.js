// What a person can do something about: the message is one clear sentence.

export class ModelError extends Error {
  name = "ModelError";
}
