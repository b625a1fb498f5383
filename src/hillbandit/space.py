"""What is searched: genes, their values, and which combinations are valid."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Genome = NDArray[np.int64]
Config = Any
"""A dict of gene name to value in a named space, a 1-D integer array in an unnamed one."""
Predicate = Callable[[Any], bool]

RANDOM_STARTS = 10_000
"""How many random genomes are drawn before a `valid` predicate counts as unsatisfied."""
ENUMERATE_AT_MOST = 200_000
"""A space up to this size is enumerated when random draws found nothing valid."""


class Space:
    """A finite set of configurations: one value for each gene, and a rule for which go together.

    A genome is a 1-D integer array that holds, for each gene, the index of its value.

    Example:
        >>> import hillbandit as hb
        >>> space = hb.Space({"lives": [1, 2, 3, 5], "shield": [False, True]})
        >>> space.size
        8
        >>> space.decode([3, 1])
        {'lives': 5, 'shield': True}
        >>> space.encode({"lives": 5, "shield": True})
        array([3, 1])

    Args:
        genes: The values of each gene by its name, in an order that stays: a list, a tuple, a range
            or a 1-D array of distinct values. Genes with no names come from `binary`, `uniform`
            or `unnamed`.
        valid: Says whether a configuration may be evaluated; it is asked before an evaluation is
            spent. Every configuration may when it is None.

    Raises:
        TypeError: If `genes` is not a mapping, or the values of a gene are unhashable or unordered.
        ValueError: If there are no genes, or a gene has no values or the same value twice.
    """

    __slots__ = ("_index", "_valid_places", "names", "sizes", "valid", "values")

    names: tuple[str, ...] | None
    """The genes' names in order, or None where they have none."""
    values: tuple[tuple[Any, ...], ...] | None
    """The values of each gene, or None in an unnamed space, where a value is its index."""
    sizes: NDArray[np.int64]
    """How many values each gene has."""
    valid: Predicate | None

    def __init__(
        self, genes: Mapping[str, Iterable[Any]], *, valid: Predicate | None = None
    ) -> None:
        if not isinstance(genes, Mapping):
            raise TypeError(
                f"Space needs a dict of gene name to values, not {type(genes).__name__}. "
                "For genes without names use Space.binary(n), Space.uniform(n, m) or "
                "Space.unnamed(sizes)."
            )
        if not genes:
            raise ValueError("A space needs at least one gene.")
        for name in genes:
            if not isinstance(name, str):
                raise TypeError(f"Gene names are strings; {name!r} is a {type(name).__name__}.")
        self.names = tuple(genes)
        self.values = tuple(_checked_values(name, genes[name]) for name in self.names)
        self._index: tuple[dict[Any, int], ...] | None = tuple(
            {value: i for i, value in enumerate(values)} for values in self.values
        )
        self.sizes = _frozen(np.array([len(v) for v in self.values], dtype=np.int64))
        self.valid = _checked_predicate(valid)
        self._valid_places: list[int] | None = None

    @classmethod
    def unnamed(cls, sizes: Sequence[int], *, valid: Predicate | None = None) -> Space:
        """Make a space of genes without names, gene i taking the values 0 to sizes[i] - 1.

        Example:
            >>> import hillbandit as hb
            >>> hb.Space.unnamed([2, 3, 5]).size
            30

        Args:
            sizes: The number of values of each gene, each at least 1.
            valid: As in `Space`; it is given the genome.

        Raises:
            TypeError: If a size is not an integer.
            ValueError: If there are no genes, or a size is below 1.
        """
        counts = [checked_count(f"the size of gene {i}", size) for i, size in enumerate(sizes)]
        if not counts:
            raise ValueError("A space needs at least one gene.")
        space = cls.__new__(cls)
        space.names = None
        space.values = None
        space._index = None
        space.sizes = _frozen(np.array(counts, dtype=np.int64))
        space.valid = _checked_predicate(valid)
        space._valid_places = None
        return space

    @classmethod
    def uniform(cls, n: int, m: int, *, valid: Predicate | None = None) -> Space:
        """Make a space of n unnamed genes with the same m values, 0 to m - 1.

        Example:
            >>> import hillbandit as hb
            >>> hb.Space.uniform(4, 3).size
            81

        Args:
            n: The number of genes.
            m: The number of values of each gene.
            valid: As in `Space`; it is given the genome.

        Raises:
            TypeError: If n or m is not an integer.
            ValueError: If n or m is below 1.
        """
        length = checked_count("the number of genes", n)
        return cls.unnamed([checked_count("the number of values", m)] * length, valid=valid)

    @classmethod
    def binary(cls, n: int, *, valid: Predicate | None = None) -> Space:
        """Make a space of n unnamed bits.

        Example:
            >>> import hillbandit as hb
            >>> len(hb.Space.binary(64))
            64

        Args:
            n: The number of bits.
            valid: As in `Space`; it is given the genome.

        Raises:
            TypeError: If n is not an integer.
            ValueError: If n is below 1.
        """
        return cls.uniform(n, 2, valid=valid)

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def size(self) -> int:
        """The number of configurations, valid or not."""
        return math.prod(self.sizes.tolist())

    def label(self, gene: int) -> str | int:
        """Name a gene: its name, or its position where it has none."""
        return gene if self.names is None else self.names[gene]

    def value(self, gene: int, index: int) -> Any:
        """Look up the value that an index stands for in a gene."""
        return index if self.values is None else self.values[gene][index]

    def decode(self, genome: Sequence[int] | Genome) -> Config:
        """Turn a genome into the configuration that it stands for.

        Example:
            >>> import hillbandit as hb
            >>> hb.Space({"speed": range(1, 11)}).decode([9])
            {'speed': 10}

        Args:
            genome: One value index for each gene.

        Raises:
            ValueError: If the genome has the wrong length or an index is out of range.
        """
        return self._decode(self.checked(genome))

    def _decode(self, genome: Genome) -> Config:
        if self.names is None or self.values is None:
            return genome
        pairs = zip(self.names, self.values, genome.tolist(), strict=True)
        return {name: values[index] for name, values, index in pairs}

    def encode(self, config: Config) -> Genome:
        """Turn a configuration into its genome.

        Example:
            >>> import hillbandit as hb
            >>> hb.Space({"speed": range(1, 11)}).encode({"speed": 10})
            array([9])

        Args:
            config: A dict with a value for every gene; the genome itself in an unnamed space.

        Raises:
            TypeError: If a named space is given anything but a mapping.
            ValueError: If a gene is missing or unknown, or a value is not one of the gene's.
        """
        if self.names is None or self._index is None:
            return self.checked(config)
        if not isinstance(config, Mapping):
            raise TypeError(
                f"A configuration of this space is a dict with the genes {list(self.names)}, "
                f"not {type(config).__name__}."
            )
        missing = [name for name in self.names if name not in config]
        unknown = [name for name in config if name not in self.names]
        if missing or unknown:
            raise ValueError(
                f"The configuration does not fit the space: missing genes {missing}, "
                f"unknown genes {unknown}."
            )
        genome = np.empty(len(self), dtype=np.int64)
        for i, (name, index) in enumerate(zip(self.names, self._index, strict=True)):
            try:
                genome[i] = index[config[name]]
            except (KeyError, TypeError):
                raise ValueError(
                    f"Gene {name!r} has no value {config[name]!r}; it has {_short(list(index))}."
                ) from None
        return genome

    def checked(self, genome: Sequence[int] | Genome) -> Genome:
        """Return the genome as an int64 array of its own after checking that it fits the space.

        Args:
            genome: One value index for each gene.

        Raises:
            ValueError: If it is not 1-D, has the wrong length, or an index is out of range.
        """
        array = np.asarray(genome)
        if array.ndim != 1 or len(array) != len(self):
            raise ValueError(
                f"A genome of this space is a 1-D array of {len(self)} value indices; "
                f"this one has the shape {array.shape}."
            )
        if not (np.issubdtype(array.dtype, np.integer) or array.dtype == np.bool_):
            raise ValueError(f"A genome holds integers; this one holds {array.dtype}.")
        result: Genome = array.astype(np.int64)
        wrong = np.flatnonzero((result < 0) | (result >= self.sizes))
        if len(wrong):
            gene = int(wrong[0])
            raise ValueError(
                f"Gene {self.label(gene)!r} has the values 0 to {self.sizes[gene] - 1} by index; "
                f"the genome has {result[gene]} there."
            )
        return result

    def is_valid(self, genome: Genome) -> bool:
        """Ask the `valid` predicate about a genome, which it cannot change."""
        if self.valid is None:
            return True
        return bool(self.valid(self._decode(_frozen(genome.view()))))

    def sample(self, rng: np.random.Generator) -> Genome:
        """Draw a valid genome uniformly.

        Example:
            >>> import numpy as np, hillbandit as hb
            >>> hb.Space.binary(4).sample(np.random.default_rng(0)).shape
            (4,)

        Args:
            rng: Where the randomness comes from: one draw for each gene and attempt.

        Raises:
            ValueError: If no valid configuration was found: none exists in a space small enough to
                be enumerated, none was met in 10,000 draws in a larger one.
        """
        for _ in range(RANDOM_STARTS if self.valid is not None else 1):
            genome = self.draw(rng)
            if self.is_valid(genome):
                return genome
        if self.size > ENUMERATE_AT_MOST:
            raise ValueError(
                f"None of {RANDOM_STARTS:,} random configurations is valid. "
                "Loosen `valid`, or name a valid configuration with start=."
            )
        valid = list(self.valid_genomes())
        if not valid:
            raise ValueError("No configuration of this space is valid: `valid` refuses them all.")
        return valid[int(rng.random() * len(valid))]

    def draw(self, rng: np.random.Generator) -> Genome:
        """Draw a genome uniformly, valid or not: one random number for each gene."""
        genome: Genome = (rng.random(len(self)) * self.sizes).astype(np.int64)
        return genome

    def genomes(self) -> Iterator[Genome]:
        """Iterate over all genomes, valid or not, in lexicographic order."""
        for indices in itertools.product(*(range(size) for size in self.sizes.tolist())):
            yield np.array(indices, dtype=np.int64)

    def valid_genomes(self) -> Iterator[Genome]:
        """Iterate over the valid genomes in lexicographic order.

        `valid` is asked about every genome the first time; their places are remembered.
        """
        if self.valid is None:
            yield from self.genomes()
            return
        if self._valid_places is None:
            self._valid_places = [i for i, g in enumerate(self.genomes()) if self.is_valid(g)]
        sizes = self.sizes.tolist()
        for place in self._valid_places:
            genome = np.empty(len(sizes), dtype=np.int64)
            for gene in range(len(sizes) - 1, -1, -1):
                place, genome[gene] = divmod(place, sizes[gene])
            yield genome

    def to_json(self) -> str:
        """Write the space as JSON text.

        Example:
            >>> import hillbandit as hb
            >>> hb.Space({"shield": [False, True]}).to_json()
            '{"genes": {"shield": [false, true]}}'

        Raises:
            ValueError: If a value is not a string, a finite number, a boolean or None.
        """
        data: dict[str, Any]
        if self.names is None or self.values is None:
            data = {"sizes": self.sizes.tolist()}
        else:
            for name, values in zip(self.names, self.values, strict=True):
                for value in values:
                    _require_json(name, value)
            data = {
                "genes": {n: list(v) for n, v in zip(self.names, self.values, strict=True)},
            }
        if self.valid is not None:
            data["constrained"] = True
        return json.dumps(data)

    @classmethod
    def from_json(cls, text: str, *, valid: Predicate | None = None) -> Space:
        """Read a space from the JSON text that `to_json` wrote.

        Example:
            >>> import hillbandit as hb
            >>> hb.Space.from_json('{"sizes": [2, 2, 3]}').size
            12

        Args:
            text: JSON with "genes" (named) or "sizes" (unnamed).
            valid: The predicate, which JSON cannot hold.

        Raises:
            TypeError: If it is not text.
            ValueError: If the text is not such JSON, or the space had a `valid` predicate and none
                is given.
        """
        if not isinstance(text, str | bytes | bytearray):
            raise TypeError(f"A space is read from JSON text, not from {type(text).__name__}.")
        try:
            data = json.loads(text)
        except ValueError as error:  # also text that is not Unicode
            raise ValueError(f"This is not a space: the text is not JSON ({error}).") from None
        if not isinstance(data, dict) or not ({"genes", "sizes"} & data.keys()):
            raise ValueError('This is not a space: JSON with "genes" or "sizes" is expected.')
        if data.get("constrained") and valid is None:
            raise ValueError(
                "This space had a `valid` predicate, which JSON cannot hold: pass it as valid=."
            )
        _checked_predicate(valid)
        try:
            if "genes" in data:
                return cls(data["genes"], valid=valid)
            if not isinstance(data["sizes"], list):
                raise ValueError('This is not a space: "sizes" must be a list of integers.')
            return cls.unnamed(data["sizes"], valid=valid)
        except TypeError as error:
            raise ValueError(f"This is not a space: {error}") from None

    def __eq__(self, other: object) -> bool:
        """Compare the genes and their values; predicates cannot be compared and are left out."""
        if not isinstance(other, Space):
            return NotImplemented
        return (
            self.names == other.names
            and self.values == other.values
            and np.array_equal(self.sizes, other.sizes)
        )

    def __hash__(self) -> int:
        return hash((self.names, self.values, self.sizes.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.names, self.values, self.sizes.tolist(), self.valid)

    def __repr__(self) -> str:
        constrained = ", constrained" if self.valid is not None else ""
        if self.names is None or self.values is None:
            low, high = int(self.sizes.min()), int(self.sizes.max())
            each = f"{low}" if low == high else f"{low} to {high}"
            return f"Space({len(self)} unnamed genes of {each} values{constrained})"
        genes = {n: list(v) for n, v in zip(self.names, self.values, strict=True)}
        return f"Space({_short(genes, 200)}{constrained})"


def _rebuild(
    names: tuple[str, ...] | None,
    values: tuple[tuple[Any, ...], ...] | None,
    sizes: list[int],
    valid: Predicate | None,
) -> Space:
    """Make a space again from what `__reduce__` kept, for copies and worker processes."""
    if names is None or values is None:
        return Space.unnamed(sizes, valid=valid)
    return Space(dict(zip(names, values, strict=True)), valid=valid)


def _checked_values(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    if isinstance(values, str | bytes):
        raise TypeError(
            f"The values of gene {name!r} are the text {values!r}; put them into a list."
        )
    if isinstance(values, Set | Mapping):
        raise TypeError(
            f"The values of gene {name!r} are a {type(values).__name__}, which has no order of its "
            "own; put them into a list."
        )
    if isinstance(values, np.ndarray):
        values = values.tolist()
    try:
        items = [v.item() if isinstance(v, np.generic) else v for v in values]
    except TypeError:
        raise TypeError(
            f"The values of gene {name!r} must be a list, not {type(values).__name__}."
        ) from None
    if not items:
        raise ValueError(f"Gene {name!r} has no values; give it at least one.")
    seen: dict[Any, Any] = {}
    for item in items:
        if isinstance(item, float) and math.isnan(item):
            raise ValueError(f"Gene {name!r} has the value NaN, which equals nothing.")
        try:
            known = item in seen
        except TypeError:
            raise TypeError(
                f"Gene {name!r} has the unhashable value {item!r}; use a tuple or a name for it."
            ) from None
        if known:
            twice = f"{item!r} twice" if seen[item] is item else f"{seen[item]!r} and {item!r}"
            raise ValueError(f"Gene {name!r} has {twice}; values must be distinct.")
        seen[item] = item
    return tuple(items)


def checked_count(what: str, value: Any) -> int:
    """Return a count as an int after checking that it is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{what.capitalize()} must be an integer, not {value!r}.")
    if value < 1:
        raise ValueError(f"{what.capitalize()} must be at least 1, not {value}.")
    return int(value)


def is_number(value: object) -> bool:
    """Tell whether something is a real number, of Python's or of NumPy's; a truth value is not."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _checked_predicate(valid: Predicate | None) -> Predicate | None:
    if valid is not None and not callable(valid):
        raise TypeError(f"`valid` must be a function of a configuration, not {valid!r}.")
    return valid


def _require_json(name: str, value: Any) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"Gene {name!r} has the value {value!r}, which JSON cannot hold.")
    if value is not None and not isinstance(value, str | bool | int | float):
        raise ValueError(
            f"Gene {name!r} has the value {value!r} of type {type(value).__name__}, which JSON "
            "cannot hold; use strings, numbers, booleans or None."
        )


def _frozen(array: NDArray[np.int64]) -> NDArray[np.int64]:
    array.flags.writeable = False
    return array


def _short(what: object, limit: int = 80) -> str:
    text = repr(what)
    return text if len(text) <= limit else text[: limit - 3] + "..."
