const LIMIT = 15_000; // milliseconds for one answer

// Superseded is why an older question gets no answer.
export class Superseded extends Error {}

// A Program asks the WebAssembly program, which runs in a worker. Only the newest question
// gets an answer.
export class Program {
  #module;
  #worker;
  #running; // the question that the worker has
  #waiting; // the newest one after it

  // say is told what is going on until the first answer.
  constructor(url, say) {
    say('Loading the program…');
    this.#module = fetch(url).then((response) => {
      if (!response.ok) {
        throw new Error(`${url}: ${response.status} ${response.statusText}`);
      }
      return WebAssembly.compileStreaming(response);
    });
    this.#module.then(() => say('Starting the program…'), () => {});
    this.#start();
  }

  // ask returns the answer. It rejects with Superseded when a newer question comes first.
  ask(request) {
    return new Promise((resolve, reject) => {
      this.#waiting?.reject(new Superseded());
      this.#waiting = {request, resolve, reject};
      this.#next();
    });
  }

  #start() {
    const worker = new Worker('worker.js');
    this.#worker = undefined;
    const failed = (message) => {
      this.#finish((q) => q.reject(new Error(message)));
      worker.terminate();
      this.#start();
    };
    worker.onmessage = ({data}) => {
      if (data.ready) {
        this.#worker = worker;
        this.#next();
      } else if (data.stopped) {
        failed(`The program has stopped: ${data.stopped}`);
      } else {
        this.#finish((q) => (this.#waiting ? q.reject(new Superseded()) : data.error ? q.reject(new Error(data.error)) : q.resolve(JSON.parse(data.answer))));
        this.#next();
      }
    };
    worker.onerror = (event) => failed(`The program has failed: ${event.message}`);
    this.fail = failed;
    this.#module.then((module) => worker.postMessage({module}), (error) => this.#waiting?.reject(error));
  }

  #next() {
    if (!this.#worker || this.#running || !this.#waiting) {
      return;
    }
    this.#running = this.#waiting;
    this.#waiting = undefined;
    this.#running.timer = setTimeout(() => this.fail(`No result after ${LIMIT / 1000} seconds: the work was stopped. Change the text to try again.`), LIMIT);
    this.#worker.postMessage({request: JSON.stringify(this.#running.request)});
  }

  #finish(how) {
    const question = this.#running;
    this.#running = undefined;
    if (question) {
      clearTimeout(question.timer);
      how(question);
    }
  }
}
