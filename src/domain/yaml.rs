//! What YAML from others may not do.

/// Returns whether YAML may repeat parts of itself (`&a … *a`): kilobytes of that become gigabytes of values, and the parser bounds
/// only the number of repetitions. No front matter needs it.
pub fn repeats(yaml: &str) -> bool {
    let begins = |sign: char| {
        yaml.match_indices(sign).any(|(at, _)| {
            yaml[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric())
                && yaml[at + 1..].starts_with(|after: char| !after.is_whitespace())
        })
    };
    begins('&') && begins('*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_with_aliases_are_recognised() {
        assert!(repeats("a: &a [x]\nb: [*a, *a]\n"));
        for plain in ["a: R&D\nb: 2 * 3\n", "title: \"*bold*\"\n", "a: &a x\n", ""] {
            assert!(!repeats(plain), "{plain}");
        }
    }
}
