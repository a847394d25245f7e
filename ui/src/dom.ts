// Elements in one expression: tag, attributes, children.

type Child = Node | string | null;
type Attributes = Record<string, string | boolean | ((event: never) => void)>;

/** Makes an element. Attributes whose value is a function are listeners, `false` ones are left out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child): child is Node | string => child !== null));
  return element;
}

/** The element of that id; the page has it by its index.html. */
export function byId<T extends HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no element #${id}`);
  return element as T;
}

/** Sets a text only when it differs, so that unchanged cells cost no layout. */
export function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets an attribute only when it differs, so that nothing is styled anew for it. */
export function set(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** `4,997`: a number as people read it. */
export function counted(count: number): string {
  return count.toLocaleString("en");
}
