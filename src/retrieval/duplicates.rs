//! Duplicates: passages of one file with the same text. A long file can repeat whole sections, and a model that is handed one of
//! them three times learns nothing from the other two.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::analyse::is_letter;

/// Two passages have the same text if one continuous part is at least this share of the longer one. What differs is at their ends, so
/// no number or name in the middle does.
const SAME: f64 = 0.9;

/// The words of a passage, as hashes. A word is a run of letters and digits, or any other single character that is not white space.
pub(super) struct Words(Vec<u64>);

impl Words {
    pub fn of(text: &str) -> Self {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        Self(words(text).map(|word| hasher.hash_one(word)).collect())
    }

    pub fn are_the_same(&self, other: &Self) -> bool {
        let (shorter, longer) = if self.0.len() <= other.0.len() { (&self.0, &other.0) } else { (&other.0, &self.0) };
        let least = (SAME * longer.len() as f64).ceil() as usize;
        // A part of that length contains the middle of the longer one.
        let middle = longer.len() / 2;
        shorter.len() >= least && (0..shorter.len()).any(|at| common_part((longer, middle), (shorter, at)) >= least)
    }
}

/// Returns the length of the part around a word of `a` that is also around a word of `b`; 0 if the words differ.
fn common_part((a, in_a): (&[u64], usize), (b, in_b): (&[u64], usize)) -> usize {
    let equal = |(a, b): &(&u64, &u64)| a == b;
    let after = a[in_a..].iter().zip(&b[in_b..]).take_while(equal).count();
    let before = a[..in_a].iter().rev().zip(b[..in_b].iter().rev()).take_while(equal).count();
    if after == 0 { 0 } else { before + after }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = if is_letter(first) { rest.find(|c| !is_letter(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (word, after) = rest.split_at(end);
        rest = after.trim_start();
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_runs_of_letters_and_other_characters() {
        assert_eq!(words(" Two words, 狗睡\n\nx9! ").collect::<Vec<_>>(), ["Two", "words", ",", "狗", "睡", "x9", "!"]);
        assert_eq!((words("").count(), words(" \n ").count()), (0, 0));
    }

    #[test]
    fn same_text_may_differ_at_its_ends_only() {
        let story: Vec<String> = (0..40).map(|n| format!("word{n}")).collect();
        let story = story.join(" ");
        let same = |a: &str, b: &str| Words::of(a).are_the_same(&Words::of(b));
        assert!(same(&story, &story) && same(&story, &format!("One two. {story}")));
        assert!(same("Yes, it is.", "Yes,  it\nis."), "white space does not count");
        assert!(same("狗在花园里睡觉，猫在屋顶上。", "狗在花园里睡觉，猫在屋顶上。"));
        assert!(!same(&story, &story.replace("word20", "word21")), "one word in the middle is another");
        assert!(!same(&story, &format!("{story} and much more than that")), "a tenth is too much");
        assert!(!same("Yes, it is.", "No, it is not.") && !same(&story, ""));
    }

    proptest! {
        #[test]
        fn same_text_is_one_long_part_of_both(
            a in prop::collection::vec(0u64..2, 1..24),
            b in prop::collection::vec(0u64..2, 1..24),
            same in any::<bool>(),
        ) {
            let b = if same { [&b[..b.len().min(2)], &a].concat() } else { b };
            let least = (SAME * a.len().max(b.len()) as f64).ceil() as usize;
            let is_part = |part: &[u64]| b.windows(part.len()).any(|other| other == part);
            let expected = least <= a.len() && a.windows(least).any(is_part);
            prop_assert_eq!(Words(a.clone()).are_the_same(&Words(b.clone())), expected);
            prop_assert_eq!(Words(b.clone()).are_the_same(&Words(a.clone())), expected);
        }
    }
}
