//! `subscriptions/listen`: a client is told which resources have changed, and that lists have, until its request or its
//! token ends. It is told that something has changed, never what; it reads that with a request of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ErrorData;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{SubscriptionContext, SubscriptionSendError, SubscriptionSink};

use super::resources::{ROOTS, SESSIONS, path_of, uri_of};
use super::server::{McpServer, refused};
use super::{prompts, resources};
use crate::api::security::caller::Caller;
use crate::domain::{HomeId, Place, Root, SessionId};
use crate::engine::{Notice, Publication, PublishedItem};

/// Maximum number of requests of one person that listen at once.
const MAX_LISTENERS: usize = 16;
/// Maximum number of resources that one request listens to. Those after them are left out of what is acknowledged.
const MAX_RESOURCES: usize = 200;

/// How many requests of each person listen.
#[derive(Clone, Default)]
pub struct Listeners(Arc<Mutex<HashMap<HomeId, usize>>>);

impl Listeners {
    fn counts(&self) -> MutexGuard<'_, HashMap<HomeId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more, until what is returned is dropped; `None` if there are too many.
    fn add(&self, person: HomeId) -> Option<Listener> {
        let mut counts = self.counts();
        let count = counts.entry(person.clone()).or_default();
        if *count >= MAX_LISTENERS {
            return None;
        }
        *count += 1;
        drop(counts);
        Some(Listener { all: self.clone(), person })
    }
}

struct Listener {
    all: Listeners,
    person: HomeId,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut counts = self.all.counts();
        if let Some(count) = counts.get_mut(&self.person) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.person);
            }
        }
    }
}

/// Returns what a client is told of: the lists that change, and addresses that can be resources here.
pub fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = SubscriptionFilter::new();
    accepted.resources_list_changed = requested.resources_list_changed;
    accepted.prompts_list_changed = requested.prompts_list_changed;
    let uris = requested.resource_subscriptions.iter().flatten().filter(|uri| can_change(uri));
    let uris: Vec<String> = uris.take(MAX_RESOURCES).cloned().collect();
    accepted.resource_subscriptions = Some(uris).filter(|uris| !uris.is_empty());
    accepted
}

/// Returns whether an address is that of a file of the home or of a conversation. Only the person's own are told of.
fn can_change(uri: &str) -> bool {
    let Some(path) = path_of(uri).filter(|path| uri_of(path) == uri) else { return false };
    match path.strip_prefix(SESSIONS) {
        Some(id) => SessionId::parse(id).is_ok(),
        None => Place::parse(&path).is_ok_and(|place| Root::HOME.contains(place.root())),
    }
}

/// Tells a client of changes until its request or its token ends, or until it does not read what it is told.
///
/// # Errors
/// Returns an error if too many requests of the person listen.
pub async fn listen(server: &McpServer, context: SubscriptionContext) -> Result<(), ErrorData> {
    let caller = &server.caller;
    let message = format!("{MAX_LISTENERS} requests listen already; end one of them first");
    let listener = server.listeners.add(caller.person.tenant());
    let _listener = listener.ok_or_else(|| ErrorData::invalid_request(message, None))?;
    let told = async {
        let mut watcher = Watcher::new(server, context.sink().clone());
        watcher.run(server).await
    };
    tokio::select! {
        () = context.cancelled() => Ok(()),
        () = caller.until_over() => Ok(()),
        told = told => match told {
            Ok(()) | Err(Ended::Client) => Ok(()),
            Err(Ended::Failed(error)) => Err(error),
        },
    }
}

/// Why a client is told no more.
enum Ended {
    Client,
    Failed(ErrorData),
}

impl From<SubscriptionSendError> for Ended {
    fn from(_: SubscriptionSendError) -> Self {
        Self::Client
    }
}

impl From<ErrorData> for Ended {
    fn from(error: ErrorData) -> Self {
        Self::Failed(error)
    }
}

/// What one client was told of.
struct Watcher<'s> {
    caller: &'s Caller,
    sink: SubscriptionSink,
    /// The files in the list of resources, as paths.
    files: BTreeSet<String>,
    /// The conversations in the list, with their titles.
    sessions: BTreeMap<String, String>,
    prompts: Vec<(String, Option<String>)>,
}

impl<'s> Watcher<'s> {
    fn new(server: &'s McpServer, sink: SubscriptionSink) -> Self {
        let (files, sessions, prompts) = Default::default();
        Self { caller: &server.caller, sink, files, sessions, prompts }
    }

    async fn run(&mut self, server: &McpServer) -> Result<(), Ended> {
        let hub = &self.caller.tenant().hub;
        let mut subscription = hub.follow_all(Some(&server.begun));
        self.read_lists().await?;
        // What was published up to here may be in the lists already, so it is told as a change in any case.
        let unsure = hub.last();
        if subscription.gap {
            self.tell_all().await?;
        }
        for published in std::mem::take(&mut subscription.missed) {
            self.tell(&published, true).await?;
        }
        while let Some(published) = subscription.live.recv().await {
            self.tell(&published, published.number <= unsure).await?;
        }
        // The server dropped a client that did not read in time. It listens again.
        Ok(())
    }

    async fn read_lists(&mut self) -> Result<(), Ended> {
        if self.tells_resources() {
            let files = resources::paths(self.caller).await.map_err(|error| refused(&error))?;
            self.files = files.into_iter().collect();
            self.sessions = self.titles().await?;
        }
        if self.tells_prompts() {
            self.prompts = self.prompts().await?;
        }
        Ok(())
    }

    async fn titles(&self) -> Result<BTreeMap<String, String>, Ended> {
        let list = self.caller.engine.list().await.map_err(|error| refused(&error.into()))?;
        Ok(list.iter().map(|summary| (summary.id.clone(), summary.title.clone())).collect())
    }

    async fn prompts(&self) -> Result<Vec<(String, Option<String>)>, Ended> {
        let list = prompts::list(self.caller).await?;
        Ok(list.into_iter().map(|prompt| (prompt.name, prompt.description)).collect())
    }

    fn tells_resources(&self) -> bool {
        self.sink.accepted().resources_list_changed == Some(true)
    }

    fn tells_prompts(&self) -> bool {
        self.sink.accepted().prompts_list_changed == Some(true)
    }

    /// Tells of one publication. If `is_unsure`, the lists may contain its change already.
    async fn tell(&mut self, published: &Publication, is_unsure: bool) -> Result<(), Ended> {
        let PublishedItem::Notice(notice) = &published.what else { return Ok(()) };
        match notice {
            Notice::FileChanged { path, etag, .. } => {
                self.tell_updated(&uri_of(path)).await?;
                let is_listed = Place::parse(path).is_ok_and(|place| ROOTS.contains(place.root()));
                let is_change = match etag {
                    Some(_) => is_listed && self.files.insert(path.clone()),
                    None => self.files.remove(path),
                };
                if is_change || is_unsure && is_listed {
                    self.tell_resources().await?;
                }
            }
            Notice::FolderChanged { path } => self.tell_folder(path).await?,
            Notice::SessionsChanged { session_id } => {
                self.tell_updated(&uri_of(&format!("{SESSIONS}{session_id}"))).await?;
                if self.tells_resources() {
                    let now = self.titles().await?;
                    let is_change = now != self.sessions;
                    self.sessions = now;
                    if is_change || is_unsure {
                        self.tell_resources().await?;
                    }
                }
            }
            Notice::SkillsChanged if self.tells_prompts() => {
                let now = self.prompts().await?;
                let is_change = now != self.prompts;
                self.prompts = now;
                if is_change || is_unsure {
                    self.sink.notify_prompt_list_changed().await?;
                }
            }
            Notice::SkillsChanged
            | Notice::JobsChanged { .. }
            | Notice::ProjectsChanged
            | Notice::ModelChanged(_)
            | Notice::ConfigChanged { .. }
            | Notice::IndexChanged { .. } => {}
        }
        Ok(())
    }

    async fn tell_updated(&self, uri: &str) -> Result<(), Ended> {
        let accepted = self.sink.accepted().resource_subscriptions.as_ref();
        if accepted.is_some_and(|uris| uris.iter().any(|known| known == uri)) {
            self.sink.notify_resource_updated(uri).await?;
        }
        Ok(())
    }

    async fn tell_resources(&self) -> Result<(), Ended> {
        if self.tells_resources() {
            self.sink.notify_resource_list_changed().await?;
        }
        Ok(())
    }

    /// Tells of a folder in which so much changed that no files are named.
    async fn tell_folder(&mut self, folder: &str) -> Result<(), Ended> {
        let below = uri_of(&format!("{folder}/"));
        for uri in self.sink.accepted().resource_subscriptions.clone().unwrap_or_default() {
            if uri.starts_with(&below) {
                self.sink.notify_resource_updated(uri).await?;
            }
        }
        let before = std::mem::take(&mut self.prompts);
        self.read_lists().await?;
        if self.prompts != before {
            self.sink.notify_prompt_list_changed().await?;
        }
        self.tell_resources().await
    }

    /// Tells of everything: what was published has been dropped.
    async fn tell_all(&mut self) -> Result<(), Ended> {
        for uri in self.sink.accepted().resource_subscriptions.clone().unwrap_or_default() {
            self.sink.notify_resource_updated(uri).await?;
        }
        self.tell_resources().await?;
        if self.tells_prompts() {
            self.sink.notify_prompt_list_changed().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AccountId;

    #[test]
    fn listeners_of_a_person_are_bounded() {
        let all = Listeners::default();
        let mut held: Vec<Listener> = (0..MAX_LISTENERS).map(|_| all.add(HomeId::Server).unwrap()).collect();
        assert!(all.add(HomeId::Server).is_none());
        assert!(
            all.add(HomeId::Person(AccountId::parse("bob").unwrap())).is_some(),
            "another person has a limit of their own"
        );
        held.pop();
        assert!(all.add(HomeId::Server).is_some());
        held.clear();
        assert!(all.counts().is_empty());
    }

    #[test]
    fn only_addresses_of_files_and_conversations_are_accepted() {
        let asked = |uris: &[String]| {
            let requested = SubscriptionFilter::builder().tools_list_changed().resource_subscriptions(uris).build();
            let accepted = accepted(&requested);
            assert_eq!(accepted.tools_list_changed, None, "the tools do not change");
            accepted.resource_subscriptions.unwrap_or_default()
        };
        let good = ["miniclaw:///memory/MEMORY.md", "miniclaw:///knowledge/a%20b.md", "miniclaw:///sessions/talk"];
        let wrong = [
            "miniclaw:///.env",
            "miniclaw:///config.yml",
            "miniclaw:///memory/../config.yml",
            "miniclaw:///memory%2fMEMORY.md",
            "miniclaw:///sessions/../../x",
            "miniclaw:///project/scratch/a.txt",
            "file:///etc/passwd",
            "",
        ];
        let all: Vec<String> = good.iter().chain(&wrong).map(|&uri| uri.to_owned()).collect();
        assert_eq!(asked(&all), good);
        let many: Vec<String> = (0..MAX_RESOURCES + 9).map(|n| format!("miniclaw:///memory/{n}.md")).collect();
        assert_eq!(asked(&many).len(), MAX_RESOURCES);
    }
}
