#!/usr/bin/env python3
"""verify_statement.py SEALS-DIR FILE...: do closing statements (docs/statement.md) hold? Without a line of seckill.
Believed are the exported seals (seals-*.jsonl) and public keys (key-*.pem) in SEALS-DIR, and nothing else."""
import json, os, subprocess, sys, tempfile

sys.dont_write_bytecode = True  # the import leaves no file behind
from verify_archive import exported_seals, need, seal_text, sha

def once(pairs):  # json.load would keep the last of two fields of one name, another reader the first
    need(len(dict(pairs)) == len(pairs), "a field stands twice")
    return dict(pairs)

def signed_text(x):
    s, at, log = x["statement"], x["issued"], x["statement"]["log"]
    lines = (("seckill-statement", s["form"]), ("store", s["store"]), ("sale", s["sale"]["id"]), ("sha256", x["sha256"]),
             ("log", log["first"], log["last"], log["hash"]), ("at", at["at"]), ("head", at["head"], at["head_hash"]),
             ("seals", at["seal_first"], at["seal_last"], at["seal_hash"], at["sealed_to"]), ("key", x["key_id"]))
    return "".join(" ".join(map(str, line)) + "\n" for line in lines).encode()

def check_statement(x, folder):
    need(set(x) == {"statement", "issued", "sha256", "key_id", "signature"}, "it has fields that nobody signed")
    canonical = json.dumps(x["statement"], sort_keys=True, separators=(",", ":")).encode()
    need(sha(canonical).hex() == x["sha256"], "it was changed: the digest is not that of its content")
    need(x["key_id"].isalnum(), "its key has no name")
    key = os.path.join(folder, f"key-{x['key_id']}.pem")
    with tempfile.NamedTemporaryFile() as text, tempfile.NamedTemporaryFile() as signature:
        text.write(signed_text(x)), text.flush(), signature.write(bytes.fromhex(x["signature"])), signature.flush()
        openssl = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", key, "-in", text.name, "-sigfile", signature.name]
        need(subprocess.run(openssl, capture_output=True).returncode == 0, f"it is not signed with the trusted key {key}")
    at = x["issued"]
    if at["seal_last"]:
        seal = exported_seals(folder, x["statement"]["store"]).get(at["seal_last"])
        need(seal and sha(seal_text(seal)).hex() == at["seal_hash"], f"seal {at['seal_last']} is not the one that was exported")
    return f"sale {x['statement']['sale']['id']}, {x['statement']['findings']['total']} findings, sealed up to position {at['sealed_to']} of {x['statement']['log']['last']}"

if __name__ == "__main__":
    exit_code = 0 if sys.argv[2:] else __doc__
    for name in sys.argv[2:]:
        try:
            print(f"{name}: holds: {check_statement(json.load(open(name, encoding='utf-8'), object_pairs_hook=once), sys.argv[1])}")
        except Exception as fault:  # what cannot be read does not hold
            print(f"{name}: DOES NOT HOLD: {type(fault).__name__}: {fault}")
            exit_code = 3
    sys.exit(exit_code)
