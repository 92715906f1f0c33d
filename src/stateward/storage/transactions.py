"""The transactions of one connection that threads share: they take turns, and a nested transaction joins the outer one.

What begins, commits and undoes them is the database's. Nothing here executes a statement.
"""

from abc import ABC, abstractmethod
from threading import RLock

DOOMED = "a part of this transaction failed, so none of it is written"


class Transactions(ABC):
    """One transaction at a time. An exception in a nested one dooms it, also where a caller catches it."""

    def __init__(self) -> None:
        # Reentrant: a transaction holds it from begin to end, and the statements inside take it again.
        self._lock = RLock()
        self._depth = 0
        self._is_doomed = False
        self._transaction = Transaction(self)

    def transaction(self) -> "Transaction":
        """One transaction. A nested one joins it, and dooms it when it fails."""
        return self._transaction

    @property
    def is_in_transaction(self) -> bool:
        """Whether one is open, of whichever thread."""
        return self._depth > 0

    @abstractmethod
    def _begin(self) -> None:
        """Begin the outermost one."""

    @abstractmethod
    def _commit(self) -> None:
        """Commit it, unless it is doomed."""

    @abstractmethod
    def _undo(self) -> None:
        """Roll it back."""

    @abstractmethod
    def _clean_up(self) -> None:
        """After its end, however it ended."""

    def _enter_outermost(self) -> None:
        try:
            self._begin()
        except BaseException:
            self._lock.release()
            raise
        self._depth, self._is_doomed = 1, False

    def _leave_outermost(self, *, is_failed: bool) -> None:
        try:
            if is_failed:
                self._undo()
            else:
                try:
                    self._commit()
                except BaseException:
                    # One that is refused is still open: the next caller must not join it.
                    self._undo()
                    raise
        finally:
            self._depth = 0
            self._clean_up()
            self._lock.release()


class Transaction:
    """One transaction, as long as the `with` lasts.

    A class and not a generator with @contextmanager, which costs more: this is entered for every write, and mostly
    inside another one, where it only counts. The state is that of the database, which therefore needs only one.
    """

    __slots__ = ("_of",)

    def __init__(self, of: Transactions) -> None:
        self._of = of

    def __enter__(self) -> None:
        of = self._of
        of._lock.acquire()
        if of._depth:
            of._depth += 1
        else:
            of._enter_outermost()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        of = self._of
        if of._depth > 1:
            of._depth -= 1
            of._is_doomed |= kind is not None  # a caller that catches it must not commit half of it
            of._lock.release()
        else:
            of._leave_outermost(is_failed=kind is not None)
