"""Manners of the command line: help, completion, suggestions, quiet and verbose, narrow terminals."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import pytest
from rich.progress import Progress, Task

from command import Run, runner
from showthrough import cli
from showthrough.cli import main
from showthrough.cli.app import load
from showthrough.cli.terminal import Terminal, Watched

LONG = "x" * 5000 + "y" * 5000

#: What shells read: the tests of starting compare it with the commands.
SCRIPTS = Path(cli.__file__).with_name("completions")


def commands() -> list[str]:
    """Every command, with those below another as two words."""
    found: list[str] = []
    app = load()
    for name in app:
        below = [f"{name} {inner}" for inner in app[name] if not inner.startswith("-")]
        found += [] if name.startswith("-") else below or [name]
    return found


COMMANDS = commands()

#: For every command that tells something, a call that has something to tell.
CALLS = {
    "advise": "true.csv --column income --share 0.2 --privacy 50 --draws 1 --confirmations 4 --out OUT",
    "attack": "noisy.csv --column income --noise uniform:125 --truth true.csv --out OUT",
    "audit": "people.csv --tables sex*ill --tables sex*age --by town --out OUT",
    "bounds": "run --where sex=f",
    "census audit": "homes.parquet --max-columns 1 --out OUT",
    "census likely": "homes.parquet --prior homes.json --workers 1 --out OUT",
    "census prior": "homes.parquet --model independent --out OUT.json",
    "census protect": "homes.parquet --area AREA --forbid singletons,k>=10 --moves drop --out OUT",
    "census summary": "blocks --homes homes.parquet --out OUT.json",
    "census tables": "P16",
    "census write-counts": "homes.parquet --out OUT.csv",
    "check": "people.csv --sensitive ill --reconstruction 0.3:0.3 --retention 0.5 --out OUT",
    "compare": "people.csv --sensitive ill --methods uniform --retention 0.5 --runs 1 --queries 5 --out OUT",
    "count": "public --by age",
    "demo": "--areas 1 --out OUT",
    "export": "run --vipr OUT",
    "import": "counts.csv --out OUT",
    "likely": "run --prior prior.json --workers 1 --out OUT",
    "perturb": "true.csv --column income --noise uniform:125 --out OUT.csv",
    "prior": "people.csv --by town --out OUT.json",
    "protect": "people.csv --tables sex*ill --by town --forbid singletons --out OUT",
    "publish": "people.csv --sensitive ill --retention 0.5 --out OUT",
    "recover": "run --out OUT.html",
    "report": "run --html OUT.html",
    "schema": "people.csv --out OUT.toml",
    "simulate": "--blocks 1 --seed 1 --out OUT.parquet",
    "verify": "run",
    "worlds": "run --n 2 --out OUT.csv",
}

#: What a verbose command says that it does.
STEPS = {
    "audit": ("reading", "auditing", "writing the page"),
    "bounds": ("reading", "bounding A", "bounding B"),
    "census audit": ("reading", "auditing", "writing the page"),
    "census likely": ("reading", "sampling", "writing the page"),
    "census prior": ("reading", "fitting"),
    "census summary": ("summarising",),
    "census write-counts": ("reading", "counting"),
    "check": ("counting groups", "checking", "writing the page"),
    "compare": ("counting groups and drawing queries", "comparing", "writing", "writing the page"),
    "count": ("counting",),
    "demo": ("simulating", "auditing", "writing the page", "checking"),
    "export": ("exporting",),
    "attack": ("reading", "attacking", "measuring", "writing", "writing the page"),
    "advise": ("reading", "searching", "following the curve", "writing", "writing the page"),
    "import": ("reading", "writing", "writing the page"),
    "likely": ("reading", "sampling", "writing the page"),
    "perturb": ("reading", "writing"),
    "prior": ("reading", "fitting"),
    "protect": ("reading", "protecting", "writing the page"),
    "publish": ("publishing", "writing the page"),
    "recover": ("reading", "recovering", "writing the page"),
    "report": ("writing the page",),
    "schema": ("reading",),
    "simulate": ("simulating",),
    "verify": ("checking",),
    "worlds": ("reading", "searching"),
}


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with something for every command."""
    folder = tmp_path_factory.mktemp("things")
    before = Path.cwd()
    os.chdir(folder)
    draw = random.Random(1)  # noqa: S311 - made-up people
    rows = [
        ",".join(draw.choice(values) for values in ("AB", "fm", ("young", "old"), ("no", "yes")))
        for _ in range(60)
    ]
    Path("people.csv").write_text("\n".join(["town,sex,age,ill", *rows, ""]), "utf-8")
    incomes = [f"{draw.gauss(100, 20):.1f}" for _ in range(300)]
    Path("true.csv").write_text("\n".join(["income", *incomes, ""]), "utf-8")
    Path("counts.csv").write_text("sex,persons\nf,3\nm,c\nTotal,7\n", "utf-8")
    Path("long.csv").write_text(f"{LONG},sex\na,f\nb,m\n", "utf-8")
    Path("long.toml").write_text(f'[[tables]]\nformula = "{LONG}"\n', "utf-8")
    for call in (
        "perturb true.csv --column income --noise uniform:125 --out noisy.csv",
        "audit people.csv --tables sex*ill --by town --no-report --out run",
        "prior people.csv --by town --out prior.json",
        "publish people.csv --sensitive ill --retention 0.5 --no-report --out public",
        "simulate --blocks 1 --seed 13 --out homes.parquet",
        "census audit homes.parquet --max-columns 2 --no-report --out blocks",
        "census prior homes.parquet --model independent --out homes.json",
    ):
        assert main([*call.split(), "--quiet"]) in (0, 1), call
    yield folder
    os.chdir(before)


@pytest.fixture
def run(things: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(things)
    return runner(capsys)


def words(command: str, out: Path) -> list[str]:
    text = CALLS[command].replace("OUT", str(out)).replace("AREA", "010010000010001")
    return [*command.split(), *text.split()]


def test_every_command_is_tried() -> None:
    assert set(CALLS) == set(COMMANDS) - {"completion"}
    assert set(STEPS) == set(CALLS) - {"census protect", "census tables"}


@pytest.fixture(scope="module")
def helps() -> dict[str, str]:
    """What commands say about themselves, once asked for."""
    return {}


class TestHelp:
    @pytest.mark.parametrize("command", ["", "census", *COMMANDS])
    def test_has_an_example(self, run: Run, helps: dict[str, str], command: str) -> None:
        shown = helps[command] = run(*command.split(), "--help").out
        assert re.search(r"^Examples?:$", shown, re.M)
        examples = shown[shown.index("Example") :]
        assert f"showthrough {command}".strip() in examples

    @pytest.mark.parametrize("command", COMMANDS)
    def test_examples_name_options_that_exist(self, run: Run, helps: dict[str, str], command: str) -> None:
        shown = helps.get(command) or run(*command.split(), "--help").out
        known, examples = shown.split("Example", 1)
        own = [
            line for line in re.sub(r"\\\n", " ", examples).splitlines() if f"showthrough {command} " in line
        ]
        for option in re.findall(r"(?<=\s)--[a-z-]+", " ".join(own)):
            assert option in known, option


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_scripts_name_commands_and_options(self, run: Run, shell: Literal["bash", "zsh", "fish"]) -> None:
        ran = run("completion", shell)
        assert ran.code == 0
        assert ran.out == (SCRIPTS / f"showthrough.{shell}").read_text("utf-8")
        for word in ("audit", "write-counts", "retention", "partitioned"):
            assert word in ran.out

    def test_an_unknown_shell(self, run: Run) -> None:
        ran = run("completion", "bsh")
        assert ran.code == 2
        assert 'Did you mean "bash"?' in ran.err

    @pytest.mark.parametrize(
        ("typed", "completed"),
        [
            ("au", {"audit"}),
            ("census s", {"summary"}),
            ("publish --ret", {"--retention"}),
            ("publish people.csv --method p", {"partitioned", "product"}),
        ],
    )
    def test_bash_completes(self, run: Run, tmp_path: Path, typed: str, completed: set[str]) -> None:
        if (bash := shutil.which("bash")) is None:
            pytest.skip("bash is missing")
        script = tmp_path / "completion.sh"
        script.write_text(run("completion", "bash").out, "utf-8")
        given = ["showthrough", *typed.split()]
        asked = (
            f"source {script}; COMP_WORDS=({' '.join(given)}); COMP_CWORD={len(given) - 1}; _showthrough; "
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run([bash, "--norc", "-c", asked], capture_output=True, text=True, check=True)
        assert set(done.stdout.split()) == completed, done.stderr


class TestSuggestions:
    @pytest.mark.parametrize(
        ("call", "meant"),
        [
            ("adit", "audit"),
            ("census sumary blocks", "summary"),
            ("advise true.csv --column incom --share 0.1 --privacy 50", "income"),
            ("advise true.csv --column income --share 0.1 --privacy 50 --family gausian", "gaussian"),
            ("attack noisy.csv --column Incom --noise uniform:125", "income"),
            ("attack noisy.csv --column income --noise unifrom:125", "uniform"),
            ("attack noisy.csv --column income --noise uniform:125 --truth ture.csv", "true.csv"),
            ("attack people.csv --public agee --sensitive ill --epsilon 0.1", "age"),
            ("audit people.csv --tables sx*ill --out o", "sex"),
            ("audit people.csv --tables SEX --out o", "sex"),
            ("audit people.csv --tables sex --columns agee --out o", "age"),
            ("audit people.csv --tables sex --by twon --out o", "town"),
            ("audit people.csv --tables sex --claims prooved --out o", "proved"),
            ("audit peple.csv --tables sex --out o", "people.csv"),
            ("bounds run --where sx=f", "sex"),
            ("bounds run --where ill=yess", "yes"),
            ("bounds run --where sex=f --area a", "A"),
            ("census audit homes.parquet --by blok --out o", "block"),
            ("census audit homes.parquet --renter publshed --out o", "published"),
            (
                "census protect homes.parquet --area 01001000001001 --forbid singletons --out o",
                "010010000010001",
            ),
            ("census summary blocks --homes home.parquet", "homes.parquet"),
            ("census tables P166", "P16"),
            ("census tables P16 --cells botom", "bottom"),
            ("census write-counts homes.parquet --by blok --out c.csv", "block"),
            ("check people.csv --sensitive il --rho 0.1:0.5", "ill"),
            ("compare people.csv --sensitive ill --methods unifrm --retention 0.5", "uniform"),
            ("compare people.csv --sensitive ill --methods uniform --retention 0.5 --pool crossd", "crossed"),
            (
                "compare people.csv --sensitive ill --methods uniform --retention 0.5 --sweep retntion=0.1",
                "retention",
            ),
            ("count public --where ag=old", "age"),
            ("count public --where age=od", "old"),
            ("count public --by agee", "age"),
            ("perturb true.csv --column incme --noise uniform:1 --out n.csv", "income"),
            ("protect people.csv --tables sex --forbid singeltons --out o", "singletons"),
            ("protect people.csv --tables sex --forbid singletons,hiden --out o", "hidden"),
            ("protect people.csv --tables sex --forbid sensitive=sx --out o", "sex"),
            ("protect people.csv --tables sex --forbid singletons --moves supress --out o", "suppress"),
            ("publish people.csv --sensitive ill --method unifrom --retention 0.5 --out o", "uniform"),
            ("publish people.csv --sensitive ill --public agee --retention 0.5 --out o", "age"),
            ("report rnu", "run"),
            ("schema people.csv --by tonw", "town"),
            ("verify rum", "run"),
            ("worlds run --area AA --out w.csv", "A"),
        ],
    )
    def test_names_what_may_have_been_meant(self, run: Run, call: str, meant: str) -> None:
        ran = run(*call.split())
        assert ran.code == 2
        assert ran.out == ""
        assert re.search(rf"[Dd]id you mean ['\"]?{re.escape(meant)}['\"]?( instead of \S+)?\?", ran.err), (
            ran.err
        )

    @pytest.mark.parametrize("command", CALLS)
    def test_options_of_every_command(self, run: Run, tmp_path: Path, command: str) -> None:
        ran = run(*words(command, tmp_path / "made"), "--quite")
        assert ran.code == 2
        assert "Did you mean --quiet?" in ran.err
        assert not list(tmp_path.glob("made*"))

    def test_the_help_of_the_command_is_named(self, run: Run) -> None:
        assert run("census", "audit", "--blub").err.endswith("see showthrough census audit --help\n")

    def test_nothing_is_suggested_for_what_is_like_nothing(self, run: Run) -> None:
        assert "did you mean" not in run("verify", "qqqqqqqq").err.lower()

    @pytest.mark.parametrize(
        "call",
        [
            "LONG",
            "census LONG",
            "verify run --LONG",
            "advise true.csv --column LONG --share 0.1 --privacy 50",
            "attack noisy.csv --column LONG --noise uniform:1",
            "attack noisy.csv --column income --noise LONG",
            "attack noisy.csv --column income --noise uniform:1 --truth LONG",
            "audit LONG --tables sex --out o",
            "audit people.csv --tables LONG --out o",
            "audit people.csv --tables sex --by LONG --out o",
            "audit people.csv --tables sex --workers LONG --out o",
            "audit people.csv --tables sex --engine LONG --out o",
            "audit people.csv --tables sex --out LONG",
            "audit people.csv --release long.toml --out o",
            "audit long.csv --tables age --out o",
            "bounds run --where LONG=f",
            "bounds run --where sex=LONG",
            "bounds run --where sex=f --area LONG",
            "census audit --counts LONG --out o",
            "census protect homes.parquet --area LONG --forbid singletons --out o",
            "census summary LONG",
            "census tables LONG",
            "census write-counts homes.parquet --by LONG --out c.csv",
            "check people.csv --sensitive LONG --rho 0.1:0.5",
            "compare people.csv --sensitive ill --methods LONG",
            "completion LONG",
            "count public --where LONG=a",
            "demo --areas LONG",
            "perturb true.csv --column income --noise uniform:1 --out LONG",
            "protect people.csv --tables sex --forbid LONG --out o",
            "publish people.csv --sensitive LONG --retention 0.5 --out o",
            "report run --html LONG",
            "schema people.csv --columns LONG",
            "simulate --blocks LONG --seed 1 --out h.parquet",
            "worlds run --out LONG",
        ],
    )
    def test_an_endless_name_is_shortened(self, run: Run, call: str) -> None:
        ran = run(*call.replace("LONG", LONG).split())
        assert ran.code == 2
        assert ran.out == ""
        assert len(ran.err) < 1000
        assert "…" in ran.err
        asked = run(*call.replace("LONG", LONG).split(), "--json")
        assert len(json.loads(asked.out)["error"]) < 1000

    def test_a_note_is_shortened_too(self, run: Run, tmp_path: Path) -> None:
        ran = run("audit", "long.csv", "--tables", "sex", "--no-report", "--out", str(tmp_path / "run"))
        assert re.search(r"left out: x+…y+$", ran.err.strip())
        assert len(ran.err) < 1000


def test_endless_labels_are_cut(run: Run, tmp_path: Path) -> None:
    """In what is printed, and in the page."""
    label = "x" * 100_000
    (tmp_path / "p.csv").write_text(f"town,age,sex\n{label},old,f\n{label},{label},m\nB,old,m\n", "utf-8")
    audited = run(
        "audit",
        str(tmp_path / "p.csv"),
        "--tables",
        "age*sex",
        "--by",
        "town",
        "--out",
        str(tmp_path / "run"),
    )
    bounded = run("bounds", str(tmp_path / "run"), "--where", "sex=m")
    for ran in (audited, bounded):
        assert ran.code in (0, 1)
        assert "xxx…xxx" in ran.out
        assert max(len(word) for word in ran.out.split()) <= 300
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    shown = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.S)
    assert "xxx…xxx" in shown
    assert max(len(word) for word in shown.split()) <= 500


class TestQuietAndVerbose:
    @pytest.mark.parametrize("command", CALLS)
    def test_quiet_prints_nothing(self, run: Run, tmp_path: Path, command: str) -> None:
        ran = run(*words(command, tmp_path / "made"), "--quiet")
        assert ran.code in (0, 1)
        assert ran.out == ""
        assert ran.err == ""
        if "OUT" in CALLS[command]:
            assert list(tmp_path.glob("made*"))

    @pytest.mark.parametrize("command", STEPS)
    def test_verbose_says_what_is_done_and_how_long_it_took(
        self, run: Run, tmp_path: Path, command: str
    ) -> None:
        ran = run(*words(command, tmp_path / "made"), "--verbose", "--json")
        assert ran.code in (0, 1)
        assert isinstance(json.loads(ran.out), list if command == "recover" else dict)
        done = re.findall(r"^(.+): \d+\.\d s$", ran.err, re.M)
        begun = re.findall(r"^(.+) …$", ran.err, re.M)
        assert list(STEPS[command]) == [step for step in begun if step in STEPS[command]]
        assert sorted(begun) == sorted(done)

    @pytest.mark.parametrize("command", CALLS)
    def test_both_contradict_each_other(self, run: Run, tmp_path: Path, command: str) -> None:
        ran = run(*words(command, tmp_path / "made"), "--quiet", "--verbose")
        assert ran.code == 2
        assert "contradict each other" in ran.err
        assert not list(tmp_path.glob("made*"))


#: Calls whose lines are wide where there is room.
WIDE = (
    "publish --help",
    "--help",
    "count public --by age,sex",
    "census summary blocks --homes homes.parquet",
    "census tables",
    "compare people.csv --sensitive ill --methods uniform --retention 0.5 --runs 2 --queries 9",
    "check people.csv --sensitive ill --reconstruction 0.3:0.3 --retention 0.5",
    "verify run",
)


@pytest.fixture(scope="module")
def narrow(things: Path) -> dict[str, str]:
    """What each of them shows on a terminal of 60 columns without colour; bold is left out."""
    shown = on_terminal(WIDE, things, columns=60)
    return {call: re.sub(r"\x1b\[(0|1)m", "", text) for call, text in zip(WIDE, shown, strict=True)}


class TestNarrowTerminals:
    @pytest.mark.parametrize("call", WIDE)
    def test_sixty_columns_without_colour(self, narrow: dict[str, str], call: str) -> None:
        shown = narrow[call]
        assert shown.strip()
        assert max(map(len, shown.splitlines())) <= 60
        assert not re.search(r"\x1b\[[0-9;]*[34][0-9]", shown), "colours"
        figures = re.sub(r"\[[\d.,=a-z]*\]|showthrough .*", "", shown)
        assert not re.search(r"[\d%]…|…[\d%]", figures), "numbers are whole"

    def test_colours_where_they_are_wanted(self, things: Path) -> None:
        (shown,) = on_terminal(["verify run"], things, columns=60, NO_COLOR="")
        assert "\x1b[1;32m" in shown

    def test_columns_share_what_room_there_is(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        terminal = Terminal()
        monkeypatch.setattr(terminal.out, "width", 30)
        terminal.table([("what", "a long head", "n"), ("some words here", "1,234 ± 567", "9")], indent=0)
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 30
        assert any("1,234 ± 567" in line for line in lines)

    def test_columns_that_do_not_fit_follow_below(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Every part has the first column again, and no number is broken."""
        terminal = Terminal()
        monkeypatch.setattr(terminal.out, "width", 26)
        shares = ("25.0\xa0%", "under 0.1\xa0%", "100\xa0%", "3.4\xa0%")
        terminal.table([("privacy", "as", "posterior", "be", "ideal"), ("±35 %", *shares)])
        assert capsys.readouterr().out.replace("\xa0", " ") == (
            "  privacy     as posterior\n"
            "  ±35 %   25.0 %     under\n"
            "                     0.1 %\n\n"
            "  privacy      be   ideal\n"
            "  ±35 %     100 %   3.4 %\n"
        )


#: Runs its arguments as calls, one after the other, in a process of its own.
IN_TURN = (
    "import sys\n"
    "from showthrough.cli import main\n"
    "for call in sys.argv[1:]:\n"
    "    assert main(call.split()) in (0, 1), call\n"
    "    print('\\f', end='', flush=True)\n"
)


def on_terminal(calls: Sequence[str], folder: Path, *, columns: int, **env: str) -> list[str]:
    """What each call shows on one terminal, with lines as they end there."""
    ours, theirs = pty.openpty()
    wanted = {"COLUMNS": str(columns), "TERM": "xterm-256color", "NO_COLOR": "1"} | env
    process = subprocess.Popen(
        [sys.executable, "-c", IN_TURN, *calls],
        cwd=folder,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **wanted},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait() == 0
    *texts, after = shown.decode().replace("\r\n", "\n").split("\f")
    assert not after
    return texts


class TestTables:
    def test_three_columns_and_an_estimate_fit_eighty_characters(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        terminal = Terminal()
        monkeypatch.setattr(terminal.out, "width", 80)
        row = ("18 to 39", "f", "North of the river", "diabetes mellitus type 2", "107", "26 and 192")
        heads = ("age", "sex", "region", "disease", "about", "between (95\xa0% confidence)")
        terminal.table([heads, row, row], indent=0)
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 80
        assert lines[-1] == lines[-2], "a row is a line"
        assert lines[-1].startswith("18 to 39")
        assert lines[-1].endswith("26 and 192")

    def test_text_in_the_last_column_stands_on_the_left(self, capsys: pytest.CaptureFixture[str]) -> None:
        Terminal().table([("mark", "because"), ("[c]", "not declared"), ("x", "given")], indent=0)
        assert capsys.readouterr().out == "mark   because\n[c]    not declared\nx      given\n"


class TestRates:
    """The rate of a progress bar is that of the work done since it appeared."""

    def watched(self, seconds: list[float]) -> tuple[Watched, Task]:
        clock = iter([0.0, *seconds])
        now = [0.0]

        def tick() -> float:
            now[0] = next(clock, now[0])
            return now[0]

        bar = Progress(get_time=lambda: now[0], auto_refresh=False)
        task = bar.add_task("auditing", total=1000)
        bar.get_time = tick
        return Watched(bar, task), bar.tasks[0]

    def test_steps_that_end_together_do_not_raise_it(self) -> None:
        progress, task = self.watched([10.0, 10.01])
        progress(40)
        progress(40)
        assert task.completed == 80
        assert task.fields["rate"] == pytest.approx(8, rel=0.01)  # and not 40 in a hundredth of a second

    def test_what_was_done_before_does_not_count(self) -> None:
        progress, task = self.watched([5.0, 5.0])
        progress.resumed(900)
        progress(10)
        assert task.completed == 910
        assert 1.9 < task.fields["rate"] <= 2.1
