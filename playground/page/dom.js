// $ returns the element that a selector names.
export const $ = (selector) => document.querySelector(selector);

// element returns a new element. Properties that begin with "on" are listeners.
export const element = (name, properties, ...children) => fill(document.createElement(name), properties, children);

// svg returns a new element of a picture.
export const svg = (name, properties, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', name), properties, children);

function fill(e, properties = {}, children) {
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
