"""``python -m showthrough.tables.proof RUN`` checks a run folder.

A copy of this folder does the same, wherever it is and whatever it is called: ``python COPY RUN``.
"""

import sys


def _alone() -> str:
    """Make this folder a package of its own, called ``proof_checker``, when it is run as a folder."""
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    here = Path(__file__).resolve().parent
    sys.path[:] = [place for place in sys.path if Path(place or ".").resolve() != here]
    spec = spec_from_file_location(
        "proof_checker", here / "__init__.py", submodule_search_locations=[str(here)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{here} is not the folder of the checker")
    package = module_from_spec(spec)
    sys.modules[spec.name] = package
    spec.loader.exec_module(package)
    return spec.name


if __name__ == "__main__":
    from importlib import import_module

    sys.exit(import_module(f"{__package__ or _alone()}.command").main())
