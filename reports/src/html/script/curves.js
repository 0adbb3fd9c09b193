
  /* ---- ECDFs: the share at or below the value under the pointer, or under a line that the arrow keys move ---- */
  var curve = function (group) {
    var s = +group.dataset.scale, svg = group.ownerSVGElement, name = svg.getAttribute("aria-label") || "";
    var two = function (key, by) { return group.dataset[key].split(" ").map(function (part) { return part * by; }); };
    var x = two("x", s), y = two("y", s), ends = two("v", 1), log = group.dataset.d === "log";
    var one = {
      svg: svg, left: x[0], right: x[1], scale: s, lines: all(".ln", group).map(function (line) {
        return { name: line.dataset.n, at: line, top: y[0], bottom: y[1], most: 1, step: true, runs: null };
      }), at: null,
      cursor: shape(svg, "line", { "class": "cursor", x1: -9, x2: -9, y1: y[0], y2: y[1], "stroke-width": 0.8 * s })
    };
    svg.appendChild(one.cursor);
    /* The staircase: its height left of the next step. */
    var share = function (line, at) {
      var points = runs(line)[0] || [], height = line.bottom;
      for (var i = 0; i < points.length && points[i][0] <= at; i += 1) height = points[i][1];
      return (line.bottom - height) / (line.bottom - line.top);
    };
    one.told = function (at) {
      var part = (at - one.left) / (one.right - one.left);
      var value = log ? ends[0] * Math.pow(ends[1] / ends[0], part) : ends[0] + (ends[1] - ends[0]) * part;
      one.at = at;
      one.cursor.setAttribute("x1", at);
      one.cursor.setAttribute("x2", at);
      return ["at or below " + valued(value, group.dataset.u) + ":"].concat(one.lines.filter(function (line) {
        return !line.at.classList.contains("off");
      }).map(function (line) { return (line.name ? line.name + " " : "") + "\u2248 " + (share(line, at) * 100).toFixed(1) + " %"; }));
    };
    one.hide = function () { one.cursor.setAttribute("x1", -9); one.cursor.setAttribute("x2", -9); };
    var box = svg.parentNode;
    box.addEventListener("pointermove", function (event) {
      var at = pointed(one, event);
      if (at.inside && at.y >= y[0] && at.y <= y[1]) showTip(one.told(at.x), event);
      else if (one.at !== null) { one.at = null; one.hide(); if (!event.target.closest("g.h")) hideTip(); }
    });
    box.addEventListener("pointerleave", function () { one.at = null; one.hide(); hideTip(); });
    box.addEventListener("blur", one.hide);
    box.addEventListener("keydown", function (event) {
      var step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || event.target !== box || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
      event.preventDefault();
      var from = one.at === null ? (one.left + one.right) / 2 : one.at + step * (one.right - one.left) / 50;
      say(one.told(Math.max(one.left, Math.min(one.right, from))).join(" "));
    });
    box.setAttribute("aria-label", name.replace(/\.+$/, "") + ". Arrow keys tell the share at or below a value.");
    return one;
  };
