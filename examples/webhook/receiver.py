# SPDX-License-Identifier: Apache-2.0
"""Takes the daemon's webhooks and passes each message on once, as {"text": …}, which chats such as Mattermost and Slack
take; without an address it prints them, for a pipe to mail. Python's own library is enough:

    WEBHOOK_SECRET=whsec_… CHAT=https://chat.example/hooks/… python3 receiver.py 127.0.0.1:8090 seen.txt
    accountantd --webhook http://127.0.0.1:8090/ --webhook-secret-file secret.txt …
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
ADDRESS, SEEN = sys.argv[1], sys.argv[2]
MOST = 1 << 16  # bytes of a message


def genuine(headers, body: bytes) -> bool:
    sent = headers.get("webhook-timestamp", "")
    if not sent.isdecimal() or abs(time.time() - int(sent)) > 300:
        return False  # an old message may be somebody's copy
    signed = f"{headers.get('webhook-id', '')}.{sent}.".encode() + body
    mine = "v1," + base64.b64encode(hmac.digest(KEY, signed, hashlib.sha256)).decode()
    return any(hmac.compare_digest(mine.encode(), s.encode()) for s in headers.get("webhook-signature", "").split())


def tell(data: dict) -> None:
    text = " ".join(filter(None, [data["text"], data.get("page")]))
    if chat := os.environ.get("CHAT"):
        body = json.dumps({"text": text}).encode()
        request = urllib.request.Request(chat, body, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=5).close()
    else:
        print(text, flush=True)


class Receiver(BaseHTTPRequestHandler):
    timeout = 10

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        body = self.rfile.read(int(length)) if length.isdecimal() and int(length) <= MOST else b""
        code, name = 204, self.headers.get("webhook-id", "")
        if not genuine(self.headers, body):
            code = 401
        elif name not in seen:
            try:
                tell(json.loads(body)["data"])
                seen.add(name)
                with open(SEEN, "a", encoding="utf-8") as f:
                    f.write(name + "\n")
            except OSError:
                code = 503  # the daemon sends it again
        self.send_response(code)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


with open(SEEN, "a+", encoding="utf-8") as f:
    f.seek(0)
    seen = set(f.read().split())
host, _, port = ADDRESS.rpartition(":")
server = HTTPServer((host, int(port)), Receiver)
print("ready at", server.server_port, file=sys.stderr, flush=True)
server.serve_forever()
