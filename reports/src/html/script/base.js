"use strict";
/* Adds to a page that is whole without it: one time axis for all charts over time, values under the pointer, legends that
   switch series, tables that sort, filter and copy, and addresses that lead to a row. It fetches nothing and stores nothing.
   Five files are one script: base.js, charts.js, curves.js, tables.js, begin.js. */
(function () {
  var doc = document, body = doc.body;
  var all = function (css, at) { return Array.prototype.slice.call((at || doc).querySelectorAll(css)); };
  var el = function (name, attrs, text) {
    var made = doc.createElement(name);
    Object.keys(attrs || {}).forEach(function (key) { made.setAttribute(key, attrs[key]); });
    if (text !== undefined) made.textContent = text;
    return made;
  };
  var shape = function (at, name, attrs) {
    var made = doc.createElementNS(at.namespaceURI, name);
    Object.keys(attrs).forEach(function (key) { made.setAttribute(key, attrs[key]); });
    return made;
  };
  var button = function (text, label, act) {
    var made = el("button", { type: "button", "aria-label": label, title: label }, text);
    made.addEventListener("click", act);
    return made;
  };
  body.classList.add("js");
  var status = el("div", { role: "status", "class": "said" });
  body.appendChild(status);
  var say = function (text) { status.textContent = text; };

  /* Numbers as the page writes them. */
  var three = function (value) {
    var size = Math.abs(value);
    if (size === 0) return "0";
    return size >= 100 ? String(Math.round(value)) : value.toPrecision(3);
  };
  var duration = function (ns) {
    var size = Math.abs(ns);
    if (size < 1e3) return Math.round(ns) + " ns";
    if (size < 1e6) return three(ns / 1e3) + " \u00b5s";
    if (size < 1e9) return three(ns / 1e6) + " ms";
    return three(ns / 1e9) + " s";
  };
  var valued = function (value, unit) {
    if (unit === "ns") return duration(value);
    if (unit === "%") return three(value * 100) + " %";
    if (unit === "B") {
      if (value >= 1048576) return three(value / 1048576) + " MiB";
      return value >= 1024 ? three(value / 1024) + " KiB" : Math.round(value) + " B";
    }
    return three(value);
  };
  /* A moment, to the part of a second that the view can tell apart. */
  var moment = function (ns, span) {
    var places = Math.max(0, Math.min(9, Math.ceil(2 - Math.log10(span / 1e9))));
    return (ns / 1e9).toFixed(places) + " s";
  };

