"""Keys of the previous version: read for one version, with a warning that names the present key and the line."""

from pathlib import Path

import pytest

from stateward.core.errors import DeclarationError
from stateward.settings import Settings

FORMER = """\
api: {answers_kept_seconds: 5}
notices:
  mail_on: [review]
  mail_from: a@b.c
  keep_days: 7
ledger:
  hand_over: [backup, https://example.org/x]
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "stateward.yaml"


def test_former_keys_are_read_and_the_warning_names_file_line_and_present_key(config: Path) -> None:
    config.write_text(FORMER, "utf-8")

    with pytest.warns(FutureWarning) as warned:
        settings = Settings.load(config, environ={})

    assert settings.api.idempotency_seconds == 5
    assert settings.notifications.email_on == ("review",)
    assert settings.notifications.email_from == "a@b.c"
    assert settings.notifications.retention_days == 7
    assert settings.ledger.checkpoint_destinations == (
        str(config.parent / "backup"),
        "https://example.org/x",
    )
    assert {each.filename for each in warned} == {str(config)}
    assert [(each.lineno, str(each.message).partition(";")[0]) for each in warned] == [
        (1, "api.answers_kept_seconds: this key is now called 'idempotency_seconds'"),
        (2, "notices: this key is now called 'notifications'"),
        (3, "notices.mail_on: this key is now called 'email_on'"),
        (4, "notices.mail_from: this key is now called 'email_from'"),
        (5, "notices.keep_days: this key is now called 'retention_days'"),
        (7, "ledger.hand_over: this key is now called 'checkpoint_destinations'"),
    ]


def test_a_fault_under_a_former_key_still_names_its_line(config: Path) -> None:
    config.write_text("notices:\n  mail_on: [review]\n  admin_email: a@b.c\n", "utf-8")

    with pytest.warns(FutureWarning), pytest.raises(DeclarationError) as refused:
        Settings.load(config, environ={})

    assert str(refused.value) == (
        f"{config}:3: notifications.admin_email: admin_email and smtp_url are needed together"
    )


def test_a_key_under_both_names_is_refused(config: Path) -> None:
    config.write_text("notices: {}\nnotifications: {}\n", "utf-8")

    with pytest.raises(DeclarationError, match="notices is not a known key"):
        Settings.load(config, environ={})
