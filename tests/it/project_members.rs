//! Projects that people of one server share: invitations, roles on every path, one file tree, and what ends with a role.

use std::fs;

use miniclaw::domain::UidRange;
use miniclaw::sandbox::{Level, Sandbox, SandboxConfig};
use serde_json::{Value, json};

use crate::command_changes::bash;
use crate::conversations::{data, refused};
use crate::http::Answer;
use crate::people::{Person, SECRET, admin, ask, get, joined, signed_in, world};
use crate::script::{always, call, calls, says, script};
use crate::world::{CONFIG, Server, World, eventually};

struct Shared {
    id: String,
    ann: Person,
    bob: Person,
    /// Nothing is shared with this person.
    carol: Person,
}

async fn people(server: &Server<'_>) -> Shared {
    let ada = admin(server).await;
    let (ann, bob) = (joined(server, &ada, "Ann").await, joined(server, &ada, "Bob").await);
    let carol = joined(server, &ada, "Carol").await;
    get(server, &carol, "/api/projects").await.ok();
    let made = data(&ask(server, &ann, ("POST", "/api/projects"), json!({"name": "Tea"})).await);
    let id = made["id"].as_str().unwrap().to_owned();
    assert_eq!((&made["role"], &made["owner"]), (&json!("owner"), &json!("Ann")));
    ask(server, &ann, ("PUT", &format!("/api/projects/{id}/files/a.txt")), json!({"content": "one\n"})).await.ok();
    Shared { id, ann, bob, carol }
}

impl Shared {
    fn path(&self, below: &str) -> String {
        format!("/api/projects/{}{below}", self.id)
    }

    async fn invite(&self, server: &Server<'_>, name: &str, role: &str) -> Answer {
        let path = self.path(&format!("/members/{name}"));
        ask(server, &self.ann, ("PUT", &path), json!({"role": role})).await
    }

    /// Makes Bob a member.
    async fn with_bob(&self, server: &Server<'_>, role: &str) {
        data(&self.invite(server, "bob", role).await);
        let path = format!("/api/projects/invitations/{}", self.id);
        data(&ask(server, &self.bob, ("POST", &path), json!({})).await);
    }

    async fn read(&self, server: &Server<'_>, person: &Person) -> Answer {
        get(server, person, &self.path("/files/a.txt")).await
    }

    async fn write(&self, server: &Server<'_>, person: &Person, content: &str) -> Answer {
        ask(server, person, ("PUT", &self.path("/files/a.txt")), json!({"content": content})).await
    }

    async fn remove(&self, server: &Server<'_>, by: &Person, name: &str) -> Answer {
        ask(server, by, ("DELETE", &self.path(&format!("/members/{name}"))), json!({})).await
    }
}

#[tokio::test]
async fn invited_person_uses_a_project_after_accepting() {
    let world = world("").await;
    let server = world.serve().await;
    let shared = people(&server).await;
    let Shared { ann, bob, carol, .. } = &shared;
    let known = data(&shared.invite(&server, "bob", "editor").await);
    let mut unknown = data(&shared.invite(&server, "nobody", "editor").await);
    assert_eq!((&known["state"], &known["username"]), (&json!("invited"), &json!("bob")));
    unknown["username"] = "bob".into();
    unknown["since"] = known["since"].clone();
    assert_eq!(unknown, known, "a name that nobody has gets the same answer");
    assert_eq!(refused(&shared.invite(&server, "ANN", "editor").await), (400, "own_name".to_owned()));
    assert_eq!(refused(&shared.read(&server, bob).await).0, 404, "nothing before he accepts");
    let waiting = data(&get(&server, bob, "/api/projects/invitations").await)["items"].clone();
    assert_eq!((&waiting[0]["project_id"], &waiting[0]["name"]), (&json!(shared.id), &json!("Tea")));
    assert_eq!((&waiting[0]["owner"], &waiting[0]["role"]), (&json!("Ann"), &json!("editor")));
    let invitation = format!("/api/projects/invitations/{}", shared.id);
    let stolen = ask(&server, carol, ("POST", &invitation), json!({})).await;
    assert_eq!(refused(&stolen), (404, "no_invitation".to_owned()));
    data(&ask(&server, bob, ("POST", &invitation), json!({})).await);

    assert_eq!(data(&shared.read(&server, bob).await)["content"], "one\n");
    let listed = data(&get(&server, bob, "/api/projects").await)["items"].clone();
    assert_eq!(
        (&listed[0]["id"], &listed[0]["role"], &listed[0]["owner"]),
        (&json!(shared.id), &json!("editor"), &json!("Ann"))
    );
    let members = data(&get(&server, bob, &shared.path("/members")).await);
    assert_eq!((&members["role"], &members["owner"]), (&json!("editor"), &json!("Ann")));
    assert_eq!(
        (&members["members"][1]["username"], &members["members"][1]["state"]),
        (&json!("Bob"), &json!("member"))
    );
    data(&shared.write(&server, bob, "two\n").await);
    assert_eq!(data(&shared.read(&server, ann).await)["content"], "two\n", "there is one file tree");
    data(&ask(&server, ann, ("PUT", &shared.path("")), json!({"name": "Coffee"})).await);
    assert_eq!(data(&get(&server, bob, &shared.path("")).await)["name"], "Coffee");

    drop(server);
    let server = world.serve().await;
    assert_eq!(data(&shared.read(&server, bob).await)["content"], "two\n", "it outlives a restart");
    data(&shared.remove(&server, bob, "Bob").await);
    assert_eq!(refused(&shared.read(&server, bob).await).0, 404, "he has left");
    data(&shared.invite(&server, "Bob", "viewer").await);
    data(&ask(&server, bob, ("DELETE", &invitation), json!({})).await);
    assert_eq!(refused(&ask(&server, bob, ("POST", &invitation), json!({})).await).1, "no_invitation", "declined");
    let audit = world.read("audit.jsonl");
    for event in ["member_set", "member_removed", "project_joined", "project_declined"] {
        assert!(audit.contains(event), "{event}");
    }
    assert!(!audit.contains("nobody"), "a name that nobody has is not in the log");
}

/// Every route that changes something of a project, with a body that it accepts.
fn changes() -> Vec<(&'static str, &'static str, Value)> {
    let paths = json!({"paths": ["a.txt"]});
    vec![
        ("PUT", "", json!({"name": "Stolen"})),
        ("DELETE", "", json!({})),
        ("POST", "/restore", json!({})),
        ("POST", "/files", json!({})),
        ("PUT", "/files/{*filepath}", json!({"content": "x"})),
        ("PATCH", "/files/{*filepath}", json!({"new_path": "b.txt"})),
        ("DELETE", "/files/{*filepath}", json!({})),
        ("POST", "/directories", json!({"path": "new"})),
        ("POST", "/links", json!({"path": "b.txt", "new_path": "a.txt"})),
        ("POST", "/links/undo", json!({"files": []})),
        ("PUT", "/secrets/{name}", json!({"value": "12345678"})),
        ("DELETE", "/secrets/{name}", json!({})),
        ("PUT", "/members/{username}", json!({"role": "viewer"})),
        ("DELETE", "/members/{username}", json!({})),
        ("POST", "/git/init", json!({})),
        ("POST", "/git/stage", paths.clone()),
        ("POST", "/git/unstage", paths.clone()),
        ("POST", "/git/discard", paths),
        ("POST", "/git/undo-discard", json!({"files": [{"path": "a.txt", "trash": null}]})),
        ("POST", "/git/commit", json!({"message": "m", "author": {"name": "B", "email": "b@x"}})),
        ("POST", "/git/branches", json!({"name": "b", "switch": false})),
        ("POST", "/git/switch", json!({"name": "b"})),
    ]
}

/// Routes that change nothing, although their questions are sent by POST.
const READING_POSTS: [&str; 1] = ["/search"];

/// Sends a change as the route takes it: files come as a form, everything else is JSON.
async fn change(server: &Server<'_>, person: &Person, (method, path): (&str, &str), body: Value) -> Answer {
    if !path.ends_with("/files") {
        return ask(server, person, (method, path), body).await;
    }
    let form = "--x\r\nContent-Disposition: form-data; name=\"files\"; filename=\"new.txt\"\r\n\r\nnew\r\n--x--\r\n";
    let bearer = format!("Bearer {}", person.token);
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", "multipart/form-data; boundary=x")];
    server.send(method, path, &headers, form.as_bytes()).await
}

#[tokio::test]
async fn roles_hold_on_every_route_of_a_project() {
    let world = world("").await;
    let server = world.serve().await;
    let shared = people(&server).await;
    shared.with_bob(&server, "viewer").await;
    let document = get(&server, &shared.bob, "/api/openapi.json").await.ok();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        let Some(below) = path.strip_prefix("/api/projects/{id}") else { continue };
        routes.extend(methods.as_object().unwrap().keys().map(|method| (method.to_uppercase(), below.to_owned())));
    }
    assert!(routes.len() > 30, "{routes:?}");
    let fill = |below: &str| {
        let below = below.replace("{*filepath}", "a.txt").replace("{name}", "API_TOKEN").replace("{username}", "Carol");
        shared.path(&below)
    };
    for (method, below) in &routes {
        let known = changes().into_iter().find(|(verb, path, _)| verb == method && path == below);
        if method == "GET" {
            let asked = format!("{}?query=one&q=one&path=a.txt&new_path=b.txt", fill(below));
            let answer = get(&server, &shared.carol, &asked).await;
            assert_eq!(answer.status(), 404, "a stranger: {method} {below}: {}", answer.text());
            if below == "/find" {
                let viewer = data(&get(&server, &shared.bob, &format!("{}?q=A.TXT", fill(below))).await);
                assert_eq!(viewer["items"], json!([{"name": "a.txt", "path": "a.txt"}]));
            }
            continue;
        }
        if READING_POSTS.contains(&below.as_str()) {
            let asked = ("POST", fill(below));
            let stranger = ask(&server, &shared.carol, (asked.0, &asked.1), json!({"query": "one"})).await;
            assert_eq!(stranger.status(), 404, "a stranger: {method} {below}: {}", stranger.text());
            let viewer = ask(&server, &shared.bob, (asked.0, &asked.1), json!({"query": "one"})).await;
            assert_eq!(viewer.status(), 200, "a viewer: {method} {below}: {}", viewer.text());
            continue;
        }
        let (_, _, body) = known.unwrap_or_else(|| panic!("{method} {below} is not in the list of changes"));
        let stranger = change(&server, &shared.carol, (method, &fill(below)), body.clone()).await;
        assert_eq!(stranger.status(), 404, "a stranger: {method} {below}: {}", stranger.text());
        let viewer = change(&server, &shared.bob, (method, &fill(below)), body).await;
        let (status, reason) = refused(&viewer);
        assert_eq!(status, 403, "a viewer: {method} {below}: {}", viewer.text());
        assert!(matches!(reason.as_str(), "read_only" | "owner_only"), "{method} {below}: {reason}");
    }
    // By the paths of files, too.
    let file = format!("project/{}/a.txt", shared.id);
    let save = ask(&server, &shared.bob, ("POST", "/api/files"), json!({"path": file, "content": "x"})).await;
    assert_eq!((save.status(), save.json()["code"].clone()), (403, json!("read_only")));
    assert_eq!(data(&shared.read(&server, &shared.bob).await)["content"], "one\n");

    shared.with_role(&server, "editor").await;
    for (method, below, body) in changes().into_iter().take(3) {
        let answer = ask(&server, &shared.bob, (method, &shared.path(below)), body).await;
        assert_eq!(refused(&answer), (403, "owner_only".to_owned()), "an editor: {method} {below}");
    }
    data(&shared.write(&server, &shared.bob, "two\n").await);
    let token =
        data(&ask(&server, &shared.ann, ("POST", "/api/auth/tokens"), json!({"name": "t"})).await)["token"].clone();
    let with_token =
        Person { id: shared.ann.id.clone(), token: token.as_str().unwrap().to_owned(), cookie: String::new() };
    let by_token = ask(&server, &with_token, ("PUT", &shared.path("/members/Carol")), json!({"role": "viewer"})).await;
    assert_eq!(refused(&by_token), (403, "not_allowed".to_owned()), "members are administered with a sign-in");
    data(&shared.write(&server, &with_token, "three\n").await);
}

impl Shared {
    async fn with_role(&self, server: &Server<'_>, role: &str) {
        assert_eq!(data(&self.invite(server, "bob", role).await)["state"], "member");
    }
}

#[tokio::test]
async fn two_members_lose_no_update_and_learn_of_changes() {
    let world = world("").await;
    let server = world.serve().await;
    let shared = people(&server).await;
    shared.with_bob(&server, "editor").await;
    let etag = data(&shared.read(&server, &shared.bob).await)["etag"].as_str().unwrap().to_owned();
    let mut events = server.follow_with("/api/events", &[("Cookie", &shared.bob.cookie)]).await;
    events.until("hello").await;
    let save = async |person: &Person, content: &str| {
        let bearer = format!("Bearer {}", person.token);
        let headers =
            [("Authorization", bearer.as_str()), ("Content-Type", "application/json"), ("If-Match", etag.as_str())];
        let body = json!({"content": content}).to_string();
        server.send("PUT", &shared.path("/files/a.txt"), &headers, body.as_bytes()).await.status()
    };
    let mut saved = [save(&shared.ann, "hers\n").await, save(&shared.bob, "his\n").await];
    assert_eq!(saved, [200, 412]);
    assert_eq!(data(&shared.read(&server, &shared.bob).await)["content"], "hers\n");
    let told = events.until("file_changed").await;
    assert!(format!("{told:?}").contains(&shared.id), "{told:?}");
    // At once: one of both is refused, in each round.
    for _ in 0..10 {
        let etag = data(&shared.read(&server, &shared.ann).await)["etag"].as_str().unwrap().to_owned();
        let at_once = async |person: &Person, content: &str| {
            let bearer = format!("Bearer {}", person.token);
            let headers =
                [("Authorization", bearer.as_str()), ("Content-Type", "application/json"), ("If-Match", etag.as_str())];
            let body = json!({"content": format!("{content} {etag}\n")}).to_string();
            server.send("PUT", &shared.path("/files/a.txt"), &headers, body.as_bytes()).await.status()
        };
        let (hers, his) = tokio::join!(at_once(&shared.ann, "hers"), at_once(&shared.bob, "his"));
        saved = [hers, his];
        saved.sort_unstable();
        assert_eq!(saved, [200, 412]);
    }
}

#[tokio::test]
async fn forged_list_grants_nothing_and_damaged_one_closes() {
    let world = world("").await;
    let server = world.serve().await;
    let shared = people(&server).await;
    shared.with_bob(&server, "viewer").await;
    let forged = json!({"projects": [
        {"id": shared.id, "name": "Mine", "path": "Tea", "created_at": 1.0, "updated_at": 1.0},
        {"id": "other", "name": "Up", "path": format!("../../{}/workspaces/Tea", shared.ann.id), "created_at": 1.0,
         "updated_at": 1.0},
    ]});
    drop(server);
    for person in [&shared.bob, &shared.carol] {
        let home = world.path(&format!("people/{}", person.id));
        fs::create_dir_all(home.join("workspaces/Tea")).unwrap();
        fs::write(home.join("workspaces/Tea/a.txt"), "own\n").unwrap();
        fs::write(home.join("projects.json"), forged.to_string()).unwrap();
    }
    let server = world.serve().await;
    assert_eq!(refused(&shared.write(&server, &shared.bob, "x").await), (403, "read_only".to_owned()));
    assert_eq!(data(&shared.read(&server, &shared.carol).await)["content"], "own\n", "only her own folder has the id");
    let hers = ask(&server, &shared.carol, ("PUT", &shared.path("/members/Bob")), json!({"role": "editor"})).await;
    assert_eq!(refused(&hers), (404, "no_member".to_owned()), "she does not share what is Ann's");
    assert_eq!(refused(&get(&server, &shared.carol, "/api/projects/other/files").await).0, 404);
    assert_eq!(data(&shared.read(&server, &shared.ann).await)["content"], "one\n");

    drop(server);
    let kept = world.read("project-members.json");
    fs::write(world.path("project-members.json"), "{").unwrap();
    let server = world.serve().await;
    let bob = signed_in(&server, "bob").await;
    assert_eq!(data(&shared.read(&server, &bob).await)["content"], "own\n", "nobody is a member");
    assert_eq!(refused(&shared.invite(&server, "Carol", "viewer").await), (503, "members_damaged".to_owned()));
    assert_eq!(world.read("project-members.json"), "{", "it is left for a person to correct");
    drop(server);
    fs::write(world.path("project-members.json"), kept).unwrap();
    let server = world.serve().await;
    assert_eq!(refused(&shared.write(&server, &shared.bob, "x").await), (403, "read_only".to_owned()));
    data(&ask(&server, &shared.ann, ("DELETE", &shared.path("")), json!({})).await);
    assert_eq!(data(&shared.read(&server, &shared.bob).await)["content"], "own\n", "the owner has deleted it");
    data(&ask(&server, &shared.ann, ("POST", &shared.path("/restore")), json!({})).await);
    assert_eq!(data(&shared.read(&server, &shared.bob).await)["content"], "one\n", "and restored it");
}

#[tokio::test]
async fn single_server_has_no_members() {
    let world = World::new(script([always(says(["Fine."]))])).await;
    let server = world.serve().await;
    let made = data(&server.post("/api/projects", json!({"name": "Tea"})).await);
    assert_eq!((&made["role"], &made["owner"]), (&json!("owner"), &json!("default")));
    let path = format!("/api/projects/{}/members", made["id"].as_str().unwrap());
    assert_eq!(refused(&server.get(&path).await), (409, "single_mode".to_owned()));
    assert_eq!(refused(&server.get("/api/projects/invitations").await), (409, "single_mode".to_owned()));
}

/// Creates the world of a server whose model makes these calls, each when a message has its word.
async fn working(level: Level, made: Vec<(&str, Vec<Value>)>) -> World {
    let to = |word: &str, reply: Value| json!({"match": word, "steps": reply["steps"]});
    let replies = made.into_iter().flat_map(|(word, made)| {
        let made: Vec<Value> = made.into_iter().map(|one| to(word, calls([one]))).collect();
        made.into_iter().chain([to(word, says(["Done."]))]).collect::<Vec<_>>()
    });
    let world = World::new(script(replies)).await.with_env("MINICLAW_JWT_SECRET", SECRET);
    world.with_file("config.yml", &format!("auth_mode: multi\n{CONFIG}sandbox: {}\n", level.name()))
}

async fn bound(server: &Server<'_>, person: &Person, project: &str) -> String {
    let body = json!({"title": "Work", "project_id": project});
    ask(server, person, ("POST", "/api/sessions"), body).await.ok()["id"].as_str().unwrap().to_owned()
}

async fn says_to(server: &Server<'_>, person: &Person, (session, word): (&str, &str)) {
    ask(server, person, ("POST", "/api/chat"), json!({"message": word, "session_id": session})).await;
    let history = format!("/api/sessions/{session}/history");
    eventually("the work settles", async || get(server, person, &history).await.ok()["running"].is_null()).await;
}

fn levels() -> Vec<Level> {
    let can = |level: &Level| Sandbox::new(SandboxConfig::new(*level)).person_obstacle(UidRange::DEFAULT).is_none();
    [Level::Standard, Level::Strict].into_iter().filter(can).collect()
}

#[tokio::test]
async fn command_of_a_member_keeps_the_owner_of_files() {
    use std::os::unix::fs::MetadataExt;
    const LOOK: &str = "id -u > who; cat a.txt; echo his > his.txt; echo more >> a.txt; ls -n a.txt; \
                        ls .. ../.. ../../.. 2>&1; cat ../secret/s.txt ../../memory/* 2>&1; echo end";
    for level in levels() {
        let world =
            working(level, vec![("go-bob", vec![bash("b", LOOK)]), ("go-ann", vec![bash("a", "cat his.txt; rm who")])])
                .await;
        let server = world.serve().await;
        let shared = people(&server).await;
        shared.with_bob(&server, "editor").await;
        let secret = data(&ask(&server, &shared.ann, ("POST", "/api/projects"), json!({"name": "secret"})).await);
        let path = format!("/api/projects/{}/files/s.txt", secret["id"].as_str().unwrap());
        ask(&server, &shared.ann, ("PUT", &path), json!({"content": "quetzal"})).await.ok();
        let session = bound(&server, &shared.bob, &shared.id).await;
        says_to(&server, &shared.bob, (&session, "go-bob")).await;
        let operations = get(&server, &shared.bob, &format!("/api/sessions/{session}/history")).await.text();
        assert!(operations.contains("end") && !operations.contains("quetzal"), "{level:?}: {operations}");
        let book: Value = serde_json::from_str(&world.read("accounts.json")).unwrap();
        let uid = |name: &str| {
            let all = book["accounts"].as_array().unwrap();
            all.iter().find(|account| account["username"] == name).unwrap()["uid"].as_u64().unwrap()
        };
        let folder = world.path(&format!("people/{}/workspaces/Tea", shared.ann.id));
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert_eq!(read("who").trim(), uid("Bob").to_string(), "{level:?}: it runs as his user: {operations}");
        assert_eq!((read("his.txt").as_str(), read("a.txt").as_str()), ("his\n", "one\nmore\n"), "{level:?}");
        for name in ["", "who", "his.txt", "a.txt"] {
            let meta = folder.join(name).metadata().unwrap();
            assert_eq!((u64::from(meta.uid()), u64::from(meta.gid())), (uid("Ann"), uid("Ann")), "{level:?}: {name:?}");
        }
        let undo = async || {
            let path = format!("/api/sessions/{session}/operations/b/undo");
            ask(&server, &shared.bob, ("POST", &path), json!({})).await
        };
        shared.with_role(&server, "viewer").await;
        let refusal = undo().await;
        assert_eq!((refusal.status(), refusal.json()["code"].clone()), (403, json!("read_only")), "{}", refusal.text());
        shared.with_role(&server, "editor").await;
        undo().await.ok();
        assert_eq!((read("his.txt").as_str(), read("a.txt").as_str()), ("", "one\n"), "{level:?}: undone by him");
        undo().await.ok();
        assert_eq!(read("his.txt"), "his\n", "{level:?}: and done again");
        data(&shared.write(&server, &shared.bob, "three\n").await);
        assert_eq!(
            u64::from(folder.join("a.txt").metadata().unwrap().uid()),
            uid("Ann"),
            "{level:?}: the server writes"
        );
        data(&ask(&server, &shared.bob, ("POST", &shared.path("/git/init")), json!({})).await);
        data(&ask(&server, &shared.bob, ("POST", &shared.path("/git/stage")), json!({})).await);
        assert_eq!(u64::from(folder.join(".git/index").metadata().unwrap().uid()), uid("Ann"), "{level:?}: git");
        shared.with_role(&server, "viewer").await;
        let status = data(&get(&server, &shared.bob, &shared.path("/git")).await);
        assert_eq!(status["is_repository"], true, "{level:?}: a viewer reads the state of git");
        let hers = bound(&server, &shared.ann, &shared.id).await;
        says_to(&server, &shared.ann, (&hers, "go-ann")).await;
        assert!(!folder.join("who").exists(), "{level:?}: she goes on with his files");
    }
}

#[tokio::test]
async fn run_and_job_of_a_removed_member_end_at_once() {
    for level in levels() {
        let time = format!("93{}.{}", std::process::id(), level.name().len());
        let job = call(
            "j",
            "bash",
            json!({"commands": [{"instruction": format!("sleep {time}")}], "background": true, "timeout": 600}),
        );
        let late = format!("sleep {time}1; echo late > late.txt");
        let world = working(level, vec![("go-job", vec![job]), ("go-late", vec![bash("l", &late)])]).await;
        let server = world.serve().await;
        let shared = people(&server).await;
        shared.with_bob(&server, "editor").await;
        let (one, two) = (bound(&server, &shared.bob, &shared.id).await, bound(&server, &shared.bob, &shared.id).await);
        says_to(&server, &shared.bob, (&one, "go-job")).await;
        let body = json!({"message": "go-late", "session_id": two});
        let bearer = format!("Bearer {}", shared.bob.token);
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let request = server.request("POST", "/api/chat", &headers, body.to_string().as_bytes());
        let _running = crate::http::open(server.address, &request).await;
        let sleeping = || {
            let lines = fs::read_dir("/proc")
                .unwrap()
                .flatten()
                .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
            lines.filter(|line| String::from_utf8_lossy(line).starts_with(&format!("sleep\0{time}"))).count()
        };
        eventually("both run", async || sleeping() == 2).await;
        data(&shared.remove(&server, &shared.ann, "Bob").await);
        eventually("both end", async || sleeping() == 0).await;
        let history = format!("/api/sessions/{two}/history");
        eventually("the run ends", async || get(&server, &shared.bob, &history).await.ok()["running"].is_null()).await;
        assert!(!world.path(&format!("people/{}/workspaces/Tea/late.txt", shared.ann.id)).exists(), "{level:?}");
        assert_eq!(refused(&shared.read(&server, &shared.bob).await).0, 404);
        assert_eq!(get(&server, &shared.bob, &history).await.status(), 200, "the conversation stays his");
    }
}
