//! Cues: words of a question that refer to something outside the conversation, such as a file, an address or a command.

/// Common shell commands.
const COMMANDS: [&str; 24] = [
    "ls", "df", "du", "ps", "pwd", "cat", "grep", "find", "git", "npm", "pip", "cargo", "make", "docker", "curl",
    "python", "python3", "node", "uname", "whoami", "ping", "top", "tail", "wc",
];

/// Returns whether a question names a file, an address or a command.
pub fn contains_external_reference(question: &str) -> bool {
    has_address(question) || has_path(question) || has_command(question)
}

/// Returns whether the question contains a web address.
pub fn has_address(question: &str) -> bool {
    ["http://", "https://", "www."].iter().any(|start| question.contains(start))
}

/// Returns whether the question contains a path or a file name with an extension, such as `notes/plan.md`, `report.txt`, `src/`.
pub fn has_path(question: &str) -> bool {
    words(question).any(|word| {
        let word = word.trim_end_matches(['.', ',', ':', '!', '?', ';']);
        let ending = word.rsplit_once('.').filter(|(name, _)| !name.is_empty()).map(|(_, ending)| ending);
        let named = ending.is_some_and(|e| {
            (1..=5).contains(&e.len())
                && e.chars().all(|c| c.is_ascii_alphanumeric())
                && e.chars().any(|c| c.is_ascii_alphabetic())
        });
        let abbreviation = matches!(word, "e.g" | "i.e" | "a.m" | "p.m" | "U.S");
        let folder =
            word.len() > 1 && word.contains('/') && word.chars().any(char::is_alphabetic) && !word.contains("//");
        (named && !abbreviation) || (folder && word.matches('/').count() > usize::from(!word.ends_with('/')))
    })
}

/// Returns whether the question contains a command and either a word like "run" or an option.
fn has_command(question: &str) -> bool {
    let verbs = ["run ", "execute ", "运行", "执行", "use ", "用"];
    let lower = question.to_lowercase();
    let mentions = words(&lower).any(|w| COMMANDS.contains(&w));
    mentions && (verbs.iter().any(|v| lower.contains(v)) || words(&lower).any(|w| w.len() > 1 && w.starts_with('-')))
}

/// Returns the runs of characters that may belong to a name: ASCII letters and digits, and the punctuation of paths.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-' | '~');
    text.split(move |c: char| !part(c)).filter(|w| !w.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_urls_and_commands_are_signs() {
        for question in [
            "看看 notes/plan.md 里写了什么",
            "Summarise the file report.txt for me.",
            "把config.yml里的端口改掉",
            "总结一下 https://example.org/a 的内容",
            "执行 git log --oneline -5",
            "How much space is left? Use df",
            "what is in src/lib/ ?",
        ] {
            assert!(contains_external_reference(question), "{question}");
        }
    }

    #[test]
    fn ordinary_talk_has_no_signs() {
        for question in [
            "你好",
            "Is it 3.14 or 3.15?",
            "I like tea. You too?",
            "e.g. a poem and/or a song",
            "早上 9.30 开会",
            "What is git?",
            "写一个 Python 函数",
            "Find the odd one out: cat, dog, car",
        ] {
            assert!(!contains_external_reference(question), "{question}");
        }
    }
}
