"""Notices: what leaves the house by itself. Webhooks by the rules of Standard Webhooks 1.0, and mail to the admin.

`notifier` follows the committed log and has things sent; `outbox` and `letters` are what is to be sent, durable until
it is; `endpoints` is who is told; `addresses`, `sending`, `signing`, `messages` and `mail` are how; `desk` is what
doors ask. Nothing in here writes a status, and nothing waits for a receiver but the notifier's own threads.
"""

from stateward.notices.addresses import Allowed, Refused
from stateward.notices.deliveries import Attempt, Delivery, State
from stateward.notices.desk import Desk
from stateward.notices.endpoints import Endpoints, Webhook
from stateward.notices.letters import Letters
from stateward.notices.notifier import Mailing, Notifier
from stateward.notices.outbox import Outbox

__all__ = [
    "Allowed",
    "Attempt",
    "Delivery",
    "Desk",
    "Endpoints",
    "Letters",
    "Mailing",
    "Notifier",
    "Outbox",
    "Refused",
    "State",
    "Webhook",
]
