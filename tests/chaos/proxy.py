"""Something between a client and its Redis that behaves well, or as it is told to."""

import asyncio
import contextlib
import threading
from typing import Literal, TypeAlias

Mode: TypeAlias = Literal["pass", "delay", "blackhole", "drop_reply", "reset", "drip"]


class Proxy:
    """Listens on a port of its own, and leads to `port`; `mode` may be set at any time.

    `delay` (in seconds) holds each reply back, or with `drip` each of its bytes. A `blackhole`
    takes everything and gives nothing, `drop_reply` loses answers only, and `reset` breaks every
    connection at its next word.
    """

    def __init__(self, port: int) -> None:
        self.mode: Mode = "pass"
        self.delay = 0.0
        #: How many connections have come so far.
        self.accepted = 0
        self._target = port
        self._loop = asyncio.new_event_loop()
        server = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = self._loop.run_until_complete(server)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Hangs up on everybody."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            there = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        back = asyncio.create_task(self._pump(there[0], writer, replies=True))
        try:
            # Cancelled is only who is closed, and whoever waits for that need not hear of it.
            with contextlib.suppress(asyncio.CancelledError):
                await self._pump(reader, there[1], replies=False)
        finally:
            back.cancel()
            for each in (writer, there[1]):
                each.transport.abort() if self.mode == "reset" else each.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, replies: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                mode = self.mode
                if mode == "reset":
                    break
                if mode == "blackhole" or (mode == "drop_reply" and replies):
                    continue
                if mode == "delay" and replies:
                    await asyncio.sleep(self.delay)
                pieces = [data]
                if mode == "drip" and replies:
                    pieces = [data[at : at + 1] for at in range(len(data))]
                for piece in pieces:
                    writer.write(piece)
                    if len(pieces) > 1:
                        await asyncio.sleep(self.delay)
        writer.close()
