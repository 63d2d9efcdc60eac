"""An MCP server with as many tools as its argument says. Each returns the text that it gets."""

import json
import sys

COUNT, PAGE = int(sys.argv[1]), 500
VERBS = ["Open", "Close", "Move", "Copy", "Rename", "Archive", "Share", "Colour", "Resize", "Translate"]


def tool(number):
    text = f"{VERBS[number % 10]} object {number} of collection {number // 10} in the workspace."
    return {"name": f"tool_{number}", "description": text,
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}


def answer(method, params):
    if method == "server/discover":
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    if method == "tools/list":
        first = int(params.get("cursor", 0))
        listed = {"tools": [tool(number) for number in range(first, min(first + PAGE, COUNT))]}
        return {**listed, "nextCursor": str(first + PAGE)} if first + PAGE < COUNT else listed
    return {"content": [{"type": "text", "text": params["arguments"].get("text", "")}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
