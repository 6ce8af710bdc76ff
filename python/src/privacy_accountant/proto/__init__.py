"""The API's messages, generated from proto/accountant/v1 by generate.py: do not edit."""
from .answer_pb2 import *  # noqa: F403
from .audit_pb2 import *  # noqa: F403
from .calibrate_pb2 import *  # noqa: F403
from .curve_pb2 import *  # noqa: F403
from .ledger_pb2 import *  # noqa: F403
from .mechanism_pb2 import *  # noqa: F403
from .options_pb2 import *  # noqa: F403
from .overview_pb2 import *  # noqa: F403
from .services_pb2 import *  # noqa: F403
