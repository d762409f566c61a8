// Makes elements, announces text to screen readers, and asks for the storage of the browser.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/** An HTML element with properties, attributes and children. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null && child !== ""));
  return element;
}

/** An SVG element; its child may be a text. */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** The elements that the server sent: tag, attributes, text. */
export const drawAll = (elements) =>
  elements.map(([tag, attributes, text]) => draw(tag, attributes, ...(text ? [text] : [])));

/** Announce text to screen readers. */
export function say(text) {
  byId("live").textContent = text;
}

/** What some work with the browser's storage returns; null if there is none, or it is full. */
export function stored(work) {
  try {
    return work();
  } catch {
    return null;
  }
}

let clock;

/** Show an error for some seconds, or until there is another. */
export function complain(error, { stays = false } = {}) {
  if (error?.name === "AbortError") return;
  const place = byId("error");
  place.textContent = error.message ?? String(error);
  place.hidden = false;
  clearTimeout(clock);
  if (!stays) clock = setTimeout(() => (place.hidden = true), 8000);
}
