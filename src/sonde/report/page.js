// Draws the figures of the page one after the other, light or dark as the reader likes, and light on paper.
(function () {
  "use strict";
  var text = function (id) { return document.getElementById(id).textContent; };
  var figures = JSON.parse(text("data-figures")), templates = JSON.parse(text("data-templates"));
  var places = document.querySelectorAll(".plot"); // in the order of the figures
  var dark = window.matchMedia("(prefers-color-scheme: dark)"), paper = window.matchMedia("print");
  var config = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["sendDataToCloud"] };

  function loadPlotly() {
    var bytes = Uint8Array.from(atob(text("plotly")), function (each) { return each.charCodeAt(0); });
    var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text().then(function (source) {
      var script = document.createElement("script"); // which the policy allows by its hash
      script.textContent = source;
      document.body.append(script);
    });
  }
  function layoutOf(figure) {
    var template = templates[dark.matches && !paper.matches ? "dark" : "light"];
    return Object.assign({}, figure.layout, { template: template, autosize: true, width: undefined, height: undefined });
  }
  function draw(figure, place) {
    return Plotly.react(places[place], { data: figure.data, layout: layoutOf(figure), frames: figure.frames, config: config });
  }
  function drawAll() { figures.forEach(draw); }
  function drawFrom(place) {
    if (place === figures.length) { document.documentElement.dataset.drawn = "all"; return; }
    draw(figures[place], place);
    window.setTimeout(drawFrom, 0, place + 1); // so that the page can be read meanwhile
  }
  loadPlotly().then(function () {
    drawFrom(0);
    dark.addEventListener("change", drawAll);
    paper.addEventListener("change", drawAll);
  });
})();
