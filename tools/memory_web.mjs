// What objects and imports take of the heap of MicroPython for WebAssembly, whose words have 32
// bits, as an ESP32's.
//
//     node memory_web.mjs FOLDER WISHES ANSWER
//
// FOLDER is where npm installed the package; WISHES is a file of JSON: {"files": {path: text},
// "compiled": {path: base64 of an .mpy file}, "image": base64 of a ROMFS of these files,
// "imports": [statement], "setup": Python,
// "objects": [[name, count, start, end]]}; start and end are Python, with await or without, and
// count what the bytes between them are divided by. Into the file ANSWER goes JSON: {"begun":
// bytes in use before an import, "imports": {statement: bytes}, "compiled": the same of .mpy files,
// "romfs": the same of the image,
// "objects": {name: bytes}, "operations": what the setup's `operations` holds in the end}.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, wishes, answer] = process.argv.slice(2);
const place = join(folder, "node_modules/@micropython/micropython-webassembly-pyscript");
const { loadMicroPython } = await import(pathToFileURL(join(place, "micropython.mjs")));
const { files, compiled, image, imports, setup, objects } = JSON.parse(readFileSync(wishes, "utf8"));

const MOUNT = `
import vfs
with open("/project/packages.romfs", "rb") as file:
    image = file.read()
vfs.mount(vfs.VfsRom(image), "/rom")
sys.path[:0] = ["/rom"]
`;
const texts = Object.entries(files);
const binaries = Object.entries(compiled).map(([path, s]) => [path, Buffer.from(s, "base64")]);

async function fresh(contents, mount = "") {
  const mp = await loadMicroPython({ heapsize: 16 << 20, stdout: () => {} });
  for (const [path, content] of contents) {
    const parts = ("/project/" + path).split("/");
    for (let n = 2; n < parts.length; n++) {
      try {
        mp.FS.mkdir(parts.slice(0, n).join("/"));
      } catch {
        // It is there.
      }
    }
    mp.FS.writeFile(parts.join("/"), content);
  }
  mp.runPython(`
import sys
sys.path[:0] = ["/project"]
import gc, asyncio
allocated = 0
`);
  if (contents.length) mp.runPython("import _thread");
  mp.runPython(mount);
  return mp;
}

function inUse(mp) {
  // Only when control is back here is the heap collected.
  mp.runPython("gc.collect()");
  mp.runPython("allocated = gc.mem_alloc()");
  return mp.globals.get("allocated");
}

async function importsOf(contents, mount) {
  const found = {};
  for (const statement of imports) {
    const mp = await fresh(contents, mount);
    const before = inUse(mp);
    mp.runPython(statement);
    found[statement] = inUse(mp) - before;
  }
  return found;
}

async function measure() {
  const stub = texts.filter(([path]) => path === "_thread.py");
  const told = { begun: inUse(await fresh([])), objects: {} };
  told.imports = await importsOf(texts);
  told.compiled = await importsOf([...stub, ...binaries]);
  const rom = ["packages.romfs", Buffer.from(image, "base64")];
  told.romfs = await importsOf([...stub, rom], MOUNT);
  const mp = await fresh(texts);
  mp.runPython(setup);
  for (const [name, count, start, end] of objects) {
    const before = inUse(mp);
    await mp.runPythonAsync(start);
    told.objects[name] = (inUse(mp) - before) / count;
    await mp.runPythonAsync(end);
  }
  mp.runPython("import json\noperations = json.dumps(operations)");
  told.operations = JSON.parse(mp.globals.get("operations"));
  writeFileSync(answer, JSON.stringify(told));
}

try {
  await measure();
  process.exit(0);
} catch (error) {
  console.error(String(error.message).trim());
  process.exit(1);
}
