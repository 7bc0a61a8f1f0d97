"use strict";
// Words, numbers and colours for the whole page.

// The number of changing lanes of a group that are shown at first, and the number above which a group has a
// summary.
const ROWS = 16, MANY = 12, ROW = 19, TALL = 58;
// The shortest range that can be shown, in milliseconds.
const RANGE_MIN = 200;
const TONES = [
  ["good", "as expected"], ["busy", "working"], ["drain", "draining"], ["wait", "waiting"],
  ["warn", "needs attention"], ["bad", "failing"], ["calm", "neutral"], ["unknown", "unknown"],
];
const TICKS = [0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

const make = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const button = (text, title, act) => {
  const found = make("button", { type: "button", textContent: text, title });
  found.addEventListener("click", act);
  return found;
};
const two = (number) => String(number).padStart(2, "0");
const clock = (ms, exact) => {
  const seconds = Math.floor(ms / 1000);
  const text = `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return exact && ms % 1000 ? `${text}.${String(Math.floor(ms % 1000)).padStart(3, "0")}` : text;
};
const duration = (ms) => {
  if (ms < 1000) return `${ms}ms`;
  const s = Math.round(ms / 1000);
  return [[Math.floor(s / 3600), "h"], [Math.floor(s / 60) % 60, "m"], [s % 60, "s"]]
    .filter(([number]) => number).map(([number, unit]) => number + unit).join("");
};
const count = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

let colors = {};
const readColors = () => {
  const style = getComputedStyle(document.documentElement);
  const names = ["card", "ink", "soft", "line", "cross", ...TONES.map(([tone]) => tone)];
  colors = Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
};
readColors();

// Returns the index of the first item for which `test` holds, by binary search: it holds for all later items
// too.
const first = (items, test) => {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(items[middle])) high = middle; else low = middle + 1;
  }
  return low;
};
