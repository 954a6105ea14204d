// What Streamlit gives to a script that it mounts.

/** A component as Streamlit mounts it: what Python sent, where it is drawn, and a way to answer. */
interface StreamlitComponent<Data> {
  data: Data;
  parentElement: HTMLElement;
  setTriggerValue(name: string, value: unknown): void;
}

/** The element of a name such as "button.option": what stands before the first class says which. */
type NamedElement<Name extends string> = Name extends `${infer Tag}.${string}`
  ? NamedElement<Tag>
  : Name extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Name] : HTMLElement;
