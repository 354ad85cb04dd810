"""What of an exception may be written down."""

import errno

import pytest
import toys

from bakeoff.errors import DataError
from bakeoff.runner.failure import WITHHELD, death, describe, is_private


class LibraryError(OSError):
    """Network libraries subclass OSError and give it messages of their own."""


@pytest.mark.parametrize(
    ("error", "private", "shared"),
    [
        (ValueError(toys.CANARY), WITHHELD, toys.CANARY),
        (DataError("dataset.text=a is no column"), "dataset.text=a is no column", "dataset.text=a is no column"),
        (MemoryError("3 GiB"), "3 GiB", "3 GiB"),
        (LibraryError(toys.CANARY), WITHHELD, toys.CANARY),
        (OSError(errno.ENOSPC, toys.CANARY), "No space left on device", f"[Errno 28] {toys.CANARY}"),
        (OSError(errno.ENOENT, "No such file or directory", "/home/anne/toy.csv"), "No such file or directory: toy.csv", None),
        (OSError(errno.ENOENT, "No such file or directory", toys.CANARY), "No such file or directory", None),
        (OSError(errno.ENAMETOOLONG, "File name too long", f"/{toys.CANARY}"), "File name too long", None),
    ],
)
def test_messages(error: BaseException, private: str, shared: str | None) -> None:
    assert describe(error, private=True).message == private
    assert describe(error, private=False).message == (str(error) if shared is None else shared)


def test_the_trace_names_the_whole_chain_without_messages() -> None:
    try:
        try:
            float(toys.CANARY)
        except ValueError as first:
            raise KeyError(toys.CANARY) from first
    except KeyError as error:
        described = describe(error, private=True)
    assert described.type_ == "KeyError"
    here = "in test_the_trace_names_the_whole_chain_without_messages"
    assert [frame.split(" ", 1)[1] for frame in described.trace] == [here, "by ValueError:", here]
    assert described.trace[1] == "caused by ValueError:"
    assert "canary" not in str(described)


def test_a_loop_of_causes_ends() -> None:
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert describe(first, private=False).trace == ["caused by ValueError:"]


@pytest.mark.parametrize(
    ("exit_code", "message"),
    [
        (9, "the process ended with exit code 9 before it gave an answer"),
        (-9, "the process was killed by signal 9 (SIGKILL): often out of memory"),
        (-11, "the process was killed by signal 11 (SIGSEGV): a crash in native code"),
        (-15, "the process was killed by signal 15 (SIGTERM)"),
        (-250, "the process was killed by signal 250 (unknown)"),
    ],
)
def test_deaths(exit_code: int, message: str) -> None:
    assert death(exit_code).message == message


def test_private_is_neither_redistributable_nor_shared() -> None:
    cases = {(marked, share): is_private(toys.make_run(redistributable=marked), share_texts=share) for marked in (0, 1) for share in (0, 1)}
    assert cases == {(0, 0): True, (0, 1): False, (1, 0): False, (1, 1): False}
