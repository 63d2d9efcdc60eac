//! Stores what differs between the folder and the database.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex as StdMutex};
use std::time::{Duration, Instant, SystemTime};

use uuid::Uuid;

use super::journals::{Held, Stored};
use super::looks::Looks;
use super::manifest::{Batch, LaterPiece, Manifest};
use super::marker::Marker;
use super::scan::{self, Scope};
use super::watched::{Noticed, Watched};
use super::{CacheUse, Replica, blocking, reading, tracked};
use crate::domain::SessionId;
use crate::store::error::StoreError;
use crate::store::home::{Home, lock};
use crate::store::postgres::{DatabaseError, FactRow, Piece, PieceHash};

/// How often the whole home is compared, at least.
const WHOLE_LOOK: Duration = Duration::from_secs(60);
/// The share of the time that whole comparisons may take: one of this many parts.
const LOOK_SHARE: u32 = 30;
/// Pieces of a large file that are in memory at once.
const LATER_AT_ONCE: usize = 8;
/// How often files are stored again that were changed meanwhile, before somebody else's turn comes.
const MORE_ROUNDS: usize = 3;

/// The stored files, and what is known of changes.
pub(super) struct Files {
    marker: Marker,
    /// What may differ from what is stored. It stays until it is stored.
    pending: Pending,
    /// A batch whose commit has an unknown outcome, and the commit before.
    doubtful: Option<(Batch, Option<Uuid>)>,
    last_commit: Option<Uuid>,
    /// Pieces that no file needs any more.
    dropped: HashSet<PieceHash>,
    whole_look_due: Instant,
    /// Whether the copy has a note of how its files look that was written since it was opened.
    is_noted: bool,
    /// Compared in blocking threads.
    compared: Arc<StdMutex<Compared>>,
}

pub(super) struct Compared {
    manifest: Manifest,
    watched: Watched,
}

#[derive(Default)]
struct Pending {
    is_all: bool,
    paths: BTreeSet<Vec<u8>>,
    journals: BTreeSet<SessionId>,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// What the kernel has noticed.
    Noticed,
    /// The whole home.
    Whole,
    /// What was noticed, and the whole home every now and then.
    Regular,
}

impl Files {
    pub fn new(marker: Marker, last_commit: Option<Uuid>, manifest: Manifest) -> Self {
        let watched = Watched::new();
        if watched.is_blind() {
            tracing::warn!("the system gives no watch on the copy, so each change needs a look at the whole home");
        }
        Self {
            marker,
            pending: Pending { is_all: true, ..Pending::default() },
            doubtful: None,
            last_commit,
            dropped: HashSet::new(),
            whole_look_due: Instant::now(),
            is_noted: false,
            compared: Arc::new(StdMutex::new(Compared { manifest, watched })),
        }
    }

    pub fn marker(&self) -> Marker {
        self.marker.clone()
    }

    /// Notes what was changed since the last call.
    fn notice(&mut self, extent: Extent) {
        let noticed = lock(&self.compared).watched.take();
        let is_due = extent == Extent::Regular && self.whole_look_due <= Instant::now();
        self.pending.is_all |= noticed == Noticed::All || extent == Extent::Whole || is_due;
        if let Noticed::Paths(paths) = noticed {
            for path in paths {
                match tracked::journal_of(&path) {
                    Some(id) => self
                        .pending
                        .journals
                        .extend(std::str::from_utf8(id).ok().and_then(|id| SessionId::parse(id).ok())),
                    None => drop(self.pending.paths.insert(path)),
                }
            }
        }
    }
}

impl Replica {
    pub(super) async fn store_now(&self, home: &Home, extent: Extent) -> Result<(), StoreError> {
        let mut files = self.files.lock().await;
        if self.rows.lost().is_cancelled() {
            return Err(StoreError::Fenced);
        }
        self.settle_doubt(&mut files).await?;
        if self.rows.take_lost_facts() {
            self.journals.set_stale().await;
        }
        self.store_noticed(home, &mut files, extent).await?;
        // Large files that were changed while they were stored: whoever waits for this must find them there, as they are now. A file
        // that is written all the time must not hold up the others.
        for _ in 0..MORE_ROUNDS {
            if files.pending.paths.is_empty() {
                break;
            }
            self.store_noticed(home, &mut files, Extent::Noticed).await?;
        }
        Ok(())
    }

    async fn store_noticed(&self, home: &Home, files: &mut Files, extent: Extent) -> Result<(), StoreError> {
        files.notice(extent);
        let mut journals = self.differing_journals(home, files).await?;
        if !files.pending.is_all && files.pending.paths.is_empty() && journals.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let pending = std::mem::take(&mut files.pending);
        if let Err(error) = self.store_pending(home, (files, &pending), &mut journals).await {
            let noticed = std::mem::take(&mut files.pending);
            files.pending = Pending {
                is_all: pending.is_all || noticed.is_all,
                paths: pending.paths.into_iter().chain(noticed.paths).collect(),
                journals: pending.journals.into_iter().chain(noticed.journals).collect(),
            };
            files.pending.journals.extend(journals.into_iter().map(|(id, _)| id));
            return Err(error);
        }
        if pending.is_all {
            files.whole_look_due = Instant::now() + WHOLE_LOOK.max(LOOK_SHARE * began.elapsed());
            if self.usage == CacheUse::Serve && !std::mem::replace(&mut files.is_noted, true) {
                let (compared, home) = (files.compared.clone(), home.clone());
                // Nobody waits for it: it is of use after a crash of this process.
                tokio::task::spawn_blocking(move || note_looks(&Looks::of(&lock(&compared).manifest), &home));
            }
        }
        Ok(())
    }

    async fn differing_journals(&self, home: &Home, files: &mut Files) -> Result<Held, StoreError> {
        let mut noticed = std::mem::take(&mut files.pending.journals);
        let (is_all, home, journals) = (files.pending.is_all, home.clone(), self.journals.clone());
        let (held, later) = blocking(move || {
            if is_all {
                noticed.extend(journals.all(&home)?);
            }
            let mut later = BTreeSet::new();
            Ok((journals.differing(&home, noticed, &mut later), later))
        })
        .await?;
        files.pending.journals = later;
        Ok(held)
    }

    /// Stores files, then facts: those of a journal that is gone are in a file.
    async fn store_pending(
        &self,
        home: &Home,
        (files, pending): (&mut Files, &Pending),
        journals: &mut Held,
    ) -> Result<(), StoreError> {
        let lines = self.lines_of(home, journals).await?;
        let ended: Vec<SessionId> =
            journals.iter().zip(&lines).filter(|(_, lines)| lines.is_empty()).map(|((id, _), _)| id.clone()).collect();
        let mut settled = BTreeSet::new();
        let mut scope = if pending.is_all { None } else { Some(pending.paths.clone()) };
        loop {
            let mut batch = self.compared(home, files, scope).await?;
            let rest = std::mem::take(&mut batch.rest);
            if rest.is_empty() {
                let compared = lock(&files.compared);
                let is_left_out = |id: &&SessionId| {
                    let file = format!("sessions/{}.json", id.as_str());
                    compared.manifest.leaves_out(file.as_bytes())
                        || batch.left_out.contains_key(file.as_bytes())
                        || batch.left_out.contains_key(b"sessions".as_slice())
                };
                // Facts that are in no stored file stay.
                settled = ended.iter().filter(|id| !is_left_out(id)).collect();
                batch.commit.settled = settled.iter().map(|id| id.as_str().to_owned()).collect();
            }
            self.store_batch(home, files, batch).await?;
            if rest.is_empty() {
                break;
            }
            scope = Some(rest);
        }
        if pending.is_all {
            lock(&files.compared).watched.set_complete();
        }
        for ((id, mut journal), lines) in journals.drain(..).zip(lines) {
            if lines.is_empty() {
                match settled.contains(&id) {
                    true => self.journals.settled(&id, journal),
                    false => drop(files.pending.journals.insert(id)),
                }
                continue;
            }
            journal.is_stale = true;
            self.rows.replace_facts(id.as_str(), &lines).await?;
            let length = lines.iter().map(|line| line.body.len() as u64).sum();
            *journal = Stored { length, is_stale: false };
        }
        Ok(())
    }

    async fn lines_of(&self, home: &Home, journals: &Held) -> Result<Vec<Vec<FactRow>>, StoreError> {
        if journals.is_empty() {
            return Ok(Vec::new());
        }
        let (home, ids) = (home.clone(), journals.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>());
        blocking(move || ids.iter().map(|id| home.journal_lines(id)).collect()).await
    }

    /// Compares what is at these paths, or everything.
    async fn compared(
        &self,
        home: &Home,
        files: &Files,
        paths: Option<BTreeSet<Vec<u8>>>,
    ) -> Result<Batch, StoreError> {
        let (compared, looked, usage) = (files.compared.clone(), home.clone(), self.usage);
        let batch = blocking(move || {
            let Compared { manifest, watched } = &mut *lock(&compared);
            let scope = paths.as_ref().map_or(Scope::All, Scope::Paths);
            let batch = scan::compare(manifest, looked.root(), scope, Some(watched))?;
            // After the walk: a copy that was deleted under it has lost files which nobody deleted.
            if usage != CacheUse::Import {
                Marker::require(looked.root())?;
                if batch.commit.gone.iter().any(|path| tracked::is_required(path)) {
                    return Err(DatabaseError::CacheGone.into());
                }
            }
            Ok(batch)
        })
        .await?;
        for (path, why) in lock(&files.compared).manifest.unreported(&batch) {
            let path = String::from_utf8_lossy(path);
            home.warn(format!("{path} is not kept in the database as it is, only on this machine: {why}"));
        }
        Ok(batch)
    }

    async fn store_batch(&self, home: &Home, files: &mut Files, mut batch: Batch) -> Result<(), StoreError> {
        if !batch.later.is_empty() {
            self.rows.put_pieces(&std::mem::take(&mut batch.pieces)).await?;
            for path in self.put_later(home, &std::mem::take(&mut batch.later)).await? {
                batch.take_out(&path);
                files.pending.paths.insert(path);
            }
        }
        if !batch.is_empty() {
            batch.commit.id = Uuid::new_v4();
            let before = files.last_commit;
            files.marker.begin(batch.commit.id);
            self.note(home, &files.marker).await?;
            let committed = self.rows.commit(&batch.commit, &batch.pieces, before).await;
            if let Err(error) = committed {
                files.doubtful = Some((batch, before));
                return Err(error.into());
            }
        }
        let is_commit = !batch.is_empty();
        files.stored(batch);
        if is_commit { self.note(home, &files.marker).await } else { Ok(()) }
    }

    /// Stores the pieces that were left for later. Returns the files that were changed in the meantime.
    async fn put_later(&self, home: &Home, later: &[LaterPiece]) -> Result<BTreeSet<Vec<u8>>, StoreError> {
        let mut changed = BTreeSet::new();
        for some in later.chunks(LATER_AT_ONCE) {
            let (home, wanted) = (home.clone(), some.to_vec());
            let read = blocking(move || Ok(reading::read_later(home.root(), &wanted))).await?;
            let lost = some.iter().zip(&read).filter(|(_, piece)| piece.is_none());
            changed.extend(lost.map(|(piece, _)| piece.path.clone()));
            let pieces: Vec<Piece> = read.into_iter().flatten().collect();
            self.rows.put_pieces(&pieces).await?;
        }
        Ok(changed)
    }

    /// Finds out whether the last commit is stored, if that is unknown.
    async fn settle_doubt(&self, files: &mut Files) -> Result<(), StoreError> {
        let Some((batch, before)) = files.doubtful.take() else { return Ok(()) };
        match self.rows.settled_commit().await {
            Ok(commit) if commit == Some(batch.commit.id) => files.stored(batch),
            Ok(_) => files.marker.set_commit(before),
            Err(error) => {
                files.doubtful = Some((batch, before));
                return Err(error.into());
            }
        }
        Ok(())
    }

    async fn note(&self, home: &Home, marker: &Marker) -> Result<(), StoreError> {
        if self.usage == CacheUse::Import {
            return Ok(());
        }
        let (home, marker) = (home.clone(), marker.clone());
        blocking(move || marker.note(home.root())).await
    }

    /// Removes pieces from the database that no file needs any more.
    pub(super) async fn drop_pieces(&self) -> Result<(), StoreError> {
        let mut files = self.files.lock().await;
        if files.doubtful.is_some() || files.dropped.is_empty() {
            return Ok(());
        }
        let dropped: Vec<PieceHash> = {
            let compared = lock(&files.compared);
            files.dropped.iter().filter(|piece| !compared.manifest.needs(piece)).copied().collect()
        };
        self.rows.drop_pieces(&dropped).await?;
        files.dropped.clear();
        Ok(())
    }

    /// Writes the copy to the disk, and says so in it. The database had all that was in it at a time.
    pub(super) async fn sync_copy(&self, home: &Home, stored_at: SystemTime) -> Result<(), StoreError> {
        if self.usage == CacheUse::Import {
            return Ok(());
        }
        let (mut marker, looks, home) = {
            let files = self.files.lock().await;
            (files.marker(), Looks::of(&lock(&files.compared).manifest), home.clone())
        };
        blocking(move || {
            let doing = || StoreError::io("writing the copy to the disk");
            let opened = home.root().open(".").map_err(doing())?;
            rustix::fs::syncfs(opened).map_err(|error| doing()(error.into()))?;
            note_looks(&looks, &home);
            marker.set_on_disk();
            marker.set_given_up(stored_at);
            marker.write(home.root())
        })
        .await
    }
}

fn note_looks(looks: &Looks, home: &Home) {
    if let Err(error) = looks.note(home.root()) {
        tracing::warn!(%error, "the files of the copy will be read when it is opened again");
    }
}

impl Files {
    /// Notes that a batch is stored.
    fn stored(&mut self, batch: Batch) {
        if !batch.is_empty() {
            self.last_commit = Some(batch.commit.id);
            self.marker.set_commit(self.last_commit);
        }
        self.dropped.extend(&batch.dropped);
        lock(&self.compared).manifest.stored(batch);
    }
}
