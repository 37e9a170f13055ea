// ServerClock tells the server's time in milliseconds since 1970. It stands on
// performance.now(), which a wrong or changed clock of this device does not move.
// It never runs backwards, and small corrections are slewed in: nobody sees a
// countdown jump.

const SLEW = 0.25; // milliseconds of correction per millisecond
const LEAP = 2000; // further behind than this, as after a sleep, it goes ahead at once

export class ServerClock {
  #offset = null; // server time minus performance.now()
  #target = 0;
  #last = 0;
  #shown = 0;
  #perf;

  constructor(perf = () => performance.now()) {
    this.#perf = perf;
  }

  get known() {
    return this.#offset !== null;
  }

  // sync takes in that the server read its clock as server, some time between
  // sent and got: in the middle, for all we know.
  sync(server, sent, got) {
    const offset = server + (got - sent) / 2 - got;
    if (!Number.isFinite(offset)) return;
    if (this.#offset === null) {
      this.#offset = offset;
      this.#last = this.#perf();
    }
    this.#target = offset;
  }

  // skip takes in that this device slept for so long, in which performance.now()
  // may have stood still.
  skip(ms) {
    this.#target += ms;
  }

  // now is the server's time; NaN while it is not known.
  now() {
    if (this.#offset === null) return NaN;
    const perf = this.#perf();
    const most = (perf - this.#last) * SLEW;
    const missing = this.#target - this.#offset;
    this.#offset += missing > LEAP ? missing : Math.max(-most, Math.min(most, missing));
    this.#last = perf;
    this.#shown = Math.max(this.#shown, perf + this.#offset);
    return this.#shown;
  }
}
