// A timeline: its lanes in groups, the visible range, and the pinned item.

class Timeline extends Drawing {
  constructor(root, data) {
    super(data.end);
    Object.assign(this, { root, data, rows: [], visible: new Set() });
    this.build();
    listen(this);
  }

  build() {
    this.range = make("span", { className: "range" });
    const legend = make("span", { className: "legend" }, ...TONES.map(([tone, text]) => {
      const box = make("i");
      box.style.background = `var(--${tone})`;
      return make("span", {}, box, text);
    }));
    const tools = make("div", { className: "tools" },
      button("+", "Zoom in (+)", () => this.zoom(0.5)), button("\u2212", "Zoom out (-)", () => this.zoom(2)),
      button("Reset", "Show the whole run (0)", () => this.show(...this.whole)), this.range,
      make("span", { className: "range", textContent: "drag or Ctrl+wheel to zoom, click to pin" }), legend);
    this.axis = make("canvas", { ariaHidden: "true" });
    this.lanes = make("div", { className: "lanes" },
      make("div", { className: "row axis" }, make("div", { className: "name", textContent: "cluster time" }), this.axis));
    this.cross = make("div", { className: "cross" });
    this.brush = make("div", { className: "brush" });
    this.lanes.append(this.cross, this.brush);
    this.pinned = make("aside", { className: "pin details", hidden: true, ariaLabel: "Pinned item", ariaLive: "polite" });
    this.observer = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: "200px" });
    this.data.groups.forEach((group) => this.group(group));
    const { logs, statuses, texts, end } = this.data;
    this.logs = logs && new LogPanel(logs, texts);
    this.status = statuses.length ? new StatusPanel(statuses, texts, end) : null;
    const panels = [this.status, this.logs].filter((panel) => panel).map((panel) => panel.root);
    this.root.replaceChildren(tools, this.lanes, this.pinned, ...panels);
    this.root.hidden = false;
    this.renumber();
  }

  // The names of pods of one owner differ in their last letters, so a name of one word that does not fit is
  // shortened in the middle.
  named(name) {
    const end = name.includes(" ") ? name.length : Math.max(name.length - 6, 0);
    return make("div", { className: "name", title: name },
      make("span", { textContent: name.slice(0, end) }), make("span", { textContent: name.slice(end) }));
  }

  group(group) {
    const { end } = this.data;
    const isLoud = ({ tone }) => tone === "bad" || tone === "warn";
    const still = (lane) => !lane.marks.length && lane.spans.length === 1 && lane.spans[0].event === undefined
      && lane.spans[0].from === 0 && lane.spans[0].to >= end && !isLoud(lane.spans[0]);
    if (group.title === "Nodes") {
      const order = new Intl.Collator("en", { numeric: true });
      group.lanes.sort((a, b) => order.compare(a.name, b.name));
    }
    const moving = group.lanes.filter((lane) => !still(lane)), resting = group.lanes.filter(still);
    // Lanes with failures or warnings come first; the conditions and steps keep their places.
    const fixed = ["Scenario", "ClusterVersion"].includes(group.title);
    const loud = moving.filter((lane) => lane.spans.some(isLoud) || lane.marks.some(isLoud));
    const ordered = loud.concat(moving.filter((lane) => !loud.includes(lane)));
    const chosen = new Set(ordered.slice(0, ROWS));
    const rows = make("div"), more = make("div", { className: "more" });
    const head = make("button", { type: "button" }, group.title, make("span", { textContent: count(group.lanes.length, "lane") }));
    const section = make("section", { className: "group" }, make("h4", {}, head), rows, more);
    const shown = { all: false, resting: !moving.length && resting.length <= 4 };
    const fill = () => {
      rows.querySelectorAll(".row").forEach((row) => this.drop(row.lane));
      rows.replaceChildren();
      if (group.lanes.length > MANY && moving.length > 1) rows.append(this.summary(group));
      const list = (fixed ? moving : ordered).filter((lane) => shown.all || chosen.has(lane)).concat(shown.resting ? resting : []);
      list.forEach((lane) => rows.append(this.row(lane)));
      more.replaceChildren();
      const toggle = (key, text) => {
        const button = make("button", { type: "button", textContent: text });
        button.addEventListener("click", () => { shown[key] = !shown[key]; fill(); this.renumber(); });
        more.append(button);
      };
      if (moving.length > ROWS) toggle("all", shown.all ? `show ${ROWS}` : `show all (${moving.length - ROWS} more)`);
      if (resting.length) toggle("resting", `${shown.resting ? "hide" : "show"} ${resting.length} without changes`);
      more.hidden = !more.children.length;
    };
    const fold = (open) => {
      head.ariaExpanded = String(open);
      rows.hidden = more.hidden = !open;
      if (open && !rows.children.length) fill();
      this.renumber();
    };
    head.addEventListener("click", () => fold(rows.hidden));
    fold(group.title !== "Other objects");
    this.lanes.append(section);
  }

  row(lane, tall) {
    const canvas = make("canvas");
    const row = make("div", { className: tall ? "row tall" : "row", tabIndex: -1 },
      this.named(lane.name), canvas);
    row.setAttribute("role", "group");
    row.ariaLabel = `${lane.name}: ${count(lane.spans.length, "span")}, ${count(lane.marks.length, "mark")}`;
    row.lane = { ...lane, row, canvas, tall };
    this.observer.observe(row);
    return row;
  }

  drop(lane) {
    this.observer.unobserve(lane.row);
    this.visible.delete(lane);
  }

  // A lane that counts the states of a group at each moment.
  summary(group) {
    const turns = group.lanes.flatMap((lane) => lane.spans.flatMap(
      (span) => [[span.from, span.tone, 1], [span.to, span.tone, -1]]));
    turns.sort((a, b) => a[0] - b[0]);
    const counts = [];
    let now = {};
    for (const [at, tone, by] of turns) {
      now = { ...now, [tone]: (now[tone] || 0) + by };
      if (counts.length && counts.at(-1).from === at) counts.at(-1).now = now;
      else counts.push({ from: at, now });
    }
    const lane = { name: `all ${group.lanes.length}`, spans: [], marks: [], counts, of: group.lanes.length };
    return this.row(lane, true);
  }

  // Tab reaches one row; arrow keys reach the others.
  renumber() {
    this.rows = [...this.lanes.querySelectorAll(".group .row")];
    if (!this.rows.some((row) => row.tabIndex === 0) && this.rows[0]) this.rows[0].tabIndex = 0;
  }

  seen(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) this.visible.add(target.lane); else this.visible.delete(target.lane);
    }
    this.redraw();
  }

  redraw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.width = this.axis.clientWidth;
      if (!this.width) return;
      this.range.textContent = `${clock(this.from)} \u2013 ${clock(this.to)}`;
      this.drawAxis();
      this.visible.forEach((lane) => this.draw(lane));
    });
  }

  pin(item) {
    this.item = item && !item.now ? item : null;
    this.pinned.hidden = !this.item;
    tip.hidden = true;
    if (!this.item) return;
    const at = this.item.span ? this.item.span.from : this.item.mark.at;
    if (this.logs) this.logs.show(at);
    if (this.status) this.status.show(at);
    const buttons = make("span", { className: "buttons" }, button("\u2039", "Previous item in this lane", () => this.go(-1)),
      button("\u203a", "Next item in this lane", () => this.go(1)), button("\u00d7", "Close (Escape)", () => this.pin(null)));
    this.pinned.replaceChildren(buttons, details(this.data, this.item, true));
  }

  // Goes to the item before or after the pinned one.
  go(by) {
    const { lane, span, mark } = this.item, items = this.items(lane);
    const index = items.findIndex((item) => (span && item.span === span) || (mark && item.mark === mark));
    const next = items[index + by];
    if (next) this.lead(next);
  }

  // Pins an item and makes it visible.
  lead(item) {
    const at = item.span ? item.span.from : item.mark.at;
    if (at < this.from || at > this.to) {
      const half = (this.to - this.from) / 2;
      this.show(at - half, at + half);
    }
    this.pin(item);
    this.crossAt(this.x(at));
  }

  show(from, to) {
    const [low, high] = this.whole;
    const span = Math.min(Math.max(to - from, RANGE_MIN), high - low);
    this.from = Math.min(Math.max(from, low), high - span);
    this.to = this.from + span;
    this.redraw();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  crossAt(x) {
    this.cross.style.display = x >= 0 && x <= this.width ? "block" : "none";
    this.cross.style.left = `${this.axis.offsetLeft + x}px`;
  }
}
