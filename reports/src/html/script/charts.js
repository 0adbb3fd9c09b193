  /* ---- Charts over time: one view for all of them ---- */
  var charts = [], whole = null, view = null;

  var chart = function (group, nth) {
    var svg = group.ownerSVGElement, size = svg.viewBox.baseVal;
    var scale = +group.dataset.scale; /* units of this SVG per logical pixel */
    var one = {
      scale: scale, group: group, svg: svg, from: +group.dataset.from, to: +group.dataset.to,
      left: group.dataset.left * scale, right: group.dataset.right * scale, height: size.height,
      axis: group.querySelector(".axis"), drawn: null
    };
    var clip = shape(svg, "clipPath", { id: "clip" + nth });
    clip.appendChild(shape(svg, "rect", { x: one.left, y: 0, width: one.right - one.left, height: one.height }));
    svg.appendChild(clip);
    all(".z,.zt", group).forEach(function (part) {
      /* The clip stands still while the part moves. */
      var around = shape(svg, "g", { "clip-path": "url(#clip" + nth + ")" });
      part.parentNode.insertBefore(around, part);
      around.appendChild(part);
    });
    one.cursor = shape(svg, "line", { "class": "cursor", y1: 0, y2: one.axis.dataset.y * scale, "stroke-width": 0.8 * scale, x1: -9, x2: -9 });
    one.brush = shape(svg, "rect", { "class": "brush", y: 0, height: one.axis.dataset.y * scale, x: -9, width: 0 });
    svg.appendChild(one.brush);
    svg.appendChild(one.cursor);
    one.lines = all(".ln", group).map(function (line) {
      var y = (line.dataset.y || "").split(" ");
      return { name: line.dataset.n, at: line, top: y[0] * scale, bottom: y[1] * scale, most: +y[2], unit: y[3], step: line.dataset.s === "step", runs: null };
    });
    return one;
  };
  var xOf = function (one, ns) { return one.left + (ns - view.from) / (view.to - view.from) * (one.right - one.left); };
  var nsAt = function (one, x) { return view.from + (x - one.left) / (one.right - one.left) * (view.to - view.from); };

  var ticks = function (one) {
    if (one.drawn) one.drawn.remove();
    var zoomed = view.from !== whole.from || view.to !== whole.to;
    one.svg.classList.toggle("zoomed", zoomed);
    one.drawn = null;
    if (!zoomed && one.from === whole.from && one.to === whole.to) return;
    one.svg.classList.add("zoomed");
    var span = view.to - view.from, step = Math.pow(10, Math.floor(Math.log10(span / 5)));
    [2, 5, 10].forEach(function (by) { if (span / step > 8) step = Math.pow(10, Math.floor(Math.log10(span / 5))) * by; });
    var s = one.scale, bottom = one.axis.dataset.y * s;
    one.drawn = shape(one.svg, "g", { "class": "ticks" });
    one.drawn.appendChild(shape(one.svg, "line", { x1: one.left, x2: one.right, y1: bottom, y2: bottom, stroke: "#8A949E", "stroke-width": s }));
    var places = Math.max(0, -Math.floor(Math.log10(step / 1e9) + 1e-9));
    for (var at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
      var x = xOf(one, at);
      one.drawn.appendChild(shape(one.svg, "line", { x1: x, x2: x, y1: bottom, y2: bottom + 5 * s, stroke: "#8A949E", "stroke-width": s }));
      var text = shape(one.svg, "text", { x: Math.min(x, one.right - 10 * s), y: bottom + 14 * s, dy: "0.5ex", "text-anchor": "middle", "font-size": 10.1 * s, fill: "#57606A" });
      text.textContent = (at / 1e9).toFixed(places) + " s";
      one.drawn.appendChild(text);
    }
    one.svg.appendChild(one.drawn);
  };

  var place = function () {
    charts.forEach(function (one) {
      /* Where the chart's own ends are in the view. */
      var a = xOf(one, one.from), b = xOf(one, one.to), k = (b - a) / (one.right - one.left);
      var move = k === 1 && a === one.left ? "" : "translate(" + (a - k * one.left) + " 0) scale(" + k + " 1)";
      all(".z", one.group).forEach(function (part) { part.setAttribute("transform", move); });
      all(".z circle", one.group).forEach(function (dot) {
        var cx = +dot.getAttribute("cx");
        dot.setAttribute("transform", "translate(" + cx + " 0) scale(" + 1 / k + " 1) translate(" + -cx + " 0)");
      });
      all(".zt text", one.group).forEach(function (text) {
        if (!text.dataset.x) text.dataset.x = text.getAttribute("x");
        text.setAttribute("x", a + (text.dataset.x - one.left) * k);
      });
      ticks(one);
      one.cursor.setAttribute("x1", -9);
      one.cursor.setAttribute("x2", -9);
    });
    all(".range").forEach(function (shown) {
      shown.textContent = moment(view.from, view.to - view.from) + " to " + moment(view.to, view.to - view.from) + " (" + duration(view.to - view.from) + ")";
    });
  };
  var show = function (from, to, quiet) {
    var span = Math.max(1000, Math.min(to - from, whole.to - whole.from));
    from = Math.max(whole.from, Math.min(from, whole.to - span));
    view = { from: Math.round(from), to: Math.round(from + span) };
    place();
    if (!quiet) remember();
  };
  var zoom = function (by, at) {
    if (at === undefined) at = (view.from + view.to) / 2;
    show(at - (at - view.from) * by, at + (view.to - at) * by);
  };
  var pan = function (by) { var d = (view.to - view.from) * by; show(view.from + d, view.to + d); };
  var reset = function () { show(whole.from, whole.to); };

  /* ---- The value of a line at a moment, read from its picture ---- */
  var runs = function (line) {
    if (line.runs) return line.runs;
    var points = function (list) {
      return list.trim().split(/\s+/).map(function (pair) { return pair.split(",").map(Number); });
    };
    line.runs = all("polyline", line.at).map(function (run) { return points(run.getAttribute("points")); })
      .concat(all("line", line.at).map(function (run) {
        return [[+run.getAttribute("x1"), +run.getAttribute("y1")], [+run.getAttribute("x2"), +run.getAttribute("y2")]];
      }))
      .concat(all("circle", line.at).map(function (dot) { return [[+dot.getAttribute("cx"), +dot.getAttribute("cy")]]; }));
    return line.runs;
  };
  var valueAt = function (line, x) {
    var found = null, list = runs(line);
    for (var r = 0; r < list.length && found === null; r += 1) {
      var run = list[r], last = run[run.length - 1];
      if (run[0][0] - 2 > x || last[0] + 2 < x) continue; /* units of the picture */
      for (var i = 0; i + 1 < run.length && run[i + 1][0] < x; i += 1);
      var a = run[i], b = run[i + 1] || a, share = b[0] > a[0] ? (x - a[0]) / (b[0] - a[0]) : 0;
      found = line.step ? a[1] : a[1] + (b[1] - a[1]) * Math.max(0, Math.min(1, share));
    }
    return found === null ? null : line.most * (line.bottom - found) / (line.bottom - line.top);
  };
  var tip = el("div", { "class": "tip", "aria-hidden": "true" });
  body.appendChild(tip);
  var showTip = function (lines, event) {
    tip.textContent = "";
    lines.forEach(function (text) { tip.appendChild(el("div", {}, text)); });
    tip.style.display = "block";
    var x = event.clientX + 14, y = event.clientY + 14;
    if (x + tip.offsetWidth > doc.documentElement.clientWidth - 4) x = Math.max(4, event.clientX - tip.offsetWidth - 10);
    if (y + tip.offsetHeight > window.innerHeight - 4) y = Math.max(4, event.clientY - tip.offsetHeight - 10);
    tip.style.left = x + "px";
    tip.style.top = y + "px";
  };
  var hideTip = function () {
    tip.style.display = "none";
    charts.forEach(function (one) { one.cursor.setAttribute("x1", -9); one.cursor.setAttribute("x2", -9); });
  };
  /* Where in the picture. */
  var pointed = function (one, event) {
    var point = new DOMPoint(event.clientX, event.clientY).matrixTransform(one.svg.getScreenCTM().inverse());
    return { x: Math.max(one.left, Math.min(one.right, point.x)), y: point.y, inside: point.x >= one.left - 2 * one.scale && point.x <= one.right + 2 * one.scale };
  };
  var hover = function (one, event) {
    var at = pointed(one, event);
    if (!at.inside) { hideTip(); return; }
    var ns = nsAt(one, at.x), lines = [moment(ns, (view.to - view.from) / 100)];
    charts.forEach(function (other) {
      var x = xOf(other, ns);
      other.cursor.setAttribute("x1", x);
      other.cursor.setAttribute("x2", x);
    });
    var own = one.left + (ns - one.from) / (one.to - one.from) * (one.right - one.left);
    var reach = 1.5 * one.scale * (view.to - view.from) / (one.to - one.from);
    one.lines.forEach(function (line) {
      if (line.at.classList.contains("off")) return;
      if (line.unit) {
        var value = valueAt(line, own);
        lines.push(line.name + " " + (value === null ? "\u2013" : "\u2248 " + valued(value, line.unit)));
      } else if (at.y >= line.top && at.y <= line.bottom) {
        var hit = all("rect", line.at).filter(function (box) {
          var x = +box.getAttribute("x");
          return own >= x - reach && own <= x + +box.getAttribute("width") + reach;
        });
        lines.push(line.name + (hit.length ? "" : " \u2013"));
      }
    });
    var cell = event.target.closest && event.target.closest("g.h");
    if (cell) lines = [lines[0], cell.dataset.t];
    showTip(lines, event);
  };

  var attach = function (one) {
    var drag = null, box = one.svg.parentNode;
    box.addEventListener("pointermove", function (event) {
      if (!drag) { hover(one, event); return; }
      var at = pointed(one, event);
      if (drag.pan) {
        var d = (drag.x - at.x) / (one.right - one.left) * (drag.to - drag.from);
        show(drag.from + d, drag.to + d, true);
        return;
      }
      one.brush.setAttribute("x", Math.min(drag.x, at.x));
      one.brush.setAttribute("width", Math.abs(at.x - drag.x));
      showTip([moment(nsAt(one, Math.min(drag.x, at.x)), view.to - view.from) + " \u2026 " + duration(Math.abs(nsAt(one, at.x) - nsAt(one, drag.x)))], event);
    });
    box.addEventListener("pointerleave", function () { if (!drag) hideTip(); });
    box.addEventListener("pointerdown", function (event) {
      var at = pointed(one, event);
      if (event.button !== 0 || event.pointerType === "touch" || !at.inside || at.y > one.axis.dataset.y * one.scale + 20 * one.scale || event.target.closest(".lg")) return;
      drag = { x: at.x, pan: event.shiftKey, from: view.from, to: view.to };
      box.setPointerCapture(event.pointerId);
    });
    box.addEventListener("pointerup", function (event) {
      if (!drag) return;
      var at = pointed(one, event), was = drag;
      drag = null;
      one.brush.setAttribute("width", 0);
      one.brush.setAttribute("x", -9);
      if (was.pan) remember();
      else if (Math.abs(at.x - was.x) > 4 * one.scale) show(nsAt(one, Math.min(at.x, was.x)), nsAt(one, Math.max(at.x, was.x)));
    });
    box.addEventListener("dblclick", reset);
    /* The wheel scrolls the page unless the chart has the focus or a key says otherwise. */
    box.addEventListener("wheel", function (event) {
      if (!(event.ctrlKey || event.metaKey || event.shiftKey || box.contains(doc.activeElement))) return;
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / 800);
      else zoom(Math.pow(1.0015, event.deltaY), nsAt(one, pointed(one, event).x));
    }, { passive: false });
    box.addEventListener("keydown", function (event) {
      var does = { "+": function () { zoom(0.5); }, "=": function () { zoom(0.5); }, "-": function () { zoom(2); },
        ArrowLeft: function () { pan(-0.2); }, ArrowRight: function () { pan(0.2); }, "0": reset, Escape: reset, Home: reset }[event.key];
      if (!does || event.ctrlKey || event.metaKey || event.altKey || event.target.closest(".lg")) return;
      event.preventDefault();
      does();
      say("Time axis: " + doc.querySelector(".range").textContent);
    });
    var bar = el("div", { "class": "tools", role: "toolbar", "aria-label": "Time axis of all charts" });
    bar.appendChild(button("+", "Zoom in (key +)", function () { zoom(0.5); }));
    bar.appendChild(button("\u2212", "Zoom out (key -)", function () { zoom(2); }));
    bar.appendChild(button("\u25c0", "Earlier (left arrow)", function () { pan(-0.4); }));
    bar.appendChild(button("\u25b6", "Later (right arrow)", function () { pan(0.4); }));
    bar.appendChild(button("Reset", "The whole recording (key 0)", reset));
    bar.appendChild(el("span", { "class": "range" }));
    if (one === charts[0]) bar.appendChild(el("span", { "class": "hint" }, "Drag to zoom, Shift+drag to move, Ctrl+wheel, + \u2212 0 \u2190 \u2192; all charts over time follow."));
    box.parentNode.insertBefore(bar, box);
  };

  /* ---- Legends ---- */
  var legends = function () {
    all("figure svg").forEach(function (svg) {
      all(".lg", svg).forEach(function (entry) {
        var of = all(".ln", svg).filter(function (line) { return line.dataset.n === entry.dataset.n; });
        if (!of.length) return;
        svg.setAttribute("role", "group"); /* an image has no buttons in it */
        entry.setAttribute("role", "button");
        entry.setAttribute("tabindex", "0");
        entry.setAttribute("aria-pressed", "true");
        entry.setAttribute("aria-label", "Show " + entry.dataset.n);
        var flip = function () {
          var off = entry.classList.toggle("off");
          entry.setAttribute("aria-pressed", String(!off));
          of.forEach(function (line) { line.classList.toggle("off", off); });
        };
        entry.addEventListener("click", flip);
        entry.addEventListener("keydown", function (event) {
          if (event.key === "Enter" || event.key === " ") { event.preventDefault(); flip(); }
        });
      });
    });
  };
  /* Bars and cells that say what they are. */
  doc.addEventListener("pointerover", function (event) {
    var told = event.target.closest && event.target.closest("g.h");
    if (told && !told.closest(".time")) showTip(told.dataset.t.split(" | "), event);
  });
  doc.addEventListener("pointerout", function (event) {
    if (event.target.closest && event.target.closest("g.h")) hideTip();
  });

