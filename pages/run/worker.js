// Python in a worker: it is loaded once, runs one cell at a time, and sends each output as it comes.
import { loadPyodide } from "./pyodide/pyodide.mjs";

export async function shell(send, packages) {
  const python = await loadPyodide();
  python.unpackArchive(await packages, "zip", { extractDir: "/course" });
  python.globals.set("send_json", text => send(JSON.parse(text)));
  python.runPython(`
    import json, sys
    sys.path.insert(0, "/course")
    from executor import Shell
    shell = Shell(lambda output: send_json(json.dumps(output)))`);
  return python;
}

async function fetched(name) {
  const reply = await fetch(new URL(name, import.meta.url));
  if (!reply.ok) throw new Error(`${name}: ${reply.status}`);
  return reply.arrayBuffer();
}

let run;
globalThis.onmessage = async ({ data }) => {
  const send = output => postMessage({ output });
  let ok = false;
  try {
    run ??= shell(send, fetched("packages.zip")).then(python => python.runPython("shell.run"));
    const ready = await run;
    postMessage({ ready: true });
    ok = ready(data.text, data.number);
  } catch (error) {
    send({ output_type: "error", traceback: [String(error).slice(-2000)] });
  }
  postMessage({ ok });
};
