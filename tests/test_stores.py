"""Folders of results in an object store: copied whole, manifest last; a copy that stopped is no result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyarrow import fs

from showthrough import stores
from showthrough.cli import main
from showthrough.cli.app import load
from showthrough.cli.at_stores import WRITTEN, run_with_copies
from showthrough.cli.options import OUTPUT
from showthrough.cli.terminal import SHOWN_AS
from showthrough.errors import InputError
from showthrough.stores import Stored, is_stored

PEOPLE = "town,sex,ill\nBrook,f,no\nAldea,f,yes\nBrook,m,no\nAldea,m,no\n"
AUDIT = ["audit", "s3://b/people.csv", "--tables", "sex*ill", "--by", "town", "--out", "s3a://b/runs/one"]


class Refuses:
    """A store that takes so many more files, and then is gone."""

    def __init__(self, system: Any, left: int) -> None:
        self.system, self.left = system, left

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)

    def open_output_stream(self, path: str) -> Any:
        self.left -= 1
        if self.left < 0:
            raise OSError("connection reset by peer")
        return self.system.open_output_stream(path)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A bucket that is a folder of this machine, through the interface that all stores have."""
    bucket = tmp_path / "store"
    (bucket / "b" / "runs" / "one").mkdir(parents=True)
    (bucket / "b" / "people.csv").write_text(PEOPLE)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("SHOWTHROUGH_SCRATCH", str(tmp_path / "scratch"))
    monkeypatch.setattr(Stored, "_place", property(lambda one: (_opened(bucket), one.url.partition("//")[2])))
    yield bucket / "b"
    SHOWN_AS.clear()


def _opened(bucket: Path) -> Any:
    return fs.SubTreeFileSystem(str(bucket), fs.LocalFileSystem())


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_commands_read_and_write_there(
    store: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The same files as on this machine; nothing of them stays here, and nothing says where they were."""
    assert main(AUDIT) == 1
    out = capsys.readouterr().out
    assert "Written to s3://b/runs/one/" in out
    assert str(tmp_path) not in out
    (tmp_path / "people.csv").write_text(PEOPLE)
    here = tmp_path / "here"
    assert main(["audit", str(tmp_path / "people.csv"), *AUDIT[2:-1], str(here), "--quiet"]) == 1
    assert names(store / "runs" / "one") == names(here)
    assert (store / "runs" / "one" / "run.json").read_bytes() == (here / "run.json").read_bytes()
    assert main(["verify", "s3://b/runs/one", "--json"]) == 0
    assert main([*AUDIT, "--quiet"]) == 2  # there is a finished run
    assert main(["report", "s3://b/runs/one", "--quiet"]) == 0
    assert list((tmp_path / "scratch").glob("showthrough-to-store-*/one/*")) == []


def test_a_copy_that_stopped_is_no_result_and_goes_on(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it stops: readers refuse what is there, and the same command copies the rest."""
    whole = property(lambda one: (_opened(store.parent), one.url.partition("//")[2]))
    for left in (0, 1, 4):
        system = Refuses(_opened(store.parent), left)
        broken = property(lambda one, system=system: (system, one.url.partition("//")[2]))
        monkeypatch.setattr(Stored, "_place", broken)
        assert main([*AUDIT, "--quiet"]) == 2
        assert "the object store refuses (found 'connection reset by peer')" in capsys.readouterr().err
        monkeypatch.setattr(Stored, "_place", whole)
        assert "run.json" not in names(store / "runs" / "one")
        assert main(["verify", "s3://b/runs/one"]) == 2
    assert main([*AUDIT, "--quiet"]) == 1  # the exit code of what was computed the first time
    assert main(["verify", "s3://b/runs/one", "--quiet"]) == 0
    assert ".showthrough-copying" not in names(store / "runs" / "one")


def test_no_second_draw_beside_a_part_of_the_first(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a machine that does not have the first draw, a publication is refused until somebody insists."""
    people, there = store / "public", "s3://b/public"
    people.mkdir()
    for name in (".showthrough-copying", "data.parquet"):
        (people / name).write_text("[]")
    publish = ["publish", "s3://b/people.csv", "--sensitive", "ill", "--retention", "0.5", "--drop", "town"]
    publish += ["--out", there, "--quiet", "--no-report"]
    assert main(publish) == 2
    assert "learns more from a second draw" in capsys.readouterr().err
    assert names(people) == {".showthrough-copying", "data.parquet"}
    assert list((tmp_path / "scratch").glob("*")) == []
    assert main([*publish, "--overwrite"]) == 0
    assert names(people) == {"data.parquet", "publication.json"}
    assert list((tmp_path / "scratch").glob("*")) == []


def test_the_manifest_goes_first_and_comes_last(store: Path, tmp_path: Path) -> None:
    """While a folder is replaced it is no result, and files of the old one do not stay."""
    folder, there = tmp_path / "local", Stored("s3://b/replaced")
    folder.mkdir()
    (store / "replaced").mkdir()
    for name, text in (("run.json", "{}"), ("old.parquet", "old"), ("same.parquet", "same")):
        (folder / name).write_text(text)
    there.put(folder, {})
    known = there.fetch(tmp_path / "copy")
    assert set(known) == {"run.json", "old.parquet", "same.parquet"}
    (folder / "old.parquet").unlink()
    (folder / "new.parquet").write_text("new")
    seen: list[set[str]] = []

    class Watched(Refuses):
        def open_output_stream(self, path: str) -> Any:
            seen.append(names(store / "replaced"))
            return super().open_output_stream(path)

    system = Watched(_opened(store.parent), 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stored, "_place", property(lambda _: (system, "b/replaced")))
        there.put(folder, known)
    seen = seen[1:]  # the first one is the note that copying is under way
    assert len(seen) == 2
    assert not any("run.json" in some for some in seen)
    assert names(store / "replaced") == {"run.json", "new.parquet", "same.parquet"}
    there.put(folder, there.fetch(tmp_path / "again"))  # nothing to do


def test_an_object_whose_name_leads_elsewhere_is_refused(store: Path, tmp_path: Path) -> None:
    there = Stored("s3://b/evil")

    def hostile(_: Stored) -> dict[str, int]:
        return {"../../outside": 3}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stored, "files", hostile)
        with pytest.raises(InputError, match="leads elsewhere"):
            there.fetch(tmp_path / "into" / "here")
    assert store.exists()
    assert not (tmp_path / "outside").exists()


def test_nothing_there(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "gs://b/none", "--json"]) == 2
    assert "gs://b/none: there is nothing there" in json.loads(capsys.readouterr().out)["error"]
    assert store.exists()


@pytest.mark.parametrize(
    "text", ["s3:/b/x", "s3a://b/x", "gs://b", "abfss://c@a/x", "hdfs://host/x", "hdfs:///x"]
)
def test_addresses(text: str) -> None:
    assert is_stored(text)
    assert "://" in Stored(text).url


@pytest.mark.parametrize(
    "text", ["run/s3://b", "C:/x", "spark://host:7077", "s3", "s3://", "http://x/y", "s3:///x", "hdfs:////x"]
)
def test_no_addresses(text: str) -> None:
    assert not is_stored(text)


@pytest.mark.parametrize("text", ["wasbs://c@a/run", "http://x/run", "s3://", "gs:///run"])
def test_an_address_of_no_known_store_is_no_folder(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is done: a folder would have such a name here, and the store nothing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(PEOPLE)
    for option in (["--out", text], [f"--out={text}"]):
        assert main(["audit", "people.csv", "--tables", "sex*ill", *option]) == 2
        assert f"results cannot be written to this address (found '{text}')" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("gs://b/my runs/50%#2", "gs://b/my%20runs/50%25%232?retry_limit_seconds=20"),
        ("gs://b/x?retry_limit_seconds=3", "gs://b/x?retry_limit_seconds=3"),
        ("s3a://b/a b/é", "s3://b/a%20b/%C3%A9"),
        ("abfss://c@a.dfs.core.windows.net/x", "abfss://c@a.dfs.core.windows.net/x"),
        ("hdfs://node:8020/x/", "hdfs://node:8020/x"),
    ],
)
def test_arrow_is_asked_for_the_very_name_and_does_not_wait_for_ever(
    text: str, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in stores._ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    seen = list[str]()

    def opened(uri: str) -> Any:
        seen.append(uri)
        raise OSError("Unable to load libjvm\n" + 1000 * "x")

    monkeypatch.setattr(fs, "FileSystem", SimpleNamespace(from_uri=opened))
    with pytest.raises(InputError, match="the object store refuses") as caught:
        Stored(text).files()
    assert seen == [asked]
    assert len(str(caught.value)) < 1000
    told = {"gs": "GOOGLE_APPLICATION_CREDENTIALS", "s3": "AWS_ACCESS_KEY_ID", "hdfs": "libhdfs"}
    assert told.get(text.partition(":")[0].rstrip("a"), "AZURE_TENANT_ID") in str(caught.value)


EMULATOR = {"blob_storage_authority": "127.0.0.1:1", "blob_storage_scheme": "http"}
EMULATOR |= {name.replace("blob", "dfs"): value for name, value in EMULATOR.items()}


@pytest.mark.parametrize(
    ("environment", "known"),
    [
        ({"AZURE_STORAGE_KEY": "k=="}, {"account_key": "k=="}),
        ({"AZURE_STORAGE_SAS_TOKEN": "?sig=x"}, {"sas_token": "?sig=x"}),
        (
            {"AZURE_STORAGE_CONNECTION_STRING": "AccountName=a;AccountKey=k==;EndpointSuffix=a.net"},
            {"account_key": "k=="},
        ),
        (
            {
                "AZURE_STORAGE_CONNECTION_STRING": "AccountName=a;AccountKey=k==;BlobEndpoint=http://127.0.0.1:1/a;"
            },
            {"account_key": "k==", **EMULATOR},
        ),
        (
            {
                "AZURE_STORAGE_CONNECTION_STRING": "AccountName=a;AccountKey=k;BlobEndpoint=https://a.blob.net/"
            },
            {"account_key": "k"},
        ),
    ],
    ids=["key", "token", "connection", "emulator", "the usual place"],
)
def test_azure_by_a_key(
    environment: dict[str, str], known: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(account: str, **more: str) -> tuple[str, dict[str, str]]:
        return account, more

    monkeypatch.setattr(fs, "AzureFileSystem", opened, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    place = Stored("abfss://office@a.dfs.core.windows.net/runs/50%")._place
    assert place == (("a", known), "office/runs/50%")


@pytest.mark.parametrize(
    "address",
    [
        "s3://key:hidden@bucket/run",
        "s3://key:hid/den@bucket/run",  # as keys of Amazon often are, not escaped
        "s3://key:hid?den@bucket/run",
        "s3://key:hid@den@bucket/run",
        "abfs://office@account/run?SAS_Token=hidden&enable_tls=false",
        "gs://bucket/run?access_token=hidden",
        "s3://bucket/run?region=eu&secret_key=hidden",
    ],
)
def test_no_secret_of_an_address_is_shown(address: str) -> None:
    shown = Stored(address).shown
    assert "hid" not in shown
    assert "den" not in shown
    assert "run" in shown


def test_no_password_is_shown() -> None:
    place = Stored("abfs://account:secret%2F@host:10000/office/run?enable_tls=false")
    assert place.shown == "abfs://account:…@host:10000/office/run?enable_tls=false"
    for text in ("s3://b/a:b@c/d", "abfss://office@a.dfs.core.windows.net/x", "hdfs://node:8020/x@y"):
        assert Stored(text).shown == text


def test_hadoop_by_its_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(host: str) -> str:
        return host

    monkeypatch.setattr(fs, "HadoopFileSystem", opened)
    assert Stored("hdfs:///data/x")._place == ("default", "/data/x")


def test_too_little_room(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def usage(_: Path) -> Any:
        return SimpleNamespace(free=3)

    monkeypatch.setattr(stores.shutil, "disk_usage", usage)
    with pytest.raises(InputError, match="on this machine 3 are free"):
        Stored("s3://b/people.csv").fetch(tmp_path / "people.csv")
    assert store.exists()


def test_files_that_a_release_names_come_with_it(store: Path, tmp_path: Path) -> None:
    (store / "release.toml").write_text(
        'schema = "../evil.toml"\ncounts = "counts/c.csv"\n[[tables]]\nformula = "sex*ill"\n'
    )
    (store / "counts").mkdir()
    (store / "counts" / "c.csv").write_text("area,cell,value\n")
    (store.parent / "evil.toml").write_text("")
    seen: list[str] = []

    def run(given: list[str]) -> int:
        here = Path(given[1]).parent
        seen.extend(sorted(str(path.relative_to(here)) for path in here.rglob("*") if path.is_file()))
        return 0

    assert run_with_copies(["audit", "s3://b/release.toml"], run) == 0
    assert seen == ["counts/c.csv", "release.toml"]
    assert not list(tmp_path.rglob("scratch/**/evil.toml"))


def test_every_file_that_a_command_writes_may_be_in_a_store() -> None:
    """An option in the group for output that names a file is known as one; scratch files stay here."""
    app: Any = load([])
    commands = [app[name] for name in app if name != "census" and not name.startswith("-")]
    commands += [app["census"][name] for name in app["census"] if not name.startswith("-")]
    found = {
        option
        for command in commands
        for argument in command.assemble_argument_collection()
        if OUTPUT in (argument.parameter.group or ()) and "Path" in str(argument.hint)
        for option in argument.names
        if option.startswith("--")
    }
    assert found - {"--scratch"} == set(WRITTEN)
