//! A request to the agent: its message, the conversation that it belongs to, and the session that it names.

use axum::http::{HeaderMap, StatusCode};
use sha2::{Digest, Sha256};

use super::error::invalid;
use super::message::{Conversation, Entry, EntryFile, UserEntry};
use super::parameters::{Parameters, header};
use crate::api::chat::attachments::{Attached, Encoding, prompt};
use crate::api::error::ApiError;
use crate::api::security::caller::Caller;
use crate::clock;
use crate::domain::client_chain::{ClientTurn, person_text};
use crate::domain::{ClientRequest, ClientResult, Message, Role, SessionId, UserPrompt, WorkId};
use crate::engine::client_turns::{ClientMessage, ClientSession, ClientTurnWork};

/// The session of the work, in requests and responses.
pub const SESSION_HEADER: &str = "x-miniclaw-session";
/// Whether a work goes on when its program goes away: `stop` or `continue`.
const ON_DISCONNECT: &str = "x-miniclaw-on-disconnect";
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The headers in which known programs name their chat.
const CHAT_HEADERS: [&str; 2] = ["x-openwebui-chat-id", "x-conversation-id"];
const MAX_CHAT_ID: usize = 512;
/// Maximum characters of instructions that are kept; the prompt has the first 20,000.
const MAX_INSTRUCTIONS: usize = 20_000;

/// What a request says of its conversation beside the messages.
#[derive(Debug, Default)]
pub struct Naming {
    /// The id of the program's chat.
    pub chat: Option<String>,
    /// Tells conversations apart that begin in the same way, and merges none.
    pub salt: Option<String>,
    pub repeat_key: Option<String>,
    /// The session that the program names.
    pub session: Option<SessionId>,
    /// The work that the message follows; the program does not send what was said before.
    pub previous: Option<Previous>,
    /// The program's conversation, to which the message is added.
    pub conversation: Option<String>,
    pub goes_on: bool,
}

impl Naming {
    /// # Errors
    /// Returns an error if the header of the session is no id.
    pub fn of_headers(headers: &HeaderMap) -> Result<Self, ApiError> {
        let session = header(headers, SESSION_HEADER).map(SessionId::parse).transpose();
        let session = session.map_err(|error| invalid("X-Miniclaw-Session", error.to_string()))?;
        let chat = CHAT_HEADERS.iter().find_map(|name| header(headers, name));
        let goes_on = match header(headers, ON_DISCONNECT) {
            None | Some("stop") => false,
            Some("continue") => true,
            Some(_) => return Err(invalid("X-Miniclaw-On-Disconnect", "it is stop or continue")),
        };
        Ok(Self {
            chat: chat.filter(|id| id.len() <= MAX_CHAT_ID).map(str::to_owned),
            salt: None,
            repeat_key: header(headers, IDEMPOTENCY_KEY).map(hash),
            session,
            previous: None,
            conversation: None,
            goes_on,
        })
    }
}

/// A work that a request follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Previous {
    pub work: WorkId,
}

/// A request to the agent.
pub struct AgentRequest {
    pub model: Option<String>,
    pub conversation: Conversation,
    pub parameters: Parameters,
    pub naming: Naming,
    /// Whether the session is deleted at the end.
    pub discard: bool,
}

/// Begins the work of a request, or goes on with the one whose calls it has the results of.
///
/// # Errors
/// Returns an error if the last message is neither a person's nor a result, or is refused.
pub async fn begin(caller: &Caller, request: AgentRequest) -> Result<ClientTurnWork, ApiError> {
    let AgentRequest { model, conversation, parameters, naming, discard } = request;
    let Conversation { instructions, mut entries } = conversation;
    let Named { session, key, base } = named(caller, &naming).await?;
    let last_field = "messages";
    let Some(last) = entries.pop() else { return Err(invalid(last_field, "there is no message to answer")) };
    let user = match last {
        Entry::User(user) => user,
        Entry::Result { .. } => {
            entries.push(last);
            let results = trailing_results(&entries);
            return Ok(caller.engine.client_results(&caller.client_key(), results, caller.until_over()).await?);
        }
        Entry::Assistant { .. } => {
            let message = "the last message is a person's, or the result of a call; an answer cannot be continued";
            return Err(invalid(last_field, message));
        }
    };
    let results = trailing_results(&entries);
    let turn = ClientTurn { base, ..turn_of(key.clone(), &entries, &user) };
    let history = history_of(&entries);
    let new = SessionId::parse(&clock::new_id())?;
    let prompt = prompt(caller, &new, user.text, user.files.into_iter().map(attached).collect()).await?;
    let instructions = instructions.join("\n\n").chars().take(MAX_INSTRUCTIONS).collect::<String>();
    let client = ClientRequest {
        key,
        chain: turn.head(),
        repeat_key: naming.repeat_key,
        model,
        instructions: Some(instructions).filter(|text| !text.trim().is_empty()),
        tools: parameters.tools,
        temperature: parameters.temperature,
        max_tokens: parameters.max_tokens,
        form: parameters.form,
        call: None,
        permission_mode: None,
        discard,
    };
    let prompt = UserPrompt { client: Some(client.into()), ..prompt };
    let message = ClientMessage { turn, prompt, results, history, session };
    let mut work = caller.engine.client_turn(message, caller.until_over()).await?;
    if naming.goes_on {
        work.hold.release();
    }
    Ok(work)
}

/// What a request names.
struct Named {
    session: ClientSession,
    /// What tells its conversations from others.
    key: String,
    /// The chain of the work that it follows.
    base: Option<String>,
}

async fn named(caller: &Caller, naming: &Naming) -> Result<Named, ApiError> {
    let credential = caller.client_key();
    let key = match &naming.salt {
        Some(salt) => format!("{credential} {}", hash(salt)),
        None => credential.clone(),
    };
    if let Some(Previous { work }) = &naming.previous {
        let missing = || {
            ApiError::new(StatusCode::NOT_FOUND, "not_found", "there is no such response")
                .of_field("previous_response_id")
        };
        let id = caller.engine.client_work(&credential, work).await?.ok_or_else(missing)?;
        let session = caller.engine.view(&id).await?.session;
        let known = session.works.iter().chain(session.branches.iter().flat_map(|branch| &branch.works));
        let client = { known }.find(|known| known.work_id == *work).and_then(|known| known.client.clone());
        let client = client.ok_or_else(missing)?;
        let (key, base) = (client.key.clone(), Some(client.chain.clone()));
        return Ok(Named { session: ClientSession::Named(id), key, base });
    }
    let session = if let Some(id) = &naming.session {
        caller.engine.view(id).await?;
        ClientSession::Named(id.clone())
    } else if let Some(conversation) = &naming.conversation {
        ClientSession::Named(chat_session(&credential, &format!("conversation {conversation}"))?)
    } else if let Some(chat) = &naming.chat {
        ClientSession::OfChat(chat_session(&credential, chat)?)
    } else {
        ClientSession::ByContent
    };
    Ok(Named { session, key, base: None })
}

/// Returns the session of a program's chat: the same id always gives the same one.
fn chat_session(key: &str, chat: &str) -> Result<SessionId, ApiError> {
    Ok(SessionId::parse(&format!("chat-{}", &hash(&format!("{key}\n{chat}"))[..32]))?)
}

/// Returns the results after the last answer.
fn trailing_results(entries: &[Entry]) -> Vec<ClientResult> {
    let trailing = entries.iter().rev().take_while(|entry| matches!(entry, Entry::Result { .. }));
    let mut results: Vec<ClientResult> = trailing.filter_map(result_of).collect();
    results.reverse();
    results
}

fn result_of(entry: &Entry) -> Option<ClientResult> {
    match entry {
        Entry::Result { call_id, output } => Some(ClientResult { call_id: call_id.clone(), output: output.clone() }),
        Entry::User(_) | Entry::Assistant { .. } => None,
    }
}

fn turn_of(key: String, before: &[Entry], last: &UserEntry) -> ClientTurn {
    let mut turn = ClientTurn { key, ..ClientTurn::default() };
    for entry in before {
        match (entry, turn.answers.last_mut()) {
            (Entry::User(user), _) => {
                turn.questions.push(question(user));
                turn.answers.push(String::new());
            }
            (Entry::Assistant { text, .. }, Some(answer)) => {
                answer.push('\n');
                answer.push_str(text);
            }
            (Entry::Assistant { .. } | Entry::Result { .. }, _) => {}
        }
    }
    turn.questions.push(question(last));
    turn
}

fn question(user: &UserEntry) -> String {
    let files: Vec<String> = user.files.iter().map(|file| hash(&file.content)).collect();
    person_text(&user.text, files.iter().map(String::as_str))
}

/// Returns the messages of a conversation that no session has. Pictures and results of calls are only mentioned.
fn history_of(entries: &[Entry]) -> Vec<Message> {
    let messages = entries.iter().filter_map(|entry| match entry {
        Entry::User(user) => {
            let files = user.files.iter().map(|file| format!("\n[{}: not kept]", file.name)).collect::<String>();
            Some(Message::new(Role::User, format!("{}{files}", user.text)))
        }
        Entry::Assistant { text, calls } => {
            let called = calls.iter().map(|call| format!("\n[called {} {}]", call.name, call.arguments));
            let text = format!("{text}{}", called.collect::<String>());
            (!text.trim().is_empty()).then(|| Message::new(Role::Assistant, text))
        }
        Entry::Result { call_id: _, output } => Some(Message::new(Role::Assistant, format!("[result: {output}]"))),
    });
    messages.collect()
}

fn attached(EntryFile { name, is_picture, content }: EntryFile) -> Attached {
    let encoding = if is_picture { Encoding::Base64 } else { Encoding::Document };
    Attached::new(name, content, encoding)
}

fn hash(text: &str) -> String {
    base16ct::lower::encode_string(&Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> UserEntry {
        UserEntry { text: text.to_owned(), files: Vec::new() }
    }

    fn answer(text: &str) -> Entry {
        Entry::Assistant { text: text.to_owned(), calls: Vec::new() }
    }

    #[test]
    fn turn_has_an_answer_for_each_earlier_question() {
        let result = Entry::Result { call_id: "c".to_owned(), output: "4".to_owned() };
        let before =
            [answer("Hello!"), Entry::User(user("one")), answer("a"), result, answer("b"), Entry::User(user("two"))];
        let turn = turn_of("k".to_owned(), &before, &user(" three "));
        assert_eq!(turn.questions, ["one", "two", "three"]);
        assert_eq!(turn.answers, ["\na\nb", ""]);
    }

    #[test]
    fn results_after_the_last_answer_count() {
        let result = |id: &str| Entry::Result { call_id: id.to_owned(), output: String::new() };
        let entries = [result("old"), answer(""), result("a"), result("b")];
        let ids: Vec<_> = trailing_results(&entries).into_iter().map(|result| result.call_id).collect();
        assert_eq!(ids, ["a", "b"]);
        assert!(trailing_results(&entries[..2]).is_empty());
    }

    #[test]
    fn chat_of_another_credential_is_another_session() {
        let session = |key, chat| chat_session(key, chat).unwrap();
        assert_eq!(session("k", "../../x"), session("k", "../../x"));
        assert_ne!(session("k", "a"), session("l", "a"));
        assert_ne!(session("k", "a"), session("k", "b"));
    }
}
