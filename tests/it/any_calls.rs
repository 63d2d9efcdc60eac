//! Any sequence of calls that change files: withdrawing the works one by one gives back every tree in between, and reapplying
//! them too.

use serde_json::{Value, json};

use crate::command_changes::{Tree, ask, bash, bound, cannot_capture, tree};
use crate::crash::Rng;
use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, World};

/// Number of works of a case, and maximum number of calls of each.
const WORKS: usize = 6;
const CALLS: u64 = 3;
const PATHS: [&str; 7] = ["a", "b", "d", "d/a", "d/e", "d/e/c", "x y/ü.txt"];

fn any_path(random: &mut Rng) -> &'static str {
    PATHS[random.below(PATHS.len() as u64) as usize]
}

/// Returns a call that changes something, if the files that it names happen to exist.
fn any_call(random: &mut Rng, id: &str) -> Value {
    let (path, other, number) = (any_path(random), any_path(random), random.below(1_000));
    let command = |command: String| bash(id, &command);
    match random.below(16) {
        0 => call(id, "create_file", json!({"items": [{"path": path, "content": format!("made {number}\n")}]})),
        1 => {
            call(id, "create_file", json!({"items": [{"path": path, "folder": true}, {"path": other, "content": ""}]}))
        }
        2 => call(id, "delete_file", json!({"paths": [path, other], "recursive": true})),
        3 => call(id, "move_file", json!({"items": [{"from": path, "to": other}]})),
        4 => call(
            id,
            "edit_file",
            json!({"path": path, "operations": [{"insert_after": 0, "text": format!("{number}\n")}]}),
        ),
        5 => command(format!("mkdir -p \"$(dirname '{path}')\"; echo {number} > '{path}'")),
        6 => command(format!("printf '\\000\\377{number}' >> '{path}'; : > '{other}'")),
        7 => command(format!("rm -rf '{path}'; mkdir -p '{path}'")),
        8 => command(format!("mv '{path}' '{other}'")),
        9 => command(format!("ln -sfn '{other}' '{path}'")),
        10 => command(format!("chmod {} '{path}'", ["600", "755", "700", "644"][number as usize % 4])),
        11 => command(format!("cp -r '{path}' '{other}'")),
        12 => command(format!("truncate -s {number} '{path}'; touch '{other}'")),
        13 => command(format!("ln '{path}' '{other}'; echo {number} >> '{path}'")),
        14 => command(format!("rm -rf '{path}' '{other}'")),
        _ => command(format!("sed -i 's/[0-9]/{number}/' '{path}'; mv '{other}' '{path}'")),
    }
}

#[tokio::test]
async fn any_works_are_withdrawn_and_reapplied_exactly() {
    if cannot_capture().await {
        return;
    }
    let cases = std::env::var("MINICLAW_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4);
    for seed in 0..cases {
        let mut random = Rng(20_261_126 + seed);
        let works: Vec<Vec<Value>> = (0..WORKS)
            .map(|work| {
                let count = 1 + random.below(CALLS);
                (0..count).map(|at| any_call(&mut random, &format!("w{work}c{at}"))).collect()
            })
            .collect();
        let replies = works.iter().flat_map(|work| [calls(work.clone()), says(["Done."])]);
        let world = World::new(script(replies)).await;
        world.write("config.yml", CONFIG);
        world.write("scratch/a", "one 1\ntwo 2\n");
        world.write("scratch/d/e/c", "deep\n");
        let server = world.serve().await;
        let session = bound(&server).await;
        let (mut trees, mut ids): (Vec<Tree>, Vec<String>) = (vec![tree(&world.path("scratch"))], Vec::new());
        for _ in 0..WORKS {
            ids.push(ask(&server, &session, "go").await);
            trees.push(tree(&world.path("scratch")));
        }
        let explained = |doing: &str, at: usize| format!("seed {seed}, {doing} {at}: {:#?}", works[at]);
        for (at, id) in ids.iter().enumerate().rev() {
            let done = server.post(&format!("/api/sessions/{session}/works/{id}/withdraw"), json!({})).await;
            assert_eq!(done.status(), 200, "{}: {}", explained("withdraw", at), done.text());
            assert_eq!(tree(&world.path("scratch")), trees[at], "{}", explained("withdraw", at));
        }
        for (at, id) in ids.iter().enumerate() {
            let done = server.post(&format!("/api/sessions/{session}/works/{id}/reapply"), json!({})).await;
            assert_eq!(done.status(), 200, "{}: {}", explained("reapply", at), done.text());
            assert_eq!(tree(&world.path("scratch")), trees[at + 1], "{}", explained("reapply", at));
        }
    }
}
