//! The user ids of the system that the commands of people run as, on a server that several people use.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Users below are those of the system and its services.
const FIRST_ALLOWED: u32 = 1_000;
/// Highest id: those above 2^31 are negative numbers for some programs.
const LAST_ALLOWED: u32 = i32::MAX as u32;
/// The ids that stand for “nobody” and for “no id” in 16 bits.
const NOBODY: [u32; 2] = [65_534, 65_535];

/// A range of user ids, of which each is also the id of a group. Both ends belong to it. Written `200000-265535`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UidRange {
    first: u32,
    last: u32,
}

impl UidRange {
    /// Above what `useradd` gives to users and their subordinate ids, systemd to containers, and directory services to the
    /// users of a network.
    pub const DEFAULT: Self = Self { first: 2_100_000_000, last: 2_100_065_535 };

    /// Returns the range of one id.
    pub fn of_one(uid: u32) -> Self {
        Self { first: uid, last: uid }
    }

    pub fn first(self) -> u32 {
        self.first
    }

    pub fn last(self) -> u32 {
        self.last
    }

    pub fn contains(self, uid: u32) -> bool {
        (self.first..=self.last).contains(&uid)
    }

    /// Whether an id can be that of a person: no user of the system, and not nobody.
    pub fn is_allowed(uid: u32) -> bool {
        Self::of_one(uid).check().is_ok()
    }

    fn check(self) -> Result<Self, BadUidRange> {
        let is_reserved = self.first < FIRST_ALLOWED || self.last > LAST_ALLOWED;
        if is_reserved || NOBODY.iter().any(|uid| self.contains(*uid)) {
            return Err(BadUidRange::Reserved);
        }
        Ok(self)
    }

    /// Whether both have an id in common.
    pub fn overlaps(self, other: Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// Returns the range of `count` ids from `first` on; `None` if there are none. Ends at the highest id there is.
    pub fn of_count(first: u32, count: u32) -> Option<Self> {
        let last = first.saturating_add(count.checked_sub(1)?);
        Some(Self { first, last })
    }

    /// Returns the lowest id that is in none of the other ranges.
    pub fn lowest_outside(self, others: &[Self]) -> Option<u32> {
        let mut uid = self.first;
        while let Some(taken) = others.iter().find(|other| other.contains(uid)) {
            uid = taken.last.checked_add(1)?;
        }
        self.contains(uid).then_some(uid)
    }

    /// Adds an id to ranges: to the one that it continues, or as a new one.
    pub fn add(ranges: &mut Vec<Self>, uid: u32) {
        if ranges.iter().any(|range| range.contains(uid)) {
            return;
        }
        match ranges.iter_mut().find(|range| range.last.checked_add(1) == Some(uid)) {
            Some(range) => range.last = uid,
            None => ranges.push(Self::of_one(uid)),
        }
    }
}

/// Why a text is no range of user ids for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadUidRange {
    #[error("must be two numbers such as 200000-265535, the lower one first")]
    Form,
    #[error(
        "must lie between {FIRST_ALLOWED} and {LAST_ALLOWED}, without {}, the user nobody, and {}",
        NOBODY[0],
        NOBODY[1]
    )]
    Reserved,
}

impl FromStr for UidRange {
    type Err = BadUidRange;

    fn from_str(text: &str) -> Result<Self, BadUidRange> {
        let number = |text: &str| text.trim().parse::<u32>().map_err(|_| BadUidRange::Form);
        let (first, last) = text.split_once('-').ok_or(BadUidRange::Form)?;
        let range = Self { first: number(first)?, last: number(last)? };
        if range.first > range.last {
            return Err(BadUidRange::Form);
        }
        range.check()
    }
}

impl fmt::Display for UidRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl Serialize for UidRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for UidRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(text: &str) -> UidRange {
        text.parse().unwrap()
    }

    #[test]
    fn range_is_two_free_numbers_in_order() {
        assert_eq!(range("200000-265535"), UidRange { first: 200_000, last: 265_535 });
        assert_eq!(range(" 1000 - 1000 "), UidRange::of_one(1000));
        assert_eq!(range(&UidRange::DEFAULT.to_string()), UidRange::DEFAULT);
        for bad in ["", "5", "a-b", "-1-5", "2000-1000", "200000:65536", "1-4294967296"] {
            assert_eq!(bad.parse::<UidRange>(), Err(BadUidRange::Form), "{bad}");
        }
        for bad in ["0-70000", "999-2000", "60000-65534", "65535-70000", "2000-2147483648"] {
            assert_eq!(bad.parse::<UidRange>(), Err(BadUidRange::Reserved), "{bad}");
        }
    }

    #[test]
    fn ids_are_counted_from_the_first() {
        assert_eq!(UidRange::of_count(100_000, 65_536), Some(UidRange { first: 100_000, last: 165_535 }));
        assert_eq!((UidRange::of_count(5, 0), UidRange::of_count(5, 1)), (None, Some(UidRange::of_one(5))));
        assert!(range("2000-3000").overlaps(range("3000-4000")) && !range("2000-3000").overlaps(range("3001-4000")));
    }

    proptest! {
        #[test]
        fn allotted_ids_are_never_given_again(ranges in prop::collection::vec((1000u32..1040, 0u32..20), 1..12)) {
            let (mut allotted, mut given) = (Vec::new(), Vec::new());
            for (first, more) in ranges {
                let range = UidRange { first, last: first + more };
                for _ in 0..5 {
                    let Some(uid) = range.lowest_outside(&allotted) else { break };
                    prop_assert!(range.contains(uid) && !given.contains(&uid));
                    UidRange::add(&mut allotted, uid);
                    given.push(uid);
                }
            }
            prop_assert!(given.iter().all(|uid| allotted.iter().any(|range| range.contains(*uid))));
        }
    }
}
