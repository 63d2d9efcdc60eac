//! The names of the files of a project: listed in pages, and searched.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::conversations::{data, refused};
use crate::projects::created;
use crate::script::script;
use crate::world::{Server, World};

const PROJECTS: &str = "/api/projects";

/// Returns a page of a folder as the names of its entries, and its other fields.
async fn page(server: &Server<'_>, folder: &str, query: &str) -> (Vec<String>, Value) {
    let mut page = data(&server.get(&format!("{folder}{query}")).await);
    let items = page["items"].take();
    let name = |entry: &Value| entry["name"].as_str().unwrap().to_owned();
    (items.as_array().unwrap().iter().map(name).collect(), page)
}

#[tokio::test]
async fn large_folder_is_read_to_its_end_in_pages() {
    const MANY: usize = 12_000;
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = created(&server, "Tea").await;
    for n in 0..MANY {
        fs::write(world.path(&format!("workspaces/Tea/f{n}")), "").unwrap();
    }
    fs::create_dir(world.path("workspaces/Tea/z 茶")).unwrap();
    let folder = format!("{PROJECTS}/{id}/files");
    let (first, rest) = page(&server, &folder, "").await;
    assert_eq!((first.len(), first[0].as_str(), first[10].as_str()), (10_000, "z 茶", "f9"));
    assert_eq!((&rest["has_more"], &rest["left_out"]), (&json!(true), &json!(MANY + 1 - 10_000)));

    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let after = cursor.map(|cursor| format!("&cursor={}", cursor.replace('/', "%2F").replace(' ', "%20")));
        let (names, rest) = page(&server, &folder, &format!("?limit=5000{}", after.unwrap_or_default())).await;
        seen.extend(names);
        // What is added and deleted between two pages moves nothing.
        fs::write(world.path(&format!("workspaces/Tea/a{}", seen.len())), "").unwrap();
        let _ = fs::remove_file(world.path("workspaces/Tea/f4998"));
        assert_eq!(rest["has_more"], json!(rest["next_cursor"].is_string()), "{rest}");
        let Some(next) = rest["next_cursor"].as_str() else { break };
        cursor = Some(next.to_owned());
    }
    let all: Vec<String> = (0..MANY).map(|n| format!("f{n}")).collect();
    assert_eq!((seen[0].as_str(), &seen[1..]), ("z 茶", &all[..]));
    for (query, reason) in [
        ("limit=0", "bad_limit"),
        ("limit=10001", "bad_limit"),
        ("cursor=f1", "bad_cursor"),
        ("cursor=", "bad_cursor"),
        ("cursor=x%2Ff1", "bad_cursor"),
    ] {
        assert_eq!(refused(&server.get(&format!("{folder}?{query}")).await), (400, reason.to_owned()), "{query}");
    }
    assert_eq!(server.get(&format!("{folder}?limit=many")).await.status(), 400);
}

#[tokio::test]
async fn files_are_found_by_their_names() {
    let world = World::new(script([])).await;
    let server = world.serve().await;
    let id = created(&server, "Tea").await;
    for path in
        ["main/a.rs", "src/Main.rs", "src/domain.rs", "target/main.rs", "茶/绿茶 笔记.md", ".env", "m_a_i_n.txt"]
    {
        world.write(&format!("workspaces/Tea/{path}"), "text");
    }
    world.write("workspaces/Tea/.gitignore", "target/\n");
    symlink("../../config.yml", world.path("workspaces/Tea/main-link")).unwrap();
    let find = format!("{PROJECTS}/{id}/find");
    let found = async |query: &str| {
        let found = data(&server.get(&format!("{find}?{query}")).await);
        let path = |file: &Value| file["path"].as_str().unwrap().to_owned();
        (found["items"].as_array().unwrap().iter().map(path).collect::<Vec<_>>(), found["more"].clone())
    };
    let of = |paths: &[&str], more: bool| (paths.iter().map(|path| (*path).to_owned()).collect(), json!(more));
    assert_eq!(found("q=MAIN").await, of(&["src/Main.rs", "src/domain.rs", "main/a.rs", "m_a_i_n.txt"], false));
    assert_eq!(found("q=main&limit=1").await, of(&["src/Main.rs"], true));
    assert_eq!(found("q=%E7%BB%BF%E8%8C%B6").await, of(&["茶/绿茶 笔记.md"], false));
    assert_eq!(found("q=src%20rs").await, of(&["src/Main.rs", "src/domain.rs"], false));
    assert_eq!(found("q=.env").await, of(&[".env"], false));
    assert_eq!(found("q=nothing").await, of(&[], false));
    fs::remove_file(world.path("workspaces/Tea/src/Main.rs")).unwrap();
    assert_eq!(found("q=main.rs").await, of(&["src/domain.rs", "main/a.rs"], false), "as the files are now");
    for (query, reason) in [
        ("q=%20", "empty_query"),
        ("q=a&limit=0", "bad_limit"),
        ("q=a&limit=201", "bad_limit"),
        (&format!("q={}", "a".repeat(1_001)), "bad_request"),
    ] {
        assert_eq!(refused(&server.get(&format!("{find}?{query}")).await), (400, reason.to_owned()), "{query}");
    }
    assert_eq!(refused(&server.get(&format!("{PROJECTS}/none/find?q=a")).await).0, 404);
}
