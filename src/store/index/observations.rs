//! The calls that run while their changes are observed, and what is known of the changes that others make meanwhile.
//!
//! Every write of this server into the project goes through [`Observations::noting`]. So a change of a file tool, of a
//! captured command, of an undo or of a person through the page is not taken for one of an observed call. What such a call
//! had changed in the same entry before is its own change, and later changes of it begin with what the other one left.
//!
//! Two observed calls at once cannot be told apart, so what changes while both run is a change of the one that ends first.
//! But what the earlier one has changed before the later one begins, such as a log that it goes on writing, stays its own.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::look::{Entry, Look, is_same};
use crate::store::capture::Node;
use crate::store::home::lock;

/// What an entry was and became; `None` means that there was none.
pub type Change = [Option<Entry>; 2];

#[derive(Default)]
pub struct Observations {
    /// Held by everybody who writes while nothing is observed, so that no observation begins in the middle of a write.
    gate: RwLock<()>,
    open: Mutex<BTreeMap<u64, Observed>>,
    count: AtomicUsize,
    next: AtomicU64,
}

/// A call under way.
#[derive(Default)]
pub struct Observed {
    /// The look before the call; absent until it is taken.
    before: Option<Arc<Look>>,
    /// What others have left since.
    noted: BTreeMap<PathBuf, Option<Entry>>,
    /// What the call itself had changed in an entry before somebody else changed it.
    own: BTreeMap<PathBuf, Change>,
    /// What each call under way, by its number, had changed when this one began.
    earlier: BTreeMap<u64, HashSet<PathBuf>>,
}

impl Observed {
    /// Returns what an entry was before the call changed it.
    fn base(&self, path: &Path) -> Option<Option<Entry>> {
        let looked = || self.before.as_ref().map(|before| before.entries.get(path).cloned());
        self.noted.get(path).cloned().or_else(looked)
    }

    /// Returns the entries that the call has changed by the time of a look.
    fn changed_by(&self, now: &Look) -> HashSet<PathBuf> {
        let Some(before) = &self.before else { return HashSet::new() };
        let differs = |path: &&PathBuf| {
            let base = self.noted.get(*path).map_or_else(|| before.entries.get(*path), Option::as_ref);
            !is_same(base, now.entries.get(*path))
        };
        let own = self.own.keys().chain(now.entries.keys()).chain(before.entries.keys()).chain(self.noted.keys());
        own.filter(|path| self.own.contains_key(*path) || differs(path)).cloned().collect()
    }

    /// Counts how an entry differs from its base as a change of the call.
    fn settle(&mut self, path: &Path, now: &Option<Entry>) {
        let Some(base) = self.base(path) else { return };
        if is_same(base.as_ref(), now.as_ref()) {
            return;
        }
        if self.noted.contains_key(path) {
            // It has changed what somebody else left in between: an undo must give that back.
            self.own.insert(path.to_owned(), [base, now.clone()]);
        } else {
            self.own.entry(path.to_owned()).or_insert([base, None])[1].clone_from(now);
        }
    }

    /// Returns what the call changed, given a look after it and what `now` returns for an entry.
    fn changes(mut self, after: &Look, now: &dyn Fn(&Path) -> Option<Entry>) -> BTreeMap<PathBuf, Change> {
        let Some(before) = self.before.clone() else { return BTreeMap::new() };
        let mut changes = BTreeMap::new();
        let unknown = |path: &&PathBuf| !self.noted.contains_key(*path) && !self.own.contains_key(*path);
        for (path, entry) in after.entries.iter().filter(|(path, _)| unknown(path)) {
            let old = before.entries.get(path);
            if !is_same(old, Some(entry)) {
                changes.insert(path.clone(), [old.cloned(), Some(entry.clone())]);
            }
        }
        for (path, entry) in before.entries.iter().filter(|(path, _)| unknown(path)) {
            if !after.entries.contains_key(path) {
                changes.insert(path.clone(), [Some(entry.clone()), None]);
            }
        }
        let shared: Vec<PathBuf> = self.noted.keys().chain(self.own.keys()).cloned().collect();
        for path in shared {
            self.settle(&path, &now(&path));
        }
        let own = self.own.into_iter().filter(|(_, [before, after])| !is_same(before.as_ref(), after.as_ref()));
        changes.extend(own);
        changes
    }

    fn hashes(&self) -> impl Iterator<Item = &str> {
        let noted = self.noted.values().flatten();
        let own = self.own.values().flatten().flatten();
        let looked = self.before.iter().flat_map(|before| before.entries.values());
        looked.chain(noted).chain(own).filter_map(Entry::hash)
    }
}

impl Observations {
    /// Begins an observation before the look that it starts with. Returns its number.
    pub fn begin(&self) -> u64 {
        let _no_writer = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.open).insert(id, Observed::default());
        self.count.fetch_add(1, Ordering::SeqCst);
        id
    }

    /// Sets the look before a call.
    pub fn looked(&self, id: u64, before: Arc<Look>) {
        let mut open = lock(&self.open);
        let others = open.iter().filter(|(other, _)| **other != id);
        let earlier = others.map(|(other, observed)| (*other, observed.changed_by(&before))).collect();
        if let Some(observed) = open.get_mut(&id) {
            (observed.before, observed.earlier) = (Some(before), earlier);
        }
    }

    /// Returns whether a call is observed.
    pub fn is_observing(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// Returns the look before a call.
    pub fn before(&self, id: u64) -> Option<Arc<Look>> {
        lock(&self.open).get(&id)?.before.clone()
    }

    /// Ends an observation without a result.
    pub fn discard(&self, id: u64) {
        if lock(&self.open).remove(&id).is_some() {
            self.count.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Ends an observation. Returns what the call changed; the others do not count it as theirs.
    pub fn end(&self, id: u64, after: &Look, noter: &dyn Noter) -> BTreeMap<PathBuf, Change> {
        let mut open = lock(&self.open);
        let Some(mut observed) = open.remove(&id) else { return BTreeMap::new() };
        self.count.fetch_sub(1, Ordering::SeqCst);
        let earlier = std::mem::take(&mut observed.earlier).into_iter().filter(|(other, _)| open.contains_key(other));
        let of_others: HashSet<PathBuf> = earlier.flat_map(|(_, changed)| changed).collect();
        let mut changes = observed.changes(after, &|path| noter.again(path, (after.entries.get(path), has_same_stamp)));
        changes.retain(|path, _| !of_others.contains(path));
        for (path, [_, after]) in &changes {
            open.values_mut().for_each(|other| drop(other.noted.insert(path.clone(), after.clone())));
        }
        let is_observing = !open.is_empty();
        drop(open);
        for (path, [_, after]) in changes.iter().filter(|_| is_observing) {
            noter.keep(path, after.as_ref());
        }
        changes
    }

    /// Makes a change that is none of the observed calls. Files are read before and after it: other calls begin and end
    /// meanwhile, and wait only while `write` runs.
    pub fn noting<T>(&self, noted: &Noted, noter: &dyn Noter, write: impl FnOnce() -> T) -> T {
        {
            let _no_begin = self.gate.read().unwrap_or_else(PoisonError::into_inner);
            if !self.is_observing() {
                return write();
            }
        }
        let Noted { paths, becoming } = noted;
        let before: Vec<Option<Entry>> = paths.iter().map(|path| noter.now(path)).collect();
        let mut open = lock(&self.open);
        for (path, before) in paths.iter().zip(&before) {
            let now = noter.again(path, (before.as_ref(), has_same_stamp));
            open.values_mut().for_each(|observed| observed.settle(path, &now));
        }
        let written = write();
        let mut left = Vec::new();
        for path in paths {
            let now = noter.again(path, (becoming.get(path), is_same_file));
            open.values_mut().for_each(|observed| drop(observed.noted.insert(path.clone(), now.clone())));
            left.push((path, now));
        }
        drop(open);
        for (path, now) in left {
            noter.keep(path, now.as_ref());
        }
        written
    }

    /// Calls `each` with the hash of every content that an observation may need.
    pub fn each_hash(&self, each: &mut dyn FnMut(&str)) {
        lock(&self.open).values().flat_map(Observed::hashes).for_each(each);
    }
}

/// What a change that is none of the observed calls does.
#[derive(Default)]
pub struct Noted {
    /// The entries that it changes, relative to the folder.
    pub paths: Vec<PathBuf>,
    /// Files that it puts in their places, as far as their contents are known: they need not be read again.
    pub becoming: HashMap<PathBuf, Entry>,
}

/// Returns whether two looks saw the same file with the same content.
type Comparison = fn(&Node, &Node) -> bool;

/// Looks at single entries for the observations.
pub trait Noter {
    /// Looks at an entry, and reads it if it is a file that has changed since the last look.
    fn now(&self, path: &Path) -> Option<Entry>;

    /// Looks at an entry without reading it.
    fn node(&self, path: &Path) -> Option<Node>;

    /// Keeps a copy of what somebody else left, because an observed call may change it.
    fn keep(&self, path: &Path, entry: Option<&Entry>);

    /// Looks at an entry, and reads it only if it is not what is known of it.
    fn again(&self, path: &Path, (known, is_known): (Option<&Entry>, Comparison)) -> Option<Entry> {
        let node = self.node(path)?;
        match known.filter(|known| is_known(&known.node, &node)) {
            Some(known) => Some(Entry { node, content: known.content.clone() }),
            None => self.now(path),
        }
    }
}

fn has_same_stamp(one: &Node, other: &Node) -> bool {
    one.stamp == other.stamp
}

/// Whether both are the same file with the same content; a rename changes only the time of the last change.
fn is_same_file(one: &Node, other: &Node) -> bool {
    let same = |node: &Node| (node.device, node.inode, node.size, node.modified);
    same(one) == same(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::capture::Beneath;
    use crate::store::index::look::{MAX_ENTRIES, entry_now};

    /// Reads files only while no call has to wait for it.
    struct Reader<'a> {
        beneath: Beneath,
        observations: &'a Observations,
    }

    impl Noter for Reader<'_> {
        fn now(&self, path: &Path) -> Option<Entry> {
            assert!(self.observations.open.try_lock().is_ok(), "{} is read under the lock", path.display());
            entry_now(&self.beneath, path, None)
        }

        fn node(&self, path: &Path) -> Option<Node> {
            self.beneath.node(path).unwrap()
        }

        fn keep(&self, path: &Path, _: Option<&Entry>) {
            assert!(self.observations.open.try_lock().is_ok(), "{} is copied under the lock", path.display());
        }
    }

    #[test]
    fn files_are_read_while_no_call_waits() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a"), "old").unwrap();
        std::fs::write(at("ready"), "new").unwrap();
        let observations = Observations::default();
        let noter = Reader { beneath: Beneath::open(folder.path()).unwrap(), observations: &observations };
        let look = || Arc::new(Look::take(folder.path(), None, MAX_ENTRIES).unwrap().unwrap());
        let [first, second] = [observations.begin(), observations.begin()];
        let before = look();
        [first, second].iter().for_each(|id| observations.looked(*id, before.clone()));
        let becoming = HashMap::from([("a".into(), before.entries[Path::new("ready")].clone())]);
        let noted = Noted { paths: vec!["a".into(), "ready".into()], becoming };
        observations.noting(&noted, &noter, || std::fs::rename(at("ready"), at("a"))).unwrap();
        std::fs::write(at("b"), "of the call").unwrap();
        let changes = observations.end(first, &look(), &noter);
        assert_eq!(changes.keys().collect::<Vec<_>>(), [Path::new("b")]);
    }
}
