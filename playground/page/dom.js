// $ returns the element that a selector names.
export const $ = (selector) => document.querySelector(selector);

// element returns a new element. Properties that begin with "on" are listeners.
export function element(name, properties = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith('on')) {
      e[key] = value;
    } else if (value !== false && value !== undefined) {
      e.setAttribute(key, value === true ? '' : value);
    }
  }
  e.append(...children);
  return e;
}
