"""`miniclaw acp` with the SDK of the Agent Client Protocol for Python, which checks every message, as docs/acp.md says."""

import asyncio

import acp
import pytest
from acp.schema import AllowedOutcome, ClientCapabilities, RequestPermissionResponse
from programs import MINICLAW, environment, scripted_provider

TITLE = {"match": "Give this conversation a title", "repeat": True, "steps": [{"text": "Tea"}, {"finish": "stop"}]}
CREATE = {
    "match": "make it",
    "steps": [
        {"tool_call": {"id": "c1", "name": "create_file", "arguments": {"items": [{"path": "tea.md", "content": "Green.\n"}]}}},
        {"finish": "tool_calls"},
    ],
}
USAGE = {"usage": {"prompt_tokens": 9, "completion_tokens": 4}}
ANSWER = {"repeat": True, "steps": [{"thinking": "Hm."}, {"text": "Hello, "}, {"text": "企鹅."}, USAGE, {"finish": "stop"}]}


class Editor(acp.Client):
    """Keeps what it is told, and answers questions with options in turn."""

    def __init__(self, *options):
        self.updates, self.questions, self.options = [], [], list(options)

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def request_permission(self, session_id, tool_call, options, **_):
        self.questions.append((tool_call, options))
        option = self.options.pop(0)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option))

    def text(self, kind):
        return "".join(update.content.text for update in self.updates if update.session_update == kind)


class Home:
    def __init__(self, folder, provider):
        self.home, self.project = folder / "home", folder / "project"
        self.project.mkdir()
        (self.home / "workspace").mkdir(parents=True)
        (self.home / "workspace/SOUL.md").write_text("You are an agent.\n")
        (self.home / "config.yml").write_text(
            "find_local_models: false\n"
            f"models: [{{id: mock, api_url: '{provider}/v1', api_key: x, model: mock}}]\n"
        )

    async def with_agent(self, editor, use):
        arguments = ["acp", "--home", str(self.home)]
        async with acp.spawn_agent_process(editor, MINICLAW, *arguments, env=environment()) as (agent, _process):
            hello = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=ClientCapabilities())
            assert hello.agent_info.name == "miniclaw" and hello.agent_capabilities.load_session
            return await use(agent)


@pytest.fixture
def home(tmp_path):
    with scripted_provider(tmp_path, [TITLE, CREATE, ANSWER]) as provider:
        yield Home(tmp_path, provider)


def test_prompt_permission_and_load(home):
    first, second = Editor("link", "once"), Editor()

    async def talk(agent):
        session = (await agent.new_session(cwd=str(home.project), mcp_servers=[])).session_id
        ended = await agent.prompt(session_id=session, prompt=[acp.text_block("make it")])
        assert ended.stop_reason == "end_turn"
        return session

    session = asyncio.run(home.with_agent(first, talk))
    assert (home.project / "tea.md").read_text() == "Green.\n"
    call, options = first.questions[1]
    assert call.kind == "edit" and {option.option_id for option in options} == {"once", "always", "reject"}
    assert any(part.type == "diff" and part.new_text == "Green.\n" for part in call.content)
    assert first.text("agent_message_chunk") == "Hello, 企鹅."

    async def again(agent):
        listed = await agent.list_sessions(cwd=str(home.project))
        assert [known.session_id for known in listed.sessions] == [session]
        loaded = await agent.load_session(session_id=session, cwd=str(home.project), mcp_servers=[])
        assert loaded.modes.current_mode_id == "ask"
        await agent.set_session_mode(session_id=session, mode_id="read-only")
        ended = await agent.prompt(session_id=session, prompt=[acp.text_block("hello")])
        assert ended.stop_reason == "end_turn"

    asyncio.run(home.with_agent(second, again))
    assert second.text("user_message_chunk") == "make it"
    assert second.text("agent_message_chunk") == "Hello, 企鹅." * 2
    calls = [update for update in second.updates if update.session_update == "tool_call"]
    assert [(call.tool_call_id, call.status) for call in calls] == [("c1", "completed")]


def test_rejected_folder_and_unknown_session(home):
    editor = Editor("home")

    async def talk(agent):
        session = (await agent.new_session(cwd=str(home.project), mcp_servers=[])).session_id
        ended = await agent.prompt(session_id=session, prompt=[acp.text_block("hello")])
        assert ended.stop_reason == "end_turn"
        with pytest.raises(acp.RequestError):
            await agent.prompt(session_id="nobody", prompt=[acp.text_block("hello")])

    asyncio.run(home.with_agent(editor, talk))
    assert len(editor.questions) == 1 and not list(home.project.iterdir())
