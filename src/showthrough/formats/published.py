"""Published tables: counts that a release file describes, or tables as an office prints them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from showthrough.errors import ReleaseError
from showthrough.formats.counts_file import open_counts, read_counts
from showthrough.formats.declared import described, listed, over_used_levels
from showthrough.formats.design import Design, combine_designs, read_design
from showthrough.formats.printed.office import printed_files
from showthrough.formats.read_tables import read_decided
from showthrough.formats.schema_file import read_schema
from showthrough.formats.subject import Subject
from showthrough.frames import Content, Source
from showthrough.releases import Releases, combine_releases

__all__ = [
    "printed_subject",
    "published_subject",
]


def published_subject(
    counts: Path | Source | None,
    releases: Sequence[Path],
    *,
    schema: Path | None,
    by: str | None,
    tolerant: bool | None,
) -> Subject:
    """Published counts: of one file for all releases, or of each release's own."""
    given = None if schema is None else read_schema(schema)
    designs = over_used_levels([read_design(path, given) for path in releases])
    if counts is not None:
        designs = [combine_designs(designs)]
    several, read, files = list[Releases](), list[Content](), described(releases, schema)
    for design in designs:
        if counts is None and design.counts is None:
            raise ReleaseError(
                "the release has no counts",
                file=design.file,
                remedy='add counts = "counts.csv" to the file, or give a counts file',
            )
        opened = Source.of(counts if counts is not None else design.counts, error=ReleaseError)
        read += opened.contents
        if design.within is not None and by is None:
            return _nested(opened, design, designs, listed(*files, *read))
        if tolerant is not None and len(designs) == 1:
            stream = open_counts(opened, design, by=by, tolerant=tolerant)
            if stream is not None:
                return Subject(design.layout, stream, listed(*files, *read), notes=design.notes)
        several.append(read_counts(opened, design, by=by))
    source = several[0] if len(several) == 1 else combine_releases(several)
    notes = dict.fromkeys(note for design in designs for note in design.notes)
    return Subject(source.layout, source, listed(*files, *read), notes=tuple(notes))


def _nested(opened: Source, design: Design, designs: Sequence[Design], files: tuple[Content, ...]) -> Subject:
    """Counts of areas and of their parts."""
    from showthrough.formats.nested import read_nests

    if len(designs) > 1:
        raise ReleaseError(
            "nested areas of several releases cannot be combined",
            file=design.file,
            remedy="put all tables into one release file",
        )
    found = read_nests(opened, design)
    return Subject(found.layout, found, files, notes=design.notes)


def printed_subject(data: Path, by: str | None, *, protected: bool) -> Subject:
    """Published tables in which nothing is to be decided."""
    found = read_decided(data, by=by, protected=protected)
    notes = (found.summary(str(data)), *found.notes)
    files = listed(*printed_files(data))
    return Subject(found.releases.layout, found.releases, files, notes=notes, printing=found.printing)
