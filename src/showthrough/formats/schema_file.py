"""Schemas: read from TOML files and written so that they read back equal, or inferred from data."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pydantic import Field
from pydantic_core import PydanticCustomError

from showthrough.errors import RecordsError, SchemaError, check_each, check_type, closest
from showthrough.files import write_text
from showthrough.formats.hierarchies import HierarchyShape, code_lists, hierarchy_lines, made_hierarchies
from showthrough.formats.toml import (
    Conditions,
    Shape,
    Text,
    check_shape,
    key,
    list_of,
    quoted,
    read_toml,
    table_of,
)
from showthrough.frames import distinct
from showthrough.hierarchy import Hierarchy, with_levels
from showthrough.schema import Attribute, Rule, Schema
from showthrough.selection import Selection

__all__ = [
    "INFERRED",
    "infer_schema",
    "named_code_lists",
    "natural_order",
    "read_schema",
    "schema_from_mapping",
    "schema_to_toml",
    "write_schema",
]


#: More distinct values than this and a column is taken for an identifier or a measurement.
MOST_VALUES = 1_000

#: The value that stands for missing entries in an inferred schema.
MISSING = "missing"

#: The first line of a schema file that was inferred.
INFERRED = "# Inferred from the data: correct it and pass it with --schema.\n"


class AttributeShape(Shape):
    """``[attributes.tenure]``"""

    values: list[Text] | None = None
    label: str = ""
    labels: dict[str, str] = Field(default_factory=dict[str, str])
    phrases: dict[str, str] = Field(default_factory=dict[str, str])
    missing: Text | None = None


class RuleShape(Shape):
    """``[[rules]]`` with ``if`` and ``then``; ``iff`` in place of ``if`` for both ways."""

    when: Conditions = Field(alias="if")
    then: Conditions
    both_ways: bool = Field(default=False, alias="iff", strict=True)

    @classmethod
    def arranged(cls, plain: dict[str, object]) -> dict[str, object]:
        """``iff = {…}`` as ``if = {…}`` and ``iff = true``."""
        if not isinstance(plain.get("iff"), Mapping):
            return plain
        if "if" in plain:
            raise PydanticCustomError(
                "two_conditions",
                "a rule has both if and iff",
                {"remedy": "write iff = {…} alone, or if = {…} with iff = true"},
            )
        return {**plain, "if": plain["iff"], "iff": True}

    def made(self) -> Rule:
        """The rule."""
        return Rule(Selection.of(self.when), Selection.of(self.then), self.both_ways)


class SchemaShape(Shape):
    """A schema file, or the schema part of a release file."""

    record: str = "record"
    records: str = ""
    attributes: dict[str, AttributeShape] = Field(default_factory=dict[str, AttributeShape])
    rules: list[RuleShape] = Field(default_factory=list[RuleShape])
    hierarchies: dict[str, HierarchyShape] = Field(default_factory=dict[str, HierarchyShape])

    def made(self, *, file: str | None = None) -> Schema:
        """The schema; what the shape alone cannot show wrong is found here."""
        try:
            attributes, hierarchies = self._attributes(Path(file or "").parent)
            rules = tuple(rule.made() for rule in self.rules)
            return Schema(attributes, rules, self.record, self.records, hierarchies)
        except SchemaError as error:
            raise error.at(file=file) from None

    def _attributes(self, folder: Path) -> tuple[tuple[Attribute, ...], tuple[Hierarchy, ...]]:
        """The attributes, and the hierarchies they are levels of; only levels need no values."""
        given = {
            name: Attribute(name, tuple(one.values), one.label, one.labels, one.phrases, one.missing)
            for name, one in self.attributes.items()
            if one.values is not None
        }
        hierarchies, labels = made_hierarchies(self.hierarchies, given, folder=folder)
        complete = with_levels(tuple(given.values()), hierarchies)
        for name in self.attributes:
            if all(name != attribute.name for attribute in complete):
                raise SchemaError(f"attributes.{name}.values: is missing")
        worded = tuple(
            self._worded(attribute, labels.get(attribute.name, {})) if hierarchies else attribute
            for attribute in complete
        )
        return worded, hierarchies

    def _worded(self, attribute: Attribute, listed: Mapping[str, str]) -> Attribute:
        """An attribute with the words that the schema has for it, and those of a code list."""
        said = self.attributes.get(attribute.name, AttributeShape())
        return replace(
            attribute,
            label=said.label,
            labels={**listed, **said.labels},
            phrases=said.phrases,
            missing=said.missing,
        )

    def code_lists(self, file: str | os.PathLike[str]) -> list[Path]:
        """The code lists that its hierarchies name."""
        return code_lists(self.hierarchies, Path(file).parent)


def read_schema(path: str | os.PathLike[str]) -> Schema:
    """Read a schema from a TOML file.

    Parameters
    ----------
    path
        The schema file.

    Returns
    -------
    Schema
        The schema.

    Raises
    ------
    SchemaError
        If the file cannot be read or is not a valid schema; the message names the place in it.
    """
    return schema_from_mapping(read_toml(path, error=SchemaError), file=str(path))


def named_code_lists(path: str | os.PathLike[str]) -> list[Path]:
    """The code lists that a schema file names."""
    plain = read_toml(path, error=SchemaError)
    return check_shape(SchemaShape, plain, file=str(path), error=SchemaError).code_lists(path)


def schema_from_mapping(plain: Mapping[str, object], *, file: str | None = None) -> Schema:
    """Make a schema from plain values, as a TOML or JSON reader returns them.

    Parameters
    ----------
    plain
        The content of a schema file.
    file
        The file's name, for messages.

    Returns
    -------
    Schema
        The schema.

    Raises
    ------
    SchemaError
        If the values are not a valid schema.

    Examples
    --------
    >>> schema_from_mapping({"attributes": {"size": {"values": [1, 2]}}}).attributes[0].values
    ('1', '2')
    >>> schema_from_mapping({"attributes": {"size": {"value": [1]}}}, file="schema.toml")
    Traceback (most recent call last):
        ...
    showthrough.errors.SchemaError: schema.toml: attributes.size: unknown key (found 'value'); \
did you mean 'values'? known: 'values', 'label', 'labels', 'phrases', 'missing'
    """
    return check_shape(SchemaShape, plain, file=file, error=SchemaError).made(file=file)


def write_schema(schema: Schema, path: str | os.PathLike[str]) -> None:
    """Write a schema as a TOML file, all of it or nothing.

    Parameters
    ----------
    schema
        The schema.
    path
        The file to write; an existing file is replaced.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    write_text(path, schema_to_toml(schema))


def schema_to_toml(schema: Schema) -> str:
    """The schema as TOML text that reads back equal.

    Parameters
    ----------
    schema
        The schema.

    Returns
    -------
    str
        The content of a schema file.

    Examples
    --------
    >>> print(schema_to_toml(Schema.of({"tenure": ["owned", "rented"]}, record="household")))
    record = "household"
    <BLANKLINE>
    [attributes.tenure]
    values = ["owned", "rented"]
    <BLANKLINE>
    """
    check_type(schema, Schema, name="schema", remedy="make one with Schema.of or read_schema")
    head = [f"record = {quoted(schema.record)}"]
    if schema.records != f"{schema.record}s":
        head.append(f"records = {quoted(schema.records)}")
    blocks = [
        head,
        *map(_attribute_lines, schema.attributes),
        *map(hierarchy_lines, schema.hierarchies),
        *map(_rule_lines, schema.own_rules),
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _attribute_lines(attribute: Attribute) -> list[str]:
    lines = [f"[attributes.{key(attribute.name)}]", f"values = {list_of(attribute.values)}"]
    if attribute.label:
        lines.append(f"label = {quoted(attribute.label)}")
    if attribute.labels:
        lines.append(f"labels = {table_of(attribute.labels)}")
    if attribute.phrases:
        lines.append(f"phrases = {table_of(attribute.phrases)}")
    if attribute.missing is not None:
        lines.append(f"missing = {quoted(attribute.missing)}")
    return lines


def _rule_lines(rule: Rule) -> list[str]:
    word = "iff" if rule.both_ways else "if"
    return ["[[rules]]", f"{word} = {table_of(rule.when)}", f"then = {table_of(rule.then)}"]


def infer_schema(table: pa.Table, columns: Sequence[str], *, file: str | None = None) -> Schema:
    """Infer a schema: the attributes are these columns, with the values they hold, in natural order.

    Parameters
    ----------
    table
        The data.
    columns
        The columns to make attributes of.
    file
        The file's name, for messages.

    Returns
    -------
    Schema
        The schema; where a column has missing entries, ``missing`` is one of its values.

    Raises
    ------
    SchemaError
        If a column has too many values for a category.
    RecordsError
        If there is no such column.

    Examples
    --------
    >>> table = pa.table({"age": ["10-14", "5-9", None], "size": [10, 9, 9]})
    >>> [attribute.values for attribute in infer_schema(table, ["age", "size"]).attributes]
    [('5-9', '10-14', 'missing'), ('9', '10')]
    """
    check_type(table, pa.Table, name="table", remedy="read one with read_table")
    check_each(columns, str, name="columns", remedy="list the names of columns")
    try:
        return Schema(tuple(_attribute(table, name, file) for name in columns))
    except SchemaError as error:
        raise error.at(file=file) from None


def _attribute(table: pa.Table, name: str, file: str | None) -> Attribute:
    if name not in table.column_names:
        remedy = closest(name, table.column_names)
        raise RecordsError("no such column", file=file, column=name, remedy=remedy)
    _, texts = distinct(table[name])
    if len(texts) - texts.null_count > MOST_VALUES:
        raise SchemaError(
            f"more than {MOST_VALUES:,} distinct values: "
            "this looks like an identifier or a number, not a category",
            column=name,
            remedy="declare it in a schema with --schema, or leave the column out",
        )
    values = natural_order([text for text in texts.to_pylist() if text is not None])
    if not texts.null_count:
        return Attribute(name, tuple(values))
    return Attribute(name, tuple(dict.fromkeys([*values, MISSING])), missing=MISSING)


def natural_order(texts: Sequence[str]) -> list[str]:
    """Texts sorted as a person would: whole numbers by size, digits inside text as numbers.

    >>> natural_order(["10", "-2", "9"]), natural_order(["b10", "b9", "a"])
    (['-2', '9', '10'], ['a', 'b9', 'b10'])
    """
    if all(re.fullmatch(r"[+-]?[0-9]{1,18}", text) for text in texts):
        return sorted(texts, key=lambda text: (int(text), text))
    return sorted(texts, key=lambda text: (_parts(text), text))


def _parts(text: str) -> list[tuple[int, str]]:
    """Text and digit runs in turn; digits compare by length first, so as numbers of any size."""
    parts = re.split(r"([0-9]+)", text)
    digits = [part.lstrip("0") if at % 2 else part for at, part in enumerate(parts)]
    return [(len(part) if at % 2 else 0, part) for at, part in enumerate(digits)]
