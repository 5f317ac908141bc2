#!/usr/bin/env python3
"""Writes data/ from the byte tables of docs/file_format.md alone, sharing no code with the library.

Run it only for a new format version; the files of every version stay. Usage: make_golden.py [DIR].
"""

import hashlib
import struct
import sys
from pathlib import Path


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def digest(*parts):
    state = hashlib.sha256()
    for part in parts:
        state.update(struct.pack("<Q", len(part)) + part)
    return state.digest()


IDENTITY = {
    "model": 'org/model "α"\n', "revision": "0a1b2c", "dtype": "bfloat16", "layout": "KV_2LTD",
    "adapter": "golden", "salt": "", "chunk_tokens": 256, "tensor_parallel_size": 4,
    "tensor_parallel_rank": 3, "pipeline_parallel_size": 2, "pipeline_parallel_rank": 1,
    "row_bytes": 4096,
}
FINGERPRINT = digest(b"kvstream-namespace",
                     *(str(v).encode() for k, v in IDENTITY.items() if isinstance(v, str)), b"1",
                     *(str(v).encode() for v in IDENTITY.values() if isinstance(v, int)))
KEY = digest(b"golden", b"1")
UUID = bytes(range(16))
SIBLING = bytes(range(16, 32))
OWNER = b"node7.rank_3"
WRITE_ID, GENERATION_NS = 0x1122334455667788, 1700000000000000001
PAYLOAD = bytes(i * 7 % 251 for i in range(9000))
BLOCK_BYTES = 4096
CRCS = b"".join(struct.pack("<I", crc32c(PAYLOAD[i:i + BLOCK_BYTES]))
                for i in range(0, len(PAYLOAD), BLOCK_BYTES))
BLOCKS = len(CRCS) // 4


def chunk_file(version):
    footer = struct.pack("<8sII32s32sQQQII64s80x", b"KVSCHUNK", version, 256, FINGERPRINT, KEY,
                         len(PAYLOAD), WRITE_ID, GENERATION_NS, BLOCK_BYTES, BLOCKS, OWNER)
    footer = (footer + CRCS).ljust(4092, b"\0")
    padded = PAYLOAD.ljust(-(-len(PAYLOAD) // 4096) * 4096, b"\0")
    return padded + footer + struct.pack("<I", crc32c(footer))


def text_file(*lines):
    body = "".join(line + "\n" for line in lines).encode()
    return body + f"crc32c {crc32c(body):08x}\n".encode()


def namespace_file(version):
    def value(v):
        if isinstance(v, int):
            return str(v)
        return '"' + v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\u000a") + '"'
    fields = {"kvstream_namespace": version, "fingerprint": FINGERPRINT.hex(), **IDENTITY}
    lines = ",\n".join(f'  "{k}": {value(v)}' for k, v in fields.items())
    return ("{\n" + lines + "\n}\n").encode()


def section(kind, count, payload):
    head = struct.pack("<III", kind, len(payload), count)
    return head + struct.pack("<I", crc32c(head + payload)) + payload


def snapshot(version):
    header = struct.pack("<8sII16s64sQI16x", b"KVSINDEX", version, 128, UUID, OWNER, 2, 1)
    entries = b"".join(
        struct.pack("<II32sQQQII", 0, owned, key, WRITE_ID + owned, GENERATION_NS, len(PAYLOAD),
                    BLOCK_BYTES, BLOCKS) + CRCS
        for owned, key in ((1, KEY), (0, digest(b"golden", b"2"))))
    return (header + struct.pack("<I", crc32c(header)) + section(1, 1, FINGERPRINT)
            + section(2, 2, entries))


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "data"
    uuid = f"uuid {UUID.hex()}"
    for version, name in ((1, "v1"), (2, "newer")):
        target = folder / name
        target.mkdir(parents=True, exist_ok=True)
        (target / "chunk.kv").write_bytes(chunk_file(version))
        (target / "tier").write_bytes(text_file(f"kvstream-tier {version}", uuid))
        (target / "siblings").write_bytes(
            text_file(f"kvstream-siblings {version}", f"sibling {SIBLING.hex()} lustre 2"))
        (target / "namespace.json").write_bytes(namespace_file(version))
        (target / "snapshot").write_bytes(snapshot(version))


if __name__ == "__main__":
    main()
