#!/usr/bin/env python3
"""verify_proof.py SEALS-DIR FILE...: do proofs of orders (docs/seals.md) hold? Without a line of seckill.
Believed are the exported seals (seals-*.jsonl) and public keys (key-*.pem) in SEALS-DIR, and nothing else."""
import json, sys

sys.dont_write_bytecode = True  # the import leaves no file behind
from verify_archive import check_seal, exported_seals, need, record_hash, sha

def root_by_path(leaf, at, count, path):  # docs/seals.md, "The proof of an order"
    node, end = sha(b"\0" + leaf), count - 1
    need(0 <= at <= end, "it is not under its seal")
    for other in path:
        need(end > 0, "its path is too long")
        if at % 2 or at == end:
            node = sha(b"\1" + other + node)
            while at and at % 2 == 0:
                at, end = at // 2, end // 2
        else:
            node = sha(b"\1" + node + other)
        at, end = at // 2, end // 2
    need(end == 0, "its path is too short")
    return node.hex()

def check_event(event, order, seals):
    own, s = record_hash(bytes.fromhex(event["previous"]), event), seals[event["seal"]]
    need(event["stream"] == "order-" + order, "it is of another order")
    need(event["hash"] == own.hex(), "it was changed: the hash is not that of its content and the hash before")
    path = [bytes.fromhex(other) for other in event["path"]]
    need(root_by_path(own, event["position"] - s["first"], s["count"], path) == s["root"], "its path does not lead to its seal")

def check_proof(proof, folder):
    need(proof["events"], "it has no event")
    seals = {s["number"]: s for s in proof["seals"]}
    for s in proof["seals"]:
        check_seal(s, exported_seals(folder, s["store"]), folder)
    for event in proof["events"]:
        try:
            check_event(event, proof["order_id"], seals)
        except Exception as fault:
            raise ValueError(f"event at position {event['position']}: {fault}")
    return f"{len(proof['events'])} events of order {proof['order_id']}"

if __name__ == "__main__":
    exit_code = 0 if sys.argv[2:] else __doc__
    for name in sys.argv[2:]:
        try:
            print(f"{name}: holds: {check_proof(json.load(open(name, encoding='utf-8')), sys.argv[1])}")
        except Exception as fault:  # what cannot be read does not hold
            print(f"{name}: DOES NOT HOLD: {type(fault).__name__}: {fault}")
            exit_code = 3
    sys.exit(exit_code)
