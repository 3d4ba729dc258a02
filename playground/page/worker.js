// The worker runs the program: a long answer never blocks the page.
importScripts('wasm_exec.js');

let respond;

// The program calls ready when it has started.
self.ready = (f) => {
  respond = f;
  postMessage({ready: true});
};

onmessage = async ({data}) => {
  if (data.module) {
    const go = new Go();
    go.env = {GOGC: '400', GOMEMLIMIT: '1GiB'}; // Collecting garbage stops all else here.
    const instance = await WebAssembly.instantiate(data.module, go.importObject);
    go.run(instance).then(() => postMessage({stopped: 'see the console of the browser'}));
    return;
  }
  try {
    const answer = respond(data.request);
    postMessage(answer instanceof Error ? {error: answer.message} : {answer});
  } catch (error) {
    postMessage({stopped: error.message});
  }
};
