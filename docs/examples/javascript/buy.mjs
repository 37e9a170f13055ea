// Buys one unit and waits until the order is recorded:
//
//   SECKILL_TOKEN=… node buy.mjs URL SALE SKU [KEY]
//
// Prints one JSON object. Exit: 0 bought, 3 refused, 4 not known (run it again with the key).
import { Buyer, Refused, Unknown } from "./seckill.mjs";

const [url, sale, sku, key] = process.argv.slice(2);
const token = process.env.SECKILL_TOKEN;
if (!url || !sale || !sku || !token) {
  console.error("usage: SECKILL_TOKEN=… node buy.mjs URL SALE SKU [KEY]");
  process.exit(2);
}
const buyer = new Buyer(url, () => token, { tryTimeoutMs: Number(process.env.TRY_TIMEOUT_MS ?? 5000), tries: Number(process.env.TRIES ?? 10) });
try {
  const bought = await buyer.purchase(sale, [{ sku, quantity: 1 }], key ? { key } : {});
  const order = await buyer.awaitOrder(bought.order_id);
  console.log(JSON.stringify({ order_id: order.order_id, status: order.status, repeat: bought.repeat ?? false, key: bought.key, amount: order.amount }));
} catch (err) {
  if (err instanceof Unknown) {
    console.log(JSON.stringify({ unknown: true, key: err.key, trace_id: err.traceId }));
    process.exitCode = 4;
  } else if (err instanceof Refused) {
    console.log(JSON.stringify({ refused: err.code, detail: err.problem.detail, receipt: err.problem.receipt }));
    process.exitCode = 3;
  } else {
    throw err;
  }
}
