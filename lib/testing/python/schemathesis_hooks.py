"""Extends Schemathesis: credentials and ids of records that exist, and a serializer for newline-delimited JSON.

The file that KP_SCHEMATHESIS_HOOKS names contains, as JSON:
- `headers`: a list of headers, which the requests use in turn, so that no token reaches its rate limit
- `places`: for the beginning of a path, lists of parameters of records that exist
"""

import json
import os
import random

import schemathesis

with open(os.environ["KP_SCHEMATHESIS_HOOKS"], encoding="utf-8") as file:
    given = json.load(file)
places = sorted(given["places"].items(), key=lambda place: -len(place[0]))
chance = random.Random(given["seed"])
sent = 0


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def lines(context, value):
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    records = value if isinstance(value, list) else [value]
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@schemathesis.hook
def before_call(context, case, kwargs):
    """Sends two thirds of the requests to records that exist."""
    global sent
    # Schemathesis generates credentials of its own.
    case.cookies.clear()
    case.headers.pop("Authorization", None)
    for name, value in given["headers"][sent % len(given["headers"])].items():
        case.headers[name] = value
    sent += 1
    parameters = case.path_parameters
    if not parameters or chance.random() < 1 / 3:
        return
    for beginning, records in places:
        if case.operation.path.startswith(beginning) and records:
            parameters.update({name: value for name, value in chance.choice(records).items() if name in parameters})
            return
