"""Object stores: files and folders of results at ``s3://``, ``gs://``, ``abfs://`` and ``hdfs://``.

A store has neither renames nor locks, so nothing is worked on there. What is read is copied from it first,
and a folder of results is copied to it when it is complete: all files, and last of all the manifest
without which no command takes it for a result. A copy that was interrupted is noted in a file of its own,
so that the next one knows that what it finds is its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from showthrough.errors import InputError
from showthrough.files import file_digest
from showthrough.folders import MANIFEST

__all__ = [
    "Stored",
    "is_stored",
]

#: The names of stores, and what Arrow calls them.
_SCHEMES = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gs"),
    **{name: name for name in ("abfs", "abfss", "hdfs")},
}

#: Only Hadoop has addresses without a host: that of its own settings.
_URL = re.compile(rf"({'|'.join(_SCHEMES)}):/{{1,2}}([^/].*)|(hdfs)://(/[^/].*)", re.DOTALL)

#: Seconds in which Google's client tries again; its own limit would be a quarter of an hour.
_PATIENCE = 20

#: What each store needs.
_REMEDIES = {
    "s3": "check the address and your credentials (AWS_ACCESS_KEY_ID or a profile), as the store's own tools "
    "need them",
    "gs": "check the address and your credentials (GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth "
    "application-default login)",
    "abfs": "write abfs://container@account.dfs.core.windows.net/path, and check your credentials "
    "(AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_CLIENT_SECRET, or az login; or AZURE_STORAGE_KEY, "
    "AZURE_STORAGE_SAS_TOKEN or AZURE_STORAGE_CONNECTION_STRING)",
    "hdfs": "check the address; Java and Hadoop's libhdfs must be found here (JAVA_HOME, HADOOP_HOME, and "
    "CLASSPATH as 'hadoop classpath --glob' prints it)",
}
_REMEDIES["abfss"] = _REMEDIES["abfs"]

#: Of what a store says, this many letters are shown.
_SAID = 400

#: Where S3 is, if not at Amazon; the names that Amazon's own tools read.
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")

#: A setting in an address whose value is a secret, by its name.
_SECRET_SETTING = re.compile(r"([?&][^=&]*(?:key|secret|token|password|sig)[^=&]*=)[^&]*", re.IGNORECASE)

#: An address at Azure: its container, account and path.
_AZURE = re.compile(r"abfss?://([^/:@]+)@([^/:.]+)[^/]*((?:/[^?]*)?)", re.DOTALL)

#: Files without which a folder is no result, in the order in which they are copied: last of all.
_LAST = ("publication.json", MANIFEST)

#: The file that says that a folder is being copied.
_UNDER_WAY = ".showthrough-copying"

#: Stores without folders: a path is only a name there.
_FLAT = ("s3", "gcs")

#: Bytes copied at a time.
_CHUNK = 2**23

Digests = dict[str, str]


def is_stored(text: str) -> bool:
    """Whether this names something in an object store.

    >>> is_stored("s3://bucket/run"), is_stored("run/s3"), is_stored("C:/run")
    (True, False, False)
    """
    return _URL.fullmatch(text) is not None


@dataclass(frozen=True)
class Stored:
    """A file or a folder in an object store.

    Parameters
    ----------
    url
        Where it is: ``s3://bucket/path``.

    Examples
    --------
    >>> Stored("s3a://bucket/run/").url
    's3://bucket/run'
    """

    url: str

    def __post_init__(self) -> None:
        found = _URL.fullmatch(self.url)
        if found is None:
            raise InputError("not in an object store", found=self.url, remedy="write s3://bucket/path")
        scheme, path = found[1] or found[3], found[2] or found[4]
        object.__setattr__(self, "url", f"{_SCHEMES[scheme]}://{path.rstrip('/')}")

    @property
    def scheme(self) -> str:
        """What kind of store it is."""
        return self.url.partition(":")[0]

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.url.partition("?")[0].rpartition("/")[2]

    @property
    def shown(self) -> str:
        """Where it is, for messages: without a password, or a setting that is one, which an address may have.

        >>> Stored("s3://key:sec/ret@bucket/run").shown, Stored("gs://bucket/run?access_token=abc&x=1").shown
        ('s3://key:…@bucket/run', 'gs://bucket/run?access_token=…&x=1')
        """
        # After a port comes the path, which may have an @ of its own.
        hidden = re.sub(r"(?<=://)([^/:@]*):(?!\d{1,5}/).*@", r"\1:…@", self.url, flags=re.DOTALL)
        return _SECRET_SETTING.sub(r"\1…", hidden)

    def beside(self, name: str) -> Stored:
        """What has this name in the same folder.

        >>> Stored("s3://bucket/run/release.toml?region=eu").beside("counts.csv").url
        's3://bucket/run/counts.csv?region=eu'
        """
        place, mark, settings = self.url.partition("?")
        return Stored(f"{place.rpartition('/')[0]}/{name}{mark}{settings}")

    @cached_property
    def _place(self) -> tuple[Any, str]:
        """The file system, and the path in it."""
        from pyarrow import fs

        endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), None)
        with self._explained():
            if self.scheme == "s3" and endpoint and "?" not in self.url:
                return fs.S3FileSystem(endpoint_override=endpoint), self.url.removeprefix("s3://")
            if self.url.startswith("hdfs:///"):
                return fs.HadoopFileSystem("default"), self.url.removeprefix("hdfs://")
            if (known := _azure_key()) and (found := _AZURE.fullmatch(self.url)):
                return fs.AzureFileSystem(found[2], **known), f"{found[1]}{found[3]}"
            return fs.FileSystem.from_uri(self._uri)

    @property
    def _uri(self) -> str:
        """The address as Arrow reads it, in which odd letters are quoted; settings after a ``?`` stay."""
        if "?" in self.url:
            return self.url
        start, slashes, rest = self.url.partition("://")
        settings = f"?retry_limit_seconds={_PATIENCE}" if start == "gs" else ""
        return f"{start}{slashes}{quote(rest, safe='/:@[]~!$&*+,;=()')}{settings}"

    def files(self) -> dict[str, int]:
        """The files below it with their sizes, by their names from here; a file itself has no name."""
        from pyarrow import fs

        system, path = self._place
        with self._explained():
            here = system.get_file_info(path)
            if here.type == fs.FileType.File:
                return {"": here.size}
            below = system.get_file_info(fs.FileSelector(path, allow_not_found=True, recursive=True))
        return {one.path[len(path) + 1 :]: one.size for one in below if one.type == fs.FileType.File}

    def fetch(self, target: Path) -> Digests:
        """Copy it to a file or folder on this machine; the hashes of its files, none if there are none."""
        return self._fetch(target, self.files())

    @property
    def is_half_copied(self) -> bool:
        """Whether a part of a result is there, and the copy of the rest was interrupted."""
        files = self.files()
        return _UNDER_WAY in files and len(files) > 1 and not any(name in files for name in _LAST)

    def fetch_result(self, target: Path) -> Digests:
        """The same of a folder of results, unless only a part of one was ever copied there."""
        files = self.files()
        if _UNDER_WAY in files and not any(name in files for name in _LAST):
            return {}
        return self._fetch(target, {name: size for name, size in files.items() if name != _UNDER_WAY})

    def _fetch(self, target: Path, files: dict[str, int]) -> Digests:
        system, path = self._place
        for name, size in files.items():
            place = (target / name).resolve() if name else target
            if name and not place.is_relative_to(target.resolve()):
                raise InputError("the name of an object leads elsewhere", file=self.shown, found=name)
            self._make_room(target, size)
            place.parent.mkdir(parents=True, exist_ok=True)
            with (
                self._explained(),
                system.open_input_stream(f"{path}/{name}" if name else path) as stream,
                place.open("wb") as file,
            ):
                shutil.copyfileobj(stream, file, _CHUNK)
        return {name: file_digest(target / name if name else target) for name in files}

    def _make_room(self, target: Path, size: int) -> None:
        free = shutil.disk_usage(next(one for one in target.absolute().parents if one.is_dir())).free
        if size > free:
            raise InputError(
                f"it has {size:,} bytes, and on this machine {free:,} are free",
                file=self.shown,
                remedy="set SHOWTHROUGH_SCRATCH to a folder on a larger disk",
            )

    def put(self, source: Path, known: Digests) -> None:
        """Copy a file or folder there, as far as it differs from what is known to be there.

        The manifest goes first if it is to change, and comes last.
        """
        if source.is_file():
            if file_digest(source) != known.get(""):
                self._put_file(source, "")
            return
        files = sorted(str(one.relative_to(source)) for one in source.rglob("*") if one.is_file())
        now = {name: file_digest(source / name) for name in files}
        changed = [name for name in files if now[name] != known.get(name)]
        gone = [name for name in known if name not in now]
        if not changed and not gone:
            return
        self._write(_UNDER_WAY, json.dumps(changed).encode())
        self._remove([name for name in _LAST if name in known])
        again = [name for name in changed if name not in _LAST]
        for name in again:
            self._put_file(source / name, name)
        self._remove([name for name in gone if name not in _LAST])
        for name in (one for one in _LAST if one in now):
            self._put_file(source / name, name)
        self._remove([_UNDER_WAY])

    def _put_file(self, source: Path, name: str) -> None:
        with self._explained(), source.open("rb") as file, self._written(name) as stream:
            shutil.copyfileobj(file, stream, _CHUNK)

    def _write(self, name: str, content: bytes) -> None:
        with self._explained(), self._written(name) as stream:
            stream.write(content)

    def _written(self, name: str) -> Any:
        """An object to write, in a folder where the store has any."""
        system, path = self._place
        place = f"{path}/{name}" if name else path
        if system.type_name not in _FLAT:
            system.create_dir(place.rpartition("/")[0])
        return system.open_output_stream(place)

    def _remove(self, names: list[str]) -> None:
        system, path = self._place
        with self._explained():
            for name in names:
                system.delete_file(f"{path}/{name}")

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Whatever a store says is an error about what was asked for there."""
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException) as problem:
            if isinstance(problem, OSError) and problem.filename:
                raise  # about a file of this machine
            raise InputError(
                "the object store refuses",
                file=self.shown,
                found=" ".join(str(problem).split())[:_SAID],
                remedy=_REMEDIES[self.scheme],
            ) from None


def _azure_key() -> dict[str, Any]:
    """A key or token of an account at Azure, and where that is, from what Azure's own tools read.

    Arrow finds everything else that these tools know by itself.
    """
    known = {"AccountKey": os.environ.get("AZURE_STORAGE_KEY", "")}
    known["SharedAccessSignature"] = os.environ.get("AZURE_STORAGE_SAS_TOKEN", "")
    for part in os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";"):
        name, _, known[name] = part.partition("=")
    scheme, _, rest = known.get("BlobEndpoint", "").partition("://")
    found = {"account_key": known["AccountKey"], "sas_token": known["SharedAccessSignature"]}
    if rest and not rest.startswith(f"{known.get('AccountName')}."):  # an emulator, or a server of one's own
        place = rest.partition("/")[0]
        found |= {f"{kind}_storage_authority": place for kind in ("blob", "dfs")}
        found |= {f"{kind}_storage_scheme": scheme for kind in ("blob", "dfs")}
    return {name: value for name, value in found.items() if value}
