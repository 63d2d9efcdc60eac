//! Publishes events to subscribers, in one order and without gaps.
//!
//! Publications have one dense sequence of numbers for all sessions, so one number resumes a stream of one session or
//! of all. Recent publications are kept for clients that reconnect; a client that asks for older ones is told that
//! there is a gap. A subscriber that does not read is dropped and reconnects with its last number.

mod recent;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::mpsc;

use self::recent::Recent;
use super::notice::Notice;
use super::outgoing::SharedEncoding;
use crate::domain::{Event, SessionId, WorkId};

/// Maximum bytes of recent publications, over all sessions: some 150,000 tokens, or a hundred long outputs of tools.
const KEPT: usize = 4 << 20;
/// Bytes above [`KEPT`] before the oldest are evicted, so that not every publication iterates over all sessions.
const SWEPT_AT_ONCE: usize = 512 << 10;
/// Maximum number of unread publications before a subscriber is dropped.
const UNREAD: usize = 8_192;

/// Id of a publication: the hub's boot id and a number, written `a1b2c3d4.17`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventId {
    pub boot: String,
    pub number: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.boot, self.number)
    }
}

impl EventId {
    pub fn parse(text: &str) -> Option<Self> {
        let (boot, number) = text.trim().rsplit_once('.')?;
        Some(Self { boot: boot.to_owned(), number: number.parse().ok()? })
    }
}

#[derive(Debug)]
pub struct Publication {
    pub number: u64,
    pub session: Option<SessionId>,
    pub what: PublishedItem,
    /// The encoded form for subscribers of the session; `to_all` is the one for subscribers of everything.
    pub to_session: SharedEncoding,
    pub to_all: SharedEncoding,
}

#[derive(Debug)]
pub enum PublishedItem {
    Event(Event),
    /// Nothing more will be published about this work: its end was, and its title if one had to be made.
    Settled(WorkId),
    /// Not about the content of one session.
    Notice(Notice),
}

impl Publication {
    fn new(number: u64, session: Option<&SessionId>, what: PublishedItem) -> Self {
        let (to_session, to_all) = Default::default();
        Self { number, session: session.cloned(), what, to_session, to_all }
    }

    /// Returns the approximate size in bytes, including the texts.
    fn weight(&self) -> usize {
        let texts = match &self.what {
            PublishedItem::Event(event @ Event::WorkFinished { content, .. }) => json_length(event) + content.len(),
            PublishedItem::Event(event) => json_length(event),
            PublishedItem::Settled(_) | PublishedItem::Notice(_) => 0,
        };
        size_of::<Self>() + texts
    }
}

/// Returns the length of an event as JSON, without allocating it.
fn json_length(event: &Event) -> usize {
    struct Length(usize);
    impl std::io::Write for Length {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut length = Length(0);
    // An event that cannot be serialised contains no long texts.
    let _ = serde_json::to_writer(&mut length, event);
    length.0
}

/// What a new subscriber receives: what it missed, and a channel for what comes.
pub struct Subscription {
    /// Some of the requested publications have been evicted; the client must reload the state.
    pub gap: bool,
    pub missed: Vec<Arc<Publication>>,
    /// For one session: the work that is under way or waits for its title.
    pub unsettled: Option<WorkId>,
    pub live: mpsc::Receiver<Arc<Publication>>,
}

pub struct Hub {
    boot: String,
    inner: Mutex<Inner>,
    /// Is told each notice of this hub.
    relay: OnceLock<Relay>,
}

/// Passes notices on to others.
pub type Relay = Box<dyn Fn(&Notice) + Send + Sync>;

#[derive(Default)]
struct Inner {
    last: u64,
    /// Sizes of the most recent publications, in order; `weight` is their sum.
    weights: VecDeque<usize>,
    weight: usize,
    sessions: HashMap<SessionId, Log>,
    notices: Log,
    everything: Vec<mpsc::Sender<Arc<Publication>>>,
    /// The highest number that was dropped together with its session's log.
    forgotten: u64,
}

#[derive(Default)]
struct Log {
    kept: Recent,
    /// The highest number that was dropped from `kept`.
    dropped: u64,
    /// The work that began last, until it is settled.
    unsettled: Option<WorkId>,
    subscribers: Vec<mpsc::Sender<Arc<Publication>>>,
}

impl Log {
    /// Adds a publication and sends it to the subscribers. Returns approximately how many bytes keeping it takes.
    fn push(&mut self, published: &Arc<Publication>) -> usize {
        match &published.what {
            // After a restart, a work that waited for a person continues with its question.
            PublishedItem::Event(
                Event::WorkStarted { work_id, .. }
                | Event::WorkContinued { work_id, .. }
                | Event::WorkTakenOver { work_id, .. }
                | Event::ApprovalAsked { work_id, .. },
            ) => {
                self.unsettled = Some(work_id.clone());
            }
            PublishedItem::Settled(work_id) if self.unsettled.as_ref() == Some(work_id) => self.unsettled = None,
            PublishedItem::Event(_) | PublishedItem::Settled(_) | PublishedItem::Notice(_) => {}
        }
        tell(&mut self.subscribers, published);
        self.kept.push(published)
    }

    /// Drops the publications up to this number.
    fn drop_until(&mut self, number: u64) {
        if let Some(newest) = self.kept.drop_until(number) {
            self.dropped = newest;
        }
    }
}

impl Inner {
    fn publish(&mut self, session: Option<&SessionId>, what: PublishedItem) {
        self.last += 1;
        let published = Arc::new(Publication::new(self.last, session, what));
        let log = match session {
            None => &mut self.notices,
            Some(session) => self.log_of(session),
        };
        let weight = log.push(&published);
        tell(&mut self.everything, &published);
        self.weigh(weight);
    }

    /// Returns the log of a session. What a new one does not have may have been dropped.
    fn log_of(&mut self, session: &SessionId) -> &mut Log {
        let dropped = self.forgotten;
        self.sessions.entry(session.clone()).or_insert_with(|| Log { dropped, ..Log::default() })
    }

    /// Keeps memory bounded over all sessions. Numbers are dense, so the oldest publications are those with the lowest
    /// numbers.
    fn weigh(&mut self, weight: usize) {
        self.weights.push_back(weight);
        self.weight += weight;
        if self.weight <= KEPT + SWEPT_AT_ONCE {
            return;
        }
        while self.weight > KEPT
            && let Some(oldest) = self.weights.pop_front()
        {
            self.weight -= oldest;
        }
        let oldest = self.last - self.weights.len() as u64;
        self.sessions.values_mut().chain([&mut self.notices]).for_each(|log| log.drop_until(oldest));
    }
}

fn tell(subscribers: &mut Vec<mpsc::Sender<Arc<Publication>>>, published: &Arc<Publication>) {
    subscribers.retain(|subscriber| subscriber.try_send(published.clone()).is_ok());
}

impl Hub {
    pub fn new() -> Self {
        let boot = crate::clock::new_secret()[..8].to_owned();
        Self { boot, inner: Mutex::default(), relay: OnceLock::new() }
    }

    /// Whether anybody follows a session, or all of them.
    pub fn has_followers(&self) -> bool {
        let inner = self.inner();
        let follows = |subscriber: &mpsc::Sender<_>| !subscriber.is_closed();
        inner.everything.iter().any(follows) || inner.sessions.values().any(|log| log.subscribers.iter().any(follows))
    }

    /// Returns the random id of this hub, new for each start of the server and each opening of the tenant.
    pub fn boot(&self) -> &str {
        &self.boot
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn id(&self, number: u64) -> EventId {
        EventId { boot: self.boot.clone(), number }
    }

    /// Publishes to the session's subscribers and to those of everything. Returns the publication's number.
    pub fn publish(&self, session: &SessionId, what: PublishedItem) -> u64 {
        let mut inner = self.inner();
        inner.publish(Some(session), what);
        inner.last
    }

    pub fn notice(&self, notice: Notice) {
        if let Some(relay) = self.relay.get() {
            relay(&notice);
        }
        self.relayed(notice);
    }

    /// Publishes a notice that comes from elsewhere, and is not passed on.
    pub fn relayed(&self, notice: Notice) {
        self.inner().publish(None, PublishedItem::Notice(notice));
    }

    /// Has each notice of this hub passed on. Only the first call has an effect.
    pub fn relay_to(&self, relay: Relay) {
        let _ = self.relay.set(relay);
    }

    /// Returns the number of the last publication.
    pub fn last(&self) -> u64 {
        self.inner().last
    }

    /// Follows one session, from after the id `after`, or from the next publication if it is `None`.
    pub fn follow(&self, session: &SessionId, after: Option<&EventId>) -> Subscription {
        let (to, live) = mpsc::channel(UNREAD);
        let mut inner = self.inner();
        let last = inner.last;
        let boot_fits = after.is_none_or(|id| id.boot == self.boot && id.number <= last);
        let log = inner.log_of(session);
        log.subscribers.push(to);
        let unsettled = log.unsettled.clone();
        let Some(after) = after else { return Subscription { gap: false, missed: Vec::new(), unsettled, live } };
        if !boot_fits || after.number < log.dropped {
            return Subscription { gap: true, missed: Vec::new(), unsettled, live };
        }
        Subscription { gap: false, missed: log.kept.after(after.number), unsettled, live }
    }

    /// Registers a work that began before this start of the server and continues, so that subscribers that follow until
    /// it is settled wait for it even before its first event.
    pub fn resume(&self, session: &SessionId, work_id: &WorkId) {
        let mut inner = self.inner();
        let log = inner.log_of(session);
        log.unsettled = Some(work_id.clone());
    }

    /// Follows everything, from after the id `after`, or from the next publication if it is `None`.
    pub fn follow_all(&self, after: Option<&EventId>) -> Subscription {
        let (to, live) = mpsc::channel(UNREAD);
        let mut inner = self.inner();
        inner.everything.push(to);
        let unsettled = None;
        let Some(after) = after else { return Subscription { gap: false, missed: Vec::new(), unsettled, live } };
        let logs = || inner.sessions.values().chain([&inner.notices]);
        let lost = logs().map(|log| log.dropped).max().unwrap_or(0).max(inner.forgotten);
        if after.boot != self.boot || after.number > inner.last || after.number < lost {
            return Subscription { gap: true, missed: Vec::new(), unsettled, live };
        }
        let mut missed: Vec<_> = logs().flat_map(|log| log.kept.after(after.number)).collect();
        missed.sort_by_key(|published| published.number);
        Subscription { gap: false, missed, unsettled, live }
    }

    /// Ends the streams of a deleted session and drops its log.
    pub fn remove(&self, session: &SessionId) {
        let mut inner = self.inner();
        if let Some(log) = inner.sessions.remove(session) {
            let newest = log.kept.last_number().unwrap_or(log.dropped);
            inner.forgotten = inner.forgotten.max(newest);
        }
    }

    /// Drops the log of a session about which nothing was ever published, and which nobody follows any more.
    pub fn drop_unused(&self, session: &SessionId) {
        let mut inner = self.inner();
        let is_used = |log: &mut Log| {
            log.subscribers.retain(|subscriber| !subscriber.is_closed());
            !log.subscribers.is_empty() || log.unsettled.is_some() || log.kept.last_number().is_some()
        };
        if inner.sessions.get_mut(session).is_some_and(|log| !is_used(log)) {
            inner.sessions.remove(session);
        }
    }

    /// Drops the log of a session that is not in memory. Its subscribers, if any, stay.
    pub fn forget(&self, session: &SessionId) {
        let mut inner = self.inner();
        let Some(log) = inner.sessions.get_mut(session) else { return };
        log.subscribers.retain(|subscriber| !subscriber.is_closed());
        log.unsettled = None;
        let newest = log.kept.last_number().unwrap_or(log.dropped);
        if log.subscribers.is_empty() {
            inner.sessions.remove(session);
        } else {
            log.kept.clear();
            log.dropped = newest;
        }
        inner.forgotten = inner.forgotten.max(newest);
    }
}

impl Default for Hub {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(name: &str) -> SessionId {
        SessionId::parse(name).unwrap()
    }

    fn titled(text: &str) -> PublishedItem {
        PublishedItem::Event(Event::Titled { title: text.to_owned() })
    }

    fn numbers(published: &[Arc<Publication>]) -> Vec<u64> {
        published.iter().map(|p| p.number).collect()
    }

    #[test]
    fn resumed_subscriber_gets_exactly_missed_events() {
        let hub = Hub::new();
        let (a, b) = (session("a"), session("b"));
        for name in ["1", "2", "3"] {
            hub.publish(&a, titled(name));
            hub.publish(&b, titled(name));
        }
        let back = hub.follow(&a, Some(&hub.id(1)));
        assert_eq!((back.gap, numbers(&back.missed)), (false, vec![3, 5]));
        let all = hub.follow_all(Some(&hub.id(2)));
        assert_eq!((all.gap, numbers(&all.missed)), (false, vec![3, 4, 5, 6]));
        assert!(hub.follow(&a, Some(&hub.id(6))).missed.is_empty());
    }

    #[test]
    fn id_of_other_start_or_future_is_a_gap() {
        let hub = Hub::new();
        hub.publish(&session("a"), titled("x"));
        let other = EventId { boot: "00000000".to_owned(), number: 1 };
        assert!(hub.follow(&session("a"), Some(&other)).gap);
        assert!(hub.follow_all(Some(&other)).gap);
        assert!(hub.follow(&session("a"), Some(&hub.id(99))).gap);
    }

    #[test]
    fn dropped_publications_are_reported_as_gap() {
        let hub = Hub::new();
        let a = session("a");
        hub.publish(&a, titled("first"));
        let long = "x".repeat(KEPT / 4);
        for _ in 0..8 {
            hub.publish(&a, titled(&long));
        }
        assert!(hub.follow(&a, Some(&hub.id(1))).gap);
        assert_eq!(numbers(&hub.follow(&a, Some(&hub.id(6))).missed), [7, 8, 9]);
        hub.forget(&a);
        assert!(hub.follow(&a, Some(&hub.id(8))).gap);
    }

    #[test]
    fn session_that_was_forgotten_is_a_gap_for_every_client() {
        let hub = Hub::new();
        let a = session("a");
        for n in 0..4 {
            hub.publish(&a, titled(&n.to_string()));
        }
        hub.forget(&a);
        assert!(hub.follow(&a, Some(&hub.id(2))).gap);
        assert!(hub.follow(&a, Some(&hub.id(2))).gap, "the second one, too");
        hub.publish(&a, titled("new"));
        assert!(hub.follow(&a, Some(&hub.id(2))).gap);
        assert_eq!(numbers(&hub.follow(&a, Some(&hub.id(4))).missed), [5]);
    }

    #[test]
    fn unused_log_is_dropped() {
        let hub = Hub::new();
        let (a, b) = (session("a"), session("b"));
        drop(hub.follow(&a, None));
        let follows = hub.follow(&b, None);
        [&a, &b].into_iter().for_each(|session| hub.drop_unused(session));
        assert_eq!(hub.inner().sessions.keys().collect::<Vec<_>>(), [&b]);
        drop(follows);
        hub.publish(&b, titled("b"));
        hub.drop_unused(&b);
        assert_eq!(numbers(&hub.follow(&b, Some(&hub.id(0))).missed), [1]);
    }

    #[test]
    fn sessions_share_one_replay_limit() {
        let hub = Hub::new();
        let sessions: Vec<SessionId> = (0..50).map(|n| session(&format!("s{n}"))).collect();
        let text = "x".repeat(1000);
        for n in 0..3 * KEPT / text.len() {
            hub.publish(&sessions[n % sessions.len()], titled(&text));
        }
        let kept = |inner: &Inner| -> Vec<usize> {
            let logs = inner.sessions.values();
            logs.flat_map(|log| log.kept.after(0)).map(|published| published.weight()).collect()
        };
        let weights = kept(&hub.inner());
        let weight: usize = weights.iter().sum();
        assert!((KEPT - 2000..=KEPT + SWEPT_AT_ONCE).contains(&weight), "{weight}");
        let last = hub.last();
        let oldest = last - weights.len() as u64;
        assert!(hub.follow(&sessions[0], Some(&hub.id(oldest - 100))).gap);
        assert!(hub.follow_all(Some(&hub.id(oldest - 1))).gap);
        let whole = hub.follow_all(Some(&hub.id(oldest)));
        assert_eq!((whole.gap, numbers(&whole.missed)), (false, (oldest + 1..=last).collect::<Vec<_>>()));
    }

    #[test]
    fn replay_weight_equals_output_length() {
        let weight = |what| Publication::new(1, None, what).weight();
        let work_id = crate::domain::WorkId::new("w");
        let (text, bytes) = ("x".repeat(5000), 5000);
        let done = Event::WorkFinished { work_id, outcome: crate::domain::Outcome::Done, content: text.clone().into() };
        assert!(weight(PublishedItem::Event(done)) > bytes);
        assert!(weight(titled(&text)) > bytes);
        assert!(weight(titled("")) < 400);
    }

    #[test]
    fn only_the_slow_subscriber_is_dropped() {
        let hub = Hub::new();
        let a = session("a");
        let mut slow = hub.follow(&a, None);
        for n in 0..=UNREAD {
            hub.publish(&a, titled(&n.to_string()));
        }
        let mut fresh = hub.follow(&a, None);
        hub.publish(&a, titled("last"));
        let mut read = 0;
        while slow.live.try_recv().is_ok() {
            read += 1;
        }
        assert_eq!(read, UNREAD);
        assert!(slow.live.is_closed());
        assert!(fresh.live.try_recv().is_ok());
    }

    #[test]
    fn event_id_round_trips_through_text() {
        let id = EventId { boot: "ab12".to_owned(), number: 7 };
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        assert_eq!(EventId::parse("7"), None);
        assert_eq!(EventId::parse("x.y"), None);
    }
}
