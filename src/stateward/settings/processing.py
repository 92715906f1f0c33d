"""How documents are processed: workers, coordinator, limits, reviews and watched folders."""

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta, field

from stateward.core.clocks import ClockLimits
from stateward.core.field_docs import about
from stateward.core.redelivery import RedeliveryLimits
from stateward.definition.section import MIB, Bytes, Count, Name, Problem, Seconds, Section, Wait


class WorkerSettings(Section, frozen=True, kw_only=True):
    """How stages are run, and what a runner may use."""

    processes: Annotated[int, about("Worker processes on this machine.", ge=1, le=1024)] = 2
    inline_window: Annotated[
        Count, about("Jobs of inline stages that are dispatched and settled together.")
    ] = 256
    prefetch: Annotated[
        int,
        about(
            "Jobs that a process fetches ahead of the one it runs, at least; where jobs are quick it "
            "fetches more by itself. Their records count as running meanwhile.",
            ge=0,
            le=1000,
        ),
    ] = 0
    heartbeat_seconds: Annotated[
        Seconds, about("How often a worker reports that its job is still running.")
    ] = 5.0
    lease_seconds: Annotated[
        Seconds,
        about(
            "Time without a heartbeat after which a job is given to another worker: at least two "
            "heartbeats."
        ),
    ] = 15.0
    deliveries_max: Annotated[
        Count,
        about(
            "Processes (workers or their children) that may die after they had begun a document before "
            "its attempt counts as failed. What dies before it began the document does not count here."
        ),
    ] = 3
    redeliveries_max: Annotated[
        Count,
        about(
            "Times that a job is delivered again in all, because its worker or child process died; a "
            "larger `deliveries_max` counts instead."
        ),
    ] = 10
    cpu_seconds: Annotated[
        Seconds | None, about("Processor time of one attempt; null: the timeout of its stage.")
    ] = None
    memory_bytes: Annotated[Bytes, about("Memory of one attempt.")] = 1024 * MIB
    file_bytes: Annotated[Bytes, about("The largest file that an attempt may write.")] = 1024 * MIB
    scratch_bytes_max: Annotated[
        Bytes, about("All that an attempt may have in its scratch folder at once.")
    ] = 2048 * MIB
    open_files: Annotated[Count, about("Files that an attempt may hold open at once.")] = 256
    processes_max: Annotated[Count, about("Processes and threads that an attempt may start.")] = 64
    items_max: Annotated[Count, about("Items that one attempt may produce.")] = 5_000_000
    item_bytes_max: Annotated[Bytes, about("The largest item, as JSON.")] = MIB
    items_bytes_max: Annotated[Bytes, about("All items of one attempt together, as JSON.")] = (
        1024 * MIB
    )
    files_max: Annotated[
        int, about("Derived files that one attempt may save.", ge=0, le=100_000)
    ] = 200
    files_bytes_max: Annotated[Bytes, about("All derived files of one attempt together.")] = (
        256 * MIB
    )
    log_bytes_max: Annotated[
        Bytes, about("The log of one attempt; what exceeds it is cut off.")
    ] = MIB
    jobs_per_child: Annotated[
        Count, about("Jobs that a child process runs before a fresh one replaces it.")
    ] = 2000
    recycle: Annotated[
        Literal["always", "owner", "jobs"],
        about(
            "When a child process is replaced by a fresh one, besides after `jobs_per_child`: `always` "
            "before every job, `owner` before a document that another person or key submitted, `jobs` never. What a "
            "hostile document plants in a child can see the documents that come after it there."
        ),
    ] = "owner"
    readable: Annotated[
        tuple[str, ...],
        about(
            "Files and folders that runners may read besides libraries, the code of the pipelines, paths "
            "in their options and their own document: such as models."
        ),
    ] = ()
    confinement: Annotated[
        Literal["required", "available"],
        about(
            "`required`: no worker starts on a machine where the kernel cannot keep runners from other "
            "documents and from sockets, as in the enterprise profile. `available`: it starts, and the log says what "
            "is missing."
        ),
    ] = "available"
    transient_attempts: Annotated[
        int,
        about(
            "Attempts at a job that fails with `TransientFailure`, before that counts as a failure.",
            ge=1,
            le=100,
        ),
    ] = 3
    transient_backoff_seconds: Annotated[
        Wait, about("The wait before the second of them; it doubles each time.")
    ] = 0.5

    def problems(self) -> Iterator[Problem]:
        """One lost heartbeat must not cost a job; an item is one of the items."""
        least = 2 * self.heartbeat_seconds
        if self.lease_seconds < least:
            message = f"must be at least two heartbeats ({least:g}), not {self.lease_seconds:g}"
            yield ("lease_seconds",), f"lease_seconds {message}"
        if self.item_bytes_max > self.items_bytes_max:
            message = f"at most items_bytes_max ({self.items_bytes_max}), not {self.item_bytes_max}"
            yield ("item_bytes_max",), f"item_bytes_max must be {message}"
        for path in self.readable:
            if not path.startswith("/"):
                yield ("readable",), f"readable names absolute paths, not {path!r}"

    @property
    def redelivery(self) -> RedeliveryLimits:
        """How often work is delivered again whose worker or child process died."""
        return RedeliveryLimits(
            deliveries_max=self.deliveries_max, redeliveries_max=self.redeliveries_max
        )


class CoordinatorSettings(Section, frozen=True, kw_only=True):
    """How events are handled."""

    batch_max: Annotated[int, about("Events decided and committed together.", ge=1, le=10_000)] = (
        512
    )
    idle_seconds: Annotated[
        Seconds, about("The longest sleep when nothing wakes the coordinator.")
    ] = 30.0
    ageing_seconds: Annotated[
        Seconds,
        about("A record that has waited this long goes before newer ones of higher priority."),
    ] = 600.0
    clock_ahead_seconds_max: Annotated[
        Seconds,
        about(
            "How far the clock of this machine may be ahead, at the start, of the time that has passed "
            "since the last one by the kernel's count, or of the clock of a database server elsewhere. Beyond it no "
            "deadline fires until `stateward clock confirm`."
        ),
    ] = 3600.0
    clock_gap_seconds_max: Annotated[
        Seconds,
        about(
            "The same where nothing else tells the time, because the machine was started anew meanwhile: "
            "the longest time since the installation was last at work."
        ),
    ] = 86_400.0

    @property
    def clock_limits(self) -> ClockLimits:
        """When the clock of this machine is not trusted."""
        return ClockLimits(ahead_s=self.clock_ahead_seconds_max, gap_s=self.clock_gap_seconds_max)


class LimitSettings(Section, frozen=True, kw_only=True):
    """Limits of what is accepted, stored and returned."""

    upload_bytes_max: Annotated[Bytes, about("The largest document.")] = 256 * MIB
    name_chars_max: Annotated[Count, about("The longest name of a document.")] = 255
    message_chars_max: Annotated[
        Count, about("The longest error message that is stored; the rest is cut off.")
    ] = 2000
    page_rows_max: Annotated[Count, about("The most rows in one response.")] = 200


class ReviewSettings(Section, frozen=True, kw_only=True):
    """How people decide reviews. The deadline of a review is a timeout of its state."""

    claim_seconds: Annotated[
        Seconds, about("How long a review stays claimed by the person who took it up.")
    ] = 900.0
    undo_seconds: Annotated[
        Wait,
        about(
            "How long a decision made in the console can be undone by the person who made it. It is stored "
            "at once and takes effect after this time; 0: at once."
        ),
    ] = 10.0
    self_approval: Annotated[
        Literal["auto", "allow", "refuse"],
        about(
            "Whether the person who submitted a document may also approve it; `auto`: not where API keys "
            "exist, because without them people cannot be told apart."
        ),
    ] = "auto"
    link_hours: Annotated[
        float,
        about(
            "How long an approver link can be used, unless its maker says otherwise; at most a week.",
            gt=0,
            le=168,
        ),
    ] = 24.0
    groups: Annotated[
        dict[str, tuple[Name, ...]],
        about(
            "Groups of people, by the names of their keys. A review that declares a `group` is answered by "
            "its members alone, and a second opinion can be asked of a group."
        ),
    ] = field(default_factory=dict)


class WatchSettings(Section, frozen=True, kw_only=True):
    """How `stateward watch` submits the files of a folder."""

    settle_seconds: Annotated[
        Wait, about("How long a file must be unchanged before it is submitted.")
    ] = 2.0
    poll_seconds: Annotated[Seconds, about("How often the folder is listed.")] = 1.0
    after: Annotated[
        Literal["leave", "move"],
        about("What happens to a submitted file: it stays, or moves to `done`."),
    ] = "leave"
    done: Annotated[
        Annotated[str, Meta(min_length=1)],
        Meta(
            description="The folder that submitted files are moved to, relative to the watched one."
        ),
    ] = "done"
    refused: Annotated[
        Annotated[str, Meta(min_length=1)],
        Meta(description="The folder that refused files are moved to, if files are moved."),
    ] = "refused"
