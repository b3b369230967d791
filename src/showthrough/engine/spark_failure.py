"""What went wrong on a cluster, in one line: the cause, rather than what it caused."""

from __future__ import annotations

import re

__all__ = [
    "explain_failure",
    "root_cause",
]

#: A line that names an error, of Python or of Java, perhaps after what it is said about.
_ERROR = re.compile(
    r"(?:.*most recent failure: .*?\): |Caused by: |: )?((?:[\w$]+\.)*\w*(?:Error|Exception|Interrupt)\b: .*)"
)

#: Errors that only say that there was another one.
_WRAPPERS = re.compile(r"(org\.apache\.spark\.|py4j\.|pyspark\.)|.*(Job aborted|Traceback)")

#: What a cause suggests to do.
_REMEDIES = {
    "Cannot run program": "install the same Python at the same path on every machine, or set PYSPARK_PYTHON",
    "No module named": "install the same packages on every machine, or ship them with the job",
    "PYTHON_VERSION_MISMATCH": "install the same version of Python on every machine",
    "No such file or directory": "use files and folders that every machine sees under the same path",
    "No space left on device": "free some space, or choose another folder for temporary files",
    "OutOfMemoryError": "give executors more memory, or fewer cores each",
}


def root_cause(problem: BaseException) -> str:
    """The line of a long trace that says what happened; nothing if there is none.

    >>> root_cause(ValueError("calling o59.collectToPython\\n: org.apache.spark.SparkException: Job "
    ...     "aborted\\nCaused by: java.io.IOException: Cannot run program \\"python9\\": error=2"))
    'java.io.IOException: Cannot run program "python9": error=2'
    """
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    named = [found[1] for line in lines if (found := _ERROR.match(line))]
    causes = [line for line in named if not _WRAPPERS.match(line)]
    for word in _REMEDIES:
        if known := [line for line in causes if word in line]:
            return known[-1]
    python = [line for line in causes if not line.startswith(("java.", "javax.", "scala."))]
    if python or causes or named:
        return (python or causes or named)[-1]
    return "" if not lines or lines[0].startswith("[JAVA_GATEWAY_EXITED]") else lines[0]


def explain_failure(problem: BaseException) -> str:
    """The cause, with what to do about it where that is known."""
    cause = root_cause(problem) or type(problem).__name__
    remedy = next((what for word, what in _REMEDIES.items() if word in cause), "")
    return f"{cause} ({remedy})" if remedy else cause
