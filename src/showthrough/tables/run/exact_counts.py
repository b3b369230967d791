"""Whether counts are intervals, found without reading most of them.

Where all counts are exact, the lower and the upper ends are the same numbers, and Parquet stores the same
numbers as the same bytes. So of most files only the bytes are compared, which takes seconds for a nation;
where they differ, the numbers are read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

__all__ = [
    "differ",
    "may_differ",
]

#: Arrow's stubs do not know that element-wise functions take scalars.
pc: Any = pyarrow.compute


def differ(counts: pa.Table) -> bool:
    """Whether some lower end is not the upper end."""
    low, high = (pc.list_flatten(counts[name].combine_chunks()) for name in ("low", "high"))
    return bool(pc.any(pc.not_equal(low, high)).as_py())


def may_differ(path: Path) -> bool:
    """False only if the ends in a file of counts are stored as the same bytes."""
    try:
        with pq.ParquetFile(path) as opened, path.open("rb") as file:
            groups = (opened.metadata.row_group(at) for at in range(opened.metadata.num_row_groups))
            return any(_stored(file, group, "low") != _stored(file, group, "high") for group in groups)
    except (OSError, ValueError, LookupError, pa.ArrowException):
        return True  # whoever reads it says what is wrong


def _stored(file: Any, group: Any, name: str) -> tuple[Any, ...]:
    """How a column of lists is stored in a row group, to the last byte."""
    columns = [group.column(at) for at in range(group.num_columns)]
    (mine,) = (one for one in columns if one.path_in_schema.split(".")[0] == name)
    file.seek(mine.dictionary_page_offset or mine.data_page_offset)
    content = file.read(mine.total_compressed_size)
    return mine.physical_type, mine.compression, mine.encodings, mine.num_values, content
