//! A home with a few notes: what they answer is strong, and what they do not answer is weak.

use serde_json::Value;

use crate::script::script;
use crate::world::{Server, World};

const NOTES: [&str; 5] = [
    "# People\n\nMy landlord is called Zelnik.\n",
    "# Health\n\nAllergic to peanuts. The dentist is Dr. Okafor, in Mill Street.\n",
    "# Car\n\nThe winter tyres are in the garage of my parents.\n",
    "# Work\n\nStandup is at 9:30. The staging server is reached by VPN only.\n",
    "# Taste\n\nPrefers oat milk. Dislikes coriander.\n",
];
const NOTES_ZH: [&str; 4] = [
    "# 人\n\n房东叫李建国，住在三楼。\n",
    "# 健康\n\n对花生过敏。牙医是王医生。\n",
    "# 汽车\n\n冬季轮胎放在父母的车库里。\n",
    "# 工作\n\n每天九点半开站会。\n",
];

/// Returns whether the best hit in memory/ is weak, and its text. Nothing found counts as weak.
async fn best(server: &Server<'_>, question: &str) -> (bool, String) {
    let query: String = url::form_urlencoded::byte_serialize(question.as_bytes()).collect();
    let search = server.get(&format!("/api/retrieval/search?folder=memory&query={query}")).await.ok();
    let hits = search["hits"].as_array().unwrap();
    let strong = hits.iter().find(|hit| hit["weak"] == false);
    let text = |hit: &Value| format!("{} ({})", hit["text"].as_str().unwrap(), hit["confidence"]);
    (strong.is_none(), strong.or(hits.first()).map(text).unwrap_or_default())
}

async fn check(notes: &[&str], answered: &[(&str, &str)], unanswered: &[&str]) {
    let mut world = World::new(script([])).await;
    for (number, note) in notes.iter().enumerate() {
        world = world.with_file(&format!("memory/{number}.md"), note);
    }
    let server = world.serve().await;
    for (question, answer) in answered {
        let (weak, text) = best(&server, question).await;
        assert!(!weak && text.contains(answer), "{question}: {text}");
    }
    for question in unanswered {
        let (weak, text) = best(&server, question).await;
        assert!(weak, "{question}: {text}");
    }
}

const ANSWERED: [(&str, &str); 8] = [
    ("name of my landlord", "Zelnik"),
    ("What is the name of my landlord?", "Zelnik"),
    ("who is the dentist", "Okafor"),
    ("Where are the winter tyres?", "garage"),
    ("when is standup", "9:30"),
    ("How do I reach the staging server?", "VPN"),
    ("Do I like coriander?", "coriander"),
    ("which milk do I prefer", "oat milk"),
];
const UNANSWERED: [&str; 6] = [
    "How many moons of Jupiter are visible with binoculars?",
    "What is the capital of Portugal, and how many people live there?",
    "Write a poem about autumn leaves.",
    "Why does Rust have lifetimes?",
    "Which train leaves for Hamburg after eight in the evening?",
    "How do I bake bread without yeast?",
];
const ANSWERED_ZH: [(&str, &str); 5] = [
    ("房东叫什么名字？", "李建国"),
    ("我的房东是谁", "李建国"),
    ("我对什么过敏？", "花生"),
    ("冬季轮胎在哪里？", "车库"),
    ("几点开站会？", "九点半"),
];
const UNANSWERED_ZH: [&str; 4] = [
    "木星有多少颗卫星可以用望远镜看到？",
    "葡萄牙的首都是哪座城市？",
    "写一首关于秋天落叶的诗。",
    "怎样烤不加酵母的面包？",
];

#[tokio::test]
async fn few_english_notes_answer_what_they_say() {
    check(&NOTES, &ANSWERED, &UNANSWERED).await;
}

#[tokio::test]
async fn single_note_answers_what_it_says() {
    check(&NOTES[..1], &ANSWERED[..2], &UNANSWERED).await;
}

#[tokio::test]
async fn few_chinese_notes_answer_what_they_say() {
    check(&NOTES_ZH, &ANSWERED_ZH, &UNANSWERED_ZH).await;
    check(&NOTES_ZH[..1], &ANSWERED_ZH[..2], &UNANSWERED_ZH).await;
}
