# SPDX-License-Identifier: Apache-2.0
"""Inputs for the real models: sentences, reactions, lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor
from transformers import AutoTokenizer

# Rows 0, 1, 2: a sentence, its paraphrase, an unrelated one.
SENTENCES = (
    "The central bank raised interest rates to slow down inflation.",
    "To curb rising prices, the monetary authority increased borrowing costs.",
    "My cat sleeps on the warm windowsill all afternoon.",
    "How do I reset the password of my account?",
    "Attention!",
)
LONG_TEXT = " ".join(SENTENCES) * 4


def tokenized(source: Path, names: Sequence[str]) -> list[dict[str, Tensor]]:
    """Three batches: five sentences padded to one length, one text of 128 tokens, a single word."""
    tokenizer = AutoTokenizer.from_pretrained(source)
    batches = (
        tokenizer(list(SENTENCES), padding=True, return_tensors="pt"),
        tokenizer([LONG_TEXT], truncation=True, max_length=128, return_tensors="pt"),
        tokenizer(["attention"], return_tensors="pt"),
    )
    return [{name: batch[name] for name in names} for batch in batches]


def reaction(
    reactants: Sequence[Sequence[int]], products: Sequence[Sequence[int]]
) -> Mapping[str, np.ndarray]:
    """A reaction in rxnmap's token layout: a reaction token, then a token and the atoms of each
    molecule. Each molecule is a chain, given by its atomic numbers."""
    atoms, neighbors, roles = [0], [0], [1]
    molecules = [(m, 2) for m in reactants] + [(m, 3) for m in products]
    size = 1 + sum(len(chain) + 1 for chain, _ in molecules)
    distances = np.zeros((size, size), np.int64)
    distances[0, 0] = 1
    for chain, role in molecules:
        start, end = len(atoms), len(atoms) + len(chain) + 1
        steps = np.arange(len(chain))
        distances[start:end, start:end] = 1
        bonds = np.minimum(np.abs(steps[:, None] - steps), 10)
        distances[start + 1 : end, start + 1 : end] = bonds + 2
        atoms += [1, *(number + 2 for number in chain)]
        neighbors += [0, *([6] * len(chain))]
        roles += [0, *([role] * len(chain))]
    rows = {"atoms": atoms, "neighbors": neighbors, "distances": distances, "roles": roles}
    return {name: np.array(values, np.int64)[None] for name, values in rows.items()}


def line_of_text(text: str, width: int) -> np.ndarray:
    image = Image.new("RGB", (width, 48), "white")
    ImageDraw.Draw(image).text((6, 6), text, fill="black", font=ImageFont.load_default(30))
    return (np.asarray(image, np.float32).transpose(2, 0, 1) / 255 - 0.5) / 0.5
