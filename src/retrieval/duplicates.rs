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
        let longer = self.0.len().max(other.0.len());
        let least = (SAME * longer as f64).ceil() as usize;
        self.0.len().min(other.0.len()) >= least && longest_common_part(&self.0, &other.0) >= least
    }
}

/// Returns the length of the longest continuous part that both have.
fn longest_common_part(a: &[u64], b: &[u64]) -> usize {
    let mut longest = 0;
    // For each end in `b`, the length of the common part that ends there and at the word of `a` before.
    let mut before = vec![0; b.len() + 1];
    for word in a {
        let mut diagonal = 0;
        for (at, other) in b.iter().enumerate() {
            let length = if word == other { diagonal + 1 } else { 0 };
            diagonal = std::mem::replace(&mut before[at + 1], length);
            longest = longest.max(length);
        }
    }
    longest
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
        fn longest_common_part_is_the_longest(
            a in prop::collection::vec(0u64..3, 0..12),
            b in prop::collection::vec(0u64..3, 0..12),
        ) {
            let parts = |of: &[u64]| (0..=of.len()).flat_map(|to| (0..=to).map(move |from| from..to)).collect::<Vec<_>>();
            let common = parts(&a).into_iter().filter(|part| {
                parts(&b).into_iter().any(|other| a[part.clone()] == b[other])
            });
            prop_assert_eq!(longest_common_part(&a, &b), common.map(|part| part.len()).max().unwrap_or(0));
        }
    }
}
