// The details of an item of a lane: in the tip below the pointer, and in the panel of the pinned item.

// Returns the details of an item as elements; with `whole`, nothing is truncated.
function details(data, item, whole) {
  const box = document.createDocumentFragment();
  const line = (className, ...children) => box.append(make("p", { className }, ...children));
  if (item.now) {
    line("when", clock(item.at));
    TONES.filter(([tone]) => item.now[tone]).forEach(([tone, text]) => {
      line("state", `${item.now[tone]} ${text}`);
      box.lastChild.style.setProperty("--tone", `var(--${tone})`);
    });
    return box;
  }
  const { lane, span, mark } = item;
  const event = data.events[span ? span.event : mark.event];
  const text = (index) => data.texts[index] || "";
  if (span) {
    const until = span.to >= data.end ? "the end" : clock(span.to, true);
    line("when", `${clock(span.from, true)} \u2013 ${until} (${duration(span.to - span.from)})`);
    line("state", make("b", { textContent: lane.name }), " " + span.label);
    box.lastChild.style.setProperty("--tone", `var(--${span.tone})`);
    if (span.message) line("", whole ? span.message : span.message.slice(0, 700));
  } else line("when", clock(mark.at, true));
  if (event) {
    const what = make("div", { className: span ? "change" : "" });
    what.append(make("p", {}, make("b", { textContent: text(event.object) }), event.by ? ` by ${text(event.by)}` : "",
      span && event.at !== span.from ? ` at ${clock(event.at, true)}` : ""));
    what.append(make("p", { textContent: whole ? text(event.text) : text(event.text).slice(0, 500) }));
    if (event.diff) what.append(diff(data, whole ? event.diff : event.diff.slice(0, 7)));
    box.append(what);
  } else if (span && span.from === 0) line("when", "state at the start of the run");
  return box;
}

// The fields that differ, each with its old and its new value.
function diff(data, lines) {
  const value = (text, tag) => text ? [make(tag, { textContent: text }), "\n"] : [];
  const rows = lines.map((line) => {
    const [path, before, after] = line.map((index) => data.texts[index]);
    return make("tr", {}, make("td", { textContent: path || "the document" }),
      make("td", {}, ...value(before, "del"), ...value(after, "ins")));
  });
  return make("table", {}, make("tbody", {}, ...rows));
}

const tip = make("div", { className: "tip details", hidden: true });
document.body.append(tip);

// Shows an item in the tip beside the pointer, or nothing.
function point(data, item, x, y) {
  if (!item) { tip.hidden = true; return; }
  tip.replaceChildren(details(data, item, false));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
}
