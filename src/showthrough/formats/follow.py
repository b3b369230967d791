"""The subject of a command after earlier releases: new tables together with those already published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from showthrough.errors import InputError, closest
from showthrough.formats.records_file import RecordStream
from showthrough.formats.schema_file import schema_to_toml
from showthrough.formats.subject import Subject
from showthrough.records import Records
from showthrough.schema import Schema
from showthrough.scratch import private_scratch
from showthrough.tables.earlier import EarlierRun, Following, open_earlier, unite_schemas
from showthrough.tables.run.batch import Area, Broken, Input
from showthrough.tables.run.inputs import Nested

__all__ = [
    "SubjectAfter",
    "read_following",
]


@dataclass(frozen=True, eq=False, kw_only=True)
class SubjectAfter(Subject):
    """New tables and those that were out before, as one subject. ``new`` are the new ones alone."""

    new: Subject
    following: Following
    keep_going: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all areas, sorted."""
        with TemporaryDirectory() as scratch:
            return tuple(area.release.area for area in self._each(Path(scratch)))

    @property
    def n_areas(self) -> int:
        """How many areas there are at least: those of the new tables, or of the largest earlier run."""
        return max(self.new.n_areas, *(one.run.summary.areas for one in self.following.earlier))

    def stream(self, scratch: Path) -> Iterator[Input]:
        """The areas in order, each with its new tables and its earlier ones."""
        yield from self.following.areas(self.new.stream(scratch), keep_going=self.keep_going)

    def areas(self, only: str | None = None) -> Iterator[Area]:
        """The areas in order; or one of them."""
        found = False
        with private_scratch() as scratch:
            for area in self._each(scratch):
                if only in (None, area.release.area):
                    found = True
                    yield area
        if not found and only is not None:
            raise InputError("unknown area", found=only, remedy=closest(only, self.names))

    def _each(self, scratch: Path) -> Iterator[Area]:
        for found in self.stream(scratch):
            if not isinstance(found, Area):
                why = "the areas lie within larger ones" if isinstance(found, Nested) else "not counted"
                raise InputError(found.why if isinstance(found, Broken) else why)
            yield found

    def inputs(self) -> dict[str, str]:
        """The files' names with their hashes; of earlier runs, their ``run.json``."""
        return {**self.new.inputs(), **self.following.inputs()}


def read_following(
    read: Callable[[Path | None], Subject], folders: Sequence[Path], *, keep_going: bool = False
) -> SubjectAfter:
    """The new tables after the runs in some folders.

    ``read`` reads the new tables, with the schema file that it is given.
    """
    earlier, notes = open_earlier(folders)
    subject = read(None)
    schema = _schema_of(subject, earlier)
    if subject.inferred and schema != subject.layout.schema:
        subject = _with_schema(subject, read, schema)
    following = Following.of(subject.layout, earlier, schema)
    if _has_records(subject) and subject.layout.schema != schema:
        extra = [name for name in schema.names if name not in subject.layout.schema.names]
        notes.append(
            "the records are used to count the new tables only: they lack "
            f"{', '.join(extra) or 'the schema'} of the earlier tables"
        )
    return SubjectAfter(
        following.layout,
        subject.source,
        subject.files,
        subject.inferred,
        (*subject.notes, *notes),
        subject.lacks_totals,
        subject.printing,
        new=subject,
        following=following,
        keep_going=keep_going,
    )


def _schema_of(subject: Subject, earlier: Sequence[EarlierRun]) -> Schema:
    schema = subject.layout.schema
    for one in earlier:
        other = one.run.layout.schema
        schema = unite_schemas(schema, other, inferred=subject.inferred, file=str(one.run.folder))
    return schema


def _has_records(subject: Subject) -> bool:
    return isinstance(subject.source, Records | RecordStream)


def _with_schema(subject: Subject, read: Callable[[Path | None], Subject], schema: Schema) -> Subject:
    """The subject read once more over the schema of all tables, if the data have all its columns."""
    with TemporaryDirectory() as place:
        path = Path(place) / "schema.toml"
        path.write_text(schema_to_toml(schema), "utf-8")
        try:
            again = read(path)
        except InputError:
            return subject
    if again.layout.schema != schema:
        return subject
    files = tuple(content for content in again.files if content.path != path)
    notes = tuple(note for note in subject.notes if "in no table" not in note)
    return Subject(again.layout, again.source, files, subject.inferred, notes, again.lacks_totals)
