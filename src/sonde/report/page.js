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
    var element = places[place], shown = stacked(figure, element.clientWidth);
    if (shown.layout.height) element.style.height = shown.layout.height + "px";
    var buttons = element.clientWidth < 480 ? { displayModeBar: false } : {}; // they would cover menus
    return Plotly.react(element, { data: shown.data, layout: layoutOf(shown), frames: figure.frames, config: Object.assign({}, config, buttons) });
  }
  function drawAll() { figures.forEach(draw); }
  var wide = window.innerWidth;
  window.addEventListener("resize", function () { // such as when a phone is turned
    if (window.Plotly && document.documentElement.dataset.drawn && Math.abs(window.innerWidth - wide) > 100) { wide = window.innerWidth; drawAll(); }
  });
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
