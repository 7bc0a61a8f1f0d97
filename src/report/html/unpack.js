// Expands the data of the page.

// Returns the value that an element contains as JSON, compressed and in base64.
const unpack = (element) => {
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).json();
};

// Returns the data of a scenario with the texts and lines that it shares with others.
const expand = (shared, data) => {
  const texts = shared.texts.concat(data.texts), lines = shared.lines.concat(data.lines);
  const tone = (number) => TONES[number][0];
  const { object, by, text, diff } = data.events;
  let at = 0;
  const events = data.events.at.map((step, i) => ({
    at: at += step, object: object[i], by: by[i], text: text[i],
    diff: diff[i].length ? diff[i].map((line) => lines[line]) : null,
  }));
  const lane = ({ name, spans, marks }) => {
    let end = 0;
    return {
      name: texts[name],
      spans: spans.map(([since, length, first, second, label, message, event]) => {
        const from = end + since;
        end = from + length;
        return {
          from, to: end, tone: tone(first), stripe: second < 0 ? null : tone(second), label: texts[label],
          message: texts[message], event: event < 0 ? undefined : event,
        };
      }),
      marks: marks.map(([event, number]) => ({ at: events[event].at, tone: tone(number), event })),
    };
  };
  const groups = data.groups.map(({ title, lanes }) => ({ title, lanes: lanes.map(lane) }));
  let moment = 0;
  const logs = data.logs && {
    sources: data.logs.sources, lines: data.logs.lines.map(([since, source, line]) => [moment += since, source, line]),
  };
  return { ...data, texts, events, groups, logs };
};
