// Elements and numbers. Texts only become text nodes, so the content of a document is never markup.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function hidden(text) {
  return make("span", { class: "unseen" }, text);
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const rough = new Intl.NumberFormat("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });

export const count = (number) => whole.format(number);

export function short(number) {
  if (number === null) return "n.a.";
  const size = Math.abs(number);
  const text = number === 0 || (size >= 1e-3 && size < 1e6) ? rough.format(number) : number.toExponential(1);
  return text.replaceAll("-", "\u2212");
}

export const signed = (number) => (number > 0 ? "+" : "") + short(number);

export const fixed = (value, measure) =>
  value === null ? "n.a." : (value * measure.scale).toFixed(measure.digits);

export function duration(seconds) {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

// One colour per lane, everywhere on the page. After eight lanes the lines are dashed, then dotted.
const COLOURS = 8;
export const STROKES = ["solid", "dash", "dot"];
export const colourNumber = (lane) => lane % COLOURS;
export const colourOf = (lane) => `var(--lane-${colourNumber(lane)})`;
export const strokeOf = (lane) => STROKES[Math.floor(lane / COLOURS) % STROKES.length];

export function swatch(lane) {
  const line = make("span", { class: `swatch ${strokeOf(lane)}`, "aria-hidden": "true" });
  line.style.borderTopColor = colourOf(lane);
  return line;
}
