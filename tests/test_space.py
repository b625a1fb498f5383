from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest

import hillbandit as hb

GAME = hb.Space({"lives": [1, 2, 3, 5], "speed": range(1, 11), "shield": [False, True]})


def test_a_named_space_decodes_and_encodes_every_genome() -> None:
    assert len(GAME) == 3
    assert GAME.size == 4 * 10 * 2
    for genome in GAME.genomes():
        assert np.array_equal(GAME.encode(GAME.decode(genome)), genome)
    assert GAME.decode([3, 9, 1]) == {"lives": 5, "speed": 10, "shield": True}


def test_an_unnamed_configuration_is_the_genome() -> None:
    space = hb.Space.uniform(4, 3)
    assert space.size == 81
    config = space.decode([2, 0, 1, 2])
    assert config.tolist() == [2, 0, 1, 2]
    assert config.dtype.kind == "i"
    assert space.encode(config).tolist() == [2, 0, 1, 2]


def test_genes_may_have_different_numbers_of_values() -> None:
    assert hb.Space.unnamed([2, 5, 1]).size == 10


def test_sizes_beyond_64_bits_are_exact() -> None:
    assert hb.Space.binary(100).size == 2**100


def test_numpy_values_become_plain_ones() -> None:
    space = hb.Space({"x": np.array([0.5, 1.5]), "y": [np.int64(3)]})
    config = space.decode([1, 0])
    assert config == {"x": 1.5, "y": 3}
    assert type(config["x"]) is float
    assert type(config["y"]) is int


@pytest.mark.parametrize("space", [GAME, hb.Space.binary(5), hb.Space.unnamed([1, 4, 2])])
def test_json_out_and_in_gives_the_same_space(space: hb.Space) -> None:
    assert hb.Space.from_json(space.to_json()) == space
    assert json.loads(space.to_json())
    assert pickle.loads(pickle.dumps(space)) == space
    assert copy.deepcopy(space) == space


def test_json_does_not_forget_that_there_was_a_predicate() -> None:
    space = hb.Space.binary(3, valid=lambda genome: bool(genome[0]))
    text = space.to_json()
    with pytest.raises(ValueError, match="pass it as valid="):
        hb.Space.from_json(text)
    assert hb.Space.from_json(text, valid=lambda genome: bool(genome[0])) == space


@pytest.mark.parametrize(
    ("genes", "kind", "says"),
    [
        ({}, ValueError, "at least one gene"),
        ({"a": []}, ValueError, "'a' has no values"),
        ({"a": [1, 2, 1]}, ValueError, "1 twice"),
        ({"a": [1, True]}, ValueError, "1 and True"),
        ({"a": [[1], [2]]}, TypeError, "unhashable value \\[1\\]"),
        ({"a": "xyz"}, TypeError, "put them into a list"),
        ({"a": {1, 2}}, TypeError, "no order"),
        ({"a": 7}, TypeError, "must be a list, not int"),
        ({"a": [float("nan")]}, ValueError, "NaN"),
        ({3: [1]}, TypeError, "names are strings"),
        ([[1, 2]], TypeError, "dict of gene name"),
    ],
)
def test_bad_genes_get_a_sentence(genes: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        hb.Space(genes)


@pytest.mark.parametrize("n", [0, -1, 2.0, True, "3"])
def test_a_number_of_genes_is_a_positive_integer(n: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="number of genes"):
        hb.Space.binary(n)


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"lives": 4, "speed": 1, "shield": True}, "no value 4"),
        ({"lives": [4], "speed": 1, "shield": True}, "no value \\[4\\]"),
        ({"lives": 1, "speed": 1}, "missing genes \\['shield'\\]"),
        ({"lives": 1, "speed": 1, "shield": True, "x": 0}, "unknown genes \\['x'\\]"),
    ],
)
def test_a_configuration_that_does_not_fit_gets_a_sentence(config: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        GAME.encode(config)


@pytest.mark.parametrize("genome", [[0, 0], [0, 0, 2], [0, -1, 0], [[0, 0, 0]], [0.5, 0, 0]])
def test_a_genome_that_does_not_fit_gets_a_sentence(genome: Any) -> None:
    with pytest.raises(ValueError, match="genome"):
        GAME.decode(genome)


def test_values_that_json_cannot_hold_are_named() -> None:
    with pytest.raises(ValueError, match="tuple"):
        hb.Space({"a": [(1, 2), (3, 4)]}).to_json()
    with pytest.raises(ValueError, match="inf"):
        hb.Space({"a": [float("inf")]}).to_json()


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "{", '{"sizes": 3}', '{"sizes": [2.5]}', '{"sizes": []}'),
        *('{"genes": []}', '{"genes": {"a": []}}', '{"genes": {"a": "xyz"}}'),
    ],
)
def test_text_that_is_no_space_gets_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"space|values"):
        hb.Space.from_json(text)


def test_a_space_is_read_from_text_only() -> None:
    text: Any = None
    with pytest.raises(TypeError, match="read from JSON text, not from NoneType"):
        hb.Space.from_json(text)


def test_samples_are_uniform_over_the_valid_configurations() -> None:
    space = hb.Space.binary(3, valid=lambda genome: genome.sum() <= 1)
    rng = np.random.default_rng(0)
    runs = 2000
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(runs):
        key = tuple(space.sample(rng).tolist())
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 4
    # each has probability 1/4: five standard errors
    assert max(abs(c - runs / 4) for c in counts.values()) < 5 * (runs * 3 / 16) ** 0.5


def test_a_needle_in_a_small_haystack_is_found() -> None:
    space = hb.Space.binary(17, valid=lambda genome: bool(genome.all()))
    assert space.sample(np.random.default_rng(0)).all()


def test_no_valid_start_is_an_error_and_not_a_hang() -> None:
    with pytest.raises(ValueError, match="No configuration of this space is valid"):
        hb.RMHC(hb.Space.binary(4, valid=lambda _: False), seed=1)
    with pytest.raises(ValueError, match="start="):
        hb.RMHC(hb.Space.binary(64, valid=lambda genome: bool(genome.all())), seed=1)


def test_a_start_that_no_draw_would_find_can_be_given() -> None:
    space = hb.Space.binary(64, valid=lambda genome: genome.sum() >= 60)
    optimizer = hb.BanditRMHC(space, start=[1] * 64, seed=1)
    for _ in range(200):
        trial = optimizer.ask()
        assert space.is_valid(trial.genome)
        optimizer.tell(trial, -float(trial.genome.sum()))
    assert optimizer.recommend().mean == -60
    twin = hb.Optimizer.from_state_dict(space, optimizer.state_dict())
    assert np.array_equal(twin.ask().genome, optimizer.ask().genome)


def test_a_predicate_cannot_change_the_genome_that_it_is_asked_about() -> None:
    def sorting(genome: Any) -> bool:
        genome.sort()
        return True

    with pytest.raises(ValueError, match="read-only"):
        hb.RMHC(hb.Space.binary(5, valid=sorting), start=[1, 0, 1, 0, 0], seed=1)
    seen = hb.Space.binary(3, valid=lambda genome: not genome.flags.writeable)
    genome = np.zeros(3, dtype=np.int64)
    assert seen.is_valid(genome)
    assert genome.flags.writeable
