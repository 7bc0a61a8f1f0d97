// The text of `oc adm upgrade status` at the cursor, in a panel below the timeline.

class StatusPanel {
  constructor(statuses, texts, end) {
    Object.assign(this, { statuses, texts, at: end });
    this.when = make("span", { className: "range" });
    this.text = make("pre", {});
    this.root = make("details", { className: "at" },
      make("summary", {}, make("code", { textContent: "oc adm upgrade status" }), " at the cursor ", this.when), this.text);
    this.root.addEventListener("toggle", () => this.show(this.at));
  }

  // Shows the last text at or before a moment.
  show(at) {
    this.at = at;
    if (!this.root.open) return;
    const index = Math.max(first(this.statuses, ([moment]) => moment > at) - 1, 0);
    if (index === this.shown) return;
    this.shown = index;
    const [moment, lines] = this.statuses[index];
    this.when.textContent = `(${clock(moment)})`;
    this.text.textContent = lines.map((line) => this.texts[line]).join("\n");
  }
}
