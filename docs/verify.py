#!/usr/bin/env python3
"""Checks what seckill says of itself, without a line of it: docs/seals.md and docs/archive.md.

    verify.py archive SEALS-DIR FILE...    archives against the exported seals
    verify.py proof SEALS-DIR FILE...      proofs of orders
Keys are the key-*.pem of SEALS-DIR. Signatures are checked by the program openssl (3.0 or newer).
"""
import base64, datetime, glob, gzip, hashlib, json, os, struct, subprocess, sys, tempfile, uuid

sha = lambda b: hashlib.sha256(b).digest()
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
FIELDS = "store number first last count root head previous sealed_at key".split()


def need(ok, what):
    if not ok:
        raise ValueError(what)


def record_hash(previous, r):
    at = datetime.datetime.strptime(r["recorded_at"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)
    number = lambda n: struct.pack(">q", n)
    parts = [previous, number(r["position"]), uuid.UUID(r["event_id"]).bytes, r["stream"].encode(), number(r["version"]),
             r["type"].encode(), number(r["schema"]), number((at - EPOCH) // datetime.timedelta(microseconds=1)),
             base64.b64decode(r["payload"], validate=True), base64.b64decode(r["metadata"], validate=True)]
    return sha(b"".join(struct.pack(">Q", len(p)) + p for p in parts))


def root(hashes):
    if len(hashes) == 1:
        return sha(b"\0" + hashes[0])
    k = 1 << (len(hashes) - 1).bit_length() - 1
    return sha(b"\1" + root(hashes[:k]) + root(hashes[k:]))


def seal_text(s):
    return "".join(f"{name} {s.get(name, 1)}\n" for name in ["seckill-seal"] + FIELDS).encode()


def check_signature(s, folder):
    key = os.path.join(folder, f"key-{s['key']}.pem")
    need(os.path.exists(key), f"seal {s['number']}: its key {s['key']} is not among the trusted ones")
    with tempfile.NamedTemporaryFile() as text, tempfile.NamedTemporaryFile() as signature:
        text.write(seal_text(s)), text.flush(), signature.write(bytes.fromhex(s["signature"])), signature.flush()
        done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", text.name, "-sigfile", signature.name], capture_output=True)
    need(done.returncode == 0, f"seal {s['number']}: its signature is not that of its key")


def exported(folder):
    seals = {}
    for name in glob.glob(os.path.join(folder, "seals-*.jsonl")):
        for line in open(name, encoding="utf-8"):
            s = json.loads(line)
            if "accepted_loss" in s:  # what was sealed after it counts no more
                seals = {k: v for k, v in seals.items() if k[1] <= s["accepted_loss"]["after_seal"] or k[0] not in name}
            else:
                seals[s["store"], s["number"]] = s
    return seals


def check_seal(s, folder, known):
    check_signature(s, folder)
    need(s["count"] == s["last"] - s["first"] + 1, f"seal {s['number']}: its count is wrong")
    need(known.get((s["store"], s["number"])) == s, f"seal {s['number']}: is not the one that was exported")


def check_archive(name, folder, known):
    raw = (gzip.open if name.endswith(".gz") else open)(name, "rb").read()
    need(raw.endswith(b"\n"), "it is cut off")
    lines = [json.loads(line) for line in raw.splitlines()]
    head, end, at = lines[0], lines[-1].get("end"), lines[0]["first"]
    need(head["archive"] == 1 and end, "its first or last line is missing")
    previous, hashes, seals, before = bytes.fromhex(head["previous"]), [], 0, None
    for line in lines[1:-1]:
        if "seal" not in line:
            need(line["position"] == at and not seals, f"position {at} is missing")
            previous = record_hash(previous, line)
            need(line["hash"] == previous.hex(), f"position {at}: the hash does not follow")
            hashes.append(previous)
            at += 1
            continue
        s, seals = line["seal"], seals + 1
        check_seal(s, folder, known)
        covered = hashes[s["first"] - head["first"]:s["last"] - head["first"] + 1]
        need(s["store"] == head["store"] and s["first"] == (before["last"] + 1 if before else head["first"]), f"seal {s['number']}: out of place")
        need(len(covered) == s["count"] and root(covered).hex() == s["root"] and covered[-1].hex() == s["head"], f"seal {s['number']}: does not fit the records")
        need(before is None or (s["number"] == before["number"] + 1 and s["previous"] == sha(seal_text(before)).hex()), f"seal {s['number']}: does not follow")
        before = s
    need(end == {"records": len(hashes), "seals": seals, "head": previous.hex()} and at == head["last"] + 1 and before and before["last"] == head["last"], "its end is wrong")
    return f"positions {head['first']} to {head['last']}, {seals} seals, digest {sha(raw).hex()}"


def check_proof(name, folder, known):
    proof = json.load(open(name, encoding="utf-8"))
    seals = {s["number"]: s for s in proof["seals"]}
    for s in seals.values():
        check_seal(s, folder, known)
    need(proof["events"], "it has no event")
    for e in proof["events"]:
        s, hash = seals[e["seal"]], record_hash(bytes.fromhex(e["previous"]), e)
        need(e["stream"] == "order-" + proof["order_id"] and hash.hex() == e["hash"], f"position {e['position']}: the hash does not follow")
        node, at, last = sha(b"\0" + hash), e["position"] - s["first"], s["count"] - 1
        need(0 <= at <= last, f"position {e['position']}: not under its seal")
        for other in map(bytes.fromhex, e["path"]):
            need(last > 0, f"position {e['position']}: its path is too long")
            if at % 2 or at == last:
                node = sha(b"\1" + other + node)
                while at % 2 == 0 and at:
                    at, last = at // 2, last // 2
            else:
                node = sha(b"\1" + node + other)
            at, last = at // 2, last // 2
        need(last == 0 and node.hex() == s["root"], f"position {e['position']}: its path does not lead to its seal")
    return f"{len(proof['events'])} events of order {proof['order_id']}"


def main(args):
    check = {"archive": check_archive, "proof": check_proof}.get(args[1] if len(args) > 3 else "")
    if check is None:
        sys.exit(__doc__)
    bad, known = 0, exported(args[2])
    for name in args[3:]:
        try:
            print(f"{name}: holds: {check(name, args[2], known)}")
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OSError, EOFError) as e:
            print(f"{name}: DOES NOT HOLD: {e!r}")
            bad = 3
    sys.exit(bad)


if __name__ == "__main__":
    main(sys.argv)
