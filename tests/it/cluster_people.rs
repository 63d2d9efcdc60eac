//! Several people on several servers with one database.

use serde_json::{Value, json};

use crate::cluster_world::{Cluster, Network};
use crate::http::{Answer, open};
use crate::people::{self, Person, ask, follow, get, joined, login, register, setup_code, signed_in, status_of};
use crate::postgres_people::{say, use_home};
use crate::script::{always, says, script};
use crate::socket_client::Socket;
use crate::world::{CONFIG, Server, eventually};

/// Returns a cluster of several people; its model answers messages with `slow` slowly.
async fn cluster_of_people(servers: usize) -> Option<Cluster> {
    let settings = format!("auth_mode: multi\njwt_secret: {}\n{CONFIG}", people::SECRET);
    let slow = json!({"match": "slow", "repeat": true, "steps": [
        {"tokens": {"count": 3000, "per_second": 20.0, "text": "w{n} "}}, {"finish": "stop"}]});
    Cluster::new(servers, (&settings, Network::Direct), |_| script([slow, always(says(["Fine."]))])).await
}

/// Makes the first account at `server`, with the code that `printer` has printed.
pub async fn first_account(server: &Server<'_>, printer: &Server<'_>) -> Person {
    let code = setup_code(printer.world).await;
    let made = register(server, "Ada", json!({"setup_code": code})).await.ok();
    assert_eq!(made["data"]["role"], "admin");
    signed_in(server, "ada").await
}

/// Returns the number of the server that has the home of a person; the owner is looked for in the database.
pub async fn server_of(cluster: &Cluster, person: &Person) -> Option<usize> {
    let sql = format!(
        "SELECT address FROM servers JOIN homes ON owner = server_id WHERE NOT dead AND account = '{}'",
        person.id
    );
    let address = cluster.ask(&sql).await.into_iter().next()?;
    cluster.members.iter().position(|member| address == format!("http://{}", member.address))
}

pub async fn fence_of(cluster: &Cluster, person: &Person) -> String {
    cluster.ask(&format!("SELECT fence::text FROM homes WHERE account = '{}'", person.id)).await.remove(0)
}

pub async fn history(server: &Server<'_>, person: &Person) -> Value {
    let mut history = Value::Null;
    eventually("the home is somewhere", async || {
        let answer = get(server, person, "/api/sessions/s/history").await;
        let is_there = answer.status() == 200;
        if is_there {
            history = answer.json();
        } else {
            assert_eq!(answer.status(), 503, "{}", answer.text());
        }
        is_there
    })
    .await;
    history
}

async fn change(server: &Server<'_>, admin: &Person, person: &Person, change: Value) -> Answer {
    ask(server, admin, ("PATCH", &format!("/api/admin/people/{}", person.id)), change).await
}

#[tokio::test]
async fn cluster_people_use_any_server_and_sign_out_of_all() {
    let Some(cluster) = cluster_of_people(3).await else { return };
    let servers = [cluster.serve(0).await, cluster.serve(1).await, cluster.serve(2).await];
    let [a, b, c] = &servers;
    let ada = first_account(b, a).await;
    let bob = joined(c, &ada, "Bob").await;
    use_home(a, &bob, "bob").await;
    for server in &servers {
        assert_eq!(server.get("/api/auth/mode").await.ok()["data"]["has_accounts"], true);
        assert_eq!(get(server, &bob, "/api/auth/profile").await.ok()["data"]["username"], "Bob");
        assert_eq!(history(server, &bob).await["messages"][0]["content"], "bob asks");
        assert!(!get(server, &ada, "/api/sessions").await.text().contains("bob"), "another home");
        assert_eq!(server.get("/api/sessions").await.status(), 401);
        assert_eq!(login(server, "bob", "wrong password").await.status(), 401);
    }
    // The owners of both homes are looked up together, and not mixed up.
    let asked = servers.iter().flat_map(|server| [(server, &ada), (server, &bob)]).cycle().take(24);
    let lists =
        asked.map(async |(server, person)| (person.id == bob.id, get(server, person, "/api/sessions").await.ok()));
    for (is_bob, list) in futures_util::future::join_all(lists).await {
        assert_eq!(list["sessions"].as_array().unwrap().len(), usize::from(is_bob), "{list}");
    }
    let token = ask(c, &bob, ("POST", "/api/auth/tokens"), json!({"name": "backup", "scope": "read"})).await.ok();
    let token = token["data"]["token"].as_str().unwrap().to_owned();
    for server in &servers {
        assert_eq!(status_of(server, &token).await, 200, "a token that was just made counts everywhere");
    }
    // The end of a sign-in holds on all servers once it is answered, and ends streams wherever they are.
    let second = signed_in(a, "bob").await;
    let mut streams = Vec::new();
    for server in &servers {
        streams.push(follow(server, &second).await);
    }
    ask(c, &second, ("POST", "/api/auth/logout"), json!({})).await.ok();
    for server in &servers {
        assert_eq!(status_of(server, &second.token).await, 401);
        assert_eq!(status_of(server, &bob.token).await, 200, "the other sign-in goes on");
    }
    for stream in streams {
        stream.rest().await;
    }
    ask(b, &bob, ("POST", "/api/auth/logout-everywhere"), json!({})).await.ok();
    for server in &servers {
        assert_eq!(status_of(server, &bob.token).await, 401);
    }
    let log = get(a, &ada, "/api/admin/audit").await.text();
    assert!(log.contains("sign_out_everywhere") && log.contains("token_made"), "one log for all servers: {log}");
    let settings = get(a, &ada, "/api/settings").await;
    assert_eq!(settings.status(), 200, "{}", settings.text());
}

/// More homes wait for the database than the server has connections to it.
#[tokio::test]
async fn cluster_tokens_flow_while_all_connections_are_busy() {
    const CONNECTIONS: i64 = 16;
    let Some(cluster) = cluster_of_people(1).await else { return };
    let server = cluster.serve(0).await;
    let ada = first_account(&server, &server).await;
    let mut people = Vec::new();
    for number in 0..CONNECTIONS + 2 {
        people.push(joined(&server, &ada, &format!("Person{number}")).await);
        get(&server, people.last().unwrap(), "/api/sessions").await.ok();
    }
    ask(&server, &ada, ("POST", "/api/sessions/s/messages"), json!({"message": "a slow answer"})).await.ok();
    let bearer = format!("Bearer {}", ada.token);
    let events = "/api/sessions/s/events?until=settled";
    let mut stream = server.follow_with(events, &[("Authorization", &bearer)]).await;
    stream.until("token").await;
    let fences = "SELECT string_agg(fence::text, ' ' ORDER BY home_id) FROM homes";
    let before = cluster.ask(fences).await;
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    let held = cluster.database.hold("LOCK TABLE facts IN SHARE MODE").await;
    let question = json!({"message": "a question"});
    let say = |person| ask(&server, person, ("POST", "/api/sessions/s/messages"), question.clone());
    let said = futures_util::future::join_all(people.iter().map(say));
    let meanwhile = async {
        let all_wait = async || cluster.database.number(waiting).await == CONNECTIONS;
        eventually("all connections wait", async || cluster.was_late() || all_wait().await).await;
        let mut tokens = 0;
        while tokens < 60
            && let Some(frame) = stream.next().await
        {
            tokens += usize::from(frame.is("token"));
        }
        let still_wait = all_wait().await;
        drop(held);
        assert!(cluster.was_late() || (tokens == 60 && still_wait), "{tokens} came, {still_wait}");
    };
    let answers = tokio::join!(said, meanwhile).0;
    // A machine so busy that the server has given its homes up shows nothing.
    if cluster.was_late() {
        return;
    }
    answers.iter().for_each(|answer| drop(answer.ok()));
    for person in &people {
        eventually("the question is answered", async || {
            history(&server, person).await["messages"][1]["content"] == "Fine."
        })
        .await;
    }
    assert_eq!(cluster.ask(fences).await, before, "no home has moved");
}

/// A client that can set no header says who it is in its first frame, and may do so at any server.
#[tokio::test]
async fn cluster_socket_greets_any_server_and_reaches_its_home() {
    let Some(cluster) = cluster_of_people(2).await else { return };
    let servers = [cluster.serve(0).await, cluster.serve(1).await];
    let [a, b] = &servers;
    let ada = first_account(a, a).await;
    use_home(a, &ada, "ada").await;
    assert_eq!(server_of(&cluster, &ada).await, Some(0));
    let greeting = |token: &str| json!({"type": "HELLO", "data": {"token": token, "secret": "0".repeat(64)}});

    let mut nobody = Socket::open_with(b, "?session_id=s", &[]).await.expect("it may say who it is");
    nobody.send(greeting("wrong")).await;
    assert_eq!(nobody.next().await["data"]["code"], "signed_out");
    assert_eq!(nobody.closed().await, 1008);

    let mut socket = Socket::open_with(b, "?session_id=s", &[]).await.expect("she may say who she is");
    socket.send(greeting(&ada.token)).await;
    let shown = socket.until("HISTORY").await.pop().unwrap();
    assert_eq!(shown["data"]["messages"][0]["content"], "ada asks");
    socket.send(json!({"type": "USER_MESSAGE", "data": {"content": "over the other server"}})).await;
    assert_eq!(socket.until("RESULT").await.pop().unwrap()["data"]["content"], "Fine.");
    assert_eq!(server_of(&cluster, &ada).await, Some(0), "the home stays where it is");
    let again = signed_in(b, "ada").await;
    ask(b, &ada, ("POST", "/api/auth/logout"), json!({})).await.ok();
    assert_eq!(socket.closed().await, 1001, "the owner ends it with the sign-in");
    assert_eq!(history(b, &again).await["messages"].as_array().map(Vec::len), Some(4));

    let bearer = [("Authorization", format!("Bearer {}", again.token))];
    let open = async |server: &Server<'_>| {
        let mut sockets = [
            Socket::open_with(server, "?session_id=s", &[]).await.unwrap(),
            Socket::open_with(server, "?session_id=s", &bearer).await.unwrap(),
        ];
        sockets[0].send(greeting(&again.token)).await;
        for socket in &mut sockets {
            socket.until("HISTORY").await;
        }
        sockets
    };
    let [a, b] = servers;
    let through = open(&b).await;
    assert!(b.terminate().await.0.success());
    for mut socket in through {
        assert_eq!(socket.closed().await, 1001, "the server between stopped");
    }
    let b = cluster.serve(1).await;
    let through = open(&b).await;
    drop(a);
    for mut socket in through {
        assert_eq!(socket.closed().await, 1001, "the owner was lost");
    }
}

#[tokio::test]
async fn cluster_kill_moves_only_the_homes_of_that_server() {
    let Some(cluster) = cluster_of_people(3).await else { return };
    let mut servers = [Some(cluster.serve(0).await), Some(cluster.serve(1).await), Some(cluster.serve(2).await)];
    let (a, b) = (servers[0].as_ref().unwrap(), servers[1].as_ref().unwrap());
    let ada = first_account(a, a).await;
    let bob = joined(a, &ada, "Bob").await;
    let eve = joined(a, &ada, "Eve").await;
    use_home(a, &ada, "ada").await;
    use_home(b, &bob, "bob").await;
    use_home(servers[2].as_ref().unwrap(), &eve, "eve").await;
    let of = async |person| server_of(&cluster, person).await;
    assert_eq!([of(&ada).await, of(&bob).await, of(&eve).await], [Some(0), Some(1), Some(2)]);
    let before = [fence_of(&cluster, &ada).await, fence_of(&cluster, &eve).await];
    servers[1] = None;
    let c = servers[2].as_ref().unwrap();
    assert_eq!(history(c, &bob).await["messages"][0]["content"], "bob asks");
    say(c, &bob, "and again").await;
    assert_eq!(history(servers[0].as_ref().unwrap(), &bob).await["messages"][2]["content"], "and again");
    assert_eq!([fence_of(&cluster, &ada).await, fence_of(&cluster, &eve).await], before, "the others stayed");
    assert_eq!(history(c, &ada).await["messages"][0]["content"], "ada asks");
    // The server with the accounts ends, too.
    servers[0] = None;
    let c = servers[2].as_ref().unwrap();
    eventually("the accounts are somewhere", async || login(c, "bob", people::PASSWORD).await.status() == 200).await;
    assert_eq!(history(c, &ada).await["messages"][0]["content"], "ada asks");
}

#[tokio::test]
async fn cluster_people_reach_nothing_of_each_other() {
    let Some(cluster) = cluster_of_people(2).await else { return };
    let servers = [cluster.serve(0).await, cluster.serve(1).await];
    let [a, b] = &servers;
    let ada = first_account(a, a).await;
    let bob = joined(a, &ada, "Bob").await;
    let hers = "/api/sessions/hers/messages";
    ask(a, &ada, ("POST", hers), json!({"message": "Mine alone."})).await.ok();
    use_home(a, &ada, "ada").await;
    use_home(b, &bob, "bob").await;
    assert_ne!(server_of(&cluster, &ada).await, server_of(&cluster, &bob).await);
    for server in &servers {
        for path in ["/api/sessions/hers/history", "/api/files?path=memory/ada.md", "/api/sessions/hers/requests"] {
            let answer = get(server, &bob, path).await;
            assert!([403, 404].contains(&answer.status()), "{path}: {} {}", answer.status(), answer.text());
        }
        for admins in ["/api/admin/people", "/api/admin/audit", "/api/settings", "/api/providers"] {
            assert_eq!(get(server, &bob, admins).await.status(), 403, "{admins}");
        }
        let found = get(server, &bob, "/api/sessions/search?q=Mine").await.text();
        assert!(!found.contains("Mine alone"), "{found}");
        // Whoever reaches a server cannot say that another server has passed a request on.
        let bearer = format!("Bearer {}", bob.token);
        let forged = format!("1 1764327600000 127.0.0.1 http 1 {}", "0".repeat(64));
        let headers = [("Authorization", bearer.as_str()), ("X-Miniclaw-Forwarded", forged.as_str())];
        let answer = server.send("GET", "/api/sessions/hers/history", &headers, b"").await;
        assert_eq!(answer.refused(), (403, "bad_forward".to_owned()));
        for nobody in ["", "x", "mct_x", &format!("{}x", ada.token)] {
            assert_eq!(status_of(server, nobody).await, 401, "{nobody:?}");
        }
    }
    // Nobody is let in by a server that does not know the accounts as they are.
    let bodies = json!({"role": "admin"});
    assert_eq!(change(b, &bob, &bob, bodies).await.status(), 403);
    let settings = ask(a, &ada, ("DELETE", "/api/providers/x"), json!({})).await;
    assert_eq!(settings.status(), 403, "without the secret of the page");
}

#[tokio::test]
async fn cluster_disabled_person_is_out_on_all_servers() {
    let Some(cluster) = cluster_of_people(3).await else { return };
    let mut servers = [Some(cluster.serve(0).await), Some(cluster.serve(1).await), Some(cluster.serve(2).await)];
    let a = servers[0].as_ref().unwrap();
    let ada = first_account(a, a).await;
    let bob = joined(a, &ada, "Bob").await;
    let b = servers[1].as_ref().unwrap();
    let message = json!({"message": "slow"});
    ask(b, &bob, ("POST", "/api/sessions/s/messages"), message.clone()).await.ok();
    assert_eq!(server_of(&cluster, &bob).await, Some(1));
    let bearer = format!("Bearer {}", bob.token);
    let headers = [("Authorization", bearer.as_str())];
    let c = servers[2].as_ref().unwrap();
    let mut stream = open(c.address, &c.request("GET", "/api/sessions/s/events", &headers, b"")).await;
    stream.until("token").await;
    change(a, &ada, &bob, json!({"is_active": false})).await.ok();
    for server in servers.iter().flatten() {
        assert_ne!(status_of(server, &bob.token).await, 200);
        assert_eq!(login(server, "bob", people::PASSWORD).await.status(), 403);
    }
    stream.rest().await;
    assert_eq!(cluster.ask("SELECT session_id FROM facts").await, Vec::<String>::new(), "the work has ended");
    eventually("nobody has the home", async || server_of(&cluster, &bob).await.is_none()).await;
    change(a, &ada, &bob, json!({"is_active": true})).await.ok();
    let bob = signed_in(servers[2].as_ref().unwrap(), "bob").await;
    let b = servers[1].as_ref().unwrap();
    assert_eq!(history(b, &bob).await["running"], Value::Null, "it does not go on by itself");

    // The server with a person's work dies, and then the person is disabled: nobody goes on with it.
    ask(b, &bob, ("POST", "/api/sessions/t/messages"), message).await.ok();
    assert_eq!(server_of(&cluster, &bob).await, Some(1));
    servers[1] = None;
    change(servers[0].as_ref().unwrap(), &ada, &bob, json!({"is_active": false})).await.ok();
    for server in servers.iter().flatten() {
        assert_ne!(status_of(server, &bob.token).await, 200);
    }
    eventually("nobody has the home", async || server_of(&cluster, &bob).await.is_none()).await;
}

#[tokio::test]
async fn cluster_of_other_people_is_refused() {
    let Some(cluster) = cluster_of_people(2).await else { return };
    let first = cluster.serve(0).await;
    first_account(&first, &first).await;
    let world = &cluster.members[1].world;
    let right = world.read("config.yml");
    let other_key = right.replace(people::SECRET, "fedcba9876543210fedcba9876543210");
    let one_person = right.replace("auth_mode: multi", "auth_mode: single");
    for wrong in [other_key, one_person] {
        world.write("config.yml", wrong);
        let output = world.run(&["serve", "--home", world.home().to_str().unwrap(), "--sandbox", "off"]).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{said}");
        assert!(said.contains("cluster_of_others") && !said.contains(people::SECRET), "{said}");
    }
    world.write("config.yml", right);
    let second = cluster.serve(1).await;
    assert_eq!(second.get("/api/auth/mode").await.ok()["data"]["has_accounts"], true);
}

#[tokio::test]
async fn cluster_that_cannot_read_accounts_gives_homes_up() {
    let Some(cluster) = cluster_of_people(2).await else { return };
    let servers = [cluster.serve(0).await, cluster.serve(1).await];
    let [a, b] = &servers;
    let ada = first_account(a, a).await;
    let bob = joined(a, &ada, "Bob").await;
    use_home(b, &bob, "bob").await;
    let stream = follow(b, &bob).await;
    let accounts = "FROM files f WHERE p.home_id = f.home_id AND f.path = 'accounts.json' AND p.sha256 = ANY(f.pieces)";
    cluster
        .database
        .execute(&format!("CREATE TABLE watch.kept AS SELECT p.* FROM pieces p, LATERAL (SELECT 1 {accounts}) x"))
        .await;
    cluster.database.execute(&format!("UPDATE pieces p SET bytes = 'damaged' {accounts}")).await;
    cluster.database.execute("UPDATE files SET changed_no = changed_no + 1 WHERE path = 'accounts.json'").await;
    for server in &servers {
        eventually("it can have no home", async || {
            let answer = server.get("/ready").await;
            answer.status() == 503 && answer.refused().1 == "database_unreachable"
        })
        .await;
    }
    stream.rest().await;
    assert_eq!(get(b, &bob, "/api/sessions").await.status(), 503, "nobody is let in");
    let repair =
        "UPDATE pieces p SET bytes = k.bytes FROM watch.kept k WHERE p.home_id = k.home_id AND p.sha256 = k.sha256";
    cluster.database.execute(repair).await;
    assert_eq!(history(a, &bob).await["messages"][0]["content"], "bob asks");
    assert_eq!(history(b, &bob).await["messages"][0]["content"], "bob asks");
}
