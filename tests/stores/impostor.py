"""Something on the port that is no Redis of ours."""

import socket
import threading

#: What something else may say on that port.
NO_ANSWERS = {
    "a word": b"+OK\r\n",
    "a number": b":1\r\n",
    "nothing": b"$-1\r\n",
    "an empty list": b"*0\r\n",
    "a list that is too long": b"*8\r\n" + b":1\r\n" * 8,
    "a list without a clock": b"*4\r\n" + b":1\r\n" * 4,
    "a list with a clock that never was": b"*5\r\n" + b":1\r\n" * 4 + b":-1\r\n",
    "a list of nothing": b"*5\r\n" + b"$-1\r\n" * 5,
    "a list of words": b"*5\r\n" + b"$1\r\n1\r\n" * 5,
    "an error": b"-ERR no such thing\r\n",
    "a web page": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "noise": b"\x00\xff\x13\r\n",
    "an end": b"",
}


class Impostor:
    """Says the same to everything, and hangs up where that is nothing."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection:
            try:
                while connection.recv(65536) and self._answer:
                    connection.sendall(self._answer)
            except OSError:
                return

    def close(self) -> None:
        # Closing alone does not wake who waits in accept.
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
