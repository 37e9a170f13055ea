// A buyer that behaves, in plain JavaScript: nothing but fetch is needed, in Node 18 and
// newer or in a browser. The rules stand in docs/client.md; the types are generated out
// of the OpenAPI document.

/** @import { components } from "./buyer-api.d.ts" */
/** @typedef {components["schemas"]["PurchaseAnswer"]} PurchaseAnswer */
/** @typedef {components["schemas"]["OrderView"]} OrderView */
/** @typedef {components["schemas"]["OrderList"]} OrderList */
/** @typedef {components["schemas"]["Problem"]} Problem */
/** @typedef {{ sku: string, quantity: number }} Line */
/**
 * @typedef {object} Request
 * @property {string} method
 * @property {string} path
 * @property {string} traceId 32 hexadecimal digits, the same at every try
 * @property {unknown} [body]
 * @property {Record<string, string>} [headers]
 * @property {number} [waitMs] that the server may take beside tryTimeoutMs
 */

/** A "no" of the server: tell them apart by code, and show detail to people. */
export class Refused extends Error {
  /** @param {number} status @param {Partial<Problem>} problem @param {number} retryAfterMs */
  constructor(status, problem, retryAfterMs) {
    super(`${status} ${problem.code ?? "without a problem document"}: ${problem.detail ?? ""}`);
    this.status = status;
    this.code = problem.code ?? "";
    this.problem = problem;
    /** How long the server asks to wait; 0: it does not ask. */
    this.retryAfterMs = retryAfterMs;
  }
}

/** Nobody could tell in time whether there is an order. It is no failure: buy again with this key. */
export class Unknown extends Error {
  /** @param {string} key @param {string} traceId @param {unknown} cause */
  constructor(key, traceId, cause) {
    super(`it is not known whether the purchase became an order; ask again with the key ${key}`, { cause });
    this.key = key;
    this.traceId = traceId;
  }
}

/** No whole answer came: what was asked for may have happened. */
class Lost extends Error {}

const nothingHappened = new Set(["rate_limited", "busy", "not_ready", "paused"]);
// The server looks for the key, and for the buyer's order, before it says any of these.
const decided = new Set(["sold_out", "limit_exceeded", "sale_ended", "not_eligible", "ticket_required", "ticket_invalid", "idempotency_mismatch"]);

/** @param {unknown} err @returns {"final" | "again" | "opening" | "unclear"} */
function judge(err) {
  if (err instanceof Lost) return "unclear";
  if (!(err instanceof Refused)) return "final";
  if (nothingHappened.has(err.code) || (err.code === "" && err.status === 429)) return "again";
  if (err.code === "too_early") return "opening";
  if (err.code === "in_progress" || err.status >= 500 || err.status === 408) return "unclear";
  return "final";
}

const random = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // Node 18 has no global

/** @param {number} bytes */
function hex(bytes) {
  return Array.from(random.getRandomValues(new Uint8Array(bytes)), (b) => b.toString(16).padStart(2, "0")).join("");
}

export class Buyer {
  /**
   * @param {string} url of the server
   * @param {() => string | Promise<string>} token gives the buyer's token, before every try
   * @param {{ tries?: number, tryTimeoutMs?: number, deadlineMs?: number, pollWaitS?: number }} [options]
   *   deadlineMs bounds a whole call, tries and tryTimeoutMs what is in it
   */
  constructor(url, token, { tries = 10, tryTimeoutMs = 5000, deadlineMs = 60_000, pollWaitS = 20 } = {}) {
    this.url = url.replace(/\/$/, "");
    this.token = token;
    this.tries = tries;
    this.tryTimeoutMs = tryTimeoutMs;
    this.deadlineMs = deadlineMs;
    this.pollWaitS = pollWaitS;
  }

  /**
   * Buys, and gives the order: look at its status, which may be queued. A refusal is Refused;
   * Unknown says that there may be an order. Store the key before you call, and the same key
   * meets the same order after a crash.
   * @param {string} sale @param {Line[]} lines @param {{ key?: string, ticket?: string }} [how]
   * @returns {Promise<PurchaseAnswer & { key: string }>}
   */
  async purchase(sale, lines, { key = hex(16), ticket = "" } = {}) {
    const deadline = Date.now() + this.deadlineMs;
    const traceId = hex(16);
    /** @type {Record<string, string>} */
    const headers = { "Idempotency-Key": key };
    if (ticket) headers["Purchase-Ticket"] = ticket;
    const asked = { method: "POST", path: `/api/v1/sales/${encodeURIComponent(sale)}/purchases`, body: { lines }, headers, traceId };
    const tried = { unclear: false };
    try {
      const answer = /** @type {PurchaseAnswer} */ (await this.#repeat(asked, deadline, tried, (a) => typeof a.order_id === "string"));
      return { ...answer, key };
    } catch (err) {
      if (!tried.unclear) throw err;
      const no = err instanceof Refused && decided.has(err.code);
      const order = await this.#ofTrace(sale, traceId, deadline, no ? 1 : 5);
      if (order) {
        return { order_id: order.order_id, status: order.status, poll_url: `/api/v1/orders/${order.order_id}`, trace_id: traceId, repeat: true, key };
      }
      if (no) throw err;
      throw new Unknown(key, traceId, err);
    }
  }

  /**
   * Waits until an own order is no longer queued: each poll waits at the server for news.
   * @param {string} id @returns {Promise<OrderView>}
   */
  async awaitOrder(id) {
    const deadline = Date.now() + this.deadlineMs;
    for (;;) {
      const begun = Date.now();
      const order = /** @type {OrderView} */ (
        await this.#repeat(
          { method: "GET", path: `/api/v1/orders/${encodeURIComponent(id)}?wait=${this.pollWaitS}s`, traceId: hex(16), waitMs: this.pollWaitS * 1000 },
          deadline,
          undefined,
          (a) => typeof a.status === "string",
        )
      );
      if (order.status !== "queued") return order;
      // A server without room for another poll answers at once.
      if (Date.now() - begun < this.pollWaitS * 1000 - 500 && !(await this.#pause(500 + Math.random() * 1000, deadline))) {
        throw new Error(`order ${id} is still queued; it is kept, ask again later`);
      }
    }
  }

  /**
   * Sends a request until it is answered for good. It is for what may be repeated.
   * @param {Request} asked @param {number} deadline @param {{ unclear: boolean }} [tried]
   * @param {(answer: any) => boolean} [whole]
   */
  async #repeat(asked, deadline, tried = { unclear: false }, whole = () => true) {
    for (let n = 1; ; ) {
      try {
        const answer = await this.#send(asked);
        if (!whole(answer)) throw new Lost("the answer is not whole");
        return answer;
      } catch (err) {
        const said = judge(err);
        tried.unclear ||= said === "unclear";
        if (said === "final" || (said !== "opening" && n >= this.tries) || !(await this.#pause(delay(err, said, n), deadline))) throw err;
        if (said !== "opening") n++;
      }
    }
  }

  /** @param {Request} asked @returns {Promise<any>} */
  async #send({ method, path, body, headers = {}, traceId, waitMs = 0 }) {
    const token = await this.token();
    const signal = AbortSignal.timeout(this.tryTimeoutMs + waitMs);
    let res, text;
    try {
      res = await fetch(this.url + path, {
        method,
        signal,
        body: body === undefined ? undefined : JSON.stringify(body),
        headers: {
          ...headers,
          Authorization: `Bearer ${token}`,
          traceparent: `00-${traceId}-${hex(8)}-01`,
          ...(body === undefined ? {} : { "Content-Type": "application/json" }),
        },
      });
      text = await res.text();
    } catch (err) {
      throw new Lost("no answer came", { cause: err });
    }
    let answer;
    try {
      answer = JSON.parse(text) ?? {};
    } catch (err) {
      if (res.ok) throw new Lost("the answer is not whole", { cause: err });
      answer = {}; // the page of a balancer
    }
    if (res.ok) return answer;
    const ours = (res.headers.get("Content-Type") ?? "").startsWith("application/problem+json");
    throw new Refused(res.status, ours ? answer : {}, answer.retry_after_ms ?? (Number(res.headers.get("Retry-After")) * 1000 || 0));
  }

  /** False at once where the deadline would cut the wait off. @param {number} ms @param {number} deadline */
  async #pause(ms, deadline) {
    if (Date.now() + ms > deadline) return false;
    await new Promise((done) => setTimeout(done, ms));
    return true;
  }

  /**
   * Looks for the order of a purchase whose every answer was lost: its trace is that of the purchase.
   * The list follows the log, so it is read some times.
   * @param {string} sale @param {string} traceId @param {number} deadline @param {number} looks
   */
  async #ofTrace(sale, traceId, deadline, looks) {
    for (let n = 1; n <= looks; n++) {
      try {
        const list = /** @type {OrderList} */ (
          await this.#repeat({ method: "GET", path: `/api/v1/orders?sale=${encodeURIComponent(sale)}`, traceId: hex(16) }, deadline)
        );
        const found = list.orders.find((order) => order.trace_id === traceId);
        if (found) return found;
      } catch {
        return undefined; // not found is no answer, and neither is this
      }
      if (n < looks && !(await this.#pause(delay(undefined, "again", n), deadline))) return undefined;
    }
    return undefined;
  }
}

/**
 * What the server asks for and up to a quarter more; else longer each time. Never less.
 * @param {unknown} err @param {string} said @param {number} n
 */
function delay(err, said, n) {
  if (err instanceof Refused && err.retryAfterMs > 0) {
    const jitter = said === "opening" ? 50 : Math.min(err.retryAfterMs / 4, 500);
    return err.retryAfterMs + Math.random() * jitter;
  }
  const most = Math.min(100 * 2 ** n, 5000);
  return most / 2 + (Math.random() * most) / 2;
}
