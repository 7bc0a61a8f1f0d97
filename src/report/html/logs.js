// The log lines near a moment, in a panel below the timeline that is closed at first.

const LINES = 12;

class LogPanel {
  constructor({ sources, lines }, texts) {
    Object.assign(this, { sources, texts, lines, chosen: lines, at: 0, start: 0 });
    this.pods = make("select", { ariaLabel: "Pod" }, new Option("all pods", ""),
      ...sources.map((source, index) => new Option(source, index)));
    this.pods.addEventListener("change", () => this.show(this.at));
    this.text = make("pre", {});
    const tools = make("div", { className: "tools" }, this.pods,
      button("\u2039", "Earlier lines", () => this.turn(-2 * LINES)), button("\u203a", "Later lines", () => this.turn(2 * LINES)),
      make("span", { className: "range", textContent: "pin an item of the timeline to see the lines of its moment" }));
    this.root = make("details", { className: "logs" }, make("summary", { textContent: count(lines.length, "log line") }),
      tools, this.text);
    this.root.addEventListener("toggle", () => this.show(this.at));
  }

  // Shows the lines before and after a moment.
  show(at) {
    this.at = at;
    if (!this.root.open) return;
    const pod = this.pods.value;
    this.chosen = this.lines.filter(([, source]) => pod === "" || source === Number(pod));
    this.start = first(this.chosen, (line) => line[0] >= at) - LINES;
    this.turn(0);
  }

  turn(by) {
    this.start = Math.max(0, Math.min(this.start + by, this.chosen.length - 2 * LINES));
    const now = first(this.chosen, (line) => line[0] >= this.at);
    const shown = this.chosen.slice(this.start, this.start + 2 * LINES);
    this.text.textContent = shown.map(([at, source, text], index) => {
      const pod = this.pods.value === "" ? `${this.sources[source]}  ` : "";
      return `${this.start + index === now ? "\u25b8" : " "} ${clock(at, true)}  ${pod}${this.texts[text]}\n`;
    }).join("");
  }
}
