//! The 100,256 byte strings of cl100k_base with their ranks, and the merges that split a piece of text into them.
//!
//! The binary contains the strings unchanged (`cl100k_base.bin`: one length byte, then the bytes, in the order of their
//! ranks), so only an index of about 1.4 MB is built when the first text is counted. The usual encoders build hash maps
//! of owned strings in both directions and need tens of megabytes for the same answers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

static STRINGS: &[u8] = include_bytes!("cl100k_base.bin");

/// Slots of the open-addressed index; a power of two that makes it 38 % full, so that a miss takes about two probes.
const SLOTS: usize = 1 << 18;
/// A slot holds `(rank + 1) << TAG_BITS | tag`; 0 is free. The tag, a part of the hash, avoids most comparisons.
const TAG_BITS: u32 = 15;
/// No merge is possible. Larger than every rank.
const NONE: u32 = u32::MAX;
/// From this many bytes on, merging with a heap is faster than repeated scans for the smallest rank.
const LONG_PIECE: usize = 96;

pub struct Vocabulary {
    slots: Box<[u32]>,
    /// Offset in `STRINGS` of the string of each rank; the byte before it is its length.
    starts: Box<[u32]>,
}

impl Vocabulary {
    pub fn load() -> Self {
        let mut vocabulary = Self { slots: vec![0; SLOTS].into(), starts: Box::new([]) };
        let mut starts = Vec::with_capacity(100_256);
        let mut at = 0;
        while at < STRINGS.len() {
            let start = at + 1;
            let end = start + usize::from(STRINGS[at]);
            let hash = hash(&STRINGS[start..end]);
            let mut slot = home_slot(hash);
            while vocabulary.slots[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            vocabulary.slots[slot] = ((starts.len() as u32 + 1) << TAG_BITS) | tag(hash);
            starts.push(start as u32);
            at = end;
        }
        vocabulary.starts = starts.into();
        vocabulary
    }

    pub fn rank(&self, bytes: &[u8]) -> Option<u32> {
        let hash = hash(bytes);
        let mut slot = home_slot(hash);
        loop {
            let entry = self.slots[slot];
            if entry == 0 {
                return None;
            }
            if entry & ((1 << TAG_BITS) - 1) == tag(hash) {
                let rank = (entry >> TAG_BITS) - 1;
                if self.string(rank) == bytes {
                    return Some(rank);
                }
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    fn string(&self, rank: u32) -> &'static [u8] {
        let start = self.starts[rank as usize] as usize;
        &STRINGS[start..start + usize::from(STRINGS[start - 1])]
    }

    /// Returns how many tokens one piece of the pre-tokeniser becomes.
    pub fn count_piece(&self, piece: &[u8]) -> usize {
        match piece.len() {
            0 => 0,
            1 => 1,
            _ if self.rank(piece).is_some() => 1,
            length if length < LONG_PIECE => self.merge_short(piece),
            _ => self.merge_long(piece),
        }
    }

    fn merge_short(&self, piece: &[u8]) -> usize {
        // parts[i] begins at ends[i - 1] (0 for the first); ranks[i] is the rank of parts i and i + 1 together.
        let mut ends = [0u8; LONG_PIECE];
        let mut ranks = [NONE; LONG_PIECE];
        let mut count = piece.len();
        for (i, end) in ends[..count].iter_mut().enumerate() {
            *end = i as u8 + 1;
        }
        let joined = |ends: &[u8; LONG_PIECE], i: usize, count: usize| {
            if i + 1 >= count {
                return NONE;
            }
            let start = if i == 0 { 0 } else { usize::from(ends[i - 1]) };
            self.rank(&piece[start..usize::from(ends[i + 1])]).unwrap_or(NONE)
        };
        for (i, rank) in ranks[..count].iter_mut().enumerate() {
            *rank = joined(&ends, i, count);
        }
        loop {
            let (at, rank) = ranks[..count]
                .iter()
                .enumerate()
                .fold((0, NONE), |best, (i, &rank)| if rank < best.1 { (i, rank) } else { best });
            if rank == NONE {
                return count;
            }
            ends.copy_within(at + 1..count, at);
            ranks.copy_within(at + 1..count, at);
            count -= 1;
            ranks[at] = joined(&ends, at, count);
            if at > 0 {
                ranks[at - 1] = joined(&ends, at - 1, count);
            }
        }
    }

    fn merge_long(&self, piece: &[u8]) -> usize {
        let length = piece.len();
        // A part is identified by its first byte; `end` and `before` link the parts, `rank` is the merge with the next
        // one.
        let mut end: Vec<usize> = (1..=length).collect();
        let mut before: Vec<usize> = (0..length).map(|i| i.wrapping_sub(1)).collect();
        let mut rank = vec![NONE; length];
        let mut heap = BinaryHeap::with_capacity(length);
        let joined = |end: &[usize], start: usize| match end[start] {
            next if next < length => self.rank(&piece[start..end[next]]).unwrap_or(NONE),
            _ => NONE,
        };
        for (start, rank) in rank.iter_mut().enumerate() {
            *rank = joined(&end, start);
            if *rank != NONE {
                heap.push(Reverse((*rank, start)));
            }
        }
        let mut count = length;
        while let Some(Reverse((smallest, start))) = heap.pop() {
            // Heap entries are not removed when a part changes or disappears; its rank then differs.
            if rank[start] != smallest {
                continue;
            }
            let gone = end[start];
            end[start] = end[gone];
            rank[gone] = NONE;
            if end[start] < length {
                before[end[start]] = start;
            }
            count -= 1;
            for part in [Some(start), (start > 0).then(|| before[start])].into_iter().flatten() {
                rank[part] = joined(&end, part);
                if rank[part] != NONE {
                    heap.push(Reverse((rank[part], part)));
                }
            }
        }
        count
    }
}

fn home_slot(hash: u64) -> usize {
    (hash >> 32) as usize % SLOTS
}

fn tag(hash: u64) -> u32 {
    hash as u32 & ((1 << TAG_BITS) - 1)
}

/// Multiplies and rotates by words of eight bytes, then mixes: fast for these short strings, which no attacker chooses.
fn hash(bytes: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = word.iter().rev().fold(0, |word, &byte| (word << 8) | u64::from(byte));
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(K);
    }
    let rest = words.remainder().iter().fold(0, |word, &byte| (word << 8) | u64::from(byte));
    hash = (hash.rotate_left(5) ^ rest).wrapping_mul(K);
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ (hash >> 17)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vocabulary_is_cl100k_base() {
        let vocabulary = Vocabulary::load();
        let reference = tiktoken_rs::cl100k_base().unwrap();
        assert_eq!(vocabulary.starts.len(), 100_256);
        for rank in 0..100_256 {
            let string = vocabulary.string(rank);
            assert_eq!(reference.decode_bytes(&[rank]).unwrap(), string);
            assert_eq!(vocabulary.rank(string), Some(rank));
        }
        assert_eq!(vocabulary.rank(b"no such token, surely"), None);
    }

    #[test]
    fn both_merge_algorithms_agree() {
        let vocabulary = Vocabulary::load();
        for piece in ["aaaaaaaaaaaaaaab", "Donaudampfschifffahrtsgesellschaft", "一一一一一一一一一一", "\u{10ffff}xx"]
        {
            assert_eq!(vocabulary.merge_short(piece.as_bytes()), vocabulary.merge_long(piece.as_bytes()), "{piece}");
        }
    }
}
