//! Who is told what happened, in one order, without a gap.
//!
//! Every publication has a number, dense over the whole server, so one number resumes a stream of one session and a
//! stream of all of them. What was published of late is kept for those who come back; who asks for more is told that
//! there is a gap. A subscriber that does not read is dropped and comes back with its last number.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use super::notice::Notice;
use crate::domain::{Event, SessionId, WorkId};

/// Publications kept of one session.
const KEPT: usize = 20_000;
/// Publications kept over all sessions together, at most: about 30 MB of tokens. Without it, many sessions at work at once
/// would each fill their own measure.
const KEPT_OVER_ALL: u64 = 50_000;
/// How many more there may be until those beyond are dropped, so that not every publication looks at every session.
const SWEPT_AT_ONCE: u64 = 5_000;
/// What a subscriber may leave unread before it is dropped.
const UNREAD: usize = 8_192;

/// The name of a publication: the server's start and a number. Written `a1b2c3d4.17`.
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
pub struct Published {
    pub number: u64,
    pub session: Option<SessionId>,
    pub what: What,
}

#[derive(Debug)]
pub enum What {
    Event(Event),
    /// Nothing more will come of this work: its end was told, and its title if there was one to make.
    Settled(WorkId),
    /// Not about one session's content.
    Notice(Notice),
}

/// What a new subscriber gets: what it missed, and a channel for what comes.
pub struct Subscription {
    /// Something it asked for is not kept any more; it must load the state afresh.
    pub gap: bool,
    pub missed: Vec<Arc<Published>>,
    /// Of one session: the work that is under way, or waits for its title.
    pub unsettled: Option<WorkId>,
    pub live: mpsc::Receiver<Arc<Published>>,
}

pub struct Hub {
    boot: String,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    last: u64,
    sessions: HashMap<SessionId, Log>,
    notices: Log,
    everything: Vec<mpsc::Sender<Arc<Published>>>,
    /// The highest number of what was forgotten together with its session's log.
    forgotten: u64,
}

#[derive(Default)]
struct Log {
    kept: VecDeque<Arc<Published>>,
    /// The highest number that was dropped from `kept`.
    dropped: u64,
    /// The work that began last, until it is settled.
    unsettled: Option<WorkId>,
    subscribers: Vec<mpsc::Sender<Arc<Published>>>,
}

impl Log {
    fn push(&mut self, published: &Arc<Published>) {
        match &published.what {
            // After a start of the server, a work that waited for a person goes on with its question.
            What::Event(Event::WorkStarted { work_id, .. } | Event::ApprovalAsked { work_id, .. }) => {
                self.unsettled = Some(work_id.clone());
            }
            What::Settled(work_id) if self.unsettled.as_ref() == Some(work_id) => self.unsettled = None,
            What::Event(_) | What::Settled(_) | What::Notice(_) => {}
        }
        if self.kept.len() == KEPT
            && let Some(oldest) = self.kept.pop_front()
        {
            self.dropped = oldest.number;
        }
        self.kept.push_back(published.clone());
        tell(&mut self.subscribers, published);
    }

    /// Drops what was published up to this number.
    fn drop_until(&mut self, number: u64) {
        let gone = self.kept.partition_point(|published| published.number <= number);
        let newest = self.kept.drain(..gone).next_back().map(|published| published.number);
        if let Some(newest) = newest {
            self.dropped = newest;
            // What was lent to one long answer is given back.
            self.kept.shrink_to(2 * self.kept.len());
        }
    }

    fn after(&self, number: u64) -> impl Iterator<Item = &Arc<Published>> {
        let start = self.kept.partition_point(|published| published.number <= number);
        self.kept.range(start..)
    }
}

impl Inner {
    /// Keeps memory flat, however many sessions are at work: numbers are dense, so the oldest of all are known by theirs.
    fn sweep(&mut self) {
        if self.last.is_multiple_of(SWEPT_AT_ONCE)
            && let Some(oldest) = self.last.checked_sub(KEPT_OVER_ALL)
        {
            self.sessions.values_mut().chain([&mut self.notices]).for_each(|log| log.drop_until(oldest));
        }
    }
}

fn tell(subscribers: &mut Vec<mpsc::Sender<Arc<Published>>>, published: &Arc<Published>) {
    subscribers.retain(|subscriber| subscriber.try_send(published.clone()).is_ok());
}

impl Hub {
    pub fn new() -> Self {
        let boot = crate::clock::new_secret()[..8].to_owned();
        Self { boot, inner: Mutex::default() }
    }

    /// Names this start of the server.
    pub fn boot(&self) -> &str {
        &self.boot
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn id(&self, number: u64) -> EventId {
        EventId { boot: self.boot.clone(), number }
    }

    /// Publishes to the session's subscribers and to those of everything; returns its number.
    pub fn publish(&self, session: &SessionId, what: What) -> u64 {
        let mut inner = self.inner();
        inner.last += 1;
        let published = Arc::new(Published { number: inner.last, session: Some(session.clone()), what });
        if let Some(log) = inner.sessions.get_mut(session) {
            log.push(&published);
        } else {
            inner.sessions.entry(session.clone()).or_default().push(&published);
        }
        tell(&mut inner.everything, &published);
        inner.sweep();
        inner.last
    }

    pub fn notice(&self, notice: Notice) {
        let mut inner = self.inner();
        inner.last += 1;
        let published = Arc::new(Published { number: inner.last, session: None, what: What::Notice(notice) });
        inner.notices.push(&published);
        tell(&mut inner.everything, &published);
        inner.sweep();
    }

    /// The number of the last publication of all.
    pub fn last(&self) -> u64 {
        self.inner().last
    }

    /// Follows one session from `after` on; without it, from now.
    pub fn follow(&self, session: &SessionId, after: Option<&EventId>) -> Subscription {
        let (to, live) = mpsc::channel(UNREAD);
        let mut inner = self.inner();
        let (forgotten, last) = (inner.forgotten, inner.last);
        let boot_fits = after.is_none_or(|id| id.boot == self.boot && id.number <= last);
        let known = inner.sessions.contains_key(session);
        let log = inner.sessions.entry(session.clone()).or_default();
        log.subscribers.push(to);
        let unsettled = log.unsettled.clone();
        let Some(after) = after else { return Subscription { gap: false, missed: Vec::new(), unsettled, live } };
        let lost = if known { log.dropped } else { forgotten };
        if !boot_fits || after.number < lost {
            return Subscription { gap: true, missed: Vec::new(), unsettled, live };
        }
        Subscription { gap: false, missed: log.after(after.number).cloned().collect(), unsettled, live }
    }

    /// Follows everything from `after` on; without it, from now.
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
        let mut missed: Vec<_> = logs().flat_map(|log| log.after(after.number).cloned()).collect();
        missed.sort_by_key(|published| published.number);
        Subscription { gap: false, missed, unsettled, live }
    }

    /// Ends the streams of a session that is no more, and forgets it.
    pub fn remove(&self, session: &SessionId) {
        let mut inner = self.inner();
        if let Some(log) = inner.sessions.remove(session) {
            let newest = log.kept.back().map_or(log.dropped, |published| published.number);
            inner.forgotten = inner.forgotten.max(newest);
        }
    }

    /// Forgets a session that nobody uses. Its followers, if any, stay.
    pub fn forget(&self, session: &SessionId) {
        let mut inner = self.inner();
        let Some(log) = inner.sessions.get_mut(session) else { return };
        log.subscribers.retain(|subscriber| !subscriber.is_closed());
        log.unsettled = None;
        let newest = log.kept.back().map_or(log.dropped, |published| published.number);
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

    fn titled(text: &str) -> What {
        What::Event(Event::Titled { title: text.to_owned() })
    }

    fn numbers(published: &[Arc<Published>]) -> Vec<u64> {
        published.iter().map(|p| p.number).collect()
    }

    #[test]
    fn who_comes_back_gets_exactly_what_was_missed() {
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
    fn another_start_or_a_number_from_the_future_is_a_gap() {
        let hub = Hub::new();
        hub.publish(&session("a"), titled("x"));
        let other = EventId { boot: "00000000".to_owned(), number: 1 };
        assert!(hub.follow(&session("a"), Some(&other)).gap);
        assert!(hub.follow_all(Some(&other)).gap);
        assert!(hub.follow(&session("a"), Some(&hub.id(99))).gap);
    }

    #[test]
    fn what_was_dropped_is_a_gap_not_a_silence() {
        let hub = Hub::new();
        let a = session("a");
        for n in 0..KEPT + 10 {
            hub.publish(&a, titled(&n.to_string()));
        }
        assert!(hub.follow(&a, Some(&hub.id(5))).gap);
        assert_eq!(hub.follow(&a, Some(&hub.id(10))).missed.len(), KEPT);
        hub.forget(&a);
        assert!(hub.follow(&a, Some(&hub.id(10))).gap);
    }

    #[test]
    fn many_sessions_together_keep_no_more_than_their_common_measure() {
        let hub = Hub::new();
        let sessions: Vec<SessionId> = (0..50).map(|n| session(&format!("s{n}"))).collect();
        let all = KEPT_OVER_ALL + 5 * SWEPT_AT_ONCE;
        for n in 0..all {
            hub.publish(&sessions[n as usize % sessions.len()], titled("x"));
        }
        let kept: usize = hub.inner().sessions.values().map(|log| log.kept.len()).sum();
        assert_eq!(kept as u64, KEPT_OVER_ALL);
        let oldest = all - KEPT_OVER_ALL;
        assert!(hub.follow(&sessions[0], Some(&hub.id(oldest - 100))).gap);
        assert!(hub.follow_all(Some(&hub.id(oldest - 1))).gap);
        let whole = hub.follow_all(Some(&hub.id(oldest)));
        assert_eq!((whole.gap, numbers(&whole.missed)), (false, (oldest + 1..=all).collect::<Vec<_>>()));
    }

    #[test]
    fn a_subscriber_that_does_not_read_is_dropped_and_others_are_not() {
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
    fn ids_survive_their_text() {
        let id = EventId { boot: "ab12".to_owned(), number: 7 };
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        assert_eq!(EventId::parse("7"), None);
        assert_eq!(EventId::parse("x.y"), None);
    }
}
