//! Documents and questions of made-up words, identical in every run.

use std::fs;
use std::io;
use std::path::Path;

/// Number of different words. The n-th word has 1/n of the frequency of the first, as in natural languages (Zipf's law).
const WORDS: f64 = 20_000.0;
/// Lowest frequency rank of the words in questions: more frequent words do not tell documents apart.
const TELLING: f64 = 30.0;
/// Number of different characters in Chinese texts.
const CHARACTERS: f64 = 3_000.0;

/// Pseudo-random number generator (SplitMix64).
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number of at least 0 and less than 1.
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a frequency rank of at least `from` and less than `to`.
    fn place(&mut self, from: f64, to: f64) -> u64 {
        (from * (to / from).powf(self.share())) as u64
    }

    fn word(&mut self, from: f64) -> String {
        word(self.place(from, WORDS))
    }

    fn character(&mut self) -> char {
        char::from_u32(0x4e00 + self.place(1.0, CHARACTERS) as u32).unwrap_or('一')
    }

    /// Returns a sentence of twelve words or of twenty characters.
    pub fn sentence(&mut self, language: Language) -> String {
        match language {
            Language::English => {
                let words: Vec<String> = (0..12).map(|_| self.word(1.0)).collect();
                format!("{}.", words.join(" "))
            }
            Language::Chinese => (0..20).map(|_| self.character()).chain(['。']).collect(),
        }
    }

    /// Returns a question of six distinctive words.
    pub fn question(&mut self) -> String {
        let words: Vec<String> = (0..6).map(|_| self.word(TELLING)).collect();
        format!("{}?", words.join(" "))
    }
}

#[derive(Clone, Copy)]
pub enum Language {
    English,
    Chinese,
}

/// Returns the n-th most frequent word: meaningless syllables, more of them for rarer words.
fn word(number: u64) -> String {
    const SYLLABLES: [&str; 30] = [
        "ka", "lo", "mi", "ru", "te", "sa", "no", "ve", "pi", "du", "ga", "be", "zo", "fi", "ho", "na", "so", "re",
        "tu", "li", "mo", "pa", "ke", "vi", "da", "bo", "ze", "fu", "gi", "ra",
    ];
    let mut rest = number + SYLLABLES.len() as u64;
    let mut word = String::new();
    while rest > 0 {
        word.push_str(SYLLABLES[(rest % SYLLABLES.len() as u64) as usize]);
        rest /= SYLLABLES.len() as u64;
    }
    word
}

/// Returns a word that no text of this module contains.
pub fn rare_word(number: usize) -> String {
    word(WORDS as u64 * 2 + number as u64)
}

/// Number of sections in a file of [`fill`]; each section is one chunk.
const SECTIONS: usize = 10;

/// Writes English files of ten sections of about 200 words each until there are `chunks` sections, 100 files per folder.
pub fn fill(folder: &Path, chunks: usize) -> io::Result<()> {
    let mut rng = Rng::new(chunks as u64);
    for file in 0..chunks.div_ceil(SECTIONS) {
        let within = folder.join(format!("part-{:03}", file / 100));
        fs::create_dir_all(&within)?;
        let mut text = format!("# {} {file}\n", rng.word(TELLING));
        for _ in 0..SECTIONS {
            text.push_str(&format!("\n## {} {}\n\n", rng.word(TELLING), rng.word(TELLING)));
            let sentences: Vec<String> = (0..17).map(|_| rng.sentence(Language::English)).collect();
            text.push_str(&sentences.join(" "));
            text.push('\n');
        }
        fs::write(within.join(format!("file-{file:05}.md")), text)?;
    }
    Ok(())
}
