"""`stateward secrets`: the keys that secrets are encrypted with where they are stored."""

import sys
from pathlib import Path

import click

from stateward.cli.commands import A_FILE, Group
from stateward.cli.context import CliContext, pass_context
from stateward.cli.output import plural

SECRET_CHARS_MAX = 4096


@click.group(
    "secrets",
    cls=Group,
    examples=["stateward secrets rotate", "echo 's3cret' | stateward secrets seal"],
)
def secrets() -> None:
    """Manage the keys that encrypt secrets, and encrypt passwords."""


@secrets.command("create", "stateward secrets create secret.keys")
@click.argument("file", metavar="FILE", type=A_FILE)
@pass_context
def create(context: CliContext, *, file: Path) -> None:
    """Create a key file for machines that share a database.

    Each of them needs the same file: copy it, and name it as `store.secret_key_file`. An installation on one machine
    creates its own.
    """
    from stateward.core.errors import InvalidRequest
    from stateward.storage.sealing import make_key_file

    try:
        key_id = make_key_file(file)
    except FileExistsError:
        raise InvalidRequest(f"{file} exists; a key that is in use must not be replaced") from None
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be written: {error.strerror}") from None
    context.show(
        {"key_id": key_id, "file": str(file)},
        key_id,
        message=f"the key is in {file}: keep a copy apart from the backups",
    )


@secrets.command("rotate", "stateward secrets rotate")
@pass_context
def rotate(context: CliContext) -> None:
    """Create a new key, and encrypt every stored secret with it.

    The secrets themselves do not change, so receivers and workers need nothing. Former keys stay in the file, so that
    backups and encrypted passwords of the settings can still be read. Works while the service runs.
    """
    import msgspec

    from stateward.app.secrets import rotate as rotate_keys
    from stateward.engine.system import person

    with context.local_app() as app:
        done = rotate_keys(app, actor=person())
        path = app.secrets.path
    sealed = f"{plural(done.webhooks, 'webhook')}, {plural(done.workers, 'worker credential')}"
    context.show(
        {**msgspec.to_builtins(done), "file": str(path)},
        done.key_id,
        message=f"sealed with it: {sealed}; the key is in {path}: keep a copy",
    )


@secrets.command("seal", "echo 's3cret' | stateward secrets seal")
@pass_context
def seal(context: CliContext) -> None:
    """Encrypt a password from standard input, for a settings file.

    Put the output in place of the password in `notifications.smtp_url` and `store.url`. Only the key file of this
    installation decrypts it.
    """
    from stateward.app.key_file import key_path
    from stateward.core.errors import InvalidRequest
    from stateward.storage.sealing import SETTINGS, SecretKeys

    given = sys.stdin.read(SECRET_CHARS_MAX + 1).rstrip("\n")
    if not given or len(given) > SECRET_CHARS_MAX or "\n" in given:
        raise InvalidRequest(f"give one line of 1 to {SECRET_CHARS_MAX} characters on stdin")
    # Without the database: its own password may be what is sealed.
    sealed = SecretKeys(key_path(context.settings())).seal(given, purpose=SETTINGS)
    context.show({"sealed": sealed}, sealed)
