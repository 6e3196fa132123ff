// Draws the figures of the page one after the other, light or dark as the reader likes, and light on paper.
(function () {
  "use strict";
  var read = function (id) { return JSON.parse(document.getElementById(id).textContent); };
  var figures = read("data-figures"), templates = read("data-templates");
  var dark = window.matchMedia("(prefers-color-scheme: dark)"), paper = window.matchMedia("print");
  var config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["sendDataToCloud"] };

  function layoutOf(figure) {
    var template = templates[dark.matches && !paper.matches ? "dark" : "light"];
    return Object.assign({}, figure.layout, { template: template, autosize: true, width: undefined, height: undefined });
  }
  function draw(name) {
    var place = document.getElementById("plot-" + name), figure = figures[name];
    return Plotly.react(place, { data: figure.data, layout: layoutOf(figure), frames: figure.frames, config: config });
  }
  function drawAll() { Object.keys(figures).forEach(draw); }
  var waiting = Object.keys(figures);
  (function next() {
    if (!waiting.length) { document.documentElement.dataset.drawn = "all"; return; }
    draw(waiting.shift());
    window.setTimeout(next, 0); // so that the page can be read meanwhile
  })();
  dark.addEventListener("change", drawAll);
  paper.addEventListener("change", drawAll);
})();
