// What Streamlit gives to a script that it mounts.

/** A component as Streamlit mounts it: what Python sent, where it is drawn, and a way to answer. */
interface StreamlitComponent<Data> {
  data: Data;
  parentElement: HTMLElement;
  setTriggerValue(name: string, value: unknown): void;
}
