#!/usr/bin/env python3
"""verify_archive.py SEALS-DIR FILE...: do archives of the log (docs/archive.md) hold? Without a line of seckill.
Believed are the exported seals (seals-*.jsonl) and public keys (key-*.pem) in SEALS-DIR, and nothing else."""
import base64, gzip, hashlib, json, os, subprocess, sys, tempfile, uuid
from datetime import datetime, timedelta

def sha(data):
    return hashlib.sha256(data).digest()

def need(ok, what):
    if not ok:
        raise ValueError(what)

def record_hash(previous, r):  # docs/log-hash.md
    at = (datetime.strptime(r["recorded_at"], "%Y-%m-%dT%H:%M:%S.%fZ") - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    position, version, schema, at = (n.to_bytes(8, "big", signed=True) for n in (r["position"], r["version"], r["schema"], at))
    payload, metadata = (base64.b64decode(r[name], validate=True) for name in ("payload", "metadata"))
    parts = previous, position, uuid.UUID(r["event_id"]).bytes, r["stream"].encode(), version, r["type"].encode(), schema, at, payload, metadata
    return sha(b"".join(len(part).to_bytes(8, "big") + part for part in parts))

def merkle_root(hashes):  # RFC 6962, section 2.1
    if len(hashes) == 1:
        return sha(b"\0" + hashes[0])
    left = 1 << (len(hashes) - 1).bit_length() - 1
    return sha(b"\1" + merkle_root(hashes[:left]) + merkle_root(hashes[left:]))

def seal_text(s):  # docs/seals.md
    names = "store number first last count root head previous sealed_at key".split()
    return ("seckill-seal 1\n" + "".join(f"{name} {s[name]}\n" for name in names)).encode()

def exported_seals(folder, store):
    seals, file = {}, open(os.path.join(folder, f"seals-{uuid.UUID(store)}.jsonl"), encoding="utf-8")
    for s in (json.loads(line) for line in file if line.endswith("\n")):  # a crash may leave half a line at the end
        if "accepted_loss" in s:  # the seals after that one count no more
            seals = {number: kept for number, kept in seals.items() if number <= s["accepted_loss"]["after_seal"]}
        else:
            seals[s["number"]] = s
    return seals

def check_seal(s, exported, folder):
    name, before = f"seal {s['number']} over positions {s['first']} to {s['last']}", exported.get(s["number"] - 1)
    need(s == exported.get(s["number"]), f"{name} is not the one that was exported")
    due = (before["last"] + 1, sha(seal_text(before)).hex()) if before else (1, "00" * 32)
    need((s["first"], s["previous"]) == due and s["count"] == s["last"] - s["first"] + 1 > 0, f"{name} does not follow the seal before")
    key = os.path.join(folder, f"key-{s['key']}.pem")
    with tempfile.NamedTemporaryFile() as text, tempfile.NamedTemporaryFile() as signature:
        text.write(seal_text(s)), text.flush(), signature.write(bytes.fromhex(s["signature"])), signature.flush()
        openssl = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", key, "-in", text.name, "-sigfile", signature.name]
        need(subprocess.run(openssl, capture_output=True).returncode == 0, f"{name} is not signed with the trusted key {key}")

def lines_of(file, digest):
    while True:
        raw = file.readline()
        need(raw.endswith(b"\n"), "it is cut off")
        digest.update(raw)
        yield json.loads(raw)

def check_archive(file, folder):
    digest, hashes, seals, sealed = hashlib.sha256(), [], 0, 0
    lines = lines_of(file, digest)
    head = next(lines)
    need(head["archive"] == 1 and 0 < head["first"] <= head["last"], "its first line is not that of an archive")
    previous, exported = bytes.fromhex(head["previous"]), exported_seals(folder, head["store"])
    for position in range(head["first"], head["last"] + 1):
        record = next(lines)
        need(record.get("position") == position, f"position {position} is missing")
        previous = record_hash(previous, record)
        need(record["hash"] == previous.hex(), f"position {position} was changed: the hash is not that of its content and the hash before")
        hashes.append(previous)
    while sealed < len(hashes):
        s = next(lines).get("seal") or need(False, f"positions {head['first'] + sealed} to {head['last']} are under no seal")
        check_seal(s, exported, folder)
        covered = hashes[sealed:sealed + s["count"]]
        need((s["store"], s["first"], s["count"]) == (head["store"], head["first"] + sealed, len(covered)), f"seal {s['number']} is out of place")
        need((s["root"], s["head"]) == (merkle_root(covered).hex(), covered[-1].hex()), f"seal {s['number']} does not fit the records")
        seals, sealed = seals + 1, sealed + s["count"]
    end = {"records": sealed, "seals": seals, "head": previous.hex()}
    need(next(lines) == {"end": end} and not file.read(1), "its last line is wrong, or not the last")
    return f"positions {head['first']} to {head['last']}, {seals} seals, digest {digest.hexdigest()}"

if __name__ == "__main__":
    exit_code = 0 if sys.argv[2:] else __doc__
    for name in sys.argv[2:]:
        file = (gzip.open if name.endswith(".gz") else open)(name, "rb")
        try:
            print(f"{name}: holds: {check_archive(file, sys.argv[1])}")
        except Exception as fault:  # what cannot be read does not hold
            print(f"{name}: DOES NOT HOLD, read up to byte {file.tell()}: {type(fault).__name__}: {fault}")
            exit_code = 3
    sys.exit(exit_code)
