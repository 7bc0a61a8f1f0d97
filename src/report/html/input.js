// Pointer, wheel and keys.

// Returns the place of an event on a timeline: the distance from its left edge, the lane, and whether it is on a
// canvas.
function place(timeline, event) {
  const box = timeline.axis.getBoundingClientRect();
  const row = event.target.closest(".row");
  return { x: event.clientX - box.left, lane: row && row.lane, inside: event.target.tagName === "CANVAS" };
}

function listen(timeline) {
  const { lanes } = timeline;
  let drag = null;
  lanes.addEventListener("pointermove", (event) => {
    const { x, lane, inside } = place(timeline, event);
    timeline.crossAt(x);
    if (timeline.status && inside && !timeline.item) timeline.status.show(timeline.at(x));
    if (drag !== null) {
      const [left, right] = [Math.max(Math.min(x, drag), 0), Math.min(Math.max(x, drag), timeline.width)];
      timeline.brush.style.display = right - left > 4 ? "block" : "none";
      timeline.brush.style.left = `${timeline.axis.offsetLeft + left}px`;
      timeline.brush.style.width = `${right - left}px`;
    }
    point(timeline.data, inside && lane && drag === null ? timeline.hit(lane, x) : null, event.clientX, event.clientY);
  });
  lanes.addEventListener("pointerleave", () => { tip.hidden = true; timeline.cross.style.display = "none"; });
  lanes.addEventListener("pointerdown", (event) => {
    const { x, inside } = place(timeline, event);
    if (inside && event.button === 0) drag = x;
  });
  window.addEventListener("pointerup", (event) => {
    if (drag === null) return;
    const start = drag, x = event.clientX - timeline.axis.getBoundingClientRect().left;
    drag = null;
    timeline.brush.style.display = "none";
    if (Math.abs(x - start) > 4) {
      const [low, high] = [timeline.at(Math.min(start, x)), timeline.at(Math.max(start, x))];
      timeline.show(low, high);
    } else {
      const row = event.target.closest && event.target.closest(".row");
      if (row && row.lane) timeline.pin(timeline.hit(row.lane, x));
    }
  });
  lanes.addEventListener("dblclick", (event) => { if (place(timeline, event).inside) timeline.show(...timeline.whole); });
  lanes.addEventListener("wheel", (event) => {
    const { x, inside } = place(timeline, event);
    const sideways = event.deltaX || (event.shiftKey ? event.deltaY : 0);
    const zooms = event.ctrlKey || event.metaKey || event.target === timeline.axis;
    if (!inside || !(zooms || sideways)) return;
    event.preventDefault();
    if (zooms) timeline.zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), timeline.at(x));
    else {
      const by = sideways / timeline.width * (timeline.to - timeline.from);
      timeline.show(timeline.from + by, timeline.to + by);
    }
  }, { passive: false });
  lanes.addEventListener("keydown", (event) => key(timeline, event));
  lanes.addEventListener("focusin", (event) => {
    if (!event.target.lane) return;
    timeline.rows.forEach((row) => { row.tabIndex = row === event.target ? 0 : -1; });
  });
  new ResizeObserver(() => timeline.redraw()).observe(timeline.axis);
}

function key(timeline, event) {
  const row = event.target, lane = row.lane;
  if (!lane) return;
  const own = timeline.item && timeline.item.lane === lane;
  const to = (by) => { const next = timeline.rows[timeline.rows.indexOf(row) + by]; if (next) next.focus(); };
  const acts = {
    ArrowDown: () => to(1), ArrowUp: () => to(-1),
    ArrowRight: () => { if (own) timeline.go(1); else if (timeline.items(lane)[0]) timeline.lead(timeline.items(lane)[0]); },
    ArrowLeft: () => { if (own) timeline.go(-1); else if (timeline.items(lane).length) timeline.lead(timeline.items(lane).at(-1)); },
    Enter: () => { if (timeline.items(lane)[0]) timeline.lead(timeline.items(lane)[0]); },
    Escape: () => timeline.pin(null),
    "+": () => timeline.zoom(0.5), "-": () => timeline.zoom(2), 0: () => timeline.show(...timeline.whole),
  };
  if (!acts[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  acts[event.key]();
}
