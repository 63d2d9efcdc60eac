//! Stop words: words of a question that say nothing about its answer. They are dropped from queries only; documents keep them.

/// Returns whether an English word is a stop word. `word` is in lower case and without apostrophes (`whats`, `dont`).
pub fn is_english(word: &str) -> bool {
    ENGLISH.binary_search(&word).is_ok()
}

/// Returns whether two characters are part of a question phrase, or are both particles.
pub fn is_chinese(pair: &str) -> bool {
    CHINESE.contains(&pair) || pair.chars().all(|c| PARTICLES.contains(c))
}

/// Returns whether a character has only a grammatical function.
pub fn is_particle(c: char) -> bool {
    PARTICLES.contains(c)
}

const PARTICLES: &str =
    "的了吗呢吧啊呀嘛么着过是在有和与或及就都也还很这那哪谁几我你您他她它们被把让给到从对为以之其请";

const CHINESE: &[&str] = &[
    "什么",
    "怎么",
    "怎样",
    "怎么样",
    "么样",
    "多少",
    "哪个",
    "哪些",
    "哪里",
    "哪儿",
    "哪位",
    "哪种",
    "哪年",
    "哪天",
    "几个",
    "几点",
    "如何",
    "为何",
    "何时",
    "何地",
    "是否",
    "能否",
    "可否",
    "请问",
    "告诉",
    "诉我",
    "一下",
    "可以",
    "知道",
    "记得",
    "我想",
    "想知",
    "帮我",
    "有没",
    "没有",
    "是不",
    "不是",
    "时候",
    "叫做",
    "叫什",
    "是什",
    "是多",
    "是谁",
    "在哪",
    "有什",
    "有哪",
    "有多",
    "多大",
    "多久",
    "多长",
    "关于",
    "个是",
    "一个",
    "这个",
    "那个",
    "现在",
];

/// Sorted for binary search.
const ENGLISH: &[&str] = &[
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "before", "being", "both", "but", "by", "can", "could", "did", "do", "does", "doing", "dont", "during",
    "each", "else", "ever", "few", "for", "from", "further", "get", "give", "had", "has", "have", "having", "he",
    "her", "here", "hers", "him", "his", "how", "however", "i", "id", "if", "ill", "im", "in", "into", "is", "it",
    "its", "ive", "just", "know", "let", "lets", "like", "many", "may", "me", "might", "mine", "more", "most", "much",
    "must", "my", "myself", "no", "nor", "not", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "out",
    "over", "own", "please", "s", "same", "shall", "she", "should", "so", "some", "such", "t", "tell", "than", "that",
    "thats", "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "through", "to",
    "too", "under", "until", "up", "us", "very", "was", "we", "were", "what", "whats", "when", "where", "which",
    "while", "who", "whom", "whose", "why", "will", "with", "would", "you", "your", "yours",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_word_lists_are_sorted() {
        assert!(ENGLISH.is_sorted());
        assert!(is_english("where") && !is_english("wherever"));
        assert!(is_chinese("什么") && is_chinese("我的") && !is_chinese("上司"));
    }
}
