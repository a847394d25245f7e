"""A client of its own process, who asks for what is small all the time until its input ends, and prints how many
seconds each first byte took, as JSON.

    python first_bytes.py PORT PATH
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time


def main() -> None:
    port, path = int(sys.argv[1]), sys.argv[2]
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
    seconds = []
    while not select.select([sys.stdin], [], [], 0.02)[0]:
        begun = time.monotonic()
        with socket.create_connection(("127.0.0.1", port), 30) as client:
            client.sendall(head)
            first = client.recv(1 << 16)
            seconds.append(time.monotonic() - begun)
            if not first.startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"it was answered {first[:300]!r}")
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
