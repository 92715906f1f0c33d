"""The reference of settings describes each of them."""

from pathlib import Path

import yaml

from stateward.settings import Settings, describe_settings
from tests.settings.config_files import NOTHING, load_text


def test_every_setting_is_described() -> None:
    settings = describe_settings()

    paths = [each.path for each in settings]
    assert len(paths) == len(set(paths))
    assert all(each.type and each.default and each.description.endswith(".") for each in settings)
    assert {"profile", "data", "store.url", "worker.processes", "notifications.smtp_url"} < set(
        paths
    )
    assert {
        "<machine>_record.retry.backoff_seconds",
        "<machine>_record.timeout_monitoring.<running state>_timeout_seconds",
        "<machine>_record.webhooks.endpoints[].url",
    } < set(paths)


def test_everything_that_is_shown_is_described() -> None:
    described = {each.path for each in describe_settings()}
    shown = Settings.load(profile="business", environ=NOTHING).as_mapping()

    upload = shown.pop("upload_record")
    assert isinstance(upload, dict)
    for section, value in [
        *shown.items(),
        *((f"<machine>_record.{k}", v) for k, v in upload.items()),
    ]:
        keys = value if isinstance(value, dict) else {}
        states = {f"{section}.{key}" for key in keys if key.endswith("ing_timeout_seconds")}
        for key in {f"{section}.{key}" for key in keys} - states:
            assert key in described or any(each.startswith(f"{key}.") for each in described)


def test_a_line_of_the_reference_says_it_all() -> None:
    settings = {each.path: each for each in describe_settings()}

    assert settings["worker.lease_seconds"] == (
        "worker.lease_seconds",
        "a number above 0 and of at most 2592000",
        "15.0",
        "Time without a heartbeat after which a job is given to another worker: at least two heartbeats.",
    )


def test_what_is_shown_can_be_read_again(config: Path) -> None:
    settings = Settings.load(profile="enterprise", environ=NOTHING)

    again = load_text(config, yaml.safe_dump(settings.as_mapping() | {"data": "/d"}))

    assert again.as_mapping() == settings.as_mapping() | {"data": "/d"}
