  /* ---- Tables ---- */
  var plain = function (text) { return text.replace(/[\u202f\u00a0]/g, "").replace(/\u2212/g, "-").trim(); };
  var sortKey = function (cell) {
    if (!cell) return null;
    if (cell.dataset.v !== undefined) return +cell.dataset.v;
    var text = plain(cell.textContent);
    if (text === "\u2013" || text === "") return null;
    return cell.classList.contains("n") ? parseFloat(text.replace("<", "")) : text.toLowerCase();
  };
  var csv = function (table) {
    var quote = function (text) { return /[",\n]/.test(text) ? "\"" + text.replace(/"/g, "\"\"") + "\"" : text; };
    var head = all("thead th", table).map(function (th) {
      var said = (th.querySelector("button") || th).firstChild, title = said ? said.textContent.trim() : "", unit = th.querySelector("i");
      return quote(th.dataset.u ? title + " (" + th.dataset.u + ")" : unit ? title + " " + unit.textContent : title);
    });
    var rows = all("tbody tr", table).filter(function (row) { return !row.hidden; }).map(function (row) {
      return all("td", row).map(function (cell) {
        if (cell.classList.contains("u")) return "";
        /* A cell that begins like a formula must not become one. */
        var text = cell.dataset.v !== undefined ? cell.dataset.v : cell.classList.contains("n") ? plain(cell.textContent) : cell.textContent;
        return quote(cell.classList.contains("n") || !/^[=+@\t-]/.test(text) ? text : "'" + text);
      }).join(",");
    });
    return [head.join(",")].concat(rows).join("\r\n") + "\r\n";
  };
  var copy = function (text, what) {
    var done = function () { say(what + " copied."); };
    var old = function () {
      var area = el("textarea", { "class": "off" });
      area.value = text;
      body.appendChild(area);
      area.select();
      var worked = doc.execCommand("copy");
      area.remove();
      say(worked ? what + " copied." : "This browser does not let the page copy.");
    };
    if (navigator.clipboard && navigator.clipboard.writeText) navigator.clipboard.writeText(text).then(done, old);
    else old();
  };
  var tables = [];
  var refilter = function () {
    var total = 0, wanted = find.value.trim().toLowerCase();
    tables.forEach(function (one) {
      var own = one.input ? one.input.value.trim().toLowerCase() : "", shown = 0;
      one.rows.forEach(function (row) {
        var text = row.textContent.toLowerCase();
        row.hidden = text.indexOf(own) < 0 || text.indexOf(wanted) < 0;
        if (!row.hidden) shown += 1;
      });
      one.count.textContent = own || wanted ? shown + " of " + one.rows.length + " rows" : "";
      if (wanted && shown) { total += shown; for (var up = one.table.closest("details"); up; up = up.parentNode.closest("details")) up.open = true; }
      one.table.closest(".scroll").classList.toggle("none", Boolean(wanted) && !shown);
    });
    found.textContent = wanted ? total + " rows" : "";
  };
  var tabulate = function (table) {
    var heads = all("thead th", table), rows = all("tbody tr", table);
    if (!rows.length) return;
    var one = { table: table, rows: rows, wider: null, over: false, count: el("span", { "class": "count", role: "status" }), input: null };
    if (rows.length > 1) heads.forEach(function (th, at) {
      var made = el("button", { type: "button", "class": "sort", title: "Sort" });
      while (th.firstChild) made.appendChild(th.firstChild);
      th.appendChild(made);
      made.addEventListener("click", function () {
        var now = th.getAttribute("aria-sort"), down = now ? now === "ascending" : th.classList.contains("n");
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        th.setAttribute("aria-sort", down ? "descending" : "ascending");
        one.rows.map(function (row, nth) { return { row: row, key: sortKey(row.cells[at]), nth: nth }; }).sort(function (a, b) {
          if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.nth - b.nth;
          var order = a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
          return (down ? -order : order) || a.nth - b.nth;
        }).forEach(function (entry) { entry.row.parentNode.appendChild(entry.row); });
      });
    });
    var bar = el("div", { "class": "tools" });
    if (rows.length > 7) {
      one.input = el("input", { type: "search", placeholder: "Filter rows", "aria-label": "Filter rows of " + (table.caption ? table.caption.textContent : "this table") });
      one.input.addEventListener("input", refilter);
      bar.appendChild(one.input);
    }
    bar.appendChild(one.count);
    if (rows.length > 3) bar.appendChild(button("Copy as CSV", "Copy the rows shown as CSV, times in ns", function () { copy(csv(table), one.rows.filter(function (row) { return !row.hidden; }).length + " rows"); }));
    one.wider = el("span", { "class": "hint" }, "\u2194 more columns: scroll sideways");
    one.wider.hidden = true;
    bar.appendChild(one.wider);
    var box = table.closest(".scroll");
    box.parentNode.insertBefore(bar, box);
    tables.push(one);
  };
  /* Which tables are wider than their place. */
  var measure = function () {
    tables.forEach(function (one) {
      var box = one.table.closest(".scroll");
      one.over = box.scrollWidth > box.clientWidth + 1;
    });
    tables.forEach(function (one) { one.wider.hidden = !one.over; });
  };
  var find = el("input", { type: "search", placeholder: "Find in all tables", "aria-label": "Find in all tables" });
  var found = el("span", { "class": "count", role: "status" });
  find.addEventListener("input", refilter);

