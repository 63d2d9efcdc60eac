//! Duplicates: passages of one file that say the same. A long file can repeat whole sections, and a model that is handed one of them
//! three times learns nothing from the other two.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::analyse::is_letter;

/// Number of consecutive words that are compared at a time.
const RUN: usize = 8;
/// Two passages say the same if at least this share of the runs of the one with fewer is in the other.
const SAME: f64 = 0.8;

/// The runs of consecutive words of a passage (shingles: Broder 1997), as hashes. A word is a run of letters, or any other single
/// character that is not white space. A shorter passage is one run.
pub(super) struct Runs(HashSet<u64>);

impl Runs {
    pub fn of(text: &str) -> Self {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let words: Vec<u64> = words(text).map(|word| hasher.hash_one(word)).collect();
        Self(words.windows(RUN.min(words.len()).max(1)).map(|run| hasher.hash_one(run)).collect())
    }

    pub fn say_the_same(&self, other: &Self) -> bool {
        let (fewer, more) = if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        let shared = fewer.0.intersection(&more.0).count();
        shared as f64 >= SAME * fewer.0.len() as f64
    }
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

    const STORY: &str =
        "The penguin walked over the ice to the sea, caught a fish, and went home before the night came over the land.";

    #[test]
    fn words_are_runs_of_letters_and_other_characters() {
        assert_eq!(words(" Two words, 狗睡\n\nx9! ").collect::<Vec<_>>(), ["Two", "words", ",", "狗", "睡", "x9", "!"]);
        assert_eq!((words("").count(), words(" \n ").count()), (0, 0));
    }

    #[test]
    fn same_text_says_the_same_also_among_more() {
        let among = format!("Before it. {STORY} After it, there is one more sentence, and then there is another one.");
        assert!(Runs::of(STORY).say_the_same(&Runs::of(STORY)));
        assert!(Runs::of(STORY).say_the_same(&Runs::of(&among)) && Runs::of(&among).say_the_same(&Runs::of(STORY)));
        assert!(Runs::of("Yes, it is.").say_the_same(&Runs::of("Yes,  it\nis.")), "white space does not count");
        assert!(Runs::of("狗在花园里睡觉，猫在屋顶上。").say_the_same(&Runs::of("狗在花园里睡觉，猫在屋顶上。")));
    }

    #[test]
    fn other_text_does_not() {
        let other = "The penguin stayed on the ice, saw the sea, and had no fish when the night came over the land and the water.";
        assert!(!Runs::of(STORY).say_the_same(&Runs::of(other)));
        assert!(!Runs::of("Yes, it is.").say_the_same(&Runs::of("No, it is not.")));
        let (half, _) = STORY.split_at(STORY.len() / 2);
        let mixed = format!("{half} and then it forgot why it had come, so it sat down in the snow and waited there.");
        assert!(!Runs::of(STORY).say_the_same(&Runs::of(&mixed)), "one half is the same");
    }
}
