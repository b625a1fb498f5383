"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const narrow = window.matchMedia("(max-width: 40rem)").matches;
  const config = {
    responsive: true,
    displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  };
  const drawn = [];
  for (const place of document.querySelectorAll("[data-chart]")) {
    const chart = charts[place.dataset.chart];
    // a matrix of texts would be most of the page: it is made here of each row's few words
    for (const trace of chart.data) {
      if (trace.words) {
        trace.text = trace.z.map((row, gene) => row.map((_, at) => trace.words[gene][trace.indices[gene][at]]));
        delete trace.words;
        delete trace.indices;
      }
    }
    if (narrow) {
      chart.layout.dragmode = false; // so that a finger scrolls the page
    }
    const small = narrow || place.closest("figure") !== null; // no room for a tool bar
    drawn.push(Plotly.newPlot(place, chart.data, chart.layout, { ...config, displayModeBar: small ? false : "hover" }));
  }
  Promise.all(drawn).then(() => { document.body.dataset.drawn = "all"; }); // for tests and printers
})();
