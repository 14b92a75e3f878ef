#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads an embedding service: clients that send sequences of random lengths one after the other.

Prints requests per second, percentiles of the time, and the answers by status. A request that was sent and never
answered is lost; with --end-after the service gets SIGTERM under load, and must lose none.
"""

import argparse
import collections
import http.client
import json
import os
import random
import signal
import threading
import time


class Client(threading.Thread):
    def __init__(self, arguments: argparse.Namespace, number: int, end: float):
        super().__init__()
        self.arguments, self.end = arguments, end
        self.random = random.Random(number)
        self.seconds: list[float] = []
        self.answers: collections.Counter[int] = collections.Counter()
        self.lost = 0

    def body(self) -> str:
        low, high = self.arguments.lengths
        ids = [self.random.randint(1, self.arguments.ids) for _ in range(self.random.randint(low, high))]
        return json.dumps({"input_ids": [ids]})

    def request(self, connection: http.client.HTTPConnection) -> bool:
        """False if the service is gone."""
        try:
            connection.connect() if connection.sock is None else None
        except OSError:
            return False
        start = time.monotonic()
        try:
            connection.request("POST", "/embed", self.body(), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self.lost += 1
            return False
        self.seconds.append(time.monotonic() - start)
        self.answers[answer.status] += 1
        return answer.status != 503 or self.arguments.end_after is None

    def run(self) -> None:
        connection = http.client.HTTPConnection(self.arguments.host, self.arguments.port, timeout=60)
        while time.monotonic() < self.end and self.request(connection):
            pass
        connection.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--lengths", type=int, nargs=2, default=(8, 128), metavar=("LOW", "HIGH"))
    parser.add_argument("--ids", type=int, default=1000, help="the largest token id")
    parser.add_argument("--end-after", type=float, help="send SIGTERM to --pid after so many seconds")
    parser.add_argument("--pid", type=int)
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    start = time.monotonic()
    clients = [Client(arguments, i, start + arguments.seconds) for i in range(arguments.clients)]
    for client in clients:
        client.start()
    if arguments.end_after is not None:
        time.sleep(arguments.end_after)
        os.kill(arguments.pid, signal.SIGTERM)
    for client in clients:
        client.join()
    seconds = sorted(second for client in clients for second in client.seconds)
    answers = sum((client.answers for client in clients), collections.Counter())
    lost = sum(client.lost for client in clients)
    if seconds:
        points = [f"p{p} {1000 * seconds[min(len(seconds) - 1, len(seconds) * p // 100)]:.1f} ms" for p in (50, 90, 99)]
        print(f"{len(seconds) / (time.monotonic() - start):.0f} requests/s, {', '.join(points)}")
    print(f"answers {dict(answers)}, lost {lost}")
    return 1 if lost or not answers[200] else 0


if __name__ == "__main__":
    raise SystemExit(main())
