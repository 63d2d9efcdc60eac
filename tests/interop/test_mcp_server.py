"""The MCP server with the official client for Python, over HTTP and over `miniclaw mcp`, as docs/mcp-server.md says."""

import asyncio
import json
import urllib.request

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult
from programs import MINICLAW, Home, environment, scripted_provider

TITLE = {"match": "Give this conversation a title", "repeat": True, "steps": [{"text": "T"}, {"finish": "stop"}]}
RUN = {
    "match": "run it",
    "steps": [
        {"tool_call": {"id": "c1", "name": "terminal", "arguments": {"command": "echo run >> ran.txt"}}},
        {"finish": "tool_calls"},
    ],
}
ANSWER = {"repeat": True, "steps": [{"text": "Hello, "}, {"text": "企鹅."}, {"finish": "stop"}]}


class McpHome(Home):
    """A home with a memory, where commands need approval."""

    def __init__(self, folder, provider):
        (folder / "home/memory").mkdir(parents=True)
        (folder / "home/memory/MEMORY.md").write_text("# Memory\n\nThe quetzalcoatlus is a pterosaur.\n")
        (folder / "home/workspace").mkdir()
        (folder / "home/workspace/SOUL.md").write_text("You are an agent.\n")
        super().__init__(
            folder,
            "find_local_models: false\napprovals: {effects: {execute: ask}}\n"
            f"models: [{{id: mock, api_url: '{provider}/v1', api_key: x, model: mock}}]\n",
        )

    def http(self):
        client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {self.token}"}, timeout=60)
        return streamable_http_client(f"{self.url}/mcp", http_client=client)

    def stdio(self):
        return StdioServerParameters(command=MINICLAW, args=["mcp", "--home", str(self.home)], env=environment())

    def answer(self):
        """Approves what waits, as the page does."""
        page = urllib.request.urlopen(self.url).read().decode()
        secret = page.split('name="miniclaw-secret" content="')[1].split('"')[0]
        waiting = json.load(urllib.request.urlopen(f"{self.url}/api/approvals"))["approvals"][0]
        body = json.dumps({"decision": "approve", "hash": waiting["hash"]}).encode()
        headers = {"Content-Type": "application/json", "X-Miniclaw-Secret": secret}
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/api/approvals/{waiting['id']}", body, headers))


@pytest.fixture
def home(tmp_path):
    with scripted_provider(tmp_path, [TITLE, RUN, ANSWER]) as provider:
        yield McpHome(tmp_path, provider)


async def everything(server, mode):
    async with Client(server, mode=mode) as client:
        assert client.server_info.name == "miniclaw"
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert {"ask", "search_memory", "read_file", "remember"} <= tools and "terminal" not in tools
        found = await client.call_tool("search_memory", {"query": "quetzalcoatlus"})
        assert "pterosaur" in found.structured_content["hits"][0]["text"]
        steps = []

        async def step(progress, total, message):
            steps.append(message)

        answer = await client.call_tool("ask", {"message": "hello"}, progress_callback=step)
        assert answer.structured_content["text"] == "Hello, 企鹅."
        session = answer.structured_content["session"]
        more = await client.call_tool("ask", {"message": "more", "session": session})
        assert more.structured_content["session"] == session
        uris = {str(it.uri) for it in (await client.list_resources()).resources}
        assert "miniclaw:///memory/MEMORY.md" in uris and f"miniclaw:///sessions/{session}" in uris
        read = await client.read_resource("miniclaw:///memory/MEMORY.md")
        assert "pterosaur" in read.contents[0].text
        assert len((await client.list_resource_templates()).resource_templates) == 2
        await client.list_prompts()
        return client.protocol_version


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_and_resources_over_http(home, mode):
    with home.serve():
        version = asyncio.run(everything(home.http(), mode))
    assert (version >= "2026-07-28") == (mode == "auto")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_and_resources_over_stdio(home, mode):
    version = asyncio.run(everything(home.stdio(), mode))
    assert (version >= "2026-07-28") == (mode == "auto")


def test_question_is_answered_on_the_page(home):
    shown = []

    async def elicit(_context, params):
        shown.append(params.url)
        await asyncio.to_thread(home.answer)
        return ElicitResult(action="accept")

    async def ask():
        async with Client(home.http(), elicitation_callback=elicit) as client:
            return await client.call_tool("ask", {"message": "run it"})

    with home.serve():
        answer = asyncio.run(ask())
    assert answer.structured_content["state"] == "done"
    assert shown == [answer.structured_content["page"]]
    assert (home.home / "scratch/ran.txt").read_text() == "run\n"


def test_wrong_token_is_refused(home):
    home.token = "mck_wrong"

    async def connect():
        async with Client(home.http()) as client:
            await client.list_tools()

    with home.serve(), pytest.raises(BaseException):
        asyncio.run(connect())
