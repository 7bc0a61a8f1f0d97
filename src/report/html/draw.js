// Draws a timeline: a range of time over a width, and lanes on canvases.

class Drawing {
  constructor(end) {
    Object.assign(this, { from: 0, to: Math.max(end, 1000), width: 0 });
    this.whole = [this.from, this.to];
  }

  x(at) { return (at - this.from) / (this.to - this.from) * this.width; }
  at(x) { return this.from + x / this.width * (this.to - this.from); }

  paper(canvas, height) {
    const scale = window.devicePixelRatio || 1;
    [canvas.width, canvas.height] = [Math.round(this.width * scale), Math.round(height * scale)];
    const paper = canvas.getContext("2d");
    paper.scale(scale, scale);
    paper.font = "10.5px system-ui, sans-serif";
    paper.textBaseline = "middle";
    return paper;
  }

  ticks() {
    const span = (this.to - this.from) / 1000;
    const step = (TICKS.find((tick) => span / tick * 80 <= this.width) || 86400) * 1000;
    const found = [];
    for (let at = Math.ceil(this.from / step) * step; at <= this.to; at += step) found.push(at);
    return found;
  }

  drawAxis() {
    const paper = this.paper(this.axis, 24);
    for (const at of this.ticks()) {
      const x = this.x(at);
      paper.fillStyle = colors.line;
      paper.fillRect(x, 17, 1, 7);
      paper.fillStyle = colors.soft;
      paper.textAlign = x < 24 ? "left" : x > this.width - 24 ? "right" : "center";
      paper.fillText(clock(at, true), x, 10);
    }
  }

  draw(lane) {
    const height = lane.tall ? TALL : ROW;
    const paper = this.paper(lane.canvas, height);
    paper.globalAlpha = 0.5;
    paper.fillStyle = colors.line;
    this.ticks().forEach((at) => paper.fillRect(this.x(at), 0, 1, height));
    paper.globalAlpha = 1;
    if (lane.counts) return this.drawCounts(paper, lane);
    let drawn = -1, tone = "";
    for (let i = first(lane.spans, (span) => span.to >= this.from); i < lane.spans.length; i++) {
      const span = lane.spans[i];
      if (span.from > this.to) break;
      const left = Math.max(this.x(span.from), 0), right = Math.min(Math.max(this.x(span.to), left + 2), this.width);
      // A span within the last drawn pixel, in the same color, needs no drawing.
      if (right <= drawn && span.tone === tone) continue;
      [drawn, tone] = [right, span.tone];
      this.drawSpan(paper, span, left, right);
    }
    for (let i = first(lane.marks, (mark) => mark.at >= this.from); i < lane.marks.length; i++) {
      const { at, tone } = lane.marks[i];
      if (at > this.to) break;
      paper.fillStyle = tone === "calm" ? colors.cross : colors[tone];
      if (tone === "bad") {
        const x = this.x(at);
        paper.beginPath();
        paper.moveTo(x - 5, 16); paper.lineTo(x + 5, 16); paper.lineTo(x, 3);
        paper.fill();
      } else paper.fillRect(this.x(at), tone === "calm" ? 11 : 2, tone === "calm" ? 1 : 2, tone === "calm" ? 7 : 15);
    }
  }

  drawSpan(paper, span, left, right) {
    const quiet = span.tone === "calm";
    const [top, height] = quiet ? [6, 7] : [3, 13];
    paper.fillStyle = colors[span.tone];
    paper.fillRect(left, top, right - left, height);
    if (span.stripe) {
      paper.fillStyle = colors[span.stripe];
      paper.fillRect(left, 13, right - left, 4);
    }
    if (right - left > 4) {
      paper.fillStyle = colors.card;
      paper.fillRect(left, top, 1, height);
    }
    if (right - left < 34 || quiet) return;
    paper.fillStyle = colors.ink;
    paper.textAlign = "left";
    const letters = Math.floor((right - left - 8) / 5.6);
    const text = span.label.length > letters ? span.label.slice(0, Math.max(letters - 1, 1)) + "\u2026" : span.label;
    paper.fillText(text, left + 5, 10);
  }

  drawCounts(paper, lane) {
    const height = TALL - 8;
    lane.counts.forEach(({ from, now }, i) => {
      const to = i + 1 < lane.counts.length ? lane.counts[i + 1].from : this.whole[1];
      if (to < this.from || from > this.to) return;
      const left = Math.max(this.x(from), 0), right = Math.min(this.x(to), this.width);
      let top = 4 + height;
      for (const [tone] of TONES) {
        if (!now[tone]) continue;
        const part = now[tone] / lane.of * height;
        top -= part;
        paper.fillStyle = colors[tone];
        paper.fillRect(left, top, right - left + 0.5, part);
      }
    });
  }

  // Returns the item of a lane at a place: a mark, or else a span.
  hit(lane, x) {
    const at = this.at(x), near = (this.to - this.from) / this.width * 5;
    if (lane.counts) {
      const i = first(lane.counts, ({ from }) => from > at) - 1;
      return i < 0 ? null : { lane, at, now: lane.counts[i].now };
    }
    const distance = (mark) => Math.abs(mark.at - at);
    let best = null;
    for (let i = first(lane.marks, (mark) => mark.at >= at - near); i < lane.marks.length && lane.marks[i].at <= at + near; i++) {
      if (!best || distance(lane.marks[i]) < distance(best)) best = lane.marks[i];
    }
    if (best) return { lane, mark: best };
    const spans = lane.spans.filter((span) => span.from <= at + near / 2 && Math.max(span.to, span.from) >= at - near / 2);
    const span = spans.find((span) => span.to - span.from < near) || spans.find((span) => span.from <= at && at < span.to) || spans[0];
    return span ? { lane, span } : null;
  }

  // Returns all items of a lane, in order of time.
  items(lane) {
    const items = [...lane.spans.map((span) => ({ lane, span })), ...lane.marks.map((mark) => ({ lane, mark }))];
    return items.sort((a, b) => (a.span || { from: a.mark.at }).from - (b.span || { from: b.mark.at }).from);
  }
}
