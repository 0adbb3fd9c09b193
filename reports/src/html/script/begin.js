  /* ---- Addresses: #section, #skb=123, #t=1.2..1.3, joined by & ---- */
  var parts = function () {
    var text = location.hash.slice(1);
    try { text = decodeURIComponent(text); } catch (error) { /* as it is */ }
    return text.split("&").filter(Boolean);
  };
  var remember = function () {
    var kept = parts().filter(function (part) { return part.indexOf("t=") !== 0; });
    if (view.from !== whole.from || view.to !== whole.to) kept.push("t=" + view.from / 1e9 + ".." + view.to / 1e9);
    history.replaceState(null, "", "#" + kept.join("&"));
  };
  var go = function () {
    all(".hit").forEach(function (row) { row.classList.remove("hit"); });
    parts().forEach(function (part) {
      var time = /^t=(\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)$/.exec(part);
      if (time && whole && +time[2] > +time[1]) { show(time[1] * 1e9, time[2] * 1e9, true); return; }
      var wanted = doc.getElementById(part);
      /* An skb is shown in the row of its unit. */
      if (!wanted && part.indexOf("skb=") === 0) wanted = doc.getElementById(part.replace("skb", "rx")) || doc.getElementById(part.replace("skb", "tx"));
      if (!wanted && part.indexOf("=") > 0) {
        var link = all("td a.id").filter(function (a) { return a.getAttribute("href") === "#" + part; })[0];
        wanted = link && link.closest("tr");
        /* Nothing else of an address may get into a command that somebody types. */
        if (!wanted && /^[a-z_]+=\d+$/.test(part)) say("No row of this page has " + part.replace("=", " ") + "; see: netmortem explain " + body.dataset.input + " " + part.replace("=", ":"));
      }
      if (!wanted) return;
      for (var up = wanted.closest("details"); up; up = up.parentNode.closest("details")) up.open = true;
      if (wanted.hidden) { find.value = ""; tables.forEach(function (one) { if (one.input) one.input.value = ""; }); refilter(); }
      if (wanted.tagName === "TR") wanted.classList.add("hit");
      wanted.scrollIntoView({ block: wanted.tagName === "TR" ? "center" : "start" });
    });
  };

  /* ---- Begin ---- */
  charts = all("svg .time").map(chart);
  if (charts.length) {
    whole = { from: Math.min.apply(null, charts.map(function (c) { return c.from; })), to: Math.max.apply(null, charts.map(function (c) { return c.to; })) };
    if (!(whole.to > whole.from)) whole.to = whole.from + 1;
    view = { from: whole.from, to: whole.to };
    charts.forEach(attach);
    place();
  }
  all("svg .curves").forEach(curve);
  legends();
  all("main table").forEach(tabulate);
  measure();
  window.addEventListener("resize", measure);
  doc.addEventListener("toggle", measure, true);
  var nav = doc.querySelector("nav");
  if (nav && tables.length) {
    var box = el("div", { "class": "find", role: "search", "aria-label": "All tables" });
    box.appendChild(find);
    box.appendChild(found);
    nav.insertBefore(box, nav.firstChild);
  }
  all("pre").forEach(function (pre) {
    var bar = el("div", { "class": "tools" });
    bar.appendChild(button("Copy", "Copy this command", function () { copy(pre.textContent.trim(), "Command"); }));
    pre.parentNode.insertBefore(bar, pre);
  });
  doc.addEventListener("click", function (event) {
    var link = event.target.closest && event.target.closest("a.id");
    if (link) { copy(link.title, "“" + link.title + "”"); }
  });
  /* On paper nothing can be unfolded: what is closed is opened, and closed again afterwards. */
  var unfolded = [];
  window.addEventListener("beforeprint", function () {
    unfolded = all("details:not([open])");
    unfolded.forEach(function (fold) { fold.open = true; });
  });
  window.addEventListener("afterprint", function () {
    unfolded.forEach(function (fold) { fold.open = false; });
    unfolded = [];
  });
  window.addEventListener("hashchange", go);
  if (location.hash) go();
}());
