//! Pictures that `read_file` reads in a project: kept with the session, sent to models with vision, described to others.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::pictures::{address, complete_png, hash, world};
use crate::script::{always, call, calls, says};
use crate::world::{Server, World};

const HEAD: &str = "[The pictures that the tools above have read; the user did not send them]";

fn reads(id: &str, paths: &[&str]) -> Value {
    let items: Vec<Value> = paths.iter().map(|path| json!({"path": path})).collect();
    call(id, "read_file", json!({"items": items}))
}

/// Creates a world whose model reads these files of the project at the first question and then only answers.
async fn reading(paths: &[&str]) -> World {
    world([calls([reads("r1", paths)]), always(says(["A cat."]))]).await
}

/// Creates a session that is bound to scratch/, and returns its id.
async fn bound(server: &Server<'_>) -> String {
    let made = server.post("/api/sessions", json!({"title": "Work", "project_id": "scratch"})).await.ok();
    made["id"].as_str().unwrap().to_owned()
}

async fn ask(server: &Server<'_>, id: &str, question: &str) -> Value {
    server.chat(id, question).await;
    server.settled(id).await
}

/// Returns the messages of the last request, without the system prompt.
fn sent(world: &World) -> Vec<Value> {
    world.asked().pop().unwrap()["messages"].as_array().unwrap()[1..].to_vec()
}

/// Returns the pictures in these messages, as the provider gets them.
fn seen(messages: &[Value]) -> Vec<String> {
    let parts = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    parts.filter_map(|part| part["image_url"]["url"].as_str().map(str::to_owned)).collect()
}

fn recorded(world: &World, id: &str) -> Value {
    world.session(id)["messages"][1]["tool_calls"][0].take()
}

#[tokio::test]
async fn read_picture_reaches_the_model_and_stays_the_same() {
    let world = reading(&["docs/a.png", "b.txt"]).await;
    let (cat, dog) = (complete_png(640, 480), complete_png(3, 2));
    world.write("scratch/docs/a.png", &cat);
    world.write("scratch/b.txt", "two\n");
    let server = world.serve().await;
    let id = bound(&server).await;
    ask(&server, &id, "What is in it?").await;
    let first = sent(&world);
    let facts = format!("/docs/a.png\npicture 640 × 480, image/png, {} bytes\n\n/b.txt\n1\ttwo", cat.len());
    assert_eq!(first[2], json!({"role": "tool", "tool_call_id": "r1", "content": facts}));
    let picture = json!({"type": "image_url", "image_url": {"url": address(&cat)}});
    let text = json!({"type": "text", "text": format!("{HEAD}\n[picture 1: /docs/a.png]")});
    assert_eq!(first[3..], [json!({"role": "user", "content": [text, picture]})]);
    let row = &recorded(&world, &id)["result"]["data"]["/docs/a.png"];
    let kept = json!({"media_type": "image/png", "hash": hash(&cat), "bytes": cat.len(), "width": 640, "height": 480});
    assert_eq!((&row["picture"], &row["file_size"]), (&kept, &json!(cat.len())));
    assert_eq!(world.session(&id)["taint"], json!([{"from": "output"}]));
    let file = format!("sessions/pictures/{id}/{}.png", hash(&cat));
    assert_eq!(std::fs::read(world.path(&file)).unwrap(), cat);
    assert!(!world.read(&format!("sessions/{id}.json")).contains(&STANDARD.encode(&cat)));

    world.write("scratch/docs/a.png", &dog);
    drop(server);
    let server = world.serve().await;
    ask(&server, &id, "And?").await;
    assert_eq!(sent(&world)[..first.len()], first, "the file has changed since, the request has not");
    let shown = server.get(&format!("/api/sessions/{id}/pictures/{}", hash(&cat))).await;
    assert_eq!((shown.status(), shown.head.header("content-type")), (200, Some("image/png")));

    server.put(&format!("/api/sessions/{id}/model"), json!({"model": "other/mock"})).await.ok();
    ask(&server, &id, "And you?").await;
    let blind = sent(&world);
    assert_eq!(seen(&blind), Vec::<String>::new());
    assert_eq!(blind[2]["content"], format!("{facts}\n[picture /docs/a.png: this model cannot see pictures]"));
    assert_eq!(blind[3]["role"], "assistant");
}

#[tokio::test]
async fn read_picture_is_shown_in_its_request_and_counted() {
    let world = reading(&["a.png"]).await;
    let cat = complete_png(750, 750);
    world.write("scratch/a.png", &cat);
    let server = world.serve().await;
    let id = bound(&server).await;
    ask(&server, &id, "What is in it?").await;
    let list = server.get(&format!("/api/sessions/{id}/requests")).await.ok();
    let name = list["requests"].as_array().unwrap().last().unwrap()["name"].as_str().unwrap().to_owned();
    let request = server.get(&format!("/api/sessions/{id}/requests/{name}")).await.ok();
    assert_eq!(request["body"], world.asked().pop().unwrap());
    let pieces = request["pieces"].as_array().unwrap();
    let of = |text: &str| pieces.iter().rfind(|piece| piece["text"].as_str().unwrap().contains(text)).unwrap();
    assert_eq!(of("What is in it?")["origin"], "question");
    let piece = of(&format!("picture:image/png;750x750;{}", hash(&cat)));
    assert_eq!(piece["origin"], "work");
    assert!(piece["tokens"].as_u64().unwrap() > 750, "{piece}");
    let tokens = server.get(&format!("/api/tokens/session/{id}")).await.ok();
    assert!(tokens["message_tokens"].as_u64().unwrap() > 750, "{tokens}");
    let checked = world.run(&["verify", "--home", world.home().to_str().unwrap()]).await;
    assert!(checked.status.success(), "{checked:?}");
}

#[tokio::test]
async fn withdrawn_work_sends_no_picture_until_it_is_reapplied() {
    let world = reading(&["a.png"]).await;
    let cat = complete_png(3, 2);
    world.write("scratch/a.png", &cat);
    let server = world.serve().await;
    let id = bound(&server).await;
    let work = ask(&server, &id, "What is in it?").await["messages"][1]["work_id"].as_str().unwrap().to_owned();
    let turn = async |verb: &str| {
        server.post(&format!("/api/sessions/{id}/works/{work}/{verb}"), json!({})).await.ok();
        ask(&server, &id, "And?").await;
        seen(&sent(&world))
    };
    assert_eq!(turn("withdraw").await, Vec::<String>::new());
    assert_eq!(turn("reapply").await, [address(&cat)]);
}

#[tokio::test]
async fn read_picture_survives_branch_export_and_restore() {
    let world = reading(&["a.png"]).await;
    let cat = complete_png(3, 2);
    world.write("scratch/a.png", &cat);
    let server = world.serve().await;
    let id = bound(&server).await;
    ask(&server, &id, "What is in it?").await;
    std::fs::remove_file(world.path("scratch/a.png")).unwrap();
    let sees = async |id: &str| {
        ask(&server, id, "And?").await;
        seen(&sent(&world))
    };
    let branch = json!({"message_id": world.session(&id)["messages"][1]["id"], "cut": "after"});
    let branched = server.post(&format!("/api/sessions/{id}/branch"), branch).await.ok();
    assert_eq!(sees(branched["id"].as_str().unwrap()).await, [address(&cat)]);

    let exported = server.get(&format!("/api/sessions/{id}/export?format=json")).await.ok();
    assert_eq!(exported["pictures"], json!({hash(&cat): STANDARD.encode(&cat)}));
    let imported = server.post("/api/sessions/import", exported).await.ok();
    assert_eq!(sees(imported["id"].as_str().unwrap()).await, [address(&cat)]);

    server.delete(&format!("/api/sessions/{id}")).await.ok();
    server.post(&format!("/api/sessions/{id}/restore"), json!({})).await.ok();
    assert_eq!(sees(&id).await, [address(&cat)]);
    server.delete(&format!("/api/sessions/{id}")).await.ok();
    server.delete(&format!("/api/sessions/deleted/{id}")).await.ok();
    let left = crate::world::files(&world.path("sessions"));
    assert!(!left.iter().any(|file| file.starts_with(world.path(&format!("sessions/pictures/{id}")))), "{left:?}");
}

#[tokio::test]
async fn missing_read_picture_is_named_and_session_goes_on() {
    let world = reading(&["a.png"]).await;
    let cat = complete_png(3, 2);
    world.write("scratch/a.png", &cat);
    let server = world.serve().await;
    let id = bound(&server).await;
    ask(&server, &id, "What is in it?").await;
    std::fs::remove_file(world.path(&format!("sessions/pictures/{id}/{}.png", hash(&cat)))).unwrap();
    ask(&server, &id, "And?").await;
    let told = format!("{HEAD}\n[picture 1: /a.png: its file is missing or is not what was sent]");
    assert_eq!(sent(&world)[3], json!({"role": "user", "content": told}));
}

#[tokio::test]
async fn hostile_picture_of_a_project_is_refused_and_not_kept() {
    let world = reading(&["cut.png", "bomb.png", "large.png", "a.svg", "link.png"]).await;
    let png = complete_png(3, 2);
    world.write("scratch/cut.png", &png[..png.len() - 4]);
    world.write("scratch/bomb.png", complete_png(60_000, 60_000));
    world.write("scratch/large.png", [png.as_slice(), &vec![0; 3 << 19]].concat());
    world.write("scratch/a.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>\n");
    world.write("outside.png", &png);
    std::os::unix::fs::symlink(world.path("outside.png"), world.path("scratch/link.png")).unwrap();
    let server = world.serve().await;
    let id = bound(&server).await;
    ask(&server, &id, "What is in them?").await;
    let call = recorded(&world, &id);
    let told: Vec<&str> = call["output"].as_str().unwrap().split("\n\n").collect();
    assert_eq!(told[0], "cut.png: it begins like a picture, but it is damaged or incomplete");
    assert!(told[1].starts_with("bomb.png: it is a picture of 60000 × 60000 pixels"), "{}", told[1]);
    assert!(told[2].starts_with("large.png: it is a picture of 1,572,922 bytes"), "{}", told[2]);
    assert_eq!(told[3], "/a.svg\n1\t<svg xmlns='http://www.w3.org/2000/svg'/>");
    assert!(told[4].starts_with("link.png: ") && told[4].contains("leads out"), "{}", told[4]);
    assert_eq!(seen(&sent(&world)), Vec::<String>::new());
    assert!(!world.path("sessions/pictures").exists());
}
