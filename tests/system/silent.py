"""A way to a server that goes dead without a word: packets pass no more, and every socket stays open."""

from __future__ import annotations

import contextlib
import socket
import threading


class Way:
    """Passes on what comes to `near` to a server at `far`, of the same port, and back."""

    def __init__(self, port: int, near: str = "127.0.0.2", far: str = "127.0.0.1") -> None:
        self.near, self.far = (near, port), (far, port)
        self.opened = 0
        self._dead: set[socket.socket] = set()
        self._all: list[socket.socket] = []
        self._is_dead = False
        self._lock = threading.Lock()
        self._listener = socket.create_server(self.near)
        self._start(self._accept)

    @property
    def address(self) -> str:
        return f"{self.near[0]}:{self.near[1]}"

    def go_dead(self) -> None:
        """What is open stays so and is silent for ever, and so is what is opened meanwhile."""
        with self._lock:
            self._is_dead = True
            self._dead.update(self._all)

    def revive(self) -> None:
        """What is opened from here on passes."""
        with self._lock:
            self._is_dead = False

    def close(self) -> None:
        self.go_dead()
        for end in [self._listener, *self._all]:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _start(self, run: object, *arguments: object) -> None:
        threading.Thread(target=run, args=arguments, daemon=True).start()  # type: ignore[arg-type]

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(self.far)
                except ConnectionRefusedError:
                    near.close()
                    continue
                with self._lock:
                    self.opened += 1
                    self._all += [near, far]
                    if self._is_dead:
                        self._dead.update((near, far))
                self._start(self._pass, near, far)
                self._start(self._pass, far, near)

    def hear(self, source: socket.socket, data: bytes) -> None:
        """What came from a side, before it is passed on."""

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        """A side that is dead is neither read nor closed: that is what a broken network looks like."""
        try:
            while data := source.recv(65536):
                if source in self._dead:
                    return
                self.hear(source, data)
                sink.sendall(data)
        except OSError:
            pass
        if source not in self._dead:
            with contextlib.suppress(OSError):
                sink.shutdown(socket.SHUT_WR)
