//! Slots: the sequences of the KV cache. A slot records the tokens whose attention state is kept, so that a prompt
//! with the same first tokens need not be evaluated again. This module only does the bookkeeping: which slot to
//! start from, which to write into, which to evict. It does not depend on a model.

/// Use of a prompt. Each purpose has its own slots, so that a short side question does not evict a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The shared prefix of every answer.
    Prefix,
    /// The choice of a tool.
    Router,
    /// The arguments of a call.
    Arguments,
    /// A conversation, a title, a summary.
    Answer,
}

/// Number of slots for conversations. The slots before them hold the prefix (0), the router (1) and the arguments (2).
pub const CONVERSATIONS: usize = 4;
pub const SLOTS: usize = 3 + CONVERSATIONS;

/// Minimum gain in tokens for which a copy from another slot is worthwhile.
const MIN_COPY_GAIN: usize = 8;

/// How to put a prompt into a slot: `into` keeps the first `common` tokens of `from`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    pub from: usize,
    pub into: usize,
    pub common: usize,
}

#[derive(Debug, Default, Clone)]
struct Slot {
    tokens: Vec<i32>,
    used: u64,
}

/// The tokens of all slots and when each was last used.
#[derive(Debug, Default)]
pub struct Slots {
    slots: [Slot; SLOTS],
    clock: u64,
}

impl Slots {
    /// Returns the tokens of slot `index`.
    pub fn tokens(&self, index: usize) -> &[i32] {
        &self.slots[index].tokens
    }

    /// Chooses the slot for `prompt`. `common` of the result is at most `prompt.len()`.
    pub fn plan(&self, prompt: &[i32], purpose: Purpose) -> Plan {
        let (from, common) = self.longest(prompt);
        let own = match purpose {
            Purpose::Prefix => Some(0),
            Purpose::Router => Some(1),
            Purpose::Arguments => Some(2),
            Purpose::Answer => None,
        };
        if let Some(own) = own {
            let own_common = common_length(&self.slots[own].tokens, prompt);
            return match own_common + MIN_COPY_GAIN >= common {
                true => Plan { from: own, into: own, common: own_common },
                false => Plan { from, into: own, common },
            };
        }
        if from >= 3 && self.continues(from, prompt, common) {
            return Plan { from, into: from, common };
        }
        let into = self.oldest_conversation(Some(from));
        match common >= MIN_COPY_GAIN {
            true => Plan { from, into, common },
            false => Plan { from: into, into, common: 0 },
        }
    }

    /// Returns whether `prompt` continues the conversation in `slot`, rather than only sharing the prefix with it.
    fn continues(&self, slot: usize, prompt: &[i32], common: usize) -> bool {
        let shared = common_length(&self.slots[0].tokens, prompt);
        let length = self.slots[slot].tokens.len();
        common == length || (common > shared + MIN_COPY_GAIN && common * 2 > length)
    }

    /// Returns the slot with the longest common prefix and its length; the lowest index wins a tie.
    fn longest(&self, prompt: &[i32]) -> (usize, usize) {
        let mut best = (0, 0);
        for (i, slot) in self.slots.iter().enumerate() {
            let common = common_length(&slot.tokens, prompt);
            if common > best.1 {
                best = (i, common);
            }
        }
        best
    }

    /// Returns the conversation slot to evict next: an empty one, otherwise the least recently used.
    pub fn oldest_conversation(&self, except: Option<usize>) -> usize {
        let age = |i: &usize| match self.slots[*i].tokens.is_empty() {
            true => 0,
            false => self.slots[*i].used + 1,
        };
        (3..SLOTS).filter(|i| Some(*i) != except).min_by_key(age).unwrap_or(3)
    }

    /// Returns the slot to clear if the KV cache is full and `keep` must stay: conversations by age, then arguments,
    /// router and prefix. None if all other slots are empty.
    pub fn victim(&self, keep: usize) -> Option<usize> {
        let old = self.oldest_filled(keep);
        old.or_else(|| [2, 1, 0].into_iter().find(|&i| i != keep && !self.slots[i].tokens.is_empty()))
    }

    fn oldest_filled(&self, keep: usize) -> Option<usize> {
        let filled = (3..SLOTS).filter(|&i| i != keep && !self.slots[i].tokens.is_empty());
        filled.min_by_key(|&i| self.slots[i].used)
    }

    /// Records that `slot` now holds exactly `tokens`.
    pub fn set(&mut self, slot: usize, tokens: &[i32]) {
        self.clock += 1;
        self.slots[slot] = Slot { tokens: tokens.to_vec(), used: self.clock };
    }

    /// Appends tokens to `slot`.
    pub fn extend(&mut self, slot: usize, tokens: &[i32]) {
        self.slots[slot].tokens.extend_from_slice(tokens);
    }
}

/// Returns the length of the common prefix.
pub fn common_length(a: &[i32], b: &[i32]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(range: std::ops::Range<i32>) -> Vec<i32> {
        range.collect()
    }

    #[test]
    fn new_conversation_copies_prefix_to_fresh_slot() {
        let mut slots = Slots::default();
        slots.set(0, &run(0..100));
        let plan = slots.plan(&run(0..120), Purpose::Answer);
        assert_eq!(plan, Plan { from: 0, into: 3, common: 100 });
    }

    #[test]
    fn follow_up_reuses_its_slot() {
        let mut slots = Slots::default();
        slots.set(0, &run(0..100));
        slots.set(3, &run(0..150));
        let plan = slots.plan(&run(0..170), Purpose::Answer);
        assert_eq!(plan, Plan { from: 3, into: 3, common: 150 });
    }

    #[test]
    fn shared_prefix_does_not_overwrite_other_conversation() {
        let mut slots = Slots::default();
        slots.set(0, &run(0..100));
        slots.set(3, &run(0..150));
        let mut other = run(0..100);
        other.extend(1000..1030);
        assert_eq!(slots.plan(&other, Purpose::Answer), Plan { from: 0, into: 4, common: 100 });
    }

    #[test]
    fn conversation_lends_prefix_without_prefix_slot() {
        let mut slots = Slots::default();
        slots.set(3, &run(0..300));
        let mut other = run(0..100);
        other.extend(1000..1030);
        assert_eq!(slots.plan(&other, Purpose::Answer), Plan { from: 3, into: 4, common: 100 });
    }

    #[test]
    fn regenerated_answer_reuses_its_slot() {
        let mut slots = Slots::default();
        slots.set(0, &run(0..100));
        slots.set(3, &run(0..200));
        let plan = slots.plan(&run(0..160), Purpose::Answer);
        assert_eq!(plan, Plan { from: 3, into: 3, common: 160 });
    }

    #[test]
    fn oldest_conversation_is_evicted() {
        let mut slots = Slots::default();
        for (i, slot) in [3, 4, 5, 6].into_iter().enumerate() {
            let start = 1000 * (i as i32 + 1);
            slots.set(slot, &run(start..start + 50));
        }
        slots.set(3, &run(1000..1060));
        assert_eq!(slots.plan(&run(0..20), Purpose::Answer).into, 4);
        assert_eq!(slots.victim(4), Some(5));
    }

    #[test]
    fn routing_keeps_its_slot_and_prefix_is_shared() {
        let mut slots = Slots::default();
        slots.set(1, &run(0..80));
        assert_eq!(slots.plan(&run(0..90), Purpose::Router), Plan { from: 1, into: 1, common: 80 });
        slots.set(3, &run(500..700));
        assert_eq!(slots.plan(&run(500..600), Purpose::Prefix), Plan { from: 3, into: 0, common: 100 });
    }

    #[test]
    fn prefix_is_evicted_last() {
        let mut slots = Slots::default();
        slots.set(0, &run(0..10));
        slots.set(2, &run(0..5));
        assert_eq!(slots.victim(3), Some(2));
        slots.set(2, &[]);
        assert_eq!(slots.victim(3), Some(0));
        slots.set(0, &[]);
        assert_eq!(slots.victim(3), None);
    }
}
