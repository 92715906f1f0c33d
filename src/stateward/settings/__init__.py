"""Every setting by area, its default, and where its value comes from.

A profile (a file in `profiles/`) is overridden by the user's file, that by the environment, and that by arguments.
This package alone reads settings files and environment variables. It must never open a store, start anything, or
show a password.

The areas: `machines` (one state machine), `storage`, `processing`, `server`, `notifications`; each pipeline brings the
section of its own name. `definition.section` holds what they are made of, `sources` reads, `load` merges, `describe`
documents.
"""

from stateward.definition.section import mask_secrets
from stateward.settings.describe import SettingDescription
from stateward.settings.feed import FeedSettings
from stateward.settings.load import (
    DATABASE,
    Settings,
    SettingsRefused,
    describe_settings,
    environment_variables,
    unread_variables,
)
from stateward.settings.machines import PRIORITIES, Endpoint, MachineSettings, RecordSettings
from stateward.settings.notifications import NotificationSettings, TelemetrySettings
from stateward.settings.processing import (
    CoordinatorSettings,
    LimitSettings,
    ReviewSettings,
    WatchSettings,
    WorkerSettings,
)
from stateward.settings.server import ApiSettings, ServerSettings
from stateward.settings.sources import CRASH_AT, PROFILES
from stateward.settings.storage import (
    AnchorSettings,
    ArtifactSettings,
    BackupSettings,
    LedgerSettings,
    RetentionRule,
    RetentionSettings,
    StoreSettings,
)
from stateward.settings.transport import TransportSettings

__all__ = [
    "CRASH_AT",
    "DATABASE",
    "PRIORITIES",
    "PROFILES",
    "AnchorSettings",
    "ApiSettings",
    "ArtifactSettings",
    "BackupSettings",
    "CoordinatorSettings",
    "Endpoint",
    "FeedSettings",
    "LedgerSettings",
    "LimitSettings",
    "MachineSettings",
    "NotificationSettings",
    "RecordSettings",
    "RetentionRule",
    "RetentionSettings",
    "ReviewSettings",
    "ServerSettings",
    "SettingDescription",
    "Settings",
    "SettingsRefused",
    "StoreSettings",
    "TelemetrySettings",
    "TransportSettings",
    "WatchSettings",
    "WorkerSettings",
    "describe_settings",
    "environment_variables",
    "mask_secrets",
    "unread_variables",
]
