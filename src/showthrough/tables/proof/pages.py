"""The pages of a Parquet file: how many entries there are, how they are nested, and their values.

Texts and 64-bit whole numbers, stored plainly or as places in a dictionary; not compressed, or with
gzip. What is malformed, or anything else, raises ValueError.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .thrift import Fields, read_struct, varint

__all__ = [
    "ColumnShape",
    "DataPage",
    "decode",
    "inflate",
    "read_dictionary",
    "read_page",
    "read_plain",
    "read_runs",
    "read_values",
]

#: Bytes in which the header of a page must end, and the largest page.
LONGEST_HEADER, LARGEST_PAGE = 2**16, 2**28

#: Entries that one page may have.
MOST_ENTRIES = 2**24

PLAIN, OLD_DICTIONARY, RLE, DICTIONARY = 0, 2, 3, 8
DATA_PAGE, DICTIONARY_PAGE, DATA_PAGE_2 = 0, 2, 3
CODECS = ("none", "snappy", "gzip", "LZO", "brotli", "LZ4", "zstd", "LZ4")


@dataclass(frozen=True)
class ColumnShape:
    """What the values of a column are: texts or numbers, one in each row or a list.

    ``most`` is the level of a value that is there, ``empty`` the level of a list without values.
    """

    is_text: bool
    is_list: bool
    most: int
    empty: int


@dataclass(frozen=True)
class DataPage:
    """A page as it stands in the file: its header, and what follows."""

    header: Fields
    body: bytes
    codec: int

    @property
    def is_dictionary(self) -> bool:
        """Whether it lists values for other pages to refer to."""
        return self.header[1] == DICTIONARY_PAGE


def read_page(file: BinaryIO, at: int, end: int, codec: int) -> tuple[DataPage, int]:
    """The page that begins at a place, and where it ends; it must end before ``end``."""
    file.seek(at)
    header, size = read_struct(file.read(min(end - at, LONGEST_HEADER)), 0)
    length, begin = header[3], at + size
    if not 0 <= length <= min(end - begin, LARGEST_PAGE):
        raise ValueError("a page is longer than its place")
    file.seek(begin)
    body = file.read(length)
    if len(body) != length:
        raise ValueError("it ends within a page")
    if 4 in header and zlib.crc32(body) != header[4] % 2**32:
        raise ValueError("the checksum of a page is wrong")
    return DataPage(header, body, codec), begin + length


def read_dictionary(page: DataPage, shape: ColumnShape) -> list[Any]:
    """The values that a dictionary page lists."""
    said = page.header[7]
    if said[2] not in (PLAIN, OLD_DICTIONARY):
        raise ValueError(f"a dictionary has encoding {said[2]}, which is not read here")
    plain = inflate(page.body, page.header[2], page.codec)
    return read_plain(plain, _number(said[1]), shape)


def read_values(
    page: DataPage, shape: ColumnShape, dictionary: list[Any] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[Any]]:
    """Per entry whether it goes on with a row (1) or begins one (0) and its level, and all values."""
    if page.header[1] == DATA_PAGE:
        said = page.header[5]
        encoding, rest = said[2], inflate(page.body, page.header[2], page.codec)
        if {said[3], said[4]} != {RLE}:
            raise ValueError("levels are stored in a way that is not read here")
        nested, rest = _prefixed(rest) if shape.is_list else (b"", rest)
        levels, rest = _prefixed(rest) if shape.most else (b"", rest)
    elif page.header[1] == DATA_PAGE_2:
        said = page.header[8]
        encoding, cut, end = said[4], _number(said[6]), _number(said[6]) + _number(said[5])
        nested, levels = page.body[:cut], page.body[cut:end]
        codec = page.codec if said.get(7, True) else 0
        rest = inflate(page.body[end:], page.header[2] - end, codec)
    else:
        raise ValueError(f"a page of kind {page.header[1]}, which is not read here")
    n = _number(said[1])
    found = read_runs(levels, shape.most.bit_length(), n)
    n_values = int(np.count_nonzero(found == shape.most))
    goes_on = read_runs(nested, int(shape.is_list), n)
    return goes_on, found, decode(rest, encoding, n_values, shape, dictionary)


def _number(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value <= MOST_ENTRIES:
        raise ValueError(f"a page says {value!r} where a number of up to {MOST_ENTRIES:,} is expected")
    return value


def inflate(body: bytes, size: int, codec: int) -> bytes:
    """The bytes before they were compressed: exactly so many."""
    if not 0 <= size <= LARGEST_PAGE:
        raise ValueError("a page is too large")
    if codec == CODECS.index("gzip"):
        inflater = zlib.decompressobj(wbits=31)
        body = inflater.decompress(body, size + 1)
        if not inflater.eof or inflater.unused_data:
            raise ValueError("a page is not compressed as a whole")
    elif codec != CODECS.index("none"):
        name = dict(enumerate(CODECS)).get(codec, codec)
        raise ValueError(f"it is compressed with {name}, not with gzip; showthrough verify reads it")
    if len(body) != size:
        raise ValueError(f"a page has {len(body):,} bytes, not {size:,} as it says")
    return body


def _prefixed(data: bytes) -> tuple[bytes, bytes]:
    """The part whose length comes first, and the rest."""
    end = 4 + int.from_bytes(data[:4], "little")
    if end > len(data):
        raise ValueError("levels are longer than their page")
    return data[4:end], data[end:]


def decode(data: bytes, encoding: int, n: int, shape: ColumnShape, dictionary: list[Any] | None) -> list[Any]:
    """So many values."""
    if encoding == PLAIN:
        return read_plain(data, n, shape)
    if encoding not in (DICTIONARY, OLD_DICTIONARY):
        raise ValueError(f"values have encoding {encoding}, which is not read here")
    if dictionary is None:
        raise ValueError("there is no dictionary")
    if not n and not data:
        return []
    return [dictionary[at] for at in read_runs(data[1:], data[0], n).tolist()]


def read_plain(data: bytes, n: int, shape: ColumnShape) -> list[Any]:
    """So many texts or numbers, one after the other."""
    if not shape.is_text:
        if len(data) != 8 * n:
            raise ValueError("there are more or fewer numbers than the page says")
        return np.frombuffer(data, "<i8").tolist()
    found: list[str] = []
    at = 0
    for _ in range(n):
        begin = at + 4
        at = begin + int.from_bytes(data[at:begin], "little")
        if at > len(data):
            raise ValueError("it ends within a text")
        found.append(data[begin:at].decode())
    if at != len(data):
        raise ValueError("there are more texts than the page says")
    return found


def read_runs(data: bytes, width: int, n: int) -> NDArray[np.int64]:
    """So many numbers of so many bits: in runs of equal ones, or eight and eight packed together."""
    found = np.zeros(n, np.int64)
    if not width and not data:
        return found
    if width > 32:
        raise ValueError(f"numbers of {width} bits")
    at = done = 0
    while done < n:
        head, at = varint(data, at)
        count = head >> 1
        if head & 1:
            packed, at = data[at : at + count * width], at + count * width
            count *= 8
        else:
            packed, at = data[at : at + (width + 7) // 8], at + (width + 7) // 8
        if at > len(data) or not count or count >= n - done + (8 if head & 1 else 1):
            raise ValueError("runs of numbers do not fit their page")
        end = min(done + count, n)
        found[done:end] = (
            _unpacked(packed, width)[: n - done] if head & 1 else int.from_bytes(packed, "little")
        )
        done = end
    if at != len(data) or found.max(initial=0) >> width:
        raise ValueError("there are more numbers, or larger ones, than the page says")
    return found


def _unpacked(packed: bytes, width: int) -> NDArray[np.uint32]:
    """Numbers from their bits, lowest first."""
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little").reshape(-1, width)
    padded = np.zeros((len(bits), 32), np.uint8)
    padded[:, :width] = bits
    return np.packbits(padded, bitorder="little").view("<u4").ravel()
