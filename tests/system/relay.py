"""A relay on loopback that can be cut: what was under way stalls, and nobody gets through, until it is healed."""

from __future__ import annotations

import selectors
import socket
import threading
from types import TracebackType


class Relay:
    """Passes connections on to a port of this machine, each with a thread of its own."""

    def __init__(self, to: int) -> None:
        self.to = to
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.open = threading.Event()
        self.open.set()
        self.ended = False
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """From now on no byte passes."""
        self.open.clear()

    def heal(self) -> None:
        """What waited goes on."""
        self.open.set()

    def close(self) -> None:
        """Ends it, with all that passes."""
        self.ended = True
        self.open.set()
        self.listener.close()

    def __enter__(self) -> Relay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        while not self.ended:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        self.open.wait()
        try:
            server = socket.create_connection(("127.0.0.1", self.to), timeout=10)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        with client, server, selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ, server)
            selector.register(server, selectors.EVENT_READ, client)
            while not self.ended:
                for key, _ in selector.select(timeout=1):
                    self.open.wait()
                    assert isinstance(key.fileobj, socket.socket)
                    try:
                        data = key.fileobj.recv(1 << 16)
                        key.data.sendall(data)
                    except OSError:
                        return
                    if not data:
                        return
