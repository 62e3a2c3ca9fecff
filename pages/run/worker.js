// Python in a worker: it runs one cell at a time, and sends each output as it comes.
import { loadPyodide } from "pyodide";
import { info } from "pyodide/pyodide-lock.json";
import createPyodideModule from "pyodide/pyodide.asm.mjs";

export async function shell(send, packages) {
  const python = await loadPyodide({
    createPyodideModule,
    indexURL: globalThis.origin,  // Node.js has none, and reads what is beside this file
    lockFileContents: { info, packages: {} },  // nothing can be fetched by a name
  });
  python.unpackArchive(await packages, "zip", { extractDir: "/course" });
  python.globals.set("send_json", text => send(JSON.parse(text)));
  python.runPython(`
    import json, sys
    sys.path.insert(0, "/course")
    from executor import Shell
    shell = Shell(lambda output: send_json(json.dumps(output)))`);
  return python;
}

// The page has fetched all files, so that a new worker needs no network.
async function start(send, files) {
  const headers = { "Content-Type": "application/wasm" };  // which a server may not know
  globalThis.fetch = async address => {
    const file = files[new URL(address).pathname.slice(1)];
    return file ? new Response(file, { headers }) : Response.error();
  };
  const { instantiateStreaming } = WebAssembly;
  const unknown = new Promise((_, reject) => {  // to an old browser; Pyodide would wait for ever
    WebAssembly.instantiateStreaming = (...all) => instantiateStreaming(...all).catch(reject);
  });
  const python = await Promise.race([shell(send, files["packages.zip"].arrayBuffer()), unknown]);
  return python.runPython("shell.run");
}

let run;
globalThis.onmessage = async ({ data }) => {
  try {
    run ??= start(output => postMessage({ output }), data.files);
    const ready = await run;
    postMessage({ ready: true });
    postMessage({ ok: ready(data.text, data.number) });
  } catch (error) {  // not the cell's: Python itself can no longer be relied on
    postMessage({ broken: String(error).slice(-2000) });
  }
};
