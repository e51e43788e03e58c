// Runs device tests in MicroPython for WebAssembly, which has settrace.
//
//     node traced.mjs FOLDER WISHES ANSWER
//
// FOLDER is where npm installed the package; WISHES is a file of JSON: {"files": {path: text},
// "tests": [[module, function, is it async]]}. Into the file ANSWER goes JSON: what mpy_coverage's
// tracer saw, and [module, function, error] of each test that failed.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, wishes, answer] = process.argv.slice(2);
const place = join(folder, "node_modules/@micropython/micropython-webassembly-pyscript");
const { loadMicroPython } = await import(pathToFileURL(join(place, "micropython.mjs")));
const { files, tests } = JSON.parse(readFileSync(wishes, "utf8"));

const mp = await loadMicroPython({
  url: join(place, "micropython-settrace.wasm"),
  heapsize: 64 << 20,
  stdout: () => {},
});
for (const [path, text] of Object.entries(files)) {
  const parts = ("/project/" + path).split("/");
  for (let n = 2; n < parts.length; n++) {
    try {
      mp.FS.mkdir(parts.slice(0, n).join("/"));
    } catch {
      // It is there.
    }
  }
  mp.FS.writeFile(parts.join("/"), text);
}

mp.runPython(`
import sys
sys.path[:0] = ["/project/tests", "/project"]
import tracer
tracer.start(include=["/project/"], exclude=["/project/tests/"], collect_arcs=True)
`);
const failed = [];
for (const [module, name, isAsync] of tests) {
  // Control comes back here after each test, as the collector wants it.
  try {
    await mp.runPythonAsync(`
import gc
gc.collect()
import ${module}
${isAsync ? "await " : ""}${module}.${name}()
`);
  } catch (error) {
    failed.push([module, name, String(error.message).trim()]);
  }
}
mp.runPython(`
tracer.stop()
tracer.export_json("/seen.json")
`);
const seen = JSON.parse(mp.FS.readFile("/seen.json", { encoding: "utf8" }));
writeFileSync(answer, JSON.stringify({ seen, failed }));
process.exit(0);
