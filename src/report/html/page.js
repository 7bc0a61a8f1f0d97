// The page: filter, and a timeline for each scenario that is opened.

const timelines = new Map();


// Returns the table of the steps of a scenario, as the template has it for scenarios that did not pass.
const stepTable = (steps) => {
  const cell = (tag, className, ...children) => make(tag, { className }, ...children);
  const rows = steps.map(({ at, took, text, passed, output }) => make("tr", { className: passed ? "pass" : "fail" },
    cell("td", "time", at), cell("td", "time", took),
    cell("td", "", make("span", { className: "status", textContent: passed ? "ok" : "FAILED" })),
    cell("td", "what", text, ...(output ? [make("details", {}, make("summary", { textContent: "output" }),
      make("pre", { textContent: output }))] : []))));
  const titles = ["time", "took", "outcome", "step"].map((title) => make("th", { scope: "col", textContent: title }));
  const table = make("table", { className: "steps" }, make("thead", {}, make("tr", {}, ...titles)), make("tbody", {}, ...rows));
  return [make("h3", { textContent: "Steps" }), make("div", { className: "wide" }, table)];
};
let shared = null;
const open = async (section) => {
  const root = section.querySelector(":scope > .timeline");
  if (!root || timelines.has(root)) return;
  timelines.set(root, null);
  shared = shared || unpack(document.getElementById("shared"));
  const data = expand(await shared, await unpack(root.nextElementSibling));
  if (data.steps) section.append(...stepTable(data.steps));
  const timeline = new Timeline(root, data);
  timelines.set(root, timeline);
  // The steps of the table are the spans of the first lane, in the same order.
  const lane = timeline.rows.map((row) => row.lane).find((lane) => lane.name === "steps");
  section.querySelectorAll(".steps > tbody > tr").forEach((row, index) => {
    const span = lane && lane.spans[index], cell = row.cells[0];
    if (!span) return;
    cell.replaceChildren(button(cell.textContent, "Show in the timeline", () => {
      timeline.lead({ lane, span });
      root.scrollIntoView({ block: "nearest" });
    }));
  });
};
const scenarios = [...document.querySelectorAll(".scenario")];
document.addEventListener("toggle", (event) => { if (event.target.open && scenarios.includes(event.target)) open(event.target); }, true);
const openNamed = () => {
  const named = location.hash && document.getElementById(location.hash.slice(1));
  if (named && scenarios.includes(named)) named.open = true;
};
openNamed();
window.addEventListener("hashchange", openNamed);
scenarios.filter((section) => section.open).forEach(open);

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readColors();
  timelines.forEach((timeline) => timeline && timeline.redraw());
});

const form = document.querySelector(".filter");
const filter = () => {
  const text = form.elements.text.value.trim().toLowerCase(), status = form.elements.status.value;
  const tag = form.elements.tag ? form.elements.tag.value : "";
  let shown = 0;
  for (const section of scenarios) {
    const fits = (!status || section.classList.contains(status))
      && (!tag || section.dataset.tags.split(" ").includes(tag))
      && section.firstElementChild.textContent.toLowerCase().includes(text);
    section.hidden = !fits;
    shown += fits;
  }
  form.querySelector("output").textContent = text || status || tag ? `${shown} of ${scenarios.length}` : "";
};
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = scenarios.length < 2;
