//! A project searched by meaning, and one that is a vault of notes: tags, aliases, links, and who mentions a note.

use serde_json::{Value, json};

use crate::conversations::{data, refused};
use crate::script::{call, calls, says, script};
use crate::world::{CONFIG, Server, World};

const PROJECTS: &str = "/api/projects";

async fn vault(server: &Server<'_>, world: &World) -> String {
    let made = data(&server.post(PROJECTS, json!({"name": "Vault"})).await);
    for (path, text) in [
        (
            "Tea.md",
            "---\naliases: [Camellia brew]\ntags: [drink/hot]\n---\n# Steeping\n\nSteep green leaves in [[Water|hot water]] for two minutes. %%the zebra comment%% #plants\n",
        ),
        ("places/Water.md", "---\ntags: drink\n---\nBoil it in a kettle. Back to [[tea]].\n"),
        ("places/Kettle.md", "An iron kettle for Tea lasts long. See [[nowhere]].\n"),
        ("src/main.rs", "// The quokka function starts the program.\nfn main() {}\n"),
        ("big.txt", &"quokka ".repeat(200_000)),
        ("raw.dat", "quokka\0"),
        ("leaf.png", "quokka"),
        (".obsidian/app.json", "{\"quokka\": 1}"),
        (".trash/Old.md", "quokka [[Tea]]"),
        (".gitignore", "build/\n"),
        ("build/out.txt", "quokka"),
    ] {
        world.write(&format!("workspaces/Vault/{path}"), text);
    }
    made["id"].as_str().unwrap().to_owned()
}

async fn passages(server: &Server<'_>, id: &str, query: &str) -> Value {
    let query = query.replace('#', "%23").replace(' ', "%20").replace(':', "%3A");
    data(&server.get(&format!("{PROJECTS}/{id}/passages?query={query}")).await)
}

fn paths(found: &Value) -> Vec<&str> {
    found["results"].as_array().unwrap().iter().map(|passage| passage["path"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn project_is_searched_by_meaning_as_it_is_now() {
    let world = World::new(script([])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let id = vault(&server, &world).await;
    let found = passages(&server, &id, "which quokka function starts").await;
    assert_eq!(paths(&found), ["src/main.rs"], "{found:#}");
    let counts = json!({"files": 4, "binary": 2, "too_large": 1, "unreadable": 0, "too_many": 0});
    assert_eq!((&found["index"]["counts"], &found["results"][0]["lines"]), (&counts, &json!([1, 2])));
    assert!(found["results"][0]["how"]["lexical"]["score"].as_f64().unwrap() > 0.0, "{found:#}");

    world.write("workspaces/Vault/new/quokka.md", "A quokka is a marsupial.");
    std::fs::remove_file(world.path("workspaces/Vault/src/main.rs")).unwrap();
    assert_eq!(paths(&passages(&server, &id, "quokka").await), ["new/quokka.md"]);
    world.write("workspaces/Vault/.gitignore", "new/\n");
    assert_eq!(paths(&passages(&server, &id, "quokka").await), ["build/out.txt"]);
    assert!(!world.path("workspaces/Vault/storage").exists());

    let path = format!("{PROJECTS}/{id}/passages");
    for (query, reason) in
        [("?query=%20", "empty_query"), ("?query=a&limit=0", "bad_limit"), ("?query=a&limit=51", "bad_limit")]
    {
        assert_eq!(refused(&server.get(&format!("{path}{query}")).await), (400, reason.to_owned()), "{query}");
    }
    for path in ["passages?query=a", "notes", "mentions?path=a.md"] {
        assert_eq!(refused(&server.get(&format!("{PROJECTS}/none/{path}")).await).0, 404);
    }
    // What was indexed goes with the project.
    let caches = || std::fs::read_dir(world.path("storage/retrieval")).unwrap().flatten();
    let of_project = || caches().filter(|entry| entry.file_name().to_string_lossy().contains(&id)).count();
    assert!(of_project() > 0);
    server.delete(&format!("{PROJECTS}/{id}")).await.ok();
    assert_eq!(of_project(), 0);
    assert_eq!(refused(&server.get(&format!("{path}?query=a")).await).0, 404);
}

#[tokio::test]
async fn notes_are_found_by_alias_and_tag_and_know_their_links() {
    let world = World::new(script([])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let id = vault(&server, &world).await;
    let found = passages(&server, &id, "camellia brew").await;
    assert_eq!(paths(&found)[0], "Tea.md", "{found:#}");
    let tea = &found["results"][0];
    assert_eq!((&tea["tags"], &tea["linked_from"]), (&json!(["drink/hot", "plants"]), &json!(["places/Water.md"])));
    assert_eq!((&tea["links_to"], &tea["links_to_count"]), (&json!(["places/Water.md"]), &json!(1)));
    assert_eq!(paths(&passages(&server, &id, "zebra comment").await), Vec::<&str>::new());
    assert_eq!(paths(&passages(&server, &id, "#drink leaves").await), ["Tea.md", "places/Water.md"]);
    assert_eq!(paths(&passages(&server, &id, "tag:drink/hot kettle").await), ["Tea.md"]);
    assert_eq!(paths(&passages(&server, &id, "#none").await), Vec::<&str>::new());

    let notes = data(&server.get(&format!("{PROJECTS}/{id}/notes")).await);
    let tags = json!([{"tag": "drink", "notes": 1}, {"tag": "drink/hot", "notes": 1}, {"tag": "plants", "notes": 1}]);
    assert_eq!(notes["tags"], tags);
    assert_eq!(notes["notes"][0], json!({"path": "Tea.md", "aliases": ["Camellia brew"]}));
    assert_eq!(notes["files"], json!(["big.txt", "leaf.png", "raw.dat", "src/main.rs"]));
    let mentions = data(&server.get(&format!("{PROJECTS}/{id}/mentions?path=Tea.md")).await);
    let linked = json!([{"path": "places/Water.md", "line": 4, "text": "Boil it in a kettle. Back to [[tea]]."}]);
    let unlinked =
        json!([{"path": "places/Kettle.md", "line": 1, "text": "An iron kettle for Tea lasts long. See [[nowhere]]."}]);
    assert_eq!((&mentions["linked"], &mentions["unlinked"]), (&linked, &unlinked));
}

#[tokio::test]
async fn model_searches_a_project_by_meaning() {
    let by_meaning = |id: &str, more: Value| {
        let mut arguments = json!({"pattern": "how long are leaves steeped?", "meaning": true});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        call(id, "search_files", arguments)
    };
    let searches = [
        by_meaning("a", json!({})),
        by_meaning("b", json!({"path": "places"})),
        by_meaning("c", json!({"glob": "*.rs"})),
        by_meaning("d", json!({"path": "../.."})),
        by_meaning("e", json!({"path": "home:memory"})),
    ];
    let world = World::new(script([calls(searches), says(["Two minutes."])])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let id = vault(&server, &world).await;
    let made = data(&server.post("/api/conversations", json!({"title": "Work", "project_id": id})).await);
    let session = made["id"].as_str().unwrap();
    server.chat(session, "How long?").await;
    server.settled(session).await;
    let asked = world.asked().pop().unwrap();
    let results: Vec<&str> = asked["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert!(
        results[0].starts_with("[1] /Tea.md:1-7 (Steeping)\nlinked from /places/Water.md\nlinks to /places/Water.md\n"),
        "{}",
        results[0]
    );
    assert!(results[0].contains("two minutes") && !results[0].contains("zebra"), "{}", results[0]);
    assert!(
        !results[1].contains("/Tea.md:") && results[2].starts_with("[none of the project's 100 best"),
        "{results:#?}"
    );
    assert!(results[3].contains("may not climb") && results[4].contains("only the project"), "{results:#?}");
    assert!(!asked.to_string().contains(&id), "the model sees no id");
    let taint = &world.session(session)["taint"];
    assert!(taint.to_string().contains("output"), "{taint}");
}

async fn links(server: &Server<'_>, id: &str, [path, new_path]: [&str; 2]) -> Value {
    let query = format!("path={path}&new_path={new_path}").replace(' ', "%20");
    data(&server.get(&format!("{PROJECTS}/{id}/links?{query}")).await)
}

#[tokio::test]
async fn links_follow_a_renamed_note_when_a_person_asks() {
    let world = World::new(script([])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let id = vault(&server, &world).await;
    let read = |path: &str| world.read(&format!("workspaces/Vault/{path}"));
    let note = "[[Tea|a cup]] and ![[tea#Steeping]] or [it](../Tea.md#x)\n`[[Tea]]`\n```\n[[Tea]]\n```\n";
    world.write("workspaces/Vault/places/Cup.md", note);
    let former = [("places/Cup.md", note.to_owned()), ("places/Water.md", read("places/Water.md"))];
    let renamed = ["Tea.md", "drinks/Green tea.md"];
    assert_eq!(links(&server, &id, renamed).await, json!({"count": 4, "files": 2}), "before it is renamed");
    let body = json!({"path": renamed[0], "new_path": renamed[1]});
    let update = async || server.post(&format!("{PROJECTS}/{id}/links"), body.clone()).await;
    assert_eq!(refused(&update().await), (404, "not_found".to_owned()), "it has to be renamed first");

    let path = format!("{PROJECTS}/{id}/files/Tea.md");
    let json_type = [("Content-Type", "application/json")];
    let rename = json!({"new_path": renamed[1]}).to_string();
    let answer = data(&server.send("PATCH", &path, &json_type, rename.as_bytes()).await);
    assert_eq!((&answer["path"], &answer["links"]), (&json!(renamed[1]), &json!({"count": 4, "files": 2})));
    assert_eq!(read("places/Cup.md"), note, "nothing is written unasked");
    assert_eq!(links(&server, &id, renamed).await, json!({"count": 4, "files": 2}));

    let updated = data(&update().await);
    let files: Vec<_> =
        updated["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!((files, &updated["more"]), (vec!["places/Cup.md", "places/Water.md"], &json!(false)));
    let cup = "[[Green tea|a cup]] and ![[Green tea#Steeping]] or [it](../drinks/Green%20tea.md#x)\n\
        `[[Tea]]`\n```\n[[Tea]]\n```\n";
    assert_eq!(read("places/Cup.md"), cup);
    assert_eq!(read("places/Water.md"), former[1].1.replace("[[tea]]", "[[Green tea]]"));
    assert_eq!(links(&server, &id, renamed).await, json!({"count": 0, "files": 0}));
    let etag = data(&server.get(&format!("{PROJECTS}/{id}/files/places/Cup.md")).await)["etag"].clone();
    assert_eq!(updated["files"][0]["etag"], etag);
    assert_eq!(data(&update().await)["files"], json!([]), "a second time changes nothing");

    // Undone in all notes or in none.
    let undo = async || server.post(&format!("{PROJECTS}/{id}/links/undo"), updated.clone()).await;
    world.write("workspaces/Vault/places/Water.md", "Changed.\n");
    assert_eq!(refused(&undo().await), (412, "changed_on_disk".to_owned()));
    assert_eq!(read("places/Cup.md"), cup);
    world.write("workspaces/Vault/places/Water.md", former[1].1.replace("[[tea]]", "[[Green tea]]"));
    data(&undo().await);
    for (path, text) in former {
        assert_eq!(read(path), text);
    }
    for place in ["../Other/a.md", "/etc/passwd"] {
        let body = json!({"files": [{"path": place, "etag": "x", "links": []}]});
        let status = server.post(&format!("{PROJECTS}/{id}/links/undo"), body).await.status();
        assert!((400..410).contains(&status), "{place}: {status}");
    }
}

#[tokio::test]
async fn other_files_leave_room_for_unlinked_mentions() {
    let world = World::new(script([])).await;
    world.write("config.yml", CONFIG);
    let server = world.serve().await;
    let id = vault(&server, &world).await;
    world.write("workspaces/Vault/a.csv", "iron kettle\n".repeat(1_000));
    world.write("workspaces/Vault/iron kettle.md", "Iron kettle.\n".repeat(1_000));
    let mentions = data(&server.get(&format!("{PROJECTS}/{id}/mentions?path=iron%20kettle.md")).await);
    let kettle =
        json!([{"path": "places/Kettle.md", "line": 1, "text": "An iron kettle for Tea lasts long. See [[nowhere]]."}]);
    assert_eq!(mentions["unlinked"], kettle);
}
