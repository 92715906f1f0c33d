"""What confines runners on this machine, said exactly: for `stateward doctor`, and for the service when it starts."""

import os

import msgspec

from stateward.workers import confinement


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the confinement: whether this machine has it, and what it does or leaves open."""

    name: str
    is_available: bool
    sentence: str


def sandbox_layers() -> tuple[Layer, ...]:
    """Every part of the confinement, found by asking the kernel, without a child.

    A child reports in `layers` what it really applied.
    """
    abi = confinement.landlock_abi()
    machine = os.uname().machine
    has_calls = machine in confinement.CALLS
    layers = [
        (
            "limits",
            True,
            "memory, processor time, files, scratch and processes of a job are bounded",
        ),
        (
            "landlock",
            abi > 0,
            "a runner reads libraries, the pipelines' code, its own input and its scratch folder, writes in its "
            "scratch folder only, and executes no program that its stage does not declare",
        ),
        (
            "landlock truncate",
            abi >= confinement.ABI_TRUNCATE,
            "a runner cannot cut off files elsewhere",
        ),
        (
            "landlock network",
            abi >= confinement.ABI_NETWORK,
            "a runner opens no TCP connection or port",
        ),
        (
            "landlock signals",
            abi >= confinement.ABI_SCOPES,
            "a runner signals no process outside",
        ),
        (
            "seccomp",
            has_calls,
            "a runner opens no socket, traces no process, executes nothing undeclared, and changes no file's mode or "
            "owner",
        ),
    ]
    if os.geteuid() == 0:
        layers.append(("user", True, "a runner is a user of its own, not root"))
    return tuple(
        Layer(name=name, is_available=is_on, sentence=sentence if is_on else f"missing: {sentence}")
        for name, is_on, sentence in layers
    )


def missing_protection() -> str | None:
    """What is missing where runners are not confined, in a sentence without its full stop; None where they are."""
    if os.uname().machine not in confinement.CALLS:
        return (
            f"there is no list of system calls for {os.uname().machine}: a runner that a document takes over can open "
            "sockets and start programs; run documents of strangers on x86_64 or aarch64"
        )
    if confinement.landlock_abi() > 0:
        return None
    who = "root" if os.geteuid() == 0 else "the user of this service"
    return (
        f"this kernel has no Landlock: a runner that a document takes over can read every file that {who} can read, "
        "the database and all documents among them; run documents of strangers on a kernel of 5.13 or later with "
        "Landlock enabled"
    )
