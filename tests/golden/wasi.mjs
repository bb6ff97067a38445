// SPDX-License-Identifier: MIT
// Runs a WASI program under node: node wasi.mjs PROGRAM ARGUMENT...
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const [, , program, ...rest] = process.argv;
const wasi = new WASI({
  version: "preview1",
  args: [program, ...rest],
  preopens: { "/": "/" },
  returnOnExit: true,
});
const module = await WebAssembly.compile(await readFile(program));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exitCode = wasi.start(instance);
