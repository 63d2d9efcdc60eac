//! The summary of a session for a list, read from the beginning of its file.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::beginning::{Messages, Turns, beginning};
use super::error::StoreError;
use super::home::Home;
use super::session_file;
use super::sessions::file_name;
use crate::clock;
use crate::domain::{Chosen, ClientRequest, Outcome, ProjectId, Role, Session, SessionId, Usage, Work, WorkId};

/// The summary of a session for a list.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct SessionSummary {
    pub id: String,
    pub title: String,
    /// Beginning of the first message, on one line; identifies a session that has no title yet.
    pub begins: String,
    pub created_at: f64,
    pub updated_at: f64,
    pub message_count: usize,
    /// Input and output tokens of all works, also of those in branches, as counted by the providers.
    pub tokens: u64,
    /// Whether the last work failed.
    pub failed: bool,
    /// Number of messages of people and of answers, of which each counts once, whatever number of messages it has.
    pub turns: usize,
    /// The project that its tools work in.
    #[schema(value_type = Option<String>)]
    pub project_id: Option<ProjectId>,
    #[schema(value_type = Chosen)]
    pub chosen: Arc<Chosen>,
    /// The works that programs began over the OpenAI API, also those in branches.
    #[serde(skip)]
    pub client_works: Arc<[ClientWork]>,
}

/// A work that a program began, by what finds it again.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientWork {
    pub work_id: WorkId,
    pub key: String,
    pub chain: String,
    pub repeat_key: Option<String>,
}

impl ClientWork {
    /// Returns whether a program with this credential began it, whatever tells its conversations apart.
    pub fn is_of(&self, credential: &str) -> bool {
        self.key.strip_prefix(credential).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }

    pub fn of(work_id: &WorkId, client: &ClientRequest) -> Self {
        let ClientRequest { key, chain, repeat_key, .. } = client;
        Self { work_id: work_id.clone(), key: key.clone(), chain: chain.clone(), repeat_key: repeat_key.clone() }
    }
}

impl SessionSummary {
    /// Returns the summary of a session whose file does not parse; the task that owns the session handles the damage.
    fn unreadable(id: &SessionId) -> Self {
        Self {
            id: id.to_string(),
            title: String::new(),
            begins: String::new(),
            created_at: 0.0,
            updated_at: 0.0,
            message_count: 0,
            tokens: 0,
            failed: true,
            turns: 0,
            project_id: None,
            chosen: Arc::default(),
            client_works: Arc::default(),
        }
    }

    pub fn of(id: &SessionId, session: &Session) -> Self {
        let mut turns = Turns::default();
        session.messages.iter().for_each(|message| turns.add(message.role == Role::Assistant));
        Self {
            id: id.to_string(),
            title: session.title.clone(),
            begins: session.messages.first().map(|message| beginning(&message.content)).unwrap_or_default(),
            created_at: session.created_at,
            updated_at: session.updated_at,
            message_count: session.messages.len(),
            tokens: Usage::total_of(all_works(session).map(|work| &work.usage)),
            failed: failed(session.works.last().and_then(|work| work.outcome.as_ref())),
            turns: turns.count(),
            project_id: session.project_id.clone(),
            chosen: Arc::new(session.chosen.clone()),
            client_works: all_works(session)
                .filter_map(|work| Some(ClientWork::of(&work.work_id, work.client.as_deref()?)))
                .collect(),
        }
    }
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    title: String,
    #[serde(default)]
    created_at: f64,
    #[serde(default)]
    updated_at: f64,
    messages: Messages,
    #[serde(default, deserialize_with = "crate::domain::ids::lenient_project")]
    project_id: Option<ProjectId>,
    #[serde(default)]
    chosen: Chosen,
    #[serde(default)]
    works: Vec<WorkHead>,
    #[serde(default)]
    branches: Vec<BranchHead>,
}

impl Head {
    fn all_works(&self) -> impl Iterator<Item = &WorkHead> {
        self.works.iter().chain(self.branches.iter().flat_map(|branch| &branch.works))
    }
}

#[derive(Deserialize)]
struct BranchHead {
    #[serde(default)]
    works: Vec<WorkHead>,
}

#[derive(Deserialize)]
struct WorkHead {
    #[serde(default)]
    work_id: WorkId,
    #[serde(default, deserialize_with = "crate::domain::work::lenient_client")]
    client: Option<Arc<ClientRequest>>,
    #[serde(default)]
    usage: Usage,
    #[serde(default)]
    outcome: Option<Outcome>,
}

impl Home {
    /// Returns the summary of a session from its file. `None` if the file cannot be read; a damaged one is moved to quarantine,
    /// unless its session is `in_memory`.
    pub(super) fn summary(
        &self,
        id: &SessionId,
        in_memory: &HashSet<SessionId>,
    ) -> Result<Option<SessionSummary>, StoreError> {
        let Ok(bytes) = self.sessions_dir().read(file_name(id)) else { return Ok(None) };
        if let Ok(head) = serde_json::from_slice::<Head>(&bytes) {
            let tokens = Usage::total_of(head.all_works().map(|work| &work.usage));
            let of_client = |work: &WorkHead| Some(ClientWork::of(&work.work_id, work.client.as_deref()?));
            let client_works = head.all_works().filter_map(of_client).collect();
            return Ok(Some(SessionSummary {
                id: id.to_string(),
                title: head.title,
                begins: beginning(&head.messages.first),
                created_at: head.created_at,
                updated_at: head.updated_at,
                message_count: head.messages.count,
                tokens,
                failed: failed(head.works.last().and_then(|work| work.outcome.as_ref())),
                turns: head.messages.turns,
                project_id: head.project_id,
                chosen: Arc::new(head.chosen),
                client_works,
            }));
        }
        // The file has format version 1, or it is damaged.
        match session_file::parse_foreign(&bytes, clock::now()) {
            Ok(session) => Ok(Some(SessionSummary::of(id, &session))),
            Err(_) if in_memory.contains(id) => Ok(Some(SessionSummary::unreadable(id))),
            Err(reason) => self.quarantine(&file_name(id), reason.to_string()).map(|()| None),
        }
    }
}

/// Returns the works of a session, then those of its branches.
fn all_works(session: &Session) -> impl Iterator<Item = &Arc<Work>> {
    session.works.iter().chain(session.branches.iter().flat_map(|branch| &branch.works))
}

fn failed(outcome: Option<&Outcome>) -> bool {
    matches!(outcome, Some(Outcome::Error { .. }))
}
