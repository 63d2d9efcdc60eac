//! `miniclaw eval --kit`: the figures of an evaluation kit.

use crate::script::script;
use crate::world::World;

/// A scorer for passages and for one item a question, with the figures of a kit's scorer.
const SCORER: &str = r##"
import collections, json, os, sys
folder, run = sys.argv[1:3]
read = lambda name: [json.loads(line) for line in open(os.path.join(folder, name))]
skipped = sys.argv[sys.argv.index("--skip-category") + 1]
right = {}
for judged in read("qrels.jsonl"):
    right[judged["query_id"]] = judged
def answers(judged, name):
    if "doc_id" in judged:
        return judged["doc_id"] == name
    file, place = name.split("#")
    start, end = map(int, place.split("-"))
    return file == judged["file"] and start < judged["end"] and judged["start"] < end
hits = collections.defaultdict(list)
for line in open(run):
    query, _, name, *_ = line.split()
    hits[query].append(name)
groups = collections.defaultdict(list)
for query in read("queries.jsonl"):
    if query["category"] == skipped:
        continue
    found = [answers(right[query["_id"]], name) for name in hits[query["_id"]]]
    for group in ("all", query["category"]):
        groups[group].append({f"hit@{k}": float(any(found[:k])) for k in (1, 3, 5, 10)})
mean = lambda rows, name: sum(row[name] for row in rows) / len(rows)
print(json.dumps({group: {"n": len(rows)} | {name: mean(rows, name) for name in rows[0]} for group, rows in groups.items()}))
"##;

const TALK: &str = "# Ann and Bea\n\n## 1:56 pm on 8 May, 2023 (session 1)\n\n- Ann: I keep penguins.\n\n\
                    ## 2:10 pm on 9 June, 2023 (session 2)\n\n- Bea: My violin is from Cremona.\n";

fn kit() -> Vec<(&'static str, String)> {
    let penguins = TALK.find("- Ann").unwrap();
    let violin = TALK.find("- Bea").unwrap();
    let judged = |id: &str, start: usize| {
        format!("{{\"query_id\":\"{id}\",\"file\":\"talk.md\",\"start\":{start},\"end\":{}}}\n", start + 20)
    };
    vec![
        ("score.py", SCORER.to_owned()),
        ("talks/files/talk.md", TALK.to_owned()),
        ("talks/qrels.jsonl", [judged("q1", penguins), judged("q2", violin), judged("q3", violin)].concat()),
        (
            "talks/queries.jsonl",
            "{\"_id\":\"q1\",\"text\":\"Who keeps penguins?\",\"category\":\"who\"}\n\
             {\"_id\":\"q2\",\"text\":\"Where is the violin from, Cremona?\",\"category\":\"where\"}\n\
             {\"_id\":\"q3\",\"text\":\"Where is Ann's violin from?\",\"category\":\"adversarial\"}\n"
                .to_owned(),
        ),
        (
            "notes/corpus.jsonl",
            "{\"_id\":\"p1\",\"title\":\"Tides\",\"text\":\"The moon pulls the sea.\"}\n".to_owned(),
        ),
        ("notes/qrels.jsonl", "{\"query_id\":\"t1\",\"doc_id\":\"p1\",\"score\":1}\n".to_owned()),
        (
            "notes/queries.jsonl",
            "{\"_id\":\"t1\",\"text\":\"What pulls the sea?\",\"category\":\"tides\"}\n".to_owned(),
        ),
    ]
}

#[tokio::test]
async fn kit_is_measured_by_category_session_and_floor() {
    let world = World::new(script([])).await;
    for (path, text) in kit() {
        world.write(&format!("kit/{path}"), text);
    }
    let (kit, runs) = (world.path("kit"), world.path("runs"));
    let output = world.run(&["eval", "--kit", kit.to_str().unwrap(), "--runs", runs.to_str().unwrap()]).await;
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Vec<&str>> = printed.lines().map(|line| line.split('\t').collect()).collect();
    let row = |begin: &[&str]| {
        let found = rows.iter().find(|row| row.starts_with(begin));
        found.unwrap_or_else(|| panic!("{begin:?}: {printed}")).clone()
    };
    assert_eq!(row(&["set"])[2..8], ["category", "n", "any@1", "any@3", "any@5", "any@10"]);
    assert_eq!(row(&["talks", "lexical", "all"])[3..10], ["2", "1.000", "1.000", "1.000", "1.000", "-", "-"]);
    assert_eq!(row(&["talks", "lexical", "who"])[3..5], ["1", "1.000"]);
    assert_eq!(
        row(&["talks", "conversations-lexical", "sessions"])[3..10],
        ["2", "1.000", "1.000", "1.000", "1.000", "1.000", "1.000"]
    );
    assert_eq!(row(&["talks", "conversations-lexical", "all"])[3..5], ["2", "1.000"]);
    assert_eq!(row(&["notes", "lexical", "all"])[3..5], ["1", "1.000"]);
    let sessions = rows.iter().filter(|row| row.contains(&"sessions"));
    assert_eq!(sessions.count(), 2, "passages have no sessions: {printed}");

    // The first floor is the lowest.
    assert_eq!(row(&["talks", "lexical", "right hit found"])[3..5], ["2", "1.000"]);
    assert_eq!(row(&["talks", "lexical", "unanswerable"])[3], "1");
    assert_eq!(row(&["talks", "lexical", "of other sets"])[3..5], ["1", "0.000"]);
    assert_eq!(row(&["notes", "lexical", "of other sets"])[3], "2", "unanswerable questions of others are not put");
    let run = world.read("runs/talks.lexical.run");
    assert!(run.starts_with("q1 Q0 talk.md#"), "{run}");
}
