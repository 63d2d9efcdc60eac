//! Checks whether a text is written in the scripts of a model's languages.

/// Number of characters examined at the start of a text; the rest is assumed to be in the same language.
pub(crate) const SAMPLE: usize = 2000;

/// Returns whether at least half of a text's letters belong to the scripts of the 16 languages: Latin, Han, kana, Hangul,
/// Cyrillic, Thai, Arabic. A text without letters is covered, because numbers are the same in all languages.
pub(crate) fn is_covered(text: &str) -> bool {
    most_letters(text, is_covered_letter)
}

/// Returns whether the predicate holds for at least half of the letters in the first [`SAMPLE`] characters of a text.
pub(crate) fn most_letters(text: &str, predicate: impl Fn(char) -> bool) -> bool {
    let letters = text.chars().take(SAMPLE).filter(|c| c.is_alphabetic());
    let (covered, all) =
        letters.fold((0, 0), |(covered, all), letter| (covered + u32::from(predicate(letter)), all + 1));
    2 * covered >= all
}

fn is_covered_letter(letter: char) -> bool {
    matches!(letter,
        // Latin: ASCII, Latin-1 to Extended-B, phonetic, Extended Additional, ligatures, full width
        'A'..='Z' | 'a'..='z' | '\u{aa}' | '\u{ba}' | '\u{c0}'..='\u{2af}' | '\u{1e00}'..='\u{1eff}'
        | '\u{2c60}'..='\u{2c7f}' | '\u{a720}'..='\u{a7ff}' | '\u{fb00}'..='\u{fb06}' | '\u{ff21}'..='\u{ff3a}'
        | '\u{ff41}'..='\u{ff5a}'
        // Cyrillic and its supplements
        | '\u{400}'..='\u{52f}' | '\u{1c80}'..='\u{1c8f}' | '\u{2de0}'..='\u{2dff}' | '\u{a640}'..='\u{a69f}'
        // Arabic, its supplements and presentation forms
        | '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}' | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{feff}'
        // Thai
        | '\u{e00}'..='\u{e7f}'
        // Hangul: jamo, compatibility, syllables, half width
        | '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{ffa0}'..='\u{ffdc}'
        // kana, with phonetic extensions and half width
        | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}'
        // Han: iteration marks, unified, extensions, compatibility
        | '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::is_covered;

    #[test]
    fn only_scripts_of_the_sixteen_languages_are_covered() {
        for text in [
            "The cat",
            "ＡＢＣ",
            "żółć",
            "çalışıyor",
            "Tiếng Việt",
            "москва",
            "مرحبا",
            "สวัสดี",
            "한국어",
            "漢字",
            "かな",
            "カナ",
            "ｶﾅ",
            "𠮷野家",
        ] {
            assert!(is_covered(text), "{text}");
        }
        for text in ["Ελληνικά", "עברית", "हिन्दी", "தமிழ்", "ქართული", "Հայերեն", "አማርኛ", "မြန်မာ", "ខ្មែរ", "ᚠᚢᚦ"]
        {
            assert!(!is_covered(text), "{text}");
        }
    }

    #[test]
    fn majority_of_letters_decides_and_no_letters_is_covered() {
        for text in ["", "2024-05-06", "😀!?", "π ≈ 3.14 is the ratio", "का is a syllable"] {
            assert!(is_covered(text), "{text}");
        }
        assert!(!is_covered("OK: Καλημέρα"));
        assert!(is_covered(&format!("{}{}", "a".repeat(1500), "α".repeat(1 << 20))));
    }
}
