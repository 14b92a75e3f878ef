# SPDX-License-Identifier: Apache-2.0
"""The embedding service: results, refusals, metrics, and a shutdown under load that loses no request.

usage: service_test.py PROGRAM LOAD_SCRIPT MODEL
"""

import http.client
import json
import re
import signal
import subprocess
import sys
import threading
import unittest

PROGRAM = LOAD = MODEL = ""


class Service:
    """The running program, on a free port."""

    def __init__(self, *options: str):
        command = [PROGRAM, MODEL, "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(re.fullmatch(r"listening on 127.0.0.1:(\d+)\n", line)[1])

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        connection.request(method, path, text)
        answer = connection.getresponse()
        result = answer.status, answer.read().decode()
        connection.close()
        return result

    def embed(self, *sequences: list[int]) -> tuple[int, dict]:
        status, text = self.ask("POST", "/embed", {"input_ids": sequences})
        return status, json.loads(text)

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=60)
        self.process.stdout.close()
        return status


class ServiceTest(unittest.TestCase):
    def test_results_do_not_depend_on_the_company(self) -> None:
        service = Service()
        texts = [[1 + (i * j) % 40 for j in range(1, 3 + i % 4)] for i in range(12)]
        alone = [service.embed(text)[1]["embeddings"][0] for text in texts]
        status, together = service.embed(*texts)
        self.assertEqual((status, together["embeddings"]), (200, alone))
        self.assertAlmostEqual(sum(x * x for x in alone[0]), 1, places=4)
        metrics = service.ask("GET", "/metrics")[1]
        self.assertIn('embedding_responses_total{code="200"} 13\n', metrics)
        self.assertIn("embedding_sequences_total 24\n", metrics)
        self.assertIn("embedding_request_seconds_count 13\n", metrics)
        self.assertEqual(service.ask("GET", "/health")[0], 200)
        self.assertEqual(service.end(), 0)

    def test_raw_tensors(self) -> None:
        service = Service()
        ids = {"shape": [1, 2], "data": [3, 4]}
        ones = {"shape": [1, 2], "data": [1, 1]}
        inputs = {"input_ids": ids, "attention_mask": ones, "token_type_ids": {"shape": [1, 2], "data": [0, 0]}}
        status, text = service.ask("POST", "/run", {"inputs": inputs})
        self.assertEqual(status, 200, text)
        output = json.loads(text)["outputs"]["last_hidden_state"]
        self.assertEqual((output["type"], output["shape"], len(output["data"])), ("float", [1, 2, 32], 64))
        self.assertEqual(service.end(), 0)

    def test_what_is_wrong_is_told(self) -> None:
        service = Service()
        good = service.embed([1, 2])[1]
        for body in ("", "{", "[]", '{"input_ids": 3}', '{"input_ids": [[]]}', '{"input_ids": [["a"]]}'):
            status, text = service.ask("POST", "/embed", body)
            self.assertEqual(status, 400, body)
            self.assertIn("error", json.loads(text))
        # One bad sequence spoils its own request alone, though it is computed with others.
        answers: list[tuple[int, dict]] = []
        bad = threading.Thread(target=lambda: answers.append(service.embed([1, 10**9])))
        bad.start()
        self.assertEqual(service.embed([1, 2])[1], good)
        bad.join()
        self.assertEqual(answers[0][0], 400)
        self.assertIn("1000000000", answers[0][1]["error"])
        self.assertEqual(service.end(), 0)

    def test_a_full_queue_is_503(self) -> None:
        service = Service("--queue", "2")
        self.assertEqual(service.embed([1], [2], [3])[0], 503)
        self.assertEqual(service.embed([1], [2])[0], 200)
        self.assertEqual(service.end(), 0)

    def test_a_deadline_is_504(self) -> None:
        service = Service("--timeout-ms", "0")
        self.assertEqual(service.embed([1])[0], 504)
        self.assertEqual(service.end(), 0)

    def test_a_shutdown_under_load_loses_nothing(self) -> None:
        service = Service("--queue", "64")
        command = [sys.executable, LOAD, "--port", str(service.port), "--clients", "12", "--seconds", "20"]
        command += ["--ids", "40", "--lengths", "2", "30", "--end-after", "1", "--pid", str(service.process.pid)]
        load = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(load.returncode, 0, load.stdout + load.stderr)
        self.assertIn("lost 0", load.stdout)
        self.assertEqual(service.process.wait(timeout=60), 0)
        service.process.stdout.close()
        print(load.stdout, file=sys.stderr)


if __name__ == "__main__":
    MODEL, LOAD, PROGRAM = sys.argv.pop(), sys.argv.pop(), sys.argv.pop()
    unittest.main()
