//! One configured server: whether it runs, what it lists, and its calls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::confirmation::CurrentEntry;
use super::connection::{RequestError, RequestLimits, STOPPED};
use super::elicitation::Elicitor;
use super::era::Era;
use super::link::Link;
use super::listening;
use super::listing::{self, Listing};
use super::masking::{hidden_error, hide_result};
use super::message::Request;
use super::oauth::{SignIn, SignIns};
use super::offers::{self, ResourceView};
use super::pins::PinnedTool;
use super::relisting::Relisting;
use super::tasks::{self, TaskGuard};
use crate::domain::Mask;
use crate::domain::mcp::{McpEntry, McpTransport};
use crate::sandbox::Sandbox;
use crate::store::{Home, sha256};
use crate::tools::{KeepPictures, LiveOutput, LiveQuestions};

/// Maximum number of calls at once.
const CALLS: usize = 4;
/// Maximum number of tasks that are followed at once.
const TASKS: usize = 16;
/// How long after a failure it is started again without a call; doubled with each failure up to 5 minutes.
const RETRY: Duration = Duration::from_secs(5);
const CALL: RequestLimits = RequestLimits { silence: Duration::from_secs(60), total: Duration::from_secs(600) };

/// Returns a variable by its name.
pub type ReadVariable = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What all servers of a home share.
pub struct Shared {
    pub home: Home,
    /// What runs programs; `None` where no command may run.
    pub sandbox: Option<Sandbox>,
    /// Returns a variable of the home's environment.
    pub variable: ReadVariable,
    /// Hosts on this machine or a private network that may be reached anyway.
    pub allow_hosts: Vec<String>,
    /// Whether the servers of this machine may be reached: those of one person are theirs.
    pub may_reach_loopback: bool,
    pub own_port: u16,
    /// Keeps the pictures of results with a conversation.
    pub keep_pictures: KeepPictures,
    /// Grows with each change of what is offered.
    pub generation: AtomicU64,
    pub sign_ins: SignIns,
}

impl Shared {
    /// Notes that other tools may be offered.
    pub fn offer_again(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether a server can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// Nobody has confirmed this version of its entry, so it is not started.
    Unconfirmed,
    Stopped,
    Starting,
    Running,
    /// It could not be started or listed, or it ended by itself: a sentence for a person.
    Failed(String),
}

pub struct Server {
    pub entry: McpEntry,
    /// As it is in `mcp.json` now.
    current: Mutex<CurrentEntry>,
    pub(super) shared: Arc<Shared>,
    pub(super) link: tokio::sync::Mutex<Option<Arc<Link>>>,
    known: Mutex<Known>,
    slots: Semaphore,
    pub(super) task_slots: Semaphore,
    /// How a person signs in to a remote server; `None` for a program, and if the entry has a token itself.
    sign_in: Option<Arc<SignIn>>,
    /// The look at its list that is under way.
    pub(super) relisting: Mutex<Option<Relisting>>,
    /// Cancelled when it is removed or replaced, or the home closes: it is not started any more.
    retired: CancellationToken,
}

struct Known {
    state: ServerState,
    /// How often in a row it could not be used, and when that is tried again without a call.
    failures: u32,
    retry_at: Option<Instant>,
    era: Option<Era>,
    listed: Option<Listed>,
    /// Those that the model can find.
    resources: Arc<[ResourceView]>,
    /// Hides the values of variables that the server got.
    mask: Mask,
}

/// What a call has led to.
pub struct Called {
    pub result: Value,
    /// Why requests for input were declined without a question.
    pub refused: Vec<String>,
}

/// The tools as they were last listed, with their pins.
#[derive(Clone)]
pub struct Listed {
    pub tools: Arc<[PinnedTool]>,
    pub problems: Vec<String>,
    /// When this process has listed them; `None` if an earlier one did.
    pub(super) at: Option<Instant>,
}

/// What is kept of a list for the next start.
#[derive(Serialize, Deserialize)]
struct KeptList {
    fingerprint: String,
    era: Era,
    listing: Listing,
    #[serde(default)]
    resources: Vec<ResourceView>,
}

impl Server {
    /// Returns a server that has not been started. Reads what is known of it. Blocks.
    pub fn new(shared: Arc<Shared>, entry: McpEntry, current: CurrentEntry) -> Self {
        let is_confirmed = current.confirmation.is_confirmed;
        let kept = shared.home.mcp_list(&entry.name).and_then(|bytes| serde_json::from_slice::<KeptList>(&bytes).ok());
        let kept = kept.filter(|kept| is_confirmed && kept.fingerprint == sha256(entry.program.as_bytes()));
        let state = if is_confirmed { ServerState::Stopped } else { ServerState::Unconfirmed };
        let (listed, resources, mask) = (None, Arc::default(), Mask::default());
        let mut known = Known { state, failures: 0, retry_at: None, era: None, listed, resources, mask };
        if let Some(KeptList { era, listing, resources, .. }) = kept {
            known.resources = resources.into();
            known.era = Some(era);
            known.listed = Some(pinned(&shared.home, &entry.name, (listing, None)));
        }
        let sign_in = match &entry.transport {
            McpTransport::Http { url, headers, .. } if !headers.iter().any(|(name, _)| is_authorization(name)) => {
                Some(shared.sign_ins.of(&shared.home, &entry.name, url))
            }
            McpTransport::Http { .. } | McpTransport::Stdio { .. } => None,
        };
        Self {
            entry,
            current: Mutex::new(current),
            shared,
            link: tokio::sync::Mutex::default(),
            known: Mutex::new(known),
            slots: Semaphore::new(CALLS),
            task_slots: Semaphore::new(TASKS),
            sign_in,
            relisting: Mutex::default(),
            retired: CancellationToken::new(),
        }
    }

    pub fn is_confirmed(&self) -> bool {
        self.current().confirmation.is_confirmed
    }

    /// Returns its entry as it is now.
    pub fn current(&self) -> CurrentEntry {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether it can go on with this entry, and takes over what may change of it. Blocks.
    pub fn goes_on_with(&self, entry: &McpEntry, current: &CurrentEntry) -> bool {
        let is_same = self.entry.program == entry.program && self.is_confirmed() == current.confirmation.is_confirmed;
        if is_same {
            *self.current.lock().unwrap_or_else(PoisonError::into_inner) = current.clone();
            self.look_at_pins();
        }
        is_same
    }

    pub fn sign_in(&self) -> Option<&Arc<SignIn>> {
        self.sign_in.as_ref()
    }

    /// Returns whether it can be used only after a person has signed in.
    pub fn needs_sign_in(&self) -> bool {
        self.sign_in.as_ref().is_some_and(|sign_in| sign_in.is_needed())
    }

    pub fn name(&self) -> &str {
        &self.entry.name
    }

    pub fn home(&self) -> &Home {
        &self.shared.home
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn state(&self) -> ServerState {
        self.known().state.clone()
    }

    pub fn era(&self) -> Option<Era> {
        self.known().era
    }

    pub fn listed(&self) -> Option<Listed> {
        self.known().listed.clone()
    }

    /// Returns the resources that the model can find.
    pub fn resources(&self) -> Arc<[ResourceView]> {
        self.known().resources.clone()
    }

    /// Returns a tool as it is now.
    pub fn tool(&self, name: &str) -> Option<PinnedTool> {
        self.listed()?.tools.iter().find(|tool| tool.definition.name == name).cloned()
    }

    /// Compares the tools again with what is trusted. Blocks.
    pub fn look_at_pins(&self) {
        let Some(Listed { tools, problems, at }) = self.listed() else { return };
        let tools = tools.iter().map(|tool| tool.definition.clone()).collect();
        let listed = pinned(&self.shared.home, self.name(), (Listing { tools, problems }, at));
        self.known().listed = Some(listed);
    }

    /// Returns whether it may be started without a call: it was confirmed, and has not failed just before.
    pub fn may_begin(&self) -> bool {
        if self.needs_sign_in() {
            return false;
        }
        let known = self.known();
        match known.state {
            ServerState::Stopped => true,
            ServerState::Failed(_) => known.retry_at.is_none_or(|at| at <= Instant::now()),
            ServerState::Unconfirmed | ServerState::Starting | ServerState::Running => false,
        }
    }

    /// Notes that its program has ended, if it has.
    pub fn observe(&self) {
        let Ok(held) = self.link.try_lock() else { return };
        let Some(link) = held.as_ref().filter(|link| !link.is_open()) else { return };
        let ended = match &**link {
            Link::Program(connection) => connection.ended().filter(|why| why != STOPPED),
            Link::Remote(_) => None,
        };
        if self.state() == ServerState::Running {
            self.set_state(ended.map_or(ServerState::Stopped, ServerState::Failed));
        }
    }

    /// Stops it for good, also while it is being started.
    pub async fn retire(&self) {
        self.retired.cancel();
        self.stop().await;
    }

    /// Stops it. The next use starts it again.
    pub async fn stop(&self) {
        if let Some(link) = self.link.lock().await.take() {
            link.closed().await;
        }
        if self.is_confirmed() {
            self.set_state(ServerState::Stopped);
        }
    }

    /// Starts it unless it runs, and lists its tools.
    ///
    /// # Errors
    /// Returns a sentence if nobody has confirmed its entry, or it cannot be started or listed.
    pub async fn connect(&self) -> Result<Arc<Link>, String> {
        if !self.is_confirmed() {
            return Err(format!("nobody has confirmed the server {}; a person does that in its list", self.name()));
        }
        let mut held = self.link.lock().await;
        if let Some(link) = held.as_ref().filter(|link| link.is_open()) {
            listening::listen(link);
            return Ok(link.clone());
        }
        *held = None;
        self.set_state(ServerState::Starting);
        let _starting = Starting(self);
        let started = tokio::select! {
            biased;
            () = self.retired.cancelled() => Err(format!("the server {} was removed or changed", self.name())),
            started = self.listed_at_start() => started,
        };
        match started {
            Ok(link) => {
                *held = Some(link.clone());
                Ok(link)
            }
            Err(why) => {
                let why = self.mask().text(&why).into_owned();
                {
                    let mut known = self.known();
                    known.retry_at = Some(Instant::now() + RETRY * 2_u32.pow(known.failures.min(6)));
                    known.failures += 1;
                }
                self.set_state(ServerState::Failed(why.clone()));
                Err(why)
            }
        }
    }

    /// Starts it, and lists its tools.
    async fn listed_at_start(&self) -> Result<Arc<Link>, String> {
        let link = Arc::new(self.started().await?);
        self.known().era = Some(link.era());
        match self.list(&link).await {
            Ok(()) => {
                listening::listen(&link);
                Ok(link)
            }
            Err(why) => {
                link.closed().await;
                Err(why)
            }
        }
    }

    pub(super) async fn list(&self, link: &Link) -> Result<(), String> {
        let mut listing = listing::list(link).await?;
        let mask = self.mask();
        listing.hide(|text| mask.text(text).into_owned());
        let (shared, name) = (self.shared.clone(), self.name().to_owned());
        let fingerprint = sha256(self.entry.program.as_bytes());
        let resources = offers::findable(self, link).await;
        let kept = KeptList { fingerprint, era: link.era(), listing: listing.clone(), resources: resources.clone() };
        let looked = tokio::task::spawn_blocking(move || {
            let bytes = serde_json::to_vec(&kept).unwrap_or_default();
            if let Err(error) = shared.home.keep_mcp_list(&name, &bytes) {
                tracing::warn!(%error, "the tools of an MCP server could not be kept for the next start");
            }
            pinned(&shared.home, &name, (listing, Some(Instant::now())))
        });
        let listed = looked.await.map_err(|_| "the server is shutting down".to_owned())?;
        {
            let mut known = self.known();
            known.listed = Some(listed);
            known.resources = resources.into();
            known.state = ServerState::Running;
            known.failures = 0;
        }
        self.shared.offer_again();
        Ok(())
    }

    /// Calls a tool of a server that is connected; `params` names it. What the server asks meanwhile goes to `questions`.
    ///
    /// # Errors
    /// Returns an error if the server refuses, does not answer in time, or is gone.
    pub async fn call(
        &self,
        link: &Arc<Link>,
        params: Value,
        stop: (&CancellationToken, &LiveOutput),
        questions: &LiveQuestions,
    ) -> Result<Called, RequestError> {
        let slot = tokio::select! {
            slot = self.slots.acquire() => slot,
            () = stop.0.cancelled() => return Err(RequestError::Cancelled),
        };
        let _slot = slot.map_err(|_| RequestError::Cancelled)?;
        let live = self.hiding(stop.1);
        let elicitor = Elicitor::new(self.name(), questions, |text: &str| self.mask().text(text).into_owned());
        let request = Request { mirrored: self.param_headers(link, &params), ..("tools/call", params).into() };
        let result = link.request_eliciting(request, &CALL, (stop.0, &live), &elicitor).await;
        if !link.is_open() {
            self.observe();
        }
        // Its token may have been renewed meanwhile.
        let mask = self.mask();
        let hidden = |text: &str| mask.text(text).into_owned();
        match result {
            Ok(mut result) => {
                let task = tasks::created(&result);
                hide_result(&mut result, &hidden);
                if let Some(Ok(id)) = task.filter(|task| tasks::created(&result).as_ref() != Some(task)) {
                    // It cannot be followed.
                    drop(TaskGuard::new(link.clone(), id));
                }
                Ok(Called { result, refused: elicitor.refused() })
            }
            Err(error) => Err(hidden_error(error, &hidden)),
        }
    }

    /// Returns what is hidden of the variables that the server got.
    pub(super) fn variables_mask(&self) -> Mask {
        self.known().mask.clone()
    }

    /// Sets what is hidden in what the server says.
    pub(super) fn hide_from_now_on(&self, mask: Mask) {
        self.known().mask = mask;
    }

    pub(super) fn set_state(&self, state: ServerState) {
        let mask = self.mask();
        self.known().state = match state {
            ServerState::Failed(why) => ServerState::Failed(mask.text(&why).into_owned()),
            state => state,
        };
    }
}

fn is_authorization(header: &str) -> bool {
    header.eq_ignore_ascii_case("authorization")
}

fn pinned(home: &Home, name: &str, (Listing { tools, problems }, at): (Listing, Option<Instant>)) -> Listed {
    let trust = home.mcp_trust(name);
    let tools = tools.into_iter().map(|tool| {
        let trusted = trust.get(&tool.name);
        PinnedTool::of(tool, trusted)
    });
    Listed { tools: tools.collect(), problems, at }
}

/// A start that may be given up: then the server is stopped, and not starting for ever.
struct Starting<'s>(&'s Server);

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        let mut known = self.0.known();
        if known.state == ServerState::Starting {
            known.state = ServerState::Stopped;
        }
    }
}
