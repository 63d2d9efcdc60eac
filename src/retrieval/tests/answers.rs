//! Tests that questions find their answers and that each hit explains why it was found.

use super::*;
use crate::domain::knowledge::NearMissReason;

const MEMORY: &str = "# 记忆\n\n## 工作\n\n- 我的上司毕业于浙江大学。\n- 周三下午开组会。\n\n## 宠物\n\n- 养了一只小猫，叫豆豆，喜欢吃鱼。\n\n\
     ## People\n\n- Caroline adopted a dog named Oscar in May 2023.\n- Melanie paints sunrises.\n";
const KEYS: &str = "# Keys\n\nPut DEEPSEEK_API_KEY into the file .env.\n\n## Sessions\n\nThe function loadSessionForAgent merges messages.\n";

fn home() -> FolderIndex {
    index(&[("memory/MEMORY.md", MEMORY), ("knowledge/keys.md", KEYS)])
}

fn first(index: &FolderIndex, query: &str) -> String {
    hits(index, query, 3).first().map(|hit| hit.text.clone()).unwrap_or_default()
}

#[test]
fn questions_find_their_answers_in_any_language() {
    let index = home();
    for (question, answer) in [
        ("我的上司是哪个学校毕业的？", "浙江大学"),
        ("猫叫什么名字", "豆豆"),
        ("猫", "豆豆"),
        ("猫 Oscar", "豆豆"),
        ("What is the name of Caroline's dog?", "Oscar"),
        ("who painted a sunrise", "Melanie"),
        ("DEEPSEEK_API_KEY 放在哪里？", ".env"),
        ("deepseek key", ".env"),
        ("load session", "loadSessionForAgent"),
        ("ＬＯＡＤＳＥＳＳＩＯＮＦＯＲＡＧＥＮＴ", "loadSessionForAgent"),
        ("2023", "Oscar"),
    ] {
        assert!(first(&index, question).contains(answer), "{question}: {:?}", hits(&index, question, 3));
    }
    for nothing in ["", "  ?!", "zebra", "斑马"] {
        assert!(hits(&index, nothing, 3).is_empty());
    }
    assert!(hits(&index, "dog", 0).is_empty());
    assert!(hits(&super::index(&[]), "dog", 3).is_empty());
}

#[test]
fn hit_has_location_and_reason() {
    let index = home();
    let found = ask(&index, "Where did Caroline adopt the dog?", 1, None);
    let hit = &found.hits[0];
    assert_eq!((hit.source.as_str(), hit.place().as_str()), ("memory/MEMORY.md", "memory/MEMORY.md:1-15"));
    assert_eq!(&MEMORY[hit.range.0..hit.range.1], hit.text);
    let lexical = hit.how.as_ref().unwrap().lexical.as_ref().unwrap();
    let terms: Vec<&str> = lexical.terms.iter().map(|term| term.term.as_str()).collect();
    assert_eq!(terms, ["carolin", "adopt", "dog", "carolin + adopt", "adopt + dog"]);
    assert!((lexical.terms.iter().map(|term| term.score).sum::<f64>() - lexical.score).abs() < 1e-9);
    assert_eq!((lexical.rank, lexical.share, hit.score), (1, 1.0, 1.0));
    assert_eq!(found.ignored, ["where", "did", "the"]);
    assert!(found.terms.iter().all(|term| term.texts == 1 && term.idf > 0.0));
}

#[test]
fn heading_is_searched_with_its_text() {
    let body = "Nothing here repeats the name of the place above. ".repeat(20);
    let index = index(&[("knowledge/a.md", &format!("# Cities\n\n## Paris\n\n{body}\n\n## Rome\n\n{body}\n"))]);
    assert_eq!(hits(&index, "rome", 5)[0].heading.as_deref(), Some("Cities › Rome"));
}

#[test]
fn answer_across_chunks_is_returned_whole() {
    // About 5 tokens per line: the first chunk ends near line 50.
    let line = |n: usize| {
        if (48..54).contains(&n) { format!("- penguin fact {n} here\n") } else { format!("- filler {n} text here\n") }
    };
    let text: String = (0..120).map(line).collect();
    let index = index(&[("knowledge/a.md", &text)]);
    let hit = &hits(&index, "penguin", 1)[0];
    let all = (48..54).all(|n| hit.text.contains(&format!("penguin fact {n} ")));
    assert!(all && hit.text.len() < text.len() / 2, "{hit:#?}");
    assert_eq!(&text[hit.range.0..hit.range.1], hit.text);
    let (from, to) = hit.lines.unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[from as usize - 1..to as usize].join("\n"), hit.text.trim_end());
}

#[test]
fn hits_of_one_query_do_not_overlap() {
    let text: String = (0..200).map(|n| format!("- the penguin number {n} of the colony\n")).collect();
    let index = index(&[("knowledge/a.md", &text)]);
    let found = hits(&index, "penguin colony", 4);
    assert_eq!(found.len(), 4);
    for (at, a) in found.iter().enumerate() {
        for b in &found[at + 1..] {
            let shared = a.range.1.min(b.range.1).saturating_sub(a.range.0.max(b.range.0));
            assert!(shared * 2 < a.text.len(), "{:?} {:?}", a.range, b.range);
        }
    }
}

#[test]
fn near_misses_state_why_they_lost() {
    let index = index(&[
        ("knowledge/a.md", "Penguins swim in cold water and eat fish."),
        ("knowledge/b.md", "Penguins stand on ice."),
        ("knowledge/c.md", "Water is wet."),
    ]);
    let found = ask(&index, "penguins water", 1, None);
    assert_eq!((found.hits[0].source.as_str(), found.near_misses.len()), ("knowledge/a.md", 2));
    for missed in &found.near_misses {
        assert_eq!(missed.reason, NearMissReason::WeakerWords);
        assert!(missed.behind > 0.0 && missed.detail.contains("points behind"), "{missed:?}");
        assert!((found.hits[0].score - missed.hit.score - missed.behind).abs() < 1e-9);
    }
}

#[test]
fn top_hit_is_independent_of_count() {
    let text: String = (0..60).map(|n| format!("## S{n}\n\nword{} word{} and filler text\n\n", n % 7, n % 5)).collect();
    let index = index(&[("knowledge/a.md", &text), ("knowledge/b.md", MEMORY)]);
    for query in ["word1", "word2 word3", "filler", "猫"] {
        let five = hits(&index, query, 5);
        for k in 1..5 {
            assert_eq!(hits(&index, query, k), five[..k.min(five.len())]);
        }
    }
}

#[test]
fn manual_answers_product_questions() {
    let index = index(&[
        ("knowledge/memory-and-rag.md", include_str!("../../../starter/knowledge/memory-and-rag.md")),
        ("knowledge/miniclaw-overview.md", include_str!("../../../starter/knowledge/miniclaw-overview.md")),
        ("knowledge/prompt.md", include_str!("../../../starter/knowledge/prompt.md")),
        ("knowledge/sessions.md", include_str!("../../../starter/knowledge/sessions.md")),
        ("knowledge/setup-and-keys.md", include_str!("../../../starter/knowledge/setup-and-keys.md")),
        ("knowledge/skills.md", include_str!("../../../starter/knowledge/skills.md")),
        ("knowledge/tools.md", include_str!("../../../starter/knowledge/tools.md")),
        ("knowledge/troubleshooting.md", include_str!("../../../starter/knowledge/troubleshooting.md")),
        ("knowledge/使用说明.md", include_str!("../../../starter/knowledge/使用说明.md")),
    ]);
    for (question, answer) in [
        ("Where do I put my API key?", ".env"),
        ("How large may a part of the system prompt be?", "20,000"),
        ("What happens in RAG mode?", "[记忆检索结果]"),
        ("How do I write a skill?", "description"),
        ("Does the terminal have network access?", "no network"),
        ("What happens when I compress a conversation?", "first half"),
        ("Can the agent change its memory by itself?", "MEMORY.md"),
        ("密钥放在哪里？", "DEEPSEEK_API_KEY"),
        ("对话太长怎么办", "压缩"),
        ("怎么写一个技能？", "SKILL.md"),
    ] {
        let hits = hits(&index, question, 3);
        assert!(hits.iter().any(|hit| hit.text.contains(answer)), "{question}: {hits:#?}");
    }
}
