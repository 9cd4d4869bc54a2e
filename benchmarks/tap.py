"""A line to Redis that is listened to: how many trips are made over it, and how many bytes."""

import contextlib
import socket
import threading
from typing import NamedTuple


class Heard(NamedTuple):
    """`trips`: how often a client spoke after the server had answered."""

    trips: int = 0
    sent: int = 0
    received: int = 0


class Tap:
    """Passes on what it hears, from `port` to the server's; counts until it is closed."""

    def __init__(self, server: int) -> None:
        self._server, self._open = server, list[socket.socket]()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.heard = Heard()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server))
                for each in (client, server):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._open += [client, server]
                turn = _Turn()
                for forward in (True, False):
                    ends = (client, server) if forward else (server, client)
                    work = (*ends, turn, forward)
                    threading.Thread(target=self._pass, args=work, daemon=True).start()

    def _pass(
        self, source: socket.socket, target: socket.socket, turn: "_Turn", forward: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                with self._lock:
                    trips, sent, received = self.heard
                    if forward:
                        # What a client adds before it has its answer belongs to the same trip.
                        trips, sent = trips + (not turn.asked), sent + len(data)
                    else:
                        received += len(data)
                    turn.asked = forward
                    self.heard = Heard(trips, sent, received)
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


class _Turn:
    """Whose turn it is on one connection."""

    asked = False
