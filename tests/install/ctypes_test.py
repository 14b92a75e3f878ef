# SPDX-License-Identifier: Apache-2.0
"""The C API from Python without any other package: a BERT runs on several threads, a decoder generates, and errors
have a text.

usage: ctypes_test.py PREFIX MODEL DECODER
"""

import ctypes
import sys
import threading
import unittest
from pathlib import Path
from typing import Any

PREFIX = Path()
MODEL = ""
DECODER = ""

INT64, FLOAT, STRING = 7, 1, 8
OK, INVALID_ARGUMENT, NOT_FOUND = 0, 3, 5


class AttnrunError(Exception):
    def __init__(self, code: int, text: str):
        super().__init__(text)
        self.code = code


class Library:
    """The functions of libattnrun.so; those that can fail raise AttnrunError."""

    RESULTS = {
        ctypes.c_char_p: ("version", "status_message", "value_info_name", "value_info_dim_name", "type_name"),
        ctypes.c_void_p: ("session_model", "model_info_input", "model_info_output", "tensor_data"),
        ctypes.c_size_t: (
            "model_info_input_count", "tensor_rank", "tensor_element_count", "generation_result_sequence_count",
        ),
        ctypes.POINTER(ctypes.c_int64): ("tensor_shape", "generation_result_tokens"),
        ctypes.c_int32: ("status_code", "value_info_type", "tensor_type"),
        None: (
            "status_free", "tensor_free", "session_free", "generator_free", "generation_request_free",
            "generation_result_free", "generate_options_free", "generate_options_set_on_token",
        ),
    }
    CHECKED = (
        "tensor_borrow", "tensor_strings", "session_load", "session_run", "generator_load", "generation_request_new",
        "generate_options_new", "generator_generate",
    )
    TOKEN_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)

    def __init__(self, path: str):
        self.library = ctypes.CDLL(path)
        for result, names in self.RESULTS.items():
            for name in names:
                function = self.library["attnrun_" + name]
                function.restype = result
                setattr(self, name, function)
        for name in self.CHECKED:
            function = self.library["attnrun_" + name]
            function.restype = ctypes.c_void_p
            function.errcheck = self.check
            setattr(self, name, function)

    def check(self, status: Any, function: Any, arguments: Any) -> None:
        if status is None:
            return
        handle = ctypes.c_void_p(status)
        error = AttnrunError(self.status_code(handle), self.status_message(handle).decode())
        self.status_free(handle)
        raise error


def names_array(names: list[bytes]) -> Any:
    return (ctypes.c_char_p * len(names))(*names)


class CtypesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.attnrun = Library(str(next(PREFIX.glob("lib*/**/libattnrun.so.0"))))
        cls.session = ctypes.c_void_p()
        cls.attnrun.session_load(MODEL.encode(), None, ctypes.byref(cls.session))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.attnrun.session_free(cls.session)

    def input_names(self) -> list[bytes]:
        model = ctypes.c_void_p(self.attnrun.session_model(self.session))
        inputs = [
            ctypes.c_void_p(self.attnrun.model_info_input(model, ctypes.c_size_t(i)))
            for i in range(self.attnrun.model_info_input_count(model))
        ]
        self.assertEqual({self.attnrun.value_info_type(value) for value in inputs}, {INT64})
        return [self.attnrun.value_info_name(value) for value in inputs]

    def run_on(self, ids: list[int]) -> list[float]:
        """The last hidden state of a text of these ids."""
        ones = (ctypes.c_int64 * len(ids))(*([1] * len(ids)))
        tokens = (ctypes.c_int64 * len(ids))(*ids)
        shape = (ctypes.c_int64 * 2)(1, len(ids))
        names = self.input_names()
        inputs = (ctypes.c_void_p * len(names))()
        for i, name in enumerate(names):
            data = tokens if name == b"input_ids" else ones
            made = ctypes.c_void_p()
            size = ctypes.c_size_t(ctypes.sizeof(data))
            self.attnrun.tensor_borrow(INT64, ctypes.c_size_t(2), shape, None, data, size, ctypes.byref(made))
            inputs[i] = made.value
        outputs = (ctypes.c_void_p * 1)()
        try:
            self.attnrun.session_run(
                self.session, None, names_array(names), inputs, ctypes.c_size_t(len(names)),
                names_array([b"last_hidden_state"]), outputs, ctypes.c_size_t(1),
            )
        finally:
            for tensor in inputs:
                self.attnrun.tensor_free(ctypes.c_void_p(tensor))
        result = ctypes.c_void_p(outputs[0])
        count = self.attnrun.tensor_element_count(result)
        shape_of = self.attnrun.tensor_shape(result)
        self.assertEqual([shape_of[i] for i in range(self.attnrun.tensor_rank(result))], [1, len(ids), 32])
        data = ctypes.cast(self.attnrun.tensor_data(result), ctypes.POINTER(ctypes.c_float))
        elements = data[:count]
        self.attnrun.tensor_free(result)
        return elements

    def test_threads_get_the_results_of_a_run_alone(self) -> None:
        texts = [[1 + (i + j) % 50 for j in range(3 + i)] for i in range(6)]
        alone = [self.run_on(text) for text in texts]
        together: dict[int, list[float]] = {}

        def run(i: int) -> None:
            together[i] = self.run_on(texts[i])

        threads = [threading.Thread(target=run, args=(i,)) for i in range(len(texts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([together[i] for i in range(len(texts))], alone)

    def test_errors_have_a_code_and_a_text(self) -> None:
        none = ctypes.c_void_p()
        with self.assertRaises(AttnrunError) as missing:
            self.attnrun.session_load(b"/nowhere.onnx", None, ctypes.byref(none))
        self.assertEqual(missing.exception.code, NOT_FOUND)
        self.assertIn("/nowhere.onnx", str(missing.exception))
        with self.assertRaises(AttnrunError) as beyond:
            self.run_on([10**9])
        self.assertEqual(beyond.exception.code, INVALID_ARGUMENT)
        self.assertIn("1000000000", str(beyond.exception))

    def test_strings_go_in(self) -> None:
        shape = (ctypes.c_int64 * 1)(2)
        made = ctypes.c_void_p()
        count = ctypes.c_size_t(2)
        self.attnrun.tensor_strings(
            ctypes.c_size_t(1), shape, names_array(["ä".encode(), b""]), None, count, ctypes.byref(made)
        )
        self.assertEqual(self.attnrun.type_name(self.attnrun.tensor_type(made)), b"string")
        self.attnrun.tensor_free(made)

    def test_tokens_are_generated(self) -> None:
        attnrun = self.attnrun
        generator, request, options, result = (ctypes.c_void_p() for _ in range(4))
        attnrun.generator_load(DECODER.encode(), None, None, ctypes.byref(generator))
        prompt = (ctypes.c_int64 * 3)(1, 2, 3)
        attnrun.generation_request_new(prompt, ctypes.c_size_t(3), ctypes.byref(request))
        attnrun.generate_options_new(ctypes.byref(options))
        streamed: list[int] = []
        on_token = attnrun.TOKEN_FUNCTION(lambda _context, _sequence, token: streamed.append(token))
        attnrun.generate_options_set_on_token(options, on_token, None)
        requests = (ctypes.c_void_p * 1)(request.value)
        config = b'{"max_new_tokens": 5, "do_sample": true, "seed": 7}'
        attnrun.generator_generate(
            generator, requests, ctypes.c_size_t(1), config, options, ctypes.byref(result)
        )
        self.assertEqual(attnrun.generation_result_sequence_count(result), 1)
        count = ctypes.c_size_t()
        tokens = attnrun.generation_result_tokens(result, ctypes.c_size_t(0), ctypes.byref(count))
        self.assertEqual(count.value, 5)
        self.assertEqual(tokens[:5], streamed)
        attnrun.generation_result_free(result)
        with self.assertRaises(AttnrunError) as unknown:
            attnrun.generator_generate(
                generator, requests, ctypes.c_size_t(1), b'{"top_q": 1}', None, ctypes.byref(result)
            )
        self.assertEqual(unknown.exception.code, INVALID_ARGUMENT)
        self.assertIn("top_q", str(unknown.exception))
        attnrun.generate_options_free(options)
        attnrun.generation_request_free(request)
        attnrun.generator_free(generator)


if __name__ == "__main__":
    PREFIX, MODEL, DECODER = Path(sys.argv.pop(1)), sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
