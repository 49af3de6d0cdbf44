"""A program that asks a server many questions until it is killed: ``ask_until_killed.py FOLDER URL COUNT``."""

from __future__ import annotations

import sys

from chat_requests import client, questions
from townsquare.models.store import SqliteCalls

if __name__ == "__main__":
    folder, url, count = sys.argv[1:]
    store = SqliteCalls(folder)
    # A line once a call is recorded, and not before: what was said must be there after a kill.
    with client(
        "server/m", store, url, on_call=lambda call: sys.stdout.write(call.identity + "\n"), concurrency=32
    ) as opened:
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
        opened.ask(questions(int(count)))
    store.close()
    sys.stdout.write("done\n")
