"""The key file of an installation, and the addresses of the settings whose passwords are sealed with it."""

from pathlib import Path

from stateward.settings import Settings
from stateward.storage.sealing import SETTINGS, SecretKeys, open_url

KEY_FILE = "secret.keys"


def key_path(settings: Settings) -> Path:
    """The file with the keys that secrets are sealed with."""
    named = settings.store.secret_key_file
    return settings.data_path.absolute() / KEY_FILE if named is None else Path(named)


def opened_store_url(settings: Settings) -> str:
    """The address of the database with its password as it is."""
    keys = SecretKeys(key_path(settings), is_new=lambda: False)
    return open_url(settings.store.url, lambda text: keys.open(text, purpose=SETTINGS))
