//! A folder index: the chunks of a set of documents, kept in step with their texts, and the answers they give.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use md5::{Digest, Md5};

use crate::domain::{Hit, HomePath};

use super::bm25::{Bm25, Contribution, Slot};
use super::chunk::{Chunk, Limits, chunked};

/// How tokens are counted, for the size of chunks.
pub type CountTokens = Arc<dyn Fn(&str) -> usize + Send + Sync>;

pub struct FolderIndex {
    count: CountTokens,
    limits: Limits,
    documents: BTreeMap<HomePath, Document>,
    lexical: Bm25,
    /// Which chunk a slot of `lexical` stands for.
    places: HashMap<Slot, Place>,
}

struct Document {
    /// MD5 of the text: a change detector, not a protection.
    content: [u8; 16],
    /// What `sync` was told last; a new stamp with the old content changes nothing else.
    stamp: String,
    text: String,
    title: String,
    chunks: Vec<Entry>,
}

struct Entry {
    chunk: Chunk,
    slot: Slot,
}

#[derive(Clone)]
struct Place {
    path: HomePath,
    /// Index into the document's chunks.
    chunk: usize,
}

/// A document as a folder listing names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub path: HomePath,
    /// Differs when the text may have changed: an MD5, an ETag, or size and time of change.
    pub stamp: String,
}

/// What [`FolderIndex::sync`] did, by number of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub added: usize,
    pub updated: usize,
    pub removed: usize,
    pub unchanged: usize,
    /// Listed, but without text (gone meanwhile, or not UTF-8): not in the index.
    pub unreadable: usize,
}

/// A hit with the reasons for its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    pub hit: Hit,
    pub chunk_id: String,
    /// They sum up to the hit's score.
    pub terms: Vec<Contribution>,
}

impl FolderIndex {
    pub fn new(count: CountTokens) -> Self {
        Self::with_limits(count, Limits::default())
    }

    pub fn with_limits(count: CountTokens, limits: Limits) -> Self {
        Self { count, limits, documents: BTreeMap::new(), lexical: Bm25::default(), places: HashMap::new() }
    }

    /// The number of documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub fn chunk_count(&self) -> usize {
        self.lexical.len()
    }

    /// The chunks of a document in its order, each with its text.
    pub fn chunks(&self, path: &HomePath) -> impl Iterator<Item = (&Chunk, &str)> {
        self.documents.get(path).into_iter().flat_map(|document| {
            document.chunks.iter().map(|entry| (&entry.chunk, &document.text[entry.chunk.range.clone()]))
        })
    }

    /// Brings the index in step with a folder: `listing` is all of it, `read` is called only for documents that are new
    /// or whose stamp differs.
    pub fn sync(&mut self, listing: &[Listed], mut read: impl FnMut(&HomePath) -> Option<String>) -> Changes {
        let mut changes = Changes::default();
        let listed: HashMap<&HomePath, &str> = listing.iter().map(|l| (&l.path, l.stamp.as_str())).collect();
        let gone: Vec<HomePath> = self.documents.keys().filter(|path| !listed.contains_key(path)).cloned().collect();
        changes.removed = gone.len();
        for path in &gone {
            self.remove(path);
        }
        for Listed { path, stamp } in listing {
            let known = self.documents.get(path);
            if known.is_some_and(|document| document.stamp == *stamp) {
                changes.unchanged += 1;
                continue;
            }
            let known = known.is_some();
            let Some(text) = read(path) else {
                self.remove(path);
                changes.unreadable += 1;
                continue;
            };
            match (self.update(path, &text), known) {
                (true, true) => changes.updated += 1,
                (true, false) => changes.added += 1,
                (false, _) => changes.unchanged += 1,
            }
            if let Some(document) = self.documents.get_mut(path) {
                document.stamp.clone_from(stamp);
            }
        }
        changes
    }

    /// Puts a document in, or its new text in place of the old one; chunks that did not change keep their entries.
    /// True if anything changed. The document's stamp is its content's MD5 in hexadecimal.
    pub fn update(&mut self, path: &HomePath, text: &str) -> bool {
        let content: [u8; 16] = Md5::digest(text.as_bytes()).into();
        let before = self.documents.remove(path);
        let (mut kept, old_title) = match before {
            Some(document) if document.content == content => {
                self.documents.insert(path.clone(), document);
                return false;
            }
            Some(document) => (by_id(document.chunks), Some(document.title)),
            None => (HashMap::new(), None),
        };
        let new = chunked(path, text, self.limits, &*self.count);
        // The title is part of what is indexed.
        if old_title.is_some_and(|title| title != new.title) {
            self.forget(kept.drain().map(|(_, slot)| slot));
        }
        let mut chunks = Vec::with_capacity(new.chunks.len());
        for (at, chunk) in new.chunks.into_iter().enumerate() {
            let slot = kept
                .remove(&chunk.id)
                .unwrap_or_else(|| self.lexical.add(&indexed(&new.title, &chunk.heading, &text[chunk.range.clone()])));
            self.places.insert(slot, Place { path: path.clone(), chunk: at });
            chunks.push(Entry { chunk, slot });
        }
        self.forget(kept.into_values());
        let stamp = content.iter().map(|byte| format!("{byte:02x}")).collect();
        let document = Document { content, stamp, text: text.to_owned(), title: new.title, chunks };
        self.documents.insert(path.clone(), document);
        true
    }

    /// True if it was there.
    pub fn remove(&mut self, path: &HomePath) -> bool {
        let Some(document) = self.documents.remove(path) else { return false };
        self.forget(document.chunks.into_iter().map(|entry| entry.slot));
        true
    }

    /// The `k` chunks that answer `query` best, the best first. A chunk that shares no word with it is no hit.
    pub fn search(&self, query: &str, k: usize) -> Vec<Hit> {
        self.best(query, k).into_iter().filter_map(|(slot, score)| self.hit(slot, score)).collect()
    }

    /// The same hits, each with what every word of the query added to its score.
    pub fn explain(&self, query: &str, k: usize) -> Vec<Explained> {
        let best = self.best(query, k).into_iter();
        best.filter_map(|(slot, score)| {
            let (_, entry) = self.entry(slot)?;
            let chunk_id = entry.chunk.id.clone();
            Some(Explained { hit: self.hit(slot, score)?, chunk_id, terms: self.lexical.explain(query, slot) })
        })
        .collect()
    }

    /// Ties go to the earlier path, then to the earlier chunk, whatever order they were indexed in.
    fn best(&self, query: &str, k: usize) -> Vec<(Slot, f64)> {
        let mut scores = self.lexical.scores(query);
        let place = |slot: Slot| self.places.get(&slot).map(|place| (&place.path, place.chunk));
        let order = |a: &(Slot, f64), b: &(Slot, f64)| b.1.total_cmp(&a.1).then_with(|| place(a.0).cmp(&place(b.0)));
        if k == 0 {
            return Vec::new();
        }
        if scores.len() > k {
            scores.select_nth_unstable_by(k - 1, order);
            scores.truncate(k);
        }
        scores.sort_by(order);
        scores
    }

    fn entry(&self, slot: Slot) -> Option<(&Document, &Entry)> {
        let place = self.places.get(&slot)?;
        let document = self.documents.get(&place.path)?;
        Some((document, document.chunks.get(place.chunk)?))
    }

    fn hit(&self, slot: Slot, score: f64) -> Option<Hit> {
        let source = self.places.get(&slot)?.path.to_string();
        let (document, Entry { chunk, .. }) = self.entry(slot)?;
        Some(Hit {
            text: document.text[chunk.range.clone()].to_owned(),
            score,
            source,
            heading: (!chunk.heading.is_empty()).then(|| chunk.heading.clone()),
            lines: Some(chunk.lines),
        })
    }

    fn forget(&mut self, slots: impl Iterator<Item = Slot>) {
        for slot in slots {
            self.lexical.remove(slot);
            self.places.remove(&slot);
        }
    }
}

fn by_id(chunks: Vec<Entry>) -> HashMap<String, Slot> {
    chunks.into_iter().map(|entry| (entry.chunk.id, entry.slot)).collect()
}

/// What is indexed of a chunk: where it stands, then what it says.
fn indexed(title: &str, heading: &str, text: &str) -> String {
    match heading.strip_prefix(title).is_some_and(|rest| rest.is_empty() || rest.starts_with(" › ")) {
        true => format!("{heading}\n{text}"),
        false => format!("{title} › {heading}\n{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(text: &str) -> HomePath {
        HomePath::parse(text).unwrap()
    }

    fn empty() -> FolderIndex {
        FolderIndex::new(Arc::new(|text: &str| text.chars().count().div_ceil(4)))
    }

    fn home() -> FolderIndex {
        let mut index = empty();
        index.update(
            &path("memory/MEMORY.md"),
            "# 记忆\n\n## 工作\n\n- 我的上司毕业于浙江大学。\n- 周三下午开组会。\n\n## 宠物\n\n- 养了一只小猫，叫豆豆，喜欢吃鱼。\n\n\
             ## People\n\n- Caroline adopted a dog named Oscar in May 2023.\n- Melanie paints sunrises.\n",
        );
        index.update(
            &path("knowledge/keys.md"),
            "# Keys\n\nPut DEEPSEEK_API_KEY into the file .env.\n\n## Sessions\n\nThe function loadSessionForAgent merges messages.\n",
        );
        index
    }

    fn first(index: &FolderIndex, query: &str) -> String {
        index.search(query, 3).first().map(|hit| hit.text.clone()).unwrap_or_default()
    }

    #[test]
    fn questions_find_their_answers_in_any_language() {
        let index = home();
        for (question, answer) in [
            ("我的上司是哪个学校毕业的？", "浙江大学"),
            ("猫叫什么名字", "豆豆"),
            ("猫", "豆豆"),
            ("What is the name of Caroline's dog?", "Oscar"),
            ("who painted a sunrise", "Melanie"),
            ("DEEPSEEK_API_KEY 放在哪里？", ".env"),
            ("deepseek key", ".env"),
            ("load session", "loadSessionForAgent"),
            ("ＬＯＡＤＳＥＳＳＩＯＮＦＯＲＡＧＥＮＴ", "loadSessionForAgent"),
            ("2023", "Oscar"),
        ] {
            assert!(first(&index, question).contains(answer), "{question}: {:?}", index.search(question, 3));
        }
        for nothing in ["", "  ?!", "zebra", "斑马"] {
            assert!(index.search(nothing, 3).is_empty());
        }
        assert!(index.search("dog", 0).is_empty());
        assert!(empty().search("dog", 3).is_empty());
    }

    #[test]
    fn a_hit_says_where_it_stands_and_why() {
        let index = home();
        let explained = &index.explain("Caroline's dog", 1)[0];
        assert_eq!(explained.hit.source, "memory/MEMORY.md");
        assert_eq!(explained.hit.heading.as_deref(), Some("记忆"));
        let (first, last) = explained.hit.lines.unwrap();
        assert!(first <= 14 && last >= 14);
        assert_eq!(explained.terms.iter().map(|c| c.score).sum::<f64>(), explained.hit.score);
        assert_eq!(index.search("Caroline's dog", 1)[0], explained.hit);
    }

    #[test]
    fn the_heading_is_searched_with_the_text_below_it() {
        let mut index = empty();
        let body = "Nothing here repeats the name of the place above. ".repeat(20);
        index.update(&path("knowledge/a.md"), &format!("# Cities\n\n## Paris\n\n{body}\n\n## Rome\n\n{body}\n"));
        assert_eq!(index.search("rome", 5)[0].heading.as_deref(), Some("Cities › Rome"));
        assert_eq!(index.search("rome", 9).len(), 2);
    }

    #[test]
    fn the_manual_answers_questions_about_the_product() {
        let mut index = empty();
        for (name, text) in [
            ("memory-and-rag.md", include_str!("../../starter/knowledge/memory-and-rag.md")),
            ("miniclaw-overview.md", include_str!("../../starter/knowledge/miniclaw-overview.md")),
            ("prompt.md", include_str!("../../starter/knowledge/prompt.md")),
            ("sessions.md", include_str!("../../starter/knowledge/sessions.md")),
            ("setup-and-keys.md", include_str!("../../starter/knowledge/setup-and-keys.md")),
            ("skills.md", include_str!("../../starter/knowledge/skills.md")),
            ("tools.md", include_str!("../../starter/knowledge/tools.md")),
            ("troubleshooting.md", include_str!("../../starter/knowledge/troubleshooting.md")),
            ("使用说明.md", include_str!("../../starter/knowledge/使用说明.md")),
        ] {
            index.update(&path(&format!("knowledge/{name}")), text);
        }
        for (question, answer) in [
            ("Where do I put my API key?", ".env"),
            ("How large may a part of the system prompt be?", "20,000"),
            ("What happens in RAG mode?", "[记忆检索结果]"),
            ("How do I write a skill?", "description"),
            ("Does the terminal have network access?", "no network"),
            ("What happens when I compress a conversation?", "first half"),
            ("Can the agent change its memory by itself?", "MEMORY.md"),
            ("密钥放在哪里？", "DEEPSEEK_API_KEY"),
            ("对话太长怎么办", "压缩"),
            ("怎么写一个技能？", "SKILL.md"),
        ] {
            let hits = index.search(question, 3);
            assert!(hits.iter().any(|hit| hit.text.contains(answer)), "{question}: {hits:#?}");
        }
    }

    #[test]
    fn an_edit_reindexes_its_own_chunks_only() {
        let section = |n: usize| format!("## S{n}\n\n{}\n\n", format!("text{n} stays the same. ").repeat(40));
        let text: String = (0..30).map(section).collect();
        let mut index = empty();
        index.update(&path("memory/a.md"), &text);
        let slots = |index: &FolderIndex| index.places.keys().copied().collect::<std::collections::HashSet<_>>();
        let before = slots(&index);
        assert!(!index.update(&path("memory/a.md"), &text));
        assert!(index.update(&path("memory/a.md"), &text.replacen("text7 stays", "text7 goes", 1)));
        let after = slots(&index);
        assert!(after.difference(&before).count() <= 2);
        assert_eq!(index.search("goes", 3).len(), 1);
    }

    #[test]
    fn sync_follows_a_folder_and_reads_only_what_changed() {
        let listed = |name: &str, stamp: &str| Listed { path: path(name), stamp: stamp.into() };
        let mut index = empty();
        let mut reads = Vec::new();
        let mut sync = |index: &mut FolderIndex, listing: &[Listed], text: Option<&str>| {
            reads.clear();
            let changes = index.sync(listing, |path| {
                reads.push(path.to_string());
                text.map(str::to_owned)
            });
            (changes, reads.len())
        };
        let both = [listed("k/a.md", "1"), listed("k/b.md", "1")];
        assert_eq!(sync(&mut index, &both, Some("apple")), (Changes { added: 2, ..Changes::default() }, 2));
        assert_eq!(sync(&mut index, &both, None), (Changes { unchanged: 2, ..Changes::default() }, 0));
        let touched = [listed("k/a.md", "2"), listed("k/b.md", "1")];
        assert_eq!(sync(&mut index, &touched, Some("apple")), (Changes { unchanged: 2, ..Changes::default() }, 1));
        assert_eq!(sync(&mut index, &touched, None), (Changes { unchanged: 2, ..Changes::default() }, 0));
        let edited = [listed("k/a.md", "3")];
        let changes = Changes { updated: 1, removed: 1, ..Changes::default() };
        assert_eq!(sync(&mut index, &edited, Some("pear")), (changes, 1));
        assert!(index.search("apple", 3).is_empty() && index.search("pear", 3).len() == 1);
        let changes = Changes { unreadable: 1, ..Changes::default() };
        assert_eq!(sync(&mut index, &[listed("k/a.md", "4")], None), (changes, 1));
        assert!(index.is_empty() && index.chunk_count() == 0);
    }

    #[test]
    fn a_new_title_is_searchable_everywhere() {
        let mut index = empty();
        let rest =
            "## One\n\nfirst text\n\n".to_owned() + &"filler words. ".repeat(100) + "\n\n## Two\n\nsecond text\n";
        index.update(&path("k/a.md"), &format!("# Apples\n\n{rest}"));
        index.update(&path("k/a.md"), &format!("# Pears\n\n{rest}"));
        assert!(index.search("apples", 9).is_empty());
        assert_eq!(index.search("pears", 99).len(), index.chunk_count());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn edits_end_in_the_index_a_fresh_start_would_give(
            edits in prop::collection::vec((0usize..4, "(# |- |\n\n|[abc]{1,3} |猫|狗|。){0,40}"), 1..12),
            query in "[abc]{1,3} (猫狗|[abc])?",
        ) {
            let mut index = empty();
            let mut last = BTreeMap::new();
            for (name, text) in &edits {
                let path = path(&format!("k/{name}.md"));
                if text.is_empty() {
                    index.remove(&path);
                    last.remove(&path);
                } else {
                    index.update(&path, text);
                    last.insert(path, text);
                }
            }
            let mut fresh = empty();
            for (path, text) in last.iter().rev() {
                fresh.update(path, text);
            }
            prop_assert_eq!(index.search(&query, 5), fresh.search(&query, 5));
            let (one, five) = (index.search(&query, 1), index.search(&query, 5));
            prop_assert_eq!(one.first(), five.first());
            prop_assert!(five.iter().all(|hit| hit.score > 0.0));
        }
    }
}
