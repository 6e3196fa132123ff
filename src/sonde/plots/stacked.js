// Panels that do not fit side by side stand below each other: for reports and the dashboard, where pages are narrow.

const LEAST = 280; // pixels of a panel
const BETWEEN = 80, AROUND = 130, HEIGHT = 440; // pixels between rows and around all, and of a figure that does not say

/** The panels of a layout, row by row: pairs of axes with places of their own. */
function panelsOf(layout) {
  const found = Object.keys(layout).filter((name) => /^xaxis\d*$/.test(name) && layout[name].domain && layout[name].anchor).map((name) => {
    const y = layout[name].anchor.replace("y", "yaxis");
    return { x: name, y, across: layout[name].domain, up: layout[y] && layout[y].domain };
  }).filter((panel) => panel.up);
  return found.sort((one, other) => other.up[1] - one.up[1] || one.across[0] - other.across[0]);
}

function rowsOf(panels) {
  const rows = [];
  for (const panel of panels) {
    const last = rows.at(-1);
    if (last && Math.abs(last[0].up[1] - panel.up[1]) < 1e-6) last.push(panel); else rows.push([panel]);
  }
  return rows;
}

/** How many panels a figure has side by side at a width. */
export function columnsAt(layout, width) {
  const most = Math.max(0, ...rowsOf(panelsOf(layout)).map((row) => row.length));
  return Math.min(most, Math.max(1, Math.floor(width / LEAST)));
}

/** A figure for a width: as it is, or with as many panels side by side as fit. */
export function stacked(figure, width) {
  const panels = panelsOf(figure.layout), rows = rowsOf(panels), columns = columnsAt(figure.layout, width);
  if (!rows.some((row) => row.length > columns)) return figure;
  const layout = structuredClone(figure.layout), inside = (layout.height ?? HEIGHT) - AROUND;
  const between = rows.length > 1 ? Math.max(BETWEEN, inside * (rows[0][0].up[0] - rows[1][0].up[1])) : BETWEEN;
  const groups = Array.from({ length: Math.ceil(panels.length / columns) }, (_, i) => panels.slice(i * columns, (i + 1) * columns));
  const heights = groups.map((group) => Math.max(...group.map((panel) => inside * (panel.up[1] - panel.up[0]))));
  const whole = heights.reduce((sum, own) => sum + own, 0) + between * (groups.length - 1);
  const gap = columns > 1 ? 0.12 : 0, wide = (1 - gap * (columns - 1)) / columns;
  const places = {}; // by the name of the y axis, as traces have it
  let top = whole;
  groups.forEach((group, row) => {
    group.forEach((panel, column) => {
      const across = [column * (wide + gap), column * (wide + gap) + wide], up = [(top - heights[row]) / whole, top / whole];
      const beside = rows.find((one) => one.includes(panel))[0], title = layout[panel.y].title; // the first of a row has the title of all
      layout[panel.x].domain = across;
      layout[panel.y].domain = up;
      if (column === 0 && title && !title.text) layout[panel.y].title = figure.layout[beside.y].title;
      places[panel.y.replace("axis", "")] = { across, up };
    });
    top -= heights[row] + between;
  });
  layout.height = Math.round(whole + AROUND);
  const data = figure.data.map((trace) => {
    const place = places[trace.yaxis ?? "y"];
    if (!place || !["heatmap", "contour"].includes(trace.type) || trace.showscale === false) return trace;
    const bar = { x: place.across[1] + 0.01, y: (place.up[0] + place.up[1]) / 2, len: place.up[1] - place.up[0] };
    return { ...trace, colorbar: { ...trace.colorbar, ...bar } };
  });
  return { ...figure, data, layout };
}
