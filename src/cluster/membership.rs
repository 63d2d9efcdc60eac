//! Membership: the beats by which this server says that it lives, and what it may do while they do not arrive.
//!
//! The others decide by the clock of the database. This server decides by its own monotonic clock, since the *sending* of the last
//! beat that arrived, and two seconds earlier than anybody else may.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use uuid::Uuid;

use crate::config::{ClusterConfig, DatabaseConfig};
use crate::store::{Beat, ClusterMarks, DatabaseAddress, DatabaseError, Joined, NewServer, ServerLoad, ServerRow};

/// Time between two beats.
const BEAT: Duration = Duration::from_secs(2);
/// Time since the last beat that arrived after which this server does nothing more. The others wait ten seconds.
const SELF_FENCE: Duration = Duration::from_secs(8);
/// How often it is looked whether that time is over.
const LOOK: Duration = Duration::from_millis(200);
/// After which time the log says again that the database cannot be reached.
const REPEATED_AFTER: Duration = Duration::from_secs(60);
/// Pause before the database is tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// Whether a server may own homes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may, under this id.
    Member(Uuid),
    /// Its beats do not arrive, or the others have declared it dead: it starts nothing and ends what it does.
    Fenced,
}

/// The membership of this server. Its beats end when it is dropped.
pub struct Membership {
    state: Arc<State>,
    tasks: [AbortHandle; 2],
}

struct State {
    database: DatabaseAddress,
    address: String,
    marks: ClusterMarks,
    standing: watch::Sender<Standing>,
    /// Since when the last beat that arrived counts, and the id that it was for.
    last: Mutex<LastBeat>,
    works: AtomicUsize,
    is_draining: AtomicBool,
    /// Whether it says nothing, although it could, because it must not own homes.
    is_silent: AtomicBool,
    /// A beat is due now.
    due: Notify,
    leaving: Notify,
    has_left: Notify,
}

#[derive(Clone, Copy)]
struct LastBeat {
    id: Uuid,
    sent_at: Instant,
    /// The time since 1970 by the clock of the database when it arrived there.
    time: Duration,
}

impl Membership {
    /// Joins the cluster and begins to say that this server lives.
    ///
    /// # Errors
    /// Returns why the database cannot be used.
    pub async fn join(
        database: &DatabaseConfig,
        cluster: &ClusterConfig,
        marks: ClusterMarks,
    ) -> Result<Self, DatabaseError> {
        let (server, sent_at) = (new_server(&cluster.address, marks.clone()), Instant::now());
        let Joined { row, time } = ServerRow::join(&database.address, &server).await?;
        let state = Arc::new(State {
            database: database.address.clone(),
            address: cluster.address.clone(),
            marks,
            standing: watch::Sender::new(Standing::Member(server.id)),
            last: Mutex::new(LastBeat { id: server.id, sent_at, time }),
            works: AtomicUsize::new(0),
            is_draining: AtomicBool::new(false),
            is_silent: AtomicBool::new(false),
            due: Notify::new(),
            leaving: Notify::new(),
            has_left: Notify::new(),
        });
        tracing::info!(server = %server.id, address = %server.address, "joined the cluster");
        let beats = tokio::spawn(state.clone().live(row)).abort_handle();
        let fence = tokio::spawn(state.clone().fence_in_time()).abort_handle();
        Ok(Self { state, tasks: [beats, fence] })
    }

    /// Returns whether this server may own homes at this moment.
    pub fn standing(&self) -> Standing {
        self.state.fence_if_due();
        *self.state.standing.borrow()
    }

    pub fn follow(&self) -> watch::Receiver<Standing> {
        self.state.standing.subscribe()
    }

    /// Returns the id under which it joined last.
    pub fn id(&self) -> Uuid {
        self.state.last().id
    }

    /// Returns the time since 1970 by the clock of the database, which all servers share. It is wrong by less than a beat takes.
    pub fn shared_time(&self) -> Duration {
        let last = self.state.last();
        last.time + last.sent_at.elapsed()
    }

    pub fn set_works(&self, works: usize) {
        self.state.works.store(works, Ordering::Relaxed);
    }

    /// Says so with the next beat, which is sent now.
    pub fn begin_draining(&self) {
        self.state.is_draining.store(true, Ordering::Relaxed);
        self.state.due.notify_one();
    }

    /// Gives up the homes and lets the others take them, although the database hears from this server; or says again that it lives.
    pub fn set_silent(&self, is_silent: bool) {
        self.state.is_silent.store(is_silent, Ordering::Relaxed);
    }

    pub fn is_draining(&self) -> bool {
        self.state.is_draining.load(Ordering::Relaxed)
    }

    /// Says that this server has ended. Waits a few seconds at most.
    pub async fn leave(&self) {
        let left = self.state.has_left.notified();
        self.state.leaving.notify_one();
        if tokio::time::timeout(BEAT, left).await.is_err() {
            tracing::warn!("could not say that this server ends; the others find it out by themselves");
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl State {
    fn last(&self) -> LastBeat {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_late(&self) -> bool {
        self.last().sent_at.elapsed() >= SELF_FENCE
    }

    fn is_silent(&self) -> bool {
        self.is_silent.load(Ordering::Relaxed)
    }

    fn arrived(&self, beat: LastBeat) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = beat;
        let is_new = self.standing.send_if_modified(|standing| {
            let is_new = *standing != Standing::Member(beat.id);
            *standing = Standing::Member(beat.id);
            is_new
        });
        if is_new {
            tracing::info!(server = %beat.id, "this server is a member of the cluster again");
        }
    }

    fn fence(&self, why: &str) {
        let is_new = self.standing.send_if_modified(|standing| {
            let is_new = *standing != Standing::Fenced;
            *standing = Standing::Fenced;
            is_new
        });
        if is_new {
            tracing::error!("{why}: this server gives up its homes and starts nothing");
        }
    }

    /// Says again and again that this server lives, until it leaves.
    async fn live(self: Arc<Self>, mut row: ServerRow) {
        loop {
            while self.is_silent() {
                tokio::select! {
                    () = tokio::time::sleep(LOOK) => {}
                    () = self.leaving.notified() => return self.leave(&row).await,
                }
            }
            let LastBeat { id, .. } = self.last();
            let sent_at = Instant::now();
            let load = ServerLoad {
                works: self.works.load(Ordering::Relaxed),
                is_draining: self.is_draining.load(Ordering::Relaxed),
            };
            match row.beat(load).await {
                Ok(Beat::Alive(time)) => {
                    self.arrived(LastBeat { id, sent_at, time });
                    tokio::select! {
                        () = tokio::time::sleep_until(sent_at + BEAT) => {}
                        () = self.due.notified() => {}
                        () = self.leaving.notified() => return self.leave(&row).await,
                    }
                }
                Ok(Beat::Dead) => {
                    self.fence("the other servers have declared this one dead");
                    row = self.joined_again().await;
                }
                Err(error) => {
                    tracing::warn!(%error, "this server could not say that it lives");
                    row = self.connected_again(id).await;
                }
            }
        }
    }

    async fn leave(&self, row: &ServerRow) {
        match row.leave().await {
            Ok(()) => self.has_left.notify_waiters(),
            Err(error) => tracing::warn!(%error, "could not say that this server ends"),
        }
    }

    async fn joined_again(&self) -> ServerRow {
        loop {
            let (server, sent_at) = (new_server(&self.address, self.marks.clone()), Instant::now());
            match ServerRow::join(&self.database, &server).await {
                Ok(Joined { row, time }) => {
                    self.arrived(LastBeat { id: server.id, sent_at, time });
                    return row;
                }
                Err(error) => tracing::warn!(%error, "this server could not join the cluster again"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn connected_again(&self, id: Uuid) -> ServerRow {
        let mut said: Option<(&str, Instant)> = None;
        loop {
            tokio::time::sleep(PAUSE).await;
            match ServerRow::connect(&self.database, id).await {
                Ok(row) => return row,
                // Each cause once, and again after a while.
                Err(error) if said.is_none_or(|(code, at)| code != error.code() || at.elapsed() > REPEATED_AFTER) => {
                    tracing::warn!(%error, "this server cannot say that it lives");
                    said = Some((error.code(), Instant::now()));
                }
                Err(_) => {}
            }
        }
    }

    /// Ends the membership in time, whatever the database does.
    async fn fence_in_time(self: Arc<Self>) {
        loop {
            tokio::time::sleep(LOOK).await;
            self.fence_if_due();
        }
    }

    fn fence_if_due(&self) {
        if self.is_silent() {
            self.fence("the accounts could not be read for eight seconds");
        } else if self.is_late() {
            self.fence("the database did not hear from this server for eight seconds");
        }
    }
}

fn new_server(address: &str, marks: ClusterMarks) -> NewServer {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    NewServer { id: Uuid::new_v4(), address: address.to_owned(), version, marks }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn late_server_is_fenced_by_whoever_asks_first() {
        let (id, sent_at) = (Uuid::new_v4(), Instant::now());
        let address = SecretString::from("postgres://miniclaw@127.0.0.1:1/none?sslmode=disable".to_owned());
        let state = State {
            database: DatabaseAddress::parse(&address).unwrap(),
            address: "http://127.0.0.1:1".to_owned(),
            marks: ClusterMarks { sign_ins: None, secret: Vec::new() },
            standing: watch::Sender::new(Standing::Member(id)),
            last: Mutex::new(LastBeat { id, sent_at, time: Duration::ZERO }),
            works: AtomicUsize::new(0),
            is_draining: AtomicBool::new(false),
            is_silent: AtomicBool::new(false),
            due: Notify::new(),
            leaving: Notify::new(),
            has_left: Notify::new(),
        };
        let no_task = || tokio::spawn(async {}).abort_handle();
        let membership = Membership { state: Arc::new(state), tasks: [no_task(), no_task()] };
        let followed = membership.follow();
        assert_eq!(membership.standing(), Standing::Member(id));
        tokio::time::advance(SELF_FENCE).await;
        assert_eq!(membership.standing(), Standing::Fenced);
        assert!(followed.has_changed().unwrap(), "everybody is told, and the log says why");
        membership.state.arrived(LastBeat { id, sent_at: Instant::now(), time: Duration::ZERO });
        assert_eq!(membership.standing(), Standing::Member(id));
    }
}
